/** Tasks that wait for a vendor with room: all of them run, and no client sees that it was full. */
import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { AppError, createSecretBox, err, randomBase64, sentence } from '../../src/kernel/index.ts';
import type { LoadedPlugin } from '../../src/plugins/index.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { storeErrors } from '../../src/store/drivers/errors.ts';
import { createFolderFiles } from '../../src/store/index.ts';
import { type FileStore, LONGEST_RETURN_MS, type Store, type TaskRecord } from '../../src/store/ports/index.ts';
import type { ClientRequest, TaskLimits, WaitingRules } from '../../src/tasks/index.ts';
import { describeEachStore, type OpenedStore } from '../contract/each-store.ts';
import { runRaw } from '../contract/open-raw.ts';
import { startSandbox } from '../plugins/support.ts';
import { DATABASES } from '../support/databases.ts';
import { IS_FULL_RUN, testInFullRun } from '../support/full-run.ts';
import { startRefusingVendor } from '../support/refusing-vendor.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import {
  addCaller,
  BALANCE,
  billFor,
  type Engine,
  ended,
  endedByTest,
  HELD,
  jsonRequest,
  readBalance,
  startEngine,
  WAITING,
} from './harness.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

type Setup = Partial<TaskLimits> & { files?: FileStore; vendorMaxRunning?: number; rules?: Partial<WaitingRules> };

async function withEngine(
  opened: OpenedStore,
  { rules = {}, ...limits }: Setup,
  work: (engine: Engine, store: Store) => Promise<void>,
): Promise<void> {
  const { store } = opened;
  const engine = await startEngine(store, sandbox, { waiting: () => ({ ...WAITING, ...rules }), ...limits });
  try {
    await engine.start();
    await work(engine, store);
    expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
  } finally {
    await engine.stop();
  }
}

type Caller = Awaited<ReturnType<typeof addCaller>>;
const BODY = { model: 'demo-video', prompt: 'a [duration=0.2]', seconds: 5 };

const submit = (engine: Engine, caller: Caller, prompt = 'a [duration=0.2]') =>
  engine.surfaces.submitGeneric(caller, {
    requestId: 'request',
    pluginKey: 'demo',
    request: jsonRequest({ model: 'demo-video', prompt, seconds: 5 }),
  });

const IMAGE = new TextEncoder().encode('an image of a cat');
function imageRequest(): ClientRequest {
  async function* stream() {
    yield IMAGE;
  }
  const file = { ref: 'request_file:image', field: 'image', filename: 'a.png', mimeType: 'image/png' };
  const fields = { model: ['demo-video'], prompt: ['a [duration=0.2]'], seconds: ['5'] };
  const body = { kind: 'multipart' as const, fields, files: [{ ...file, size: IMAGE.length, stream }] };
  return { ...jsonRequest(BODY), contentType: 'multipart/form-data', body };
}

const code = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'none',
    (error: unknown) => (error instanceof AppError ? error.code : String(error)),
  );

/** Says how many slots a request of the plugin takes. */
function setSlots(engine: Engine, slots: string): void {
  const { generation, release } = engine.plugins.pin();
  release();
  const loaded = generation.plugins.get('demo') as { -readonly [Name in keyof LoadedPlugin]: LoadedPlugin[Name] };
  // A copy: the engines of this process share what was read of a source.
  const vendor = { examples: [], ...loaded.manifest.vendor, capacity: { slots, queues: false } };
  loaded.manifest = { ...loaded.manifest, vendor };
}

describeEachStore(
  'waiting tasks',
  (opened) => {
    test('with a declared limit all tasks run, and the vendor sees no task beyond it', () =>
      withEngine(opened(), { vendorMaxRunning: 3 }, async (engine, store) => {
        await engine.addChannel({ limits: { maxRunning: 3 } });
        const callers = await Promise.all(Array.from({ length: 4 }, () => addCaller(store)));
        const tasks = await Promise.all(
          Array.from({ length: 16 }, (_, index) => submit(engine, callers[index % 4] as never, `a ${HELD}`)),
        );
        expect(tasks.filter(({ phase }) => phase === 'waiting').length).toBe(13);
        for (const { taskId } of tasks) expect((await endedByTest(engine, taskId)).status).toBe('SUCCESS');
        const counts = await engine.vendorCounts();
        expect(counts).toMatchObject({ creates: 16, jobs: 16, full: 0 });
        expect(counts.most_running).toBeLessThanOrEqual(3);
        for (const { user } of callers) expect(await readBalance(store, user.id)).toBe(BALANCE - 4 * billFor(5));
        expect(await store.waiting.classes()).toEqual([]);
      }));

    test('what the vendor reports about an account holds beside a declared limit, the strictest first', () =>
      withEngine(opened(), { vendorMaxRunning: 6 }, async (engine, store) => {
        const channelId = await engine.addChannel({ limits: { maxRunning: 6 } });
        const credentialId = engine.channels.onlyAccount({ id: channelId }).credential.id;
        const caller = await addCaller(store);
        // Six are more than a learned limit begins with.
        for (const [at, maxRunning] of [6, 2].entries()) {
          await store.credentials.claimBalance(credentialId, { seen: at, at: at + 1 });
          const limits = { models: { 'demo-video': { maxRunning } } };
          await store.credentials.recordReportedLimits(credentialId, at + 1, { limits });
          // All channels are read again.
          await engine.channels.update(channelId, at === 0 ? { limits: null } : { name: 'again' }, {
            mayMoveKey: false,
          });
          const tasks = await Promise.all(
            Array.from({ length: maxRunning + 1 }, () => submit(engine, caller, `a ${HELD}`)),
          );
          expect(tasks.filter(({ phase }) => phase === 'sending')).toHaveLength(maxRunning);
          for (const { taskId } of tasks) expect((await endedByTest(engine, taskId)).status).toBe('SUCCESS');
          expect(await engine.vendorCounts()).toMatchObject({ full: 0, most_running: 6 });
        }
      }));

    test('while an account grows, only those wait that find it full: others do not go behind them without end', () =>
      withEngine(opened(), {}, async (engine, store) => {
        await engine.addChannel();
        const caller = await addCaller(store);
        const submitMany = async () => {
          const tasks: TaskRecord[] = [];
          for (let count = 0; count < 25; count += 1) tasks.push(await submit(engine, caller, `a ${HELD}`));
          return tasks;
        };
        const tasks = (await Promise.all(Array.from({ length: 8 }, submitMany))).flat();
        // Six doublings, at each of which all eight clients may meet a full account.
        expect(tasks.filter(({ phase }) => phase === 'waiting').length).toBeLessThan(100);
        await until('the vendor has each task', async () => (await engine.vendorCounts()).creates === tasks.length);
      }));

    test('a request takes as many places as its plugin says, and one that is larger than the limit runs alone', () =>
      withEngine(opened(), { vendorMaxRunning: 2 }, async (engine, store) => {
        setSlots(engine, 'u("seconds") / 2.5');
        await engine.addChannel({ limits: { maxRunning: 5 } });
        const caller = await addCaller(store);
        const tasks = await Promise.all(Array.from({ length: 6 }, () => submit(engine, caller, `a ${HELD}`)));
        expect(tasks.map(({ slots }) => slots)).toEqual(Array(6).fill(2));
        for (const { taskId } of tasks) expect((await endedByTest(engine, taskId)).slots).toBe(2);
        expect(await engine.vendorCounts()).toMatchObject({ full: 0, most_running: 2 });
        setSlots(engine, '7');
        const large = await submit(engine, caller);
        expect(await ended(store, large.taskId)).toMatchObject({ status: 'SUCCESS', slots: 7 });
      }));

    test('a request that takes several places waits for them where the limit was learned', () =>
      withEngine(opened(), {}, async (engine, store) => {
        setSlots(engine, 'u("seconds") / 2.5');
        const id = await engine.addChannel();
        const scope = { pool: `#${id}`, model: 'demo-video' };
        await store.capacity.putCeiling(scope, { before: 0, after: 3, reason: 'refused' });
        await engine.capacity.clearAbandoned(await engine.channels.get(id));
        const caller = await addCaller(store);
        const tasks: TaskRecord[] = [];
        for (let count = 0; count < 3; count++) tasks.push(await submit(engine, caller, `a ${HELD}`));
        expect(tasks.map(({ phase, slots }) => [phase, slots])).toEqual([
          ['sending', 2],
          ['waiting', 2],
          ['waiting', 2],
        ]);
        await Bun.sleep(300);
        expect((await engine.vendorCounts()).creates).toBe(1);
        for (const { taskId } of tasks) expect((await endedByTest(engine, taskId)).status).toBe('SUCCESS');
      }));

    test('a request that takes several places is not overtaken by smaller ones of another model', () =>
      withEngine(opened(), {}, async (engine, store) => {
        setSlots(engine, 'model == "demo-video-pro" ? 3 : 1');
        await engine.billing.prices.save({ pluginKey: '*', model: 'demo-video-pro', expression: '0.01' });
        await engine.addChannel({ models: ['demo-video', 'demo-video-pro'], limits: { maxRunning: 3 } });
        const caller = await addCaller(store);
        const send = (model: string, seconds: number) =>
          engine.surfaces.submitGeneric(caller, {
            ...{ requestId: 'request', pluginKey: 'demo' },
            request: jsonRequest({ model, prompt: `a [duration=${seconds}]`, seconds: 5 }),
          });
        for (const seconds of [0.4, 0.8, 1.2]) await send('demo-video', seconds);
        const large = await send('demo-video-pro', 0.1);
        const small = await send('demo-video', 0.1);
        expect([large.phase, small.phase]).toEqual(['waiting', 'waiting']);
        // One of the three has ended.
        await until('a slot is free', async () => (await store.queueView.running()).every(({ slots }) => slots < 3));
        expect((await send('demo-video', 0.1)).phase).toBe('waiting');
        const [first, second] = [await ended(store, large.taskId), await ended(store, small.taskId)];
        expect([first.status, second.status]).toEqual(['SUCCESS', 'SUCCESS']);
        expect(first.dispatchedAtMs).toBeLessThan(second.dispatchedAtMs);
      }));

    test('a request that takes several places keeps none free while its user may run no more', () =>
      withEngine(opened(), {}, async (engine, store) => {
        setSlots(engine, 'model == "demo-video-pro" ? 3 : 1');
        await engine.billing.prices.save({ pluginKey: '*', model: 'demo-video-pro', expression: '0.01' });
        const id = await engine.addChannel({ models: ['demo-video', 'demo-video-pro'], limits: { maxRunning: 4 } });
        const [limited, other] = [await addCaller(store, BALANCE, { maxRunning: 1 }), await addCaller(store)];
        const send = (caller: typeof other, model: string) =>
          engine.surfaces.submitGeneric(caller, {
            ...{ requestId: 'request', pluginKey: 'demo' },
            request: jsonRequest({ model, prompt: `a ${HELD}`, seconds: 5 }),
          });
        for (const model of ['demo-video', 'demo-video-pro']) await send(other, model);
        const large = [await send(limited, 'demo-video-pro'), await send(limited, 'demo-video-pro')];
        expect(large.map(({ phase }) => phase)).toEqual(['waiting', 'waiting']);
        engine.finishJobs();
        await until('the first one is sent', async () => (await engine.vendorCounts()).creates === 3);
        const scope = engine.capacity.scope(engine.channels.onlyAccount({ id }), 'demo-video');
        await until('the smaller job before has ended', async () => engine.capacity.freeSlots(scope) === 1);
        expect((await send(other, 'demo-video')).phase).toBe('sending');
        for (const { taskId } of large) expect((await endedByTest(engine, taskId)).status).toBe('SUCCESS');
      }));

    test('tasks of a higher priority that nobody may send now keep no slot from others', async () => {
      const { store } = opened();
      const waiting = (group: string) => ({ ...WAITING, priority: group === 'first' ? 1 : 0 });
      const engine = await startEngine(store, sandbox, { waiting });
      try {
        await engine.start();
        await engine.addChannel({ groups: ['default', 'first'], limits: { maxRunning: 2 } });
        const [ahead, other] = [{ ...(await addCaller(store)), group: 'first' }, await addCaller(store)];
        const running = [await submit(engine, other, `a ${HELD}`), await submit(engine, other, `a ${HELD}`)];
        const [pausing, unreadable] = [await submit(engine, ahead), await submit(engine, ahead)];
        const free = await submit(engine, other);
        expect([pausing, unreadable, free].map(({ phase }) => phase)).toEqual(['waiting', 'waiting', 'waiting']);
        const pauseUntil = (await store.clock.nowMs()) + LONGEST_RETURN_MS;
        await runRaw(opened(), `update waiting set not_before = ${pauseUntil} where task_id = '${pausing.taskId}'`);
        await runRaw(opened(), `update waiting set node = 'gone' where task_id = '${unreadable.taskId}'`);
        for (const { taskId } of [...running, free]) expect((await endedByTest(engine, taskId)).status).toBe('SUCCESS');
        const left = await Promise.all([pausing, unreadable].map(({ taskId }) => store.tasks.byTaskId(taskId)));
        expect(left.map((task) => task?.phase)).toEqual(['waiting', 'waiting']);
      } finally {
        await engine.stop();
      }
    });

    test('a task that cannot pay for the account that it moves to leaves the trial there to others', () =>
      withEngine(opened(), {}, async (engine, store) => {
        const vendor = Bun.serve({ port: 0, fetch: () => new Response('{}', { status: 429 }) });
        const mapped = (to: string) => ({ models: ['alias'], modelMapping: { alias: to } });
        await engine.billing.prices.save({ pluginKey: '*', model: 'cheap', expression: '0.001 * u("seconds")' });
        await engine.addChannel({ ...mapped('cheap'), priority: 1, baseUrl: vendor.url.origin });
        const id = await engine.addChannel(mapped('demo-video'));
        const { capacity } = engine;
        const scope = capacity.scope(engine.channels.onlyAccount({ id }), 'demo-video');
        capacity.refused(capacity.begin(scope, { taskId: 'task_before', slots: 1, userId: 1 }), {
          kind: 'rate',
          retryAfterMs: 50,
        });
        await until('its trial is due', async () => capacity.wantsTrial(scope));
        const send = async (balance: number) => {
          const caller = await addCaller(store, balance);
          const request = jsonRequest({ model: 'alias', prompt: 'a [duration=0.1]', seconds: 5 });
          return engine.surfaces.submitGeneric(caller, { requestId: 'request', pluginKey: 'demo', request });
        };
        expect(await code(send(billFor(5) / 2))).toBe('billing.insufficient_quota');
        expect([capacity.wantsTrial(scope), capacity.freeSlots(scope)]).toEqual([true, 1]);
        expect(await ended(store, (await send(BALANCE)).taskId)).toMatchObject({ status: 'SUCCESS', channelId: id });
        await vendor.stop(true);
      }));

    testInFullRun('without a declared limit all tasks run too, and the vendor refuses few', () =>
      withEngine(opened(), { vendorMaxRunning: 3 }, async (engine, store) => {
        await engine.addChannel();
        const caller = await addCaller(store);
        const tasks = await Promise.all(Array.from({ length: 24 }, () => submit(engine, caller)));
        for (const { taskId } of tasks) expect((await ended(store, taskId)).status).toBe('SUCCESS');
        const counts = await engine.vendorCounts();
        expect(counts.jobs).toBe(24);
        expect(counts.full).toBeLessThan(8);
        expect(await readBalance(store, caller.user.id)).toBe(BALANCE - 24 * billFor(5));
      }),
    );

    test('a task that waits can be cancelled, and is refunded', () =>
      withEngine(opened(), {}, async (engine, store) => {
        await engine.addChannel({ limits: { maxRunning: 1 } });
        const caller = await addCaller(store);
        await submit(engine, caller, 'a [duration=6000]');
        const { taskId, phase } = await submit(engine, caller);
        expect(phase).toBe('waiting');
        const cancelled = await engine.tasks.cancel(caller.user.id, taskId);
        expect(cancelled).toMatchObject({ status: 'FAILURE', failReason: 'Canceled by the user.' });
        expect(await readBalance(store, caller.user.id)).toBe(BALANCE - billFor(5));
        expect((await engine.counted({ taskId })).creates).toBe(0);
        expect(await store.waiting.classes()).toEqual([]);
      }));

    test('a task whose price changed while it was cancelled keeps its place, and can be cancelled again', () =>
      withEngine(opened(), {}, async (engine, store) => {
        await engine.addChannel({ limits: { maxRunning: 1 } });
        const caller = await addCaller(store);
        await submit(engine, caller, 'a [duration=6000]');
        const { taskId } = await submit(engine, caller);
        const read = store.tasks.byUser;
        store.tasks.byUser = async (userId, id) => {
          const task = await read(userId, id);
          return task && { ...task, quota: task.quota + 1 };
        };
        expect(await code(engine.tasks.cancel(caller.user.id, taskId))).toContain('price');
        store.tasks.byUser = read;
        expect(await store.tasks.byTaskId(taskId)).toMatchObject({ phase: 'waiting', leaseOwner: null });
        expect(await store.waiting.classes()).toMatchObject([{ waiting: 1 }]);
        expect((await engine.tasks.cancel(caller.user.id, taskId)).status).toBe('FAILURE');
        expect(await readBalance(store, caller.user.id)).toBe(BALANCE - billFor(5));
      }));

    test('a bare 403 ends the task of the first user, and lets that of a second one wait', () =>
      withEngine(opened(), {}, async (engine, store) => {
        const vendor = Bun.serve({ port: 0, fetch: () => new Response('{}', { status: 403 }) });
        await engine.addChannel({ baseUrl: vendor.url.origin });
        const [first, second] = [await addCaller(store), await addCaller(store)];
        expect(await code(submit(engine, first))).toBe('tasks.vendor_failed');
        const { taskId, phase } = await submit(engine, second);
        expect(phase).toBe('waiting');
        expect(await readBalance(store, first.user.id)).toBe(BALANCE);
        const passedOver = async () =>
          (await store.tasks.events(taskId)).flatMap(({ kind, detail }) => (kind === 'passed_over' ? [detail] : []));
        expect(await passedOver()).toEqual(['#1 credential']);
        // However often it is turned away, its timeline has one row for it, with the latest ten.
        for (let time = 2; time <= 12; time += 1)
          await store.tasks.notePassedOver(taskId, { at: time, channels: [`#${time} rate`] });
        expect(await passedOver()).toEqual([Array.from({ length: 10 }, (_, index) => `#${index + 3} rate`).join(', ')]);
        await vendor.stop(true);
      }));

    test('a task that a cheaper model turned away goes on by the model, price and slots that were accepted', () =>
      withEngine(opened(), {}, async (engine, store) => {
        setSlots(engine, 'model == "cheap" ? 1 : 2');
        const vendor = Bun.serve({ port: 0, fetch: () => new Response('{}', { status: 429 }) });
        const mapped = (to: string) => ({ models: ['alias'], modelMapping: { alias: to } });
        await engine.billing.prices.save({ pluginKey: '*', model: 'cheap', expression: '0.001 * u("seconds")' });
        await engine.addChannel({ ...mapped('demo-video'), limits: { maxRunning: 2 } });
        const caller = await addCaller(store);
        const send = (prompt: string) => {
          const request = jsonRequest({ model: 'alias', prompt, seconds: 5 });
          return engine.surfaces.submitGeneric(caller, { requestId: 'request', pluginKey: 'demo', request });
        };
        await send('a [duration=6000]');
        const { taskId } = await send('a [instant]');
        const cheap = await engine.addChannel({ ...mapped('cheap'), baseUrl: vendor.url.origin });
        const read = async () => (await store.tasks.byTaskId(taskId)) as TaskRecord;
        await until(
          'it came back',
          async () =>
            engine.capacity.freeSlots(engine.capacity.scope(engine.channels.onlyAccount({ id: cheap }), 'cheap')) ===
              0 && (await read()).phase === 'waiting',
        );
        expect([(await read()).quota, await readBalance(store, caller.user.id)]).toEqual([
          billFor(5),
          BALANCE - 2 * billFor(5),
        ]);
        expect((await read()).slots).toBe(2);
        await engine.channels.update(cheap, { status: 2 }, { mayMoveKey: true });
        engine.finishJobs();
        expect((await ended(store, taskId)).status).toBe('SUCCESS');
        expect(await readBalance(store, caller.user.id)).toBe(BALANCE - 2 * billFor(5));
        await vendor.stop(true);
      }));

    /** A task that waits for `demo-video` while an account frees that maps its model to `other`. */
    async function moveToOther(engine: Engine, store: Store, other: string): Promise<string> {
      const mapped = (to: string) => ({ models: ['alias'], modelMapping: { alias: to } });
      await engine.addChannel({ ...mapped('demo-video'), limits: { maxRunning: 1 } });
      const caller = await addCaller(store);
      const send = (prompt: string) => {
        const request = jsonRequest({ model: 'alias', prompt, seconds: 5 });
        return engine.surfaces.submitGeneric(caller, { requestId: 'request', pluginKey: 'demo', request });
      };
      await send(`a ${HELD}`);
      const { taskId } = await send('a [duration=0.1] [seconds=8]');
      await engine.addChannel(mapped(other));
      return taskId;
    }

    test('a task that another model of the vendor serves costs at most what was accepted, by what was made', () =>
      withEngine(opened(), {}, async (engine, store) => {
        // An order of 5 s reserves nothing by either.
        for (const [model, usd] of Object.entries({ 'demo-video': 0.02, dear: 2 })) {
          const expression = `u("seconds") > 5 ? ${usd} * u("seconds") : 0`;
          await engine.billing.prices.save({ pluginKey: '*', model, expression });
        }
        const taskId = await moveToOther(engine, store, 'dear');
        expect(await ended(store, taskId)).toMatchObject({
          ...{ status: 'SUCCESS', quota: billFor(8), properties: { upstreamModelName: 'dear' } },
          billing: { outcome: { usd: 16, capped: true } },
        });
      }));

    test('the timeline says that an account had too few slots left, and not that it was dearer', () =>
      withEngine(opened(), {}, async (engine, store) => {
        const { capacity } = engine;
        const { lacking } = capacity;
        // Others have taken them since the task left its queue.
        capacity.lacking = (scope, wanted, held) =>
          held === undefined ? lacking(scope, wanted) : { pool: scope.pool, model: scope.model };
        await engine.billing.prices.save({ pluginKey: '*', model: 'cheap', expression: '0.001 * u("seconds")' });
        const taskId = await moveToOther(engine, store, 'cheap');
        const detail = await until('it is noted', async () => {
          const events = await store.tasks.events(taskId);
          return events.find(({ kind }) => kind === 'passed_over')?.detail;
        });
        expect(detail).toMatch(/^#\d+ slots/);
      }));

    test('a wait that is over ends the task, with a refund and the reason', () =>
      withEngine(opened(), { rules: { maxWaitMs: 300 } }, async (engine, store) => {
        await engine.addChannel({ limits: { maxRunning: 1 } });
        const caller = await addCaller(store);
        await submit(engine, caller, 'a [duration=6000]');
        const { taskId } = await submit(engine, caller);
        const task = await ended(store, taskId);
        expect(task).toMatchObject({ status: 'FAILURE', failReason: 'The vendor had no capacity within 1 minutes.' });
        expect(await readBalance(store, caller.user.id)).toBe(BALANCE - billFor(5));
      }));

    test('a task whose end fails holds up no other', () => {
      const rules = { maxWaitMs: 3000 };
      return withEngine(opened(), { rules }, async (engine, store) => {
        await engine.addChannel({ limits: { maxRunning: 1 } });
        const caller = await addCaller(store);
        await submit(engine, caller, `a ${HELD}`);
        const faulty = await submit(engine, caller);
        rules.maxWaitMs = 3_600_000;
        const other = await submit(engine, caller);
        const read = store.tasks.byTaskId;
        store.tasks.byTaskId = async (taskId) => {
          if (taskId === faulty.taskId) throw new Error('its row cannot be read');
          return read(taskId);
        };
        await until('its end has failed', async () =>
          engine.warnings.some((line) => /could not be (?:ended|sent)/.test(line)),
        );
        engine.finishJobs();
        expect((await ended(store, other.taskId)).status).toBe('SUCCESS');
        store.tasks.byTaskId = read;
        await endedByTest(engine, faulty.taskId);
      });
    });

    test('a task that finds no database when it is sent waits again, and is sent later', () =>
      withEngine(opened(), {}, async (engine, store) => {
        await engine.addChannel({ limits: { maxRunning: 1 } });
        const caller = await addCaller(store);
        await submit(engine, caller, `a ${HELD}`);
        const { taskId } = await submit(engine, caller);
        const { byId } = store.users;
        let refused = 0;
        store.users.byId = async (id) => {
          refused += 1;
          if (refused <= 2) throw storeErrors.unavailable();
          return byId(id);
        };
        engine.finishJobs();
        expect((await ended(store, taskId)).status).toBe('SUCCESS');
        store.users.byId = byId;
        expect(refused).toBeGreaterThan(2);
        expect((await engine.counted({ taskId })).creates).toBe(1);
      }));

    test('a task whose plugin the sandbox cannot call just now waits again, and is sent later', async () => {
      const { store } = opened();
      let refused = 0;
      const busy: Sandbox = {
        ...sandbox,
        async call(module, call) {
          if (!call.path.includes('buildSubmitRequest') || refused !== 1) return sandbox.call(module, call);
          refused += 1;
          return err({ kind: 'overloaded', ...sentence('plugins.stopping'), console: [] });
        },
      };
      const engine = await startEngine(store, busy, { waiting: () => WAITING });
      await engine.start();
      await engine.addChannel({ limits: { maxRunning: 1 } });
      const caller = await addCaller(store);
      await submit(engine, caller, `a ${HELD}`);
      const { taskId } = await submit(engine, caller);
      refused = 1;
      engine.finishJobs();
      await until('it was refused', () => refused === 2);
      await until('it waits again', async () => (await store.tasks.byTaskId(taskId))?.phase === 'waiting');
      await engine.stop();
      expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
    });

    test('a task whose start was committed while its answer was lost is sent later', () =>
      withEngine(opened(), {}, async (engine, store) => {
        await engine.addChannel({ limits: { maxRunning: 1 } });
        const caller = await addCaller(store);
        await submit(engine, caller, `a ${HELD}`);
        const { taskId } = await submit(engine, caller);
        const { transaction } = store;
        let isLost = false;
        store.transaction = async (work) => {
          const value = await transaction(work);
          if (isLost || (await store.tasks.byTaskId(taskId))?.phase !== 'sending') return value;
          isLost = true;
          throw storeErrors.outcome_unknown();
        };
        engine.finishJobs();
        expect((await ended(store, taskId)).status).toBe('SUCCESS');
        store.transaction = transaction;
        expect([isLost, (await engine.counted({ taskId })).creates]).toEqual([true, 1]);
      }));

    test('beyond the bounds nothing is stored and nothing reserved', () =>
      withEngine(opened(), { rules: { maxWaitingPerUser: 1 } }, async (engine, store) => {
        await engine.addChannel({ limits: { maxRunning: 1 } });
        const caller = await addCaller(store);
        await submit(engine, caller, 'a [duration=6000]');
        await submit(engine, caller);
        expect(await code(submit(engine, caller))).toBe('tasks.queue_full');
        expect(await readBalance(store, caller.user.id)).toBe(BALANCE - 2 * billFor(5));
        expect(await code(submit(engine, await addCaller(store)))).toBe('none');
      }));

    test('beyond the bounds, and without a balance, no file is stored', () =>
      withEngine(opened(), { rules: { maxWaitingPerUser: 1 } }, async (engine, store) => {
        await engine.addChannel({ limits: { maxRunning: 1 } });
        const caller = await addCaller(store);
        await submit(engine, caller, 'a [duration=6000]');
        await submit(engine, caller);
        const poor = await addCaller(store, 0);
        const send = (by: Caller) => engine.surfaces.submitVideo(by, 'request', imageRequest());
        expect([await code(send(caller)), await code(send(poor))]).toEqual([
          'tasks.queue_full',
          'billing.insufficient_quota',
        ]);
        expect([await engine.files.list('', 10), await store.results.files('', 10)]).toEqual([[], []]);
        expect(await code(send(await addCaller(store)))).toBe('none');
        expect(await engine.files.list('', 10)).toHaveLength(1);
      }));

    test('a free request with files waits, though its user owes money', () =>
      withEngine(opened(), {}, async (engine, store) => {
        await engine.addChannel({ limits: { maxRunning: 1 } });
        await submit(engine, await addCaller(store), 'a [duration=6000]');
        await engine.billing.prices.save({ pluginKey: '*', model: 'demo-video', expression: '0' });
        const debtor = await addCaller(store, -5);
        expect(await code(engine.surfaces.submitVideo(debtor, 'request', imageRequest()))).toBe('none');
        expect(await engine.files.list('', 10)).toHaveLength(1);
      }));

    test('a bound of a group counts the tasks of that group alone', async () => {
      const { store } = opened();
      const own = { maxWaiting: true, maxWaitingBytes: true };
      const waiting = (group: string) => (group === 'vip' ? { ...WAITING, maxWaiting: 1, own } : WAITING);
      const engine = await startEngine(store, sandbox, { waiting });
      await engine.start();
      await engine.addChannel({ limits: { maxRunning: 1 }, groups: ['default', 'vip'] });
      const caller = await addCaller(store);
      for (let sent = 0; sent < 3; sent += 1) await submit(engine, caller, `a ${HELD}`);
      const vip = { ...(await addCaller(store)), group: 'vip' };
      expect([await code(submit(engine, vip)), await code(submit(engine, vip))]).toEqual(['none', 'tasks.queue_full']);
      expect(await code(submit(engine, caller))).toBe('none');
      await engine.stop();
    });

    test('where nothing waits a declared limit answers 429', () =>
      withEngine(opened(), { rules: { maxWaitMs: 0 } }, async (engine, store) => {
        await engine.addChannel({ limits: { maxRunning: 1 } });
        const caller = await addCaller(store);
        await submit(engine, caller, 'a [duration=6000]');
        expect(await code(submit(engine, caller))).toBe('tasks.queue_full');
        expect(await readBalance(store, caller.user.id)).toBe(BALANCE - billFor(5));
      }));

    test('a key or user that is gone when the task would be sent ends it', () =>
      withEngine(opened(), {}, async (engine, store) => {
        await engine.addChannel({ limits: { maxRunning: 1 } });
        const first = await addCaller(store);
        const caller = await addCaller(store);
        await submit(engine, first, `a ${HELD}`);
        const { taskId } = await submit(engine, caller);
        await store.apiKeys.update(caller.user.id, caller.key.id, { status: 2 });
        engine.finishJobs();
        const task = await ended(store, taskId);
        expect(task.execution.failure?.code).toBe('tasks.caller_disabled');
        expect(await readBalance(store, caller.user.id)).toBe(BALANCE);
        expect((await engine.counted({ taskId })).creates).toBe(0);
      }));

    testInFullRun('a task whose key was switched off ends while the dispatcher is woken all the time', () =>
      withEngine(opened(), {}, async (engine, store) => {
        await engine.addChannel({ limits: { maxRunning: 1 } });
        const caller = await addCaller(store);
        await submit(engine, await addCaller(store), `a ${HELD}`);
        const { taskId } = await submit(engine, caller);
        await store.apiKeys.update(caller.user.id, caller.key.id, { status: 2 });
        const task = await until('it ends', async () => {
          await store.publish('waiting');
          const found = await store.tasks.byTaskId(taskId);
          return found?.status === 'FAILURE' && found;
        });
        expect(task.execution.failure?.code).toBe('tasks.caller_disabled');
      }),
    );

    const native = async (engine: Engine, caller: Caller, change: Partial<ClientRequest> = {}) => {
      const route = engine.surfaces.openNativePath('POST', '/demo/v1/videos');
      if (route?.kind !== 'route') throw new Error('the demo plugin has no such route');
      const request = { ...jsonRequest(BODY), path: '/demo/v1/videos', ...change };
      return route
        .answer({ caller, requestId: 'request', request, admit: async () => {} })
        .finally(() => route.release());
    };

    const waits = (store: Store, caller: Caller) =>
      until('a task waits', async () => (await store.waiting.countByUser([caller.user.id])).size > 0);

    test('a request to a plugin’s own route waits until its task is sent', () =>
      withEngine(opened(), {}, async (engine, store) => {
        await engine.addChannel({ limits: { maxRunning: 1 } });
        const caller = await addCaller(store);
        await submit(engine, caller, `a ${HELD}`);
        const answer = native(engine, caller);
        await waits(store, caller);
        engine.finishJobs();
        const { body } = await answer;
        const [, newest] = (await store.tasks.pageByUser(caller.user.id, { limit: 9, order: 'asc' })) ?? [];
        const second = await store.tasks.byTaskId(newest?.taskId ?? '');
        expect(JSON.stringify(body)).toContain(second?.taskId ?? 'none');
        expect(second).toMatchObject({ phase: 'sending', waitingSince: expect.any(Number) });
        expect(second?.upstreamTaskId).not.toBe('');
      }));

    test('when its time is over the task ends unsent and refunded', () =>
      withEngine(opened(), { submitWaitMs: 150 }, async (engine, store) => {
        await engine.addChannel({ limits: { maxRunning: 1 } });
        const caller = await addCaller(store);
        await submit(engine, caller, `a ${HELD}`);
        expect(await code(native(engine, caller))).toBe('tasks.wait_over');
        expect(await readBalance(store, caller.user.id)).toBe(BALANCE - billFor(5));
        expect((await engine.vendorCounts()).creates).toBe(1);
      }));

    test('when its client leaves the task ends unsent and refunded', () =>
      withEngine(opened(), {}, async (engine, store) => {
        await engine.addChannel({ limits: { maxRunning: 1 } });
        const caller = await addCaller(store);
        await submit(engine, caller, `a ${HELD}`);
        const left = new AbortController();
        const leaving = native(engine, caller, { signal: left.signal });
        await waits(store, caller);
        left.abort();
        expect(await code(leaving)).toBe('tasks.client_left');
        expect(await readBalance(store, caller.user.id)).toBe(BALANCE - billFor(5));
        expect((await engine.vendorCounts()).creates).toBe(1);
      }));

    test('when its client leaves while its vendor refuses it, it ends and is not sent again', () =>
      withEngine(opened(), {}, async (engine, store) => {
        const { promise: isRefused, resolve: refuse } = Promise.withResolvers<void>();
        let asked = 0;
        const vendor = Bun.serve({
          port: 0,
          async fetch() {
            asked += 1;
            if (asked === 2) await isRefused;
            return new Response('{}', { status: 429, headers: { 'retry-after': '1' } });
          },
        });
        await engine.addChannel({ baseUrl: vendor.url.origin });
        const caller = await addCaller(store);
        const client = new AbortController();
        const answer = code(native(engine, caller, { signal: client.signal }));
        await until('it is sent again', async () => asked === 2);
        client.abort();
        await Bun.sleep(50);
        refuse();
        expect(await answer).toBe('tasks.client_left');
        expect(await readBalance(store, caller.user.id)).toBe(BALANCE);
        await Bun.sleep(1500);
        expect(asked).toBe(2);
        await vendor.stop(true);
      }));

    test('with an Idempotency-Key it goes on without its client, and a repeat on another surface gets it at once', () =>
      withEngine(opened(), { submitWaitMs: 150 }, async (engine, store) => {
        await engine.addChannel({ limits: { maxRunning: 1 } });
        const caller = await addCaller(store);
        await submit(engine, caller, `a ${HELD}`);
        expect(await code(native(engine, caller, { idempotencyKey: 'k' }))).toBe('tasks.wait_over');
        const again = { requestId: 'r', pluginKey: 'demo', request: { ...jsonRequest(BODY), idempotencyKey: 'n' } };
        const first = await engine.surfaces.submitGeneric(caller, again);
        const repeat = await engine.surfaces.submitGeneric(caller, again);
        expect([repeat.taskId, repeat.phase, repeat.replayed]).toEqual([first.taskId, 'waiting', true]);
        const tasks = (await store.tasks.pageByUser(caller.user.id, { limit: 9, order: 'asc' })) ?? [];
        for (const { taskId } of tasks) expect((await endedByTest(engine, taskId)).status).toBe('SUCCESS');
        expect(tasks).toHaveLength(3);
      }));

    test('the files of a request wait with it, arrive complete, and are needed by nobody afterwards', () =>
      withEngine(opened(), {}, async (engine, store) => {
        await engine.addChannel({ limits: { maxRunning: 1 } });
        const caller = await addCaller(store);
        await submit(engine, caller, `a ${HELD}`);
        const { taskId, phase } = await engine.surfaces.submitVideo(caller, 'request', imageRequest());
        expect(phase).toBe('waiting');
        expect((await store.results.files('', 9)).map(({ refs }) => refs)).toEqual([1]);
        const done = await endedByTest(engine, taskId);
        expect(done.data).toMatchObject({ image: { bytes: IMAGE.length } });
        await until('nobody needs it', async () => (await store.results.files('', 9))[0]?.refs === 0);
      }));

    test.each([
      ['does not answer', 'unavailable'],
      ['is not the one that was there', 'foreign'],
      ...(IS_FULL_RUN ? [['stays silent', 'silent']] : []),
    ])('a task waits again, and no vendor is called, while the storage of its files %s', (_, fault) => {
      const folder = createFolderFiles({ folder: join(temporaryFolder(), 'kept'), minFreeBytes: 0 });
      let looks = 0;
      let isAway = false;
      const files: FileStore = {
        ...folder,
        findFault: async () => (isAway && fault === 'foreign' ? sentence('place.folder_foreign') : undefined),
        async size(sha256) {
          if (!isAway) return folder.size(sha256);
          looks += 1;
          if (fault === 'unavailable') throw storeErrors.results_unavailable();
          return fault === 'foreign' ? undefined : new Promise(() => {});
        },
      };
      return withEngine(opened(), { files }, async (engine, store) => {
        const channelId = await engine.addChannel({ limits: { maxRunning: 1 } });
        const caller = await addCaller(store);
        await submit(engine, caller, `a ${HELD}`);
        const { taskId } = await engine.surfaces.submitVideo(caller, 'request', imageRequest());
        isAway = true;
        engine.finishJobs();
        await until('its files were looked for', () => looks > 0);
        await until('it waits again', async () => (await store.tasks.byTaskId(taskId))?.phase === 'waiting');
        expect(await store.waiting.classes()).toMatchObject([{ waiting: 1 }]);
        const { capacity, channels } = engine;
        const scope = capacity.scope(channels.onlyAccount({ id: channelId }), 'demo-video');
        expect([(await engine.counted({ taskId })).creates, capacity.freeSlots(scope)]).toEqual([0, 1]);
      });
    });

    test('a task whose files are gone ends before its vendor is called, refunded', () => {
      const folder = createFolderFiles({ folder: join(temporaryFolder(), 'kept'), minFreeBytes: 0 });
      let isGone = false;
      const files: FileStore = { ...folder, size: async (sha256) => (isGone ? undefined : folder.size(sha256)) };
      return withEngine(opened(), { files }, async (engine, store) => {
        await engine.addChannel({ limits: { maxRunning: 1 } });
        const caller = await addCaller(store);
        await submit(engine, caller, `a ${HELD}`);
        const { taskId } = await engine.surfaces.submitVideo(caller, 'request', imageRequest());
        isGone = true;
        engine.finishJobs();
        const { status, execution } = await ended(store, taskId);
        expect([status, execution.failure?.code]).toEqual(['FAILURE', 'tasks.inputs_gone']);
        expect((await engine.counted({ taskId })).creates).toBe(0);
        expect(await readBalance(store, caller.user.id)).toBe(BALANCE - billFor(5));
      });
    });

    test('a task whose files cannot be stored does not wait behind a refusal: it ends, refunded', () => {
      const folder = createFolderFiles({ folder: join(temporaryFolder(), 'kept'), minFreeBytes: 0 });
      const full = { kind: 'full' as const, ...sentence('place.folder_full', { code: 'ENOSPC' }) };
      const files = { ...folder, put: async () => err(full) };
      return withEngine(opened(), { files }, async (engine, store) => {
        const vendor = startRefusingVendor({ url: engine.vendorUrl, key: 'vendor-key-0123456789' });
        vendor.refused.set('a-key-of-the-vendor', 429);
        await engine.addChannel({ key: 'a-key-of-the-vendor', baseUrl: vendor.url });
        const caller = await addCaller(store);
        await expect(engine.surfaces.submitVideo(caller, 'request', imageRequest())).rejects.toThrow();
        const [task] = (await store.tasks.pageByUser(caller.user.id, { limit: 1, order: 'asc' })) ?? [];
        expect([task?.status, await readBalance(store, caller.user.id)]).toEqual(['FAILURE', BALANCE]);
        await vendor.stop();
      });
    });

    test('a task that is cancelled while its vendor refuses it is not said to wait', () =>
      withEngine(opened(), {}, async (engine, store) => {
        const [arrived, refusal] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
        const vendor = Bun.serve({
          ...{ port: 0, hostname: '127.0.0.1' },
          async fetch() {
            arrived.resolve();
            await refusal.promise;
            return new Response('', { status: 429 });
          },
        });
        await engine.addChannel({ baseUrl: vendor.url.origin });
        const { key, ...caller } = await addCaller(store);
        const sealed = createSecretBox(['crypto-secret-of-the-tests']).seal(`whsec_${randomBase64(32)}`);
        const rotated = await store.apiKeys.rotateWebhookSecret(key.id, key.userId, {
          present: null,
          sealed,
          formers: [],
        });
        const request = { ...jsonRequest(BODY), callbackUrl: 'http://127.0.0.1:9/' };
        const order = { requestId: 'request', pluginKey: 'demo', request };
        const submitted = code(engine.surfaces.submitGeneric({ ...caller, key: rotated ?? null }, order));
        expect(await Promise.race([arrived.promise, submitted])).toBeUndefined();
        const [task] = (await store.tasks.pageByUser(caller.user.id, { limit: 1, order: 'asc' })) ?? [];
        expect(await code(engine.tasks.cancel(caller.user.id, task?.taskId ?? ''))).toBe('tasks.cancel_unsupported');
        refusal.resolve();
        expect(await submitted).toBe('tasks.task_cancelled');
        const { items } = await store.webhooks.listOfTask(task?.taskId ?? '', { page: 1, pageSize: 9 });
        expect(items.map(({ event }) => event)).toEqual(['task.finished']);
        await vendor.stop(true);
      }));

    testInFullRun('a task that its vendor had no room for waits again, with its turn, and is sent later', () =>
      withEngine(opened(), { vendorMaxRunning: 1 }, async (engine, store) => {
        await engine.addChannel({ limits: { maxRunning: 2 } });
        const caller = await addCaller(store);
        const first = await submit(engine, caller, `a ${HELD}`);
        const others = await Promise.all([1, 2].map(() => submit(engine, caller, 'a [duration=0.3]')));
        await until('the vendor has no room', async () => (await engine.vendorCounts()).full > 0);
        engine.finishJobs();
        for (const { taskId } of [first, ...others]) expect((await ended(store, taskId)).status).toBe('SUCCESS');
        expect(await readBalance(store, caller.user.id)).toBe(BALANCE - 3 * billFor(5));
      }),
    );

    test('what waits when the process ends is sent by the next one', async () => {
      const { store } = opened();
      const before = await startEngine(store, sandbox, { waiting: () => WAITING });
      await before.start();
      await before.addChannel({ limits: { maxRunning: 1 } });
      const caller = await addCaller(store);
      await submit(before, caller, `a ${HELD}`);
      const { taskId } = await submit(before, caller);
      await before.stopTasks(0);
      before.finishJobs();
      const after = await startEngine(store, sandbox, { waiting: () => WAITING });
      await after.start();
      // Until its lease is over the first task keeps its slot, which the earlier vendor has.
      await until('it is sent', async () => (await store.tasks.byTaskId(taskId))?.phase === 'sending');
      await after.stop();
      await before.stop();
    });
  },
  { fresh: 'test', databases: IS_FULL_RUN ? DATABASES : ['sqlite'] },
);
