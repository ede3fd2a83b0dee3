import type { WaitingCounts } from '../task-node.ts';

/** Remembers on this node in which classes tasks wait, and wakes the dispatcher for new ones. */
export function createWaitingCounts(): WaitingCounts {
  /** Waiting tasks, by class. */
  const counts = new Map<string, number>();
  let tell = () => {};
  return {
    count: (name) => counts.get(name) ?? 0,
    entered(name, { isParked } = { isParked: false }) {
      if (!isParked) counts.set(name, (counts.get(name) ?? 0) + 1);
      tell();
    },
    replace(classes) {
      counts.clear();
      for (const { class: name, waiting, parked } of classes)
        counts.set(name, (counts.get(name) ?? 0) + Math.max(0, waiting - parked));
    },
    onEntered(listener) {
      tell = listener;
    },
  };
}
