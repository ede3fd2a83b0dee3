import { AppError, userOwner } from '../../kernel/index.ts';
import {
  type ContentRequest as DescribedContent,
  type Resolution,
  type ResolveContext,
  readContentRequest,
  resolveArtifact,
} from '../../plugins/index.ts';
import { artifactContext, askVendor, hookCause, type VendorContent, vendorErrors } from '../../vendors/index.ts';
import type { FoundLink, ResultDeps } from '../types.ts';
import type { ArtifactSource } from './read-artifacts.ts';
import { contentHookError } from './read-artifacts.ts';

/** What a vendor answers when a link has expired. */
const EXPIRED: ReadonlySet<string> = new Set(['tasks.artifact_gone', 'tasks.artifact_upstream_auth_failed']);

/**
 * Opens an artifact whose address the plugin looks up. One that is remembered and has expired is
 * looked up again, so a download makes at most one look-up. Undefined: the plugin has nothing to
 * look up.
 * @throws tasks.artifact_*
 */
export async function openResolved(
  deps: ResultDeps,
  source: ArtifactSource,
  send: (described: DescribedContent) => Promise<VendorContent>,
): Promise<VendorContent | undefined> {
  const { plugin, channel, task, artifactKey, client } = source;
  if (!plugin.has('resolveArtifact')) return undefined;
  const { resolvedLinks } = deps.memory;
  const open = (url: string): Promise<VendorContent> => {
    const rules = { manifest: plugin.manifest, baseUrl: channel.baseUrl, method: client.method };
    const described = readContentRequest({ url, credentialless: true }, rules);
    if (!described.ok) throw vendorErrors.artifact_request_rejected({ cause: new Error(described.error) });
    return send(described.value);
  };
  const id = `${task.taskId} ${artifactKey} ${plugin.sourceHash}`;
  const known = resolvedLinks.find(id);
  if (known !== undefined) {
    try {
      return await open(known);
    } catch (error) {
      if (!(error instanceof AppError) || !EXPIRED.has(error.code)) throw error;
      resolvedLinks.forget(id);
    }
  }
  const url = await resolvedLinks.resolve(id, () => lookUp(deps, source));
  return url === undefined ? undefined : open(url);
}

async function lookUp(deps: ResultDeps, source: ArtifactSource): Promise<FoundLink | undefined> {
  const { channel, credential, task, client } = source;
  const context = { ...credential.context, upstreamTaskId: task.upstreamTaskId, baseUrl: channel.baseUrl };
  const first = await resolve(source, context);
  if (first.kind !== 'ask') return first.kind === 'found' ? first : undefined;
  // Other downloads may wait for the same look-up, so it does not end with this client's request.
  const { plugin } = source;
  const answer = await askVendor(deps.vendors, { plugin, channel, credential, described: first.request });
  const { status, headers, body } = answer;
  const second = await resolve(source, { ...context, response: { statusCode: status, headers, body } });
  if (second.kind === 'found') return second;
  deps.logger.debug({ task_id: task.taskId, request_id: client.requestId }, 'a look-up found no address');
  return undefined;
}

async function resolve(
  { plugin, credential, task, artifactKey }: ArtifactSource,
  ctx: ResolveContext,
): Promise<Resolution> {
  const resolved = await resolveArtifact(
    plugin,
    { task: artifactContext(task), key: artifactKey, ctx },
    { owner: userOwner(task.userId), secrets: credential.secrets },
  );
  if (resolved.ok) return resolved.value;
  if (resolved.error.kind === 'invalid_result') {
    throw vendorErrors.artifact_request_rejected({ cause: hookCause(resolved.error) });
  }
  throw contentHookError(resolved.error);
}
