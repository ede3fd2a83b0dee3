import { memoizeTexts, type ReportCacheSize } from '../../kernel/index.ts';
import type { ErrorEnvelope } from '../responses/errors.ts';

/** A path that the URL parser leaves as it is: no escapes, no `.` or `..` as a segment. */
const PLAIN_PATH = /^(?:\/(?:[\w~:@+,=-][\w.~:@+,=-]*)?)+$/;

/** More than proxies let through: nginx takes 8 KiB by default. A longer address is not read. */
export const MAX_ADDRESS_CHARS = 16 * 1024;

/**
 * Reads the path of an address, undefined when the address is broken. Clients send few different
 * hosts and mostly plain paths, so the URL parser runs once for a host and again only for an
 * unusual path.
 */
export function createPathReader(reportCacheSize?: ReportCacheSize): (url: string) => string | undefined {
  const isPlainOrigin = memoizeTexts(
    (origin) => {
      const url = URL.canParse(`${origin}/`) ? new URL(`${origin}/`) : undefined;
      return url !== undefined && url.href === `${url.origin}/`;
    },
    (size) => reportCacheSize?.('request_hosts', size),
  );

  return (url) => {
    const start = url.indexOf('/', 'https://'.length);
    const end = url.indexOf('?', start);
    const path = end === -1 ? url.slice(start) : url.slice(start, end);
    if (start !== -1 && PLAIN_PATH.test(path) && isPlainOrigin(url.slice(0, start))) return path;
    return URL.canParse(url) ? new URL(url).pathname : undefined;
  };
}

/** True for `prefix` itself and for every path below it. */
export const isBelow = (path: string, prefix: string): boolean => path === prefix || path.startsWith(`${prefix}/`);

/**
 * The error format of a path: addresses of the panel and of operators use the panel's envelope,
 * everything that API clients call uses OpenAI's.
 */
export const chooseEnvelope = (path: string): ErrorEnvelope =>
  isBelow(path, '/api') || path === '/livez' || path === '/readyz' || path === '/metrics' ? 'panel' : 'openai';

/** True for an address with a `#` before its query, which no client of the platform sends. */
export function hasFragment(url: string): boolean {
  const at = url.indexOf('#');
  return at !== -1 && !url.slice(0, at).includes('?');
}

/**
 * Controllers get decoded parameters, so every percent escape must decode to UTF-8: `%FF` alone or
 * a truncated `%E0%A4` does not.
 */
export function isDecodable(path: string): boolean {
  if (!path.includes('%')) return true;
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}
