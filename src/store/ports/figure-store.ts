import type { TaskStatus } from './records.ts';

/**
 * Longest durations of the classes of tasks that have ended, in seconds; what took longer than the
 * last is in one more.
 */
export const DURATION_LIMITS = [
  1, 2, 3, 5, 8, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 300, 420, 600, 900, 1200, 1800, 2700, 3600, 7200, 14_400,
  28_800, 86_400,
] as const;

/** What ended on one day in one class of durations. */
export type EndedTasks = {
  /** Days since 1970, UTC. */
  day: number;
  pluginKey: string;
  model: string;
  kind: 'settle' | 'refund';
  /** Its index in DURATION_LIMITS; -1: not known. */
  duration: number;
  tasks: number;
  /** Charged, or of a refund given back. */
  quota: number;
};

/** What is under way, by the day on which it was asked for. */
export type OpenTasks = { day: number; status: TaskStatus; tasks: number };

/** How a channel has been doing. Times are Unix seconds; 0: never. */
export type ChannelHealthRecord = {
  channelId: number;
  /** Since the asked time. */
  succeeded: number;
  failed: number;
  inFlight: number;
  lastSuccessAt: number;
  lastFailureAt: number;
  /** Of the latest failure; empty where there was none. */
  lastFailedTask: string;
  /** The error class of a failed submission; empty for a task that its vendor failed. */
  lastFailureCode: string;
  lastFailureReason: string;
};

export interface FigureStore {
  /**
   * Adds usage rows from before `before` (Unix seconds) to the figures by day, about `limit` of
   * them. True: there may be more. Meant for a transaction of its own.
   */
  addUpDays(before: number, limit: number): Promise<boolean>;
  /**
   * Usage since `sinceDay`, whether it has been added up or not; of one user where `userId` is
   * given.
   */
  usageByDay(filter: { sinceDay: number; userId?: number }): Promise<EndedTasks[]>;
  openTasks(filter: { userId?: number }): Promise<OpenTasks[]>;
  /** Of every channel, by what has ended since `since`. */
  channelHealth(since: number): Promise<ChannelHealthRecord[]>;
  /** Running tasks that were submitted at or before `submittedBefore`. */
  countOverdue(submittedBefore: number): Promise<number>;
  /** What the database takes on its disk. */
  databaseBytes(): Promise<number>;
}
