/** The queue as people see it: the tasks that wait to be sent, and their order. */
import type { Page, Paged } from './paging.ts';
import type { TaskProperties } from './task-records.ts';
import type { ParkedBy, WaitingClass } from './waiting-queue.ts';

/** A waiting task, by the columns that decide on its position. Times are Unix seconds. */
export type WaitingTask = {
  taskId: string;
  class: string;
  priority: number;
  turn: number;
  /** The task is not sent before; 0: it may be sent now. */
  notBefore: number;
  since: number;
  /** When the wait ends. */
  deadline: number;
  parked: ParkedBy;
};

/** A waiting task in a list, with the names of what it belongs to; null where that is gone. */
export type ListedWaiting = WaitingTask & {
  userId: number;
  username: string | null;
  apiKeyId: number | null;
  keyName: string | null;
  action: string;
  properties: TaskProperties;
  /** How often the vendor had no room when it was sent. */
  returns: number;
  /** The client waits for the answer. */
  isAttached: boolean;
};

/** The number of a class's tasks that wait, all priorities together. */
export type WaitingTotal = WaitingClass & { waiting: number };

/** The order of the queue: the higher priority, then the lower turn, then the older task. */
export type WaitingOrder = Pick<WaitingTask, 'priority' | 'turn' | 'taskId'>;

/** How long tasks of a model took at its vendors, in seconds. */
export type ModelDuration = {
  plugin: string;
  model: string;
  tasks: number;
  meanSeconds: number;
  /** 95 of 100 tasks took no longer. */
  p95Seconds: number;
};

/** Slots in use by tasks that a vendor has, or is being sent. */
export type RunningSlots = { channelId: number; upstreamModel: string; slots: number };

export interface QueueViewStore {
  /** Which of these tasks wait. */
  find(taskIds: readonly string[]): Promise<WaitingTask[]>;
  /** The first `limit` tasks of a class that could be sent now, in their order. */
  next(waitingClass: string, limit: number): Promise<WaitingOrder[]>;
  /** The oldest first. `classes`: only tasks of these. */
  list(filter: { userId?: number; classes?: readonly string[] }, page: Page): Promise<Paged<ListedWaiting>>;
  /** The classes in which tasks wait, the fullest first. */
  totals(): Promise<WaitingTotal[]>;
  /** How long the latest `limit` tasks took that succeeded since then. */
  durations(since: number, limit: number): Promise<ModelDuration[]>;
  /** Slots that are in use, by channel and model. */
  running(): Promise<RunningSlots[]>;
  /** Puts a task before all others of its priority. False: it does not wait. */
  moveToFront(taskId: string): Promise<boolean>;
}
