import type { Database as SqliteFile } from 'bun:sqlite';
import { nextTurn, type Sentence } from '../../kernel/index.ts';
import { findWriteFault, storeErrors, toFlushError, toStoreError } from '../drivers/errors.ts';
import { waitForLock } from './wait-for-lock.ts';

/**
 * The most jobs that share one commit. It bounds how long the event loop is blocked and how much
 * one failed commit undoes.
 */
const MAX_GROUP = 64;
/** Turns of the event loop that a group gathers for at the most. */
const MAX_TURNS = 4;

type Outcome = { ok: true } | { ok: false; error: unknown };
type Job = { atomic: boolean; work: () => Promise<void>; settle: (outcome: Outcome) => void };
/** Jobs that ran in one transaction. `broken`: why it was not committed. */
type Group = { ended: { job: Job; outcome: Outcome }[]; broken: unknown };

export type GroupCommitOptions = {
  /**
   * Resolves when what was committed before the call is on the disk. Commits that need no such wait
   * have none.
   */
  flush?: (() => Promise<void>) | undefined;
  /** Called right before each commit. */
  beforeCommit?: () => void;
  /** Called after each commit, or failed one. */
  afterCommit?: () => void;
  /** A promise where the next transaction has to wait. */
  pause?: () => Promise<void> | undefined;
};

/**
 * The only writer of a SQLite database. Jobs queue up and run one after the other inside a shared
 * transaction, each under its own savepoint, so that a failing job does not affect the others.
 * Their promises settle after the commit and its flush: a resolved promise is durable. While the
 * flush waits for the disk, other work goes on and the next group gathers. If the commit fails,
 * every job of the group rejects with `store.unavailable` and none of it is stored; if the flush
 * fails, with `store.outcome_unknown`.
 */
export function createGroupCommit(
  file: SqliteFile,
  { flush, beforeCommit, afterCommit, pause }: GroupCommitOptions = {},
) {
  const queue: Job[] = [];
  let draining: Promise<void> | undefined;
  let closed = false;
  let fault: Sentence | undefined;
  let changesBefore = 0;

  /** Compiled once: each group runs some of these. */
  const run = (text: string): void => void file.query(text).run();

  async function drain(): Promise<void> {
    while (queue.length > 0) {
      await gather();
      await pause?.();
      const group = await commitGroup();
      afterCommit?.();
      // Before the next group begins, which may be slow.
      settleGroup(group, await flushGroup(group));
    }
    draining = undefined;
  }

  /**
   * Yields to the event loop: requests that arrived together share one group, and other work runs
   * between groups. Under load each turn brings more jobs, and a commit costs as much for many as
   * for one: it waits while they come. An idle turn takes microseconds.
   */
  async function gather(): Promise<void> {
    for (let turn = 1, seen = 0; turn <= MAX_TURNS && queue.length > seen; turn += 1) {
      seen = queue.length;
      await nextTurn();
    }
  }

  /** Why it failed, if it did: after a failed flush a power cut may leave anything of the group. */
  async function flushGroup({ broken }: Group): Promise<unknown> {
    if (broken !== undefined) return broken;
    try {
      await flush?.();
      return undefined;
    } catch (error) {
      return toFlushError(error);
    }
  }

  function settleGroup({ ended }: Group, failure: unknown): void {
    noteFault([failure, ...ended.map(({ outcome }) => (outcome.ok ? undefined : outcome.error))]);
    for (const { job, outcome } of ended)
      job.settle(failure !== undefined && outcome.ok ? { ok: false, error: failure } : outcome);
  }

  async function commitGroup(): Promise<Group> {
    const ended: Group['ended'] = [];
    let broken: unknown;
    try {
      await begin();
      while (queue.length > 0 && ended.length < MAX_GROUP) {
        const job = queue.shift() as Job;
        const outcome = await runJob(job, ended.length === 0);
        ended.push({ job, outcome });
        // SQLite has rolled back by itself: the disk is full, or an I/O error occurred.
        if (!file.inTransaction) throw outcome.ok ? storeErrors.unavailable() : outcome.error;
      }
      beforeCommit?.();
      run('commit');
    } catch (error) {
      broken = toStoreError(error);
      rollback();
      // The transaction did not even begin. The waiting jobs would meet the same fault, after
      // another wait for the lock, so they fail too.
      if (ended.length === 0) for (const job of queue.splice(0)) ended.push({ job, outcome: { ok: true } });
    }
    return { ended, broken };
  }

  /** A fault is over once something has been written: a group may have had nothing to write. */
  function noteFault(errors: readonly unknown[]): void {
    const found = errors.map(findWriteFault).find((each) => each !== undefined);
    if (found === undefined && fault === undefined) return;
    const changes = countChanges();
    if (found === undefined && changes === changesBefore) return;
    fault = found;
    changesBefore = changes;
  }

  function countChanges(): number {
    try {
      return Number(file.query('select total_changes()').values()[0]?.[0]);
    } catch {
      return changesBefore;
    }
  }

  const begin = (): Promise<void> => waitForLock(() => run('begin immediate'));

  /**
   * The first of a transaction may undo all of it: SQLite need not keep each page as it was before
   * the job.
   */
  async function runJob(job: Job, isFirst: boolean): Promise<Outcome> {
    // A single statement is atomic by itself.
    const needsSavepoint = job.atomic && !isFirst;
    try {
      if (needsSavepoint) run('savepoint work');
      await job.work();
      if (needsSavepoint) run('release work');
      return { ok: true };
    } catch (error) {
      try {
        if (job.atomic && file.inTransaction) await undo(isFirst);
      } catch (failure) {
        return { ok: false, error: failure };
      }
      return { ok: false, error };
    }
  }

  async function undo(isFirst: boolean): Promise<void> {
    if (isFirst) {
      run('rollback');
      await begin();
    } else {
      run('rollback to work');
      run('release work');
    }
  }

  function rollback(): void {
    try {
      if (file.inTransaction) run('rollback');
    } catch {
      // The original fault is reported. If it persists, the next `begin immediate` meets it again.
    }
  }

  return {
    /**
     * Queues `work`; resolves with its value once the group has been committed. `atomic`: it may
     * run several statements.
     */
    submit<T>(work: () => Promise<T>, atomic: boolean): Promise<T> {
      if (closed) return Promise.reject(storeErrors.unavailable({ message: 'The database has been closed.' }));
      return new Promise<T>((resolve, reject) => {
        let value: T;
        queue.push({
          atomic,
          work: async () => {
            value = await work();
          },
          settle: (outcome) => (outcome.ok ? resolve(value) : reject(outcome.error)),
        });
        draining ??= drain();
      });
    },

    /**
     * Why the latest write failed, if the file could not be written; `undefined` once a write has
     * succeeded.
     */
    fault: () => fault,

    /** Refuses new jobs and resolves when the queued ones have ended. */
    async close(): Promise<void> {
      closed = true;
      await draining;
    },
  };
}
