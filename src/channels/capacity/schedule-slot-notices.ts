import type { Clock } from '../../kernel/index.ts';
import type { Room } from './types.ts';

/**
 * Reports free slots after this many milliseconds, unless it has reported them earlier. It stays
 * silent once `stopped` is aborted.
 */
export function createSlotNotices(
  clock: Pick<Clock, 'monotonicMs' | 'sleep'>,
  { stopped, tell }: { stopped: AbortSignal; tell: (room: Room) => void },
) {
  const dueTimes = new Map<string, number>();
  return (room: Room, ms: number): void => {
    const key = JSON.stringify([room.pool, room.model]);
    const at = clock.monotonicMs() + ms;
    if ((dueTimes.get(key) ?? Number.POSITIVE_INFINITY) <= at) return;
    dueTimes.set(key, at);
    void clock.sleep(Math.max(1, ms), stopped).then(() => {
      if (dueTimes.get(key) === at) dueTimes.delete(key);
      if (!stopped.aborted) tell(room);
    });
  };
}
