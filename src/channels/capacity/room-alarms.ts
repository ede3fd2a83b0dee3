import type { Clock } from '../../kernel/index.ts';
import type { Room } from './types.ts';

/**
 * Reports free slots after this many milliseconds, unless it has reported them earlier. It stays
 * silent once `stopped` is aborted.
 */
export function createRoomAlarms(
  clock: Pick<Clock, 'monotonicMs' | 'sleep'>,
  { stopped, tell }: { stopped: AbortSignal; tell: (room: Room) => void },
) {
  const alarms = new Map<string, number>();
  return (room: Room, ms: number): void => {
    const key = JSON.stringify([room.pool, room.model]);
    const at = clock.monotonicMs() + ms;
    if ((alarms.get(key) ?? Number.POSITIVE_INFINITY) <= at) return;
    alarms.set(key, at);
    void clock.sleep(Math.max(1, ms), stopped).then(() => {
      if (alarms.get(key) === at) alarms.delete(key);
      if (!stopped.aborted) tell(room);
    });
  };
}
