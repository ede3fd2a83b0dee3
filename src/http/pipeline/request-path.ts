import type { ErrorEnvelope } from '../errors.ts';

/** True for `prefix` itself and for every path below it. */
export const isBelow = (path: string, prefix: string): boolean => path === prefix || path.startsWith(`${prefix}/`);

/**
 * The error format of a path: addresses of the panel and of operators use the panel's envelope,
 * everything that API clients call uses OpenAI's.
 */
export const envelopeOf = (path: string): ErrorEnvelope =>
  isBelow(path, '/api') || path === '/livez' || path === '/readyz' || path === '/metrics' ? 'panel' : 'openai';

/**
 * Controllers get decoded parameters, so every percent escape must decode to UTF-8: `%FF` alone or
 * a truncated `%E0%A4` does not.
 */
export function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}
