import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { type Billing, type BillingSettings, createBilling, type QuoteRequest } from '../../src/billing/index.ts';
import { AppError, newTaskId, quoted, silentLogger, systemClock } from '../../src/kernel/index.ts';
import type { Store, TaskRecord } from '../../src/store/ports/index.ts';
import { addKey, describeEachStore, newTask, readLease } from '../contract/each-store.ts';
import { addUser } from '../support/add-user.ts';
import { RULE_DATABASES } from '../support/databases.ts';

const start = async (store: Store, settings: Partial<BillingSettings> = {}): Promise<Billing> => {
  const billing = createBilling({
    store,
    clock: systemClock,
    logger: silentLogger,
    syncFrequencyMs: 60_000,
    declaredFacts: (key) =>
      key === 'demo' ? { seconds: { kind: 'number' }, size: { kind: 'enum', values: ['s', 'l'] } } : undefined,
    settings: () => ({ groupRatios: {}, groupBudgets: {}, timezone: 'UTC', unpriced: 'admins', ...settings }),
  });
  await billing.start();
  return billing;
};

const ask = (change: Partial<QuoteRequest> = {}): QuoteRequest => ({
  pluginKey: 'demo',
  model: 'm',
  upstreamModel: 'vendor-m',
  action: 'text_to_video',
  facts: { seconds: 5, size: 's' },
  group: 'default',
  isAdmin: false,
  ...change,
});

async function readCode(work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
  return 'nothing was thrown';
}

describeEachStore(
  'billing',
  (opened) => {
    let store: Store;
    let billing: Billing;
    beforeEach(async () => {
      store = opened().store;
      billing = await start(store);
    });
    afterEach(() => billing.stop());
    const price = (expression: string, model = 'm', pluginKey = 'demo') =>
      billing.prices.save({ pluginKey, model, expression });

    test('another version of a plugin: which prices lose their model or a fact, and which models have none', async () => {
      const models = ['kept', 'lost', 'both', 'free'].map((name) => `${name}-${newTaskId(Date.now())}`);
      const [kept = '', lost = '', both = '', free = ''] = models;
      await price('0.1 * u("seconds")', kept);
      await price('0.1 * u("minutes") + u("seconds")', kept, '*');
      await price('0.1 * u("size2")', both, '*');
      await price('0.1', lost);
      await price('0.2', lost, '*');
      await price('0.3', lost, 'another');
      const checkChange = (before: string[] | null, after: string[], facts: string[]) =>
        billing.prices.checkChange({
          pluginKey: 'demo',
          before: before && { models: before, facts: ['seconds', 'size'] },
          after: { models: after, facts },
        });
      expect(checkChange([kept, lost], [kept, both, free], ['size'])).toEqual({
        orphaned: [
          { pluginKey: '*', model: lost },
          { pluginKey: 'demo', model: lost },
        ],
        undeclared: [
          { pluginKey: '*', model: both, facts: ['size2'] },
          // The plugin's own price goes before that of every plugin, which is not asked.
          { pluginKey: 'demo', model: kept, facts: ['seconds'] },
        ],
        unpriced: [free],
      });
      expect(checkChange([kept], [kept], ['seconds'])).toEqual({ orphaned: [], undeclared: [], unpriced: [] });
      expect(checkChange(null, [lost, free], [])).toEqual({ orphaned: [], undeclared: [], unpriced: [free] });
    });

    describe('saving a price', () => {
      for (const [name, expression] of [
        ['that does not parse', '0.1 *'],
        ['over a fact that the plugin does not declare', '0.1 * u("minutes")'],
        ['that is negative for some sample', '1 - u("seconds")'],
        ['that divides by zero for some sample', '1 / u("seconds")'],
        ['that counts with a text', '2 * u("size")'],
        ['that gives a text', 'u("size")'],
        ['that is negative for a rare combination of texts', 'u("size") === "l" && u("seconds") > 3000 ? -1 : 1'],
        ['that is negative for an action that it names', 'action === "remix" ? -1 : 1'],
        ['without an expression', '  '],
      ] as const) {
        test(`${name} is refused and changes nothing`, async () => {
          await price('3');
          expect(await readCode(() => price(expression))).toBe('billing.price_invalid');
          expect(billing.prices.all()).toMatchObject([{ expression: '3' }]);
          expect(await store.prices.all()).toMatchObject([{ expression: '3' }]);
        });
      }

      test('without a model is refused', async () => {
        expect(await readCode(() => price('1', ' '))).toBe('billing.price_invalid');
      });

      test('replaces the earlier one; a deleted one is gone, and only once', async () => {
        await price('1');
        await price('2 * u("seconds")');
        expect(billing.quote(ask()).usd).toBe(10);
        await billing.prices.delete('demo', 'm');
        expect(await readCode(() => billing.quote(ask()))).toBe('billing.model_price_error');
        expect(await readCode(() => billing.prices.delete('demo', 'm'))).toBe('billing.price_not_found');
      });
    });

    test('a price is found by plugin and model, for every plugin, then by the vendor’s name', async () => {
      await price('4', 'vendor-m', '*');
      expect(billing.quote(ask()).snapshot.priceKey).toBe('*::vendor-m');
      await price('3', 'vendor-m');
      expect(billing.quote(ask()).snapshot.priceKey).toBe('demo::vendor-m');
      await price('2', 'm', '*');
      expect(billing.quote(ask()).snapshot.priceKey).toBe('*::m');
      await price('1');
      expect(billing.quote(ask()).snapshot.priceKey).toBe('demo::m');
    });

    test('needs facts only where the price in force reads one', async () => {
      expect(billing.needsFacts('demo', 'm', 'vendor-m')).toBe(false);
      await price('1');
      expect(billing.needsFacts('demo', 'm', 'vendor-m')).toBe(false);
      await price('u("seconds")');
      expect(billing.needsFacts('demo', 'm', 'vendor-m')).toBe(true);
    });

    test('a quote is rounded to whole quota and multiplied by the ratio of the group', async () => {
      await price('0.0000015 * u("seconds")');
      billing.stop();
      billing = await start(store, { groupRatios: { vip: 0.5, free: 0 } });
      const quota = (group: string) => billing.quote(ask({ group })).quota;
      expect({ default: quota('default'), vip: quota('vip'), free: quota('free') }).toEqual({
        default: 4,
        vip: 2,
        free: 0,
      });
      expect([quota('unnamed'), quota('constructor'), quota('__proto__')]).toEqual([4, 4, 4]);
      expect(billing.quote(ask({ group: 'vip' })).snapshot.groupRatio).toBe(0.5);
    });

    test('a quote tells its steps, and a missing fact those that the plugin declares', async () => {
      await price('0.02 * u("seconds")');
      billing.stop();
      billing = await start(store, { groupRatios: { vip: 0.5 } });
      expect(billing.quote(ask({ group: 'vip' }))).toMatchObject({
        usd: 0.1,
        quota: 25_000,
        steps: ['0.02 * 5 = 0.1 USD', 'round(0.1 * 500000 * 0.5) = 25000'],
      });
      expect(() => billing.quote(ask({ facts: {} }))).toThrow(
        'The price needs "seconds", which isn\'t in the request. The plugin declares: seconds, size.',
      );
    });

    for (const [name, expression, facts] of [
      ['a missing fact', 'u("seconds")', {}],
      ['a negative result', 'u("seconds")', { seconds: -1 }],
      ['more than money can count', 'u("seconds")', { seconds: 1e12 }],
    ] as const) {
      test(`${name} is an error and no price`, async () => {
        await price(expression);
        expect(await readCode(() => billing.quote(ask({ facts })))).toBe('billing.model_price_error');
      });
    }

    test('a model without price follows billing.unpriced', async () => {
      const may = async () => [
        await readCode(() => billing.quote(ask())),
        await readCode(() => billing.quote(ask({ isAdmin: true }))),
      ];
      const [refused, free] = ['billing.model_price_error', 'nothing was thrown'];
      expect(await may()).toEqual([refused, free]);
      for (const [rule, expected] of [
        ['everyone', [free, free]],
        ['nobody', [refused, refused]],
        ['admins', [refused, free]],
      ] as const) {
        billing.stop();
        billing = await start(store, { unpriced: rule });
        expect(await may()).toEqual([...expected]);
      }
    });

    describe('a final bill', () => {
      const reserved = (reported: Partial<TaskRecord['billing']> = {}) => {
        const { snapshot } = billing.quote(ask());
        return newTask({ quota: 2_500_000, billing: { ...snapshot, ...reported } }) as unknown as TaskRecord;
      };
      const ended = async (completionFacts: TaskRecord['billing']['facts']) =>
        billing.finalBill(reserved({ completionFacts })).quota;
      test('takes the facts of the completion over those of the request, with the frozen price and ratio', async () => {
        await price('u("seconds")');
        expect(await ended({ seconds: 2 })).toBe(1_000_000);
        expect(await ended({})).toBe(2_500_000);
      });
      test('takes those of the completion over those of the vendor’s first answer, and these over those of the request', async () => {
        await price('u("seconds") * (u("size") === "l" ? 2 : 1)');
        const billed = (reported: Partial<TaskRecord['billing']>) => billing.finalBill(reserved(reported)).quota;
        expect(billed({ submissionFacts: { seconds: 3 } })).toBe(1_500_000);
        expect(billed({ submissionFacts: { seconds: 3 }, completionFacts: { seconds: 2 } })).toBe(1_000_000);
        expect(billed({ submissionFacts: { seconds: 3 }, completionFacts: { size: 'l' } })).toBe(3_000_000);
      });

      test('is not touched by a price or a group ratio that changed in the meantime', async () => {
        await price('u("seconds")');
        const task = reserved();
        await price('100 * u("seconds")');
        billing.stop();
        billing = await start(store, { groupRatios: { default: 7 } });
        expect(billing.finalBill(task).quota).toBe(2_500_000);
        await billing.prices.delete('demo', 'm');
        expect(billing.finalBill(task).quota).toBe(2_500_000);
      });

      test('whose facts could not be read keeps the reservation and says why', async () => {
        await price('u("seconds")');
        const bill = billing.finalBill(reserved({ completionFacts: { seconds: 1 } }), quoted('the hook threw'));
        expect(bill).toMatchObject({
          quota: 2_500_000,
          billing: {
            outcome: {
              ...{ reserved: 2_500_000, settled: 2_500_000, usd: null, kept: 'the hook threw' },
              keptSentence: { reason: 'plugin', params: { text: 'the hook threw' } },
            },
          },
        });
      });

      for (const [name, seconds] of [
        ['negative', -1],
        ['beyond what money can count', 1e12],
        ['infinite', Number.POSITIVE_INFINITY],
        ['a text', 'many'],
      ] as const) {
        test(`that would be ${name} keeps the reservation: the task must be able to end`, async () => {
          await price('u("seconds")');
          expect(await ended({ seconds })).toBe(2_500_000);
        });
      }
    });

    test('a used-up budget refuses what costs nothing yet and may cost something later, and nothing that is free', async () => {
      const user = await addUser(store, { balance: 10_000 });
      await store.users.update(user.id, { budget: { amount: 300, period: 'total' } });
      const submit = async (quota: number, expression: string) => {
        const task = newTask({ userId: user.id, walletId: user.walletId, apiKeyId: null, quota });
        const payer = { ...task, billing: { ...task.billing, expression } };
        return (await billing.reserveAll(store, [payer]))[0]?.code ?? 'ok';
      };
      expect(await submit(300, 'u("seconds")')).toBe('ok');
      expect(await submit(0, '0')).toBe('ok');
      expect(await submit(0, 'u("seconds")')).toBe('billing.budget_exceeded');
    });

    test('bill evasion: an empty balance does not allow what costs nothing yet and may cost something later', async () => {
      const submit = async (
        money: { balance: number; key: number },
        { expression = 'u("seconds")', ratio = 1 } = {},
      ) => {
        const user = await addUser(store, { balance: money.balance });
        const key = await addKey(store, user.id, { unlimitedQuota: false, quota: money.key });
        const task = newTask({ userId: user.id, walletId: user.walletId, apiKeyId: key.id, quota: 0 });
        const payer = { ...task, billing: { ...task.billing, expression, groupRatio: ratio } };
        return (await billing.reserveAll(store, [payer]))[0]?.code ?? 'ok';
      };
      expect(await submit({ balance: 1, key: 1 })).toBe('ok');
      expect(await submit({ balance: 0, key: 1 })).toBe('billing.insufficient_quota');
      expect(await submit({ balance: 1, key: 0 })).toBe('billing.insufficient_key_quota');
      expect(await submit({ balance: 0, key: 0 }, { expression: '0' })).toBe('ok');
      expect(await submit({ balance: 0, key: 0 }, { ratio: 0 })).toBe('ok');
    });

    describe('the budget of a limited key', () => {
      const submit = async (budget: number, quota: number) => {
        const user = await addUser(store, { balance: 10_000 });
        const key = await addKey(store, user.id, { unlimitedQuota: false, quota: budget });
        const taskId = newTaskId(Date.now());
        const task = await store.transaction(async (tx) => {
          const inserted = await tx.tasks.insert(newTask({ taskId, userId: user.id, apiKeyId: key.id, quota }));
          const [refusal] = await billing.reserveAll(tx, [inserted]);
          if (refusal) throw refusal;
          return inserted;
        });
        const left = async () => ({
          key: (await store.apiKeys.byId(key.id))?.quota,
          used: (await store.apiKeys.byId(key.id))?.usedQuota,
          user: (await store.users.byId(user.id))?.quota,
        });
        const end = (quota: number | null) =>
          store.transaction(async (tx) => {
            const status = quota === null ? 'FAILURE' : 'SUCCESS';
            await tx.tasks.advance(readLease(task), { status, quota: quota ?? 0 }, null);
            const outcome = { reserved: task.quota, settled: quota ?? 0, usd: null };
            const bill = { quota: quota ?? 0, billing: { ...task.billing, outcome } };
            const refund = quota === null ? { reason: quoted('failed') } : undefined;
            await billing.settleAll(tx, [{ task, bill, refund }]);
          });
        return { user, key, task, left, end };
      };
      afterEach(async () => expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] }));

      test('is reserved with the balance, and settled below and above the reservation', async () => {
        for (const [final, rest] of [
          [300, 700],
          [100, 900],
          [1200, -200],
          [0, 1000],
        ] as const) {
          const { left, end } = await submit(1000, 300);
          expect(await left()).toEqual({ key: 700, used: 0, user: 9700 });
          await end(final);
          expect(await left()).toEqual({ key: rest, used: final, user: 10_000 - final });
        }
      });

      test('comes back with a refund', async () => {
        const { left, end } = await submit(1000, 300);
        await end(null);
        expect(await left()).toEqual({ key: 1000, used: 0, user: 10_000 });
      });

      test('does not cover the task: neither the task nor money stays', async () => {
        expect(await readCode(() => submit(299, 300))).toBe('billing.insufficient_key_quota');
        expect((await store.tasks.queueDepth()).unfinished).toBe(0);
      });

      test('of a key deleted before: the user alone is settled', async () => {
        const { user, key, left, end } = await submit(1000, 300);
        await store.apiKeys.delete(key.id, user.id);
        // A later key never takes the place of the deleted one.
        const next = await addKey(store, user.id, { unlimitedQuota: false, quota: 5 });
        await end(null);
        expect(await left()).toEqual({ key: undefined, used: undefined, user: 10_000 });
        expect((await store.apiKeys.byId(next.id))?.quota).toBe(5);
      });

      test('a reservation moved to another price swaps the whole amount, and the refund gives back the last', async () => {
        const { task, left, end } = await submit(1000, 300);
        await store.transaction(async (tx) => {
          await tx.tasks.amend(readLease(task), { quota: 800 });
          await billing.replaceReservation(tx, { ...task, quota: 800 }, { reserved: 300, attempt: 2 });
        });
        task.quota = 800;
        expect(await left()).toEqual({ key: 200, used: 0, user: 9200 });
        await end(null);
        expect(await left()).toEqual({ key: 1000, used: 0, user: 10_000 });
        const lines = await store.ledger.byTask(task.taskId);
        expect(lines.map(({ kind, attempt, amount }) => `${kind} ${attempt}: ${amount}`)).toEqual([
          'reserve 1: -300',
          'refund 1: 300',
          'reserve 2: -800',
          'refund 0: 800',
        ]);
      });
    });
  },
  { fresh: 'test', databases: RULE_DATABASES },
);
