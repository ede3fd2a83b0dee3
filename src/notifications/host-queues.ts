import type { ClaimExclusions } from '../store/ports/index.ts';

/** A notice's receiver and owner, by which it is queued. */
type QueueKey = { host: string; userId: number };
/** The notices of each waiting user, in the order of the next turns. No user's list is empty. */
type Queue<T> = { running: number; waiting: Map<number, T[]>; size: number };

/** Claimed notices in one queue per host, in which users take turns. */
export type HostQueues<T extends QueueKey> = {
  add(claimed: T): void;
  /** Takes the next notice of a host, and a slot for it; undefined when none waits or is free. */
  next(host: string): T | undefined;
  /** Releases the notice's slot. */
  ended(claimed: T): void;
  /** Notices that are claimed and have not ended. */
  held(): number;
  /** Whether another notice for this host and user would only queue. */
  isFull(claimed: T): boolean;
  /** What the next claim must leave out. */
  unoffered(): ClaimExclusions;
};

type HostQueuesOptions = {
  /** Slots of each host. */
  hostConcurrency: number;
  /** A host with this many waiting notices is full. */
  maxWaiting: number;
  /**
   * Notices in all. One user may hold an equal share of it, counted as if one more user were there.
   */
  capacity: number;
};

export function createHostQueues<T extends QueueKey>({
  hostConcurrency,
  maxWaiting,
  capacity,
}: HostQueuesOptions): HostQueues<T> {
  const queues = new Map<string, Queue<T>>();
  const heldBy = new Map<number, number>();
  let held = 0;

  const openQueue = (host: string): Queue<T> => {
    const queue = queues.get(host) ?? { running: 0, waiting: new Map(), size: 0 };
    queues.set(host, queue);
    return queue;
  };
  const isOverShare = (userId: number): boolean =>
    (heldBy.get(userId) ?? 0) >= Math.floor(capacity / (heldBy.size + 1));

  return {
    add(claimed) {
      const { host, userId } = claimed;
      const queue = openQueue(host);
      const own = queue.waiting.get(userId) ?? [];
      queue.waiting.set(userId, own);
      own.push(claimed);
      queue.size += 1;
      held += 1;
      heldBy.set(userId, (heldBy.get(userId) ?? 0) + 1);
    },

    next(host) {
      const queue = queues.get(host);
      const [first] = queue?.waiting ?? [];
      if (!queue || !first || queue.running >= hostConcurrency) return undefined;
      const [userId, own] = first;
      const claimed = own.shift();
      queue.waiting.delete(userId);
      // The user's remaining notices go to the end of the queue.
      if (own.length > 0) queue.waiting.set(userId, own);
      queue.size -= 1;
      queue.running += 1;
      return claimed;
    },

    ended({ host, userId }) {
      const queue = openQueue(host);
      queue.running -= 1;
      held -= 1;
      const left = (heldBy.get(userId) ?? 0) - 1;
      if (left > 0) heldBy.set(userId, left);
      else heldBy.delete(userId);
      if (queue.running === 0 && queue.size === 0) queues.delete(host);
    },

    held: () => held,

    isFull({ host, userId }) {
      const queue = queues.get(host);
      const wouldQueue = queue !== undefined && (queue.waiting.has(userId) || queue.size >= maxWaiting);
      return wouldQueue || held >= capacity || isOverShare(userId);
    },

    unoffered: () => ({
      hosts: [...queues].filter(([, { size }]) => size >= maxWaiting).map(([host]) => host),
      users: [...heldBy.keys()].filter(isOverShare),
      userHosts: [...queues].flatMap(([host, { waiting }]) => [...waiting.keys()].map((userId) => ({ host, userId }))),
    }),
  };
}
