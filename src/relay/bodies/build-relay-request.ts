import { findApiAddress } from '../../channels/index.ts';
import { editJson, type JsonChanges, type JsonObject } from '../../kernel/index.ts';
import type { ChannelRecord, RelayKind } from '../../store/ports/index.ts';
import type { ClientRequest } from '../../tasks/index.ts';
import { canonicalHost, type MultipartPart, type UpstreamBody, type UpstreamRequest } from '../../upstream/index.ts';
import { CONNECT_TIMEOUT_MS, CONTENT_HEADERS, isMultiRange, MAX_REDIRECTS, restoreFiles } from '../../vendors/index.ts';
import { ENDPOINTS } from '../endpoints.ts';
import { relayErrors } from '../errors.ts';

/**
 * Client headers that are sent to the vendor. Organization and project are not: the channel's owner
 * pays.
 */
export const RELAYED_HEADERS = ['openai-beta'] as const;
/** Query parameters that are sent to the vendor. */
const QUERY = [
  'after',
  'include',
  'include[]',
  'include_obfuscation',
  'limit',
  'order',
  'starting_after',
  'stream',
  'variant',
] as const;

/** The vendor's host. Object ids are unique per host. */
export const vendorHost = ({ baseUrl }: ChannelRecord): string => canonicalHost(new URL(baseUrl));

/** The vendor's collection, reached through a channel with its key. */
type Target = { channel: ChannelRecord; key: string; kind: RelayKind };

type Call = {
  method: 'GET' | 'HEAD' | 'POST' | 'DELETE';
  /** The path below the collection, percent-encoded; empty for the collection itself. */
  path: string;
  query?: Record<string, string[]>;
  headers: Record<string, string>;
  body?: UpstreamBody;
  headersTimeoutMs: number;
  idleTimeoutMs: number;
  maxResponseBytes: number;
  signal?: AbortSignal;
  /** The rules of redirects to other hosts, which get only `CONTENT_HEADERS`. */
  redirects?: Pick<UpstreamRequest, 'privateHosts' | 'allowRedirect'>;
};

/**
 * A request to the channel's vendor with the channel's credential. Only GET and HEAD follow
 * redirects, since any other request could take effect twice.
 */
export function buildRelayRequest(
  { channel, key, kind }: Target,
  { method, path, query = {}, headers, body = { kind: 'none' }, redirects, ...limits }: Call,
): UpstreamRequest {
  const params = new URLSearchParams(QUERY.flatMap((name) => (query[name] ?? []).map((value) => [name, value])));
  const search = params.size > 0 ? `?${params}` : '';
  return {
    url: `${findApiAddress(channel.baseUrl)}${ENDPOINTS[kind].path}${path}${search}`,
    method,
    headers: { ...headers, authorization: `Bearer ${key}` },
    body,
    privateHosts: [vendorHost(channel)],
    isKnownHost: (hop) => canonicalHost(hop) === vendorHost(channel),
    maxRedirects: method === 'GET' || method === 'HEAD' ? MAX_REDIRECTS : 0,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    ...(redirects ? { ...redirects, headersForEveryOrigin: CONTENT_HEADERS } : {}),
    ...limits,
  };
}

export const pickHeaders = (headers: Record<string, string>, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = headers[name];
      return value === undefined || isMultiRange(name, value) ? [] : [[name, value]];
    }),
  );

/**
 * The client's body, with the vendor's name for the model; undefined: without a model. `changes`:
 * other members that the gateway removes, or sets in a JSON body. All else stays as the client
 * wrote it.
 */
export function buildRelayBody(
  { body }: ClientRequest,
  model: string | undefined,
  changes: JsonChanges = {},
): UpstreamBody {
  if (body.kind === 'json') {
    const isNamed = model !== undefined && (body.value as JsonObject).model === model;
    const text = editJson(writeJson(body), isNamed ? changes : { ...changes, model });
    if (!body.extracted) return { kind: 'text', text };
    // The body goes on as it came, so its files need no further limit.
    const restored = restoreFiles([text], {
      extracted: body.extracted,
      maxBytes: Number.POSITIVE_INFINITY,
      inJson: true,
    });
    if (!restored.ok) throw relayErrors.relay_request_invalid({ message: restored.error.message });
    return { kind: 'pieces', pieces: restored.value };
  }
  if (body.kind !== 'multipart') return { kind: 'none' };
  const { model: _, ...others } = body.fields;
  const fields = Object.entries(model === undefined ? others : { ...others, model: [model] }).filter(
    ([name]) => !Object.hasOwn(changes, name),
  );
  const parts: MultipartPart[] = fields.flatMap(([name, values]) => values.map((value) => ({ name, value })));
  for (const { field, filename, mimeType, size, stream } of body.files) {
    parts.push({ name: field, filename, contentType: mimeType || 'application/octet-stream', size, stream });
  }
  return { kind: 'multipart', parts };
}

/** The JSON that the vendor gets, before the gateway changes it. */
export const writeJson = ({ text, value }: Extract<ClientRequest['body'], { kind: 'json' }>): string =>
  text ?? JSON.stringify(value);
