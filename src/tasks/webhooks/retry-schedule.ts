import { jitter } from '../../kernel/index.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** How long after it was made a notice is tried; the last attempt comes when the time is over. */
export const GIVE_UP_AFTER_MS = 24 * HOUR;

/** Pauses after the first, second, … failed attempt, and between all that follow. */
const PAUSES_MS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR];
const LONGEST_PAUSE_MS = 2 * HOUR;

/** What failed together shall not come back together. */
const JITTER = 0.1;

/** A receiver's Retry-After is obeyed up to here. */
export const MAX_RETRY_AFTER_MS = HOUR;

/**
 * Time until the next attempt after `retries` failed ones before this; Retry-After only ever makes
 * it longer.
 */
export function retryDelayMs(retries: number, retryAfterMs: number): number {
  const pause = PAUSES_MS[retries] ?? LONGEST_PAUSE_MS;
  return Math.max(jitter(pause, JITTER), Math.min(retryAfterMs, MAX_RETRY_AFTER_MS));
}
