import { jitter, type Random } from '../kernel/index.ts';
import { LONGEST_WEBHOOK_TRIES_MS } from '../store/ports/index.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** How long a notice is retried after it was created; the last attempt comes at the end. */
export const GIVE_UP_AFTER_MS = LONGEST_WEBHOOK_TRIES_MS;

/** Pauses after the first, second, … failed attempt. */
const PAUSES_MS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR];
/** Pause after all further attempts. */
const LONGEST_PAUSE_MS = 2 * HOUR;

/** Spreads the retries of notices that failed together. */
const JITTER = 0.1;

/** Longest Retry-After of a receiver that is obeyed. */
export const LONGEST_RETRY_AFTER_MS = HOUR;

/**
 * Milliseconds until the next attempt, after `retries` failed attempts before this one. Retry-After
 * can only make it longer.
 */
export function retryDelayMs(retries: number, retryAfterMs: number, random: Random): number {
  const pause = PAUSES_MS[retries] ?? LONGEST_PAUSE_MS;
  return Math.max(jitter(pause, JITTER, random), Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS));
}
