import { useSyncExternalStore } from 'react';

/** Counts the parts of the panel that are being loaded for a page that somebody opened. */
let pending = 0;
const listeners = new Set<() => void>();

function change(by: 1 | -1): void {
  pending += by;
  for (const listener of listeners) listener();
}

/** Counts a part until it is there. React calls this while it renders, so listeners hear later. */
export async function waitForPart<Part>(part: Promise<Part>): Promise<Part> {
  queueMicrotask(() => change(1));
  try {
    return await part;
  } finally {
    queueMicrotask(() => change(-1));
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Whether the page that somebody opened is still on its way. */
export const useIsPagePending = (): boolean => useSyncExternalStore(subscribe, () => pending > 0);
