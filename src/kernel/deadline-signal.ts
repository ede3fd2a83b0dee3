import type { Clock } from './clock.ts';

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
