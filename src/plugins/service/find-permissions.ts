import { comparePermissions, type Permission, type PermissionChanges } from '../source/describe-permissions.ts';
import type { LoadedPlugin, Manifest } from '../types.ts';
import type { ServiceContext } from './context.ts';

type Described = { source: string | undefined; manifest: Manifest };

/** What a plugin may do. Without a source: as far as its manifest says it. */
export const findPermissions = (ctx: ServiceContext, { source, manifest }: Described): Promise<Permission[]> =>
  ctx.worker.run('describePermissions', { source, manifest });

/** What a plugin may do, compared with the plugin that serves its key now. */
export async function findPermissionChanges(ctx: ServiceContext, after: Described): Promise<PermissionChanges> {
  const serving = ctx.registry.current().plugins.get(after.manifest.key);
  const [before, now] = await Promise.all([serving && findServing(ctx, serving), findPermissions(ctx, after)]);
  return comparePermissions(before, now);
}

async function findServing(ctx: ServiceContext, { key, sourceHash, manifest }: LoadedPlugin): Promise<Permission[]> {
  const factory = ctx.registry.factory().get(key);
  const known = [...(await ctx.store.plugins.versions(key)), ...(factory ? [factory] : [])];
  // The source of a plugin in development is in neither.
  return findPermissions(ctx, { source: known.find((each) => each.sourceHash === sourceHash)?.source, manifest });
}
