/** What must hold when answers are lost, vendors stall, or one row cannot be repaired. */
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { AppError, type Clock, systemClock } from '../../src/kernel/index.ts';
import type { Repositories, Store, TaskRecord } from '../../src/store/ports/index.ts';
import { addRunningTask, describeEachStore, newTask, type OpenedStore, readLease } from '../contract/each-store.ts';
import { runRaw } from '../contract/open-raw.ts';
import { startSandbox } from '../plugins/support.ts';
import { createMovableClock } from '../support/movable-clock.ts';
import { until } from '../support/until.ts';
import {
  addCaller,
  BALANCE,
  billFor,
  type Engine,
  ended,
  jsonRequest,
  newestTask,
  readBalance,
  startEngine,
} from './harness.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

type Vendor = { url: string; stop(): Promise<void> };
const openVendors: Vendor[] = [];

/** A vendor with answers of the test's own. */
function serveVendor(answer: (request: Request) => Response | Promise<Response>): Vendor {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 0, fetch: answer });
  const vendor = { url: server.url.origin, stop: () => server.stop(true) };
  openVendors.push(vendor);
  return vendor;
}
const accepted = () => Response.json({ id: 'job_1', status: 'queued' });
const doneJob = () => Response.json({ id: 'job_1', status: 'succeeded', progress: 100, usage: { seconds: 5 } });

const describeCrashes = (opened: () => OpenedStore) => {
  let store: Store;
  const engines: Engine[] = [];
  const start = async (
    limits: Parameters<typeof startEngine>[2] = {},
    over = store,
    clock?: Clock,
  ): Promise<Engine> => {
    const engine = await startEngine(over, sandbox, { ...limits, clock });
    engines.push(engine);
    return engine;
  };
  beforeEach(() => {
    store = opened().store;
  });
  afterEach(async () => {
    for (const engine of engines.splice(0)) await engine.stop();
    for (const vendor of openVendors.splice(0)) await vendor.stop();
  });
  const submit = async (engine: Engine, change: Record<string, number | string> = {}) => {
    const caller = await addCaller(store);
    const body = { model: 'demo-video', prompt: 'a [instant]', seconds: 5, ...change };
    const sent = engine.surfaces.submitGeneric(caller, {
      requestId: 'request',
      pluginKey: 'demo',
      request: jsonRequest(body),
    });
    return { caller, sent, balance: () => readBalance(store, caller.user.id) };
  };
  const sound = async () => expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });

  test('a vendor that takes longer than a lease is waited for, not polled again', async () => {
    const pollLeaseMs = 300;
    let renewals = 0;
    // In the database a lease lasts a minute, so that this test shows the renewals, not the speed
    // of the machine.
    const patient: Store['tasks'] = {
      ...store.tasks,
      claimDue: (claim) => store.tasks.claimDue({ ...claim, leaseForMs: 60_000 }),
      async renew(lease, leaseForMs) {
        const isHeld = await store.tasks.renew(lease, 60_000);
        if (isHeld && leaseForMs === pollLeaseMs) renewals += 1;
        return isHeld;
      },
    };
    const engine = await start({ pollLeaseMs }, { ...store, tasks: patient });
    let asked = 0;
    const vendor = serveVendor(async (request) => {
      if (request.method === 'POST') return accepted();
      asked += 1;
      // A third of a lease passes before each.
      await until('the claim has been renewed for longer than it holds', () => renewals >= 4);
      return doneJob();
    });
    await engine.addChannel({ baseUrl: vendor.url });
    await engine.start();
    const { sent, balance } = await submit(engine);
    expect((await ended(store, (await sent).taskId)).status).toBe('SUCCESS');
    expect(asked).toBe(1);
    expect(await balance()).toBe(BALANCE - billFor(5));
    await sound();
  });

  test('a task that another node claimed while it waited for a slot is not polled', async () => {
    const pollLeaseMs = 300;
    let claimed: TaskRecord[] = [];
    const renewed = new Set<string>();
    // One claim for both tasks. In the database its leases last a minute, on a slow machine too.
    const claimingOnce: Store['tasks'] = {
      ...store.tasks,
      async claimDue(claim) {
        if (claimed.length > 0) return [];
        claimed = await store.tasks.claimDue({ ...claim, leaseForMs: 60_000 });
        return claimed;
      },
      renew(lease, leaseForMs) {
        if (leaseForMs === pollLeaseMs) renewed.add(lease.taskId);
        return store.tasks.renew(lease, 60_000);
      },
    };
    const engine = await start({ pollLeaseMs, pollChannelConcurrency: 1 }, { ...store, tasks: claimingOnce });
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    let asked = 0;
    const vendor = serveVendor(async (request) => {
      if (request.method === 'POST') return accepted();
      asked += 1;
      await answered;
      return doneJob();
    });
    await engine.addChannel({ baseUrl: vendor.url });
    for (let i = 0; i < 2; i += 1) await (await submit(engine)).sent;
    await until('both tasks are due', async () => (await store.tasks.queueDepth()).due === 2);
    await engine.start();
    await until('the vendor is asked', () => asked === 1);
    const [polled, waiting] = claimed as [TaskRecord, TaskRecord];
    await store.tasks.renew(readLease(waiting), -1);
    const rival = { owner: 'rival', limit: 10, leaseForMs: 60_000, exceptChannels: [] };
    expect((await store.tasks.claimDue(rival)).map(({ taskId }) => taskId)).toEqual([waiting.taskId]);
    await until('the claim is old enough to be renewed', () => renewed.has(polled.taskId));
    answer();
    expect((await ended(store, polled.taskId)).status).toBe('SUCCESS');
    await until('the queue is empty', () => engine.tasks.stats().polls === 2 && engine.tasks.stats().running === 0);
    expect(asked).toBe(1);
    expect(await store.tasks.byTaskId(waiting.taskId)).toMatchObject({ leaseOwner: 'rival', polls: 0 });
    await sound();
  });

  test('while answers cannot be stored no vendor is polled and no failure is counted; afterwards polling continues', async () => {
    let looks = 0;
    let isWritable = false;
    const canStore = () => {
      looks += 1;
      return isWritable;
    };
    let asked = 0;
    const vendor = serveVendor((request) => {
      if (request.method === 'POST') return accepted();
      asked += 1;
      return doneJob();
    });
    const engine = await start({ canStore });
    await engine.addChannel({ baseUrl: vendor.url });
    const { sent } = await submit(engine);
    const { taskId } = await sent;
    await engine.start();
    await until('the engine has looked again and again', () => looks > 10);
    expect(asked).toBe(0);
    expect(await store.tasks.byTaskId(taskId)).toMatchObject({ status: 'SUBMITTED', polls: 0, pollFailures: 0 });
    isWritable = true;
    expect((await ended(store, taskId)).status).toBe('SUCCESS');
    await sound();
  });

  test('a lease that its process no longer renews goes to another node', async () => {
    const task = await addRunningTask(store);
    const claim = { limit: 10, leaseForMs: 1, exceptChannels: [] };
    expect(await store.tasks.claimDue({ ...claim, owner: 'a' })).toHaveLength(1);
    await Bun.sleep(5);
    expect((await store.tasks.claimDue({ ...claim, owner: 'b' })).map(({ taskId }) => taskId)).toEqual([task.taskId]);
  });

  test.each([{ poll: true }, { poll: false }])(
    'a task that cannot be ended does not keep others from ending, %p',
    async (options) => {
      // There is no second sweep.
      const sleep: Clock['sleep'] = (ms, signal) => systemClock.sleep(ms < 5000 ? ms : 3_600_000, signal);
      const engine = await start({}, store, { ...systemClock, sleep });
      const caller = await addCaller(store);
      const interrupted = async (userId: number, reserved: boolean) => {
        const task = newTask({ userId, quota: 700, leaseOwner: 'a dead node', leaseForMs: -1 });
        await store.transaction(async (tx) => {
          await tx.tasks.insert(task);
          if (reserved) {
            const { taskId } = task;
            await tx.ledger.reserve({
              walletId: userId,
              userId,
              apiKeyId: null,
              taskId,
              attempt: 1,
              amount: 700,
              at: 1,
            });
          }
        });
        return task.taskId;
      };
      // Its refund has no user: the store refuses it every time.
      const broken = await interrupted(999_999, false);
      const others = await Promise.all([1, 2, 3].map(() => interrupted(caller.user.id, true)));
      await engine.start(options);
      for (const taskId of others) expect((await ended(store, taskId)).status).toBe('FAILURE');
      expect(await readBalance(store, caller.user.id)).toBe(BALANCE);
      expect((await store.tasks.byTaskId(broken))?.status).toBe('NOT_START');
      expect(engine.warnings.join()).toContain(broken);
    },
  );

  test('the next channel starts with a whole submit lease', async () => {
    const engine = await start();
    let task: TaskRecord | undefined;
    let left = 0;
    const mine = () => newestTask(store);
    const busy = serveVendor(async () => {
      task = await mine();
      // Preparing the next channel's request takes all but a second of the lease.
      await store.tasks.renew(readLease(task), 1000);
      return new Response('{}', { status: 429 });
    });
    const good = serveVendor(async () => {
      left = (await mine()).leaseUntilMs - Date.now();
      return accepted();
    });
    await engine.addChannel({ name: 'busy', priority: 9, baseUrl: busy.url });
    await engine.addChannel({ name: 'good', baseUrl: good.url });
    const { sent } = await submit(engine);
    expect((await sent).status).toBe('SUBMITTED');
    expect(left).toBeGreaterThan(20_000);
  });

  describe('a lost commit acknowledgement', () => {
    /**
     * A store on which the commit number `lost` of a submission happens but is never acknowledged.
     * Channels are made before it, by commits that touch no task.
     */
    const losing = (lost: number): Store => {
      let commits = 0;
      return {
        ...store,
        async transaction<T>(work: (tx: Repositories) => Promise<T>): Promise<T> {
          let isOrder = false;
          const value = await store.transaction((tx) =>
            work(
              new Proxy(tx, {
                get(repositories, name, receiver) {
                  isOrder ||= name !== 'credentials' && name !== 'channels';
                  return Reflect.get(repositories, name, receiver);
                },
              }),
            ),
          );
          if (isOrder) commits += 1;
          if (isOrder && commits === lost) throw new AppError('store.unavailable', 'unavailable', { message: 'lost' });
          return value;
        },
      };
    };

    test('of the reservation: the task is ended and refunded when its lease expires', async () => {
      const engine = await start({}, losing(1));
      await engine.addChannel();
      const { caller, sent, balance } = await submit(engine);
      await expect(sent).rejects.toThrow('lost');
      const task = await newestTask(store, caller.user.id);
      expect(task.status).toBe('NOT_START');
      expect(await balance()).toBe(BALANCE - billFor(5));
      await store.tasks.renew(readLease(task), -1);
      await (await start()).start();
      expect((await ended(store, task.taskId)).failReason).toBe('submission interrupted');
      expect(await balance()).toBe(BALANCE);
      await sound();
    });

    test('of the vendor’s answer: it counts and is stored once', async () => {
      const engine = await start({}, losing(2));
      await engine.addChannel();
      const { sent, balance } = await submit(engine, { prompt: 'a [duration=6000]' });
      const { taskId } = await sent;
      expect(await store.tasks.byTaskId(taskId)).toMatchObject({ status: 'SUBMITTED' });
      expect((await engine.counted({ taskId })).creates).toBe(1);
      expect(await balance()).toBe(BALANCE - billFor(5));
    });

    test('of an immediate bill: it is settled once', async () => {
      const engine = await start({}, losing(2));
      await engine.addChannel();
      const { sent, balance } = await submit(engine, { prompt: 'a [instant] [seconds=2]' });
      expect((await sent).status).toBe('SUCCESS');
      expect(await balance()).toBe(BALANCE - billFor(2));
      await sound();
    });

    /**
     * A submission that moves to a channel with another price; the commit's acknowledgement is
     * lost.
     */
    const submitMoving = async (over: Store) => {
      const engine = await start({}, over);
      const busy = serveVendor(() => new Response('{}', { status: 429 }));
      // The upstream name decides, because the client's has no price of its own.
      await engine.billing.prices.save({ pluginKey: '*', model: 'dear', expression: '0.5 * u("seconds")' });
      const mapped = (to: string) => ({ models: ['alias'], modelMapping: { alias: to } });
      await engine.addChannel({ ...mapped('demo-video'), name: 'busy', priority: 9, baseUrl: busy.url });
      await engine.addChannel({ ...mapped('dear'), name: 'dear' });
      const { caller, sent, balance } = await submit(engine, { model: 'alias' });
      await expect(sent).rejects.toThrow('lost');
      const task = await newestTask(store, caller.user.id);
      return { task, balance };
    };

    test('of the move to a channel with another price: the refund is what is reserved now', async () => {
      const { task, balance } = await submitMoving(losing(2));
      expect(task.status).toBe('FAILURE');
      expect(await balance()).toBe(BALANCE);
      await sound();
    });

    test('of such a move, while the row cannot be read either: nothing is refunded until its amount is known', async () => {
      const over = losing(2);
      const unreadable = { ...over.tasks, byTaskId: () => Promise.reject(new Error('away')) };
      const { task, balance } = await submitMoving({ ...over, tasks: unreadable });
      expect(task.status).toBe('NOT_START');
      await store.tasks.renew(readLease(task), -1);
      await (await start()).start();
      expect((await ended(store, task.taskId)).failReason).toBe('submission interrupted');
      expect(await balance()).toBe(BALANCE);
      await sound();
    });
  });

  test('a bought job whose row cannot be read back is not offered for a retry', async () => {
    let fail = false;
    const flaky: Store = {
      ...store,
      tasks: {
        ...store.tasks,
        async byTaskId(taskId) {
          if (fail) throw new AppError('store.unavailable', 'unavailable', { message: 'lost' });
          return store.tasks.byTaskId(taskId);
        },
      },
    };
    const engine = await start({}, flaky);
    await engine.addChannel();
    fail = true;
    const { sent, balance } = await submit(engine);
    expect((await sent).status).toBe('SUCCESS');
    expect(await balance()).toBe(BALANCE - billFor(5));
  });

  test('an old task whose plugin cannot be called is kept for a while and then ended', async () => {
    const engine = await start({ taskTimeoutMinutes: 60 });
    const channelId = await engine.addChannel();
    const caller = await addCaller(store);
    const old = async (minutes: number) => {
      const task = await store.tasks.insert(newTask({ channelId, platform: 'not-loaded', userId: caller.user.id }));
      const submitTime = Math.floor(Date.now() / 1000) - minutes * 60;
      await store.tasks.advance(readLease(task), { status: 'SUBMITTED', upstreamTaskId: 'job_1', submitTime }, 60_000);
      return task.taskId;
    };
    const [justNow, longAgo] = [await old(61), await old(180)];
    await engine.start();
    expect((await ended(store, longAgo)).failReason).toBe('task timeout (60 minutes)');
    const asked = async () => (await store.tasks.byTaskId(justNow)) as TaskRecord;
    while ((await asked()).leaseSeq < 2 || (await asked()).leaseOwner !== null) await Bun.sleep(5);
    expect((await asked()).status).toBe('SUBMITTED');
  });

  test('after a jump of the clock or a suspend a process ends no submission of its own, and lets nobody cancel it', async () => {
    const quick: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(ms / 100, signal) };
    let looks = 0;
    const tasks: Store['tasks'] = {
      ...store.tasks,
      async claimInterrupted(claim) {
        const found = await store.tasks.claimInterrupted(claim);
        looks += 1;
        return found;
      },
    };
    const engine = await start({}, { ...store, tasks }, quick);
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    let asked = 0;
    const vendor = serveVendor(async (request) => {
      if (request.method !== 'POST') return doneJob();
      asked += 1;
      await answered;
      return accepted();
    });
    await engine.addChannel({ baseUrl: vendor.url });
    await engine.start();
    const { sent, caller } = await submit(engine);
    await until('the vendor is asked', () => asked === 1);
    // Its lease is then of the past. One whose process has died shows that the loop still works.
    const dead = await store.tasks.insert(newTask({ leaseOwner: 'dead' }));
    await runRaw(opened(), 'update tasks set lease_until = 1');
    const before = looks;
    expect((await ended(store, dead.taskId)).failReason).toBe('submission interrupted');
    await until('the loop has looked again', () => looks > before + 2);
    const [own] = (await store.tasks.pageByUser(caller.user.id, { limit: 1, order: 'asc' })) ?? [];
    const cancelled = await engine.tasks.cancel(caller.user.id, own?.taskId ?? '').catch((error: unknown) => error);
    expect(cancelled).toMatchObject({ code: 'tasks.cancel_unsupported' });
    answer();
    const { taskId } = await sent;
    expect((await ended(store, taskId)).status).toBe('SUCCESS');
    expect(asked).toBe(1);
    await sound();
  });

  test('a clock that jumps by a year, or back, makes no task too old, and one that is too old stays so', async () => {
    const clock = {
      ...createMovableClock(),
      sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms / 100, signal),
    };
    let sweeps = 0;
    const tasks: Store['tasks'] = {
      ...store.tasks,
      async claimOverdue(claim) {
        const found = await store.tasks.claimOverdue(claim);
        sweeps += 1;
        return found;
      },
    };
    const engine = await start({ taskTimeoutMinutes: 60, pollIntervalMs: 60_000 }, { ...store, tasks }, clock);
    const running = () => Response.json({ id: 'job_1', status: 'in_progress', progress: 10 });
    const vendor = serveVendor((request) => (request.method === 'POST' ? accepted() : running()));
    await engine.addChannel({ baseUrl: vendor.url });
    await engine.start();
    const { sent } = await submit(engine, { prompt: 'a' });
    const { taskId } = await sent;
    for (const days of [365, -730, 365]) {
      clock.set(days * 86_400_000);
      const before = sweeps;
      await until('two sweeps', () => sweeps > before + 1);
      expect((await store.tasks.byTaskId(taskId))?.status).not.toBe('FAILURE');
    }
    clock.pass(3_700_000);
    // By the database's clock an hour has not passed on PostgreSQL.
    if (opened().databaseUrl) await runRaw(opened(), 'update tasks set submit_time = submit_time - 3700');
    expect((await ended(store, taskId)).failReason).toBe('task timeout (60 minutes)');
    await sound();
  });

  test('a due time too far ahead, left by a clock that was set back, is pulled forward', async () => {
    const engine = await start();
    const vendor = serveVendor((request) => (request.method === 'POST' ? accepted() : doneJob()));
    await engine.addChannel({ baseUrl: vendor.url });
    const { sent } = await submit(engine);
    const { taskId } = await sent;
    const [claimed] = await store.tasks.claimOverdue({
      owner: 'x',
      limit: 1,
      leaseForMs: 1000,
      submittedBefore: 4_000_000_000,
    });
    await store.tasks.advance(readLease(claimed as TaskRecord), {}, 3_600_000);
    await engine.start();
    expect((await ended(store, taskId)).status).toBe('SUCCESS');
  });
};

// A nested suite, so that the engines stop before their store is closed.
describeEachStore('the task engine', (opened) => describe('in a crash', () => describeCrashes(opened)), {
  fresh: 'test',
});
