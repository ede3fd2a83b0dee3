/** Time as a parameter, so that tests can pass their own. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  nowMs(): number;
  /** Whole seconds since the Unix epoch, the unit of every stored and published time. */
  unix(): number;
  /** Monotonic milliseconds, for measuring durations. */
  monotonicMs(): number;
  /** Resolves after `ms`, or at once when `signal` is aborted. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/**
 * How far clocks may differ, or one may be corrected, before a stored time counts as written by a
 * wrong clock, in seconds.
 */
export const CLOCK_LEEWAY_SECONDS = 60;

/**
 * Whether a stored deadline is over, in Unix seconds. `longest`: how far ahead it was at most when
 * it was written. One that is further ahead was written before the clock was set back. It counts as
 * over: nobody waits for it, and it lets nobody in. `isOverIn` of the store is the same in SQL.
 */
export const isOver = (deadline: number, { now, longest }: { now: number; longest: number }): boolean =>
  deadline <= now || deadline > now + longest + CLOCK_LEEWAY_SECONDS;

/** Milliseconds since the Unix epoch as ISO 8601 in UTC. */
export const isoTime = (ms: number): string => new Date(ms).toISOString();

/**
 * Whole multiples of these on the monotonic clock are when loops without work wake up: of the
 * longest that is no longer than the sleep.
 */
const STEPS_MS = [15_000, 5000, 1000];
/** A timer may fire a little too early, and the next sleep must not end in the same step. */
const EARLY_MS = 100;

/**
 * Sleeps for at most `ms` and a tenth of a second, and for up to a step less, where that is a
 * second or more: loops that check for work wake up together. A wake-up of an idle process costs
 * more than such a look.
 */
export const sleepInStep = (clock: Clock, ms: number, signal?: AbortSignal): Promise<void> =>
  clock.sleep(inStep(clock, ms), signal);

/** How long such a sleep lasts. */
export function inStep(clock: Pick<Clock, 'monotonicMs'>, ms: number): number {
  const step = STEPS_MS.find((length) => length <= ms);
  if (step === undefined) return ms;
  const now = clock.monotonicMs();
  return Math.floor((now + ms + EARLY_MS) / step) * step - now;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  unix: () => Math.floor(Date.now() / 1000),
  monotonicMs: () => performance.now(),
  sleep(ms, signal) {
    if (signal?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener('abort', done, { once: true });
    });
  },
};

export type Deadline = {
  /** Aborted when the time is over, or when the client has left. */
  signal: AbortSignal;
  /** Stops the timer and aborts `signal`. Call it when there is nothing left to wait for. */
  end: () => void;
};

/** A deadline in `ms`, which comes early when `left` is aborted. */
export function deadlineSignal(clock: Clock, ms: number, left?: AbortSignal): Deadline {
  const controller = new AbortController();
  const end = () => controller.abort();
  void clock.sleep(ms, controller.signal).then(end);
  if (left?.aborted) end();
  else left?.addEventListener('abort', end, { once: true, signal: controller.signal });
  return { signal: controller.signal, end };
}

/** A smaller change of the wall clock is a correction, and moves nothing. */
const STEP_MS = 5_000;
/** If reading both clocks took this long, the process was paused in between. */
const TORN_MS = 1_000;
/** Steps that are remembered, the latest. */
const MAX_STEPS = 50;

export type ClockWatch = {
  /** Compares the two clocks; calls `onStep` if the wall clock was set since the last check. */
  check(): void;
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
  /** How far the wall clock was ahead of the monotonic one, and since when; the latest is last. */
  const periods = [{ sinceMs: clock.monotonicMs(), aheadMs: clock.nowMs() - clock.monotonicMs() }];
  const latest = () => periods.at(-1) as (typeof periods)[number];

  function check(): void {
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
    check,
    timeAgo(ms) {
      check();
      const at = clock.monotonicMs() - ms;
      const period = periods.findLast(({ sinceMs }) => sinceMs <= at) ?? (periods[0] as (typeof periods)[number]);
      return at + period.aheadMs;
    },
  };
}
