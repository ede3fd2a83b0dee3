import type { Unoffered } from '../../store/ports/index.ts';

/** What a lane holds: a notice's receiver, and whose notice it is. */
type Held = { host: string; userId: number };
/** Users in the order of their turns; each has something. */
type Lane<T> = { running: number; waiting: Map<number, T[]>; size: number };

/** Claimed notices, each host's in a lane of its own, in which users take turns. */
export type HostQueues<T extends Held> = {
  add(claimed: T): void;
  /** The next of a host that has a free slot, which it takes. */
  next(host: string): T | undefined;
  /** Gives the slot back. */
  ended(claimed: T): void;
  /** Claimed and not ended. */
  held(): number;
  /** Whether more of what this one is of would only wait. */
  isFull(claimed: T): boolean;
  /** What is to be left out of the next claim. */
  unoffered(): Unoffered;
};

/**
 * `hostConcurrency`: slots of a host. `mostWaiting`: of a host, beyond which it is full.
 * `capacity`: notices in all; one user may hold as many of them as would leave the same to each of
 * the others and to a newcomer.
 */
export function createHostQueues<T extends Held>({
  hostConcurrency,
  mostWaiting,
  capacity,
}: {
  hostConcurrency: number;
  mostWaiting: number;
  capacity: number;
}): HostQueues<T> {
  const lanes = new Map<string, Lane<T>>();
  const heldBy = new Map<number, number>();
  let held = 0;

  const laneOf = (host: string): Lane<T> => {
    const lane = lanes.get(host) ?? { running: 0, waiting: new Map(), size: 0 };
    lanes.set(host, lane);
    return lane;
  };
  const isOverShare = (userId: number): boolean =>
    (heldBy.get(userId) ?? 0) >= Math.floor(capacity / (heldBy.size + 1));

  return {
    add(claimed) {
      const { host, userId } = claimed;
      const lane = laneOf(host);
      const own = lane.waiting.get(userId) ?? [];
      lane.waiting.set(userId, own);
      own.push(claimed);
      lane.size += 1;
      held += 1;
      heldBy.set(userId, (heldBy.get(userId) ?? 0) + 1);
    },

    next(host) {
      const lane = lanes.get(host);
      const [turn] = lane?.waiting ?? [];
      if (!lane || !turn || lane.running >= hostConcurrency) return undefined;
      const [userId, own] = turn;
      const claimed = own.shift();
      lane.waiting.delete(userId);
      // Behind everybody else who waits for this host.
      if (own.length > 0) lane.waiting.set(userId, own);
      lane.size -= 1;
      lane.running += 1;
      return claimed;
    },

    ended({ host, userId }) {
      const lane = laneOf(host);
      lane.running -= 1;
      held -= 1;
      const left = (heldBy.get(userId) ?? 0) - 1;
      if (left > 0) heldBy.set(userId, left);
      else heldBy.delete(userId);
      if (lane.running === 0 && lane.size === 0) lanes.delete(host);
    },

    held: () => held,

    isFull({ host, userId }) {
      const lane = lanes.get(host);
      const waits = lane !== undefined && (lane.waiting.has(userId) || lane.size >= mostWaiting);
      return waits || held >= capacity || isOverShare(userId);
    },

    unoffered: () => ({
      hosts: [...lanes].filter(([, { size }]) => size >= mostWaiting).map(([host]) => host),
      users: [...heldBy.keys()].filter(isOverShare),
      lanes: [...lanes].flatMap(([host, { waiting }]) => [...waiting.keys()].map((userId) => ({ host, userId }))),
    }),
  };
}
