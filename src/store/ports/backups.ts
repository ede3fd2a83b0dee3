/** Runs of backups. */
import type { Sentence, StoredSentence } from '../../kernel/index.ts';

/** How far nodes' clocks may differ before a run counts as one of the future, in seconds. */
export const BACKUP_CLOCK_SECONDS = 300;

/** What started a run: the schedule, or a person. */
export type BackupTrigger = 'schedule' | 'manual';

export type BackupStatus = 'running' | 'done' | 'failed';

/** One run. Times are Unix seconds. */
export type BackupRun = {
  /** A scheduled run is named by its day, a manual one by a new id. */
  id: string;
  trigger: BackupTrigger;
  status: BackupStatus;
  /** The id of the backup; empty until it exists. */
  backup: string;
  /** Where it goes, safe to show. */
  place: string;
  startedAt: number;
  /** 0: it runs. */
  endedAt: number;
  bytes: number;
  /** Why it failed, or what is missing in it. */
  message: string;
  /** What `message` says; null without one, and for older rows. */
  messageSentence: StoredSentence | null;
};

/** Proof of a run that was begun. */
export type BackupLease = { id: string; owner: string };

/** Counts of a database's rows. `ledgerSum`: the sum of all amounts, in decimal digits. */
export type DatabaseCounts = {
  users: number;
  tasks: number;
  ledgerEntries: number;
  ledgerSum: string;
};

/** How many rows were invalidated. */
export type InvalidatedState = { submissions: number; webhooks: number; sessions: number };

export interface BackupStore {
  /**
   * Begins a run under a lease. False while another run is under way, when this one is done, or
   * when it failed less than `retrySeconds` ago. `alone`: the caller knows that no other process
   * makes a backup, so that other runs have died. `dueAt`, of a daily run, in Unix seconds: false
   * also when one of the schedule was made since, in the two days after it; a later one was made
   * under a wrong clock. Call it in a transaction.
   */
  begin(
    run: Pick<BackupRun, 'id' | 'trigger' | 'place'> & {
      owner: string;
      leaseForMs: number;
      retrySeconds: number;
      alone: boolean;
      dueAt?: number;
    },
  ): Promise<boolean>;
  /** Extends the lease. False: it was lost. */
  renew(lease: BackupLease, leaseForMs: number): Promise<boolean>;
  /** Writes the end of a run. False: its lease was lost to another. */
  end(
    lease: BackupLease,
    outcome: Pick<BackupRun, 'backup' | 'bytes'> & { status: 'done' | 'failed'; said?: Sentence | undefined },
  ): Promise<boolean>;
  /**
   * The latest runs, the newest first. One whose process died shows as failed once its lease has
   * expired.
   */
  latest(limit: number): Promise<BackupRun[]>;
  /** The latest run that is done. */
  latestDone(): Promise<BackupRun | undefined>;
  /** Deletes the rows of runs that began before `before` (Unix seconds). */
  deleteOld(before: number, limit: number): Promise<number>;
  /** PostgreSQL: the schemas in which the gateway finds its tables; SQLite has none. */
  schemas(): Promise<string[]>;
  /** Reads every ledger line. */
  measure(): Promise<DatabaseCounts>;
  /**
   * Makes a restored database safe to start on. Ends the leases of submissions, so that a start
   * ends and refunds these, and of polls, so that running tasks are polled at once. Gives up
   * undelivered webhooks. Revokes every session and ends every sign-in flow. Forgets nodes and runs
   * of backups. The statements: `repositories/gateway/invalidate-restored-state.ts`. Call it in a
   * transaction; a second call changes nothing more.
   */
  invalidateState(at: number): Promise<InvalidatedState>;
}
