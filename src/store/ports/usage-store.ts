/** What usage came to: of ended tasks, and the quota charged for them. */
export type UsageSum = { succeeded: number; failed: number; spend: number };

export type UsageSumFilter = {
  /** Quarters of an hour are kept for some weeks, days in UTC for ever. */
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
export type ChannelFailures = { reason: string; tasks: number; lastAt: number; lastTask: string };

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
  recordTest(test: { channelId: number; testedAt: number; failedStep: string; message: string }): Promise<void>;
}
