import { userOwner } from '../../kernel/index.ts';
import {
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
import { asksForRanges } from './asks-for-ranges.ts';
import { checkRedirects } from './check-redirects.ts';
import { pointsToSelf } from './own-addresses.ts';
import { artifactHookError, projectArtifacts } from './read-artifacts.ts';

/** The headers of a client that reach the vendor: those that ask for a part or for news. */
const CLIENT_HEADERS = ['range', 'if-range', 'if-none-match', 'if-modified-since'] as const;
/** The vendor's headers that reach the client (as in new-api). */
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
 * Until the vendor's headers; the body has no deadline of its own, only between chunks (as in
 * new-api).
 */
const HEADERS_TIMEOUT_MS = 60_000;
const IDLE_TIMEOUT_MS = 60_000;
/**
 * Up to here a body of announced length is read before it is answered: the listener sends streams
 * chunked, without their length.
 */
const WHOLE_BODY_BYTES = 1024 * 1024;

export type ContentRequest = {
  method: 'GET' | 'HEAD';
  /** Lower-case names; only the safe ones are used. */
  headers: Record<string, string>;
  signal: AbortSignal;
  /** Called when a body that is a stream has ended, was cut, or is wanted no longer. */
  onStreamEnd?: () => void;
  requestId: string;
};
export type Content = {
  status: number;
  headers: Record<string, string>;
  body: ReadableStream<Uint8Array> | Uint8Array | null;
};

/**
 * Fetches one artifact from the vendor for a client. `artifactKey` null: the first artifact of type
 * video.
 */
export async function openArtifact(
  deps: TaskDeps,
  task: TaskRecord,
  artifactKey: string | null,
  client: ContentRequest,
): Promise<Content> {
  if (task.status !== 'SUCCESS') throw taskErrors.artifact_not_ready();
  const pin = deps.pin();
  try {
    const plugin = pin.generation.plugins.get(task.platform);
    if (!plugin) throw taskErrors.artifact_plugin_unavailable();
    const artifacts = await projectArtifacts(plugin, task);
    const artifact = artifacts.find(({ key, type }) => (artifactKey === null ? type === 'video' : key === artifactKey));
    if (!artifact) throw taskErrors.artifact_not_found();
    const told = { task_id: task.taskId, plugin: plugin.key, artifact: artifact.key, method: client.method };
    traceEvent(deps.logger, 'artifact_request', client.requestId, told);
    const channel = deps.channels.find(task.channelId) ?? (await deps.store.channels.byId(task.channelId));
    if (!channel) throw taskErrors.artifact_gone({ message: 'The channel of this task was deleted.' });
    const safeHeaders = pickHeaders(client.headers);
    const credential = await resolveCredential(deps, plugin.manifest, channel);
    const described = await describe(plugin, channel, credential, task, artifact.key, client.method, safeHeaders);
    if (described.kind === 'data') return dataContent(described, client.method);
    const sent = await deps.upstream.request(contentRequest(deps, plugin, channel, described, client, safeHeaders));
    if (!sent.ok) throw contentFailure(sent.error);
    if (sent.value.status === 401) credential.refused();
    return passThrough(deps, sent.value, client);
  } finally {
    pin.release();
  }
}

async function describe(
  plugin: LoadedPlugin,
  channel: ChannelRecord,
  credential: Credential,
  task: TaskRecord,
  artifactKey: string,
  method: 'GET' | 'HEAD',
  headers: Record<string, string>,
): Promise<DescribedContent> {
  const context = {
    ...artifactContext(task),
    upstreamTaskId: task.upstreamTaskId,
    artifactKey,
    baseUrl: channel.baseUrl,
    clientRequest: { method, headers },
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

function contentRequest(
  deps: TaskDeps,
  plugin: LoadedPlugin,
  channel: ChannelRecord,
  described: Extract<DescribedContent, { kind: 'http' }>,
  client: ContentRequest,
  safeHeaders: Record<string, string>,
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
    // The client's range and conditions stand above what the plugin wrote.
    headers: { ...lowered, ...safeHeaders },
    body: body === undefined ? { kind: 'none' } : { kind: 'text', text: body },
    ...checkRedirects({
      url: new URL(url),
      vendor: new URL(channel.baseUrl),
      credentialless,
      isOpen: (hop) => !pointsToSelf(own, hop) && (credentialless || allowsHost(plugin.manifest, channel.baseUrl, hop)),
    }),
    maxRedirects: MAX_REDIRECTS,
    headersForEveryOrigin: CLIENT_HEADERS,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    headersTimeoutMs: HEADERS_TIMEOUT_MS,
    idleTimeoutMs: IDLE_TIMEOUT_MS,
    maxResponseBytes: Number.POSITIVE_INFINITY,
    signal: client.signal,
  };
}

async function passThrough(deps: TaskDeps, response: UpstreamResponse, client: ContentRequest): Promise<Content> {
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
    // A type that is told twice is none, and must show as such.
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
    if (value !== undefined && !asksForRanges(name, value)) out[name] = value;
  }
  return out;
}
