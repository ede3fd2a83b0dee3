import { type ApiPrincipal, addressKey, type RequestOrigin } from '../../auth/index.ts';
import { AppError } from '../../kernel/index.ts';
import type { Results } from '../../results/index.ts';
import { type Content, isDisplayed, readMediaType, writeMediaType } from '../../results/index.ts';
import type { ContentRequest } from '../../vendors/index.ts';
import { CONTENT_POLICY } from '../responses/content-security-policies.ts';
import { streamChunks } from '../responses/stream-chunks.ts';

/**
 * The client's side of a content request. When the client disconnects, the vendor's transfer ends.
 */
function contentRequest(request: Request, requestId: string, headersOnly: boolean): ContentRequest {
  return {
    requestId,
    method: headersOnly ? 'HEAD' : 'GET',
    headers: readContentHeaders(request, { headersOnly }),
    signal: request.signal,
    ...(new URL(request.url).searchParams.get('redirect') === 'false' ? {} : { followsRedirect: true as const }),
  };
}

/** Only GET has ranges (RFC 9110, 14.2). */
export function readContentHeaders(request: Request, { headersOnly = false }): Record<string, string> {
  const headers = Object.fromEntries(request.headers);
  if (headersOnly) for (const name of ['range', 'if-range']) delete headers[name];
  return headers;
}

const FILE = { schema: { type: 'string', format: 'binary' } } as const;
/** Content of any type; generators of clients know the first one. */
const BYTES = { content: { 'application/octet-stream': FILE, '*/*': FILE } } as const;

/** The responses of a content route, for the OpenAPI document. */
export const CONTENT_ANSWERS = {
  '200': { description: 'The bytes as the vendor sends them; without Content-Length above 128 KiB', ...BYTES },
  '206': { description: 'The part that Range requested', ...BYTES },
  '302': { description: 'The kept copy is at Location, in the storage of results' },
  '304': { description: 'The copy that the client has is current' },
  '307': { description: 'The link is served at Location, on the origin of results' },
  '412': { description: 'The kept copy is not the one that If-Match names' },
  '416': { description: 'The content has no such part' },
} as const;

/**
 * The parts of a request that serving an artifact needs. `api` is unset for a link without a key.
 */
export type ContentScope = {
  request: Request;
  api: ApiPrincipal | undefined;
  origin: Pick<RequestOrigin, 'decidingIp'>;
  requestId: string;
  headersOnly: boolean;
};

/** The artifact that a signed link opens, and what the owner of an API key gets instead. */
type ContentSource = {
  artifact: { taskId: string; artifactKey: string };
  byKey: (api: ApiPrincipal, client: ContentRequest) => Promise<Response>;
};

/**
 * Serves an artifact to anyone with a signed link to it, or calls `byKey` for the owner of an API
 * key. A link overrides a key: with an invalid link, the key in the same request opens nothing.
 * @throws auth.api_key_missing, and what the task engine throws
 */
export async function sendContent(
  results: Results,
  { request, api, origin, requestId, headersOnly }: ContentScope,
  { artifact, byKey }: ContentSource,
): Promise<Response> {
  const client = contentRequest(request, requestId, headersOnly);
  const access = new URL(request.url).searchParams.getAll('access');
  if (access.length > 0) {
    const link = { ...artifact, access, address: addressKey(origin.decidingIp) };
    return contentResponse(await results.contentByLink(link, client), 'link');
  }
  if (api) return byKey(api, client);
  throw new AppError('auth.api_key_missing', 'unauthenticated', {
    message: 'An API key or a signed artifact link is needed.',
  });
}

/** How long a client may take for one chunk: the same as the listener's idle timeout. */
const STALL_MS = 120_000;

/** Statuses without a body, even if the vendor sends one (RFC 9110 15.3.5, 15.3.6, 15.4.5). */
const BODILESS = [204, 205, 304];

/** A vendor may send any three digits; a number that is not an HTTP status becomes 502. */
export function contentResponse({ status, headers, body, maxAgeSeconds, isParts }: Content, use: ContentUse): Response {
  const isHttpStatus = status >= 200 && status <= 599;
  const init = { status: isHttpStatus ? status : 502, headers: contentHeaders(headers, use, { isParts }) };
  if (maxAgeSeconds !== undefined) init.headers.set('cache-control', `private, max-age=${maxAgeSeconds}`);
  if (status === 204 || status === 205) init.headers.delete('content-length');
  if (BODILESS.includes(status)) for (const name of ['content-type', 'content-disposition']) init.headers.delete(name);
  if (body instanceof ReadableStream) {
    if (!BODILESS.includes(status)) return new Response(streamChunks(body, STALL_MS), init);
    void body.cancel().catch(() => undefined);
  }
  return new Response(BODILESS.includes(status) ? null : (body as Uint8Array<ArrayBuffer> | Blob | null), init);
}

/**
 * What a vendor's bytes are served as. `link`, `key`: an artifact, fetched by its link or with an
 * API key. `api`: the response of a relayed call.
 */
export type ContentUse = 'link' | 'key' | 'api';

const API_TYPES: ReadonlySet<string> = new Set(['application/json', 'text/event-stream', 'text/plain']);
const DOWNLOAD = 'application/octet-stream';

const FILE_NAME = /;[ \t]?filename="?([A-Za-z0-9][A-Za-z0-9._ -]{0,150})"?(?:;|$)/i;

function allows(use: ContentUse, essence: string): boolean {
  if (use !== 'api') return isDisplayed(essence);
  return API_TYPES.has(essence) || isDisplayed(essence) || /^application\/[^/]+\+json$/.test(essence);
}

/**
 * The vendor's headers, overridden by ours: the gateway decides what a browser may do with the
 * bytes. `isParts`: the gateway's own answer to several ranges, whose type clients need. A vendor's
 * could hold anything.
 */
export function contentHeaders(
  vendor: Record<string, string>,
  use: ContentUse,
  { isParts = false }: { isParts?: boolean | undefined } = {},
): Headers {
  const headers = new Headers(vendor);
  const type = readMediaType(vendor['content-type']);
  if (isParts) headers.set('content-disposition', 'attachment');
  else if (type && allows(use, type.essence)) {
    headers.set('content-type', writeMediaType(type));
  } else if (type || vendor['content-type'] !== undefined || use !== 'api') {
    const name = FILE_NAME.exec((vendor['content-disposition'] ?? '').slice(0, 1000))?.[1];
    headers.set('content-type', DOWNLOAD);
    headers.set('content-disposition', name === undefined ? 'attachment' : `attachment; filename="${name}"`);
  }
  headers.set('cache-control', 'private, no-store');
  headers.set('content-security-policy', CONTENT_POLICY);
  // Pages of other sites may embed links. With an API key no page can embed anything.
  headers.set('cross-origin-resource-policy', use === 'link' ? 'cross-origin' : 'same-site');
  headers.set('referrer-policy', 'no-referrer');
  headers.set('x-content-type-options', 'nosniff');
  return headers;
}
