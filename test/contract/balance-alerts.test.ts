/** Warnings of a low balance: who is found, who may warn, and when the next one may come. */
import { expect, test } from 'bun:test';
import { readBalanceAlert } from '../../src/auth/own-account/balance-alert.ts';
import { createSecretBox, newUuid } from '../../src/kernel/index.ts';
import { NO_API_KEY, OPERATOR, STATUS, type Store } from '../../src/store/ports/index.ts';
import { WARN_AGAIN_SECONDS } from '../../src/store/repositories/money/balance-alerts.ts';
import { testSettings } from '../auth/harness.ts';
import { addUser } from '../support/add-user.ts';
import { addKey, describeEachStore } from './each-store.ts';

const DAY = 86_400_000;
const NOW = 1_790_000_000;

const setBalance = (store: Store, userId: number, to: number) =>
  store.ledger.setBalance({ walletId: userId, key: newUuid(), to, at: NOW });
const topUp = (store: Store, userId: number, amount: number) =>
  store.ledger.grant({ walletId: userId, kind: 'adjust', key: newUuid(), amount, at: NOW });
const LATER = NOW + WARN_AGAIN_SECONDS;
const claimAt = (store: Store, at: number, [userId, fallback]: [userId: number, fallback: number]) =>
  store.transaction((tx) => tx.balanceAlerts.claim(userId, fallback, at));
const claim = (store: Store, userId: number, fallback = 0) => claimAt(store, NOW, [userId, fallback]);
const chooseAt = (store: Store, at: number, [userId, threshold]: [userId: number, threshold: number | null]) =>
  store.balanceAlerts.choose(userId, { threshold, mail: true, webhookUrl: null }, at);
const choose = (store: Store, userId: number, threshold: number | null) => chooseAt(store, NOW, [userId, threshold]);

async function findAll(store: Store, fallback: number, now = NOW): Promise<number[]> {
  const found: number[] = [];
  for (let after: number | undefined = 0; after !== undefined; ) {
    const { low, last } = await store.balanceAlerts.findLow({ fallback, after, limit: 2, now });
    found.push(...low.map(({ userId }) => userId));
    after = last;
  }
  return found;
}

async function addUserWith(store: Store, balance: number, threshold?: number | null): Promise<number> {
  const { id: userId } = await addUser(store);
  await setBalance(store, userId, balance);
  if (threshold !== undefined) await choose(store, userId, threshold);
  return userId;
}

describeEachStore(
  'warnings of a low balance',
  (opened) => {
    test('users below their own threshold are found, or below the default where they chose none', async () => {
      const { store } = opened();
      const chosen = await addUserWith(store, 99, 100);
      await addUserWith(store, 100, 100);
      const undecided = await addUserWith(store, 40);
      const follows = await addUserWith(store, 40, null);
      const declined = await addUserWith(store, -5, 0);
      const { id: disabled } = await addUser(store, { status: STATUS.disabled });
      await choose(store, disabled, 100);
      expect(await findAll(store, 0)).toEqual([chosen]);
      expect(await findAll(store, 50)).toEqual([chosen, undecided, follows]);
      expect(await claim(store, declined, 50)).toBeUndefined();
      expect(await claim(store, disabled, 50)).toBeUndefined();
      // A choice keeps no other user's row.
      await store.balanceAlerts.forget(chosen);
      expect(await findAll(store, 0)).toEqual([]);
      expect(await store.balanceAlerts.byUser(chosen)).toBeUndefined();
    });

    test('only one of two nodes warns, and no balance changes', async () => {
      const { store, openAnother } = opened();
      const other = await openAnother();
      const userId = await addUserWith(store, 99, 100);
      const claims = await Promise.all([
        claim(store, userId),
        claim(other, userId),
        claim(store, userId),
        claim(other, userId),
      ]);
      expect(claims.filter((each) => each !== undefined)).toEqual([{ userId, balance: 99, threshold: 100 }]);
      expect(await store.balanceAlerts.byUser(userId)).toMatchObject({ toldAt: NOW, toldThreshold: 100 });
      expect((await store.users.byId(userId))?.quota).toBe(99);
      expect((await store.ledger.list(userId, { page: 1, pageSize: 9 })).total).toBe(1);
      // A user who chose nothing gets a row with the claim.
      const undecided = await addUserWith(store, 5);
      expect(
        (await Promise.all([claim(store, undecided, 50), claim(other, undecided, 50)])).filter(Boolean),
      ).toHaveLength(1);
      expect(await store.balanceAlerts.byUser(undecided)).toMatchObject({ threshold: null, mail: true });
    });

    test('a top-up to the threshold arms it again; a smaller one and the refund of a task do not', async () => {
      const { store } = opened();
      const userId = await addUserWith(store, 120, 100);
      const { id: apiKeyId } = await addKey(store, userId);
      const task = { walletId: userId, userId, apiKeyId: null, taskId: 'task_a', attempt: 1, at: NOW };
      expect(await claim(store, userId)).toBeUndefined();
      await store.ledger.reserve({ ...task, amount: 50 });
      // What counts is what running tasks have left.
      expect(await claim(store, userId)).toEqual({ userId, balance: 70, threshold: 100 });
      await store.ledger.post({ ...task, kind: 'refund', amount: 50 });
      await store.ledger.reserve({ ...task, apiKeyId, taskId: 'task_b', amount: 50 });
      expect(await claim(store, userId)).toBeUndefined();
      await topUp(store, userId, 20);
      await topUp(store, userId, -1);
      expect(await claim(store, userId)).toBeUndefined();
      await topUp(store, userId, 11);
      expect(await store.balanceAlerts.byUser(userId)).toMatchObject({ toldAt: 0 });
      expect(await claim(store, userId)).toBeUndefined();
      await setBalance(store, userId, 99);
      expect(await claim(store, userId)).toMatchObject({ balance: 99 });
    });

    test('another threshold arms it again; the same one, an address and a secret do not', async () => {
      const { store } = opened();
      const userId = await addUserWith(store, 99, 100);
      await claim(store, userId);
      await store.balanceAlerts.choose(
        userId,
        { threshold: 100, mail: false, webhookUrl: 'https://example.org/' },
        LATER,
      );
      await store.balanceAlerts.setSecret(userId, 'sealed');
      expect(await claimAt(store, LATER, [userId, 0])).toBeUndefined();
      await chooseAt(store, LATER, [userId, 200]);
      expect(await store.balanceAlerts.byUser(userId)).toMatchObject({
        ...{ threshold: 200, mail: true, webhookUrl: null, webhookSecretSealed: 'sealed', toldAt: 0 },
      });
      expect(await claim(store, userId)).toMatchObject({ threshold: 200 });
    });

    test('flood of warnings: a user who changes the threshold again and again is warned once an hour', async () => {
      const { store } = opened();
      const userId = await addUserWith(store, 99, 100);
      expect(await claim(store, userId)).toMatchObject({ threshold: 100 });
      for (const threshold of [200, null, 0, 150]) {
        await chooseAt(store, LATER - 1, [userId, threshold]);
        expect(await findAll(store, 300, LATER - 1)).toEqual([]);
        expect(await claimAt(store, LATER - 1, [userId, 300])).toBeUndefined();
      }
      // The warning for the last one is late, not lost.
      expect(await findAll(store, 0, LATER)).toEqual([userId]);
      expect(await claimAt(store, LATER, [userId, 0])).toMatchObject({ threshold: 150 });
      // One who goes back to the default is warned below it; a higher default warns nobody again.
      await chooseAt(store, LATER + 1, [userId, null]);
      expect(await claimAt(store, LATER + WARN_AGAIN_SECONDS, [userId, 300])).toBeUndefined();
      expect(await findAll(store, 120, LATER + WARN_AGAIN_SECONDS)).toEqual([userId]);
      expect(await claimAt(store, LATER + WARN_AGAIN_SECONDS, [userId, 120])).toMatchObject({ threshold: 120 });
    });

    test('two first addresses at once: one secret is shown, and it is the one that signs', async () => {
      const { store, openAnother } = opened();
      const other = await openAnother();
      const { id: userId } = await addUser(store);
      const secrets = ['first', 'second', 'third', 'fourth'];
      const set = await Promise.all(
        secrets.map((secret, i) => (i % 2 === 0 ? store : other).balanceAlerts.setFirstSecret(userId, secret)),
      );
      expect(set.filter(Boolean)).toHaveLength(1);
      const shown = secrets[set.indexOf(true)] ?? '';
      expect(await store.balanceAlerts.byUser(userId)).toMatchObject({ webhookSecretSealed: shown });
    });

    test('a claim whose notices cannot be queued is not made', async () => {
      const { store } = opened();
      const userId = await addUserWith(store, 99, 100);
      const failing = store.transaction(async (tx) => {
        await tx.balanceAlerts.claim(userId, 0, NOW);
        throw new Error('no notice');
      });
      await expect(failing).rejects.toThrow();
      expect(await claim(store, userId)).toMatchObject({ userId });
    });

    test("another's data: a user sees how their own webhook went, not how the operator's did", async () => {
      const { store } = opened();
      const user = await addUser(store);
      const read = () =>
        readBalanceAlert(
          { store, secretBox: createSecretBox(['a secret of the tests']), settings: () => testSettings() },
          { kind: 'pat', user, tokenHash: '' },
        );
      const deliver = async (userId: number, url: string, httpStatus: number) => {
        const eventId = newUuid();
        await store.webhooks.putGatewayNotice(
          {
            ...{ eventId, taskId: `balance:${user.id}`, userId, apiKeyId: NO_API_KEY, event: 'balance.low' },
            ...{ url, host: new URL(url).host, payload: {}, createdAt: NOW },
          },
          DAY,
        );
        const exclude = { hosts: [], users: [], userHosts: [] };
        const [claimed] = await store.webhooks.claim({ owner: 'n', limit: 1, leaseForMs: DAY, exclude });
        const lease = { id: claimed?.id ?? 0, leaseSeq: claimed?.leaseSeq ?? 0, leaseOwner: 'n' };
        const delivery = { at: NOW, httpStatus, durationMs: 1, error: '' };
        expect(await store.webhooks.settle(lease, { status: 'failed' }, delivery)).toBe(true);
      };
      await deliver(OPERATOR, 'https://operator.example/', 410);
      expect((await read()).last_delivery).toBeNull();
      await deliver(user.id, 'https://user.example/', 204);
      await deliver(OPERATOR, 'https://operator.example/', 410);
      expect((await read()).last_delivery).toMatchObject({ http_status: 204 });
    });

    test("the operator's latest notice that was tried is found, and no user's", async () => {
      const { store } = opened();
      const put = (userId: number, eventId: string) =>
        store.webhooks.putGatewayNotice(
          {
            ...{ eventId, taskId: eventId, userId, apiKeyId: NO_API_KEY, event: 'channel.failing', payload: {} },
            ...{ url: 'https://example.org/', host: 'example.org', createdAt: NOW },
          },
          DAY,
        );
      await put(OPERATOR, 'first');
      await put(7, 'of a user');
      expect(await store.webhooks.latestOfOperator()).toBeUndefined();
      const exclude = { hosts: [], users: [], userHosts: [] };
      for (const { id, leaseSeq } of await store.webhooks.claim({ owner: 'n', limit: 9, leaseForMs: DAY, exclude })) {
        const delivery = { at: NOW, httpStatus: 500, durationMs: 1, error: '' };
        await store.webhooks.settle({ id, leaseSeq, leaseOwner: 'n' }, { status: 'retry', inMs: DAY }, delivery);
      }
      await put(OPERATOR, 'not tried yet');
      expect(await store.webhooks.latestOfOperator()).toMatchObject({
        ...{ eventId: 'first', status: 'pending', attempts: 1, delivery: { httpStatus: 500 } },
      });
    });
  },
  { fresh: 'test' },
);
