/** Longest Retry-After of a vendor that is obeyed. */
export const MAX_RETRY_AFTER_MS = 5 * 60_000;

/**
 * Milliseconds of a Retry-After header (seconds or an HTTP date), at most `maxMs`; 0 without one.
 */
export function retryAfterMs(header: string | undefined, nowMs: number, maxMs = MAX_RETRY_AFTER_MS): number {
  if (header === undefined) return 0;
  if (/^\d+$/.test(header.trim())) return Math.min(Number(header.trim()) * 1000, maxMs);
  const at = Date.parse(header);
  return Number.isNaN(at) ? 0 : Math.min(Math.max(0, at - nowMs), maxMs);
}
