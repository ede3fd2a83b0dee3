import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rm } from 'node:fs/promises';
import { type Clock, silentLogger, systemClock, systemRandom } from '../../src/kernel/index.ts';
import { openStore } from '../../src/store/index.ts';
import type { Store, TaskRecord } from '../../src/store/ports/index.ts';
import { createTaskWatchers, watchTask } from '../../src/tasks/observation/watch-task.ts';
import { newTask, readLease } from '../contract/each-store.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

let store: Store;
let dataDir: string;

beforeAll(async () => {
  dataDir = temporaryFolder();
  store = await openStore({
    databaseUrl: '',
    dataDir,
    synchronous: 'NORMAL',
    clock: systemClock,
    logger: silentLogger,
  });
});
afterAll(async () => {
  await store.close();
  await rm(dataDir, { recursive: true, force: true });
});

/**
 * Watchers over a store whose reads are counted and can be made to fail, with a clock whose
 * sleepers are counted.
 */
function startWatchers(tickMs: number, tickJitterMs = 0) {
  const counts = { looks: 0, sleepers: 0, mostSleepers: 0, broken: false, sleeps: [] as number[] };
  const counting: Store = {
    ...store,
    tasks: {
      ...store.tasks,
      byTaskIds: (seen) => {
        counts.looks += 1;
        if (counts.broken) return Promise.reject(new Error('the database is unavailable'));
        return store.tasks.byTaskIds(seen);
      },
    },
  };
  const clock: Clock = {
    ...systemClock,
    async sleep(ms, signal) {
      counts.sleepers += 1;
      counts.mostSleepers = Math.max(counts.mostSleepers, counts.sleepers);
      counts.sleeps.push(ms);
      await systemClock.sleep(ms, signal);
      counts.sleepers -= 1;
    },
  };
  const watchers = createTaskWatchers({
    store: counting,
    clock,
    random: systemRandom,
    logger: silentLogger,
    tickMs,
    tickJitterMs,
  });
  return { watchers, counts };
}

const advance = (task: TaskRecord, change: Parameters<Store['tasks']['amend']>[1]) =>
  store.tasks.amend(readLease(task), change);

/** Collects what an observation yields; `done` resolves with all of it when it has ended. */
function collect(observation: AsyncIterable<TaskRecord>) {
  const got: string[] = [];
  const done = (async () => {
    for await (const { status, polls } of observation) got.push(`${status} ${polls}`);
    return got;
  })();
  return { got, done };
}

describe('watching a task', () => {
  test('yields the current state, then each change, the terminal one last', async () => {
    const { watchers, counts } = startWatchers(15);
    const task = await store.tasks.insert(newTask());
    const { got, done } = collect(watchTask({ watchers }, task.taskId));
    await until('the first is there', () => got.length === 1);
    await advance(task, { status: 'SUBMITTED' });
    await until('the transition is there', () => got.length === 2);
    await advance(task, { polls: 1, progress: '40%' });
    await until('the progress is there', () => got.length === 3);
    await advance(task, { status: 'SUCCESS', polls: 2 });
    expect(await done).toEqual(['NOT_START 0', 'SUBMITTED 0', 'SUBMITTED 1', 'SUCCESS 2']);
    expect(watchers.stats()).toEqual({ watchers: 0, tasks: 0 });
    await until('no timer is left', () => counts.sleepers === 0);
  });

  test('an ended task is yielded once', async () => {
    const { watchers } = startWatchers(60_000);
    const task = await store.tasks.insert(newTask());
    await store.tasks.advance(readLease(task), { status: 'FAILURE' }, null);
    expect(await collect(watchTask({ watchers }, task.taskId)).done).toEqual(['FAILURE 0']);
  });

  test('a missing task ends the observation with an error and frees it', async () => {
    const { watchers } = startWatchers(60_000);
    await expect(collect(watchTask({ watchers }, 'task_nowhere')).done).rejects.toMatchObject({
      code: 'tasks.task_not_found',
    });
    expect(watchers.stats()).toEqual({ watchers: 0, tasks: 0 });
  });

  test('changes by this node are seen without waiting for a tick', async () => {
    const { watchers } = startWatchers(60_000);
    const task = await store.tasks.insert(newTask());
    const { got, done } = collect(watchTask({ watchers }, task.taskId));
    await until('the first is there', () => got.length === 1);
    await advance(task, { status: 'SUBMITTED' });
    watchers.changed(task);
    await until('the transition is there', () => got.length === 2);
    await store.tasks.advance(readLease(task), { status: 'SUCCESS' }, null);
    watchers.changed(task);
    expect(await done).toEqual(['NOT_START 0', 'SUBMITTED 0', 'SUCCESS 0']);
  });

  test('a new watcher of a watched task gets the stored state, and no other watcher gets it again', async () => {
    const { watchers } = startWatchers(60_000);
    const task = await store.tasks.insert(newTask());
    const first = collect(watchTask({ watchers }, task.taskId));
    await until('the first is there', () => first.got.length === 1);
    await advance(task, { status: 'QUEUED' });
    const second = collect(watchTask({ watchers }, task.taskId));
    await until('both know', () => first.got.length === 2 && second.got.length === 1);
    const third = collect(watchTask({ watchers }, task.taskId));
    await until('the third knows', () => third.got.length === 1);
    expect([first.got, second.got, third.got]).toEqual([['NOT_START 0', 'QUEUED 0'], ['QUEUED 0'], ['QUEUED 0']]);
    await store.tasks.advance(readLease(task), { status: 'SUCCESS' }, null);
    watchers.changed(task);
    await Promise.all([first.done, second.done, third.done]);
  });

  test('a slow reader misses states in between, never the last', async () => {
    const { watchers } = startWatchers(60_000);
    const task = await store.tasks.insert(newTask());
    const observation = watchTask({ watchers }, task.taskId);
    expect((await observation.next()).value).toMatchObject({ status: 'NOT_START' });
    for (const status of ['SUBMITTED', 'QUEUED', 'SUCCESS'] as const) {
      await advance(task, { status });
      watchers.changed(task);
    }
    await until('it has been seen to end', () => watchers.stats().watchers === 0);
    expect((await observation.next()).value).toMatchObject({ status: 'SUCCESS' });
    expect(await observation.next()).toEqual({ done: true, value: undefined });
  });

  test('a read that the database refuses is skipped, and observations continue', async () => {
    const { watchers, counts } = startWatchers(10);
    const task = await store.tasks.insert(newTask());
    counts.broken = true;
    const { got, done } = collect(watchTask({ watchers }, task.taskId));
    await until('several looks have failed', () => counts.looks >= 3);
    counts.broken = false;
    await until('the first is there', () => got.length === 1);
    counts.broken = true;
    await advance(task, { status: 'FAILURE' });
    watchers.changed(task);
    const failedFrom = counts.looks;
    await until('several looks have failed', () => counts.looks >= failedFrom + 3);
    counts.broken = false;
    expect(await done).toEqual(['NOT_START 0', 'FAILURE 0']);
  });

  test('leaving frees everything at once: by signal or return, before or during a wait', async () => {
    const { watchers, counts } = startWatchers(60_000);
    const task = await store.tasks.insert(newTask());
    const leaving = new AbortController();
    const aborted = collect(watchTask({ watchers }, task.taskId, { signal: leaving.signal }));
    const returned = watchTask({ watchers }, task.taskId);
    await returned.next();
    const pending = returned.next();
    await returned.return?.();
    expect(await pending).toEqual({ done: true, value: undefined });
    leaving.abort();
    expect((await aborted.done).length).toBeLessThan(2);
    expect(await collect(watchTask({ watchers }, task.taskId, { signal: leaving.signal })).done).toEqual([]);
    expect(watchers.stats()).toEqual({ watchers: 0, tasks: 0 });
    await until('no timer is left', () => counts.sleepers === 0);
  });

  test('a stopping gateway ends all observations, and new ones at once', async () => {
    const { watchers, counts } = startWatchers(60_000);
    const task = await store.tasks.insert(newTask());
    const { got, done } = collect(watchTask({ watchers }, task.taskId));
    await until('the first is there', () => got.length === 1);
    watchers.close();
    expect(await done).toEqual(['NOT_START 0']);
    expect(await collect(watchTask({ watchers }, task.taskId)).done).toEqual([]);
    expect(watchers.stats()).toEqual({ watchers: 0, tasks: 0 });
    await until('no timer is left', () => counts.sleepers === 0);
  });

  test('thousands of watchers share one timer and one query per tick', async () => {
    const { watchers, counts } = startWatchers(50, 20);
    const tasks: TaskRecord[] = [];
    for (let i = 0; i < 40; i += 1) tasks.push(await store.tasks.insert(newTask()));
    const observers = Array.from({ length: 4000 }, (_, i) =>
      collect(watchTask({ watchers }, (tasks[i % 40] as TaskRecord).taskId)),
    );
    await until('all know', () => observers.every(({ got }) => got.length === 1));
    expect(watchers.stats()).toEqual({ watchers: 4000, tasks: 40 });
    // For any number of ticks: two reads for the new watchers, and one after each.
    expect(counts.looks).toBeLessThanOrEqual(counts.sleeps.length + 2);
    const ticksFrom = counts.sleeps.length;
    await until('some ticks have passed', () => counts.sleeps.length >= ticksFrom + 4);
    expect(counts.looks).toBeLessThanOrEqual(counts.sleeps.length + 2);
    expect(Math.max(...counts.sleeps)).toBeLessThanOrEqual(70);
    expect(counts.mostSleepers).toBe(1);
    for (const task of tasks) await store.tasks.advance(readLease(task), { status: 'SUCCESS' }, null);
    for (const { done } of observers) expect(await done).toEqual(['NOT_START 0', 'SUCCESS 0']);
    expect(watchers.stats()).toEqual({ watchers: 0, tasks: 0 });
  });
});
