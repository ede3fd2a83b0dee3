import { type ApiPrincipal, addressKey, type RequestOrigin } from '../../auth/index.ts';
import { AppError } from '../../kernel/index.ts';
import type { Content, ContentRequest, Tasks } from '../../tasks/index.ts';
import { type ContentUse, contentHeaders } from './content-headers.ts';
import { streamChunks } from './stream-chunks.ts';

/** The client's side of a content request; its disconnect ends the vendor's transfer. */
function contentRequest(request: Request, requestId: string, headersOnly: boolean): ContentRequest {
  return {
    requestId,
    method: headersOnly ? 'HEAD' : 'GET',
    headers: Object.fromEntries(request.headers),
    signal: request.signal,
  };
}

const BYTES = { content: { '*/*': { schema: { type: 'string', format: 'binary' } } } } as const;

/** The answers of a content route, for the description of the interface. */
export const CONTENT_ANSWERS = {
  '200': { description: 'The bytes as the vendor sends them; above 1 MiB without Content-Length', ...BYTES },
  '206': { description: 'The part that Range asked for', ...BYTES },
  '304': { description: 'What the client has is still good' },
  '416': { description: 'There is no such part' },
} as const;

/** What a route that takes an API key or a link knows of a request for an artifact. */
export type ContentScope = {
  request: Request;
  api: ApiPrincipal | undefined;
  origin: Pick<RequestOrigin, 'decidingIp'>;
  requestId: string;
  headersOnly: boolean;
};

/**
 * An artifact for whoever has its link, else what `byKey` answers the owner of an API key. A link
 * decides alone: with one that is not valid, a key that comes along opens nothing.
 */
export async function sendContent(
  { request, api, origin, requestId, headersOnly }: ContentScope,
  artifact: { taskId: string; artifactKey: string },
  tasks: Tasks,
  byKey: (api: ApiPrincipal, client: ContentRequest) => Promise<Response>,
): Promise<Response> {
  const client = contentRequest(request, requestId, headersOnly);
  const access = new URL(request.url).searchParams.getAll('access');
  if (access.length > 0) {
    const link = { ...artifact, access, address: addressKey(origin.decidingIp) };
    return contentResponse(await tasks.contentByLink(link, client), 'link');
  }
  if (api) return byKey(api, client);
  throw new AppError('auth.api_key_missing', 'unauthenticated', {
    message: 'An API key or a signed artifact link is needed.',
  });
}

/** How long a client may take for one chunk: as long as the listener lets connections idle. */
const STALL_MS = 120_000;

/**
 * Statuses whose answers have no body, whatever their sender adds (RFC 9110 15.3.5, 15.3.6,
 * 15.4.5).
 */
const BODILESS = [204, 205, 304];

/** A vendor may send any three digits: what is none of HTTP's statuses is his failure. */
export function contentResponse({ status, headers, body }: Content, use: ContentUse): Response {
  const isKnown = status >= 200 && status <= 599;
  const init = { status: isKnown ? status : 502, headers: contentHeaders(headers, use) };
  if (status === 204 || status === 205) init.headers.delete('content-length');
  if (BODILESS.includes(status)) for (const name of ['content-type', 'content-disposition']) init.headers.delete(name);
  if (body instanceof ReadableStream) {
    if (!BODILESS.includes(status)) return new Response(streamChunks(body, STALL_MS), init);
    void body.cancel().catch(() => undefined);
  }
  return new Response(BODILESS.includes(status) ? null : (body as Uint8Array<ArrayBuffer> | null), init);
}
