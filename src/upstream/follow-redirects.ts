import { err, ok, type Result, type Sentence, sentence } from '../kernel/index.ts';
import { checkTarget } from './check-request.ts';
import { refused } from './failures.ts';
import type { UpstreamFailure, UpstreamRequest } from './types.ts';

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** Whether an answer with this status and `Location` is a redirect. */
export const isRedirect = (status: number, location: string | undefined): location is string =>
  REDIRECTS.has(status) && location !== undefined;

/**
 * The next request after a redirect (RFC 9110 15.4): 303, and 301 or 302 after a POST, continue as
 * GET without a body. Another origin gets no body, and only those headers that may go to every
 * origin. Without `allowRedirect` only the same origin is followed. A refusal here has
 * `notSent: false`, because the vendor has answered at least once.
 */
export function followRedirect(
  request: UpstreamRequest,
  { status, location }: { status: number; location: string },
): Result<UpstreamRequest, UpstreamFailure> {
  const { method, headers, body, allowRedirect, headersForEveryOrigin = [] } = request;
  const from = new URL(request.url);
  const no = (said: Sentence) => err({ ...refused(said), notSent: false });
  const target = URL.parse(location, from);
  if (!target) return no(sentence('upstream.redirect_url'));
  target.hash = '';
  const checked = checkTarget(target);
  if (!checked.ok) return no(sentence('upstream.redirect_forbidden'));
  if (from.protocol === 'https:' && target.protocol !== 'https:') return no(sentence('upstream.redirect_http'));
  const sameOrigin = target.origin === from.origin;
  if (allowRedirect ? !allowRedirect(target) : !sameOrigin) return no(sentence('upstream.redirect_host'));

  const asGet = status === 303 ? method !== 'HEAD' : status < 303 && method === 'POST';
  if (!asGet && !sameOrigin && body.kind !== 'none') return no(sentence('upstream.redirect_body'));
  return ok({
    ...request,
    url: target.href,
    method: asGet ? 'GET' : method,
    headers: sameOrigin ? (asGet ? withoutContentHeaders(headers) : headers) : only(headers, headersForEveryOrigin),
    body: asGet ? { kind: 'none' } : body,
  });
}

const only = (headers: Record<string, string>, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => names.includes(name.toLowerCase())));

const withoutContentHeaders = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !name.toLowerCase().startsWith('content-')));
