import { detachFromRequest } from './background-work.ts';
import type { Clock } from './clock.ts';

/**
 * The owner on whose behalf work is done: queues share by owner, and failures are counted per
 * owner. Opaque to those who count. Created here only, so that a user has one name everywhere.
 */
export const SYSTEM_OWNER = 'system';
/** Reads of balances: where they are killed, no task's work is refused. */
export const BALANCE_OWNER = 'balance';
/** All callers without a valid key together. */
export const ANONYMOUS_OWNER = 'anonymous';
export const userOwner = (userId: number): string => `user:${userId}`;

/**
 * A queue that shares service between owners: deficit round robin. In each round an owner may take
 * jobs that cost `quantum` together. An owner who has spent their credit waits until every other
 * owner with a job that can be served has had a round. Credit is never saved up: what nobody wants
 * is free, so a lone owner gets everything.
 *
 * An owner's jobs wait in queues of their own, one per name that `queueOf` gives. They take turns
 * too; within one, jobs keep their order.
 */
export interface FairQueue<J extends { owner: string }> {
  readonly size: number;
  /** Distinct names among the queues that are not empty. */
  readonly queueCount: number;
  /** Whether jobs of anybody but this owner wait. */
  hasOther(owner: string): boolean;
  push(job: J): void;
  /** Puts back a job that was taken, and refunds what its owner paid for it. */
  pushFront(job: J): void;
  remove(job: J): boolean;
  /** Removes and returns all jobs, or those that match. */
  drain(matches?: (job: J) => boolean): J[];
  /**
   * Takes the next job that `findSlot` finds a slot for, and returns both. `findSlot` must have no
   * side effects: it is called for jobs that are not taken, too.
   */
  take<S>(findSlot: (job: J) => S | undefined): { job: J; slot: S } | undefined;
  /** Takes the next job that `accepts` holds for from the queues of this name, of any owner. */
  takeFromQueue(name: string, accepts: (job: J) => boolean): J | undefined;
  /** Corrects what an owner has paid, once the true cost is known. */
  charge(owner: string, cost: number): void;
  /** The first job of each queue of each owner. */
  heads(): J[];
}

export type FairQueueOptions<J> = {
  /** Cost that an owner may spend in a round. */
  quantum: number;
  /** Expected cost of a job, in units of `quantum`; more than 0. */
  estimateCost: (job: J) => number;
  /** Which of its owner's queues a job waits in. */
  chooseQueue: (job: J) => string;
  /**
   * Whether this owner holds their share of the slots already. Other waiting owners are then served
   * first, whatever their credit.
   */
  holdsShare: (owner: string) => boolean;
};

/**
 * Most rounds that an owner can be in debt for: one very costly job must not lock its owner out for
 * long.
 */
const MAX_DEBT_ROUNDS = 64;

type OwnerQueues<J> = { credit: number; queues: Map<string, J[]> };
type Found<J, S> = { owner: string; share: OwnerQueues<J>; queue: string; job: J; slot: S };

export function createFairQueue<J extends { owner: string }>(options: FairQueueOptions<J>): FairQueue<J> {
  const { quantum, estimateCost, chooseQueue, holdsShare } = options;
  // Owners in the order in which they are served next, and so each owner's queues. Neither holds
  // entries without jobs.
  const shares = new Map<string, OwnerQueues<J>>();
  const queueSizes = new Map<string, number>();
  let size = 0;

  function add(job: J, put: (jobs: J[]) => void): OwnerQueues<J> {
    const { owner } = job;
    const queue = chooseQueue(job);
    const share = shares.get(owner) ?? { credit: 0, queues: new Map() };
    shares.set(owner, share);
    const jobs = share.queues.get(queue) ?? [];
    share.queues.set(queue, jobs);
    put(jobs);
    count(queue, 1);
    return share;
  }

  function pay(share: OwnerQueues<J>, cost: number): void {
    share.credit = Math.min(quantum, Math.max(-MAX_DEBT_ROUNDS * quantum, share.credit - cost));
  }

  function count(queue: string, change: number): void {
    size += change;
    const waiting = (queueSizes.get(queue) ?? 0) + change;
    if (waiting > 0) queueSizes.set(queue, waiting);
    else queueSizes.delete(queue);
  }

  function removeIfEmpty(owner: string, share: OwnerQueues<J>, queue: string): void {
    if (share.queues.get(queue)?.length === 0) share.queues.delete(queue);
    if (share.queues.size === 0) shares.delete(owner);
  }

  /** The first job of an owner's queues that has a slot. */
  function findJob<S>(
    owner: string,
    share: OwnerQueues<J>,
    findSlot: (job: J) => S | undefined,
  ): Found<J, S> | undefined {
    for (const [queue, [job]] of share.queues) {
      const slot = job && findSlot(job);
      if (job && slot !== undefined) return { owner, share, queue, job, slot };
    }
    return undefined;
  }

  /**
   * The next job of the owners that `accepts` allows. Nobody gets new credit before each owner that
   * has a job with a slot has spent its own.
   */
  function findNext<S>(
    findSlot: (job: J) => S | undefined,
    accepts: (owner: string) => boolean,
  ): Found<J, S> | undefined {
    const inDebt: Found<J, S>[] = [];
    for (const [owner, share] of shares) {
      if (!accepts(owner)) continue;
      const found = findJob(owner, share, findSlot);
      if (found && share.credit > 0) return found;
      if (found) inDebt.push(found);
    }
    // Runs as many rounds at once as the least indebted owner needs.
    const rounds = Math.min(...inDebt.map(({ share }) => Math.floor(-share.credit / quantum) + 1));
    for (const { share } of inDebt) share.credit += rounds * quantum;
    return inDebt.find(({ share }) => share.credit > 0);
  }

  function takeFound({ owner, share, queue, job }: Found<J, unknown>): void {
    const jobs = share.queues.get(queue) ?? [];
    jobs.shift();
    count(queue, -1);
    pay(share, estimateCost(job));
    // To the end of the owner's queues, and the owner to the end of all once their credit is spent.
    share.queues.delete(queue);
    if (jobs.length > 0) share.queues.set(queue, jobs);
    if (share.credit <= 0) {
      shares.delete(owner);
      shares.set(owner, share);
    }
    removeIfEmpty(owner, share, queue);
  }

  return {
    get size() {
      return size;
    },
    get queueCount() {
      return queueSizes.size;
    },
    hasOther: (owner) => shares.size > (shares.has(owner) ? 1 : 0),
    push: (job) => void add(job, (jobs) => jobs.push(job)),
    pushFront: (job) =>
      pay(
        add(job, (jobs) => jobs.unshift(job)),
        -estimateCost(job),
      ),
    remove(job) {
      const queue = chooseQueue(job);
      const share = shares.get(job.owner);
      const jobs = share?.queues.get(queue);
      const at = jobs?.indexOf(job) ?? -1;
      if (!share || !jobs || at < 0) return false;
      jobs.splice(at, 1);
      count(queue, -1);
      removeIfEmpty(job.owner, share, queue);
      return true;
    },
    drain(matches = () => true) {
      const drained: J[] = [];
      for (const [owner, share] of shares) {
        for (const [queue, jobs] of share.queues) {
          const kept = jobs.filter((job) => !matches(job));
          if (kept.length === jobs.length) continue;
          drained.push(...jobs.filter(matches));
          count(queue, kept.length - jobs.length);
          share.queues.set(queue, kept);
          removeIfEmpty(owner, share, queue);
        }
      }
      return drained;
    },
    take(findSlot) {
      const found = findNext(findSlot, (owner) => !holdsShare(owner)) ?? findNext(findSlot, holdsShare);
      if (!found) return undefined;
      takeFound(found);
      return { job: found.job, slot: found.slot };
    },
    takeFromQueue(name, accepts) {
      const found = findNext(
        (job) => (chooseQueue(job) === name && accepts(job) ? true : undefined),
        () => true,
      );
      if (found) takeFound(found);
      return found?.job;
    },
    charge(owner, cost) {
      const share = shares.get(owner);
      if (share) pay(share, cost);
    },
    heads: () => [...shares.values()].flatMap(({ queues }) => [...queues.values()].flatMap((jobs) => jobs.slice(0, 1))),
  };
}

/** The owner who wants a slot, and which of their queues they wait in (see `FairQueue`). */
type SlotRequest = { owner: string; queue: string };

/** A fair queue for a number of slots; each work costs the same. */
export interface FairLimiter {
  /** Waits for a slot. Gives the function that frees it, which may be called more than once. */
  enter(request: SlotRequest): Promise<() => void>;
  stats(): { running: number; waiting: number };
}

/**
 * An owner who asked for a slot within this many ms is expected to ask again: the others take no
 * more than their share until then.
 */
const EXPECTED_MS = 1_000;

type LimiterOptions = {
  slots: number;
  /** The slots that one owner may hold beside others. */
  share: number;
  /** A job that takes longer goes on without its slot. Default: it keeps the slot. */
  holdMs?: number;
  clock: Pick<Clock, 'monotonicMs' | 'sleep'>;
};

/**
 * At most `slots` works at once. While other owners wait, or asked within the last second, no owner
 * gets more than `share` slots, because a job that has begun cannot be interrupted for them. A lone
 * owner gets all.
 */
export function createFairLimiter({ slots, share, holdMs, clock }: LimiterOptions): FairLimiter {
  type Waiting = SlotRequest & { start: () => void };
  const held = new Map<string, number>();
  let running = 0;
  const holdsShare = (owner: string): boolean => (held.get(owner) ?? 0) >= share;
  const waiting = createFairQueue<Waiting>({
    quantum: 1,
    estimateCost: () => 1,
    chooseQueue: ({ queue }) => queue,
    holdsShare,
  });

  function changeHeld(owner: string, by: number): void {
    running += by;
    const count = (held.get(owner) ?? 0) + by;
    if (count > 0) held.set(owner, count);
    else held.delete(owner);
  }

  /**
   * The owner who asked last, and the last different one before them. For every owner, one of the
   * two is somebody else.
   */
  let latest = { owner: '', at: Number.NEGATIVE_INFINITY };
  let previous = latest;

  function noteRequest(owner: string): void {
    if (owner !== latest.owner) previous = latest;
    latest = { owner, at: clock.monotonicMs() };
  }

  function mayStart({ owner }: Waiting): true | undefined {
    const { at } = latest.owner === owner ? previous : latest;
    const sharesWithOthers = clock.monotonicMs() - at < EXPECTED_MS;
    return sharesWithOthers && holdsShare(owner) ? undefined : true;
  }

  function startNext(): void {
    while (running < slots) {
      const next = waiting.take(mayStart);
      if (!next) return;
      changeHeld(next.job.owner, 1);
      next.job.start();
    }
  }

  /** The holders that lose their slots after a time, the first to lose it first. */
  const bounded = new Set<{ leave: () => void; untilMs: number }>();
  let isWatching = false;

  /** One loop for all of them: nearly all leave long before, and a timer for each costs more. */
  async function watch(): Promise<void> {
    isWatching = true;
    for (let [first] = bounded; first; [first] = bounded) {
      const leftMs = first.untilMs - clock.monotonicMs();
      if (leftMs > 0) await clock.sleep(leftMs);
      else first.leave();
    }
    isWatching = false;
  }

  function holdSlot(owner: string): () => void {
    let isHeld = true;
    const hold = { leave, untilMs: clock.monotonicMs() + (holdMs ?? 0) };
    function leave(): void {
      if (!isHeld) return;
      isHeld = false;
      bounded.delete(hold);
      changeHeld(owner, -1);
      startNext();
    }
    if (holdMs === undefined) return leave;
    bounded.add(hold);
    if (!isWatching) void detachFromRequest(watch);
    return leave;
  }

  return {
    enter: ({ owner, queue }) =>
      new Promise((resolve) => {
        noteRequest(owner);
        waiting.push({ owner, queue, start: () => resolve(holdSlot(owner)) });
        startNext();
      }),
    stats: () => ({ running, waiting: waiting.size }),
  };
}
