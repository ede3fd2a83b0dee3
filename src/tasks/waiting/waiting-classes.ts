import { sha256Hex } from '../../kernel/index.ts';
import type { WaitingClass } from '../../store/ports/index.ts';
import type { WaitingLine } from '../task-node.ts';

/** Remembers on this node in which classes tasks wait, and wakes the dispatcher for new ones. */
export function createWaitingLine(): WaitingLine {
  /** Tasks in line, by class. */
  const counts = new Map<string, number>();
  let tell = () => {};
  return {
    waiting: (name) => counts.get(name) ?? 0,
    entered(name, { isParked } = { isParked: false }) {
      if (!isParked) counts.set(name, (counts.get(name) ?? 0) + 1);
      tell();
    },
    replaceCounts(classes) {
      counts.clear();
      for (const { class: name, waiting, parked } of classes)
        counts.set(name, (counts.get(name) ?? 0) + Math.max(0, waiting - parked));
    },
    onEntered(listener) {
      tell = listener;
    },
  };
}

type ClassParts = { plugin: string; model: string; group: string; channelId: number; credentialId: number };

/** What waits for the same places. The name is short, since each row of a waiting task has it. */
export const waitingClass = (parts: ClassParts): WaitingClass => {
  const { plugin, model, group, channelId, credentialId } = parts;
  const places = [plugin, model, group, channelId, ...(credentialId > 0 ? [credentialId] : [])];
  return { ...parts, class: sha256Hex(JSON.stringify(places)).slice(0, 16) };
};
