import { type Clock, systemClock } from '../../src/kernel/index.ts';

/** A clock that starts at the present and is moved by hand. */
export type TestClock = Clock & { advance(seconds: number): void };
export function createTestClock(): TestClock {
  const start = systemClock.nowMs();
  let [shift, passed] = [0, 0];
  return {
    ...systemClock,
    // It stands still between two moves, so that windows end exactly where a test expects.
    nowMs: () => start + shift * 1000,
    unix: () => Math.floor(start / 1000) + shift,
    monotonicMs: () => systemClock.monotonicMs() + passed * 1000,
    /** Lets time go by; sets the clock back where that is negative. */
    advance(seconds) {
      shift += seconds;
      passed += Math.max(0, seconds);
    },
  };
}
