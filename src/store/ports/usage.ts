/** Sums and figures of usage, and samples of what the nodes did. */
import type { Sentence, StoredSentence } from '../../kernel/index.ts';
import type { TaskStatus } from './task-records.ts';

/** What usage came to: of ended tasks, and the quota charged for them. */
export type UsageSum = { succeeded: number; failed: number; spend: number };

export type UsageSumFilter = {
  /** Quarters of an hour are kept for some weeks, days in UTC without an end. */
  unit: 'quarter' | 'day';
  /** Unix seconds at a unit's start; `until` is exclusive. */
  from: number;
  until: number;
  userId?: number;
  /** 0: the panel; -1: not known any more. */
  apiKeyId?: number;
  /** -1: not known any more. */
  channelId?: number;
  pluginKey?: string;
  model?: string;
};

export type UsageDimension = 'user' | 'key' | 'channel' | 'model';

/** The sum of one user, key or channel (`id`) or of one model; the others are 0 or empty. */
export type UsageShare = UsageSum & { id: number; pluginKey: string; model: string };

/** Tasks of a channel that ended within an hour, in one class of durations (`DURATION_LIMITS`). */
export type ChannelHour = { start: number; kind: 'settle' | 'refund'; duration: number; tasks: number };

/** Failures of a channel with the same reason, and the latest of them. */
export type ChannelFailures = {
  reason: string;
  /** What the reason says; null for older rows. */
  reasonSentence: StoredSentence | null;
  tasks: number;
  lastAt: number;
  lastTask: string;
};

export interface UsageStore {
  /**
   * Adds usage rows older than `before` (Unix seconds), about `limit` of them, to the sums;
   * quarters and hours only from `keptFrom` on. True when there may be more. Call it in a
   * transaction of its own.
   */
  addUp(range: { before: number; keptFrom: number }, limit: number): Promise<boolean>;
  /**
   * Deletes quarters and hours that began before `before`: some of the oldest. 0: there are none.
   */
  deleteOld(before: number): Promise<number>;
  /** Quarters are complete from here on, apart from those that were deleted. */
  quartersFrom(): Promise<number>;
  /** Sums by unit, whether or not they have been added up; units without usage are left out. */
  byTime(filter: UsageSumFilter): Promise<(UsageSum & { start: number })[]>;
  /**
   * Sums by user, key, channel or model, the highest spend first; `total` counts those beyond the
   * limit too.
   */
  byDimension(
    filter: UsageSumFilter,
    dimension: UsageDimension,
    limit: number,
  ): Promise<{ total: number; shares: UsageShare[] }>;
  /** The names that users, keys or channels have or had, by id. */
  names(kind: 'user' | 'key' | 'channel', ids: readonly number[]): Promise<Map<number, string>>;
  /** Hours of a channel since `from`, whether or not they have been added up. */
  channelHours(channelId: number, from: number): Promise<ChannelHour[]>;
  /** The latest failures of a channel since `from`, at most `limit`, by reason; the most first. */
  channelFailures(channelId: number, from: number, limit: number): Promise<ChannelFailures[]>;
  /** Replaces the channel's latest test. `failedStep`: empty where none failed. */
  recordTest(test: { channelId: number; testedAt: number; failedStep: string; said?: Sentence }): Promise<void>;
}

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

/** Tasks that ended within an hour. */
export type HourlyEnds = { succeeded: number; failed: number };
/** The hours that are counted. */
export const HEALTH_HOURS = 24;

/** How a channel has been doing. Times are Unix seconds; 0: never. */
export type ChannelHealthRecord = {
  channelId: number;
  /** Ended since the requested time. */
  succeeded: number;
  failed: number;
  /** Both counts by hour, from the requested time on. */
  hours: HourlyEnds[];
  inFlight: number;
  lastSuccessAt: number;
  lastFailureAt: number;
  /** The task of the latest failure; empty where there was none. */
  lastFailedTask: string;
  /** The error class of a failed submission; empty for a task that its vendor failed. */
  lastFailureCode: string;
  lastFailureReason: string;
  lastFailureSentence: StoredSentence | null;
  /** The latest test since the channel was changed; `failedStep` is empty where none failed. */
  lastTest: { at: number; failedStep: string; message: string; sentence: StoredSentence | null } | undefined;
};

export interface FigureStore {
  /**
   * Adds usage rows older than `before` (Unix seconds), about `limit` of them, to the daily
   * figures. True when there may be more. Call it in a transaction of its own.
   */
  addUpDays(before: number, limit: number): Promise<boolean>;
  /**
   * Usage since `sinceDay`, whether or not it has been added up, and only that of one user if
   * `userId` is given. `by` sums over all models and durations, or over all days.
   */
  usageByDay(filter: { sinceDay: number; userId?: number; by?: 'day' | 'model' }): Promise<EndedTasks[]>;
  openTasks(filter: { userId?: number }): Promise<OpenTasks[]>;
  /** The health of every channel, from what has ended in the `HEALTH_HOURS` after `since`. */
  channelHealth(since: number): Promise<ChannelHealthRecord[]>;
  /** Running tasks that were submitted at or before `submittedBefore`. */
  countOverdue(submittedBefore: number): Promise<number>;
  /**
   * The size of the database on disk, and how much of that a SQLite file keeps for later rows.
   */
  databaseSize(): Promise<{ bytes: number; freeBytes: number }>;
}

/** Samples begin at a multiple of this, in Unix seconds. */
export const SAMPLE_SECONDS = 300;

/** What one node did in the time of a sample. */
export type NodeSample = {
  nodeId: string;
  start: number;
  polls: number;
  /** The longest that its event loop was held. */
  lagMs: number;
};

/** What all nodes share, at the time of a sample. */
export type GatewaySample = {
  start: number;
  unfinished: number;
  due: number;
  latenessMs: number;
  databaseBytes: number;
};

export interface SampleStore {
  /** Writes a node's sample; a second one of the same time changes nothing. */
  addNode(sample: NodeSample): Promise<void>;
  /** Whether the shared sample of this time is missing. */
  isMissing(start: number): Promise<boolean>;
  /** Writes the shared sample, unless another node has. */
  addGateway(sample: GatewaySample): Promise<void>;
  /**
   * Samples since `from`, one for each `step` seconds: the sum of the polls, the worst of the rest.
   */
  nodes(from: number, step: number): Promise<Omit<NodeSample, 'nodeId'>[]>;
  gateway(from: number, step: number): Promise<GatewaySample[]>;
  /** Deletes some of the oldest samples before `before`. 0: there are none. */
  deleteOld(before: number): Promise<number>;
}
