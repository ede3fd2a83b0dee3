/** Cancelling: only tasks that no vendor has and no process is submitting; never two refunds. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { AppError } from '../../src/kernel/index.ts';
import type { Store, TaskRecord } from '../../src/store/ports/index.ts';
import { describeEachStore, newTask, type OpenedStore, readLease } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { until } from '../support/until.ts';
import {
  addCaller,
  BALANCE,
  type Engine,
  ended,
  jsonRequest,
  newestTask,
  readBalance,
  startEngine,
} from './harness.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

const PRICE = 700;

const describeCancelling = (opened: () => OpenedStore) => {
  let store: Store;
  let engine: Engine;
  const engines: Engine[] = [];
  beforeAll(async () => {
    store = opened().store;
    engine = await startEngine(store, sandbox);
    await engine.addChannel();
  });
  afterEach(async () => {
    for (const other of engines.splice(0)) await other.stop();
  });
  afterAll(async () => {
    await engine.stop();
    expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
  });

  /**
   * A submission with its reservation and a lease of `leaseForMs`, without a process behind it.
   */
  async function open(leaseForMs: number, execution: Partial<TaskRecord['execution']> = {}) {
    const { user } = await addCaller(store);
    const made = newTask({ userId: user.id, quota: PRICE, leaseOwner: 'a dead node', leaseForMs });
    const task = { ...made, execution: { ...made.execution, ...execution } };
    const row = await store.transaction(async (tx) => {
      const inserted = await tx.tasks.insert(task);
      const { taskId } = task;
      await tx.ledger.reserve({
        walletId: task.walletId,
        userId: user.id,
        apiKeyId: null,
        taskId,
        attempt: 1,
        amount: PRICE,
        at: 1,
      });
      return inserted;
    });
    return { user, row, balance: () => readBalance(store, user.id), lines: () => store.ledger.byTask(task.taskId) };
  }
  const refusal = async (work: Promise<unknown>): Promise<string> => {
    const error = await work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof AppError)) throw new Error(`expected a refusal, got ${String(error)}`);
    expect(error.kind).toBe(error.code === 'tasks.task_not_found' ? 'not_found' : 'conflict');
    return `${error.code}: ${error.message}`;
  };

  test('an abandoned submission is ended and refunded, and its timeline says why', async () => {
    const { user, row, balance, lines } = await open(-1);
    expect(await balance()).toBe(BALANCE - PRICE);
    const cancelled = await engine.tasks.cancel(user.id, row.taskId);
    expect(cancelled).toMatchObject({
      status: 'FAILURE',
      failReason: 'Canceled by the user.',
      quota: 0,
      leaseOwner: null,
    });
    expect(await balance()).toBe(BALANCE);
    expect((await lines()).map(({ kind }) => kind)).toEqual(['reserve', 'refund']);
    const events = await store.tasks.events(row.taskId);
    expect(events.map(({ kind, detail }) => `${kind} ${detail}`)).toEqual([
      'transition Canceled by the user.',
      `refunded ${PRICE}`,
    ]);
    expect(await refusal(engine.tasks.cancel(user.id, row.taskId))).toStartWith('tasks.task_finished');
    expect(await balance()).toBe(BALANCE);
  });

  test('the same for a response, which is then a cancelled one', async () => {
    const { user, row, balance } = await open(-1, { surface: 'proto_responses' });
    const request = jsonRequest({});
    const cancelled = { object: 'response', status: 'cancelled', error: null, output: [] };
    const id = row.taskId.replace('task_', 'resp_');
    expect(await engine.surfaces.cancelResponse(user.id, id, request)).toMatchObject(cancelled);
    expect(await engine.surfaces.retrieveResponse(user.id, id, request)).toMatchObject(cancelled);
    expect(await balance()).toBe(BALANCE);
  });

  test('a lease that was ended by a restart counts as expired', async () => {
    const { user, row } = await open(60_000);
    await store.tasks.releaseOwner('a dead node', { expireSubmits: true });
    expect((await engine.tasks.cancel(user.id, row.taskId)).status).toBe('FAILURE');
  });

  test('a task that is being submitted, is with the vendor or has ended cannot be cancelled and does not change', async () => {
    const { user, row, balance } = await open(60_000);
    const cancel = () => refusal(engine.tasks.cancel(user.id, row.taskId));
    expect(await cancel()).toContain('tasks.cancel_unsupported: The task is being submitted to the vendor');
    await store.tasks.advance(readLease(row), { status: 'SUBMITTED', upstreamTaskId: 'job_1' }, 3_600_000);
    expect(await cancel()).toContain('tasks.cancel_unsupported: The vendor has the task');
    const [claimed] = await store.tasks.claimOverdue({
      owner: 'me',
      limit: 1000,
      leaseForMs: 60_000,
      submittedBefore: 4e9,
    });
    if (!claimed) throw new Error('it could not be claimed');
    await store.tasks.advance(readLease(claimed), { status: 'SUCCESS', quota: PRICE }, null);
    expect(await cancel()).toStartWith('tasks.task_finished');
    expect(await balance()).toBe(BALANCE - PRICE);
  });

  test('another user’s task is not found', async () => {
    const { row } = await open(-1);
    const { user } = await addCaller(store);
    expect(await refusal(engine.tasks.cancel(user.id, row.taskId))).toStartWith('tasks.task_not_found');
    expect((await store.tasks.byTaskId(row.taskId))?.status).toBe('NOT_START');
  });

  test('20 cancellations and the recovery on two nodes race: one ends the task, with one refund', async () => {
    const tasks: Awaited<ReturnType<typeof open>>[] = [];
    for (let i = 0; i < 10; i += 1) tasks.push(await open(-1));
    const recovering = startEngine(await opened().openAnother(), sandbox);
    const other = await recovering;
    engines.push(other);
    // Handled at once: some are refused before the recovery has begun.
    const attempts = Promise.allSettled(
      tasks.flatMap(({ user, row }) =>
        [engine, other, engine, other].map((node) => node.tasks.cancel(user.id, row.taskId)),
      ),
    );
    await other.start();
    const outcomes = await attempts;
    for (const [i, { row, balance, lines }] of tasks.entries()) {
      const task = (await ended(store, row.taskId)) as TaskRecord;
      const won = outcomes.slice(i * 4, i * 4 + 4).filter(({ status }) => status === 'fulfilled').length;
      expect(won).toBe(task.failReason === 'Canceled by the user.' ? 1 : 0);
      expect(await balance()).toBe(BALANCE);
      expect((await lines()).map(({ kind }) => kind)).toEqual(['reserve', 'refund']);
    }
  });

  test('a slow process finds its submission cancelled and bills nothing', async () => {
    const slow = await startEngine(store, sandbox);
    engines.push(slow);
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    let orders = 0;
    const vendor = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch() {
        orders += 1;
        await answered;
        return Response.json({ id: 'job_1', status: 'queued' });
      },
    });
    await slow.addChannel({ baseUrl: vendor.url.origin, models: ['demo-video'], priority: 10 });
    const caller = await addCaller(store);
    const body = { model: 'demo-video', prompt: 'a', seconds: 5 };
    const sent = refusal(
      slow.surfaces
        .submitGeneric(caller, { requestId: 'r', pluginKey: 'demo', request: jsonRequest(body) })
        .catch(asConflict),
    );
    await until('the vendor has the order', () => orders === 1);
    const open = await newestTask(store, caller.user.id);
    await store.tasks.renew(readLease(open), -1);
    await slow.tasks.cancel(caller.user.id, open.taskId);
    answer();
    expect(await sent).toStartWith('tasks.submission_interrupted');
    expect((await store.tasks.byTaskId(open.taskId))?.failReason).toBe('Canceled by the user.');
    expect(await readBalance(store, caller.user.id)).toBe(BALANCE);
    expect(slow.warnings.join()).toContain('which is not polled');
    await vendor.stop(true);
  });
};

/** All refusals in this file are conflicts. */
function asConflict(error: unknown): never {
  if (error instanceof AppError) throw new AppError(error.code, 'conflict', { message: error.message });
  throw error;
}

describeEachStore(
  'cancelling',
  (opened) => {
    describe('tasks', () => describeCancelling(opened));
  },
  { databases: RULE_DATABASES },
);
