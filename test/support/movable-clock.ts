import { type Clock, systemClock } from '../../src/kernel/index.ts';

/**
 * A clock that runs and can be moved: `pass` lets time go by, `set` sets the wall clock alone, as a
 * correction or a suspended machine does.
 */
export type MovableClock = Clock & { pass(ms: number): void; set(byMs: number): void };

export function createMovableClock(): MovableClock {
  let [passedMs, setMs] = [0, 0];
  const nowMs = () => systemClock.nowMs() + passedMs + setMs;
  return {
    ...systemClock,
    nowMs,
    unix: () => Math.floor(nowMs() / 1000),
    monotonicMs: () => systemClock.monotonicMs() + passedMs,
    pass(ms) {
      passedMs += ms;
    },
    set(byMs) {
      setMs += byMs;
    },
  };
}
