import { jitter, type Random } from '../../kernel/index.ts';
import { MAX_RETRY_AFTER_MS } from '../../upstream/index.ts';

/** The first poll comes no later than this. */
const FIRST_POLL_MS = 3_000;
/** Random spread of due times, so that tasks submitted together are not polled together. */
const SPREAD = 0.1;

export const firstPollDelayMs = (intervalMs: number): number => Math.min(FIRST_POLL_MS, intervalMs);

/**
 * Milliseconds until the next poll: a tenth of the task's age, between the first delay and the
 * interval, ±10 %. A vendor's Retry-After can only make it longer. `apply-verdict.ts` decides when
 * polling is given up.
 */
export function nextPollDelayMs(
  { ageMs, intervalMs, waitMs = 0 }: { ageMs: number; intervalMs: number; waitMs?: number },
  random: Random,
): number {
  const first = firstPollDelayMs(intervalMs);
  const regular = jitter(Math.min(Math.max(ageMs / 10, first), intervalMs), SPREAD, random);
  return Math.max(regular, Math.min(waitMs, MAX_RETRY_AFTER_MS));
}

/** The shortest delay of any poll. */
export const shortestPollDelayMs = (intervalMs: number): number => firstPollDelayMs(intervalMs) * (1 - SPREAD);

/** The longest delay of any poll. */
export const longestPollDelayMs = (intervalMs: number): number =>
  Math.max(intervalMs, MAX_RETRY_AFTER_MS) * (1 + SPREAD);
