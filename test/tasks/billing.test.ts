/**
 * What tasks cost, from the vendor's answers to the ledger: usage hooks, late answers, and
 * concurrent requests.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { explainBill } from '../../src/billing/index.ts';
import { AppError, type Json, type JsonObject, newUuid, quoted } from '../../src/kernel/index.ts';
import type { Store, TaskRecord } from '../../src/store/ports/index.ts';
import { addKey, describeEachStore, type OpenedStore, readLease } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { until } from '../support/until.ts';
import { addCaller, BALANCE, billFor, type Engine, ended, jsonRequest, readBalance, startEngine } from './harness.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());
const source = readFileSync(join(import.meta.dir, '../fixtures/usage-probe.js'), 'utf8');

/**
 * The vendor's answers: first to the submission, then to each poll; the last one repeats. Sent as
 * text, because its quantities are not the request's.
 */
type Script = { submit?: JsonObject; polls?: JsonObject[] };

/** A vendor that answers by the script in the request, and waits while a method is held. */
function startVendor() {
  const jobs = new Map<string, JsonObject[]>();
  const holds = new Map<string, { opened: Promise<unknown>; waiting: number }>();
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const hold = holds.get(request.method);
      if (hold) {
        hold.waiting += 1;
        await hold.opened;
      }
      if (request.method === 'POST') {
        const script = JSON.parse(((await request.json()) as { script: string }).script) as Script;
        const id = newUuid();
        jobs.set(id, [...(script.polls ?? [])]);
        return Response.json({ id, ...script.submit });
      }
      const answers = jobs.get(request.url.split('/').at(-1) ?? '') ?? [];
      return Response.json((answers.length > 1 ? answers.shift() : answers[0]) ?? { status: 'IN_PROGRESS' });
    },
  });
  return {
    url: server.url.origin,
    /** Holds the answers to requests of this method until `release`. */
    hold(method: 'GET' | 'POST') {
      const { promise: opened, resolve } = Promise.withResolvers<void>();
      const hold = { opened, waiting: 0 };
      holds.set(method, hold);
      return {
        isAsked: async () => hold.waiting > 0 || undefined,
        release() {
          holds.delete(method);
          resolve();
        },
      };
    },
    stop: () => server.stop(true),
  };
}

const describeBilling = (opened: () => OpenedStore) => {
  let engine: Engine;
  let store: Store;
  /** How often the hook that reads the final usage finds no free sandbox process. */
  let overloads = 0;
  /** The hook's calls, in order. */
  const readings: string[] = [];
  const vendor = startVendor();

  beforeAll(async () => {
    store = opened().store;
    engine = await startEngine(store, {
      ...sandbox,
      async call(module, call) {
        if (call.path[0] !== 'extractUsageOnComplete') return sandbox.call(module, call);
        readings.push(JSON.stringify(call.args));
        if (overloads === 0) return sandbox.call(module, call);
        overloads -= 1;
        return { ok: false, error: { kind: 'overloaded', ...quoted('no room'), console: [] } };
      },
    });
    await engine.plugins.upload({ source });
    await engine.addChannel();
    await engine.addChannel({
      name: 'probe',
      models: ['probe', 'tokens', 'flat'],
      taskPluginKey: 'usage-probe',
      baseUrl: vendor.url,
    });
    await engine.billing.prices.save({ pluginKey: 'usage-probe', model: 'probe', expression: '0.02 * u("seconds")' });
    await engine.billing.prices.save({ pluginKey: '*', model: 'tokens', expression: '0.001 * u("totalTokens")' });
    await engine.billing.prices.save({ pluginKey: '*', model: 'flat', expression: '0.1' });
    await engine.billing.prices.save({ pluginKey: '*', model: 'tokens-free', expression: '0' });
    await engine.start();
  });
  afterAll(async () => {
    await engine.stop();
    await vendor.stop();
    expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
  });

  const submit = (
    caller: Awaited<ReturnType<typeof addCaller>>,
    script: Script,
    { model = 'probe', usage = { seconds: 5 } }: { model?: string; usage?: Json } = {},
  ) =>
    engine.surfaces.submitGeneric(caller, {
      requestId: 'r',
      pluginKey: 'usage-probe',
      request: jsonRequest({ model, usage, script: JSON.stringify(script) }),
    });
  const warned = (taskId: string) => engine.warnings.filter((line) => line.includes(taskId)).join();

  describe('usage hooks', () => {
    const done = { status: 'SUCCESS' };
    const running = { status: 'IN_PROGRESS' };
    type Row = [name: string, script: Script, seconds: number, bill: JsonObject, warning?: string];
    const rows: Row[] = [
      [
        'the facts of the request stay valid when no later ones come',
        { polls: [done] },
        5,
        { completion_facts: null, difference: 0 },
      ],
      [
        'the answer to the submission overlays them',
        { submit: { usage: { seconds: 3 } }, polls: [running, done] },
        3,
        { submission_facts: { seconds: 3 }, steps: ['0.02 * 3 = 0.06 USD', 'round(0.06 * 500000 * 1) = 30000'] },
      ],
      [
        'the last answer overlays both',
        { submit: { usage: { seconds: 3 } }, polls: [{ ...done, usage: { seconds: 2 } }] },
        2,
        { completion_facts: { seconds: 2 }, reserved: 50_000, settled: 20_000, difference: -30_000 },
      ],
      [
        'a zero at the end replaces no count of an earlier answer',
        {
          submit: { usage: { seconds: 3 } },
          polls: [
            { ...running, usage: { seconds: 0 } },
            { ...done, usage: { seconds: 0 } },
          ],
        },
        3,
        { settled: 30_000 },
      ],
      [
        'of the polls the newest facts count',
        { polls: [{ ...running, usage: { seconds: 1 } }, { ...running, usage: { seconds: 4 } }, done] },
        4,
        { completion_facts: { seconds: 4 } },
      ],
      ['more than was reserved is charged', { polls: [{ ...done, usage: { seconds: 9 } }] }, 9, { difference: 40_000 }],
      ['twice what the request asked for is charged', { polls: [{ ...done, usage: { seconds: 10 } }] }, 10, {}],
      [
        'more than twice what the request asked for is not believed: the reservation stands, and the log tells it',
        {
          polls: [
            { ...running, usage: { seconds: 3000 } },
            { ...done, usage: { seconds: 11 } },
          ],
        },
        5,
        { completion_facts: null, difference: 0, kept_reservation: expect.stringContaining('reported 11 as seconds') },
        'more usage than the request allowed',
      ],
      [
        'nor is it in the first answer',
        { submit: { usage: { seconds: 3000 } }, polls: [done] },
        5,
        { submission_facts: null, difference: 0 },
        'reported 3000 as seconds',
      ],
      [
        'facts out of range in the first answer are logged and not used',
        { submit: { usage: { seconds: -1 } }, polls: [done] },
        5,
        { submission_facts: null },
        'must be a finite number of at least 0',
      ],
      [
        'a hook that fails on the first answer is logged and changes nothing',
        { submit: { throw: 'no usage here' }, polls: [done] },
        5,
        { submission_facts: null, difference: 0 },
        'no usage here',
      ],
      [
        'a hook that fails at the end keeps the reservation, whatever was said before',
        {
          submit: { usage: { seconds: 3 } },
          polls: [
            { ...running, usage: { seconds: 2 } },
            { ...done, throw: 'no usage there' },
          ],
        },
        5,
        { usd: null, settled: 50_000, difference: 0, kept_reservation: expect.stringContaining('no usage there') },
        'no usage there',
      ],
      [
        'facts out of range at the end keep the reservation',
        { polls: [{ ...done, usage: { seconds: 3601 } }] },
        5,
        { settled: 50_000, kept_reservation: expect.stringContaining('must be at most 3600') },
        'must be at most 3600',
      ],
      [
        'a hook that fails while the task runs changes nothing',
        {
          polls: [
            { ...running, throw: 'not yet' },
            { ...done, usage: { seconds: 2 } },
          ],
        },
        2,
        { settled: 20_000 },
      ],
      [
        'a failure costs nothing, whatever the vendor counted',
        { polls: [{ status: 'FAILURE', usage: { seconds: 5 } }] },
        0,
        { usd: null, settled: 0, difference: -50_000, summary: expect.stringContaining('all of it was refunded') },
      ],
      [
        'a job done at once is billed by its answer',
        { submit: { immediate: done, usage: { seconds: 1 } } },
        1,
        { completion_facts: { seconds: 1 }, settled: 10_000 },
      ],
    ];
    for (const [name, script, seconds, bill, warning] of rows) {
      test(name, async () => {
        const caller = await addCaller(store);
        const task = await ended(store, (await submit(caller, script)).taskId);
        expect(task.quota).toBe(billFor(seconds));
        expect(await readBalance(store, caller.user.id)).toBe(BALANCE - billFor(seconds));
        expect(explainBill(task)).toMatchObject({
          expression: '0.02 * u("seconds")',
          group: 'default',
          group_ratio: 1,
          quota_per_usd: 500_000,
          facts: { seconds: 5 },
          estimate: { usd: 0.1, quota: 50_000 },
          ...bill,
        });
        // The usage log has the same amount, and the price.
        const { items } = await store.logs.listUsage({ userId: caller.user.id }, { page: 1, pageSize: 10 });
        expect(items).toMatchObject([
          { taskId: task.taskId, detail: { ...explainBill(task), price: 'usage-probe::probe' } },
        ]);
        if (warning) expect(warned(task.taskId)).toContain(warning);
        else expect(warned(task.taskId)).toBe('');
      });
    }

    test('token counts of the result are usage facts too', async () => {
      const caller = await addCaller(store);
      const { taskId } = await submit(
        caller,
        { polls: [{ status: 'SUCCESS', tokens: 70 }] },
        {
          model: 'tokens',
          usage: {
            totalTokens: 100,
          },
        },
      );
      const task = await ended(store, taskId);
      expect(explainBill(task)).toMatchObject({
        facts: { totalTokens: 100 },
        completion_facts: { totalTokens: 70 },
        settled: 35_000,
      });
    });

    test('tokens far above the estimate are charged; more than a task can take are not', async () => {
      const caller = await addCaller(store);
      const readSettled = async (tokens: number) => {
        const model = { model: 'tokens', usage: { totalTokens: 100 } };
        const { taskId } = await submit(caller, { polls: [{ status: 'SUCCESS', tokens }] }, model);
        return explainBill(await ended(store, taskId));
      };
      expect(await readSettled(1000)).toMatchObject({ reserved: 50_000, settled: 500_000 });
      expect(await readSettled(1e12)).toMatchObject({
        difference: 0,
        kept_reservation: expect.stringContaining('totalTokens'),
      });
    });

    test('an immediate success whose usage the gateway could not read is billed by a later poll, not by the estimate', async () => {
      const caller = await addCaller(store);
      overloads = 2;
      const submitted = await submit(caller, {
        submit: { immediate: { status: 'SUCCESS', progress: '100%' }, usage: { seconds: 9 } },
        polls: [{ status: 'SUCCESS', usage: { seconds: 2 } }],
      });
      expect(submitted).toMatchObject({ status: 'SUBMITTED', progress: '10%' });
      const task = await ended(store, submitted.taskId);
      expect([overloads, task.status, task.quota]).toEqual([0, 'SUCCESS', billFor(2)]);
      expect(await readBalance(store, caller.user.id)).toBe(BALANCE - billFor(2));
    });

    test('a price without usage facts calls no hook', async () => {
      const caller = await addCaller(store);
      const { taskId } = await submit(
        caller,
        { submit: { throw: 'never asked' }, polls: [{ status: 'SUCCESS', throw: 'never asked' }] },
        { model: 'flat', usage: null },
      );
      const task = await ended(store, taskId);
      expect([task.quota, warned(taskId)]).toEqual([50_000, '']);
    });

    test('a running task shows its reservation and its usage so far', async () => {
      const caller = await addCaller(store);
      const { taskId } = await submit(caller, { polls: [{ status: 'IN_PROGRESS', usage: { seconds: 2 } }] });
      const task = await until('the first facts', async () => {
        const stored = await store.tasks.byTaskId(taskId);
        return stored?.billing.completionFacts && stored;
      });
      expect(explainBill(task)).toMatchObject({
        completion_facts: { seconds: 2 },
        usd: 0.1,
        reserved: 50_000,
        settled: null,
        difference: null,
        steps: ['0.02 * 5 = 0.1 USD', 'round(0.1 * 500000 * 1) = 50000'],
      });
    });
  });

  test('facts that the gateway could not read are read from the next answer even if it is the same, then only from new ones', async () => {
    const caller = await addCaller(store);
    const queued = { status: 'QUEUED' };
    const said = { status: 'IN_PROGRESS', usage: { seconds: 2 } };
    overloads = 1;
    const polls = [queued, queued, said, said, said, queued, { status: 'SUCCESS' }];
    const task = await ended(store, (await submit(caller, { polls })).taskId);
    expect([task.quota, task.billing.completionFacts]).toEqual([billFor(2), { seconds: 2 }]);
    const own = readings.filter((args) => args.includes(task.taskId)).map((args) => JSON.parse(args)[2]);
    expect(own).toEqual([queued, queued, said, queued, { status: 'SUCCESS' }]);
  });

  describe('a key with a list of models', () => {
    const renames: [name: string, rename: JsonObject, refused: string | undefined][] = [
      ['billed as another', { model: 'flat' }, 'flat'],
      ['sent as another that the plugin serves', { rewriteModel: 'dear' }, 'dear'],
      ['sent by a name of the vendor’s', { rewriteModel: 'vendor-probe-2' }, undefined],
      ['billed as another of the list', { model: 'tokens-free' }, undefined],
      ['named as it is', { model: 'probe', rewriteModel: 'probe' }, undefined],
    ];
    test.each(renames)('a way around it: a request for a model that it allows is %s', async (_, rename, model) => {
      const caller = await addCaller(store);
      const key = await addKey(store, caller.user.id, { models: ['probe', 'tokens-free'] });
      const script = JSON.stringify({ polls: [{ status: 'SUCCESS' }] });
      const body = { model: 'probe', usage: { seconds: 1 }, script, rename };
      const sent = engine.surfaces.submitGeneric(
        { ...caller, key },
        { requestId: 'r', pluginKey: 'usage-probe', request: jsonRequest(body) },
      );
      if (model === undefined) {
        expect((await ended(store, (await sent).taskId)).status).toBe('SUCCESS');
        return;
      }
      const refusal = {
        code: 'tasks.model_not_allowed',
        kind: 'forbidden',
        message: expect.stringContaining(`"${model}"`),
      };
      expect(await sent.catch((error: unknown) => error)).toMatchObject(refusal);
      expect((await store.tasks.list({ userId: caller.user.id }, { page: 1, pageSize: 1 })).total).toBe(0);
    });
  });

  describe('a late answer', () => {
    test('billed after the refund: a late success of a refunded task is noted once and costs nothing', async () => {
      const caller = await addCaller(store);
      const held = vendor.hold('GET');
      const { taskId } = await submit(caller, { polls: [{ status: 'SUCCESS', usage: { seconds: 9 } }] });
      await until(
        'the poll is under way',
        async () => ((await store.tasks.byTaskId(taskId))?.leaseUntilMs ?? 0) > 0 || undefined,
      );
      // Another node takes the task over, as after a pause of this one, and ends it.
      const claim = { owner: 'rival', limit: 100, leaseForMs: 60_000, exceptChannels: [] };
      const task = await until('the claim', async () => {
        // Again where this node was quicker.
        await store.tasks.expireAllLeases();
        return (await store.tasks.claimDue(claim)).find((due) => due.taskId === taskId);
      });
      await store.transaction(async (tx) => {
        expect(await tx.tasks.advance(readLease(task), { status: 'FAILURE', quota: 0 }, null)).toBe(true);
        const refund = { reason: quoted('given up') };
        await engine.billing.settleAll(tx, [{ task, bill: engine.billing.noBill(task), refund }]);
      });
      held.release();
      const late = await until('the note', async () =>
        (await store.tasks.events(taskId)).find(({ kind }) => kind === 'late_success'),
      );
      expect(late).toMatchObject({ status: 'FAILURE', detail: expect.stringContaining('this is not billed') });
      expect(await store.tasks.byTaskId(taskId)).toMatchObject({ status: 'FAILURE', quota: 0 });
      expect(await readBalance(store, caller.user.id)).toBe(BALANCE);
      expect((await store.ledger.byTask(taskId)).map(({ kind }) => kind)).toEqual(['reserve', 'refund']);
      expect((await store.logs.listUsage({ userId: caller.user.id }, { page: 1, pageSize: 10 })).total).toBe(1);
    });

    test('billed after the refund: a job accepted after its submission was refunded is noted and costs nothing', async () => {
      const caller = await addCaller(store);
      const held = vendor.hold('POST');
      const sent = submit(caller, {}).then(
        () => 'accepted',
        (error: unknown) => (error instanceof AppError ? error.code : String(error)),
      );
      const task = await until('the task', async () => {
        const { items } = await store.tasks.list({ userId: caller.user.id }, { page: 1, pageSize: 1 });
        return items[0];
      });
      await until('the order', held.isAsked);
      await store.tasks.expireAllLeases();
      expect((await ended(store, task.taskId)).failReason).toBe('submission interrupted');
      held.release();
      expect(await sent).toBe('tasks.submission_interrupted');
      await until('the note', async () =>
        (await store.tasks.events(task.taskId)).some(({ kind }) => kind === 'late_success'),
      );
      expect(await readBalance(store, caller.user.id)).toBe(BALANCE);
    });
  });

  describe('concurrent requests', () => {
    const instant = { submit: { immediate: { status: 'SUCCESS' } } };
    const outcomes = async (sent: Promise<TaskRecord>[]) => {
      const results = await Promise.allSettled(sent);
      const codes = results.map((result) =>
        result.status === 'fulfilled'
          ? result.value.status
          : result.reason instanceof AppError
            ? result.reason.code
            : String(result.reason),
      );
      return Object.fromEntries(
        Object.entries(Object.groupBy(codes, (code) => code)).map(([code, all]) => [code, all?.length]),
      );
    };

    test('double spending: 50 concurrent submissions against a balance for ten', async () => {
      const caller = await addCaller(store, 10 * billFor(5));
      expect(await outcomes(Array.from({ length: 50 }, () => submit(caller, instant)))).toEqual({
        SUCCESS: 10,
        'billing.insufficient_quota': 40,
      });
      expect(await readBalance(store, caller.user.id)).toBe(0);
    });

    test('double spending: 50 concurrent submissions against a key’s budget for ten', async () => {
      const caller = await addCaller(store);
      const key = await addKey(store, caller.user.id, { unlimitedQuota: false, quota: 10 * billFor(5) });
      expect(await outcomes(Array.from({ length: 50 }, () => submit({ ...caller, key }, instant)))).toEqual({
        SUCCESS: 10,
        'billing.insufficient_key_quota': 40,
      });
      expect(await readBalance(store, caller.user.id)).toBe(BALANCE - 10 * billFor(5));
      expect(await store.apiKeys.byId(key.id)).toMatchObject({ quota: 0, usedQuota: 10 * billFor(5) });
    });

    test('double spending: 50 concurrent submissions against a day’s budget for ten', async () => {
      const caller = await addCaller(store);
      const budget = { amount: 10 * billFor(5), period: 'day' } as const;
      const key = await addKey(store, caller.user.id, { budget });
      expect(await outcomes(Array.from({ length: 50 }, () => submit({ ...caller, key }, instant)))).toEqual({
        SUCCESS: 10,
        'billing.budget_exceeded': 40,
      });
      expect(await readBalance(store, caller.user.id)).toBe(BALANCE - 10 * billFor(5));
    });

    test('lost update: concurrent settlements and administrator’s adjustments of one balance', async () => {
      const caller = await addCaller(store);
      const userId = caller.user.id;
      const above = { submit: { immediate: { status: 'SUCCESS' }, usage: { seconds: 9 } } };
      const adjusted = Promise.all(
        Array.from({ length: 20 }, (_, nth) =>
          store.ledger.setBalance({ walletId: caller.walletId, key: newUuid(), to: BALANCE + nth, at: 1 }),
        ),
      );
      expect(await outcomes(Array.from({ length: 20 }, () => submit(caller, above)))).toEqual({ SUCCESS: 20 });
      await adjusted;
      const { items } = await store.ledger.list(userId, { page: 1, pageSize: 100 });
      expect(items.reduce((sum, { amount }) => sum + amount, 0)).toBe(await readBalance(store, userId));
      const tasks = items.filter(({ taskId }) => taskId !== null);
      expect(tasks.reduce((sum, { amount }) => sum + amount, 0)).toBe(-20 * billFor(9));
      expect(await store.users.byId(userId)).toMatchObject({ usedQuota: 20 * billFor(9), requestCount: 20 });
    });
  });
};

describeEachStore('billing of tasks', (opened) => describe('by a vendor’s answers', () => describeBilling(opened)), {
  databases: RULE_DATABASES,
});
