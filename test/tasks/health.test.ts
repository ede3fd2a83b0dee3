/** Accounts that recover: no client sees a key, a balance or a vendor that fails. */
import { afterAll, expect, test } from 'bun:test';
import type { Store, TaskRecord } from '../../src/store/ports/index.ts';
import { describeEachStore, type OpenedStore } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { DATABASES } from '../support/databases.ts';
import { IS_FULL_RUN } from '../support/full-run.ts';
import { type RefusingVendor, startRefusingVendor } from '../support/refusing-vendor.ts';
import { CLOUD_PLUGIN, startCloud } from '../support/service-account-cloud.ts';
import { addCaller, type Engine, ended, jsonRequest, startEngine } from './harness.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

const KEYS = ['good-key-0000001', 'weak-key-0000002', 'good-key-0000003'];
const RULES = {
  ...{
    maxWaitMs: 3_600_000,
    maxWaiting: 100_000,
    maxWaitingPerUser: 1000,
    maxWaitingBytes: 1e9,
    priority: 0,
    maxRunning: null,
  },
};

type World = { engine: Engine; store: Store; vendor: RefusingVendor };

async function withVendor({ store }: OpenedStore, work: (world: World) => Promise<void>): Promise<void> {
  const engine = await startEngine(store, sandbox, { waiting: () => RULES });
  const vendor = startRefusingVendor({ url: engine.vendorUrl, key: 'vendor-key-0123456789' });
  try {
    await engine.start();
    await work({ engine, store, vendor });
    expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
  } finally {
    await engine.stop();
    await vendor.stop();
  }
}

type Caller = Awaited<ReturnType<typeof addCaller>>;
const submit = ({ engine }: World, caller: Caller, prompt = 'a [duration=0.1]'): Promise<TaskRecord> =>
  engine.surfaces.submitGeneric(caller, {
    requestId: 'request',
    pluginKey: 'demo',
    request: jsonRequest({ model: 'demo-video', prompt, seconds: 5 }),
  });

/** Tasks sent one after the other: one whose account refuses it waits for another, and succeeds. */
async function complete(world: World, count: number): Promise<void> {
  const caller = await addCaller(world.store);
  for (let index = 0; index < count; index++) {
    const { taskId } = await submit(world, caller);
    expect((await ended(world.store, taskId)).status).toBe('SUCCESS');
  }
}

/** Among idle keys one is chosen at random: sends tasks until it is the turn of this one. */
async function completeUntilAsked(world: World, key: string, times: number): Promise<void> {
  for (let sent = 0; sent < 90 && (world.vendor.asked.get(key) ?? 0) < times; sent++) await complete(world, 1);
}

describeEachStore(
  'health',
  (opened) => {
    test.each([
      ['that the vendor rejects', 401, 'credential'],
      ['whose balance is used up', 402, 'balance'],
    ] as const)(
      'one key of three %s is seen by no client, rests at once, and is back when it works',
      (_, status, reason) =>
        withVendor(opened(), async (world) => {
          const { engine, vendor } = world;
          const [, weak = ''] = KEYS;
          const id = await engine.addChannel({
            ...{ key: undefined, baseUrl: vendor.url, credentials: KEYS.map((key) => ({ key })) },
          });
          vendor.refused.set(weak, status);
          await completeUntilAsked(world, weak, 1);
          await complete(world, 6);
          expect(vendor.asked.get(weak)).toBe(1);
          const channel = await engine.channels.get(id);
          const rests = () => engine.capacity.describe(channel).credentials.map((one) => one.restReason);
          expect(rests()).toEqual(['', reason, '']);
          // Tried once, and refused once more.
          await engine.capacity.wake(channel, 'account');
          await completeUntilAsked(world, weak, 2);
          await complete(world, 6);
          expect(vendor.asked.get(weak)).toBe(2);
          vendor.refused.clear();
          await engine.capacity.wake(channel, 'account');
          await completeUntilAsked(world, weak, 3);
          expect(rests()).toEqual(['', '', '']);
          const { credentials } = engine.capacity.describe(channel);
          const of = { channelId: id, credentialId: credentials[1]?.id ?? 0, model: '', reason };
          const happened = ['resumed', 'rested', 'resumed', 'rested'] as const;
          expect(await engine.capacity.restEvents(channel, 10)).toMatchObject(
            happened.map((what) => ({ ...of, what })),
          );
        }),
    );

    test('an outage of one channel of two is seen by no client, and rests after five failures', () =>
      withVendor(opened(), async (world) => {
        const { engine, vendor } = world;
        const [first = '', second = ''] = KEYS;
        // Where a channel does not accept the risk of a second job, its first five clients see it.
        const settings = { retry_on_5xx: true };
        await engine.addChannel({ key: first, baseUrl: vendor.url, settings });
        const id = await engine.addChannel({ key: second, baseUrl: vendor.url, settings });
        vendor.refused.set(second, 500);
        await complete(world, 25);
        expect(vendor.asked.get(second)).toBe(5);
        expect(engine.capacity.describe(await engine.channels.get(id)).restReason).toBe('outage');
      }));

    test('a key that gets no token is seen by no client, and rests', () =>
      withVendor(opened(), async ({ engine, store }) => {
        const cloud = startCloud();
        await engine.plugins.upload({ source: CLOUD_PLUGIN });
        await engine.billing.prices.save({ pluginKey: '*', model: 'cloud-video', expression: '0.01' });
        const keys = [cloud.key({ private_key: 'no key' }), cloud.key()];
        const bound = { models: ['cloud-video'], taskPluginKey: 'vertexlike', baseUrl: cloud.url, key: undefined };
        const id = await engine.addChannel({ ...bound, credentials: keys.map((key) => ({ key })) });
        const caller = await addCaller(store);
        const send = (model = 'cloud-video') =>
          engine.surfaces.submitGeneric(caller, {
            ...{ requestId: 'request', pluginKey: 'vertexlike', request: jsonRequest({ model }) },
          });
        const rests = async () =>
          engine.capacity.describe(await engine.channels.get(id)).credentials.map((one) => one.restReason);
        for (let sent = 0; sent < 40 && (await rests())[0] === ''; sent++)
          expect((await ended(store, (await send()).taskId)).status).toBe('SUCCESS');
        expect(await rests()).toEqual(['credential', '']);
        // Where there is no other key, the first client is told, and later tasks wait.
        await engine.channels.update(id, { status: 2 }, { mayMoveKey: false });
        await engine.addChannel({ ...bound, key: cloud.key({ private_key: 'none' }) });
        await expect(send()).rejects.toThrow(/service account's private key cannot be read/);
        expect((await send()).phase).toBe('waiting');
        // It waits for a key whose token server is away, whatever the key after it lacks.
        await engine.billing.prices.save({ pluginKey: '*', model: 'cloud-other', expression: '0.01' });
        const others = { ...bound, models: ['cloud-other'], modelMapping: { 'cloud-other': 'cloud-video' } };
        await engine.addChannel({ ...others, priority: 1, key: cloud.key({ project_id: 'elsewhere' }) });
        await engine.addChannel({ ...others, key: cloud.key({ private_key: 'no key at all' }) });
        cloud.tokenStatus = 503;
        expect((await send('cloud-other')).phase).toBe('waiting');
        await cloud.stop();
      }));

    test('a task that its vendor always throttles does not hold up the one behind it', () =>
      withVendor(opened(), async (world) => {
        const { engine, store, vendor } = world;
        await engine.addChannel({ key: KEYS[0], baseUrl: vendor.url });
        vendor.throttled.add('cursed');
        const caller = await addCaller(store);
        const cursed = await submit(world, caller, 'cursed');
        const other = await submit(world, caller);
        expect(other.phase).toBe('waiting');
        expect((await ended(store, other.taskId)).status).toBe('SUCCESS');
        expect((await store.tasks.byTaskId(cursed.taskId))?.status).toBe('NOT_START');
        // Behind the first order of the other, and one that tried whether the rest is over.
        expect(vendor.orders.findIndex((body) => !body.includes('cursed'))).toBeLessThanOrEqual(2);
      }));

    test('a 403 for the prompts of one user hurts nobody else', () =>
      withVendor(opened(), async (world) => {
        const { engine, store, vendor } = world;
        const [key = ''] = KEYS;
        const id = await engine.addChannel({ key, baseUrl: vendor.url });
        const rude = await addCaller(store);
        vendor.refused.set(key, 403);
        for (let index = 0; index < 3; index++) await expect(submit(world, rude)).rejects.toThrow();
        vendor.refused.clear();
        await complete(world, 3);
        expect(engine.capacity.describe(await engine.channels.get(id)).restReason).toBe('');
      }));
  },
  { fresh: 'test', databases: IS_FULL_RUN ? DATABASES : ['sqlite'] },
);
