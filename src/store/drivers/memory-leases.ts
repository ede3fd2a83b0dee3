import type { Clock } from '../../kernel/index.ts';
import type { Lease, TaskRecord } from '../ports/index.ts';

/**
 * A claim that is held in memory. `base`: the fencing number that the task's row says meanwhile.
 * `untilMs`: by the monotonic clock, so that one that is set back prolongs nothing; 0: ended by its
 * owner. `shownMs`: the same as a time of day.
 */
type Claim = {
  id: number;
  channelId: number;
  owner: string;
  seq: number;
  base: number;
  untilMs: number;
  shownMs: number;
};

/**
 * What the row of a task must say for a write under a lease to count; without an owner where the
 * claim itself is held in memory.
 */
export type Fence = { leaseOwner: string | null; leaseSeq: number };

export type MemoryLeases = ReturnType<typeof createMemoryLeases>;

/**
 * The book for one way to run statements. `onCommit` calls back when what has been written is
 * committed, and else never.
 */
export type TaskClaims = { book: MemoryLeases; onCommit: (act: () => void) => void };

/**
 * Claims of running tasks, for a database that one process has to itself: they are worth nothing
 * after it, and to write each down took as long as to write what its poll brought. A write under
 * such a claim still is one conditional statement: the row must say the number that it said when
 * the task was claimed, and says the claim's own afterwards.
 */
export function createMemoryLeases(clock: Clock) {
  const claims = new Map<string, Claim>();
  const find = ({ taskId, leaseOwner, leaseSeq }: Lease): Claim | undefined => {
    const claim = claims.get(taskId);
    return claim?.owner === leaseOwner && claim.seq === leaseSeq && claim.untilMs > 0 ? claim : undefined;
  };

  const endOf = (leaseForMs: number) => ({
    untilMs: clock.monotonicMs() + leaseForMs,
    shownMs: clock.nowMs() + leaseForMs,
  });

  return {
    /** The rows' ids of tasks that are claimed, of one channel or of all. */
    held(channelId?: number): number[] {
      const nowMs = clock.monotonicMs();
      const ids: number[] = [];
      for (const claim of claims.values())
        if (claim.untilMs > nowMs && (channelId === undefined || claim.channelId === channelId)) ids.push(claim.id);
      return ids;
    },

    /**
     * Claims those of `found` that nobody else has claimed by now, and gives them as their holder
     * sees them.
     */
    take(found: readonly TaskRecord[], owner: string, leaseForMs: number): TaskRecord[] {
      const nowMs = clock.monotonicMs();
      return found.flatMap((task) => {
        const before = claims.get(task.taskId);
        if (before && before.untilMs > nowMs) return [];
        const { id, taskId, channelId, leaseSeq: base } = task;
        const seq = Math.max(base, before?.seq ?? 0) + 1;
        const claim = { id, channelId, owner, seq, base, ...endOf(leaseForMs) };
        claims.set(taskId, claim);
        return [{ ...task, leaseOwner: owner, leaseUntilMs: claim.shownMs, leaseSeq: seq }];
      });
    },

    /**
     * Of a task with a claim here no other lease counts; where there is none, the lease is the
     * row's own.
     */
    fenceOf(lease: Lease): Fence | undefined {
      if (!claims.has(lease.taskId)) return lease;
      const claim = find(lease);
      return claim && { leaseOwner: null, leaseSeq: claim.base };
    },

    /** Prolongs a claim that is held here, and stands. */
    renew(lease: Lease, leaseForMs: number): boolean {
      const claim = find(lease);
      if (claim) Object.assign(claim, endOf(leaseForMs));
      return claim !== undefined;
    },

    /** To be called when what was written under the lease, and gave it back, is committed. */
    drop(lease: Lease): void {
      if (find(lease)) claims.delete(lease.taskId);
    },

    /**
     * Ends the claims of one owner, or all: others may take the tasks, under a higher number. Gives
     * how many there were.
     */
    end(owner?: string): number {
      let ended = 0;
      for (const claim of claims.values()) {
        if (claim.untilMs === 0 || (owner !== undefined && claim.owner !== owner)) continue;
        claim.untilMs = 0;
        ended += 1;
      }
      return ended;
    },

    /** The task as its row says, with the claim that is held here. */
    show(task: TaskRecord): TaskRecord {
      const claim = claims.get(task.taskId);
      return claim && claim.untilMs > 0
        ? { ...task, leaseOwner: claim.owner, leaseUntilMs: claim.shownMs, leaseSeq: claim.seq }
        : task;
    },
  };
}
