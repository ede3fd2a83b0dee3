/** A task that could take a slot, and what it stands for. */
type Head = { userId: number; sinceMs: number };

/**
 * Shares the slots of each pool among users, whatever lines their tasks wait in: a user who waits
 * in two groups has one share. Each line has its own order; this decides between the heads of
 * lines. Each node shares only what it gives away.
 */
export type UserShares = {
  /** The head whose user got the least of the pool, or waits for longest. */
  next<T extends Head>(pool: string, heads: readonly T[]): T | undefined;
  /** Counts slots that a user got. */
  got(pool: string, userId: number, slots: number): void;
};

/** `now`: the share that the last one began with. Who comes later begins there. */
type Pool = { now: number; ends: Map<number, number> };

/** Forgets users who are not ahead of others any more, once there are so many. */
const MOST_USERS = 10_000;

export function createUserShares(): UserShares {
  const pools = new Map<string, Pool>();
  const find = (name: string): Pool => {
    const pool = pools.get(name) ?? { now: 0, ends: new Map() };
    pools.set(name, pool);
    return pool;
  };
  const begin = ({ now, ends }: Pool, userId: number): number => Math.max(now, ends.get(userId) ?? 0);
  return {
    next(name, heads) {
      const pool = find(name);
      const isBefore = (one: Head, other: Head): boolean => {
        const lead = begin(pool, one.userId) - begin(pool, other.userId);
        return lead < 0 || (lead === 0 && one.sinceMs < other.sinceMs);
      };
      return heads.reduce<(typeof heads)[number] | undefined>(
        (first, head) => (first === undefined || isBefore(head, first) ? head : first),
        undefined,
      );
    },
    got(name, userId, slots) {
      const pool = find(name);
      pool.now = begin(pool, userId);
      pool.ends.set(userId, pool.now + slots);
      if (pool.ends.size > MOST_USERS) for (const [id, end] of pool.ends) if (end <= pool.now) pool.ends.delete(id);
    },
  };
}
