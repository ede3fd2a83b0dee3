/** Lists of tasks, and the filters of them that people keep. */
import type { StoredSentence } from '../../kernel/index.ts';
import type { Page } from './paging.ts';
import type { TaskRecord } from './task-records.ts';

export type TaskListFilter = {
  /** False: only tasks that their user has not deleted. */
  hidden?: boolean;
  userId?: number;
  apiKeyId?: number;
  channelId?: number;
  platform?: string;
  /** As the client named it. */
  model?: string;
  status?: string;
  /** The first 200 characters of why it failed. */
  failReason?: string;
  /** Unix seconds of the creation, both inclusive. */
  since?: number;
  until?: number;
  /** A task's id, or a part of its prompt, model or action, in any case. */
  query?: string;
  /** Whether `query` may also be the vendor's id of a task, which users do not know. */
  vendorIds?: boolean;
};

export const TASK_SORTS = ['newest', 'oldest', 'cost', 'duration'] as const;

/** `cost`, `duration`: the largest first. */
export type TaskSort = (typeof TASK_SORTS)[number];

/** What a list needs of a task: neither the vendor's answer nor what its node needs to run it. */
export const LISTED_COLUMNS = [
  'id',
  'taskId',
  'platform',
  'userId',
  'apiKeyId',
  'group',
  'channelId',
  'action',
  'status',
  'phase',
  'progress',
  'failReason',
  'failReasonSentence',
  'submitTime',
  'startTime',
  'finishTime',
  'createdAt',
  'quota',
  'properties',
  'upstreamTaskId',
  'pollFailures',
  'polls',
  'execution',
  'billing',
  'linkVersions',
] as const satisfies (keyof TaskRecord)[];

/** A task in a list, with the names of what it belongs to. */
export type ListedTask = Pick<TaskRecord, (typeof LISTED_COLUMNS)[number]> & {
  /** Null where the user, key or channel is gone. */
  username: string | null;
  keyName: string | null;
  channelName: string | null;
};

export type TaskListPage = {
  /** At most `LIST_LIMITS.counted`, or `LIST_LIMITS.found` with a text. */
  total: number;
  /** There are more than `total`. */
  hasMore: boolean;
  /** Only this many were looked at, the newest; null: all. */
  searched: number | null;
  items: ListedTask[];
};

/** What a list costs at most, whatever the number of tasks. */
export const LIST_LIMITS = {
  /** Tasks that are counted, and that pages reach. */
  counted: 100_000,
  /** The newest tasks, of a user or of all, among which filters look. */
  window: 1_000_000,
  /** Tasks that a part of a feed looks at. */
  fed: 100_000,
  /** The newest tasks that match the other filters, whose prompts are searched. */
  searched: 10_000,
  /** Tasks found by a text. */
  found: 1000,
  /** Models whose latest success is listed. */
  models: 200,
} as const;

/** A model of a plugin, as one text. */
export const modelKey = ({ platform, model }: { platform: string; model: string }): string => `${platform}\n${model}`;

export type TaskFeed = {
  items: ListedTask[];
  /** Where the next part begins; null: there is none. */
  next: string | null;
};

/**
 * `sentence`: what the reason says; null for older tasks. `channels`: those where it happened,
 * the most frequent first.
 */
export type FailureCount = {
  reason: string;
  sentence: StoredSentence | null;
  count: number;
  channels: { channelId: number; count: number }[];
};

export interface TaskListStore {
  list(filter: TaskListFilter, page: Page & { sort?: TaskSort }): Promise<TaskListPage>;
  /**
   * The tasks after the task `after`, by creation. It may find fewer than `limit`, and none, while
   * there are more. Undefined when `after` does not exist.
   */
  feed(
    filter: TaskListFilter,
    part: { after?: string; limit: number; order: 'asc' | 'desc' },
  ): Promise<TaskFeed | undefined>;
  /**
   * The latest success of each model, of a user or of all, the newest first; at most
   * `LIST_LIMITS.models`. Tasks that their user has deleted do not count. It looks at the newest
   * tasks, and while one of the models `sought` (`modelKey`) is missing, at up to
   * `LIST_LIMITS.fed`.
   */
  latestSuccesses(filter: { userId?: number }, sought: ReadonlySet<string>): Promise<ListedTask[]>;
  /** The tasks of these ids, in their order. */
  byIds(ids: readonly number[]): Promise<ListedTask[]>;
  /** How often the failed tasks failed for each reason, the most frequent first. */
  failureReasons(filter: TaskListFilter, limit: number): Promise<FailureCount[]>;
}

/** Filters of lists of tasks, which people keep under a name. */
export type TaskViewRecord = {
  id: number;
  userId: number;
  name: string;
  /** The query of the list's address, without `?`. */
  query: string;
  /** Unix seconds. */
  createdAt: number;
};

export interface TaskViewStore {
  /** Newest first. */
  list(userId: number): Promise<TaskViewRecord[]>;
  /**
   * In place of the view of that name. `undefined` when the user has `max` others. Only in a
   * transaction that has locked the user: otherwise two calls could exceed `max` together.
   */
  save(view: Omit<TaskViewRecord, 'id'>, max: number): Promise<TaskViewRecord | undefined>;
  /** The deleted view; `undefined` when the user has none of that id. */
  delete(id: number, userId: number): Promise<TaskViewRecord | undefined>;
  /** Returns the number of deleted views. */
  deleteAll(userId: number): Promise<number>;
}
