/** Headers that every answer carries, and those of answers to other sites' pages. */

/** What a script of another site may read of an answer of an API-key route. */
const EXPOSED =
  'x-request-id, retry-after, x-should-retry, idempotent-replayed, content-length, content-range, accept-ranges, etag';
/** Says that an answer is that of an earlier request with the same Idempotency-Key. */
export const REPLAYED = 'idempotent-replayed';
const PREFLIGHT_SECONDS = 7200;
/**
 * SDKs send headers of their own (`x-stainless-…`): any well-formed list is granted, since no
 * cookie ever goes along.
 */
const HEADER_LIST = /^[A-Za-z0-9\-_, ]{1,2000}$/;

export type AnswerHeaders = {
  requestId: string;
  /** The answer may be read by other sites' pages. */
  openToOtherSites: boolean;
  /** Below `/api`: never stored, unless the controller says otherwise. */
  noStore: boolean;
  /** The listener itself speaks TLS. */
  tls: boolean;
};

export function putHeaders(headers: Headers, answer: AnswerHeaders): void {
  headers.set('x-request-id', answer.requestId);
  headers.set('x-content-type-options', 'nosniff');
  setDefault(headers, 'referrer-policy', 'no-referrer');
  setDefault(headers, 'content-security-policy', "default-src 'none'; frame-ancestors 'none'");
  if (answer.tls) headers.set('strict-transport-security', 'max-age=31536000');
  if (answer.noStore) setDefault(headers, 'cache-control', 'no-store');
  if (answer.openToOtherSites) {
    headers.set('access-control-allow-origin', '*');
    headers.set('access-control-expose-headers', EXPOSED);
  }
}

/** The answer to a browser's question whether another site's page may call an API-key route. */
export function preflightResponse(request: Request, methods: readonly string[]): Response {
  const asked = request.headers.get('access-control-request-headers') ?? '';
  return new Response(null, {
    status: 204,
    headers: {
      'access-control-allow-methods': methods.join(', '),
      'access-control-allow-headers': HEADER_LIST.test(asked) ? asked : 'authorization, content-type',
      'access-control-max-age': String(PREFLIGHT_SECONDS),
      vary: 'access-control-request-headers',
    },
  });
}

function setDefault(headers: Headers, name: string, value: string): void {
  if (!headers.has(name)) headers.set(name, value);
}
