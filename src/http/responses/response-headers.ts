/** Headers of every response, and those of responses to pages of other sites (CORS). */
import type { RateLimitState } from '../../auth/index.ts';
import { ANSWER_POLICY } from './content-security-policies.ts';

/** Headers that scripts of other sites may read on API-key routes. */
const EXPOSED =
  'x-request-id, location, retry-after, x-should-retry, x-ratelimit-limit-requests, x-ratelimit-remaining-requests, x-ratelimit-reset-requests, idempotent-replayed, openai-poll-after-ms, preference-applied, mcp-session-id, content-length, content-range, content-disposition, accept-ranges, etag, last-modified';
/** Marks the response to an earlier request with the same Idempotency-Key. */
export const REPLAYED = 'idempotent-replayed';
const PREFLIGHT_SECONDS = 7200;
/**
 * SDKs send headers of their own (`x-stainless-…`), so every well-formed list is allowed. That is
 * safe because these requests never carry cookies.
 */
const HEADER_LIST = /^[A-Za-z0-9\-_, ]{1,2000}$/;

type ResponseHeaders = {
  requestId: string;
  /** Pages of other sites may read the response. */
  openToOtherSites: boolean;
  /**
   * Below `/api` and for API clients: no cache stores the response unless the controller allows
   * it. Caches do not know every header that carries a key.
   */
  noStore: boolean;
  /** The listener itself speaks TLS. */
  tls: boolean;
  /** The limit of model requests that counted this one. */
  rateLimit?: RateLimitState | undefined;
};

/** Sets the common headers; those with a default leave the controller's own value in place. */
export function setResponseHeaders(headers: Headers, response: ResponseHeaders): void {
  headers.set('x-request-id', response.requestId);
  headers.set('x-content-type-options', 'nosniff');
  setDefault(headers, 'referrer-policy', 'no-referrer');
  setDefault(headers, 'content-security-policy', ANSWER_POLICY);
  if (response.tls) headers.set('strict-transport-security', 'max-age=31536000');
  if (response.rateLimit) setRateLimitHeaders(headers, response.rateLimit);
  if (response.noStore) setDefault(headers, 'cache-control', 'no-store');
  if (response.openToOtherSites) {
    headers.set('access-control-allow-origin', '*');
    headers.set('access-control-expose-headers', EXPOSED);
  }
}

/** The headers of OpenAI's API, with its way to write a duration: `6m0s`. */
function setRateLimitHeaders(headers: Headers, { limit, remaining, resetSeconds }: RateLimitState): void {
  const minutes = Math.floor(resetSeconds / 60);
  headers.set('x-ratelimit-limit-requests', String(limit));
  headers.set('x-ratelimit-remaining-requests', String(remaining));
  headers.set('x-ratelimit-reset-requests', `${minutes > 0 ? `${minutes}m` : ''}${resetSeconds % 60}s`);
}

/** The response to a CORS preflight for an API-key route. */
export function preflightResponse(request: Request, methods: readonly string[]): Response {
  const requested = request.headers.get('access-control-request-headers') ?? '';
  return new Response(null, {
    status: 204,
    headers: {
      'access-control-allow-methods': methods.join(', '),
      'access-control-allow-headers': HEADER_LIST.test(requested) ? requested : 'authorization, content-type',
      'access-control-max-age': String(PREFLIGHT_SECONDS),
      vary: 'access-control-request-headers',
    },
  });
}

function setDefault(headers: Headers, name: string, value: string): void {
  if (!headers.has(name)) headers.set(name, value);
}
