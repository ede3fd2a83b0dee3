import type { Json } from '../../kernel/index.ts';
import type { LedgerEntryRecord } from './ledger.ts';
import type { AuditRecord, UsageLogRecord } from './logs.ts';
import type { SessionRecord } from './sessions.ts';
import type { TaskEventRecord, TaskExecution, TaskProperties, TaskRecord, TaskStatus } from './task-records.ts';

/**
 * How far old data of one kind has been gone through. `position`: the id of the last row.
 * `skipped`: the first row before it that was in use then; 0: none. `at`: Unix seconds of the last
 * look at those.
 */
export type RetentionProgress = { position: number; skipped: number; at: number };

/** What decides whether a task is old. Times are Unix seconds. */
export type AgedTask = {
  id: number;
  taskId: string;
  status: TaskStatus;
  createdAt: number;
  finishTime: number;
  /** A result of it is kept, or waits to be copied. */
  result: 'kept' | 'pending' | undefined;
};

/** The parts of a task that say what its user asked for and got. */
export type TaskContent = {
  id: number;
  taskId: string;
  properties: TaskProperties;
  execution: TaskExecution;
  /** Whether the vendor's answer or the plugin's state is stored. */
  hasAnswer: boolean;
};

export type ContentChange = Pick<TaskContent, 'id' | 'properties' | 'execution'> & {
  /** Whether the vendor's answer and the plugin's state are removed, too. */
  removesAnswer: boolean;
};

/**
 * Rows that are no longer needed. Nothing here touches a task that has not ended, whatever the
 * caller has read before.
 */
export interface RetentionStore {
  /** Zeros where nothing is stored. */
  progress(name: string): Promise<RetentionProgress>;
  saveProgress(name: string, progress: RetentionProgress): Promise<void>;
  /** Tasks after this id, in order of id: nearly that of creation. */
  tasksAfter(id: number, limit: number): Promise<AgedTask[]>;
  /** Locks those that have ended until the transaction ends. */
  readContent(ids: readonly number[]): Promise<TaskContent[]>;
  /** Resolves to the number of tasks written. */
  replaceContent(changes: readonly ContentChange[]): Promise<number>;
  /** Notes a task of which nothing is stored for long, in the transaction that inserts it. */
  addUnstored(taskId: string): Promise<void>;
  /** Such tasks after this id, in order of id; `task` is undefined of one that is gone. */
  unstoredTasks(after: string, limit: number): Promise<{ taskId: string; task: AgedTask | undefined }[]>;
  /** Forgets the notes of these tasks. */
  forgetUnstored(taskIds: readonly string[]): Promise<void>;
  /** Deletes tasks with timeline, notices and lost results. Their ledger lines and usage stay. */
  deleteTasks(ids: readonly number[]): Promise<number>;
  deleteEvents(taskIds: readonly string[]): Promise<number>;
  /**
   * Deletes about `limit` usage rows written at or before `until`, but only those that the daily
   * figures hold.
   */
  deleteUsage(until: number, limit: number): Promise<number>;
  /**
   * Goes through `limit` ledger lines after this id, while there are any from before `until`, and
   * folds those of ended tasks, relayed requests and storage: one line `carried` with their sum
   * remains for each user and month. Other kinds stay. Call it in a transaction of its own.
   */
  foldLedger(fold: { after: number; until: number; limit: number }): Promise<{
    walked: number;
    folded: number;
    /** The id of the last line gone through. */
    last: number;
    /** The id of the first line that was left for later; 0: none. */
    skipped: number;
  }>;
}

/**
 * Rows with ids up to `size` after this one, of all people: no index leads to those of one. `next`:
 * where the next slice begins; undefined behind the last one.
 */
export type Slice = { after: number; size: number };

/** What belongs to one person: to hand it to them, and to erase it after their deletion. */
export interface PersonalDataStore {
  /**
   * Accounts after this id that were deleted at or before `deletedUntil` (Unix seconds) and whose
   * content has not been erased, in order of id.
   */
  usersToErase(after: number, until: { limit: number; deletedUntil: number }): Promise<number[]>;
  /** False unless the account was deleted at or before `deletedUntil`, and not erased yet. */
  markErased(userId: number, done: { at: number; deletedUntil: number }): Promise<boolean>;
  /** False unless the account is deleted: its content is erased again. */
  eraseAgain(userId: number): Promise<boolean>;
  agedTasks(userId: number, after: number, limit: number): Promise<AgedTask[]>;
  /**
   * Empties what else of ended tasks may hold words of their user, and hides them. Returns how many
   * it changed.
   */
  eraseTasks(ids: readonly number[], at: number): Promise<number>;
  deleteNotices(taskIds: readonly string[]): Promise<number>;
  deleteIdempotencyKeys(userId: number): Promise<number>;
  /** Empties addresses and browsers of their sessions; the rows stay for their time. */
  clearSessions(userId: number): Promise<void>;
  /**
   * Empties the reasons of their refunds, which may quote a prompt, in `limit` rows after this id.
   * Amounts stay. `last`: the id of the last row; undefined: there are no more.
   */
  clearReasons(
    table: 'usage' | 'ledger',
    userId: number,
    part: { after: number; limit: number },
  ): Promise<{ changed: number; last: number | undefined }>;
  /**
   * Replaces the person by their id in a slice of the audit log, and records that in the log
   * itself, so that its chains can still be verified. Call it in a transaction of its own.
   */
  redactAudit(userId: number, slice: Slice, at: number): Promise<{ redacted: number; next: number | undefined }>;
  /** Rows in order of id, for an export. */
  exportTasks(userId: number, after: number, limit: number): Promise<Omit<TaskRecord, 'data' | 'state'>[]>;
  /** Their sessions, ended ones too, in order of creation. */
  exportSessions(userId: number, part: { skip: number; limit: number }): Promise<SessionRecord[]>;
  exportEvents(taskIds: readonly string[]): Promise<TaskEventRecord[]>;
  exportUsage(userId: number, after: number, limit: number): Promise<UsageLogRecord[]>;
  exportLedger(userId: number, after: number, limit: number): Promise<LedgerEntryRecord[]>;
  /** What they did, and what was done to their account. */
  exportAudit(userId: number, slice: Slice): Promise<{ rows: AuditRecord[]; next: number | undefined }>;
  exportNotices(
    userId: number,
    after: number,
    limit: number,
  ): Promise<{ id: number; taskId: string; event: string; url: string; payload: Json; createdAt: number }[]>;
}
