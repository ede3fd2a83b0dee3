import { userOwner } from '../../kernel/index.ts';
import {
  type Artifact,
  allowsHost,
  buildContentRequest,
  type ContentRequest as DescribedContent,
  type LoadedPlugin,
} from '../../plugins/index.ts';
import type { ChannelRecord, TaskRecord } from '../../store/ports/index.ts';
import type { UpstreamFailure, UpstreamRequest, UpstreamResponse } from '../../upstream/index.ts';
import { taskErrors } from '../errors.ts';
import { traceEvent } from '../state/trace-event.ts';
import { hookCause } from '../submission/prepare-submission.ts';
import type { TaskDeps } from '../types.ts';
import { artifactContext } from '../vendor/build-contexts.ts';
import { CONNECT_TIMEOUT_MS, MAX_REDIRECTS } from '../vendor/build-upstream-request.ts';
import { retryAfterMs } from '../vendor/poll-schedule.ts';
import { type Credential, resolveCredential } from '../vendor/resolve-credential.ts';
import { checkRedirects } from './check-redirects.ts';
import { isMultiRange } from './multi-range.ts';
import { pointsToSelf } from './points-to-self.ts';
import { artifactHookError, projectArtifacts } from './read-artifacts.ts';
import type { ArtifactChoice, Content, ContentRequest } from './types.ts';

/** Client headers that are sent to the vendor: ranges and conditions. */
const CLIENT_HEADERS = ['range', 'if-range', 'if-none-match', 'if-modified-since'] as const;
/** Vendor headers that are sent to the client (as in new-api). */
const VENDOR_HEADERS = [
  'content-type',
  'content-length',
  'content-range',
  'accept-ranges',
  'etag',
  'last-modified',
  'content-disposition',
] as const;
/**
 * Timeout for the vendor's headers. The body has no deadline, only an idle timeout (as in new-api).
 */
const HEADERS_TIMEOUT_MS = 60_000;
const IDLE_TIMEOUT_MS = 60_000;
/**
 * Bodies up to this announced length are read whole, to keep their Content-Length: the HTTP server
 * sends streams chunked, without a length.
 */
const WHOLE_BODY_BYTES = 1024 * 1024;
/** Characters of a message that lists what there is. */
const MAX_LISTED = 300;

type Download = { task: TaskRecord; choice: ArtifactChoice; client: ContentRequest };

/**
 * Fetches one artifact from the vendor for a client.
 * @throws tasks.artifact_*
 */
export async function openArtifact(deps: TaskDeps, { task, choice, client }: Download): Promise<Content> {
  if (task.status !== 'SUCCESS') throw taskErrors.artifact_not_ready();
  const pin = deps.pin();
  try {
    const plugin = pin.generation.plugins.get(task.platform);
    if (!plugin) throw taskErrors.artifact_plugin_unavailable();
    const artifacts = await projectArtifacts(plugin, task);
    const artifact = chooseArtifact(artifacts, choice);
    traceEvent(deps.logger, 'artifact_request', {
      request_id: client.requestId,
      task_id: task.taskId,
      plugin: plugin.key,
      artifact: artifact.key,
      method: client.method,
    });
    const channel = deps.channels.find(task.channelId) ?? (await deps.store.channels.byId(task.channelId));
    if (!channel) throw taskErrors.artifact_gone({ message: 'The channel of this task was deleted.' });
    const safeHeaders = pickHeaders(client.headers);
    const credential = await resolveCredential(deps, plugin.manifest, channel);
    const clientRequest = { method: client.method, headers: safeHeaders };
    const described = await describeContent(plugin, {
      channel,
      credential,
      task,
      artifactKey: artifact.key,
      clientRequest,
    });
    if (described.kind === 'data') return dataContent(described, client.method);
    const request = contentRequest(deps, { plugin, channel, described, safeHeaders, signal: client.signal });
    const sent = await deps.upstream.request(request);
    if (!sent.ok) throw contentFailure(sent.error);
    if (sent.value.status === 401) credential.onUnauthorized();
    return forwardContent(deps, sent.value, client);
  } finally {
    pin.release();
  }
}

/** @throws tasks.artifact_not_found, tasks.artifact_variant_unknown */
function chooseArtifact(artifacts: readonly Artifact[], choice: ArtifactChoice): Artifact {
  const { variant } = choice;
  const found = artifacts.find(({ key, type }) =>
    variant === undefined ? key === choice.key : type === variant || (variant !== 'video' && key === variant),
  );
  if (found) return found;
  if (variant === undefined || variant === 'video') throw taskErrors.artifact_not_found();
  const hasVideo = artifacts.some(({ type }) => type === 'video');
  const others = artifacts.filter(({ type }) => type !== 'video').map(({ key }) => key);
  const variants = [...(hasVideo ? ['video'] : []), ...others];
  throw taskErrors.artifact_variant_unknown({
    message: `This video has no such variant. It has: ${variants.join(', ').slice(0, MAX_LISTED) || 'none'}.`,
    param: 'variant',
  });
}

type ArtifactSource = {
  channel: ChannelRecord;
  credential: Credential;
  task: TaskRecord;
  artifactKey: string;
  clientRequest: Pick<ContentRequest, 'method' | 'headers'>;
};

/** Asks the plugin where the artifact is. */
async function describeContent(
  plugin: LoadedPlugin,
  { channel, credential, task, artifactKey, clientRequest }: ArtifactSource,
): Promise<DescribedContent> {
  const context = {
    ...artifactContext(task),
    upstreamTaskId: task.upstreamTaskId,
    artifactKey,
    baseUrl: channel.baseUrl,
    clientRequest,
    ...credential.context,
  };
  const built = await buildContentRequest(plugin, context, {
    owner: userOwner(task.userId),
    secrets: credential.secrets,
  });
  if (built.ok) return built.value;
  if (built.error.kind === 'thrown' && built.error.message.includes('artifact_not_found')) {
    throw taskErrors.artifact_not_found();
  }
  if (built.error.kind === 'invalid_result') {
    throw taskErrors.artifact_request_rejected({ cause: hookCause(built.error) });
  }
  throw artifactHookError(built.error);
}

type HttpContent = {
  plugin: LoadedPlugin;
  channel: ChannelRecord;
  described: Extract<DescribedContent, { kind: 'http' }>;
  safeHeaders: Record<string, string>;
  signal: AbortSignal;
};

function contentRequest(
  deps: TaskDeps,
  { plugin, channel, described, safeHeaders, signal }: HttpContent,
): UpstreamRequest {
  const { url, method, headers, body, credentialless } = described;
  const own = deps.ownAddresses();
  if (pointsToSelf(own, new URL(url))) {
    throw taskErrors.artifact_request_rejected({ message: 'The artifact address points back at this gateway.' });
  }
  const lowered = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return {
    url,
    method,
    // The client's range and conditions override the plugin's headers.
    headers: { ...lowered, ...safeHeaders },
    body: body === undefined ? { kind: 'none' } : { kind: 'text', text: body },
    ...checkRedirects({
      url: new URL(url),
      vendor: new URL(channel.baseUrl),
      credentialless,
      isAllowed: (hop) =>
        !pointsToSelf(own, hop) && (credentialless || allowsHost(plugin.manifest, channel.baseUrl, hop)),
    }),
    maxRedirects: MAX_REDIRECTS,
    headersForEveryOrigin: CLIENT_HEADERS,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    headersTimeoutMs: HEADERS_TIMEOUT_MS,
    idleTimeoutMs: IDLE_TIMEOUT_MS,
    maxResponseBytes: Number.POSITIVE_INFINITY,
    signal,
  };
}

async function forwardContent(deps: TaskDeps, response: UpstreamResponse, client: ContentRequest): Promise<Content> {
  const { status } = response;
  if (![200, 206, 304, 416].includes(status)) {
    response.discard();
    if (status === 401 || status === 403) throw taskErrors.artifact_upstream_auth_failed();
    if (status === 404 || status === 410) throw taskErrors.artifact_gone();
    if (status === 429) {
      const wait = Math.ceil(retryAfterMs(response.headers['retry-after']?.[0], deps.clock.nowMs()) / 1000);
      throw taskErrors.artifact_upstream_busy(wait > 0 ? { retryAfterSeconds: wait } : {});
    }
    throw taskErrors.artifact_upstream_error();
  }
  const headers: Record<string, string> = {};
  for (const name of VENDOR_HEADERS) {
    const values = response.headers[name] ?? [];
    // Two content types are invalid; both are shown, so that the client sees this.
    const value = name === 'content-type' && values.length > 1 ? values.join(', ') : values[0];
    if (value !== undefined) headers[name] = value;
  }
  if (client.method === 'HEAD' || status === 304) {
    response.discard();
    return { status, headers, body: null };
  }
  const length = Number(headers['content-length'] ?? Number.POSITIVE_INFINITY);
  const whole = length <= WHOLE_BODY_BYTES;
  return { status, headers, body: whole ? await readWhole(response) : response.stream(client.onStreamEnd) };
}

async function readWhole(response: UpstreamResponse): Promise<Uint8Array> {
  try {
    return await new Response(response.stream()).bytes();
  } catch (cause) {
    throw taskErrors.artifact_upstream_error({ cause });
  }
}

function contentFailure(failure: UpstreamFailure): Error {
  if (failure.kind === 'refused') return taskErrors.artifact_request_rejected({ message: failure.message });
  if (failure.kind === 'timeout') return taskErrors.artifact_upstream_timeout();
  return taskErrors.artifact_upstream_error({ cause: failure });
}

function dataContent(data: Extract<DescribedContent, { kind: 'data' }>, method: 'GET' | 'HEAD'): Content {
  const bytes = Buffer.from(data.base64, 'base64');
  const headers = { 'content-type': data.mimeType, 'content-length': String(bytes.byteLength) };
  return { status: 200, headers, body: method === 'HEAD' ? null : bytes };
}

function pickHeaders(headers: Record<string, string>): Record<string, string> {
  const out: Record<string, string> = {};
  for (const name of CLIENT_HEADERS) {
    const value = headers[name];
    if (value !== undefined && !isMultiRange(name, value)) out[name] = value;
  }
  return out;
}
