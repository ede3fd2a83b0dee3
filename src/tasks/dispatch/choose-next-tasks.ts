import type { Scope, VendorAccount } from '../../channels/index.ts';
import type { CapacityKey, Dequeuing, WaitingCount, WaitingRecord } from '../../store/ports/index.ts';
import { isAmong } from '../waiting/waiting-counts.ts';

/** At most `limit` tasks of the waiting class can be sent by the account. */
export type Plan = { waitingClass: WaitingCount; account: VendorAccount; scope: Scope; limit: number };

type Head = Pick<WaitingRecord, 'taskId' | 'userId' | 'sinceMs'> & { slots: number };

type Steps<H extends Head> = {
  /** How many tasks may be started at most. */
  most: number;
  /** The first tasks of a class. */
  heads(waitingClass: WaitingCount): readonly H[];
  /**
   * Takes slots for a task. `full`: none is free; `parked`: it leaves its queue without one;
   * `gathers`: of what is limited there too few are free for it.
   */
  start(plan: Plan, head: H): Promise<'begun' | 'full' | 'parked' | { gathers: CapacityKey }>;
};

/** `gathered`: where no other task starts until the next one has its slots together. */
type Chosen = { dequeuings: Dequeuing[]; gathered: CapacityKey[] };

/**
 * Chooses the tasks that get the free slots, and calls `start` for each: the highest priority
 * first, and within it the heads of those queues that may be sent by an account, by the shares of
 * their users. Where the next one takes more slots than are free, smaller ones do not overtake it.
 * Returns the tasks that are to be taken out of their queues.
 *
 * Users' turns inside one queue are decided in `store/repositories/tasks/waiting-turns.ts`; when a
 * task moves up, after each quarter of its wait, in `raise-waiting.ts` there; the priority of a
 * group in `app/config/room-settings.ts` (`waitingRules`).
 */
export async function chooseNextTasks<H extends Head>(
  { shares, plans }: { shares: UserShares; plans: readonly Plan[] },
  { most, heads, start }: Steps<H>,
): Promise<Chosen> {
  const dequeuings: Dequeuing[] = [];
  const gathered: CapacityKey[] = [];
  for (const rivals of Map.groupBy(plans, ({ waitingClass }) => waitingClass.priority).values()) {
    const queues = new Map<WaitingCount, H[]>();
    for (const { waitingClass } of rivals) queues.set(waitingClass, [...heads(waitingClass)]);
    for (const ofAccount of Map.groupBy(rivals, ({ account }) => account.credential.id).values()) {
      const left = new Map(ofAccount.map((plan) => [plan, plan.limit]));
      for (;;) {
        const next = [...left].flatMap(([plan, limit]) => {
          const isOpen = limit > 0 && !isAmong(gathered, plan.scope);
          const head = isOpen ? queues.get(plan.waitingClass)?.[0] : undefined;
          return head ? [{ ...head, plan }] : [];
        });
        const found = shares.next(ofAccount[0]?.scope.pool ?? '', next);
        if (!found || dequeuings.length >= most) break;
        const { plan, taskId, userId, slots } = found;
        const outcome = await start(plan, found);
        if (typeof outcome === 'object') {
          gathered.push(outcome.gathers);
          continue;
        }
        if (outcome === 'full') {
          left.delete(plan);
          continue;
        }
        queues.get(plan.waitingClass)?.shift();
        if (outcome === 'parked') continue;
        left.set(plan, (left.get(plan) ?? 0) - 1);
        shares.recordGrant(plan.scope.pool, userId, slots);
        dequeuings.push({
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
  return { dequeuings, gathered };
}

/** A task that could take a slot, whose it is, and since when it waits. */
type Waiter = { userId: number; sinceMs: number };

/**
 * Shares the slots of each pool among users, whatever queues their tasks wait in: a user who waits
 * in two groups has one share. Each queue has its own order (`waiting-turns.ts` in the store); this
 * decides between the heads of queues. Each node shares only what it gives away.
 */
type UserShares = {
  /** The head whose user got the least of the pool, or waits for longest. */
  next<T extends Waiter>(pool: string, heads: readonly T[]): T | undefined;
  /** Counts slots that a user got. */
  recordGrant(pool: string, userId: number, slots: number): void;
};

/**
 * Fair queueing by virtual time: `now` is the share that the last user began with, where a user who
 * comes later begins; `ends` is where each user's share ends.
 */
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
    recordGrant(name, userId, slots) {
      const pool = find(name);
      pool.now = begin(pool, userId);
      pool.ends.set(userId, pool.now + slots);
      if (pool.ends.size > MOST_USERS) for (const [id, end] of pool.ends) if (end <= pool.now) pool.ends.delete(id);
    },
  };
}

/** Tasks that were trials, of which the latest are remembered. */
const MOST_TRIALS = 10_000;

/**
 * The order in which waiting tasks become the trial of a rest: first those that were one least
 * often. A vendor that refuses one task again and again would else hold up all tasks behind it.
 */
export function createTrialOrder() {
  const times = new Map<string, number>();
  const count = ({ taskId }: Pick<Head, 'taskId'>): number => times.get(taskId) ?? 0;
  return {
    sort: <H extends Pick<Head, 'taskId'>>(heads: readonly H[]): H[] => heads.toSorted((a, b) => count(a) - count(b)),
    note(taskId: string): void {
      const next = count({ taskId }) + 1;
      times.delete(taskId);
      times.set(taskId, next);
      const [oldest] = times.keys();
      if (times.size > MOST_TRIALS && oldest !== undefined) times.delete(oldest);
    },
  };
}
