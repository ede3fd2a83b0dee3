import type { Account, Scope } from '../../channels/index.ts';
import type { Takeout, WaitingCount, WaitingRecord } from '../../store/ports/index.ts';

/** At most `limit` tasks of the class `of` can be sent by the account. */
export type Plan = { of: WaitingCount; account: Account; scope: Scope; limit: number };

type Head = Pick<WaitingRecord, 'taskId' | 'userId' | 'sinceMs'> & { slots: number };

type Steps<H extends Head> = {
  /** How many tasks at most. */
  most: number;
  /** The first that wait of a class. */
  heads(of: WaitingCount): readonly H[];
  /** Takes slots for a task. `full`: there is no room; `held`: it leaves its line without. */
  start(plan: Plan, head: H): Promise<'begun' | 'full' | 'held'>;
};

/**
 * Starts the tasks that free slots are for: the highest priority first, and within it the heads of
 * those lines that may be sent by an account, by the shares of their users. Returns what is to be
 * taken out of its line.
 */
export async function startNextTasks<H extends Head>(
  { shares, plans }: { shares: UserShares; plans: readonly Plan[] },
  { most, heads, start }: Steps<H>,
): Promise<Takeout[]> {
  const takeouts: Takeout[] = [];
  for (const rivals of Map.groupBy(plans, ({ of }) => of.priority).values()) {
    const lines = new Map<WaitingCount, H[]>();
    for (const { of } of rivals) lines.set(of, [...heads(of)]);
    for (const ofAccount of Map.groupBy(rivals, ({ account }) => account.credential.id).values()) {
      const left = new Map(ofAccount.map((plan) => [plan, plan.limit]));
      for (;;) {
        const next = [...left].flatMap(([plan, limit]) => {
          const head = limit > 0 ? lines.get(plan.of)?.[0] : undefined;
          return head ? [{ ...head, plan }] : [];
        });
        const found = shares.next(ofAccount[0]?.scope.pool ?? '', next);
        if (!found || takeouts.length >= most) break;
        const { plan, taskId, userId, slots } = found;
        const outcome = await start(plan, found);
        if (outcome === 'full') {
          left.delete(plan);
          continue;
        }
        lines.get(plan.of)?.shift();
        if (outcome === 'held') continue;
        left.set(plan, (left.get(plan) ?? 0) - 1);
        shares.got(plan.scope.pool, userId, slots);
        takeouts.push({
          taskId,
          sending: {
            channelId: plan.scope.channelId,
            credentialId: plan.scope.credentialId,
            upstreamModel: plan.scope.model,
            slots,
          },
        });
      }
    }
  }
  return takeouts;
}

/** A task that could take a slot, and what it stands for. */
type Waiter = { userId: number; sinceMs: number };

/**
 * Shares the slots of each pool among users, whatever lines their tasks wait in: a user who waits
 * in two groups has one share. Each line has its own order; this decides between the heads of
 * lines. Each node shares only what it gives away.
 */
type UserShares = {
  /** The head whose user got the least of the pool, or waits for longest. */
  next<T extends Waiter>(pool: string, heads: readonly T[]): T | undefined;
  /** Counts slots that a user got. */
  got(pool: string, userId: number, slots: number): void;
};

/** `now`: the share that the last one began with. Who comes later begins there. */
type Pool = { now: number; ends: Map<number, number> };

/** Once there are this many users, forgets those who are no longer ahead of others. */
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
      const isBefore = (one: Waiter, other: Waiter): boolean => {
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
