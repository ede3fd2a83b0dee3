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

/** Milliseconds since the Unix epoch as ISO 8601 in UTC. */
export const isoTime = (ms: number): string => new Date(ms).toISOString();

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
