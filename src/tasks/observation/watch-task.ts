import { type Clock, deadlineSignal, detachFromRequest, type Logger, type Random } from '../../kernel/index.ts';
import { hasEnded, type SeenTask, type Store, type TaskRecord } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import { publicStatus } from '../state/describe-task.ts';
import type { Observer, TaskWatcher, TaskWatchers } from '../task-node.ts';
import type { TaskDeps } from '../types.ts';
import { observeTask } from './limit-observations.ts';

export type TaskWatchersDeps = {
  store: Store;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** TASK_PLUGIN_PROTOCOL_TICK_MILLISECONDS: interval at which all watched tasks are read. */
  tickMs: number;
  /** TASK_PLUGIN_PROTOCOL_TICK_JITTER_MILLISECONDS: largest random addition to `tickMs`. */
  tickJitterMs: number;
};

/** `joining` watchers have not seen the task yet; `current` ones have seen it as `seen`. */
type Watched = { seen: SeenTask; joining: Set<TaskWatcher>; current: Set<TaskWatcher> };

/**
 * One timer and one query per tick for any number of watchers. Tasks that this node has written and
 * tasks with new watchers are read at once, in one batch with all that came up during the previous
 * read. A failed read is skipped: the next tick reads the same tasks.
 */
export function createTaskWatchers(deps: TaskWatchersDeps): TaskWatchers {
  const { store, clock, random, logger, tickMs, tickJitterMs } = deps;
  const watched = new Map<string, Watched>();
  const urgent = new Set<string>();
  let looping = false;
  let closed = false;
  let wake = new AbortController();

  const nextTick = (): number => clock.monotonicMs() + tickMs + random.below(tickJitterMs + 1);

  function readNow(taskId: string): void {
    urgent.add(taskId);
    wake.abort();
    if (!looping) void detachFromRequest(loop);
  }

  async function loop(): Promise<void> {
    looping = true;
    let tickAt = nextTick();
    while (watched.size > 0) {
      wake = new AbortController();
      if (urgent.size === 0) await clock.sleep(Math.max(0, tickAt - clock.monotonicMs()), wake.signal);
      const isTick = clock.monotonicMs() >= tickAt;
      const taskIds = [...(isTick ? watched.keys() : urgent)];
      urgent.clear();
      await read(taskIds);
      if (isTick) tickAt = nextTick();
    }
    looping = false;
  }

  async function read(taskIds: readonly string[]): Promise<void> {
    const requested = taskIds
      .flatMap((taskId) => watched.get(taskId) ?? [])
      .map((entry) => ({ entry, joining: [...entry.joining] }));
    if (requested.length === 0) return;
    let tasks: Map<string, TaskRecord>;
    try {
      const found = await store.tasks.byTaskIds(
        // The store leaves out unchanged tasks; an empty status matches none, so the task comes.
        requested.map(({ entry, joining }) => (joining.length > 0 ? { ...entry.seen, status: '' } : entry.seen)),
      );
      tasks = new Map(found.map((task) => [task.taskId, task]));
    } catch (error) {
      logger.warn(
        { err: error, tasks: requested.length },
        'watched tasks could not be read; retrying at the next tick',
      );
      return;
    }
    // Watchers that joined during the query wait for the next read: this result may be older than
    // what their client has already seen elsewhere.
    for (const { entry, joining } of requested) show(entry, joining, tasks.get(entry.seen.taskId));
  }

  function show(entry: Watched, joining: readonly TaskWatcher[], task: TaskRecord | undefined): void {
    const joined = joining.filter((watcher) => entry.joining.delete(watcher));
    if (!task) {
      for (const watcher of joined) watcher.missing();
      return;
    }
    const { taskId, status, polls } = task;
    const changed = status !== entry.seen.status || polls !== entry.seen.polls;
    const recipients = changed ? [...entry.current, ...joined] : joined;
    entry.seen = { taskId, status, polls };
    for (const watcher of joined) entry.current.add(watcher);
    for (const watcher of recipients) watcher.see(task);
  }

  return {
    add(taskId, watcher) {
      if (closed) {
        watcher.close();
        return () => {};
      }
      let entry = watched.get(taskId);
      if (!entry) {
        entry = { seen: { taskId, status: '', polls: 0 }, joining: new Set(), current: new Set() };
        watched.set(taskId, entry);
      }
      const { joining, current } = entry;
      joining.add(watcher);
      readNow(taskId);
      return () => {
        joining.delete(watcher);
        current.delete(watcher);
        if (joining.size + current.size > 0 || watched.get(taskId)?.current !== current) return;
        watched.delete(taskId);
        if (watched.size === 0) wake.abort();
      };
    },
    changed({ taskId }) {
      if (watched.has(taskId)) readNow(taskId);
    },
    stats() {
      const entries = [...watched.values()];
      const watchers = entries.reduce((sum, { joining, current }) => sum + joining.size + current.size, 0);
      return { watchers, tasks: entries.length };
    },
    close() {
      closed = true;
      const watchers = [...watched.values()].flatMap(({ joining, current }) => [...joining, ...current]);
      for (const watcher of watchers) watcher.close();
    },
  };
}

/**
 * Yields the task as it is stored now, then after each change; the ended task comes last. A slow
 * reader misses states in between, never the last one. Ends early, without an error, when `signal`
 * is aborted or the gateway stops.
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

/** `ms`: the longest wait. `left` is aborted when the client has left. */
type Waiting = { task: TaskRecord; observer: Pick<Observer, 'userId' | 'keyId'>; ms: number; left: AbortSignal };

/**
 * Waits until clients see another status than that of `task`, and returns the task as it is then,
 * or as it is when the time is over. Counts as an observation, unless the task waits; all that
 * watch a task share its reads.
 * @throws tasks.rate_limit_exceeded
 */
export async function awaitChange(deps: TaskDeps, { task, observer, ms, left }: Waiting): Promise<TaskRecord> {
  if (hasEnded(task)) return task;
  const observation = observeTask(deps.node.limiters.observations, { ...observer, pluginKey: task.platform });
  observation.see(task);
  const deadline = deadlineSignal(deps.clock, ms, left);
  let latest = task;
  try {
    for await (const seen of watchTask(deps.node, task.taskId, deadline)) {
      latest = seen;
      if (publicStatus(seen.status) !== publicStatus(task.status)) break;
    }
    return latest;
  } finally {
    deadline.end();
    observation.end();
  }
}
