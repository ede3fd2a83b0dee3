/** `store: false`: nothing of a request stays, and the vendor's answer for an hour. */
import { afterAll, expect, test } from 'bun:test';
import type { RequestBody } from '../../src/files/index.ts';
import { systemClock } from '../../src/kernel/index.ts';
import { eraseUnstoredStep } from '../../src/operations/index.ts';
import { exportUser } from '../../src/reports/export-user.ts';
import type { Store, TaskRecord } from '../../src/store/ports/index.ts';
import type { WaitingRules } from '../../src/tasks/index.ts';
import { mayStore } from '../../src/tasks/submission/request-options.ts';
import { describeEachStore } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { addCaller, type Engine, ended, jsonRequest, NO_WAITING, startEngine } from './harness.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

const SECRET = 'a boat nobody may know of';
const QUEUE: WaitingRules = { ...NO_WAITING, maxWaitMs: 3_600_000 };
type Caller = Awaited<ReturnType<typeof addCaller>>;

const request = (change: object, path: string) => ({
  ...jsonRequest({ model: 'demo-video', prompt: `${SECRET} [duration=0.2]`, seconds: 5, ...change }),
  path,
});

const SURFACES: Record<string, (engine: Engine, caller: Caller, change: object) => Promise<{ taskId: string }>> = {
  tasks: (engine, caller, change) =>
    engine.surfaces.submitGeneric(caller, {
      ...{ requestId: 'r', pluginKey: 'demo', request: request(change, '/v1/tasks/demo') },
    }),
  videos: (engine, caller, change) => engine.surfaces.submitVideo(caller, 'r', request(change, '/v1/videos')),
};

const storedTexts = async (store: Store, taskId: string): Promise<string> => {
  const task = (await store.tasks.byTaskId(taskId)) as TaskRecord;
  return JSON.stringify([task, await store.tasks.events(taskId)]);
};

async function eraseAll(store: Store, now: number): Promise<number> {
  const step = eraseUnstoredStep({ store, clock: { ...systemClock, unix: () => now } });
  let changed = 0;
  for (;;) {
    const batch = await step.run(10);
    if (batch.walked === 0) return changed;
    changed += batch.changed;
  }
}

describeEachStore(
  'requests that are not to be stored',
  (opened) => {
    test('no surface stores the prompt, by the request or by its key, and the answer goes after an hour', async () => {
      const { store } = opened();
      const engine = await startEngine(store, sandbox, { pollIntervalMs: 20, waiting: () => QUEUE });
      try {
        await engine.start();
        await engine.addChannel({ limits: { maxRunning: 1 } });
        const [caller, keyed] = [await addCaller(store), await addCaller(store)];
        const silent = { ...keyed, key: { ...keyed.key, storeRequests: false } };
        const tasks: string[] = [];
        const ends: number[] = [];
        for (const submit of Object.values(SURFACES)) {
          tasks.push((await submit(engine, caller, { store: false })).taskId);
          // Nothing that a request says overrides its key.
          tasks.push((await submit(engine, silent, { store: true })).taskId);
        }
        const stored = (await SURFACES.tasks?.(engine, caller, { store: true }))?.taskId ?? '';
        for (const taskId of tasks) {
          const task = await ended(store, taskId);
          ends.push(task.finishTime);
          expect([task.status, task.properties.input, task.execution.request]).toEqual(['SUCCESS', '', undefined]);
          expect(task.execution.stored).toBe(false);
          const { request: _, data: answer, state: __, ...row } = { ...task, request: null };
          expect(JSON.stringify(row)).not.toContain(SECRET);
          expect(answer).not.toBeNull();
        }
        await ended(store, stored);
        expect(await storedTexts(store, stored)).toContain(SECRET);

        const finishTime = Math.max(...ends);
        expect(await eraseAll(store, Math.min(...ends) + 3599)).toBe(0);
        expect(await eraseAll(store, finishTime + 3601)).toBe(tasks.length);
        for (const taskId of tasks) {
          const task = (await store.tasks.byTaskId(taskId)) as TaskRecord;
          expect([task.data, task.state, task.properties.expired]).toEqual([null, null, true]);
          expect(await storedTexts(store, taskId)).not.toContain(SECRET);
        }
        expect(await storedTexts(store, stored)).toContain(SECRET);
        expect(await store.retention.unstoredTasks('', 10)).toEqual([]);
        const said = (await Array.fromAsync(exportUser({ store }, keyed.user.id, finishTime))).join('');
        expect(said).toContain(tasks[1] ?? '');
        expect(said).not.toContain(SECRET);
      } finally {
        await engine.stop();
      }
    });
  },
  { databases: RULE_DATABASES },
);

test('each kind of body can say that nothing of it is stored', () => {
  const caller = { key: null } as never;
  const bodies: [RequestBody, boolean][] = [
    [{ kind: 'json', value: { store: false } }, false],
    [{ kind: 'form', fields: { store: ['false'] } }, false],
    [{ kind: 'multipart', fields: { store: ['false'] }, files: [] }, false],
    [{ kind: 'form', fields: { prompt: ['a boat'] } }, true],
    [{ kind: 'none' }, true],
  ];
  for (const [body, stores] of bodies)
    expect([body.kind, mayStore({ request: { body } as never, caller })]).toEqual([body.kind, stores]);
});
