import type { Clock } from '../../kernel/index.ts';
import type { CapacityKey } from '../../store/ports/index.ts';
import { keyText } from './pools.ts';

/**
 * Reports free slots after this many milliseconds, unless it has reported them earlier. It stays
 * silent once `stopped` is aborted.
 */
export function createSlotNotices(
  clock: Pick<Clock, 'monotonicMs' | 'sleep'>,
  { stopped, tell }: { stopped: AbortSignal; tell: (freed: CapacityKey) => void },
) {
  const dueTimes = new Map<string, number>();
  return (freed: CapacityKey, ms: number): void => {
    const key = keyText(freed);
    const at = clock.monotonicMs() + ms;
    if ((dueTimes.get(key) ?? Number.POSITIVE_INFINITY) <= at) return;
    dueTimes.set(key, at);
    void clock.sleep(Math.max(1, ms), stopped).then(() => {
      if (dueTimes.get(key) === at) dueTimes.delete(key);
      if (!stopped.aborted) tell(freed);
    });
  };
}
