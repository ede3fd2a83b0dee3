/**
 * Accounts that heal, on the executable: no client sees a bad key, an empty balance or a vendor
 * that is out, one user's prompts are nobody else's trouble, and a budget holds on two nodes.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Administrator, type Gateway, setUp, signIn, startGateway, startVendor } from '../support/gateway.ts';
import { submit, waitForEnd } from '../support/main-job.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { type RefusingVendor, startRefusingVendor } from '../support/refusing-vendor.ts';
import { until } from '../support/until.ts';

const env = { TASK_POLL_INTERVAL_SECONDS: '1', UPSTREAM_ALLOW_PRIVATE: 'true', SYNC_FREQUENCY: '1' };
const KEYS = ['good-key-0000001', 'weak-key-0000002', 'good-key-0000003'] as const;
const WEAK = KEYS[1];
/** The vendor names the rest, so that it ends within the test. */
const REST_SECONDS = 3;

let origin: Awaited<ReturnType<typeof startVendor>>;
const nodes: Gateway[] = [];
let admin: Administrator;
let key: string;

beforeAll(async () => {
  origin = await startVendor();
  const databaseUrl = await migratedDatabaseUrl();
  for (let count = 0; count < 2; count += 1) nodes.push(await startGateway({ databaseUrl, env }));
  admin = await setUp(first());
  await admin.call('PUT', '/api/price', { model: '*', expression: '0.02 * u("seconds")' }).catch(() => {});
  key = await admin.createKey();
});
afterAll(async () => {
  await Promise.all(nodes.map((node) => node.stop()));
  await origin?.stop();
});

const first = (): Gateway => nodes[0] as Gateway;
const asked = (vendor: RefusingVendor, name: string): number => vendor.asked.get(name) ?? 0;

/** A model of its own for each test, and a vendor that this test alone has. */
async function withVendor(work: (world: { vendor: RefusingVendor; model: string }) => Promise<void>): Promise<void> {
  const vendor = startRefusingVendor({ url: origin.url, key: 'demo-vendor-key' });
  const model = `own-${crypto.randomUUID().slice(0, 8)}`;
  try {
    await work({ vendor, model });
  } finally {
    for (const { id, models } of (
      await admin.call<{ items: { id: number; models: string[] }[] }>('GET', '/api/channel')
    ).items)
      if (models.some((name) => name.startsWith(model))) await admin.call('DELETE', `/api/channel/${id}`);
    await vendor.stop();
  }
}

const addChannel = (vendor: RefusingVendor, model: string, fields: Record<string, unknown> = {}): Promise<number> =>
  admin.createChannel(vendor.url, { models: [model], model_mapping: { [model]: 'demo-video' }, ...fields });

/** Sends tasks one after the other; each is accepted and succeeds. */
async function complete(model: string, count: number, token = key): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const { url } = nodes[index % nodes.length] as Gateway;
    const { status, body } = await submit(url, token, { model, prompt: 'a [duration=0.1]' });
    expect([status, body.error ?? null]).toEqual([200, null]);
    expect(await waitForEnd(url, token, String(body.id))).toMatchObject({ status: 'SUCCESS', fail_reason: '' });
  }
}

type Capacity = { capacity: { rest_reason: string; credentials: { rest_reason: string }[] } };
const readCapacity = async (id: number): Promise<Capacity['capacity']> =>
  (await admin.call<Capacity>('GET', `/api/channel/${id}`)).capacity;

describe('on two nodes', () => {
  test.each([
    ['that the vendor rejects', 401, 'credential'],
    ['whose balance is used up', 402, 'balance'],
  ] as const)('one key of three %s is seen by no client, tried once, and back by itself', (_, status, reason) =>
    withVendor(async ({ vendor, model }) => {
      const { url } = first();
      const credentials = KEYS.map((each) => ({ key: each }));
      const id = await addChannel(vendor, model, { key: undefined, credentials });
      vendor.refused.set(WEAK, { status, retryAfter: REST_SECONDS });
      // The idlest key is chosen at random: three tasks at once reach all of them.
      const together = await Promise.all(
        KEYS.map(() => submit(url, key, { model, prompt: 'a [duration=0.5]' }).then(({ body }) => String(body.id))),
      );
      for (const task of together) expect((await waitForEnd(url, key, task)).status).toBe('SUCCESS');
      expect(asked(vendor, WEAK)).toBe(1);
      expect((await readCapacity(id)).credentials.map((one) => one.rest_reason)).toEqual(['', reason, '']);
      // Its rest ends: only one of many tasks on both nodes tries it.
      await Bun.sleep(REST_SECONDS * 1100 + 500);
      const before = asked(vendor, WEAK);
      const sinceMs = performance.now();
      const many = await Promise.all(
        Array.from({ length: 12 }, (_each, index) => {
          const node = nodes[index % 2] as Gateway;
          return submit(node.url, key, { model, prompt: 'a [duration=0.3]' });
        }),
      );
      expect(many.map((answer) => answer.status)).toEqual(Array(12).fill(200));
      for (const { body } of many) expect((await waitForEnd(url, key, String(body.id))).status).toBe('SUCCESS');
      // A refused trial begins the next rest, which ends with the next one.
      const ended = Math.floor((performance.now() - sinceMs) / (REST_SECONDS * 1000));
      expect(asked(vendor, WEAK) - before).toBeLessThanOrEqual(1 + ended);
      vendor.refused.clear();
      await until('the key serves again', async () => {
        await complete(model, 3);
        return (await readCapacity(id)).credentials.every((one) => one.rest_reason === '');
      });
      // The channel's page says when it was paused, was tried without success and came back.
      const { rests } = await admin.call<{ rests: { what: string; reason: string; credential_id: number }[] }>(
        'GET',
        `/api/channel/${id}/history`,
      );
      expect(rests.map(({ what }) => what)).toEqual(['back', ...Array(rests.length - 2).fill('tried'), 'rested']);
      expect(new Set(rests.map((each) => `${each.reason} of ${each.credential_id}`)).size).toBe(1);
    }),
  );

  test('an outage of one channel of two is seen by no client', () =>
    withVendor(async ({ vendor, model }) => {
      const settings = { retry_on_5xx: true };
      await addChannel(vendor, model, { key: KEYS[0], settings });
      const id = await addChannel(vendor, model, { key: WEAK, settings });
      vendor.refused.set(WEAK, 500);
      await complete(model, 40);
      expect((await readCapacity(id)).rest_reason).toBe('outage');
      // Its trial renews the rest for a minute.
      const before = asked(vendor, WEAK);
      await complete(model, 10);
      expect(asked(vendor, WEAK) - before).toBeLessThanOrEqual(1);
    }));

  test('a 403 for the prompts of one user hurts nobody else', () =>
    withVendor(async ({ vendor, model }) => {
      const id = await addChannel(vendor, model, { key: KEYS[0] });
      const username = `rude-${model.slice(4)}`;
      await admin.createUser({ username, quota: 10_000_000 });
      const rude = await (await signIn(first().url, { username })).createKey();
      vendor.forbidden.add('something rude');
      for (let index = 0; index < 4; index += 1) {
        const { status } = await submit(first().url, rude, { model, prompt: 'something rude' });
        expect(status).not.toBe(200);
      }
      expect((await readCapacity(id)).rest_reason).toBe('');
      await complete(model, 4);
    }));

  test('fifty submissions at once never exceed the budget of their key', () =>
    withVendor(async ({ vendor, model }) => {
      await addChannel(vendor, model, { key: KEYS[0] });
      await admin.call('PUT', '/api/price', { model, expression: '0.1' });
      // 0.1 USD is 50,000: eleven fit, the twelfth does not.
      const budget = { amount: 575_000, period: 'total' };
      const tight = await admin.createKey({ budget });
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_each, index) =>
          submit((nodes[index % 2] as Gateway).url, tight, { model, prompt: 'a [duration=0.1]' }),
        ),
      );
      const taken = answers.filter(({ status }) => status === 200);
      const refused = answers.filter(({ status }) => status !== 200);
      expect(taken).toHaveLength(11);
      for (const { status, body } of refused)
        expect([status, (body.error as { code: string }).code]).toEqual([429, 'budget_exceeded']);
      for (const { body } of taken)
        expect((await waitForEnd(first().url, tight, String(body.id))).status).toBe('SUCCESS');
    }));

  test('with one of two channels dead, submissions take at most 1.2 times as long after the first three', () =>
    withVendor(async ({ vendor, model }) => {
      const dead = `${model}-dead`;
      vendor.refused.set(WEAK, 401);
      const ids: number[] = [];
      for (const [name, second] of [
        [model, KEYS[2]],
        [dead, WEAK],
      ] as const)
        for (const one of [KEYS[0], second]) ids.push(await addChannel(vendor, name, { key: one }));
      await until('the dead one rests', async () => {
        await complete(dead, 3);
        return (await readCapacity(ids[3] ?? 0)).rest_reason !== '';
      });
      const measure = async (name: string): Promise<number> => {
        const begunMs = performance.now();
        const { status } = await submit(first().url, key, { model: name, prompt: 'a [duration=0.1]' });
        expect(status).toBe(200);
        return performance.now() - begunMs;
      };
      const p99 = (times: number[]): number => times.toSorted((a, b) => a - b)[Math.ceil(times.length * 0.99) - 1] ?? 0;
      // In turns, so that what else the machine does counts for both.
      const [alive, beside]: [number[], number[]] = [[], []];
      for (let count = 1; count <= 500; count += 1) {
        alive.push(await measure(model));
        beside.push(await measure(dead));
        if (count % 50 === 0 && p99(beside) / p99(alive) <= 1.2) break;
      }
      expect(p99(beside) / p99(alive)).toBeLessThanOrEqual(1.2);
      expect(asked(vendor, WEAK)).toBeLessThanOrEqual(3);
    }));
});
