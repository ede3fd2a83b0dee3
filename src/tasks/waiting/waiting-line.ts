import { sha256Hex } from '../../kernel/index.ts';
import type { WaitingClass } from '../../store/ports/index.ts';
import type { WaitingLine } from '../task-node.ts';

export function createWaitingLine(): WaitingLine {
  const busy = new Set<string>();
  let tell = () => {};
  return {
    isBusy: (name) => busy.has(name),
    entered(name, { isParked } = { isParked: false }) {
      if (!isParked) busy.add(name);
      tell();
    },
    read(classes) {
      busy.clear();
      for (const { class: name, waiting, parked } of classes) if (waiting > parked) busy.add(name);
    },
    onEntered(listener) {
      tell = listener;
    },
  };
}

type ClassParts = { plugin: string; model: string; group: string; channelId: number; credentialId: number };

/** What waits for the same places. The name is short, for each row of a waiting task has it. */
export const waitingClass = (parts: ClassParts): WaitingClass => {
  const { plugin, model, group, channelId, credentialId } = parts;
  const places = [plugin, model, group, channelId, ...(credentialId > 0 ? [credentialId] : [])];
  return { ...parts, class: sha256Hex(JSON.stringify(places)).slice(0, 16) };
};
