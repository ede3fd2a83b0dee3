import { sentence, toSentence, toStream } from '../../kernel/index.ts';
import {
  allowsHost,
  type ContentRequest as DescribedContent,
  isRedirectHost,
  type LoadedPlugin,
} from '../../plugins/index.ts';
import type { ChannelRecord } from '../../store/ports/index.ts';
import {
  decodeBody,
  findDecoder,
  readEncodings,
  retryAfterMs,
  type UpstreamFailure,
  type UpstreamRequest,
  type UpstreamResponse,
} from '../../upstream/index.ts';
import { vendorErrors } from '../errors.ts';
import { CONNECT_TIMEOUT_MS, MAX_REDIRECTS } from '../request/build-upstream-request.ts';
import type { ContentRequest, VendorContent, VendorDeps } from '../types.ts';
import { decodeBase64Content } from './decode-base64-content.ts';
import { createRedirectPolicy, pointsToSelf } from './redirect-policy.ts';

/** Client headers that are also sent for content: ranges and conditions. */
export const CONTENT_HEADERS = ['range', 'if-range', 'if-none-match', 'if-modified-since'] as const;
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
 * Bodies up to this announced length are read into memory, to keep their Content-Length: the HTTP
 * server sends streams chunked, without a length. Nobody should wait for the end of a larger one
 * before its first byte.
 */
const WHOLE_BODY_BYTES = 128 * 1024;

type Fetch = {
  plugin: LoadedPlugin;
  channel: ChannelRecord;
  described: DescribedContent;
  client: ContentRequest;
  /** Called when the vendor refuses the credential. */
  onUnauthorized(): void;
};

/**
 * Sends a described request for content and hands the answer through.
 * @throws tasks.artifact_*
 */
export async function fetchContent(deps: VendorDeps, fetch: Fetch): Promise<VendorContent> {
  const { plugin, channel, described, client, onUnauthorized } = fetch;
  if (described.kind === 'data') return dataContent(described, client.method);
  // A part of an answer is not a part of the file in it.
  const safeHeaders = described.base64 ? {} : pickHeaders(client.headers);
  const request = contentRequest(deps, { plugin, channel, described, safeHeaders, signal: client.signal });
  let response = await send(deps, channel, request);
  if (isEncodedPart(response)) {
    response.discard();
    response = await send(deps, channel, { ...request, headers: withoutRange(request.headers) });
  }
  if (request.method === 'HEAD' && mayBeSignedForGet(response)) {
    response.discard();
    response = await send(deps, channel, { ...request, method: 'GET' });
  }
  if (response.status === 401) onUnauthorized();
  const content = await forwardContent(deps, response, client);
  return described.base64 ? await decodeBase64Content(content, described.base64) : content;
}

async function send(
  deps: Pick<VendorDeps, 'send'>,
  channel: ChannelRecord,
  request: UpstreamRequest,
): Promise<UpstreamResponse> {
  const sent = await deps.send(channel, request);
  if (!sent.ok) throw contentFailure(sent.error);
  return sent.value;
}

type HttpContent = {
  plugin: LoadedPlugin;
  channel: ChannelRecord;
  described: Extract<DescribedContent, { kind: 'http' }>;
  safeHeaders: Record<string, string>;
  signal: AbortSignal;
};

function contentRequest(
  deps: VendorDeps,
  { plugin, channel, described, safeHeaders, signal }: HttpContent,
): UpstreamRequest {
  const { url, method, headers, body, credentialless, redirectHosts = [] } = described;
  const own = deps.ownAddresses();
  if (pointsToSelf(own, new URL(url))) {
    throw vendorErrors.artifact_request_rejected({ message: sentence('tasks.artifact_own') });
  }
  const lowered = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return {
    url,
    method,
    // The client's range and conditions override the plugin's headers.
    headers: { ...lowered, ...safeHeaders },
    body: body === undefined ? { kind: 'none' } : { kind: 'text', text: body },
    ...createRedirectPolicy({
      url: new URL(url),
      vendor: new URL(channel.baseUrl),
      credentialless,
      isAllowed: (hop) =>
        !pointsToSelf(own, hop) &&
        (credentialless || allowsHost(plugin.manifest, channel.baseUrl, hop) || isRedirectHost(redirectHosts, hop)),
    }),
    isKnownHost: (hop) => allowsHost(plugin.manifest, channel.baseUrl, hop),
    maxRedirects: MAX_REDIRECTS,
    headersForEveryOrigin: CONTENT_HEADERS,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    headersTimeoutMs: HEADERS_TIMEOUT_MS,
    idleTimeoutMs: IDLE_TIMEOUT_MS,
    maxResponseBytes: Number.POSITIVE_INFINITY,
    signal,
  };
}

async function forwardContent(
  deps: VendorDeps,
  response: UpstreamResponse,
  client: ContentRequest,
): Promise<VendorContent> {
  const { status } = response;
  if (![200, 206, 304, 416].includes(status)) {
    response.discard();
    throw statusFailure(deps, response);
  }
  const encodings = readEncodings(response.headers['content-encoding']);
  const decoder = findDecoder(encodings);
  if (encodings.length > 0 && status !== 304 && (!decoder || status !== 200)) {
    response.discard();
    throw vendorErrors.artifact_upstream_error({ message: sentence('tasks.artifact_encoding') });
  }
  const headers = forwardedHeaders(response, { isDecoded: encodings.length > 0 });
  if (client.method === 'HEAD' || status === 304) {
    response.discard();
    return { status, headers, body: null };
  }
  if (decoder) return { status, headers, body: toStream(decodeBody(response.stream(), decoder), client.onStreamEnd) };
  const length = Number(headers['content-length'] ?? Number.POSITIVE_INFINITY);
  const whole = length <= WHOLE_BODY_BYTES;
  return { status, headers, body: whole ? await readWhole(response) : response.stream(client.onStreamEnd) };
}

/**
 * Whether a refused HEAD may be answered as a GET whose body nobody reads: signed addresses are
 * often for GET alone, and some servers know no HEAD.
 */
export const mayBeSignedForGet = ({ status }: Pick<UpstreamResponse, 'status'>): boolean =>
  status >= 400 && ![404, 410, 416, 429].includes(status);

/** Whether a part of encoded bytes was sent, for which nobody asked: it is not part of the file. */
const isEncodedPart = ({ status, headers }: Pick<UpstreamResponse, 'status' | 'headers'>): boolean =>
  (status === 206 || status === 416) && readEncodings(headers['content-encoding']).length > 0;

/** A vendor that is not asked for a part sends the whole file, and so may we (RFC 9110, 14.2). */
const withoutRange = ({
  range: _range,
  'if-range': _condition,
  ...others
}: Record<string, string>): Record<string, string> => others;

/** `isDecoded`: length, ranges and entity tag are those of the encoded bytes, which nobody gets. */
function forwardedHeaders(
  response: Pick<UpstreamResponse, 'headers'>,
  { isDecoded }: { isDecoded: boolean },
): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name of VENDOR_HEADERS) {
    const values = response.headers[name] ?? [];
    // Two content types are invalid; both are shown, so that the client sees this.
    const value = name === 'content-type' && values.length > 1 ? values.join(', ') : values[0];
    if (value !== undefined) headers[name] = value;
  }
  if (!isDecoded) return headers;
  const { 'content-length': _length, 'content-range': _part, 'accept-ranges': _ranges, etag, ...kept } = headers;
  // A weak tag still answers "has it changed", and is not a condition of a range.
  return etag === undefined ? kept : { ...kept, etag: etag.startsWith('W/') ? etag : `W/${etag}` };
}

/** The failure of a request that the vendor answered with a status of no use. */
export function statusFailure(
  { clock }: Pick<VendorDeps, 'clock'>,
  { status, headers }: Pick<UpstreamResponse, 'status' | 'headers'>,
): Error {
  if (status === 401 || status === 403) return vendorErrors.artifact_upstream_auth_failed();
  if (status === 404 || status === 410) return vendorErrors.artifact_gone();
  if (status !== 429) return vendorErrors.artifact_upstream_error();
  const wait = Math.ceil(retryAfterMs(headers['retry-after']?.[0], clock.nowMs()) / 1000);
  return vendorErrors.artifact_upstream_busy(wait > 0 ? { retryAfterSeconds: wait } : {});
}

async function readWhole(response: UpstreamResponse): Promise<Uint8Array> {
  try {
    return await new Response(response.stream()).bytes();
  } catch (cause) {
    throw vendorErrors.artifact_upstream_error({ cause });
  }
}

export function contentFailure(failure: UpstreamFailure): Error {
  if (failure.kind === 'refused') return vendorErrors.artifact_request_rejected({ message: toSentence(failure) });
  if (failure.kind === 'timeout') return vendorErrors.artifact_upstream_timeout();
  return vendorErrors.artifact_upstream_error({ cause: failure });
}

function dataContent(data: Extract<DescribedContent, { kind: 'data' }>, method: 'GET' | 'HEAD'): VendorContent {
  const bytes = Buffer.from(data.base64, 'base64');
  const headers = { 'content-type': data.mimeType, 'content-length': String(bytes.byteLength) };
  return { status: 200, headers, body: method === 'HEAD' ? null : bytes };
}

/** The client's headers that a request for content may have. */
export function pickHeaders(headers: Record<string, string>): Record<string, string> {
  const out: Record<string, string> = {};
  for (const name of CONTENT_HEADERS) {
    const value = headers[name];
    if (value !== undefined && !isMultiRange(name, value)) out[name] = value;
  }
  return out;
}

/**
 * A request for several ranges is answered with a multipart type, which is not forwarded. Without
 * the header the vendor sends the whole file.
 */
export const isMultiRange = (name: string, value: string): boolean => name === 'range' && value.includes(',');
