/**
 * What vendors report about their accounts: what is left is shown and stops nothing, limits hold.
 */
import { afterAll, expect, test } from 'bun:test';
import { createChannels } from '../../src/channels/index.ts';
import { createSecretBox, listSecrets, silentLogger, systemClock, systemRandom } from '../../src/kernel/index.ts';
import { createVendorAccountWatch } from '../../src/operations/watches/watch-vendor-accounts.ts';
import type { CallOptions, LoadedPlugin } from '../../src/plugins/types.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { createUpstream } from '../../src/upstream/index.ts';
import { createSendToVendor } from '../../src/vendors/index.ts';
import { describeEachStore } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { until } from '../support/until.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

const KEYS = ['key-a-0123456789', 'key-b-0123456789'] as const;
const SCRIPT = `
export const buildBalanceRequest = (ctx) => ({
  url: ctx.channel.baseUrl + '/balance', headers: { authorization: 'Bearer ' + ctx.channel.apiKey },
});
export const parseBalanceResponse = (ctx, response) => JSON.parse(response.body).left;`;

type Given = { plugin?: LoadedPlugin; keys?: readonly string[] };

describeEachStore('accounts at vendors', (opened) => {
  async function open(script: string, runner = sandbox, { plugin, keys = KEYS }: Given = {}) {
    const { store } = opened();
    const answers = new Map<string, unknown>(keys.map((key, index) => [key, { left: 12.5 + index }]));
    const seen: string[] = [];
    const asked = Promise.withResolvers<void>();
    const vendor = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch(request) {
        const key = (request.headers.get('authorization') ?? '').replace('Bearer ', '');
        seen.push(`${request.method} ${new URL(request.url).pathname} ${key}`);
        asked.resolve();
        const answer = answers.get(key);
        return typeof answer === 'number' ? new Response('no', { status: answer }) : Response.json(answer ?? null);
      },
    });
    const common = { store, clock: systemClock, logger: silentLogger };
    const channels = createChannels({
      ...common,
      ...{ random: systemRandom, secretBox: createSecretBox(['secret']), syncFrequencyMs: 60_000 },
      plugins: { plugin: () => undefined, byChannelType: () => plugin && { key: 'vendor' } },
    });
    const upstream = createUpstream({ allowPrivate: false, clock: systemClock, logger: silentLogger });
    const balances = createVendorAccountWatch({
      ...{ ...common, channels, sandbox: runner },
      send: createSendToVendor({ upstream, channels }),
      pin: () => ({ generation: { byChannelType: () => plugin, plugins: new Map() } as never, release: () => {} }),
    });
    await channels.start();
    const { channel } = await channels.create({
      ...{ name: 'v', type: plugin ? 951 : 1, baseUrl: vendor.url.origin, models: ['m'] },
      ...{ credentials: keys.map((key) => ({ key })), settings: { balance_script: script } },
    });
    return {
      ...{ store, channel, balances, answers, seen, vendor, asked: asked.promise },
      reload: () => channels.update(channel.id, {}, { mayMoveKey: false }),
      read: (signal = new AbortController().signal) => balances.read(channel.id, signal),
      shown: async () =>
        (await store.credentials.ofChannel(channel.id)).map(({ balanceMicros, balanceFault }) => [
          balanceMicros,
          balanceFault?.reason ?? null,
        ]),
      async stop() {
        await balances.stop();
        channels.stop();
        await upstream.close();
        await vendor.stop(true);
      },
    };
  }

  test('are read with each key, and stay with a reason where a later try fails', async () => {
    const world = await open(SCRIPT);
    try {
      expect(await world.read()).toBe(2);
      expect(world.seen.toSorted()).toEqual(KEYS.map((key) => `GET /balance ${key}`));
      expect(await world.shown()).toEqual([
        [12_500_000, null],
        [13_500_000, null],
      ]);
      world.answers.set(KEYS[0], 503).set(KEYS[1], { left: -1 });
      await world.read();
      expect(await world.shown()).toEqual([
        [12_500_000, 'balance.vendor_answered'],
        [13_500_000, 'balance.no_amount'],
      ]);
    } finally {
      await world.stop();
    }
  });

  test.each([
    ['another origin', `({ url: 'http://127.0.0.1:1/steal?' + ctx.channel.apiKey })`, 'balance.request_invalid'],
    ['another method', `({ method: 'DELETE', url: ctx.channel.baseUrl })`, 'balance.request_invalid'],
    ['a throw that quotes the key', `(() => { throw new Error(ctx.channel.apiKey); })()`, 'balance.hook_failed'],
  ])('never come from %s, and no fault quotes the key', async (_, built, reason) => {
    const world = await open(SCRIPT.replace(/\(\{\n.*\n\}\)/, built));
    try {
      await world.read();
      expect(await world.shown()).toEqual([
        [null, reason],
        [null, reason],
      ]);
      expect(world.seen).toEqual([]);
      expect(JSON.stringify(await world.store.credentials.ofChannel(world.channel.id))).not.toContain('key-a');
    } finally {
      await world.stop();
    }
  });

  test('are read of one channel while the endless script of another is killed', async () => {
    const strict = startSandbox({ callTimeoutMs: 1_500, killGraceMs: 100, killsToSuspend: 2 });
    const endless = await open(SCRIPT.replace('JSON.parse(response.body).left', '{ for (;;) {} }'), strict);
    const world = await open(SCRIPT, strict);
    try {
      await endless.read();
      expect(await endless.shown()).toEqual([
        [null, 'balance.hook_failed'],
        [null, 'balance.hook_failed'],
      ]);
      await world.read();
      expect(await world.shown()).toEqual([
        [12_500_000, null],
        [13_500_000, null],
      ]);
    } finally {
      await endless.stop();
      await world.stop();
      await strict.close();
    }
  });

  test('come from hooks of a plugin, whose kills refuse it to no task, and whose console shows no key', async () => {
    const strict = startSandbox({ callTimeoutMs: 1_500, killGraceMs: 100, killsToSuspend: 2 });
    const source = 'export const buildBalanceRequest = () => { for (;;) {} };';
    const module = { key: 'vendor', version: '1', source, sourceHash: 'endless' };
    const secrets: unknown[] = [];
    const plugin = {
      has: () => true,
      suspended: () => strict.isSuspended('vendor'),
      call: async (hook: string, args: unknown[], options: CallOptions) => {
        secrets.push(...listSecrets(options.secrets ?? []));
        const limits = { maxArgsBytes: 10_000, maxResultBytes: 10_000 };
        return strict.call(module, { owner: options.owner, path: [hook], args, ...limits });
      },
    } as unknown as LoadedPlugin;
    const world = await open('', strict, { plugin });
    try {
      await world.read();
      expect(await world.shown()).toEqual([
        [null, 'balance.hook_failed'],
        [null, 'balance.hook_failed'],
      ]);
      expect(plugin.suspended()).toBe(false);
      expect(secrets).toEqual(expect.arrayContaining([...KEYS]));
    } finally {
      await world.stop();
      await strict.close();
    }
  });

  const readLimits = async (store: Store, channel: { id: number }) =>
    (await store.credentials.ofChannel(channel.id)).map(({ reportedLimits, reportedLimitsFault }) => [
      reportedLimits,
      reportedLimitsFault?.reason ?? null,
    ]);
  const LIMITS = `
export const queryCapacity = ({ channel, response }) => response
  ? JSON.parse(response.body)
  : { limits: null, request: { url: channel.baseUrl + '/limits', headers: { authorization: 'Bearer ' + channel.apiKey } } };`;
  /** A plugin that tells limits, until `hooks` has none. */
  const tellLimits = (source: string, hooks = new Set(['queryCapacity'])): LoadedPlugin => {
    const module = { key: 'vendor', version: '1', source, sourceHash: source };
    return {
      has: (hook: string) => hooks.has(hook),
      suspended: () => false,
      async call(hook: string, args: unknown[], { owner }: CallOptions) {
        const limits = { maxArgsBytes: 10_000, maxResultBytes: 10_000 };
        const outcome = await sandbox.call(module, { owner, path: [hook], args, ...limits });
        return outcome.ok ? { ok: true, value: outcome.value.value } : outcome;
      },
    } as unknown as LoadedPlugin;
  };

  test('are asked for limits by the plugin: a failure keeps what was told, a plugin without the hook ends it', async () => {
    const hooks = new Set(['queryCapacity']);
    const world = await open('', sandbox, { plugin: tellLimits(LIMITS, hooks) });
    try {
      const limits = { maxRunning: 5, models: { fast: { maxPerMinute: 60, burst: 2 } } };
      world.answers.set(KEYS[0], { limits }).set(KEYS[1], null);
      expect(await world.read()).toBe(2);
      expect(world.seen.toSorted()).toEqual(KEYS.map((key) => `GET /limits ${key}`));
      expect(await readLimits(world.store, world.channel)).toEqual([
        [limits, null],
        [null, null],
      ]);
      expect(await world.shown()).toEqual([
        [null, null],
        [null, null],
      ]);
      world.answers.set(KEYS[0], 503).set(KEYS[1], { limits: { maxRunning: 0 } });
      await world.read();
      expect(await readLimits(world.store, world.channel)).toEqual([
        [limits, 'told_limits.vendor_answered'],
        [null, 'told_limits.invalid'],
      ]);
      hooks.clear();
      await world.reload();
      await world.read();
      expect(await readLimits(world.store, world.channel)).toEqual([
        [null, null],
        [null, null],
      ]);
    } finally {
      await world.stop();
    }
  });

  test.each([
    ['another origin', `({ request: { url: 'http://127.0.0.1:1/' + channel.apiKey } })`, 'told_limits.invalid'],
    ['a second request', `({ request: { url: channel.baseUrl + '/' } })`, 'told_limits.invalid'],
    ['a limit and a request at once', `({ limits: {}, request: { url: channel.baseUrl } })`, 'told_limits.invalid'],
    ['a throw that quotes the key', `(() => { throw new Error(channel.apiKey); })()`, 'told_limits.hook_failed'],
  ])('tell no limit by %s, and no fault quotes the key', async (_, answer, reason) => {
    const source = `export const queryCapacity = ({ channel }) => ${answer};`;
    const world = await open('', sandbox, { plugin: tellLimits(source) });
    try {
      await world.read();
      expect(await readLimits(world.store, world.channel)).toEqual([
        [null, reason],
        [null, reason],
      ]);
      expect(JSON.stringify(await world.store.credentials.ofChannel(world.channel.id))).not.toContain('key-a');
    } finally {
      await world.stop();
    }
  });

  test('are forgotten with the key that they were told of, also by an answer that comes later', async () => {
    const { store, channel, stop } = await open('');
    try {
      const [first] = await store.credentials.ofChannel(channel.id);
      const id = first?.id ?? 0;
      await store.credentials.claimBalance(id, { seen: 0, at: 5 });
      await store.credentials.recordBalance(id, 5, { usd: 1 });
      await store.credentials.recordReportedLimits(id, 5, { limits: { maxRunning: 3 } });
      await store.credentials.update(id, { keySealed: first?.keySealed ?? '', updatedAt: 6 });
      await store.credentials.recordReportedLimits(id, 5, { limits: { maxRunning: 3 } });
      expect(await store.credentials.byId(id)).toMatchObject({
        balanceMicros: null,
        balanceAt: 0,
        reportedLimits: null,
      });
    } finally {
      await stop();
    }
  });

  test('are read several at once, and no longer than the person waits who asked', async () => {
    const keys = Array.from({ length: 20 }, (_, index) => `key-${index}-0123456789`);
    const world = await open(SCRIPT, sandbox, { keys });
    try {
      const waiting = new AbortController();
      world.asked.then(() => waiting.abort());
      // Eight begin together; an answer may be back before the person goes.
      expect(await world.read(waiting.signal)).toBeLessThan(16);
      expect(world.seen.length).toBeLessThan(16);
    } finally {
      await world.stop();
    }
  });

  test('are read again where the last time is from the future, and not where it is of the last hour', async () => {
    const world = await open(SCRIPT);
    try {
      const [one, other] = await world.store.credentials.ofChannel(world.channel.id);
      const now = systemClock.unix();
      await world.store.credentials.claimBalance(one?.id ?? 0, { seen: 0, at: now - 60 });
      await world.store.credentials.claimBalance(other?.id ?? 0, { seen: 0, at: now + 28_800 });
      world.balances.start();
      await until('the other key is asked', () => world.seen.length > 0);
      expect(world.seen).toEqual([`GET /balance ${KEYS[1]}`]);
    } finally {
      await world.stop();
    }
  });

  test('are read by one node of two that try at once', async () => {
    const { store, channel, stop } = await open(SCRIPT);
    try {
      const [first] = await store.credentials.ofChannel(channel.id);
      const claims = await Promise.all(
        [1, 2, 3].map((at) => store.credentials.claimBalance(first?.id ?? 0, { seen: 0, at })),
      );
      expect(claims.filter(Boolean)).toHaveLength(1);
    } finally {
      await stop();
    }
  });
});
