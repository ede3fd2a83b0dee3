import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { rm } from 'node:fs/promises';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import { openStore } from '../../src/store/index.ts';
import type { Store, TaskRecord } from '../../src/store/ports/index.ts';
import { type Caller, taskObject } from '../../src/tasks/index.ts';
import { newTask, readLease } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { addCaller, type Engine, jsonRequest, startEngine } from './harness.ts';

const sandbox = startSandbox();
let store: Store;
let dataDir: string;
let engine: Engine;
let caller: Caller;

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
beforeEach(async () => {
  engine = await startEngine(store, sandbox, { tickMs: 20 });
  caller = await addCaller(store);
});
afterEach(() => engine.stop());
afterAll(async () => {
  await sandbox.close();
  await store.close();
  await rm(dataDir, { recursive: true, force: true });
});

const openTask = () => store.tasks.insert(newTask({ userId: caller.user.id }));
const follow = (task: TaskRecord, left = new AbortController().signal, by = caller) =>
  engine.tasks.follow(by, { taskId: task.taskId, left, requestId: 'request' });
const change = (task: TaskRecord, to: Parameters<Store['tasks']['amend']>[1]) => store.tasks.amend(readLease(task), to);

describe('following a task', () => {
  test('sends its current state, each change of status or progress, and its end, in the form of the task object', async () => {
    const task = await openTask();
    const events = await follow(task);
    const next = async () => (await events.next()).value;
    expect(await next()).toEqual({ id: '0-NOT_START', event: 'task.updated', data: taskObject(task) });
    await change(task, { status: 'IN_PROGRESS', polls: 1, progress: '30%' });
    expect(await next()).toMatchObject({ event: 'task.updated', data: { status: 'IN_PROGRESS', progress: '30%' } });
    // Polled without a change: no event.
    await change(task, { polls: 2 });
    await Bun.sleep(60);
    await change(task, { polls: 3, progress: '60%' });
    expect(await next()).toMatchObject({ id: '3-IN_PROGRESS', data: { progress: '60%' } });
    await change(task, { status: 'SUCCESS', polls: 4, progress: '100%', finishTime: 1_800_000_000 });
    const stored = (await store.tasks.byTaskId(task.taskId)) as TaskRecord;
    expect(await next()).toEqual({ id: '4-SUCCESS', event: 'task.finished', data: taskObject(stored) });
    expect(await events.next()).toEqual({ done: true, value: undefined });
  });

  test('a task on this node is followed from its submission to its end', async () => {
    await engine.addChannel();
    await engine.start();
    const body = { model: 'demo-video', prompt: 'a [duration=0.4]', seconds: 5 };
    const task = await engine.surfaces.submitGeneric(caller, {
      requestId: 'r',
      pluginKey: 'demo',
      request: jsonRequest(body),
    });
    const kinds: string[] = [];
    for await (const { event, data } of await follow(task)) kinds.push(`${event} ${data.status}`);
    expect(kinds.at(-1)).toBe('task.finished SUCCESS');
    expect(kinds.slice(0, -1).every((kind) => kind.startsWith('task.updated'))).toBe(true);
  });

  test('another user’s task is not found', async () => {
    const task = await openTask();
    const stranger = await addCaller(store);
    await expect(follow(task, undefined, stranger)).rejects.toMatchObject({ code: 'tasks.task_not_found' });
  });

  test('two concurrent streams per key and four per user; every way of ending one frees its slot', async () => {
    const task = await openTask();
    const leaving = new AbortController();
    const [, second] = [await follow(task, leaving.signal), await follow(task)];
    const refusal = { code: 'tasks.rate_limit_exceeded', kind: 'rate_limited' };
    await expect(follow(task)).rejects.toMatchObject(refusal);
    leaving.abort();
    const third = await follow(task);
    await expect(follow(task)).rejects.toMatchObject(refusal);
    // Before its first event, and while it waits for one.
    await second?.return?.();
    const fourth = await follow(task);
    await third.next();
    const pending = third.next();
    await third.return?.();
    expect(await pending).toEqual({ done: true, value: undefined });
    const fifth = await follow(task);
    await expect(follow(task)).rejects.toMatchObject(refusal);
    await change(task, { status: 'FAILURE' });
    for (const stream of [fourth, fifth]) for await (const _ of stream);
    await (await follow(task)).return?.();
    await (await follow(task)).return?.();
    await (await follow(task)).return?.();
  });

  test('a stream ends at the protocol timeout and frees its slot', async () => {
    const short = await startEngine(store, sandbox, { submitTimeoutMs: 50 });
    const task = await openTask();
    for (let i = 0; i < 3; i += 1) {
      const got: string[] = [];
      for await (const { event } of await short.tasks.follow(caller, {
        taskId: task.taskId,
        left: new AbortController().signal,
        requestId: 'request',
      }))
        got.push(event);
      expect(got).toEqual(['task.updated']);
    }
    await short.stop();
  });

  test('a stopping gateway ends its streams', async () => {
    const task = await openTask();
    const events = await follow(task);
    await events.next();
    const pending = events.next();
    engine.tasks.endObservations();
    expect(await pending).toEqual({ done: true, value: undefined });
    const late = await follow(task);
    expect(await late.next()).toEqual({ done: true, value: undefined });
    await until('there is room again', async () => {
      await (await follow(task)).return?.();
      return true;
    });
  });
});
