/**
 * Who waits: work is shared by `owner` first, then turn by turn among an owner's `lane`s, and keeps
 * its order within a lane.
 */
export type Queued = { owner: string; lane: string };

/**
 * Deficit round robin. In turns, owners take work from the front of their lanes; what it costs is
 * paid from a credit of `quantum` a round, and whoever has spent theirs waits until all others who
 * can be served have had their turn. Time that nobody wants is free: credit is never saved up, and
 * a lone owner gets everything.
 */
export interface FairQueue<J extends Queued> {
  readonly size: number;
  /** Lanes that have somebody waiting, of all owners. */
  readonly lanes: number;
  push(job: J): void;
  /** Puts back what was taken, and gives back what was paid for it. */
  pushFront(job: J): void;
  remove(job: J): boolean;
  /** Removes and returns all that `wanted` holds for. */
  drain(wanted?: (job: J) => boolean): J[];
  /**
   * Takes the next job that `place` finds a place for, and says which. `place` must change nothing.
   */
  take<P>(place: (job: J) => P | undefined): { job: J; place: P } | undefined;
  /** Takes one more job of this lane that `accept` holds for, of whichever owner's turn it is. */
  takeFromLane(lane: string, accept: (job: J) => boolean): J | undefined;
  /** Corrects what an owner has paid, once the true cost is known. */
  charge(owner: string, cost: number): void;
  /** The first job of each lane of each owner. */
  heads(): J[];
}

export type FairQueueOptions<J> = {
  /** Cost that an owner may spend in a round. */
  quantum: number;
  /** What a job is expected to cost, in units of `quantum`; more than 0. */
  costOf: (job: J) => number;
  /**
   * Whether this owner holds their share of what is handed out: then others who wait come first,
   * whatever their credit.
   */
  hasShare: (owner: string) => boolean;
};

/**
 * Most rounds that an owner can be in debt for: one very costly job must not keep its owner away
 * for long.
 */
const MAX_DEBT_ROUNDS = 64;

type Account<J> = { credit: number; lanes: Map<string, J[]> };
type Found<J, P> = { owner: string; account: Account<J>; lane: string; job: J; place: P };

export function createFairQueue<J extends Queued>(options: FairQueueOptions<J>): FairQueue<J> {
  const { quantum, costOf, hasShare } = options;
  // Owners in the order of their turns, and each one's lanes in theirs. Who has nobody waiting is
  // not in it.
  const accounts = new Map<string, Account<J>>();
  const laneSizes = new Map<string, number>();
  let size = 0;

  function add(job: J, put: (jobs: J[]) => void): Account<J> {
    const { owner, lane } = job;
    const account = accounts.get(owner) ?? { credit: 0, lanes: new Map() };
    accounts.set(owner, account);
    const jobs = account.lanes.get(lane) ?? [];
    account.lanes.set(lane, jobs);
    put(jobs);
    count(lane, 1);
    return account;
  }

  function pay(account: Account<J>, cost: number): void {
    account.credit = Math.min(quantum, Math.max(-MAX_DEBT_ROUNDS * quantum, account.credit - cost));
  }

  function count(lane: string, change: number): void {
    size += change;
    const waiting = (laneSizes.get(lane) ?? 0) + change;
    if (waiting > 0) laneSizes.set(lane, waiting);
    else laneSizes.delete(lane);
  }

  function tidy(owner: string, account: Account<J>, lane: string): void {
    if (account.lanes.get(lane)?.length === 0) account.lanes.delete(lane);
    if (account.lanes.size === 0) accounts.delete(owner);
  }

  /** The first job of an owner, lane after lane, that has a place. */
  function findIn<P>(owner: string, account: Account<J>, place: (job: J) => P | undefined): Found<J, P> | undefined {
    for (const [lane, [job]] of account.lanes) {
      const found = job && place(job);
      if (job && found !== undefined) return { owner, account, lane, job, place: found };
    }
    return undefined;
  }

  /**
   * Whose turn it is among those who have a place. Everybody of them has had a turn before anybody
   * gets new credit.
   */
  function findNext<P>(place: (job: J) => P | undefined, only: (owner: string) => boolean): Found<J, P> | undefined {
    const broke: Found<J, P>[] = [];
    for (const [owner, account] of accounts) {
      if (!only(owner)) continue;
      const found = findIn(owner, account, place);
      if (found && account.credit > 0) return found;
      if (found) broke.push(found);
    }
    // As many rounds at once as the least indebted needs.
    const rounds = Math.min(...broke.map(({ account }) => Math.floor(-account.credit / quantum) + 1));
    for (const { account } of broke) account.credit += rounds * quantum;
    return broke.find(({ account }) => account.credit > 0);
  }

  function takeFound({ owner, account, lane, job }: Found<J, unknown>): void {
    const jobs = account.lanes.get(lane) ?? [];
    jobs.shift();
    count(lane, -1);
    pay(account, costOf(job));
    account.lanes.delete(lane);
    if (jobs.length > 0) account.lanes.set(lane, jobs);
    if (account.credit <= 0) {
      accounts.delete(owner);
      accounts.set(owner, account);
    }
    tidy(owner, account, lane);
  }

  return {
    get size() {
      return size;
    },
    get lanes() {
      return laneSizes.size;
    },
    push: (job) => void add(job, (jobs) => jobs.push(job)),
    pushFront: (job) =>
      pay(
        add(job, (jobs) => jobs.unshift(job)),
        -costOf(job),
      ),
    remove(job) {
      const account = accounts.get(job.owner);
      const jobs = account?.lanes.get(job.lane);
      const at = jobs?.indexOf(job) ?? -1;
      if (!account || !jobs || at < 0) return false;
      jobs.splice(at, 1);
      count(job.lane, -1);
      tidy(job.owner, account, job.lane);
      return true;
    },
    drain(wanted = () => true) {
      const drained: J[] = [];
      for (const [owner, account] of accounts) {
        for (const [lane, jobs] of account.lanes) {
          const kept = jobs.filter((job) => !wanted(job));
          if (kept.length === jobs.length) continue;
          drained.push(...jobs.filter(wanted));
          count(lane, kept.length - jobs.length);
          account.lanes.set(lane, kept);
          tidy(owner, account, lane);
        }
      }
      return drained;
    },
    take(place) {
      const found = findNext(place, (owner) => !hasShare(owner)) ?? findNext(place, hasShare);
      if (!found) return undefined;
      takeFound(found);
      return { job: found.job, place: found.place };
    },
    takeFromLane(lane, accept) {
      const found = findNext(
        (job) => (job.lane === lane && accept(job) ? true : undefined),
        () => true,
      );
      if (found) takeFound(found);
      return found?.job;
    },
    charge(owner, cost) {
      const account = accounts.get(owner);
      if (account) pay(account, cost);
    },
    heads: () => [...accounts.values()].flatMap(({ lanes }) => [...lanes.values()].flatMap((jobs) => jobs.slice(0, 1))),
  };
}
