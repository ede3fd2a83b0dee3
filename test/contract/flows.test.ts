import { expect, test } from 'bun:test';
import { randomAlnum } from '../../src/kernel/index.ts';
import type { FlowMatch, FlowRecord, Store } from '../../src/store/ports/index.ts';
import { describeEachStore } from './each-store.ts';
import { runRaw } from './open-raw.ts';

const newFlow = (change: Partial<FlowRecord> = {}): FlowRecord => ({
  tokenHash: randomAlnum(64),
  purpose: 'oauth',
  provider: 'github',
  intent: 'bind',
  userId: 7,
  sessionId: 'sid-7',
  payload: { verifier: 'v', nested: { list: [1, null, '\0 “ü”'] } },
  createdAt: 1000,
  expiresAt: 2000,
  consumedAt: null,
  ...change,
});
const readMatch = ({ purpose, provider, intent, userId, sessionId }: FlowRecord): FlowMatch => ({
  purpose,
  provider,
  intent,
  userId,
  sessionId,
});

describeEachStore('flows', (opened) => {
  async function addFlow(store: Store, change: Partial<FlowRecord> = {}): Promise<FlowRecord> {
    const flow = newFlow(change);
    expect(await store.flows.insert(flow)).toBe(true);
    return flow;
  }

  test('a flow is found as stored until it is used, and its use returns it', async () => {
    const { store } = opened();
    const flow = await addFlow(store);
    expect(await store.flows.find(flow.tokenHash, { purpose: 'oauth' }, 1500)).toEqual(flow);
    expect(await store.flows.find(flow.tokenHash, readMatch(flow), 1999)).toEqual(flow);
    expect(await store.flows.consume(flow.tokenHash, readMatch(flow), 1500)).toEqual({ ...flow, consumedAt: 1500 });
    expect(await store.flows.find(flow.tokenHash, { purpose: 'oauth' }, 1500)).toBeUndefined();
    expect(await store.flows.consume(flow.tokenHash, readMatch(flow), 1500)).toBeUndefined();
  });

  test('of 50 concurrent uses of one flow, one wins', async () => {
    const { store } = opened();
    const flow = await addFlow(store);
    const uses = Array.from({ length: 50 }, () => store.flows.consume(flow.tokenHash, readMatch(flow), 1500));
    expect((await Promise.all(uses)).filter((used) => used !== undefined)).toHaveLength(1);
  });

  test('a use inside a failed transaction leaves the flow unused', async () => {
    const { store } = opened();
    const flow = await addFlow(store);
    const attempt = store.transaction(async (tx) => {
      expect(await tx.flows.consume(flow.tokenHash, readMatch(flow), 1500)).toBeDefined();
      throw new Error('later');
    });
    await expect(attempt).rejects.toThrow('later');
    expect(await store.flows.consume(flow.tokenHash, readMatch(flow), 1500)).toBeDefined();
  });

  test.each([
    ['purpose', { purpose: 'passkey_login' }],
    ['provider', { provider: 'discord' }],
    ['provider taken away', { provider: '' }],
    ['intent', { intent: 'login' }],
    ['user', { userId: 8 }],
    ['no user', { userId: 0 }],
    ['session', { sessionId: 'sid-8' }],
  ] as const)('flow confusion: a flow of another %s is neither found nor used up', async (_, change) => {
    const { store } = opened();
    const flow = await addFlow(store);
    const wrong = { ...readMatch(flow), ...change };
    expect(await store.flows.find(flow.tokenHash, wrong, 1500)).toBeUndefined();
    expect(await store.flows.consume(flow.tokenHash, wrong, 1500)).toBeUndefined();
    expect(await store.flows.consume(flow.tokenHash, readMatch(flow), 1500)).toBeDefined();
  });

  test('an expired flow and an unknown token are refused', async () => {
    const { store } = opened();
    const flow = await addFlow(store);
    expect(await store.flows.find(flow.tokenHash, { purpose: 'oauth' }, 2000)).toBeUndefined();
    expect(await store.flows.consume(flow.tokenHash, { purpose: 'oauth' }, 2000)).toBeUndefined();
    expect(await store.flows.consume('unknown', { purpose: 'oauth' }, 1500)).toBeUndefined();
  });

  test('assertion replay: of 50 concurrent registrations of one assertion, one is the first', async () => {
    const { store } = opened();
    const claim = newFlow({ purpose: 'telegram_assertion' });
    const first = await Promise.all(Array.from({ length: 50 }, () => store.flows.insert(claim)));
    expect(first.filter(Boolean)).toHaveLength(1);
    expect(await store.flows.insert({ ...claim, purpose: 'oauth', payload: {} })).toBe(false);
    expect(await store.flows.find(claim.tokenHash, readMatch(claim), 1500)).toEqual(claim);
  });

  test('a flow stored without a payload has an empty one', async () => {
    const { store } = opened();
    const { tokenHash } = newFlow();
    await runRaw(
      opened(),
      `insert into auth_flows (token_hash, purpose, created_at, expires_at) values ('${tokenHash}', '2fa_login', 1000, 2000)`,
    );
    const match = { purpose: '2fa_login', provider: '', intent: '', userId: 0, sessionId: '' } as const;
    expect(await store.flows.consume(tokenHash, match, 1500)).toMatchObject({ payload: {}, consumedAt: 1500 });
  });
});

describeEachStore(
  'done flows',
  (opened) => {
    test('are deleted in batches once used or expired; the rest stays', async () => {
      const { store } = opened();
      for (const change of [
        { tokenHash: 'expired', expiresAt: 3000 },
        { tokenHash: 'expired-earlier', expiresAt: 10 },
        { tokenHash: 'used', expiresAt: 9000, consumedAt: 3000 },
        { tokenHash: 'both', expiresAt: 2000, consumedAt: 1500 },
        { tokenHash: 'used-lately', expiresAt: 9000, consumedAt: 3001 },
        { tokenHash: 'open', expiresAt: 3001 },
      ]) {
        await store.flows.insert(newFlow(change));
      }
      expect(await store.flows.deleteDone(3000, 3)).toBe(3);
      expect(await store.flows.deleteDone(3000, 3)).toBe(1);
      expect(await store.flows.deleteDone(3000, 3)).toBe(0);
      expect(await store.flows.find('open', { purpose: 'oauth' }, 3000)).toBeDefined();
      // Only a known token is refused.
      expect(await store.flows.insert(newFlow({ tokenHash: 'used-lately' }))).toBe(false);
      expect(await store.flows.insert(newFlow({ tokenHash: 'used' }))).toBe(true);
    });
  },
  { fresh: 'test' },
);
