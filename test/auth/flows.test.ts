/** Temporary authentication flows: one token, one purpose, one use. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createFlows, type FlowBinding, type Flows, type TicketPurpose } from '../../src/auth/tokens/flows.ts';
import { deriveSessionKeys } from '../../src/auth/tokens/session-keys.ts';
import { sha256Hex } from '../../src/kernel/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { DATABASES } from '../support/databases.ts';
import { openTestStore, overriding } from './harness.ts';
import { refusal } from './refusal.ts';
import { createTestClock, type TestClock } from './test-clock.ts';

const SECRET = 'a session secret of the flows’ tests';
const LIVES: [TicketPurpose, number][] = [
  ['oauth', 600],
  ['2fa_login', 300],
  ['passkey_login', 300],
  ['passkey_register', 300],
  ['passkey_step_up', 300],
  ['telegram_bind', 300],
  ['wechat_login', 600],
];
const BOUND: FlowBinding = { provider: 'github', intent: 'bind', userId: 7, sessionId: 'sid-7' };

for (const dialect of DATABASES) {
  describe(`flows on ${dialect}`, () => {
    let store: Store;
    let stop: () => Promise<void>;
    let clock: TestClock;
    let flows: Flows;

    const flowsUnder = (...secrets: [string, ...string[]]) => createFlows(deriveSessionKeys(secrets).flow, clock);

    beforeAll(async () => {
      ({ store, stop } = await openTestStore(dialect));
      clock = createTestClock();
      flows = flowsUnder(SECRET);
    });
    afterAll(() => stop());

    const begin = async (purpose: TicketPurpose = 'oauth', binding = BOUND) =>
      (await flows.begin(store, { purpose: purpose, binding: binding, payload: { verifier: 'v' } })).flow_token;

    test.each(LIVES)('a flow for %s is valid for %d seconds and returns its data', async (purpose, seconds) => {
      const binding = purpose === '2fa_login' ? { userId: 7 } : BOUND;
      const ticket = await flows.begin(store, { purpose: purpose, binding: binding, payload: { verifier: 'v' } });
      expect(ticket).toEqual({
        flow_token: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
        expires_at: clock.unix() + seconds,
      });
      const expected = { purpose, ...binding, payload: { verifier: 'v' }, createdAt: clock.unix() };
      expect(await flows.find(store, { token: ticket.flow_token, purpose: purpose, binding: binding })).toMatchObject(
        expected,
      );
      clock.advance(seconds - 1);
      expect(
        await flows.consume(store, { token: ticket.flow_token, purpose: purpose, binding: binding }),
      ).toMatchObject(expected);

      const late = await flows.begin(store, { purpose: purpose, binding: binding, payload: {} });
      clock.advance(seconds);
      await refusal(
        flows.find(store, { token: late.flow_token, purpose: purpose, binding: binding }),
        'auth.flow_invalid',
      );
      await refusal(
        flows.consume(store, { token: late.flow_token, purpose: purpose, binding: binding }),
        'auth.flow_invalid',
      );
    });

    test('a database thief finds only digests under a key that is not in the database', async () => {
      const written: string[] = [];
      const spying = overriding(store, {
        flows: overriding(store.flows, {
          async insert(flow) {
            written.push(JSON.stringify(flow));
            return store.flows.insert(flow);
          },
        }),
      });
      const { flow_token } = await flows.begin(spying, { purpose: 'oauth', binding: BOUND, payload: {} });
      expect(written).toHaveLength(1);
      expect(written[0]).not.toContain(flow_token);
      expect(written[0]).not.toContain(sha256Hex(flow_token));
    });

    test.each([
      ['purpose', 'passkey_step_up', BOUND],
      ['purpose that asks for no user', '2fa_login', BOUND],
      ['provider', 'oauth', { ...BOUND, provider: 'discord' }],
      ['intent', 'oauth', { ...BOUND, intent: 'login' }],
      ['user', 'oauth', { ...BOUND, userId: 8 }],
      ['session', 'oauth', { ...BOUND, sessionId: 'sid-8' }],
      ['session left out', 'oauth', { provider: 'github', intent: 'bind', userId: 7 }],
      ['nothing named', 'oauth', {}],
    ] as [string, TicketPurpose, FlowBinding][])(
      'flow confusion: another %s neither finds it nor uses it up',
      async (_, purpose, binding) => {
        const token = await begin();
        await refusal(flows.find(store, { token: token, purpose: purpose, binding: binding }), 'auth.flow_invalid');
        await refusal(flows.consume(store, { token: token, purpose: purpose, binding: binding }), 'auth.flow_invalid');
        expect((await flows.consume(store, { token: token, purpose: 'oauth', binding: BOUND })).userId).toBe(7);
      },
    );

    test('a Telegram flow is found by its token alone and names the session that began it', async () => {
      const token = await begin('telegram_bind');
      const named = { provider: BOUND.provider ?? '', intent: 'bind' };
      expect(await flows.consume(store, { token: token, purpose: 'telegram_bind', binding: named })).toMatchObject({
        userId: 7,
        sessionId: 'sid-7',
      });
    });

    test('flow confusion: an anonymous flow is not accepted for a session', async () => {
      const token = await begin('passkey_login', {});
      await refusal(
        flows.consume(store, { token: token, purpose: 'passkey_login', binding: { userId: 7, sessionId: 'sid-7' } }),
        'auth.flow_invalid',
      );
      expect((await flows.consume(store, { token: token, purpose: 'passkey_login', binding: {} })).userId).toBe(0);
    });

    test.each([
      '',
      'x',
      'A'.repeat(42),
      'A'.repeat(43),
      'A'.repeat(44),
      'a.b.c',
      `${'A'.repeat(42)}\0`,
      '../../etc/passwd',
    ])('the token %j is none', async (token) => {
      await refusal(flows.find(store, { token: token, purpose: 'oauth', binding: BOUND }), 'auth.flow_invalid');
      expect(
        (await refusal(flows.consume(store, { token: token, purpose: 'oauth', binding: BOUND }), 'auth.flow_invalid'))
          .kind,
      ).toBe('invalid');
    });

    test('flow replay: 50 concurrent uses, each in its transaction: one succeeds, none afterwards', async () => {
      const token = await begin();
      const uses = Array.from({ length: 50 }, () =>
        store.transaction((tx) => flows.consume(tx, { token: token, purpose: 'oauth', binding: BOUND })),
      );
      const won = (await Promise.allSettled(uses)).filter(({ status }) => status === 'fulfilled');
      expect(won).toHaveLength(1);
      await refusal(flows.consume(store, { token: token, purpose: 'oauth', binding: BOUND }), 'auth.flow_invalid');
    });

    test('a use is rolled back with its transaction', async () => {
      const token = await begin();
      const failing = store.transaction(async (tx) => {
        await flows.consume(tx, { token: token, purpose: 'oauth', binding: BOUND });
        throw new Error('later');
      });
      await expect(failing).rejects.toThrow('later');
      expect((await flows.consume(store, { token: token, purpose: 'oauth', binding: BOUND })).provider).toBe('github');
    });

    test('rotating SESSION_SECRET with the former one set keeps flows; replacing it ends them', async () => {
      const token = await begin();
      await refusal(
        flowsUnder('another secret altogether').find(store, { token: token, purpose: 'oauth', binding: BOUND }),
        'auth.flow_invalid',
      );
      const rotated = flowsUnder('another secret altogether', SECRET);
      expect((await rotated.consume(store, { token: token, purpose: 'oauth', binding: BOUND })).userId).toBe(7);
    });

    describe('signed assertions', () => {
      const assertion = (text: string) => ({ provider: 'telegram', text, expiresAt: clock.unix() + 300 });

      test('assertion replay: 50 concurrent presentations: one is accepted, none later', async () => {
        const text = `id=1&auth_date=${clock.unix()}&${dialect}`;
        const claims = Array.from({ length: 50 }, () =>
          store.transaction((tx) => flows.claimAssertion(tx, assertion(text))),
        );
        const all = await Promise.allSettled(claims);
        expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
        expect((await refusal(flows.claimAssertion(store, assertion(text)), 'auth.assertion_replayed')).kind).toBe(
          'forbidden',
        );
      });

      test('an assertion whose transaction failed can be presented again; providers do not share them', async () => {
        const text = `id=2&auth_date=${clock.unix()}&${dialect}`;
        const failing = store.transaction(async (tx) => {
          await flows.claimAssertion(tx, assertion(text));
          throw new Error('later');
        });
        await expect(failing).rejects.toThrow('later');
        await flows.claimAssertion(store, assertion(text));
        await flows.claimAssertion(store, { ...assertion(text), provider: 'elsewhere' });
      });

      test('assertion replay: during a rotation of SESSION_SECRET, nodes with either secret recognise used assertions', async () => {
        const rotated = flowsUnder('another secret altogether', SECRET);
        for (const [first, second] of [
          [flows, rotated],
          [rotated, flows],
        ] as const) {
          const text = `id=3&auth_date=${clock.unix()}&${dialect}&${first === flows}`;
          await store.transaction((tx) => first.claimAssertion(tx, assertion(text)));
          const replay = store.transaction((tx) => second.claimAssertion(tx, assertion(text)));
          await refusal(replay, 'auth.assertion_replayed');
        }
      });

      test('its row cannot be used as a flow', async () => {
        const text = 'A'.repeat(43);
        await flows.claimAssertion(store, assertion(text));
        for (const [purpose] of LIVES)
          await refusal(flows.find(store, { token: text, purpose: purpose, binding: {} }), 'auth.flow_invalid');
      });
    });
  });
}
