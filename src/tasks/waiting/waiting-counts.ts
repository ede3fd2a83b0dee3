import type { CapacityKey } from '../../store/ports/index.ts';
import type { WaitingCounts } from '../task-node.ts';

/** Remembers on this node in which classes tasks wait, and wakes the dispatcher for new ones. */
export function createWaitingCounts(): WaitingCounts {
  /** Waiting tasks, by class. */
  const counts = new Map<string, number>();
  let tell = () => {};
  let gathered: readonly CapacityKey[] = [];
  return {
    count: (name) => counts.get(name) ?? 0,
    entered(name, { isParked } = { isParked: false }) {
      if (!isParked) counts.set(name, (counts.get(name) ?? 0) + 1);
      tell();
    },
    replace(classes) {
      counts.clear();
      if (classes.length === 0) gathered = [];
      for (const { class: name, waiting, parked } of classes)
        counts.set(name, (counts.get(name) ?? 0) + Math.max(0, waiting - parked));
    },
    gather(keys) {
      gathered = keys;
    },
    isGathered: (scope) => isAmong(gathered, scope),
    onEntered(listener) {
      tell = listener;
    },
  };
}

/** Whether what is limited by one of the keys holds for a scope; an empty model is all of them. */
export const isAmong = (keys: readonly CapacityKey[], { pool, model }: CapacityKey): boolean =>
  keys.some((key) => key.pool === pool && (key.model === '' || key.model === model));
