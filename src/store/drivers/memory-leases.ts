import type { Clock } from '../../kernel/index.ts';
import type { Lease, TaskRecord } from '../ports/index.ts';

/**
 * A claim that is held in memory. `base`: the fencing number in the task's row. `untilMs`: by the
 * monotonic clock, so that a clock that is set back extends nothing; 0: ended by its owner.
 * `shownUntilMs`: that moment as a time of day.
 */
type Claim = {
  id: number;
  channelId: number;
  owner: string;
  seq: number;
  base: number;
  untilMs: number;
  shownUntilMs: number;
};

/**
 * What the task's row must say for a write under a lease to succeed. `leaseOwner` is null when the
 * claim itself is held in memory.
 */
export type Fence = { leaseOwner: string | null; leaseSeq: number };

export type MemoryLeases = ReturnType<typeof createMemoryLeases>;

/**
 * The memory leases as one set of repositories uses them. `onCommit` runs its callback once the
 * writes are committed, and never otherwise.
 */
export type LeaseBinding = { leases: MemoryLeases; onCommit: (act: () => void) => void };

/**
 * Claims of running tasks in memory, for a database with a single process. They are worthless after
 * that process ends, and writing each claim took as long as writing the result of its poll. A write
 * under such a claim still is one conditional statement: the row must hold the fencing number that
 * it had at the claim (`base`), and holds the claim's own number afterwards.
 */
export function createMemoryLeases(clock: Clock) {
  const claims = new Map<string, Claim>();
  const findClaim = ({ taskId, leaseOwner, leaseSeq }: Lease): Claim | undefined => {
    const claim = claims.get(taskId);
    return claim?.owner === leaseOwner && claim.seq === leaseSeq && claim.untilMs > 0 ? claim : undefined;
  };

  const expiryAfter = (leaseForMs: number) => ({
    untilMs: clock.monotonicMs() + leaseForMs,
    shownUntilMs: clock.nowMs() + leaseForMs,
  });

  return {
    /** The row ids of claimed tasks, of one channel or of all. */
    claimedIds(channelId?: number): number[] {
      const nowMs = clock.monotonicMs();
      const ids: number[] = [];
      for (const claim of claims.values())
        if (claim.untilMs > nowMs && (channelId === undefined || claim.channelId === channelId)) ids.push(claim.id);
      return ids;
    },

    /** Claims those tasks of `found` that are not claimed, and returns them with their claim. */
    claim(found: readonly TaskRecord[], owner: string, leaseForMs: number): TaskRecord[] {
      const nowMs = clock.monotonicMs();
      return found.flatMap((task) => {
        const before = claims.get(task.taskId);
        if (before && before.untilMs > nowMs) return [];
        const { id, taskId, channelId, leaseSeq: base } = task;
        const seq = Math.max(base, before?.seq ?? 0) + 1;
        const claim = { id, channelId, owner, seq, base, ...expiryAfter(leaseForMs) };
        claims.set(taskId, claim);
        return [{ ...task, leaseOwner: owner, leaseUntilMs: claim.shownUntilMs, leaseSeq: seq }];
      });
    },

    /**
     * The row that a write under `lease` must find; `undefined` when the lease was lost. If the
     * task has a claim here, only the lease of that claim is valid. Otherwise the lease is in the
     * row.
     */
    findFence(lease: Lease): Fence | undefined {
      if (!claims.has(lease.taskId)) return lease;
      const claim = findClaim(lease);
      return claim && { leaseOwner: null, leaseSeq: claim.base };
    },

    /** Extends a claim that is held here and still valid. */
    renew(lease: Lease, leaseForMs: number): boolean {
      const claim = findClaim(lease);
      if (claim) Object.assign(claim, expiryAfter(leaseForMs));
      return claim !== undefined;
    },

    /** Call it once a write that ended the lease is committed. */
    release(lease: Lease): void {
      if (findClaim(lease)) claims.delete(lease.taskId);
    },

    /**
     * Expires the claims of one owner, or all claims. Others may then claim the tasks under a
     * higher number. Returns how many expired.
     */
    expire(owner?: string): number {
      let expired = 0;
      for (const claim of claims.values()) {
        if (claim.untilMs === 0 || (owner !== undefined && claim.owner !== owner)) continue;
        claim.untilMs = 0;
        expired += 1;
      }
      return expired;
    },

    /** The task's row, with the claim that is held here. */
    withClaim(task: TaskRecord): TaskRecord {
      const claim = claims.get(task.taskId);
      return claim && claim.untilMs > 0
        ? { ...task, leaseOwner: claim.owner, leaseUntilMs: claim.shownUntilMs, leaseSeq: claim.seq }
        : task;
    },
  };
}
