import type { Clock } from './clock.ts';

/** A smaller change of the wall clock is a correction, and moves nothing. */
const STEP_MS = 5_000;
/** If reading both clocks took this long, the process was paused in between. */
const TORN_MS = 1_000;
/** Steps that are remembered, the latest. */
const MAX_STEPS = 50;

export type ClockWatch = {
  /** Compares the two clocks; calls `onStep` if the wall clock was set since the last look. */
  look(): void;
  /**
   * What the wall clock showed `ms` ago, in milliseconds since the Unix epoch. Counted by the
   * monotonic clock as far back as this watch reaches: a clock that was set since makes nothing
   * older or younger.
   */
  timeAgo(ms: number): number;
};

/**
 * Notices by the monotonic clock when the wall clock is set. `byMs` is negative where it was set
 * back. A machine that was suspended looks like one whose clock was set ahead: the monotonic clock
 * stands still in between.
 */
export function watchClock(
  clock: Pick<Clock, 'nowMs' | 'monotonicMs'>,
  onStep: (byMs: number) => void = () => {},
): ClockWatch {
  /** How far the wall clock was ahead of the monotonic one since when, the latest last. */
  const periods = [{ sinceMs: clock.monotonicMs(), aheadMs: clock.nowMs() - clock.monotonicMs() }];
  const latest = () => periods.at(-1) as (typeof periods)[number];

  function look(): void {
    const beforeMs = clock.monotonicMs();
    const wallMs = clock.nowMs();
    const sinceMs = clock.monotonicMs();
    if (sinceMs - beforeMs > TORN_MS) return;
    const aheadMs = wallMs - sinceMs;
    const byMs = Math.round(aheadMs - latest().aheadMs);
    if (Math.abs(byMs) < STEP_MS) {
      latest().aheadMs = aheadMs;
      return;
    }
    periods.push({ sinceMs, aheadMs });
    if (periods.length > MAX_STEPS) periods.shift();
    onStep(byMs);
  }

  return {
    look,
    timeAgo(ms) {
      look();
      const at = clock.monotonicMs() - ms;
      const period = periods.findLast(({ sinceMs }) => sinceMs <= at) ?? (periods[0] as (typeof periods)[number]);
      return at + period.aheadMs;
    },
  };
}
