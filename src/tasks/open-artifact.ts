import type { JsonObject } from '../kernel/index.ts';
import { buildContentRequest, type ContentDescriptor, checkRequestUrl, type LoadedPlugin } from '../plugins/index.ts';
import type { ChannelRecord, TaskRecord } from '../store/ports/index.ts';
import { canonicalHost, type UpstreamFailure, type UpstreamRequest, type UpstreamResponse } from '../upstream/index.ts';
import { artifactContext, credentialContext } from './build-contexts.ts';
import { taskErrors } from './errors.ts';
import { retryAfterMs } from './poll-schedule.ts';
import { projectArtifacts } from './read-artifacts.ts';
import type { TaskDeps } from './types.ts';

/** The headers of a client that reach the vendor (specification, "content hook"). */
const CLIENT_HEADERS = ['range', 'if-range', 'if-none-match', 'if-modified-since'] as const;
/** The vendor's headers that reach the client (plugin facts §6). */
const VENDOR_HEADERS = [
  'content-type',
  'content-length',
  'content-range',
  'accept-ranges',
  'etag',
  'last-modified',
  'content-disposition',
] as const;
/** Until the vendor's headers; the body has no deadline of its own, only between chunks (plugin facts §1). */
const HEADERS_TIMEOUT_MS = 60_000;
const IDLE_TIMEOUT_MS = 60_000;
const MAX_REDIRECTS = 5;
const MAX_DATA_URL = 64 * 1024 * 1024;
const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+)?(?:;[\w-]+=[^;,]*)*;base64,/;

export type ContentRequest = {
  method: 'GET' | 'HEAD';
  /** Lower-case names; only the safe ones are used. */
  headers: Record<string, string>;
  signal: AbortSignal;
};
export type Content = {
  status: number;
  headers: Record<string, string>;
  body: ReadableStream<Uint8Array> | Uint8Array | null;
};

/** Fetches one artifact from the vendor for a client. `artifactKey` null: the first artifact of type video. */
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
    const artifact =
      artifactKey === null
        ? artifacts.find(({ type }) => type === 'video')
        : artifacts.find(({ key }) => key === artifactKey);
    if (!artifact) throw taskErrors.artifact_not_found();
    const channel = deps.channels.find(task.channelId) ?? (await deps.store.channels.byId(task.channelId));
    if (!channel) throw taskErrors.artifact_gone({ message: 'The channel of this task was deleted.' });
    const safeHeaders = pickHeaders(client.headers);
    const descriptor = await describe(deps, plugin, channel, task, artifact.key, client.method, safeHeaders);
    if (descriptor.url.startsWith('data:')) return dataContent(descriptor.url, client.method);
    const request = contentRequest(deps, plugin, channel, descriptor, client, safeHeaders);
    const sent = await deps.upstream.request(request);
    if (!sent.ok) throw contentFailure(sent.error);
    return passThrough(deps, sent.value, client.method);
  } finally {
    pin.release();
  }
}

async function describe(
  deps: TaskDeps,
  plugin: LoadedPlugin,
  channel: ChannelRecord,
  task: TaskRecord,
  artifactKey: string,
  method: 'GET' | 'HEAD',
  headers: Record<string, string>,
): Promise<ContentDescriptor> {
  const key = deps.channels.credential(channel);
  const context: JsonObject = {
    ...artifactContext(task),
    upstreamTaskId: task.upstreamTaskId,
    artifactKey,
    baseUrl: channel.baseUrl,
    clientRequest: { method, headers },
    ...credentialContext(plugin.manifest, key),
  };
  const built = await buildContentRequest(plugin, context, { secrets: [key] });
  if (built.ok) return built.value;
  if (built.error.kind === 'thrown' && built.error.message.includes('artifact_not_found'))
    throw taskErrors.artifact_not_found();
  throw taskErrors.artifact_plugin_error({ cause: built.error });
}

function contentRequest(
  deps: TaskDeps,
  plugin: LoadedPlugin,
  channel: ChannelRecord,
  descriptor: ContentDescriptor,
  client: ContentRequest,
  safeHeaders: Record<string, string>,
): UpstreamRequest {
  const open = descriptor.credentialless === true;
  const rejected = (message: string) => taskErrors.artifact_request_rejected({ message });
  const checked = checkRequestUrl(plugin.manifest, channel.baseUrl, descriptor.url, open);
  if (!checked.ok) throw rejected(checked.error.message);
  const own = deps.publicAddress();
  if (own && checked.value.host === new URL(own).host && checked.value.pathname.startsWith('/v1/')) {
    throw rejected('The artifact address points back at this gateway.');
  }
  const method = (descriptor.method ?? client.method).toUpperCase();
  const headers = Object.fromEntries(
    Object.entries(descriptor.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const hasBody = descriptor.body !== undefined && descriptor.body !== null;
  if (open && (Object.keys(headers).length > 0 || hasBody || (method !== 'GET' && method !== 'HEAD'))) {
    throw rejected('A credentialless request is a GET or HEAD without headers or a body.');
  }
  if (!['GET', 'HEAD', 'POST'].includes(method)) throw rejected('An artifact is fetched with GET, HEAD or POST.');
  const body = hasBody
    ? typeof descriptor.body === 'string'
      ? descriptor.body
      : JSON.stringify(descriptor.body)
    : undefined;
  return {
    url: checked.value.href,
    method,
    // The client's range and conditions stand above what the plugin wrote.
    headers: { ...headers, ...safeHeaders },
    body: body === undefined ? { kind: 'none' } : { kind: 'text', text: body },
    // A public CDN address has no business on a private network.
    privateHosts: [canonicalHost(new URL(channel.baseUrl))],
    maxRedirects: MAX_REDIRECTS,
    allowRedirect: (url) => checkRequestUrl(plugin.manifest, channel.baseUrl, url.href, open).ok,
    connectTimeoutMs: 10_000,
    headersTimeoutMs: HEADERS_TIMEOUT_MS,
    idleTimeoutMs: IDLE_TIMEOUT_MS,
    maxResponseBytes: Number.POSITIVE_INFINITY,
    signal: client.signal,
  };
}

function passThrough(deps: TaskDeps, response: UpstreamResponse, method: 'GET' | 'HEAD'): Content {
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
    const value = response.headers[name]?.[0];
    if (value !== undefined) headers[name] = value;
  }
  if (method === 'HEAD' || status === 304) {
    response.discard();
    return { status, headers, body: null };
  }
  return { status, headers, body: response.stream() };
}

function contentFailure(failure: UpstreamFailure): Error {
  if (failure.kind === 'refused') return taskErrors.artifact_request_rejected({ message: failure.message });
  if (failure.kind === 'timeout') return taskErrors.artifact_upstream_timeout();
  return taskErrors.artifact_upstream_error({ cause: failure });
}

function dataContent(url: string, method: 'GET' | 'HEAD'): Content {
  const match = DATA_URL.exec(url.slice(0, 1024));
  if (!match || url.length > MAX_DATA_URL)
    throw taskErrors.artifact_request_rejected({ message: 'The data address of the artifact is invalid.' });
  const bytes = Buffer.from(url.slice(match[0].length), 'base64');
  const headers = { 'content-type': match[1] ?? 'video/mp4', 'content-length': String(bytes.byteLength) };
  return { status: 200, headers, body: method === 'HEAD' ? null : bytes };
}

function pickHeaders(headers: Record<string, string>): Record<string, string> {
  const out: Record<string, string> = {};
  for (const name of CLIENT_HEADERS) {
    const value = headers[name];
    if (value !== undefined) out[name] = value;
  }
  return out;
}
