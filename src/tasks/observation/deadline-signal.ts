import type { Clock } from '../../kernel/index.ts';

/**
 * A signal that is aborted after `ms`, or when `left` is: the end of somebody's patience. `end` is
 * called when there is nothing more to wait for.
 */
export function deadlineSignal(clock: Clock, ms: number, left?: AbortSignal): { signal: AbortSignal; end: () => void } {
  const over = new AbortController();
  const end = () => over.abort();
  void clock.sleep(ms, over.signal).then(end);
  if (left?.aborted) end();
  else left?.addEventListener('abort', end, { once: true, signal: over.signal });
  return { signal: over.signal, end };
}
