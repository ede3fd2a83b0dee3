import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { checkMapping } from '../../src/channels/check-channel.ts';
import {
  type ChannelInput,
  type Channels,
  createChannels,
  mapModel,
  type PluginLookup,
} from '../../src/channels/index.ts';
import { AppError, createSecretBox, silentLogger, systemClock, systemRandom } from '../../src/kernel/index.ts';
import type { ChannelRecord, Store } from '../../src/store/ports/index.ts';
import { describeEachStore } from '../contract/each-store.ts';
import { changeSealedKey } from '../support/accounts.ts';

const KEY = 'vendor-key-0123456789';

const input = (change: Partial<ChannelInput> = {}): ChannelInput => ({
  name: 'one',
  type: 61,
  key: KEY,
  baseUrl: 'https://vendor.example',
  models: ['m'],
  taskPluginKey: 'demo',
  ...change,
});

async function refusal(work: () => unknown): Promise<{ code: string; param: string | undefined }> {
  try {
    await work();
  } catch (error) {
    if (error instanceof AppError) return { code: error.code, param: error.param };
    throw error;
  }
  return { code: 'nothing was thrown', param: undefined };
}

describeEachStore(
  'channels',
  (opened) => {
    let store: Store;
    let channels: Channels;
    /** What is installed; a test may take it away. */
    let installed: Record<string, { baseUrl?: string; keyFormat?: string }>;
    const started: Channels[] = [];

    const start = async (over = store, logger = silentLogger): Promise<Channels> => {
      const plugins: PluginLookup = {
        plugin: (key) => installed[key] && { key, ...installed[key] },
        byChannelType: (type) => (type === 45 && installed.demo ? { key: 'demo', ...installed.demo } : undefined),
      };
      const secretBox = createSecretBox(['a-secret-of-the-tests']);
      const service = createChannels({
        store: over,
        clock: systemClock,
        random: systemRandom,
        logger,
        secretBox,
        plugins,
        syncFrequencyMs: 60_000,
      });
      await service.start();
      started.push(service);
      return service;
    };
    beforeEach(async () => {
      store = opened().store;
      installed = { demo: { baseUrl: 'https://default.example' }, bare: {} };
      channels = await start();
    });
    afterEach(() => {
      for (const service of started.splice(0)) service.stop();
    });
    const readKey = (channel: { id: number }) => channels.key(channels.onlyAccount(channel));
    const create = async (change: Partial<ChannelInput> = {}) => (await channels.create(input(change))).channel;
    const mine = { mayMoveKey: false };

    describe('making one', () => {
      test('seals the key, normalises the address and fills in what was left out', async () => {
        const { channel, baseUrlSource } = await channels.create(input({ baseUrl: 'HTTPS://Vendor.Example:443/v1//' }));
        expect(baseUrlSource).toBe('given');
        expect(channel).toMatchObject({
          baseUrl: 'https://vendor.example/v1',
          groups: ['default'],
          priority: 0,
          weight: 1,
          status: 1,
        });
        expect(JSON.stringify(channel)).not.toContain(KEY);
        expect(readKey(channel)).toBe(KEY);
        expect(channels.find(channel.id)).toEqual(channel);
        expect(await channels.get(channel.id)).toEqual(channel);
      });

      test('takes the address of the plugin where none is given', async () => {
        const { channel, baseUrlSource } = await channels.create(input({ baseUrl: '' }));
        expect([channel.baseUrl, baseUrlSource]).toEqual(['https://default.example', 'plugin_default']);
      });

      test('a short key has no hint', async () =>
        expect(channels.onlyAccount(await create({ key: 'short' })).credential.keyHint).toBe(''));

      const rows: [name: string, change: Partial<ChannelInput>, param: string][] = [
        ['without a name', { name: ' ' }, 'name'],
        ['with a blank key', { key: '  ' }, 'key'],
        ['without a model', { models: [] }, 'models'],
        ['with a model twice', { models: ['m', ' m '] }, 'models'],
        ['with an empty group', { groups: [''] }, 'groups'],
        ['with an address that is none', { baseUrl: 'vendor.example' }, 'base_url'],
        ['with credentials in the address', { baseUrl: 'https://user:pass@vendor.example' }, 'base_url'],
        ['with a query in the address', { baseUrl: 'https://vendor.example?key=1' }, 'base_url'],
        ['with the address of a call', { baseUrl: 'https://vendor.example/v1/chat/completions/' }, 'base_url'],
        ['with a line break in the key', { key: 'sk-123456789\nsk-987654321' }, 'key'],
        ['with a hidden character in the key', { key: 'sk-1234\u200b56789' }, 'key'],
        ['with another scheme', { baseUrl: 'file:///etc/passwd' }, 'base_url'],
        ['of type 61 without a plugin', { taskPluginKey: '' }, 'task_plugin_key'],
        ['of a plugin that is not installed', { taskPluginKey: 'gone' }, 'task_plugin_key'],
        ['of another type with a plugin', { type: 1 }, 'task_plugin_key'],
        ['without any address', { taskPluginKey: 'bare', baseUrl: '' }, 'base_url'],
        ['with a mapping that goes round in a circle', { modelMapping: { a: 'b', b: 'c', c: 'a' } }, 'model_mapping'],
        ['with a mapping to nothing', { modelMapping: { a: ' ' } }, 'model_mapping'],
      ];
      for (const [name, change, param] of rows) {
        test(`${name} is refused and stores nothing`, async () => {
          expect(await refusal(() => create(change))).toEqual({ code: 'channels.invalid', param });
          expect(await store.channels.all()).toEqual([]);
        });
      }

      test('without a key says how a key of the vendor looks, for a new and for a stored channel', async () => {
        installed.demo = { keyFormat: 'ACCESS_KEY|SECRET_KEY' };
        const wanted =
          "key must have 1 to 16384 characters: it is the vendor's credential, such as ACCESS_KEY|SECRET_KEY.";
        await expect(create({ key: ' ' })).rejects.toThrow(wanted);
        // The vendor alone checks a form.
        const { id } = await create({ key: 'one-part' });
        await expect(channels.update(id, { key: '' }, { mayMoveKey: false })).rejects.toThrow(wanted);
      });

      test('takes seconds of grace for new tasks, and refuses what is no such number', async () => {
        const param = 'settings.not_found_grace_seconds';
        const { id } = await create({ settings: { not_found_grace_seconds: 86_400, others: ['as', 'they', 'are'] } });
        for (const grace of [-1, 0.5, 86_401, '60', null, true]) {
          const settings = { not_found_grace_seconds: grace };
          for (const work of [
            () => create({ settings }),
            () => channels.update(id, { settings }, { mayMoveKey: false }),
          ])
            expect(await refusal(work)).toEqual({ code: 'channels.invalid', param });
        }
        await channels.update(id, { settings: { not_found_grace_seconds: 0 } }, { mayMoveKey: false });
        expect((await channels.get(id)).settings).toEqual({ not_found_grace_seconds: 0 });
      });

      test('of a type that no plugin declares is refused', async () => {
        const { taskPluginKey: _, ...plain } = input({ type: 46 });
        expect(await refusal(() => channels.create(plain))).toEqual({ code: 'channels.invalid', param: 'type' });
        const { channel } = await channels.create({ ...plain, type: 45 });
        expect(channel).toMatchObject({ type: 45, taskPluginKey: null });
      });
    });

    test('a mapping is followed to its end; a name mapped to itself ends it', () => {
      const mapping = { a: 'b', b: 'c', own: 'own' };
      expect(['a', 'b', 'c', 'own', 'x', 'constructor'].map((name) => mapModel(mapping, name))).toEqual([
        'c',
        'c',
        'c',
        'own',
        'x',
        'constructor',
      ]);
    });

    describe('changing one', () => {
      test('changes what is named and keeps the rest, the key included', async () => {
        const before = await create({ priority: 3, modelMapping: { m: 'n' } });
        const changed = await channels.update(before.id, { weight: 7, models: ['x'] }, mine);
        expect(changed.before).toEqual(before);
        expect(changed.channel).toEqual({
          ...before,
          weight: 7,
          models: ['x'],
          updatedAt: changed.channel.updatedAt,
        });
        expect(readKey(changed.channel)).toBe(KEY);
      });

      const moves: [name: string, change: Partial<ChannelInput>][] = [
        ['the address', { baseUrl: 'https://attacker.example' }],
        ['the address by its port', { baseUrl: 'https://vendor.example:8443' }],
        ['the address to the plugin’s own', { baseUrl: '' }],
        ['the plugin', { taskPluginKey: 'bare' }],
        ['the type', { type: 45 }],
        ['the type to a relay', { type: 1 }],
      ];
      for (const [name, change] of moves) {
        test(`key theft: moving ${name} needs the key again`, async () => {
          const before = await create();
          expect(await refusal(() => channels.update(before.id, change, mine))).toEqual({
            code: 'channels.key_required',
            param: 'key',
          });
          expect(await channels.get(before.id)).toEqual(before);
          const moved = await channels.update(before.id, { ...change, key: 'another-key-4321' }, mine);
          expect(readKey(moved.channel)).toBe('another-key-4321');
          expect(
            (await channels.update(before.id, { baseUrl: 'https://third.example' }, { mayMoveKey: true })).channel,
          ).toMatchObject({ baseUrl: 'https://third.example' });
        });
      }

      test('theft of headers: a move with a key of one’s own keeps no stored value', async () => {
        const before = await create({ headers: { 'x-secret': 'of the vendor' } });
        const move = { baseUrl: 'https://attacker.example', key: 'another-key-4321' };
        const refused = { code: 'channels.headers_required', param: 'headers' };
        for (const change of [{}, { headers: { 'x-secret': null } }])
          expect(await refusal(() => channels.update(before.id, { ...move, ...change }, mine))).toEqual(refused);
        expect(await channels.get(before.id)).toEqual(before);
        const { channel } = await channels.update(before.id, { ...move, headers: { 'x-secret': 'mine' } }, mine);
        expect(channels.network(channel).headers).toEqual({ 'x-secret': 'mine' });
      });

      test('key theft: a removed key that still serves tasks goes nowhere with a key of one’s own', async () => {
        const before = await create();
        const { id } = channels.onlyAccount(before).credential;
        await channels.credentials.add(before.id, [{ key: 'another-key-4321' }]);
        await channels.credentials.remove(before.id, id);
        const move = { baseUrl: 'https://attacker.example', key: 'another-key-4321' };
        const refused = { code: 'channels.removed_key_held', param: 'base_url' };
        expect(await refusal(() => channels.update(before.id, move, mine))).toEqual(refused);
        expect((await channels.findBegun({ channelId: before.id, credentialId: id }))?.channel).toEqual(before);
        expect(await channels.update(before.id, move, { mayMoveKey: true })).toMatchObject({ before });
      });

      test('a name that looks like another one is refused, and a stored one may stay', async () => {
        const turned = 'acme\u202egnp';
        const rows: [change: Partial<ChannelInput>, param: string][] = [
          [{ name: turned }, 'name'],
          [{ name: 'ac\u001b[2Jme' }, 'name'],
          [{ models: ['m', turned] }, 'models'],
          [{ groups: [turned] }, 'groups'],
          [{ modelMapping: { [turned]: 'm' } }, 'model_mapping'],
          [{ modelMapping: { m: 'm\u200b' } }, 'model_mapping'],
        ];
        for (const [change, param] of rows) {
          expect(await refusal(() => create(change))).toEqual({ code: 'channels.invalid', param });
        }
        const before = await create();
        await store.channels.update(before.id, {
          name: turned,
          models: [turned],
          modelMapping: { a: turned },
          updatedAt: 1,
        });
        const change = { name: turned, models: [turned, 'n'], modelMapping: { a: turned, b: 'n' }, weight: 7 };
        expect((await channels.update(before.id, change, mine)).channel).toMatchObject(change);
      });

      test('the same address written differently moves nothing', async () => {
        const { id } = await create();
        const { channel } = await channels.update(id, { baseUrl: 'HTTPS://vendor.example:443/' }, mine);
        expect(channel.baseUrl).toBe('https://vendor.example');
      });

      test('key theft: a change that read the channel before it moved does not send the new key to the old address', async () => {
        const { id } = await create({ baseUrl: 'https://old.example' });
        const reads: (() => void)[] = [];
        const held: Store = {
          ...store,
          channels: {
            ...store.channels,
            async byId(channelId) {
              const found = await store.channels.byId(channelId);
              await new Promise<void>((resolve) => reads.push(resolve));
              return found;
            },
          },
        };
        const slow = (await start(held)).update(id, { weight: 9 }, mine);
        while (reads.length === 0) await Bun.sleep(1);
        await channels.update(id, { baseUrl: 'https://new.example', key: 'the-new-key-1234' }, mine);
        reads[0]?.();
        await slow;
        expect(await store.channels.byId(id)).toMatchObject({ baseUrl: 'https://new.example', weight: 9 });
      });

      test('goes on when the plugin is gone: a channel must be able to be disabled', async () => {
        const { id } = await create();
        installed = {};
        const same = { type: 61, taskPluginKey: 'demo', baseUrl: 'https://vendor.example' };
        expect((await channels.update(id, { status: 2, ...same }, mine)).channel.status).toBe(2);
        expect((await channels.update(id, { status: 1 }, mine)).channel).toMatchObject({ ...same, status: 1 });
        expect((await refusal(() => channels.update(id, { baseUrl: 'https://x.example', key: KEY }, mine))).param).toBe(
          'task_plugin_key',
        );
      });

      test('a circle in the mapping is refused and keeps what was', async () => {
        const { id } = await create({ modelMapping: { m: 'n' } });
        expect((await refusal(() => channels.update(id, { modelMapping: { m: 'n', n: 'm' } }, mine))).param).toBe(
          'model_mapping',
        );
        expect((await channels.get(id)).modelMapping).toEqual({ m: 'n' });
      });

      test('one that is not there is not found', async () => {
        expect((await refusal(() => channels.update(99, { weight: 1 }, mine))).code).toBe('channels.not_found');
      });
    });

    test('a deleted channel is picked no more and its id never comes again', async () => {
      const { id } = await create();
      const request = { pluginKey: 'demo', channelTypes: [], model: 'm', group: 'default', except: [] };
      expect(channels.pick(request)?.channel.id).toBe(id);
      expect((await channels.delete(id)).id).toBe(id);
      expect([channels.pick(request), channels.find(id)]).toEqual([undefined, undefined]);
      expect((await refusal(() => channels.delete(id))).code).toBe('channels.not_found');
      // Its running tasks would otherwise be asked for at another vendor.
      expect((await create()).id).toBeGreaterThan(id);
    });

    test('the start names the channels whose key was sealed with a secret that is gone, once', async () => {
      await create({ name: 'whole' });
      const { id } = await create({ name: 'lost' });
      await changeSealedKey(store, id, createSecretBox(['another']).seal(KEY));
      const warned: object[] = [];
      await start(store, { ...silentLogger, warn: (fields) => void warned.push(fields) });
      expect(warned).toEqual([{ channels: [`${id} (lost)`] }]);
    });

    test('a key sealed with a secret that is gone is unreadable and says so', async () => {
      const { id } = await create();
      await changeSealedKey(store, id, createSecretBox(['another']).seal(KEY));
      const found = await start(store, silentLogger);
      expect((await refusal(() => found.key(found.onlyAccount({ id })))).code).toBe('channels.key_unreadable');
    });

    test('a channel changed between two readings: the later reading wins, whichever answers first', async () => {
      const { id } = await create();
      let answer = (_: ChannelRecord[]) => {};
      let reads = 0;
      const slow: Store = {
        ...store,
        channels: {
          ...store.channels,
          all() {
            reads += 1;
            if (reads !== 2) return store.channels.all();
            return new Promise((resolve) => {
              answer = resolve;
            });
          },
        },
      };
      const other = await start(slow);
      const outdated = await store.channels.all();
      await store.publish('channels');
      await channels.update(id, { status: 2 }, mine);
      while (other.find(id)?.status !== 2) await Bun.sleep(2);
      answer(outdated);
      await Bun.sleep(0);
      expect(other.find(id)?.status).toBe(2);
    });
  },
  { fresh: 'test' },
);

test('a chain of 50,000 names in a mapping is followed once, not once for each name', () => {
  const chain = Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`m${i}`, `m${i + 1}`]));
  const before = process.cpuUsage();
  expect(checkMapping(chain)).toBe(chain);
  expect(() => checkMapping({ ...chain, m50000: 'm7' })).toThrow('cycle');
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(2000);
});
