import { type Clock, systemClock } from '../../src/kernel/index.ts';

/**
 * A clock that can be moved: `pass` lets time go by, `set` sets the wall clock alone, as a
 * correction or a suspended machine does. It runs, unless a test needs two readings to be equal.
 */
export type MovableClock = Clock & { pass(ms: number): void; set(byMs: number): void };

export function createMovableClock({ runs = true } = {}): MovableClock {
  let [passedMs, setMs] = [0, 0];
  const begunMs = systemClock.nowMs();
  const nowMs = () => (runs ? systemClock.nowMs() : begunMs) + passedMs + setMs;
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
