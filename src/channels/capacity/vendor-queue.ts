/** A vendor with a queue of its own counts as full while more than these tasks wait there. */
export const MOST_QUEUED = 2;
/** Tasks that are sent at first; polls then have to tell what became of them. */
const FIRST = MOST_QUEUED + 1;

/**
 * How many tasks such a vendor may have of which no poll has told whether it began them. It accepts
 * all that it is sent, so that its acceptances do not show when it is full.
 */
export type VendorQueue = { most: number; isUsedUp: boolean };

export const newVendorQueue = (): VendorQueue => ({ most: FIRST, isUsedUp: false });

/** `queued`: tasks that stand there by their polls. `unpolled`: tasks of which no poll has told. */
type Counted = { queued: number; unpolled: number };

/** Finds how many more tasks may be sent. */
export function findQueueRoom(queue: VendorQueue, { queued, unpolled }: Counted): number {
  if (queued > 0) return Math.max(0, FIRST - queued - unpolled);
  const room = Math.max(0, queue.most - unpolled);
  if (room === 0) queue.isUsedUp = true;
  return room;
}

/**
 * After a count, twice as many may be sent if all were and none has to wait, and half as many if
 * too many wait.
 */
export function followQueue(queue: VendorQueue, { queued }: Pick<Counted, 'queued'>): void {
  if (queued > MOST_QUEUED) queue.most = Math.max(FIRST, Math.floor(queue.most / 2));
  else if (queued === 0 && queue.isUsedUp) queue.most *= 2;
  queue.isUsedUp = false;
}
