import type { Content, ContentRequest } from '../../tasks/index.ts';

/** What a browser may do with a vendor's bytes on our own origin: show or play them, nothing else (as in new-api). */
const SAFETY_HEADERS = {
  'cache-control': 'private, no-store',
  'content-security-policy': "sandbox; default-src 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** The client's side of a content request; its disconnect ends the vendor's transfer. */
export function contentRequest(request: Request, headersOnly: boolean): ContentRequest {
  return {
    method: headersOnly ? 'HEAD' : 'GET',
    headers: Object.fromEntries(request.headers),
    signal: request.signal,
  };
}

export const contentResponse = (content: Content): Response =>
  new Response(content.body as ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer> | null, {
    status: content.status,
    headers: { ...content.headers, ...SAFETY_HEADERS },
  });
