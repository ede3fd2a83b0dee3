import type { TaskRecord } from '../../store/ports/index.ts';

/** Maximum concurrent observations: of this node, one plugin's tasks, one user, one API key. */
export type ObservationLimits = { node: number; plugin: number; user: number; key: number };

export type Observer = { pluginKey: string; userId: number; keyId: number | null };

/**
 * Limits clients that wait for a response or follow one. An observation holds its slots from before
 * its submission until its answer has ended.
 */
export type ObservationLimit = {
  /**
   * Takes the slots of an observation and returns their release.
   * @throws tasks.rate_limit_exceeded naming the limit
   */
  acquire(observer: Observer): () => void;
};

/** All clients on this node that wait for tasks. */
export type TaskWatchers = {
  /**
   * Shows the task as it is stored now, and again after each change. Call the returned function to
   * stop watching.
   */
  add(taskId: string, watcher: TaskWatcher): () => void;
  /** Call after this process has written the task: its watchers here see the change at once. */
  changed(task: Pick<TaskRecord, 'taskId' | 'callbackUrl'>): void;
  stats(): { watchers: number; tasks: number };
  /** Ends every observation, and each one that begins later: the gateway is stopping. */
  close(): void;
};

/**
 * Callbacks of one watcher; none may throw. `missing`: the task does not exist. Nothing follows
 * `missing` or `close`.
 */
export type TaskWatcher = { see(task: TaskRecord): void; missing(): void; close(): void };
