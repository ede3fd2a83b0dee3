/** Batches of requests, and the files that clients upload for them. Times are Unix seconds. */
import type { Json } from '../../kernel/index.ts';
import type { StoredFailure } from './task-records.ts';

/** `cancelling`: what a vendor has goes on, and is waited for. */
export type BatchStatus =
  | ('validating' | 'in_progress' | 'cancelling')
  | ('completed' | 'failed' | 'expired' | 'cancelled');

export type BatchRecord = {
  id: number;
  batchId: string;
  userId: number;
  /** The key that it came with, which its tasks belong to. */
  apiKeyId: number;
  /** The path of its requests; empty: they differ. */
  endpoint: string;
  /** Empty: its requests came in the body. */
  inputFileId: string;
  /** Nothing is sent unless every request would be accepted. */
  allOrNone: boolean;
  metadata: Record<string, string>;
  /** The receiver of its one webhook; null: none. It may hold secrets, as that of a task. */
  callbackUrl: string | null;
  requestId: string;
  status: BatchStatus;
  /** Why none of its requests was sent; null otherwise. */
  error: StoredFailure | null;
  total: number;
  createdAt: number;
  /** What was not sent by then never is. */
  expiresAt: number;
  startedAt: number;
  cancellingAt: number;
  /** 0: it runs. */
  endedAt: number;
  /** Unix milliseconds: when it is looked at next. */
  dueAtMs: number;
};

export type NewBatch = Omit<BatchRecord, 'id' | 'error' | 'cancellingAt' | 'endedAt' | 'dueAtMs'>;

/**
 * `sending`: its process may have died before it recorded what came of it; the idempotency key of
 * the item tells. `submitted`: it became a task that runs. `completed` and `failed` are final, and
 * so are `cancelled` and `expired`, of which no vendor heard.
 */
export type BatchItemStatus = 'pending' | 'sending' | 'submitted' | 'completed' | 'failed' | 'cancelled' | 'expired';

export type BatchItem = {
  batchId: string;
  position: number;
  customId: string;
  path: string;
  /** Null once it was sent, or never will be. */
  body: Json;
  status: BatchItemStatus;
  /** When it was first being sent; 0: it was not. */
  begunAt: number;
  taskId: string | null;
  /** Why it became no task. */
  error: StoredFailure | null;
};

export type NewBatchItem = Pick<BatchItem, 'position' | 'customId' | 'path' | 'body'>;

/** An item without its body. `quota`: of its task. */
export type BatchOutcome = Omit<BatchItem, 'body' | 'begunAt'> & { quota: number };

/** What became of an item that was being sent. */
export type BatchItemEnd = Pick<BatchItem, 'status' | 'taskId' | 'error'>;

export type BatchCounts = Record<BatchItemStatus, number>;

export type BatchFile = {
  id: number;
  fileId: string;
  userId: number;
  filename: string;
  bytes: number;
  createdAt: number;
  expiresAt: number;
};

/** The longest time until an open batch is looked at again. */
export const LONGEST_BATCH_PAUSE_MS = 15 * 60_000;

export interface BatchStore {
  /**
   * Writes the batch, due at once. False, and nothing is written, where the user has `maxOpen` that
   * run. Call it in the transaction that takes the Idempotency-Key.
   */
  insert(batch: NewBatch, items: readonly NewBatchItem[], maxOpen: number): Promise<boolean>;
  byId(batchId: string): Promise<BatchRecord | undefined>;
  /** The user's, by id. `after`: the id of a row; undefined: from the beginning. */
  ofUser(
    userId: number,
    page: { after?: number | undefined; limit: number; order: 'asc' | 'desc' },
  ): Promise<BatchRecord[]>;
  /** How many items of these batches are in which state. */
  counts(batchIds: readonly string[]): Promise<Map<string, BatchCounts>>;
  /** Items after this position, in order. */
  outcomes(batchId: string, after: number, limit: number): Promise<BatchOutcome[]>;
  /**
   * Milliseconds until the next open batch is due, by the store's clock: 0 or less when one is;
   * undefined without an open one.
   */
  untilDue(): Promise<number | undefined>;
  /** Open batches that are due, the longest overdue first. */
  due(limit: number): Promise<BatchRecord[]>;
  /** When an open batch is looked at next. */
  postpone(batchId: string, inMs: number): Promise<void>;
  /** Items that are still to be sent, in order, including those in `sending`. */
  unsent(batchId: string, limit: number): Promise<BatchItem[]>;
  /** Notes that an item is being sent, before it is. False: it was ended. */
  begin(item: Pick<BatchItem, 'batchId' | 'position'>, at: number): Promise<boolean>;
  /** Notes the outcome of an item, and drops its body. False: it was ended. */
  endItem(item: Pick<BatchItem, 'batchId' | 'position'>, end: BatchItemEnd): Promise<boolean>;
  /** Ends all items that were never being sent. */
  endPending(batchId: string, status: 'cancelled' | 'expired'): Promise<number>;
  /** Ends the items whose tasks have ended, or were deleted. */
  followTasks(batchId: string): Promise<number>;
  /** The ids of tasks of the batch that wait to be sent. */
  waitingTasks(batchId: string): Promise<string[]>;
  /** False unless it is being validated. */
  start(batchId: string, at: number): Promise<boolean>;
  /** False unless it runs and is not being cancelled. */
  requestCancel(batchId: string, at: number): Promise<boolean>;
  /** Ends an open batch; false where it has ended. */
  end(batchId: string, end: Pick<BatchRecord, 'status' | 'error' | 'endedAt'>): Promise<boolean>;
  /** Deletes about `limit` batches that have ended and were made at or before `createdUntil`. */
  deleteOld(createdUntil: number, limit: number): Promise<number>;

  /** False, and nothing is written, where the user's files would be more, or larger, than this. */
  addFile(file: Omit<BatchFile, 'id'> & { content: string }, most: { files: number; bytes: number }): Promise<boolean>;
  file(fileId: string): Promise<BatchFile | undefined>;
  fileContent(fileId: string): Promise<string | undefined>;
  files(userId: number): Promise<BatchFile[]>;
  deleteFile(fileId: string): Promise<boolean>;
  /** Deletes about `limit` files that had expired by `until`. */
  deleteExpiredFiles(until: number, limit: number): Promise<number>;
  /** Deletes about `limit` batches of the user with their items, and files. Returns how many. */
  deleteOfUser(userId: number, limit: number): Promise<number>;
}
