import type { JsonObject } from '../../kernel/index.ts';
import type { ChannelRecord, RelayKind } from '../../store/ports/index.ts';
import { canonicalHost, type MultipartPart, type UpstreamBody, type UpstreamRequest } from '../../upstream/index.ts';
import { asksForRanges } from '../artifacts/asks-for-ranges.ts';
import { taskErrors } from '../errors.ts';
import type { ClientRequest } from '../types.ts';
import { CONNECT_TIMEOUT_MS, MAX_REDIRECTS } from '../vendor/build-upstream-request.ts';
import { restoreFiles } from '../vendor/restore-files.ts';

const PATHS: Record<RelayKind, string> = { response: '/v1/responses', video: '/v1/videos' };

/**
 * A client's header that reaches the vendor. Organization and project are not among them: the
 * channel's owner pays.
 */
export const RELAYED_HEADERS = ['openai-beta'] as const;
/** The same for content: what asks for a part or for news. */
export const CONTENT_HEADERS = ['range', 'if-range', 'if-none-match', 'if-modified-since'] as const;
/** Parameters of an address that reach the vendor. */
const QUERY = ['include', 'include[]', 'include_obfuscation', 'starting_after', 'stream', 'variant'] as const;

/** The vendor's host, within which names of objects are unique. */
export const vendorOf = ({ baseUrl }: ChannelRecord): string => canonicalHost(new URL(baseUrl));

type Call = {
  method: 'GET' | 'HEAD' | 'POST' | 'DELETE';
  /** What follows the collection's path, percent-encoded; empty for the collection itself. */
  path: string;
  query?: Record<string, string[]>;
  headers: Record<string, string>;
  body?: UpstreamBody;
  headersTimeoutMs: number;
  idleTimeoutMs: number;
  maxResponseBytes: number;
  signal?: AbortSignal;
};

/**
 * A request to the channel's vendor, with the channel's credential. Nothing that could do something
 * twice follows a redirect.
 */
export function buildRelayRequest(
  channel: ChannelRecord,
  key: string,
  kind: RelayKind,
  { method, path, query = {}, headers, body = { kind: 'none' }, ...limits }: Call,
): UpstreamRequest {
  const asked = new URLSearchParams(QUERY.flatMap((name) => (query[name] ?? []).map((value) => [name, value])));
  const search = asked.size > 0 ? `?${asked}` : '';
  return {
    // Addresses are given with and without the version.
    url: `${channel.baseUrl.replace(/\/v1$/, '')}${PATHS[kind]}${path}${search}`,
    method,
    headers: { ...headers, authorization: `Bearer ${key}` },
    body,
    privateHosts: [vendorOf(channel)],
    maxRedirects: method === 'GET' || method === 'HEAD' ? MAX_REDIRECTS : 0,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    ...limits,
  };
}

export const pickHeaders = (headers: Record<string, string>, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = headers[name];
      return value === undefined || asksForRanges(name, value) ? [] : [[name, value]];
    }),
  );

/** The client's body with the vendor's name of the model in the place of the client's. */
export function buildRelayBody({ body }: ClientRequest, model: string): UpstreamBody {
  if (body.kind === 'json') {
    const text = JSON.stringify({ ...(body.value as JsonObject), model });
    if (!body.extracted) return { kind: 'text', text };
    // The body comes as it was sent, so its files need no other bound.
    const restored = restoreFiles([text], {
      extracted: body.extracted,
      maxBytes: Number.POSITIVE_INFINITY,
      inJson: true,
    });
    if (!restored.ok) throw taskErrors.relay_request_invalid({ message: restored.error.message });
    return { kind: 'pieces', pieces: restored.value };
  }
  if (body.kind !== 'multipart') return { kind: 'none' };
  const fields = Object.entries({ ...body.fields, model: [model] });
  const parts: MultipartPart[] = fields.flatMap(([name, values]) => values.map((value) => ({ name, value })));
  for (const { field, filename, mimeType, size, stream } of body.files) {
    parts.push({ name: field, filename, contentType: mimeType || 'application/octet-stream', size, stream });
  }
  return { kind: 'multipart', parts };
}
