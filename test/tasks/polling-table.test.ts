/** The effect of each vendor answer on a running task, row by row, on both databases. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Json } from '../../src/kernel/index.ts';
import type { Store, TaskRecord } from '../../src/store/ports/index.ts';
import { UNUSABLE_RESULT } from '../../src/tasks/state/stored-result.ts';
import { addRunningTask, describeEachStore, type OpenedStore } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { freePort } from '../support/free-port.ts';
import { until } from '../support/until.ts';
import { addCaller, BALANCE, type Engine, ended, jsonRequest, readBalance, startEngine } from './harness.ts';

const MAX_FAILURES = 6;

/** A plugin that returns what the vendor's answer says. */
const sourceFor = (version: string, running = 'IN_PROGRESS') => `
export const meta = {
  apiVersion: 1, key: 'told', name: 'Told', version: '${version}', author: { name: 'Tests' },
  models: ['told-1'], fetchMode: 'per_task',
};
export const buildSubmitRequest = (ctx) => ({ url: ctx.baseUrl + '/jobs', body: { name: ctx.requestBody.name } });
export const parseSubmitResponse = (ctx, response) => ({ taskId: response.body.id });
export const buildQueryRequest = (ctx) => ({ url: ctx.baseUrl + '/jobs/' + ctx.taskId });
export function parseTaskResult(ctx, body) {
  if (body.says === 'throw') throw new Error('no idea what this is');
  if (body.says === 'version') return { status: '${running}', reason: '${version}' };
  return body.says;
}
`;
const batchSource = `
export const meta = {
  apiVersion: 1, key: 'told-batch', name: 'Told in batches', version: '1.0.0', author: { name: 'Tests' },
  models: ['told-batch-1'], fetchMode: 'batch',
};
export const buildSubmitRequest = (ctx) => ({ url: ctx.baseUrl + '/jobs', body: { name: ctx.requestBody.name } });
export const parseSubmitResponse = (ctx, response) => ({ taskId: response.body.id });
export const buildBatchQueryRequest = (ctx, tasks) => ({ url: ctx.baseUrl + '/batch/' + tasks.map((task) => encodeURIComponent(task.taskId)).join(',') });
export const parseBatchResult = (ctx, body) => body.says;
export const parseTaskResult = () => ({ status: 'UNKNOWN' });
`;

type Answer = () => Response | Promise<Response>;
const says =
  (result: Json | 'throw', status = 200, headers: Record<string, string> = {}): Answer =>
  () =>
    Response.json({ says: result }, { status, headers });
const plain =
  (status: number, headers: Record<string, string> = {}): Answer =>
  () =>
    new Response('{}', { status, headers });
/** Its body cannot be read. */
const unreadable = (status: number): Answer => plain(status, { 'content-encoding': 'foo' });
const running = says({ status: 'IN_PROGRESS', progress: '40%' });
const done = says({ status: 'SUCCESS' });

/** A vendor that sends a job's answers in order; the last one repeats. */
function startVendor(port = 0) {
  const answers = new Map<string, Answer[]>();
  const batches: string[][] = [];
  let answerBatch: (ids: string[]) => Response = () => new Response('{}', { status: 500 });
  const server = Bun.serve({
    port,
    hostname: '127.0.0.1',
    async fetch(request) {
      const [, kind = '', id = ''] = new URL(request.url).pathname.split('/');
      if (request.method === 'POST') {
        const { name } = (await request.json()) as { name: string };
        // A name of digits is given back as a number.
        return new Response(`{"id":${/^\d+$/.test(name) ? name : JSON.stringify(name)}}`);
      }
      if (kind === 'batch') {
        const ids = decodeURIComponent(id).split(',');
        batches.push(ids);
        return answerBatch(ids);
      }
      const left = answers.get(id) ?? [];
      const answer = left.length > 1 ? left.shift() : left[0];
      return answer ? answer() : new Response('{}', { status: 500 });
    },
  });
  return {
    url: server.url.origin,
    answers,
    batches,
    answerBatches(how: typeof answerBatch) {
      answerBatch = how;
    },
    stop: () => server.stop(true),
  };
}

const sandbox = startSandbox();
afterAll(() => sandbox.close());

const describeTable = (opened: () => OpenedStore) => {
  let store: Store;
  let engine: Engine;
  let vendor: ReturnType<typeof startVendor>;
  let channelId = 0;

  beforeAll(async () => {
    store = opened().store;
    vendor = startVendor();
    engine = await startEngine(store, sandbox, { pollMaxFailures: MAX_FAILURES, pollIntervalMs: 50 });
    await engine.plugins.upload({ source: sourceFor('1.0.0') });
    await engine.plugins.upload({ source: batchSource });
    for (const model of ['told-1', 'told-batch-1'])
      await engine.billing.prices.save({ pluginKey: '*', model, expression: '0.01' });
    const reported = { models: ['told-1'], taskPluginKey: 'told', baseUrl: vendor.url };
    channelId = await engine.addChannel({ ...reported, name: 'reported' });
    await engine.addChannel({ ...reported, models: ['told-batch-1'], taskPluginKey: 'told-batch', name: 'batch' });
    await engine.start();
  });
  afterAll(async () => {
    await engine.stop();
    await vendor.stop();
    expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
  });

  let jobs = 0;
  const submit = async (answers: Answer[], fields: { model?: string; name?: string } = {}) => {
    jobs += 1;
    const { name = `job-${jobs}`, model = 'told-1' } = fields;
    vendor.answers.set(name, [...answers]);
    const caller = await addCaller(store);
    const plugin = model.replace(/-1$/, '');
    const { taskId } = await engine.surfaces.submitGeneric(caller, {
      requestId: 'request',
      pluginKey: plugin,
      request: jsonRequest({ model, name }),
    });
    return { taskId, name, balance: () => readBalance(store, caller.user.id) };
  };
  const read = async (taskId: string) => (await store.tasks.byTaskId(taskId)) as TaskRecord;
  const untilTask = (taskId: string, holds: (task: TaskRecord) => boolean): Promise<TaskRecord> =>
    until(async () => {
      const task = await read(taskId);
      return holds(task) && task;
    });

  describe('counts a failure, and the last one ends the task with a refund', () => {
    const rows: [name: string, answer: Answer, reason: string][] = [
      ['401', plain(401), 'auth (HTTP 401)'],
      ['403', plain(403), 'auth (HTTP 403)'],
      ['403 that cannot be read', unreadable(403), 'auth (HTTP 403)'],
      ['500 that cannot be read', unreadable(500), 'transient (HTTP 500)'],
      ['200 that cannot be read', unreadable(200), 'transport_error (HTTP 200)'],
      ['429', plain(429), 'transient (HTTP 429)'],
      ['500', plain(500), 'transient (HTTP 500)'],
      ['503', plain(503), 'transient (HTTP 503)'],
      ['304', plain(304), 'transient (HTTP 304)'],
      ['UNKNOWN', says({ status: 'UNKNOWN' }), 'unrecognized (HTTP 200)'],
      ['a status of its own', says({ status: 'WOBBLING' }), 'unrecognized (HTTP 200)'],
      ['an empty status', says({ status: '' }), 'unrecognized (HTTP 200)'],
      ['no status', says({}), 'unrecognized (HTTP 200)'],
      ['nothing', says(null), 'hook_error (HTTP 200)'],
      ['a hook that throws', says('throw'), 'hook_error (HTTP 200)'],
      ['400 that is not recognised', says({ status: 'UNKNOWN' }, 400), 'unrecognized (HTTP 400)'],
      ['422 at which the hook throws', says('throw', 422), 'hook_error (HTTP 422)'],
    ];
    test('for every unusable answer', async () => {
      const sent = await Promise.all(rows.map(([, answer]) => submit([answer])));
      for (const [index, [name, , reason]] of rows.entries()) {
        const { taskId, balance } = sent[index] as (typeof sent)[number];
        const task = await ended(store, taskId);
        const failures = (await store.tasks.events(taskId)).filter(({ kind }) => kind === 'poll_failure');
        expect([name, task.status, task.polls, task.failReason]).toEqual([
          name,
          'FAILURE',
          MAX_FAILURES,
          expect.stringContaining(`poll failed: ${reason}`),
        ]);
        expect(failures).toHaveLength(MAX_FAILURES - 1);
        expect(await balance()).toBe(BALANCE);
      }
      const named = engine.warnings.filter((line) => line.includes("refused the channel's key"));
      expect(named.length).toBeGreaterThanOrEqual(3 * MAX_FAILURES);
      expect(named.every((line) => line.includes(`"channel_id":${channelId}`))).toBe(true);
      expect((await store.channels.byId(channelId))?.status).toBe(1);
    });

    test('for an unreachable vendor', async () => {
      // A port that stays free after it is closed.
      const closed = startVendor(await freePort());
      const model = 'moved';
      const baseUrl = closed.url;
      await engine.addChannel({
        name: 'gone',
        models: [model],
        modelMapping: { [model]: 'told-1' },
        taskPluginKey: 'told',
        baseUrl,
      });
      const caller = await addCaller(store);
      await engine.billing.prices.save({ pluginKey: '*', model, expression: '0.01' });
      const body = jsonRequest({ model, name: 'unreachable' });
      const { taskId } = await engine.surfaces.submitGeneric(caller, {
        requestId: 'request',
        pluginKey: 'told',
        request: body,
      });
      await closed.stop();
      const task = await ended(store, taskId);
      expect(task).toMatchObject({ status: 'FAILURE', failReason: expect.stringContaining('transport_error') });
      expect(await readBalance(store, caller.user.id)).toBe(BALANCE);
    });
  });

  describe('ends the task at once', () => {
    const rows: [name: string, answer: Answer, status: string, reason: string][] = [
      ['404', plain(404), 'FAILURE', 'upstream task not found (HTTP 404)'],
      ['410', plain(410), 'FAILURE', 'upstream task not found (HTTP 410)'],
      ['404 that cannot be read', unreadable(404), 'FAILURE', 'upstream task not found (HTTP 404)'],
      [
        '404 with a page of more than 2 MiB',
        () => new Response('<p>'.repeat(1024 * 1024), { status: 404 }),
        'FAILURE',
        'upstream task not found (HTTP 404)',
      ],
      ['a failure', says({ status: 'FAILURE', reason: 'too dark' }), 'FAILURE', 'too dark'],
      ['400 whose failure is recognised', says({ status: 'FAILURE', reason: 'refused' }, 400), 'FAILURE', 'refused'],
      ['a success', done, 'SUCCESS', ''],
      ['an address to normalise', says({ status: 'SUCCESS', url: ' https://v.example/a b#t' }), 'SUCCESS', ''],
      ['a result of nowhere', says({ status: 'SUCCESS', url: 'videos/1.mp4' }), 'FAILURE', UNUSABLE_RESULT.message],
      [
        'an address without end',
        says({ status: 'SUCCESS', url: `https://v.example/${'x'.repeat(65_536)}` }),
        'FAILURE',
        UNUSABLE_RESULT.message,
      ],
    ];
    test('for every final answer', async () => {
      const sent = await Promise.all(rows.map(([, answer]) => submit([answer])));
      for (const [index, [name, , status, reason]] of rows.entries()) {
        const { taskId, balance } = sent[index] as (typeof sent)[number];
        const task = await ended(store, taskId);
        expect([name, task.status, task.failReason, task.polls]).toEqual([name, status as never, reason, 1]);
        expect(await balance()).toBe(status === 'SUCCESS' ? BALANCE - 5000 : BALANCE);
      }
    });
  });

  test('a vendor that echoes the channel’s key puts it into no text, and into no value of a sentence', async () => {
    const words = 'bad key vendor-key-0123456789';
    const answers = [says({ status: 'UNKNOWN', reason: words }), says({ status: 'FAILURE', reason: words })];
    const { taskId } = await submit(answers);
    const task = await ended(store, taskId);
    const said = { reason: 'plugin', params: { text: 'bad key [redacted]' } };
    expect(task).toMatchObject({ failReason: 'bad key [redacted]', failReasonSentence: said });
    const events = await store.tasks.events(taskId);
    expect(events.find(({ kind }) => kind === 'poll_failure')?.detailSentence).toEqual({
      reason: 'tasks.poll_failure_of',
      params: { failures: 1, most: MAX_FAILURES, detail: { ...said, message: 'bad key [redacted]' } },
    });
    const bills = await store.logs.listUsage({ userId: task.userId }, { page: 1, pageSize: 10 });
    expect(bills.items).toMatchObject([{ reasonSentence: said }]);
    expect(JSON.stringify([task, events, bills, await store.ledger.byTask(taskId)])).not.toContain('vendor-key-');
  });

  describe('a task that the vendor does not find yet', () => {
    const settings = { not_found_grace_seconds: 3600 };
    const graced = async (model: string, fields: object = { settings }) => {
      const modelMapping = { [model]: 'told-1' };
      await engine.billing.prices.save({ pluginKey: '*', model, expression: '0.01' });
      await engine.addChannel({
        ...{ name: model, models: [model], modelMapping, taskPluginKey: 'told', baseUrl: vendor.url },
        ...fields,
      });
    };
    const order = async (model: string, answers: Answer[]) => {
      const name = `${model}-job`;
      vendor.answers.set(name, [...answers]);
      const caller = await addCaller(store);
      const request = jsonRequest({ model, name });
      return engine.surfaces.submitGeneric(caller, { requestId: 'request', pluginKey: 'told', request });
    };

    test('counts as a failed poll for as long as its channel says, and then goes on', async () => {
      await graced('graced');
      const { taskId } = await order('graced', [plain(404), plain(410), running, plain(404), done]);
      expect(await ended(store, taskId)).toMatchObject({ status: 'SUCCESS', polls: 5 });
      const events = await store.tasks.events(taskId);
      const failures = events.filter(({ kind }) => kind === 'poll_failure');
      expect(failures.map(({ class: kind, httpStatus }) => [kind, httpStatus])).toEqual([
        ['not_found', 404],
        ['not_found', 410],
        ['not_found', 404],
      ]);
    });

    test('ends as usual after too many failed polls, with a refund', async () => {
      await graced('graced-too-long');
      const { taskId } = await order('graced-too-long', [plain(404)]);
      const reason = expect.stringContaining('poll failed: not_found (HTTP 404)');
      expect(await ended(store, taskId)).toMatchObject({ status: 'FAILURE', failReason: reason, polls: 6 });
    });

    test('ends at once when its time is over, or none is set', async () => {
      await graced('graced-before');
      const held = await order('graced-before', [running]);
      await untilTask(held.taskId, ({ status }) => status === 'IN_PROGRESS');
      const channel = (await read(held.taskId)).channelId;
      await engine.channels.update(channel, { settings: { not_found_grace_seconds: 1 } }, { mayMoveKey: true });
      await untilTask(held.taskId, ({ submitTime }) => Date.now() / 1000 > submitTime + 2);
      vendor.answers.set('graced-before-job', [plain(404)]);
      const reason = 'upstream task not found (HTTP 404)';
      expect(await ended(store, held.taskId)).toMatchObject({ status: 'FAILURE', failReason: reason });
    });
  });

  test('a vendor may name jobs by numbers of any length and by texts of any characters', async () => {
    const names = ['4711', '7615917337495251231', 'a+b/c==|é %2F', 'x'.repeat(2048)];
    const sent = await Promise.all(names.slice(0, 2).map((name) => submit([done], { name })));
    for (const [index, { taskId }] of sent.entries()) {
      const task = await ended(store, taskId);
      expect(task).toMatchObject({ status: 'SUCCESS', upstreamTaskId: names[index] as string });
    }
    const item = (id: string) => `{"taskId":${/^\d+$/.test(id) ? id : JSON.stringify(id)},"status":"SUCCESS"}`;
    const model = 'told-batch-1';
    vendor.answerBatches((ids) => new Response(`{"says":[${ids.map(item).join(',')}]}`));
    for (const name of names) {
      const { taskId } = await submit([], { name, model });
      expect(await ended(store, taskId)).toMatchObject({ status: 'SUCCESS', upstreamTaskId: name });
    }
  });

  describe('leaves the task running', () => {
    test('a recognised status resets the failure count', async () => {
      const bad = Array.from({ length: MAX_FAILURES - 1 }, () => plain(500));
      const statuses = ['NOT_START', 'SUBMITTED', 'QUEUED', 'IN_PROGRESS'];
      const sent = await Promise.all(statuses.map((status) => submit([...bad, says({ status }), ...bad, done])));
      sent.push(await submit([...bad, says({ status: 'IN_PROGRESS' }, 400), ...bad, done]));
      for (const { taskId } of sent) {
        expect(await ended(store, taskId)).toMatchObject({ status: 'SUCCESS', polls: 2 * MAX_FAILURES });
      }
    });

    test('an earlier status is a valid answer: its state is stored, the status stays', async () => {
      const back = says({ status: 'QUEUED', progress: '5%', state: { seen: 2 } });
      const { taskId } = await submit([running, plain(500), back]);
      const task = await untilTask(taskId, ({ state }) => JSON.stringify(state) === '{"seen":2}');
      expect(task).toMatchObject({ status: 'IN_PROGRESS', pollFailures: 0, data: { says: { status: 'QUEUED' } } });
      const moves = (await store.tasks.events(taskId)).filter(({ kind }) => kind === 'transition');
      expect(moves.map(({ status }) => status)).toEqual(['SUBMITTED', 'IN_PROGRESS']);
    });

    const waits: [name: string, answer: Answer, seconds: number][] = [
      ['429', plain(429, { 'retry-after': '100' }), 100],
      ['503', plain(503, { 'retry-after': '7200' }), 300],
      ['a running job', says({ status: 'IN_PROGRESS' }, 200, { 'retry-after': '60' }), 60],
    ];
    test('Retry-After is obeyed, up to five minutes', async () => {
      const sent = await Promise.all(waits.map(([, answer]) => submit([answer])));
      for (const [index, [name, , seconds]] of waits.entries()) {
        const { taskId } = sent[index] as (typeof sent)[number];
        const task = await untilTask(taskId, ({ polls, leaseOwner }) => polls === 1 && leaseOwner === null);
        const wait = (task.nextPollAtMs - Date.now()) / 1000;
        expect([name, wait > seconds - 20 && wait <= seconds]).toEqual([name, true]);
      }
    });

    test('a disabled channel finishes its tasks', async () => {
      const model = 'retiring';
      const change = {
        models: [model],
        modelMapping: { [model]: 'told-1' },
        taskPluginKey: 'told',
        baseUrl: vendor.url,
      };
      const id = await engine.addChannel({ ...change, name: 'retiring' });
      await engine.billing.prices.save({ pluginKey: '*', model, expression: '0.01' });
      vendor.answers.set('retired', [running]);
      const caller = await addCaller(store);
      const body = jsonRequest({ model, name: 'retired' });
      const { taskId } = await engine.surfaces.submitGeneric(caller, {
        requestId: 'request',
        pluginKey: 'told',
        request: body,
      });
      await engine.channels.update(id, { status: 2 }, { mayMoveKey: false });
      vendor.answers.set('retired', [done]);
      expect((await ended(store, taskId)).status).toBe('SUCCESS');
    });

    test('a newer version of the plugin continues the tasks that it adopts', async () => {
      const { taskId, name } = await submit([says('version')]);
      await untilTask(taskId, ({ status }) => status === 'IN_PROGRESS');
      await engine.plugins.upload({ source: sourceFor('1.1.0', 'FAILURE') });
      await engine.plugins.activate('told', '1.1.0', { adopt: true });
      expect(await ended(store, taskId)).toMatchObject({ status: 'FAILURE', failReason: '1.1.0' });
      expect(vendor.answers.has(name)).toBe(true);
    });

    test('the tasks of a disabled plugin wait, and no failure is counted', async () => {
      const { taskId, name } = await submit([running]);
      await untilTask(taskId, ({ status }) => status === 'IN_PROGRESS');
      await engine.plugins.setEnabled('told', false, { cascade: true, force: true });
      const { leaseSeq: before } = await read(taskId);
      // A poll that was running still had the plugin.
      const { leaseSeq: off } = await untilTask(taskId, ({ leaseSeq }) => leaseSeq > before + 1);
      vendor.answers.set(name, [done]);
      // Claimed and released, again and again.
      await untilTask(taskId, ({ leaseSeq }) => leaseSeq > off + 3);
      expect(await read(taskId)).toMatchObject({ status: 'IN_PROGRESS', pollFailures: 0 });
      await engine.plugins.setEnabled('told', true);
      expect((await ended(store, taskId)).status).toBe('SUCCESS');
    });
  });

  test('a running task without the vendor’s id ends with a refund', async () => {
    const { taskId } = await addRunningTask(store, { platform: 'told', channelId });
    expect(await ended(store, taskId)).toMatchObject({
      status: 'FAILURE',
      failReason: expect.stringContaining("vendor's job ID"),
    });
  });

  describe('in batches', () => {
    const batched = (name: string) => submit([], { model: 'told-batch-1', name });

    test('a missing item counts for its own task only', async () => {
      vendor.answerBatches((ids) =>
        Response.json({
          says: ids.filter((id) => id !== 'missing').map((taskId) => ({ taskId, status: 'SUCCESS' })),
        }),
      );
      const [missing, found] = await Promise.all(['missing', 'found'].map(batched));
      expect((await ended(store, found?.taskId ?? '')).status).toBe('SUCCESS');
      expect(await ended(store, missing?.taskId ?? '')).toMatchObject({
        status: 'FAILURE',
        polls: MAX_FAILURES,
        failReason: expect.stringContaining('unrecognized'),
      });
      expect(await missing?.balance()).toBe(BALANCE);
    });

    test('an item that ends its task without data, and items that nobody asked for, are warned of', async () => {
      vendor.answerBatches((ids) =>
        Response.json({ says: [...ids, 'stranger'].map((taskId) => ({ taskId, status: 'SUCCESS' })) }),
      );
      const sent = await batched('silent');
      const { taskId } = await ended(store, sent.taskId);
      expect(engine.warnings.filter((warning) => warning.includes(taskId))).toEqual([
        `a batch item ended its task without data; the stored data stay ${JSON.stringify({ task_id: taskId })}`,
      ]);
      expect(engine.warnings.filter((warning) => warning.includes('nobody asked for'))).not.toEqual([]);
      expect(engine.warnings.join()).not.toContain('stranger');
    });

    test('a batch that is not found counts one failure for each task, until the bad id is alone', async () => {
      vendor.batches.length = 0;
      vendor.answerBatches((ids) =>
        ids.includes('poison')
          ? new Response('{}', { status: 410 })
          : Response.json({ says: ids.map((taskId) => ({ taskId, status: 'IN_PROGRESS' })) }),
      );
      const names = ['one', 'two', 'poison'];
      const sent = await Promise.all(names.map(batched));
      const bad = await ended(store, sent[2]?.taskId ?? '');
      expect(bad).toMatchObject({ status: 'FAILURE', failReason: expect.stringContaining('not_found (HTTP 410)') });
      expect(bad.polls).toBe(MAX_FAILURES);
      expect(vendor.batches.filter((ids) => ids.includes('poison')).at(-1)).toEqual(['poison']);
      vendor.answerBatches((ids) => Response.json({ says: ids.map((taskId) => ({ taskId, status: 'SUCCESS' })) }));
      for (const { taskId } of sent.slice(0, 2)) expect((await ended(store, taskId)).status).toBe('SUCCESS');
    });
  });
};

describeEachStore('polling', (opened) => describe('an answer of the vendor', () => describeTable(opened)), {
  databases: RULE_DATABASES,
});

describeEachStore(
  'polling without a failure limit',
  (opened) => {
    test('continues until the vendor answers', async () => {
      const vendor = startVendor();
      const engine = await startEngine(opened().store, sandbox, { pollMaxFailures: 0, pollIntervalMs: 50 });
      await engine.plugins.upload({ source: sourceFor('1.0.0') });
      await engine.addChannel({ models: ['told-1'], taskPluginKey: 'told', baseUrl: vendor.url });
      await engine.billing.prices.save({ pluginKey: '*', model: 'told-1', expression: '0.01' });
      await engine.start();
      vendor.answers.set('patient', [...Array.from({ length: 25 }, () => plain(500)), done]);
      const caller = await addCaller(opened().store);
      const body = jsonRequest({ model: 'told-1', name: 'patient' });
      const { taskId } = await engine.surfaces.submitGeneric(caller, {
        requestId: 'request',
        pluginKey: 'told',
        request: body,
      });
      expect(await ended(opened().store, taskId)).toMatchObject({ status: 'SUCCESS', polls: 26 });
      await engine.stop();
      await vendor.stop();
    });
  },
  { databases: RULE_DATABASES },
);
