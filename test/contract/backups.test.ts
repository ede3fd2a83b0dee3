import { expect, test } from 'bun:test';
import { newUuid } from '../../src/kernel/index.ts';
import { RESTORED_NODE, type Store } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { addKey, addRunningTask, describeEachStore, NEW_WAITING, newSession, newTask } from './each-store.ts';

const MINUTE_MS = 60_000;
const begin = (
  { backups }: Store,
  id: string,
  given: { leaseForMs?: number; retrySeconds?: number; alone?: boolean; owner?: string; dueAt?: number } = {},
) =>
  backups.begin({
    ...{ id, owner: newUuid(), trigger: 'schedule', place: '/backups' },
    ...{ leaseForMs: MINUTE_MS, retrySeconds: 3600, alone: false },
    ...given,
  });
const done = { status: 'done', backup: 'a', bytes: 5, message: '' } as const;
const failed = { status: 'failed', backup: '', bytes: 0, message: 'the disk is full' } as const;

describeEachStore(
  'runs of backups',
  (opened) => {
    test('only one of several nodes begins the run of a day', async () => {
      const { store, openAnother } = opened();
      const other = await openAnother();
      const begun = await Promise.all([store, other, store, other].map((each) => begin(each, '2026-01-01')));
      expect(begun.filter((won) => won)).toHaveLength(1);
    });

    test('a run that is done is not begun again, one that failed only after a while', async () => {
      const { store } = opened();
      const owner = newUuid();
      expect(await begin(store, 'a', { owner })).toBe(true);
      expect(await begin(store, 'b')).toBe(false);
      expect(await store.backups.end({ id: 'a', owner: newUuid() }, done)).toBe(false);
      expect(await store.backups.end({ id: 'a', owner }, failed)).toBe(true);
      expect(await begin(store, 'a')).toBe(false);
      expect(await begin(store, 'a', { retrySeconds: 0, owner })).toBe(true);
      expect(await store.backups.end({ id: 'a', owner }, done)).toBe(true);
      expect(await begin(store, 'a', { retrySeconds: 0 })).toBe(false);
      expect(await store.backups.latestDone()).toMatchObject({ id: 'a', backup: 'a', bytes: 5 });
    });

    test('a run whose process died shows as failed and can be begun again', async () => {
      const { store } = opened();
      const owner = newUuid();
      expect(await begin(store, 'a', { owner, leaseForMs: -1 })).toBe(true);
      expect(await store.backups.latest(5)).toMatchObject([{ id: 'a', status: 'failed' }]);
      expect(await begin(store, 'a')).toBe(true);
      expect(await store.backups.renew({ id: 'a', owner }, MINUTE_MS)).toBe(false);
      expect(await begin(store, 'b')).toBe(false);
      expect(await begin(store, 'b', { alone: true })).toBe(true);
    });

    test('a clock that steps back repeats no daily backup', async () => {
      const { store } = opened();
      const owner = newUuid();
      await begin(store, 'today', { owner });
      await store.backups.end({ id: 'today', owner }, done);
      const [{ startedAt = 0 } = {}] = await store.backups.latest(1);
      expect(await begin(store, 'yesterday', { dueAt: startedAt - 86_400 })).toBe(false);
      expect(await begin(store, 'tomorrow', { dueAt: startedAt + 60 })).toBe(true);
    });

    test('what a clock that was far ahead has written holds up nothing', async () => {
      const { store } = opened();
      const owner = newUuid();
      await begin(store, 'a', { leaseForMs: 10 * 86_400_000 });
      expect(await store.backups.latest(5)).toMatchObject([{ id: 'a', status: 'failed' }]);
      expect(await begin(store, 'b', { owner })).toBe(true);
      await store.backups.end({ id: 'b', owner }, done);
      // Made under a clock a year ahead, as it looks a year later.
      const [{ startedAt = 0 } = {}] = await store.backups.latest(1);
      expect(await begin(store, 'c', { dueAt: startedAt - 365 * 86_400 })).toBe(true);
    });

    test('old runs are deleted', async () => {
      const { store } = opened();
      await begin(store, 'a');
      expect(await store.backups.deleteOld(1, 10)).toBe(0);
      expect(await store.backups.deleteOld(Number.MAX_SAFE_INTEGER, 10)).toBe(1);
    });

    test('the end of the past ends leases, sessions and webhooks, and a second time nothing', async () => {
      const { store } = opened();
      const user = await addUser(store);
      const key = await addKey(store, user.id);
      await store.sessions.insert(newSession(user.id));
      const open = await store.tasks.insert(newTask({ userId: user.id }));
      const running = await addRunningTask(store, { userId: user.id });
      await store.webhooks.putFinish(
        {
          ...{ eventId: newUuid(), taskId: running.taskId, userId: user.id, apiKeyId: key.id, event: 'task.finished' },
          ...{ url: 'https://example.org/', host: 'example.org', payload: {}, createdAt: 1 },
        },
        MINUTE_MS,
      );
      expect(await store.backups.invalidateState(1000)).toEqual({ submissions: 1, webhooks: 1, sessions: 1 });
      expect(await store.backups.invalidateState(1000)).toEqual({ submissions: 0, webhooks: 0, sessions: 0 });
      const claimed = await store.tasks.claimInterrupted({ owner: 'new', limit: 5, leaseForMs: MINUTE_MS });
      expect(claimed.map(({ taskId }) => taskId)).toEqual([open.taskId]);
      expect(await store.webhooks.depth()).toMatchObject({ pending: 0 });
      const { items } = await store.webhooks.listOfTask(running.taskId, { page: 1, pageSize: 5 });
      expect(items).toMatchObject([{ status: 'failed', deliveries: [{ error: expect.stringContaining('restored') }] }]);
    });

    test('what waited when the backup was made is not sent, and its wait is over', async () => {
      const { store } = opened();
      const waits = { channelId: 0, phase: 'waiting' as const, leaseOwner: null, leaseForMs: 0 };
      const { taskId } = await store.tasks.insert(newTask(waits));
      await store.waiting.put([{ ...NEW_WAITING, taskId }]);
      await store.backups.invalidateState(1000);
      const { class: name } = NEW_WAITING.class;
      expect(await store.waiting.heads({ class: name, priority: 0, nodes: [''], limit: 9 })).toEqual([]);
      expect(await store.waiting.age(9)).toMatchObject([{ taskId, node: RESTORED_NODE }]);
    });

    test('a database is measured by its rows and its money', async () => {
      const { store } = opened();
      const user = await addUser(store);
      await store.ledger.grant({ walletId: user.walletId, kind: 'grant', key: 'g', amount: 7, at: 1 });
      const { users, tasks, ledgerEntries, ledgerSum } = await store.backups.measure();
      expect({ users, tasks, ledgerEntries }).toEqual({ users: 1, tasks: 0, ledgerEntries });
      expect(BigInt(ledgerSum)).toBeGreaterThanOrEqual(7n);
    });
  },
  { fresh: 'test' },
);
