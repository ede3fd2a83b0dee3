import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { AppError } from '../../src/kernel/index.ts';
import type { ListedTask, Store, TaskRecord } from '../../src/store/ports/index.ts';
import { describeEachStore, type OpenedStore, readLease } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { freePort } from '../support/free-port.ts';
import { addCaller, BALANCE, billFor, type Engine, ended, jsonRequest, readBalance, startEngine } from './harness.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

/** The failure of a promise, as an AppError. */
async function failure(promise: Promise<unknown>): Promise<AppError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof AppError)) throw new Error(`expected an AppError, got ${String(error)}`);
  return error;
}

const describeEngine = (opened: () => OpenedStore) => {
  let engine: Engine;
  let store: Store;

  beforeAll(async () => {
    store = opened().store;
    engine = await startEngine(store, sandbox);
    await engine.addChannel();
    await engine.addChannel({ name: 'batch', models: ['demo-batch-video'], taskPluginKey: 'demo-batch' });
    await engine.start();
  });
  afterAll(async () => {
    await engine.stop();
    // After all tests the ledger must add up.
    expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
  });

  const submit = async (prompt: string, fields: Record<string, string | number> = {}, plugin = 'demo') => {
    const caller = await addCaller(store);
    const model = plugin === 'demo' ? 'demo-video' : 'demo-batch-video';
    const body = { model, prompt, seconds: 5, ...fields };
    const sent = engine.surfaces.submitGeneric(caller, {
      requestId: 'request',
      pluginKey: plugin,
      request: jsonRequest(body),
    });
    return { caller, sent, balance: () => readBalance(store, caller.user.id) };
  };

  describe('polling', () => {
    const rows: [name: string, prompt: string, status: string, cost: number, reason: RegExp][] = [
      ['a job that succeeds is billed', 'a [duration=0.3]', 'SUCCESS', 5, /^$/],
      ['the bill follows what was delivered', 'a [duration=0.3] [seconds=2]', 'SUCCESS', 2, /^$/],
      ['a bill above the reservation is charged', 'a [duration=0.3] [seconds=9]', 'SUCCESS', 9, /^$/],
      ['a job that is done at once is billed at once', 'a [instant]', 'SUCCESS', 5, /^$/],
      ['a job that fails is refunded', 'a [fail] [duration=0.3]', 'FAILURE', 0, /could not be generated/],
      ['404 ends the task with a refund', 'a [404]', 'FAILURE', 0, /upstream task not found \(HTTP 404\)/],
      ['garbage is counted and then recovers', 'a [garbage=2] [duration=0.3]', 'SUCCESS', 5, /^$/],
      ['500 is counted and then recovers', 'a [500=2] [duration=0.3]', 'SUCCESS', 5, /^$/],
      [
        'garbage forever ends the task with a refund',
        'a [garbage=always]',
        'FAILURE',
        0,
        /^poll failed: (hook_error|unrecognized)/,
      ],
      [
        '500 forever ends the task with a refund',
        'a [500=always]',
        'FAILURE',
        0,
        /^poll failed: transient \(HTTP 500\)/,
      ],
    ];
    for (const [name, prompt, status, seconds, reason] of rows) {
      test(name, async () => {
        const { sent, balance } = await submit(prompt);
        const task = await ended(store, (await sent).taskId);
        expect(task.status).toBe(status as TaskRecord['status']);
        expect(task.failReason).toMatch(reason);
        expect(task.quota).toBe(billFor(seconds));
        expect(await balance()).toBe(BALANCE - billFor(seconds));
        expect((await engine.counted(task)).creates).toBe(1);
      });
    }

    test('a failure is on the timeline with its class and counter', async () => {
      const { sent } = await submit('a [500=1] [duration=0.3]');
      const task = await ended(store, (await sent).taskId);
      const events = await store.tasks.events(task.taskId);
      expect(events.find(({ kind }) => kind === 'poll_failure')).toMatchObject({
        class: 'transient',
        httpStatus: 500,
        detail: expect.stringContaining('1 of 5'),
      });
      expect(events.map(({ kind }) => kind)).toContain('settled');
    });

    test('a valid answer resets the failure count', async () => {
      // Four failures, then success: with a limit of five the task survives only if nothing else
      // was counted.
      const { sent } = await submit('a [500=4] [duration=0.3]');
      expect((await ended(store, (await sent).taskId)).status).toBe('SUCCESS');
    });

    test('a batch plugin polls many tasks at once, and each ends on its own', async () => {
      const submissions = await Promise.all(
        ['a [duration=0.3]', 'a [fail] [duration=0.3]', 'a [duration=0.3]'].map((prompt) =>
          submit(prompt, {}, 'demo-batch'),
        ),
      );
      const tasks = await Promise.all(submissions.map(async ({ sent }) => ended(store, (await sent).taskId)));
      expect(tasks.map(({ status }) => status)).toEqual(['SUCCESS', 'FAILURE', 'SUCCESS']);
      const balances = await Promise.all(submissions.map(({ balance }) => balance()));
      expect(balances).toEqual([BALANCE - billFor(5), BALANCE, BALANCE - billFor(5)]);
      // The plugin's own state was kept between polls.
      expect(tasks[0]?.state).toMatchObject({ rounds: expect.any(Number) });
    });

    test('a batch that is not found is halved until the bad id is alone', async () => {
      const good = await submit('a [duration=0.3]', {}, 'demo-batch');
      const bad = await submit('a [batch=404]', {}, 'demo-batch');
      const [goodTask, badTask] = await Promise.all(
        [good, bad].map(async ({ sent }) => ended(store, (await sent).taskId)),
      );
      expect(goodTask?.status).toBe('SUCCESS');
      expect(badTask).toMatchObject({ status: 'FAILURE', failReason: expect.stringContaining('not_found') });
      expect(await bad.balance()).toBe(BALANCE);
    });

    test('a deleted channel ends its tasks with a refund', async () => {
      const model = 'deleted-channel';
      const id = await engine.addChannel({
        name: 'short-lived',
        models: [model],
        modelMapping: { [model]: 'demo-video' },
      });
      const { sent, balance } = await submit('a [duration=6000]', { model });
      const { taskId } = await sent;
      await engine.channels.delete(id);
      expect(await ended(store, taskId)).toMatchObject({ status: 'FAILURE', failReason: 'The channel was deleted.' });
      expect(await balance()).toBe(BALANCE);
    });
  });

  describe('submission', () => {
    const refused: [name: string, prompt: string, code: string, creates: number, shouldRetry: boolean | undefined][] = [
      ['429 of the vendor', 'a [submit=429]', 'tasks.vendor_busy', 1, undefined],
      ['400 of the vendor', 'a [submit=400]', 'tasks.vendor_rejected', 1, undefined],
      ['500 of the vendor', 'a [submit=500]', 'tasks.vendor_failed', 1, false],
      ['a 2xx that cannot be read', 'a [submit=garbage]', 'tasks.plugin_submit_response_failed', 1, false],
    ];
    for (const [name, prompt, code, creates, shouldRetry] of refused) {
      test(`${name} ends the row with its refund`, async () => {
        const { caller, sent, balance } = await submit(prompt);
        const error = await failure(sent);
        expect({ code: error.code, shouldRetry: error.shouldRetry }).toEqual({ code, shouldRetry });
        expect(await balance()).toBe(BALANCE);
        const { items } = await store.tasks.list({ userId: caller.user.id }, { page: 1, pageSize: 10 });
        expect(items).toMatchObject([{ status: 'FAILURE', quota: 0 }]);
        expect((await engine.counted(items[0] as ListedTask)).creates).toBe(creates);
      });
    }

    test('a hook that refuses the request writes nothing', async () => {
      const { caller, sent, balance } = await submit('', { prompt: '' });
      expect((await failure(sent)).code).toBe('tasks.plugin_request_invalid');
      expect(await balance()).toBe(BALANCE);
      expect((await store.tasks.list({ userId: caller.user.id }, { page: 1, pageSize: 10 })).total).toBe(0);
    });

    test('a balance that does not cover the estimate writes nothing', async () => {
      const caller = await addCaller(store, billFor(5) - 1);
      const body = jsonRequest({ model: 'demo-video', prompt: 'a', seconds: 5 });
      expect(
        (await failure(engine.surfaces.submitGeneric(caller, { requestId: 'r', pluginKey: 'demo', request: body })))
          .code,
      ).toBe('billing.insufficient_quota');
      expect((await store.tasks.list({ userId: caller.user.id }, { page: 1, pageSize: 10 })).total).toBe(0);
      expect(await readBalance(store, caller.user.id)).toBe(billFor(5) - 1);
    });

    test('50 concurrent submissions with money for one: one task', async () => {
      const caller = await addCaller(store, billFor(5));
      const body = jsonRequest({ model: 'demo-video', prompt: 'a [duration=0.3]', seconds: 5 });
      const results = await Promise.allSettled(
        Array.from({ length: 50 }, () =>
          engine.surfaces.submitGeneric(caller, { requestId: 'r', pluginKey: 'demo', request: body }),
        ),
      );
      const won = results.filter((result) => result.status === 'fulfilled');
      expect(won).toHaveLength(1);
      await ended(store, (won[0] as PromiseFulfilledResult<TaskRecord>).value.taskId);
      expect(await readBalance(store, caller.user.id)).toBe(0);
    });

    test('a model without a price is free for administrators only', async () => {
      const model = 'unpriced';
      await engine.addChannel({ name: 'unpriced', models: [model] });
      const body = jsonRequest({ model, prompt: 'a [instant]' });
      const user = await addCaller(store);
      expect(
        (await failure(engine.surfaces.submitGeneric(user, { requestId: 'r', pluginKey: 'demo', request: body }))).code,
      ).toBe('billing.model_price_error');
      const admin = await addCaller(store, 0, { role: 10 });
      expect(
        (await engine.surfaces.submitGeneric(admin, { requestId: 'r', pluginKey: 'demo', request: body })).quota,
      ).toBe(0);
    });

    describe('another channel', () => {
      test('is tried after 429, with one reservation and one task', async () => {
        const model = 'two-channels';
        const mapping = { models: [model], modelMapping: { [model]: 'demo-video' } };
        const busy = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('{}', { status: 429 }) });
        await engine.addChannel({ ...mapping, name: 'busy', priority: 9, baseUrl: busy.url.origin });
        const good = await engine.addChannel({ ...mapping, name: 'good' });
        const { caller, sent, balance } = await submit('a [duration=0.3]', { model });
        const task = await ended(store, (await sent).taskId);
        await busy.stop(true);
        expect(task).toMatchObject({ status: 'SUCCESS', channelId: good });
        expect(await balance()).toBe(BALANCE - billFor(5));
        expect((await store.tasks.list({ userId: caller.user.id }, { page: 1, pageSize: 10 })).total).toBe(1);
      });

      test('is tried when the connection is refused', async () => {
        const model = 'one-dead-channel';
        const mapping = { models: [model], modelMapping: { [model]: 'demo-video' } };
        const baseUrl = `http://127.0.0.1:${await freePort()}`;
        await engine.addChannel({ ...mapping, name: 'dead', priority: 9, baseUrl });
        await engine.addChannel({ ...mapping, name: 'alive' });
        const { sent } = await submit('a [instant]', { model });
        expect((await sent).status).toBe('SUCCESS');
      });

      for (const [name, settings, served] of [
        ['is not tried after 5xx: a second send may buy the job twice', {}, false],
        ['is tried after 5xx where the channel says so', { retry_on_5xx: true }, true],
      ] as const) {
        test(name, async () => {
          const model = `broken-${served}`;
          const mapping = { models: [model], modelMapping: { [model]: 'demo-video' } };
          const broken = Bun.serve({
            port: 0,
            hostname: '127.0.0.1',
            fetch: () => new Response('{}', { status: 500 }),
          });
          await engine.addChannel({ ...mapping, settings, name: 'broken', priority: 9, baseUrl: broken.url.origin });
          await engine.addChannel({ ...mapping, name: 'good' });
          const { sent, balance } = await submit('a [instant]', { model });
          if (served) expect((await sent).status).toBe('SUCCESS');
          else expect((await failure(sent)).code).toBe('tasks.vendor_failed');
          await broken.stop(true);
          expect(await balance()).toBe(served ? BALANCE - billFor(5) : BALANCE);
        });
      }
    });
  });

  describe('fencing', () => {
    test('a lease that was lost to another node writes nothing and bills nothing', async () => {
      const { sent, balance } = await submit('a [duration=6000]');
      const { taskId } = await sent;
      // Another node claims the task when it is due. The engine's own lease, if any, is then older.
      const rival = await opened().openAnother();
      let claimed: TaskRecord | undefined;
      while (!claimed) {
        const got = await rival.tasks.claimDue({ owner: 'rival', limit: 10, leaseForMs: 60_000, exceptChannels: [] });
        claimed = got.find((task) => task.taskId === taskId);
      }
      const stale = { ...readLease(claimed), leaseSeq: claimed.leaseSeq - 1 };
      expect(await store.tasks.advance(stale, { status: 'SUCCESS' }, null)).toBe(false);
      expect((await store.tasks.byTaskId(taskId))?.status).not.toBe('SUCCESS');
      expect(await rival.tasks.advance(readLease(claimed), {}, 0)).toBe(true);
      expect(await balance()).toBe(BALANCE - billFor(5));
    });

    test('an interrupted submission is ended and refunded once, by one of two nodes', async () => {
      const caller = await addCaller(store);
      const taskId = `task_${crypto.randomUUID().replaceAll('-', '')}`;
      await store.transaction(async (tx) => {
        await tx.tasks.insert({
          taskId,
          platform: 'demo',
          userId: caller.user.id,
          walletId: caller.walletId,
          apiKeyId: caller.key.id,
          group: 'default',
          channelId: 1,
          action: 'text_to_video',
          quota: 700,
          properties: { input: '', originModelName: 'demo-video', upstreamModelName: 'demo-video' },
          execution: { requestId: 'r', pluginKey: 'demo', pluginVersion: '1', generation: 1, surface: 'generic' },
          billing: {
            expression: '0',
            priceKey: null,
            facts: {},
            groupRatio: 1,
            usd: 0,
            model: 'demo-video',
            action: '',
          },
          createdAt: 1,
          leaseOwner: 'a dead node',
          leaseForMs: -1,
        });
        await tx.ledger.reserve({
          userId: caller.user.id,
          walletId: caller.walletId,
          apiKeyId: caller.key.id,
          taskId,
          attempt: 1,
          amount: 700,
          at: 1,
        });
      });
      const other = await startEngine(await opened().openAnother(), sandbox);
      await other.start();
      expect(await ended(store, taskId)).toMatchObject({
        status: 'FAILURE',
        failReason: 'submission interrupted',
      });
      expect(await readBalance(store, caller.user.id)).toBe(BALANCE);
      expect((await store.ledger.byTask(taskId)).filter(({ kind }) => kind === 'refund')).toHaveLength(1);
      await other.stop();
      const named = [...engine.warnings, ...other.warnings].filter((line) => line.includes(taskId));
      expect(named.join()).toContain('the vendor may still have a job');
    });
  });
};

// A nested suite, so that the engine stops before its store is closed.
describeEachStore('the task engine', (opened) => describe('with the demo vendor', () => describeEngine(opened)), {
  databases: RULE_DATABASES,
});

describeEachStore('the sweep', (opened) => {
  test('polls the vendor once more, then ends tasks that are too old and bills those that were done', async () => {
    const { store } = opened();
    const engine = await startEngine(store, sandbox, { taskTimeoutMinutes: 60, pollIntervalMs: 60_000 });
    await engine.addChannel();
    const caller = await addCaller(store);
    const submitOne = (prompt: string) =>
      engine.surfaces.submitGeneric(caller, {
        requestId: 'r',
        pluginKey: 'demo',
        request: jsonRequest({ model: 'demo-video', prompt, seconds: 5 }),
      });
    const [slow, done] = await Promise.all([submitOne('a [duration=6000]'), submitOne('a [duration=0.1]')]);
    for (let status = ''; status !== 'succeeded'; ) status = (await engine.counted(done)).jobs[0]?.status ?? '';
    // Both were submitted two hours ago: the stored time is changed, because the clock cannot be.
    for (const task of [slow, done]) {
      let claimed: TaskRecord | undefined;
      while (!claimed) {
        const due = await store.tasks.claimOverdue({
          owner: 'x',
          limit: 10,
          leaseForMs: 60_000,
          submittedBefore: 4_000_000_000,
        });
        for (const other of due) {
          if (other.taskId === task.taskId) claimed = other;
          else await store.tasks.advance(readLease(other), {}, 60_000);
        }
      }
      await store.tasks.advance(readLease(claimed), { submitTime: Math.floor(Date.now() / 1000) - 7200 }, 60_000);
    }
    await engine.start();
    expect(await ended(store, slow.taskId)).toMatchObject({
      status: 'FAILURE',
      failReason: 'task timeout (60 minutes)',
      quota: 0,
    });
    expect(await ended(store, done.taskId)).toMatchObject({ status: 'SUCCESS', quota: billFor(5) });
    expect((await engine.counted(slow)).jobs[0]?.polls).toBe(1);
    expect(await readBalance(store, caller.user.id)).toBe(BALANCE - billFor(5));
    await engine.stop();
  });
});

describeEachStore('a stop', (opened) => {
  test('releases the leases of running polls, so that another node continues at once', async () => {
    const { store } = opened();
    const engine = await startEngine(store, sandbox);
    let polled = 0;
    const hanging = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch(request) {
        if (request.method === 'POST') return Response.json({ id: 'job_1', status: 'queued' });
        polled += 1;
        return new Promise<Response>(() => {});
      },
    });
    await engine.addChannel({ baseUrl: hanging.url.origin });
    const caller = await addCaller(store);
    const body = jsonRequest({ model: 'demo-video', prompt: 'a', seconds: 5 });
    await engine.start();
    const { taskId } = await engine.surfaces.submitGeneric(caller, {
      requestId: 'r',
      pluginKey: 'demo',
      request: body,
    });
    while (polled === 0) await Bun.sleep(5);
    expect((await store.tasks.byTaskId(taskId))?.leaseUntilMs).toBeGreaterThan(0);
    await engine.stopTasks(0);
    expect(await store.tasks.byTaskId(taskId)).toMatchObject({
      leaseUntilMs: 0,
      leaseOwner: null,
      status: 'SUBMITTED',
    });
    const rival = await opened().openAnother();
    const claim = { owner: 'rival', limit: 10, leaseForMs: 1000, exceptChannels: [] };
    expect((await rival.tasks.claimDue(claim)).map((task) => task.taskId)).toEqual([taskId]);
    await hanging.stop(true);
    await engine.stop();
  });
});
