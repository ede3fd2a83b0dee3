import type { Clock, Logger } from '../../kernel/index.ts';
import type { Sandbox } from '../../sandbox/index.ts';
import type { Repositories } from '../../store/ports/index.ts';
import { pluginErrors } from '../errors.ts';
import { preflight } from '../registry/build-index.ts';
import type { Registry } from '../registry/create-registry.ts';
import { loadPlugin } from '../registry/load-plugin.ts';
import type { Layer } from '../types.ts';
import type { CompiledPlugin } from '../worker/compile-plugin.ts';

export type ConflictContext = {
  sandbox: Sandbox;
  clock: Clock;
  logger: Logger;
  registry: Pick<Registry, 'current' | 'sharing'>;
};

/**
 * The keys that share their models, if this change is made. `shareModels`: what it says of its own
 * key; undefined: what is stored.
 */
export function sharingAfter(
  { registry }: Pick<ConflictContext, 'registry'>,
  key: string,
  shareModels: boolean | undefined,
): ReadonlySet<string> {
  if (shareModels === undefined) return registry.sharing();
  const others = [...registry.sharing()].filter((other) => other !== key);
  return new Set(shareModels ? [...others, key] : others);
}

type Served = {
  compiled: CompiledPlugin;
  layer: Layer;
  narrowedModels: string[] | null;
  shareModels?: boolean | undefined;
};

/**
 * Refuses a plugin that is in conflict with a plugin of the serving generation.
 *
 * @throws `plugins.conflict`
 */
export function refuseConflict(
  { sandbox, clock, logger, registry }: ConflictContext,
  { compiled, layer, narrowedModels, shareModels }: Served,
): void {
  const candidate = loadPlugin({ sandbox, clock, logger, compiled, layer, narrowedModels });
  const sharing = sharingAfter({ registry }, candidate.key, shareModels);
  const conflict = preflight(registry.current().plugins.values(), candidate, sharing);
  if (!conflict) return;
  const { message, reason, params, ...details } = conflict;
  throw pluginErrors.conflict({
    message: { message: `${message.charAt(0).toUpperCase()}${message.slice(1)}.`, reason: `${reason}_refused`, params },
    details,
  });
}

/**
 * What belongs to the transaction that makes a source serve. It is kept for the tasks that it will
 * begin. The activation is noted, since its failures are compared with those of the version before,
 * unless it is a roll-back itself. With `adopt`, all tasks of the key that exist now are polled and
 * read by it as well, instead of the versions that began them. Returns the number of unfinished
 * ones among these.
 */
export async function serveSource(
  { clock, registry }: Pick<ConflictContext, 'clock' | 'registry'>,
  tx: Repositories,
  { compiled, adopt = false, isRollback = false }: { compiled: CompiledPlugin; adopt?: boolean; isRollback?: boolean },
): Promise<number> {
  const { sourceHash, source, manifest } = compiled;
  const { key, version } = manifest;
  const at = clock.unix();
  await tx.pluginSources.keep({ sourceHash, source, key, version, at });
  const former = registry.current().plugins.get(key);
  if (former && former.layer !== 'development' && former.sourceHash !== sourceHash && !isRollback) {
    await tx.pluginOutcomes.addActivation({
      ...{ key, sourceHash, version, activatedAt: at },
      ...{ formerHash: former.sourceHash, formerVersion: former.version, formerLayer: former.layer },
    });
  }
  if (!adopt) return 0;
  await tx.pluginSources.adopt({ key, by: sourceHash, at });
  return tx.tasks.countUnfinished({ platform: key });
}
