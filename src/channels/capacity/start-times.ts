import type { DeclaredLimit } from '../../store/ports/index.ts';

const MINUTE_MS = 60_000;
/** Starts are counted over a minute and what a request may be on its way. */
export const COUNTED_MS = MINUTE_MS + 2000;

/**
 * The earliest moment of the next start under a declared rate. Starts are spaced evenly unless a
 * burst is declared: many vendors enforce a rate by the second. `startsMs` are those of
 * `COUNTED_MS`, the oldest first.
 */
export function nextStartMs({ maxPerMinute, burst = 1 }: DeclaredLimit, startsMs: readonly number[]): number {
  if (maxPerMinute === undefined || startsMs.length === 0) return 0;
  const gapMs = MINUTE_MS / maxPerMinute;
  const freeAt = startsMs.reduce((at, startMs) => Math.max(at, startMs) + gapMs, 0);
  const oldest = startsMs[startsMs.length - maxPerMinute];
  return Math.ceil(Math.max(freeAt - (burst - 1) * gapMs, oldest === undefined ? 0 : oldest + COUNTED_MS));
}
