import type { TaskStatus } from './records.ts';

/**
 * Upper bounds of the duration classes of ended tasks, in seconds. One more class holds what took
 * longer than the last bound.
 */
export const DURATION_LIMITS = [
  1, 2, 3, 5, 8, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 300, 420, 600, 900, 1200, 1800, 2700, 3600, 7200, 14_400,
  28_800, 86_400,
] as const;

/** Tasks that ended on one day in one duration class. */
export type EndedTasks = {
  /** Days since 1970, UTC. */
  day: number;
  pluginKey: string;
  model: string;
  kind: 'settle' | 'refund';
  /** The class: an index in DURATION_LIMITS; -1: not known. */
  duration: number;
  tasks: number;
  /** Quota charged, or refunded where `kind` is `refund`. */
  quota: number;
};

/** Unfinished tasks by the day of their creation. */
export type OpenTasks = { day: number; status: TaskStatus; tasks: number };

/** How a channel has been doing. Times are Unix seconds; 0: never. */
export type ChannelHealthRecord = {
  channelId: number;
  /** Ended since the requested time. */
  succeeded: number;
  failed: number;
  inFlight: number;
  lastSuccessAt: number;
  lastFailureAt: number;
  /** The task of the latest failure; empty where there was none. */
  lastFailedTask: string;
  /** The error class of a failed submission; empty for a task that its vendor failed. */
  lastFailureCode: string;
  lastFailureReason: string;
  /** The latest test since the channel was changed; `failedStep` is empty where none failed. */
  lastTest: { at: number; failedStep: string; message: string } | undefined;
};

export interface FigureStore {
  /**
   * Adds usage rows older than `before` (Unix seconds), about `limit` of them, to the daily
   * figures. True when there may be more. Call it in a transaction of its own.
   */
  addUpDays(before: number, limit: number): Promise<boolean>;
  /**
   * Usage since `sinceDay`, whether or not it has been added up; of one user where `userId` is
   * given. `by` sums over all models and durations, or over all days.
   */
  usageByDay(filter: { sinceDay: number; userId?: number; by?: 'day' | 'model' }): Promise<EndedTasks[]>;
  openTasks(filter: { userId?: number }): Promise<OpenTasks[]>;
  /** The health of every channel, from what has ended since `since`. */
  channelHealth(since: number): Promise<ChannelHealthRecord[]>;
  /** Running tasks that were submitted at or before `submittedBefore`. */
  countOverdue(submittedBefore: number): Promise<number>;
  /**
   * The size of the database on disk, and how much of that a SQLite file keeps for later rows.
   */
  databaseSize(): Promise<{ bytes: number; freeBytes: number }>;
}
