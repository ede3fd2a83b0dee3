import { type Clock, type Logger, randomBelow } from '../../kernel/index.ts';
import type { SeenTask, Store, TaskRecord } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import { hasEnded } from '../state/describe-task.ts';

/** Everybody on this node who waits for tasks. */
export type TaskWatchers = {
  /**
   * Shows the task as it is stored now, and again after each change; the function returned ends
   * that.
   */
  add(taskId: string, watcher: TaskWatcher): () => void;
  /** This process has written the task: whoever watches it here sees it at once. */
  changed(taskId: string): void;
  stats(): { watchers: number; tasks: number };
  /** Ends every observation, and at once every one that begins later: the gateway stops. */
  close(): void;
};

/**
 * None may throw. `missing`: there is no such task. After `missing` and `close` nothing follows.
 */
type TaskWatcher = { see(task: TaskRecord): void; missing(): void; close(): void };

export type TaskWatchersDeps = {
  store: Store;
  clock: Clock;
  logger: Logger;
  /** TASK_PLUGIN_PROTOCOL_TICK_MILLISECONDS: time between two looks at all watched tasks. */
  tickMs: number;
  /** TASK_PLUGIN_PROTOCOL_TICK_JITTER_MILLISECONDS: most that is added to it. */
  tickJitterMs: number;
};

/** `newcomers` have not been shown the task yet, `served` have been shown it as `seen`. */
type Watched = { seen: SeenTask; newcomers: Set<TaskWatcher>; served: Set<TaskWatcher> };

/**
 * One timer and one query a tick, however many watch. What this node writes itself and what
 * newcomers ask for is looked up at once, together with all that came up while the last look took.
 * A look that fails is left out: the next tick sees what it would have seen.
 */
export function createTaskWatchers({ store, clock, logger, tickMs, tickJitterMs }: TaskWatchersDeps): TaskWatchers {
  const watched = new Map<string, Watched>();
  const urgent = new Set<string>();
  let looping = false;
  let closed = false;
  let wake = new AbortController();

  const nextTick = (): number => clock.monotonicMs() + tickMs + randomBelow(tickJitterMs + 1);

  function hurry(taskId: string): void {
    urgent.add(taskId);
    wake.abort();
    if (!looping) void loop();
  }

  async function loop(): Promise<void> {
    looping = true;
    let tickAt = nextTick();
    while (watched.size > 0) {
      wake = new AbortController();
      if (urgent.size === 0) await clock.sleep(Math.max(0, tickAt - clock.monotonicMs()), wake.signal);
      const ticks = clock.monotonicMs() >= tickAt;
      const taskIds = [...(ticks ? watched.keys() : urgent)];
      urgent.clear();
      await look(taskIds);
      if (ticks) tickAt = nextTick();
    }
    looping = false;
  }

  async function look(taskIds: readonly string[]): Promise<void> {
    const asked = taskIds
      .flatMap((taskId) => watched.get(taskId) ?? [])
      .map((entry) => ({ entry, newcomers: [...entry.newcomers] }));
    if (asked.length === 0) return;
    let tasks: Map<string, TaskRecord>;
    try {
      const found = await store.tasks.byTaskIds(
        asked.map(({ entry, newcomers }) => (newcomers.length > 0 ? { ...entry.seen, status: '' } : entry.seen)),
      );
      tasks = new Map(found.map((task) => [task.taskId, task]));
    } catch (error) {
      logger.warn({ err: error, tasks: asked.length }, 'watched tasks could not be read; the next tick tries again');
      return;
    }
    // Who came while the database answered waits for the next look: this answer may be older than
    // what he has seen elsewhere.
    for (const { entry, newcomers } of asked) show(entry, newcomers, tasks.get(entry.seen.taskId));
  }

  function show(entry: Watched, newcomers: readonly TaskWatcher[], task: TaskRecord | undefined): void {
    const arrived = newcomers.filter((watcher) => entry.newcomers.delete(watcher));
    if (!task) {
      for (const watcher of arrived) watcher.missing();
      return;
    }
    const { taskId, status, polls } = task;
    const changed = status !== entry.seen.status || polls !== entry.seen.polls;
    const audience = changed ? [...entry.served, ...arrived] : arrived;
    entry.seen = { taskId, status, polls };
    for (const watcher of arrived) entry.served.add(watcher);
    for (const watcher of audience) watcher.see(task);
  }

  return {
    add(taskId, watcher) {
      if (closed) {
        watcher.close();
        return () => {};
      }
      let entry = watched.get(taskId);
      if (!entry) {
        entry = { seen: { taskId, status: '', polls: 0 }, newcomers: new Set(), served: new Set() };
        watched.set(taskId, entry);
      }
      const { newcomers, served } = entry;
      newcomers.add(watcher);
      hurry(taskId);
      return () => {
        newcomers.delete(watcher);
        served.delete(watcher);
        if (newcomers.size + served.size > 0 || watched.get(taskId)?.served !== served) return;
        watched.delete(taskId);
        if (watched.size === 0) wake.abort();
      };
    },
    changed(taskId) {
      if (watched.has(taskId)) hurry(taskId);
    },
    stats() {
      const entries = [...watched.values()];
      const watchers = entries.reduce((sum, { newcomers, served }) => sum + newcomers.size + served.size, 0);
      return { watchers, tasks: entries.length };
    },
    close() {
      closed = true;
      const everybody = [...watched.values()].flatMap(({ newcomers, served }) => [...newcomers, ...served]);
      for (const watcher of everybody) watcher.close();
    },
  };
}

/**
 * The task as it is stored now, then as it is after each change, the last time when it has ended.
 * Who is slow misses the states in between, never the last one. Ends early, without an error, when
 * `signal` is aborted or the gateway stops.
 * @throws tasks.task_not_found
 */
export function watchTask(
  { watchers }: { watchers: TaskWatchers },
  taskId: string,
  { signal }: { signal?: AbortSignal } = {},
): AsyncIterableIterator<TaskRecord, undefined> {
  let latest: TaskRecord | undefined;
  let failure: Error | undefined;
  let over = false;
  let wake = () => {};
  let leave = () => {};
  leave = watchers.add(taskId, {
    see(task) {
      latest = task;
      if (hasEnded(task)) end();
      else wake();
    },
    missing() {
      failure = taskErrors.task_not_found();
      end();
    },
    close: abandon,
  });
  function abandon(): void {
    latest = undefined;
    end();
  }
  function end(): void {
    over = true;
    leave();
    signal?.removeEventListener('abort', abandon);
    wake();
  }
  if (signal?.aborted) abandon();
  else signal?.addEventListener('abort', abandon, { once: true });

  return {
    async next() {
      while (!latest && !over) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const value = latest;
      latest = undefined;
      if (value) return { done: false, value };
      const error = failure;
      failure = undefined;
      if (error) throw error;
      return { done: true, value: undefined };
    },
    async return() {
      abandon();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
