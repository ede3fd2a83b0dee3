import { err, ok, type Result, sentence } from '../kernel/index.ts';
import { refused } from './failures.ts';
import type { UpstreamFailure, UpstreamRequest } from './types.ts';

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
/** The most headers of one request (as in new-api). */
export const MAX_HEADERS = 64;
const MAX_HEADER_VALUE = 8192;
// RFC 9110 5.6.2 (token) and 5.5 (field value): CR, LF, NUL and the other control characters never
// pass.
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

// Routing, framing and encoding of the message are the client's own business.
const FORBIDDEN_HEADERS = new Set([
  'host',
  'content-length',
  'accept-encoding',
  'connection',
  'proxy-connection',
  'keep-alive',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

export const isHeaderName = (name: string): boolean => TOKEN.test(name);

/** Headers that only the client itself sets. */
export const isHostHeader = (name: string): boolean => FORBIDDEN_HEADERS.has(name.toLowerCase());

export const isFieldValue = (value: string): boolean => value.length <= MAX_HEADER_VALUE && FIELD_VALUE.test(value);

/**
 * The parsed URL, if URL, method and headers obey the rules; otherwise the violated rule, without
 * the offending value.
 */
export function checkRequest(request: UpstreamRequest): Result<URL, UpstreamFailure> {
  if (!METHODS.has(request.method)) return err(refused(sentence('upstream.method')));
  const headers = Object.entries(request.headers);
  if (headers.length > MAX_HEADERS) return err(refused(sentence('upstream.headers', { max: MAX_HEADERS })));
  for (const [name, value] of headers) {
    if (!isHeaderName(name)) return err(refused(sentence('upstream.header_name')));
    if (isHostHeader(name)) return err(refused(sentence('upstream.header_set', { name: name.toLowerCase() })));
    if (typeof value !== 'string' || !isFieldValue(value)) {
      return err(refused(sentence('upstream.header_value', { name: name.toLowerCase() })));
    }
  }
  return checkUrl(request.url);
}

function checkUrl(text: string): Result<URL, UpstreamFailure> {
  // The parser would silently drop surrounding blanks and inner line breaks; the URL must be
  // requested exactly as given.
  if (/[\s\p{Cc}]/u.test(text)) return err(refused(sentence('upstream.url_space')));
  if (text.includes('#')) return err(refused(sentence('upstream.url_fragment')));
  const url = URL.parse(text);
  return url ? checkTarget(url) : err(refused(sentence('upstream.url_absolute')));
}

/** Rules for the target of every hop, redirects included. */
export function checkTarget(url: URL): Result<URL, UpstreamFailure> {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return err(refused(sentence('upstream.url_scheme')));
  if (url.username !== '' || url.password !== '') return err(refused(sentence('upstream.url_user')));
  if (url.hostname === '') return err(refused(sentence('upstream.url_host')));
  return ok(url);
}
