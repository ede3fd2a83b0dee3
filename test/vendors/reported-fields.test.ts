/**
 * What a plugin reports besides the status: times, action, and the result of a submission that was
 * answered at once.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ParsedBatchItem } from '../../src/plugins/index.ts';
import type { Store, TaskRecord } from '../../src/store/ports/index.ts';
import { readReportedFields } from '../../src/vendors/answer/read-vendor-answer.ts';
import { describeEachStore } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { addCaller, ended, jsonRequest, PRICE, startEngine } from '../tasks/harness.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

const NOW = 2_000_000_000;
const task = { createdAt: NOW - 100, submitTime: NOW - 90, startTime: 0, action: 'generate' } as TaskRecord;

describe('times and action of a batch item', () => {
  test.each<[name: string, item: Partial<ParsedBatchItem>, account: object]>([
    ['nothing', {}, {}],
    ['an earlier submission', { submitTime: NOW - 95 }, { submitTime: NOW - 95 }],
    ['a submission before the task', { submitTime: NOW - 200 }, { submitTime: NOW - 100 }],
    ['a later submission, which would put off the deadline', { submitTime: NOW }, {}],
    ['a submission long ago', { submitTime: NOW - 10_000 }, {}],
    ['milliseconds', { submitTime: NOW * 1000, status: 'IN_PROGRESS', startTime: NOW * 1000 }, {}],
    ['a start of a task that waits', { status: 'QUEUED', startTime: NOW - 50 }, {}],
    ['a start', { status: 'IN_PROGRESS', startTime: NOW - 50 }, { startTime: NOW - 50 }],
    ['a start by a clock that is ahead', { status: 'IN_PROGRESS', startTime: NOW + 60 }, { startTime: NOW }],
    ['a start in the far future', { status: 'IN_PROGRESS', startTime: NOW + 301 }, {}],
    ['a start before the submission', { status: 'IN_PROGRESS', startTime: NOW - 95 }, { startTime: NOW - 90 }],
    ['an end of a task that runs', { status: 'IN_PROGRESS', finishTime: NOW - 10 }, {}],
    ['an end', { status: 'FAILURE', finishTime: NOW - 10 }, { finishTime: NOW - 10 }],
    [
      'an end before the start',
      { status: 'SUCCESS', startTime: NOW - 20, finishTime: NOW - 60 },
      { startTime: NOW - 20, finishTime: NOW - 20 },
    ],
    ['an action', { action: ' remix ' }, { action: 'remix' }],
    ['the same action', { action: 'generate' }, {}],
    ['an action that no column takes', { action: 'x'.repeat(41) }, {}],
    ['an action of control characters', { action: 'a\u0007b' }, {}],
  ])('%s', (_name, item, account) => {
    const parsed = { status: 'QUEUED', reason: '', state: { kind: 'keep' }, taskId: 'a', raw: null, ...item };
    expect(readReportedFields(task, parsed as ParsedBatchItem, NOW)).toEqual(account);
  });
});

const BATCH = readFileSync(join(import.meta.dir, '../fixtures/demo-batch.js'), 'utf8')
  .replaceAll('demo-batch', 'teller')
  .replace(
    'return { taskId: job.id, ...parseTaskResult(task, job),',
    `const { createdAt } = task.data;
    const times = { submitTime: createdAt - 1, startTime: createdAt, finishTime: createdAt };
    return { taskId: job.id, action: 'remix', ...times, ...parseTaskResult(task, job),`,
  )
  .replace(
    'taskData: body, state: { rounds: 0 }',
    'taskData: { ...body, createdAt: utils.unixNow() }, state: { rounds: 0 }',
  )
  .replace('data: job, state', 'data: { ...job, createdAt }, state');
/** Answers with a result at once; the prompt names its status. */
const AT_ONCE = readFileSync(join(import.meta.dir, '../fixtures/demo-batch.js'), 'utf8')
  .replaceAll('demo-batch', 'prompt')
  .replace(
    'taskData: body, state: { rounds: 0 } };',
    'taskData: body, immediate: { status: _ctx.requestBody.prompt.split(" ")[0], progress: _ctx.requestBody.progress, state: { told: 1 } }, ...(_ctx.requestBody.own ? { state: { own: 1 } } : {}) };',
  );

describeEachStore(
  'fields that a plugin reports',
  (opened) => {
    async function engineFor(store: Store, source: string, key: string) {
      const engine = await startEngine(store, sandbox);
      await engine.plugins.upload({ source });
      const model = /models: \['([^']+)'/.exec(source)?.[1] ?? '';
      await engine.addChannel({ name: key, models: [model], taskPluginKey: key });
      await engine.billing.prices.save({ pluginKey: '*', model, expression: PRICE });
      const caller = await addCaller(store);
      const submit = (body: object) =>
        engine.surfaces.submitGeneric(caller, {
          requestId: 'r',
          pluginKey: key,
          request: jsonRequest({ model, ...body } as never),
        });
      return { engine, submit };
    }

    test('batch items set the times and the action of their task', async () => {
      const { store } = opened();
      const { engine, submit } = await engineFor(store, BATCH, 'teller');
      await engine.start();
      const { taskId } = await submit({ prompt: 'a cat [duration=0.2]' });
      const submitted = await store.tasks.byTaskId(taskId);
      const done = await ended(store, taskId);
      await engine.stop();
      const at = (done.data as { createdAt: number }).createdAt;
      expect(done).toMatchObject({ status: 'SUCCESS', action: 'remix' });
      expect([done.startTime, done.finishTime]).toEqual([Math.max(at, done.submitTime), Math.max(at, done.submitTime)]);
      expect(done.submitTime).toBeLessThanOrEqual(submitted?.submitTime ?? 0);
      expect(done.submitTime).toBeGreaterThanOrEqual(done.createdAt);
    });

    test('a submission with an immediate result is stored with its status and state', async () => {
      const { store } = opened();
      const { engine, submit } = await engineFor(store, AT_ONCE, 'prompt');
      for (const [status, more, stored] of [
        ['QUEUED', { progress: '7%' }, { status: 'QUEUED', progress: '7%', state: { told: 1 } }],
        ['QUEUED', { own: true }, { status: 'QUEUED', progress: '20%', state: { own: 1 } }],
        ['IN_PROGRESS', {}, { status: 'IN_PROGRESS', progress: '30%', state: { told: 1 } }],
        ['NOT_START', {}, { status: 'SUBMITTED', progress: '10%', state: { told: 1 } }],
        ['UNHEARD_OF', {}, { status: 'SUBMITTED', progress: '10%', state: { told: 1 } }],
        ['SUCCESS', {}, { status: 'SUCCESS', progress: '100%', state: { told: 1 } }],
      ] as const) {
        const { taskId } = await submit({ prompt: `${status} [duration=6000]`, ...more });
        const found = await store.tasks.byTaskId(taskId);
        expect(found).toMatchObject(stored as never);
        expect((found?.startTime ?? 0) > 0).toBe(status === 'IN_PROGRESS' || status === 'SUCCESS');
        const events = await store.tasks.events(taskId);
        expect(events.find(({ kind }) => kind === 'transition')?.status).toBe(stored.status);
      }
      await engine.stop();
    });
  },
  { databases: RULE_DATABASES },
);
