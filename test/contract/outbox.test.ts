import { describe, expect, test } from 'bun:test';
import { randomAlnum } from '../../src/kernel/index.ts';
import {
  type FormerSecret,
  MAIL,
  type NewWebhook,
  type Store,
  type WebhookLease,
  type WebhookRecord,
} from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { addKey, describeEachStore } from './each-store.ts';
import { openRaw } from './open-raw.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NO_EXCLUSIONS = { hosts: [], users: [], userHosts: [] };
const NOTHING = { at: 1, httpStatus: 500, durationMs: 7, error: '' };

const notice = (change: Partial<NewWebhook> = {}): NewWebhook => ({
  eventId: `msg_${randomAlnum(27)}`,
  taskId: `task_${randomAlnum(32)}`,
  userId: 1,
  apiKeyId: 1,
  event: 'task.updated',
  url: 'https://receiver.example/hook?token=1',
  host: 'receiver.example',
  payload: { type: 'task.updated', data: { n: 1 } },
  createdAt: 100,
  ...change,
});

const readLease = ({ id, leaseOwner, leaseSeq }: WebhookRecord): WebhookLease => ({
  id,
  leaseOwner: leaseOwner ?? '',
  leaseSeq,
});

const claim = (store: Store, change: Partial<Parameters<Store['webhooks']['claim']>[0]> = {}) =>
  store.webhooks.claim({ owner: 'node-1', limit: 10, leaseForMs: 60_000, exclude: NO_EXCLUSIONS, ...change });

const ofTask = async (store: Store, taskId: string) =>
  (await store.webhooks.listOfTask(taskId, { page: 1, pageSize: 100 })).items;

const latest = async (store: Store, taskId: string): Promise<WebhookRecord> => {
  const [first] = await ofTask(store, taskId);
  if (!first) throw new Error('there is no such notice');
  return first;
};

describeEachStore(
  'the webhook outbox',
  (opened) => {
    test('a notice is claimed once, by one of two nodes, and its attempt is stored', async () => {
      const { store, openAnother } = opened();
      const other = await openAnother();
      const notices = Array.from({ length: 30 }, () => notice({ event: 'task.finished' }));
      await Promise.all(notices.map((each) => store.webhooks.putFinish(each, DAY)));
      const claimed = (
        await Promise.all([
          claim(store, { limit: 20 }),
          claim(other, { limit: 20, owner: 'node-2' }),
          claim(store, { limit: 20 }),
        ])
      ).flat();
      claimed.push(...(await claim(store, { limit: 30 })));
      expect(claimed.map(({ eventId }) => eventId).sort()).toEqual(notices.map(({ eventId }) => eventId).sort());
      expect(claimed[0]).toMatchObject({ status: 'pending', leaseSeq: 1, attempts: 0, retries: 0 });
      expect(await claim(other)).toEqual([]);

      const [first] = claimed as [WebhookRecord];
      const delivery = { at: 5, httpStatus: 204, durationMs: 12, error: '' };
      expect(await store.webhooks.settle(readLease(first), { status: 'delivered' }, delivery)).toBe(true);
      expect(await store.webhooks.settle(readLease(first), { status: 'delivered' }, delivery)).toBe(false);
      const [listed] = await ofTask(other, first.taskId);
      expect(listed).toMatchObject({ status: 'delivered', attempts: 1, leaseOwner: null, deliveries: [delivery] });
      expect(listed?.payload).toEqual({ type: 'task.updated', data: { n: 1 } });
    });

    test('the store says when the next notice is due: at once, then not while it is claimed, then at its retry', async () => {
      const { store } = opened();
      while ((await claim(store)).length > 0);
      const webhook = notice({ event: 'task.finished' });
      await store.webhooks.putFinish(webhook, DAY);
      expect(await store.webhooks.untilDue()).toBeLessThanOrEqual(0);
      const [claimed] = await claim(store);
      expect((await store.webhooks.untilDue()) ?? HOUR).toBeGreaterThan(0);
      await store.webhooks.settle(readLease(claimed as WebhookRecord), { status: 'retry', inMs: 5000 }, NOTHING);
      const retryInMs = (await store.webhooks.untilDue()) ?? Number.NaN;
      expect(retryInMs).toBeGreaterThan(0);
      expect(retryInMs).toBeLessThanOrEqual(5000);
    });

    test('an expired claim goes to another node, and the first can write nothing any more (fencing)', async () => {
      const { store } = opened();
      await store.webhooks.putFinish(notice({ event: 'task.finished' }), DAY);
      const [slow] = (await claim(store, { leaseForMs: 0 })) as [WebhookRecord];
      const [fast] = (await claim(store, { owner: 'node-2' })) as [WebhookRecord];
      expect(fast).toMatchObject({ id: slow.id, leaseSeq: 2, leaseOwner: 'node-2' });
      expect(await store.webhooks.settle(readLease(slow), { status: 'delivered' }, NOTHING)).toBe(false);
      expect(await store.webhooks.settle({ ...readLease(fast), leaseSeq: 1 }, { status: 'failed' }, NOTHING)).toBe(
        false,
      );
      expect((await ofTask(store, slow.taskId))[0]).toMatchObject({ status: 'pending', deliveries: [] });
      expect(await store.webhooks.settle(readLease(fast), { status: 'failed' }, NOTHING)).toBe(true);
      expect((await ofTask(store, slow.taskId))[0]).toMatchObject({ status: 'failed', deliveries: [NOTHING] });
    });

    test('an email is claimed for as long as emails may take, whatever the time of receivers', async () => {
      const { store } = opened();
      const mail = notice({ event: 'balance.low', url: MAIL, host: MAIL });
      await store.webhooks.putGatewayNotice(mail, DAY);
      await store.webhooks.putFinish(notice({ event: 'task.finished' }), DAY);
      expect(await claim(store, { leaseForMs: 0, mailLeaseForMs: 60_000 })).toHaveLength(2);
      expect((await claim(store)).map(({ url }) => url)).not.toContain(MAIL);
    });

    test('updates of a task: one that was not tried yet gets the newest payload', async () => {
      const { store } = opened();
      const first = notice();
      await store.webhooks.putUpdate(first, HOUR, DAY);
      await store.webhooks.putUpdate(notice({ taskId: first.taskId, payload: { n: 2 } }), HOUR, DAY);
      await store.webhooks.putUpdate(notice({ payload: { n: 'of another task' } }), HOUR, DAY);
      const listed = await ofTask(store, first.taskId);
      expect(listed).toHaveLength(1);
      expect(listed[0]).toMatchObject({ eventId: first.eventId, payload: { n: 2 }, status: 'pending' });
      expect(await claim(store)).toHaveLength(2);
    });

    test('updates of a task keep the interval, and one that was tried keeps its id and payload', async () => {
      const { store } = opened();
      const first = notice();
      const { taskId } = first;
      await store.webhooks.putUpdate(first, HOUR, DAY);
      const [claimed] = (await claim(store)) as [WebhookRecord];
      await store.webhooks.putUpdate(notice({ taskId, payload: { n: 2 } }), HOUR, DAY);
      await store.webhooks.putUpdate(notice({ taskId, payload: { n: 3 } }), HOUR, DAY);
      const next = await latest(store, taskId);
      const tried = (await ofTask(store, taskId))[1];
      expect(tried).toMatchObject({ eventId: first.eventId, status: 'superseded', payload: first.payload });
      expect(next.eventId).not.toBe(first.eventId);
      expect(next).toMatchObject({ status: 'pending', payload: { n: 3 } });
      expect(next.nextAttemptAtMs).toBe(claimed.lastAttemptAtMs + HOUR);
      expect(await claim(store)).toEqual([]);
      // A notice that arrived after all counts as delivered.
      await store.webhooks.settle(readLease(claimed), { status: 'delivered' }, { ...NOTHING, httpStatus: 200 });
      expect((await ofTask(store, taskId)).map(({ status }) => status)).toEqual(['pending', 'delivered']);
    });

    test('a new update does not reset the retry schedule of a failing receiver', async () => {
      const { store } = opened();
      const first = notice();
      await store.webhooks.putUpdate(first, 0, DAY);
      const [claimed] = (await claim(store)) as [WebhookRecord];
      await store.webhooks.settle(readLease(claimed), { status: 'retry', inMs: HOUR }, NOTHING);
      const waiting = await latest(store, first.taskId);
      expect(waiting).toMatchObject({ status: 'pending', attempts: 1, retries: 1, leaseOwner: null });
      await store.webhooks.putUpdate(notice({ taskId: first.taskId }), 0, DAY);
      const next = await latest(store, first.taskId);
      expect(next).toMatchObject({ attempts: 0, retries: 1, nextAttemptAtMs: waiting.nextAttemptAtMs });
    });

    test('the end is due at once and comes last: pending updates are superseded, and it waits for one under way', async () => {
      const { store } = opened();
      const update = notice();
      const { taskId } = update;
      await store.webhooks.putUpdate(update, HOUR, DAY);
      const [underway] = (await claim(store)) as [WebhookRecord];
      await store.webhooks.putUpdate(notice({ taskId, payload: { n: 2 } }), HOUR, DAY);
      await store.webhooks.putFinish(notice({ taskId, event: 'task.finished' }), DAY);
      const statuses = async () => (await ofTask(store, taskId)).map(({ event, status }) => `${event} ${status}`);
      expect(await statuses()).toEqual(['task.finished pending', 'task.updated superseded', 'task.updated superseded']);
      expect(await claim(store, { owner: 'node-2' })).toEqual([]);
      await store.webhooks.settle(readLease(underway), { status: 'retry', inMs: 0 }, NOTHING);
      const claimed = await claim(store, { owner: 'node-2' });
      expect(claimed.map(({ event }) => event)).toEqual(['task.finished']);
      expect((await statuses()).slice(1)).toEqual(['task.updated superseded', 'task.updated superseded']);
    });

    describe('one receiver gets the webhooks of a task in their order', () => {
      const put = async (store: Store) => {
        const finished = notice({ event: 'task.finished' });
        const kept = notice({ taskId: finished.taskId, event: 'task.artifacts_kept' });
        await store.webhooks.putFinish(finished, HOUR);
        await store.webhooks.putKept(kept, HOUR);
        return finished.taskId;
      };
      const readEvents = (claimed: WebhookRecord[]) => claimed.map(({ event }) => event);

      test('one at a time, from the lowest, on several nodes', async () => {
        const { store, openAnother } = opened();
        const other = await openAnother();
        const tasks = await Promise.all(Array.from({ length: 5 }, () => put(store)));
        const both = () => Promise.all([claim(store), claim(other, { owner: 'node-2' })]);
        const first = (await both()).flat();
        expect(readEvents(first)).toEqual(tasks.map(() => 'task.finished'));
        expect((await both()).flat()).toEqual([]);
        for (const each of first) await store.webhooks.settle(readLease(each), { status: 'delivered' }, NOTHING);
        const second = (await both()).flat();
        expect(readEvents(second)).toEqual(tasks.map(() => 'task.artifacts_kept'));
      });

      test('a failing one holds the next back until its last attempt, which then has its own', async () => {
        const { store } = opened();
        const taskId = await put(store);
        for (let attempt = 0; attempt < 3; attempt += 1) {
          const [only, ...others] = (await claim(store)) as [WebhookRecord];
          expect([only.event, others]).toEqual(['task.finished', []]);
          await store.webhooks.settle(readLease(only), { status: 'retry', inMs: 0 }, NOTHING);
        }
        const [last] = (await claim(store)) as [WebhookRecord];
        await store.webhooks.settle(readLease(last), { status: 'retry', inMs: 5 * 60_000 }, NOTHING);
        // It waits with the one before it, so that nothing is due.
        const [kept, finished] = (await ofTask(store, taskId)) as unknown as [WebhookRecord, WebhookRecord];
        expect(kept.nextAttemptAtMs).toBe(finished.nextAttemptAtMs);
        expect(await claim(store)).toEqual([]);
        expect(await store.webhooks.untilDue()).toBeGreaterThan(60_000);
        const later = notice({ taskId, event: 'task.updated' });
        await store.webhooks.putFinish(later, HOUR);
        expect((await latest(store, taskId)).nextAttemptAtMs).toBe(finished.nextAttemptAtMs);

        await store.webhooks.redeliver(finished.id, 0);
        const [final] = (await claim(store)) as [WebhookRecord];
        await store.webhooks.settle(readLease(final), { status: 'retry', inMs: 0 }, NOTHING);
        expect((await ofTask(store, taskId)).map(({ status }) => status)).toEqual(['pending', 'pending', 'failed']);
        expect(await store.webhooks.redeliver(kept.id, HOUR)).toBe(true);
        expect(readEvents(await claim(store))).toEqual(['task.artifacts_kept']);
      });

      test('other receivers of the same subject do not wait', async () => {
        const { store } = opened();
        const failing = notice({ taskId: 'channel 3', event: 'channel.failing', userId: 0 });
        const receivers = [
          failing,
          notice({ ...failing, url: 'mail' }),
          notice({ ...failing, url: 'mail', userId: 7 }),
        ];
        for (const each of receivers) {
          await store.webhooks.putGatewayNotice({ ...each, eventId: notice().eventId }, HOUR);
          await store.webhooks.putGatewayNotice(
            { ...each, eventId: notice().eventId, event: 'channel.recovered' },
            HOUR,
          );
        }
        expect(readEvents(await claim(store))).toEqual(receivers.map(() => 'channel.failing'));
      });
    });

    test('a notice written in a failed transaction does not exist', async () => {
      const { store } = opened();
      const { taskId } = notice();
      const failing = store.transaction(async (tx) => {
        await tx.webhooks.putFinish(notice({ taskId }), DAY);
        throw new Error('the transition failed');
      });
      await expect(failing).rejects.toThrow();
      expect(await ofTask(store, taskId)).toEqual([]);
    });

    test('busy hosts, users, and users at a host are left out of claims', async () => {
      const { store } = opened();
      const notices = [
        ['slow.example', 1],
        ['slow.example', 2],
        ['fast.example:8443', 2],
        ["o'dd", 3],
        ['fast.example:8443', 3],
      ] as const;
      for (const [host, userId] of notices) await store.webhooks.putFinish(notice({ host, userId }), DAY);
      const hosts = ['slow.example', "o'dd"];
      const userHosts = [{ host: 'fast.example:8443', userId: 2 }];
      const claimed = await claim(store, { exclude: { hosts, users: [], userHosts } });
      expect(claimed.map(({ host, userId }) => [host, userId])).toEqual([['fast.example:8443', 3]]);
      const next = await claim(store, { exclude: { hosts: [], users: [2, 3], userHosts: [] } });
      expect(next.map(({ host, userId }) => [host, userId])).toEqual([['slow.example', 1]]);
      expect(await claim(store)).toHaveLength(3);
    });

    test('the last attempt is made at the deadline; then the notice has failed, and redelivery starts over', async () => {
      const { store } = opened();
      await store.webhooks.putFinish(notice({ event: 'task.finished' }), HOUR);
      const [claimed] = (await claim(store)) as [WebhookRecord];
      await store.webhooks.settle(readLease(claimed), { status: 'retry', inMs: DAY }, NOTHING);
      const waiting = await latest(store, claimed.taskId);
      expect(waiting.nextAttemptAtMs).toBe(waiting.giveUpAtMs);

      expect(await store.webhooks.redeliver(waiting.id, 0)).toBe(true);
      const [again] = (await claim(store)) as [WebhookRecord];
      expect(again).toMatchObject({ eventId: claimed.eventId, attempts: 1, retries: 0, leaseSeq: 2 });
      expect(await store.webhooks.redeliver(again.id, DAY)).toBe(false);
      await store.webhooks.settle(readLease(again), { status: 'retry', inMs: 1 }, NOTHING);
      expect((await ofTask(store, claimed.taskId))[0]).toMatchObject({ status: 'failed', attempts: 2 });

      expect(await store.webhooks.byEventId('task_other', again.eventId)).toBeUndefined();
      expect(await store.webhooks.byEventId(again.taskId, again.eventId)).toMatchObject({ id: again.id });
      expect(await store.webhooks.redeliver(again.id, DAY)).toBe(true);
      expect((await claim(store))[0]).toMatchObject({ status: 'pending', attempts: 2, retries: 0 });
    });

    test('the log keeps the last 50 attempts of a notice', async () => {
      const { store } = opened();
      await store.webhooks.putFinish(notice(), DAY);
      let taskId = '';
      for (let nth = 1; nth <= 53; nth += 1) {
        const [claimed] = (await claim(store)) as [WebhookRecord];
        taskId = claimed.taskId;
        await store.webhooks.settle(readLease(claimed), { status: 'retry', inMs: -1 }, { ...NOTHING, at: nth });
      }
      const [listed] = await ofTask(store, taskId);
      expect(listed?.attempts).toBe(53);
      expect(listed?.deliveries.map(({ at }) => at)).toEqual(Array.from({ length: 50 }, (_, i) => i + 4));
    });

    test('a node that stops releases its claims; a start on SQLite ends those of the process before', async () => {
      const { store } = opened();
      for (let i = 0; i < 3; i += 1) await store.webhooks.putFinish(notice(), DAY);
      expect(await claim(store, { limit: 2, owner: 'node-1' })).toHaveLength(2);
      expect(await claim(store, { owner: 'node-2' })).toHaveLength(1);
      expect(await store.webhooks.releaseOwner('node-1')).toBe(2);
      expect(await claim(store, { owner: 'node-2' })).toHaveLength(2);
      expect(await store.webhooks.expireLeases()).toBe(3);
      expect(await claim(store)).toHaveLength(3);
    });

    test('old notices are deleted with their log; pending ones stay, and the depth counts them', async () => {
      const { store, ...place } = opened();
      expect(await store.webhooks.depth()).toEqual({ pending: 0, oldestSeconds: 0 });
      for (const createdAt of [100, 200, 300]) await store.webhooks.putFinish(notice({ createdAt }), DAY);
      for (const claimed of await claim(store, { limit: 2 })) {
        await store.webhooks.settle(readLease(claimed), { status: 'delivered' }, NOTHING);
      }
      const depth = await store.webhooks.depth();
      expect(depth.pending).toBe(1);
      expect(depth.oldestSeconds).toBeGreaterThan(1_000_000);
      expect(await store.webhooks.deleteOld(99, 10)).toBe(0);
      expect(await store.webhooks.deleteOld(300, 1)).toBe(1);
      expect(await store.webhooks.deleteOld(300, 10)).toBe(1);
      expect(await store.webhooks.deleteOld(300, 10)).toBe(0);
      const raw = openRaw(place);
      expect(Number((await raw.rows('select count(*) as n from webhook_deliveries'))[0]?.n)).toBe(0);
      await raw.close();
      expect((await store.webhooks.depth()).pending).toBe(1);
    });
  },
  { fresh: 'test' },
);

describeEachStore('webhook secrets of API keys', (opened) => {
  test('a rotation replaces the secret that was read; keys of others are not touched', async () => {
    const { store } = opened();
    const user = await addUser(store);
    const key = await addKey(store, user.id);
    expect(key).toMatchObject({ webhookUrl: null, webhookSecretSealed: null, webhookFormers: [] });
    const rotate = (
      present: string | null,
      { sealed, formers, userId = user.id }: { sealed: string; formers: FormerSecret[]; userId?: number },
    ) => store.apiKeys.rotateWebhookSecret(key.id, userId, { present, sealed, formers });
    const one = { sealed: 'one', until: 20 };
    expect(await rotate(null, { sealed: 'x', formers: [], userId: user.id + 1 })).toBeUndefined();
    expect(await rotate(null, { sealed: 'one', formers: [] })).toMatchObject({
      webhookSecretSealed: 'one',
      webhookFormers: [],
    });
    // The second of two concurrent rotations reads again.
    for (const present of [null, 'zero'])
      expect(await rotate(present, { sealed: 'two', formers: [one] })).toBeUndefined();
    expect(await rotate('one', { sealed: 'two', formers: [one] })).toMatchObject({
      webhookSecretSealed: 'two',
      webhookFormers: [one],
    });
    const change = { webhookUrl: 'https://receiver.example/' };
    expect(await store.apiKeys.update(key.id, user.id, change)).toMatchObject({
      ...change,
      webhookSecretSealed: 'two',
    });
    const found = await store.apiKeys.withWebhookSecret(key.id - 1, 10);
    expect(found).toEqual([{ id: key.id, name: 'a key', sealed: 'two' }]);
    expect(await store.apiKeys.withWebhookSecret(key.id, 10)).toEqual([]);
  });
});
