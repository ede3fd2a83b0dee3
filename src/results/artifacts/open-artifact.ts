import { AppError, userOwner } from '../../kernel/index.ts';
import {
  type Artifact,
  buildContentRequest,
  type ContentRequest as DescribedContent,
  type LoadedPlugin,
  type Resolution,
  type ResolveContext,
  readContentRequest,
  resolveArtifact,
} from '../../plugins/index.ts';
import type { TaskRecord } from '../../store/ports/index.ts';
import { traceEvent } from '../../tasks/index.ts';
import {
  artifactContext,
  type ContentRequest,
  fetchContent,
  hookCause,
  locateContent,
  pickHeaders,
  resolveCredential,
  upstreamContext,
  type VendorContent,
  vendorErrors,
} from '../../vendors/index.ts';
import { resultErrors } from '../errors.ts';
import type { ArtifactChoice, FoundLink, ResultDeps } from '../types.ts';
import { resultArtifact } from './artifact-keys.ts';
import { describeResult } from './describe-result.ts';
import type { ArtifactSource } from './read-artifacts.ts';
import { contentHookError, projectArtifacts, requireAnswer, requirePlugin } from './read-artifacts.ts';

/** Characters of a message that lists what there is. */
const MAX_LISTED = 300;

type Download = { task: TaskRecord; choice: ArtifactChoice; client: ContentRequest };

/**
 * Fetches one artifact from the vendor for a client.
 * @throws tasks.artifact_*
 */
export async function openArtifact(deps: ResultDeps, { task, choice, client }: Download): Promise<VendorContent> {
  if (task.status !== 'SUCCESS') throw resultErrors.artifact_not_ready();
  requireAnswer(task);
  const pin = deps.pin();
  try {
    const plugin = await requirePlugin(pin.generation, task);
    const content = await open(deps, plugin, { task, choice, client }).catch((error: unknown) => {
      deps.telemetry.outcomes.fetched(plugin, task, error);
      throw error;
    });
    deps.telemetry.outcomes.fetched(plugin, task);
    return content;
  } finally {
    pin.release();
  }
}

async function open(
  deps: ResultDeps,
  plugin: LoadedPlugin,
  { task, choice, client }: Download,
): Promise<VendorContent> {
  const listed = await projectArtifacts(plugin, task);
  const result = listed.length === 0 ? resultArtifact(task) : undefined;
  const artifact = chooseArtifact(result ? [result] : listed, choice);
  traceEvent(deps.logger, 'artifact_request', {
    request_id: client.requestId,
    task_id: task.taskId,
    plugin: plugin.key,
    artifact: artifact.key,
    method: client.method,
  });
  const account = await deps.vendors.channels.findBegun(task);
  if (!account) throw vendorErrors.artifact_gone({ message: 'The channel of this task was deleted.' });
  const { channel } = account;
  const credential = await resolveCredential(deps.vendors, plugin.manifest, account);
  const source = { plugin, channel, credential, task, client };
  const { onUnauthorized } = credential;
  const send = (described: DescribedContent): Promise<VendorContent> =>
    fetchContent(deps.vendors, { plugin, channel, described, client, onUnauthorized });
  if (result) return send(await describeResult(deps, source));
  const chosen = { ...source, artifactKey: artifact.key };
  return (await openResolved(deps, chosen, send)) ?? (await send(await describeContent(chosen)));
}

/** @throws tasks.artifact_not_found, tasks.artifact_variant_unknown */
function chooseArtifact(artifacts: readonly Artifact[], choice: ArtifactChoice): Artifact {
  const { variant } = choice;
  const found = artifacts.find(({ key, type }) =>
    variant === undefined ? key === choice.key : type === variant || (variant !== 'video' && key === variant),
  );
  if (found) return found;
  if (variant === undefined || variant === 'video') throw resultErrors.artifact_not_found();
  const hasVideo = artifacts.some(({ type }) => type === 'video');
  const others = artifacts.filter(({ type }) => type !== 'video').map(({ key }) => key);
  const variants = [...(hasVideo ? ['video'] : []), ...others];
  throw resultErrors.artifact_variant_unknown({
    message: `This video has no such variant. It has: ${variants.join(', ').slice(0, MAX_LISTED) || 'none'}.`,
    param: 'variant',
  });
}

/** Asks the plugin where the artifact is. */
async function describeContent({
  plugin,
  channel,
  credential,
  task,
  artifactKey,
  client,
}: ArtifactSource): Promise<DescribedContent> {
  const context = {
    ...artifactContext(task),
    upstreamTaskId: task.upstreamTaskId,
    artifactKey,
    baseUrl: channel.baseUrl,
    ...upstreamContext(plugin.manifest, channel),
    clientRequest: { method: client.method, headers: pickHeaders(client.headers) },
    ...credential.context,
  };
  const built = await buildContentRequest(plugin, context, {
    owner: userOwner(task.userId),
    secrets: credential.secrets,
  });
  if (built.ok) return built.value;
  if (built.error.kind === 'invalid_result') {
    throw vendorErrors.artifact_request_rejected({ cause: hookCause(built.error) });
  }
  throw contentHookError(built.error);
}

/** What a vendor answers when a link has expired. */
const EXPIRED: ReadonlySet<string> = new Set(['tasks.artifact_gone', 'tasks.artifact_upstream_auth_failed']);

/**
 * Opens an artifact whose address the plugin looks up. One that is remembered and has expired is
 * looked up again, so a download makes at most one look-up. Undefined: the plugin has nothing to
 * look up.
 * @throws tasks.artifact_*
 */
async function openResolved(
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
    if (!described.ok) throw vendorErrors.artifact_request_rejected({ cause: new Error(described.error.message) });
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
  const answer = await locateContent(deps.vendors, { plugin, channel, credential, described: first.request });
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
