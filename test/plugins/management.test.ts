import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { PluginService } from '../../src/plugins/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { PNG_ICON } from './icons.ts';
import { channel, insertTask } from './records.ts';
import {
  compiledPlugins,
  demoSource,
  makeService,
  type OpenedStore,
  openTestStore,
  pluginSource,
  refusal,
  startSandbox,
  until,
  VIDEO_HOOKS,
} from './support.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());
const demo = await compiledPlugins(sandbox, demoSource);

const at = (version: string, change: object = {}, more = '') => ({
  source: pluginSource({ version, ...change }, more),
});
/** A version that claims models on proto_video. */
const claiming = (key: string, version: string, models = ['acme-1', 'acme-2']) =>
  at(version, { key, protocols: [{ name: 'proto_video', models }] }, VIDEO_HOOKS);

let opened: OpenedStore;
let store: Store;
let service: PluginService;
const serving = (key = 'acme'): string | undefined => service.current().plugins.get(key)?.version;

function useDatabase(dialect: 'sqlite' | 'postgres'): void {
  beforeEach(async () => {
    opened = await openTestStore(dialect);
    store = opened.store;
    service = makeService(store, sandbox, { factory: demo });
    await service.start();
  });
  afterEach(async () => {
    await service.stop();
    await opened.close();
  });
}

/**
 * Breaks a stored version below the gateway, as an older gateway with other rules could have stored
 * it.
 */
async function breakVersion(key: string, version: string): Promise<void> {
  const row = await store.plugins.byVersion(key, version);
  await store.plugins.delete(key, version, 0);
  const { id: _, active: __, ...rest } = row ?? expect.unreachable();
  await store.plugins.insert({ ...rest, source: 'export const meta = {', sourceHash: 'broken' });
}

/** Another node on the same database. */
async function withOtherNode(work: (other: PluginService) => Promise<void>): Promise<void> {
  const other = makeService(store, sandbox, { factory: demo, syncFrequencyMs: 20 });
  await other.start();
  try {
    await work(other);
  } finally {
    await other.stop();
  }
}

describe.each(['sqlite', 'postgres'] as const)('changes of plugins at once on %s', (dialect) => {
  useDatabase(dialect);

  test('concurrent uploads of a version from two nodes store it once, and refuse another source', async () => {
    await withOtherNode(async (other) => {
      const nodes = [service, other, service, other];
      const stored = await Promise.all(nodes.map((node) => node.upload({ ...at('1.0.0'), remark: 'r' })));
      expect(stored.map(({ before }) => before === null).sort()).toEqual([false, false, false, true]);
      expect(await service.versions('acme')).toHaveLength(1);

      const sources = [at('2.0.0', { name: 'One' }), at('2.0.0', { name: 'Two' })];
      const outcomes = await Promise.allSettled(sources.map((source, index) => nodes[index]?.upload(source)));
      const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason.code] : []));
      expect(refused).toEqual(['plugins.version_exists']);
      expect(await service.versions('acme')).toHaveLength(2);
    });
  });

  test('the number of a deleted version is not given to another source', async () => {
    await service.upload(at('1.0.0'));
    await service.deleteVersion('acme', '1.0.0');
    const refused = await refusal(service.upload(at('1.0.0', { name: 'Other' })));
    expect([refused.code, refused.message]).toEqual([
      'plugins.version_exists',
      'Version 1.0.0 of acme was deleted and had another source. Give the changed source a new version.',
    ]);
    expect(await service.upload(at('1.0.0'))).toMatchObject({ plugin: { version: '1.0.0', active: true } });
  });

  test('concurrent uploads of conflicting plugins from two nodes: one is admitted and serves on both', async () => {
    await withOtherNode(async (other) => {
      const outcomes = await Promise.allSettled([
        service.upload(claiming('first', '1.0.0')),
        other.upload(claiming('second', '1.0.0')),
      ]);
      const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason.code] : []));
      expect(refused).toEqual(['plugins.conflict']);
      const owner = (node: PluginService) => node.current().protocolOwners('proto_video', 'acme-1')[0]?.plugin.key;
      await until(() => owner(service) !== undefined && owner(service) === owner(other));
      expect(service.runtimeStatus().pluginErrors).toEqual({});
    });
  });

  test('concurrent activations of different versions by two nodes leave the same version on both', async () => {
    for (const version of ['1.0.0', '2.0.0', '3.0.0']) await service.upload(at(version));
    await withOtherNode(async (other) => {
      const changes = await Promise.all([service.activate('acme', '2.0.0'), other.activate('acme', '3.0.0')]);
      const active = (await service.versions('acme')).filter((row) => row.active).map(({ version }) => version);
      expect(active).toHaveLength(1);
      // One came after the other and says so.
      expect(changes.map(({ before }) => before?.version)).toContain('1.0.0');
      expect(changes.filter(({ before }) => before?.version !== '1.0.0')).toHaveLength(1);
      await until(() => serving() === active[0] && other.current().plugins.get('acme')?.version === active[0]);
    });
  });

  test('an activation without a notification takes effect after a restart and on other nodes', async () => {
    for (const version of ['1.0.0', '2.0.0']) await service.upload(at(version));
    await withOtherNode(async (other) => {
      // All that a process does that dies between the statement and the announcement.
      await store.plugins.activate('acme', '2.0.0');
      await until(() => other.current().plugins.get('acme')?.version === '2.0.0');
    });
    const restarted = makeService(store, sandbox, { factory: demo });
    await restarted.start();
    expect(restarted.current().plugins.get('acme')?.version).toBe('2.0.0');
    await restarted.stop();
    // What this node has not heard of yet does not mislead its next change.
    expect((await service.activate('acme', '1.0.0')).before?.version).toBe('2.0.0');
  });

  test('disabling sees a submission that was stored in the meantime', async () => {
    await service.upload(at('1.0.0'));
    const node = makeService(
      {
        ...store,
        // The submission of another request commits after the call has come in and before the
        // change is made.
        async transaction(work) {
          await insertTask(store, 'acme');
          return store.transaction(work);
        },
      },
      sandbox,
    );
    await node.start();
    const refused = await refusal(node.setEnabled('acme', false));
    expect([refused.code, refused.details]).toEqual(['plugins.in_use', { channels: [], inFlightCount: 1 }]);
    expect((await service.versions('acme'))[0]?.enabled).toBe(true);
    expect(await node.setEnabled('acme', false, { force: true })).toMatchObject({ inFlightCount: 2 });
    await node.stop();
  });
});

describe('management of plugins', () => {
  useDatabase('sqlite');

  describe('uploads', () => {
    test('an update changes only what it names, and returns the version before', async () => {
      await service.upload({ ...at('1.0.0'), remark: 'first', icon: PNG_ICON });
      await service.upload({ ...at('1.0.0'), enabled: false });
      const again = await service.upload({ ...at('1.0.0'), remark: 'second' });
      expect(again.before).toMatchObject({ remark: 'first', enabled: false, hasIcon: true });
      expect(again.plugin).toMatchObject({ remark: 'second', enabled: false, hasIcon: true });
      expect(again.before).not.toHaveProperty('source');
    });

    test('a remark for a disabled version is stored despite conflicts', async () => {
      await service.upload(claiming('acme', '1.0.0'));
      await service.upload({ ...claiming('rival', '1.0.0'), enabled: false });
      expect((await service.upload({ ...claiming('rival', '1.0.0'), remark: 'later' })).plugin?.remark).toBe('later');
      const refused = await refusal(service.upload({ ...claiming('rival', '1.0.0'), enabled: true }));
      expect(refused.code).toBe('plugins.conflict');
      expect(serving('rival')).toBeUndefined();
    });

    test('does not disable a version in use, unless forced', async () => {
      await service.upload(at('1.0.0'));
      await store.channels.insert(channel());
      expect((await refusal(service.upload({ ...at('1.0.0'), enabled: false, remark: 'x' }))).code).toBe(
        'plugins.in_use',
      );
      expect((await service.versions('acme'))[0]).toMatchObject({ enabled: true, remark: '' });
      expect(serving()).toBe('1.0.0');
      await service.upload({ ...at('1.0.0'), enabled: false, force: true });
      expect(serving()).toBeUndefined();
    });
  });

  describe('activation', () => {
    test('of a broken or conflicting version changes nothing', async () => {
      await service.upload(claiming('acme', '1.0.0', ['acme-1']));
      await service.upload(claiming('rival', '1.0.0', ['acme-2']));
      await service.upload({ ...claiming('acme', '2.0.0'), force: true });
      await service.upload(at('3.0.0'));
      await breakVersion('acme', '3.0.0');
      const before = service.current();
      expect((await refusal(service.activate('acme', '2.0.0'))).details).toMatchObject({ with: 'rival' });
      expect((await refusal(service.activate('acme', '3.0.0'))).details).toMatchObject({
        errors: [{ path: 'source', rule: 'source.syntax', line: 1 }],
      });
      expect((await refusal(service.activate('demo', '1.0.0'))).code).toBe('plugins.not_found');
      expect(service.current()).toBe(before);
    });
  });

  describe("activation of the factory's plugin", () => {
    const mine = (version: string) => ({
      source: demoSource.replace("version: '1.0.0'", `version: '${version}'`).replaceAll("'demo-video'", "'demo-two'"),
    });
    const layer = () => service.current().plugins.get('demo')?.layer;

    test('deactivates stored versions and later uploads, until one is activated', async () => {
      await service.upload(mine('7.0.0'));
      expect(layer()).toBe('database');
      expect(await service.preview('demo', { version: 'factory' })).toMatchObject({
        from: { version: '7.0.0' },
        conflict: null,
      });
      const change = await service.activate('demo', 'factory');
      expect(change).toMatchObject({ before: { version: '7.0.0', active: true }, after: null });
      expect(layer()).toBe('factory');
      expect((await service.list()).find(({ key }) => key === 'demo')).toMatchObject({
        source: 'factory',
        version: '1.0.0',
        active: true,
        runtimeStatus: 'registered',
      });
      expect((await service.upload(mine('8.0.0'))).plugin?.active).toBe(false);
      expect((await service.versions('demo')).map(({ active }) => active)).toEqual([false, false]);
      expect(layer()).toBe('factory');
      await service.deleteVersion('demo', '8.0.0');
      expect(layer()).toBe('factory');
      await service.setEnabled('demo', false);
      expect(layer()).toBeUndefined();
      await service.activate('demo', 'factory');
      expect(layer()).toBe('factory');
      expect(await service.activate('demo', '7.0.0')).toMatchObject({ before: null, after: { version: '7.0.0' } });
      expect(serving('demo')).toBe('7.0.0');
    });

    test('is refused if it could not serve, or if there is no factory plugin', async () => {
      await service.upload(mine('7.0.0'));
      await service.upload(at('1.0.0', { models: ['demo-video'], protocols: ['proto_video'] }, VIDEO_HOOKS));
      expect((await refusal(service.activate('demo', 'factory'))).details).toMatchObject({ with: 'acme' });
      expect((await service.preview('demo', { version: 'factory' })).conflict).toMatchObject({ with: 'acme' });
      expect(serving('demo')).toBe('7.0.0');
      expect((await refusal(service.activate('acme', 'factory'))).code).toBe('plugins.not_found');
      expect(serving()).toBe('1.0.0');
    });
  });

  test('a failed notification of other nodes does not undo or fail the change', async () => {
    const mute = async () => {
      throw new Error('no connection');
    };
    const node = makeService({ ...store, publish: mute }, sandbox, { factory: demo });
    await node.start();
    expect((await node.upload(at('1.0.0'))).plugin?.active).toBe(true);
    await store.channels.insert(channel());
    expect(await node.setEnabled('acme', false, { cascade: true })).toMatchObject({ disabledChannels: [1] });
    expect(node.current().plugins.has('acme')).toBe(false);
    await node.stop();
  });

  describe('switching off', () => {
    test('that is refused changes no channel', async () => {
      await service.upload(at('1.0.0'));
      const { id } = await store.channels.insert(channel());
      await insertTask(store, 'acme');
      expect((await refusal(service.setEnabled('acme', false, { cascade: true }))).code).toBe('plugins.in_use');
      expect((await store.channels.byId(id))?.status).toBe(1);
      expect((await service.versions('acme'))[0]?.enabled).toBe(true);
    });
  });

  describe('deletion of the active version', () => {
    const conflicting = async (): Promise<void> => {
      await service.upload({ ...claiming('acme', '1.0.0'), enabled: false });
      await service.upload(claiming('acme', '2.0.0', ['acme-1']));
      await service.activate('acme', '2.0.0');
      await service.upload(claiming('rival', '1.0.0', ['acme-2']));
    };

    test('is refused if its successor is in conflict, unless forced', async () => {
      await conflicting();
      const refused = await refusal(service.deleteVersion('acme', '2.0.0'));
      expect([refused.code, refused.details]).toEqual(['plugins.conflict', expect.objectContaining({ with: 'rival' })]);
      expect(refused.message).toStartWith('Version 1.0.0 would take its place and cannot serve. Plugin acme protocol');
      expect(serving()).toBe('2.0.0');
      expect(await service.deleteVersion('acme', '2.0.0', { force: true })).toMatchObject({ successor: '1.0.0' });
      expect((await service.list()).find(({ key }) => key === 'acme')).toMatchObject({
        version: '1.0.0',
        runtimeStatus: 'not_registered',
      });
      expect(service.runtimeStatus().pluginErrors.acme?.message).toContain('conflicts with plugin rival');
    });

    test('is refused if its successor is broken', async () => {
      for (const version of ['1.0.0', '2.0.0']) await service.upload(at(version));
      await service.activate('acme', '2.0.0');
      await breakVersion('acme', '1.0.0');
      const refused = await refusal(service.deleteVersion('acme', '2.0.0'));
      expect([refused.code, refused.details]).toMatchObject([
        'plugins.invalid',
        { errors: [{ rule: 'source.syntax' }] },
      ]);
      expect(refused.message).toContain('Activate another version first');
      expect(serving()).toBe('2.0.0');
    });

    test('checks no successor if the version is disabled', async () => {
      await conflicting();
      await service.setEnabled('acme', false);
      expect(await service.deleteVersion('acme', '2.0.0')).toMatchObject({
        before: { version: '2.0.0', enabled: false },
        successor: '1.0.0',
      });
      expect((await service.versions('acme'))[0]).toMatchObject({ active: true, enabled: false });
    });

    test('is succeeded by the newest remaining version, enabled, or else by the factory plugin', async () => {
      const mine = (version: string) => ({ source: demoSource.replace("version: '1.0.0'", `version: '${version}'`) });
      await service.upload({ ...mine('7.0.0'), enabled: false });
      await service.upload(mine('8.0.0'));
      await service.activate('demo', '8.0.0');
      expect(await service.deleteVersion('demo', '8.0.0')).toMatchObject({ successor: '7.0.0' });
      expect(serving('demo')).toBe('7.0.0');
      await store.channels.insert(channel({ taskPluginKey: 'demo' }));
      expect(await service.deleteVersion('demo', '7.0.0')).toMatchObject({ successor: 'factory' });
      expect(service.current().plugins.get('demo')?.layer).toBe('factory');
    });

    test('is refused if the factory plugin could not serve', async () => {
      const mine = demoSource.replace("version: '1.0.0'", "version: '2.0.0'").replaceAll("'demo-video'", "'demo-two'");
      await service.upload({ source: mine });
      await service.upload(at('1.0.0', { models: ['demo-video'], protocols: ['proto_video'] }, VIDEO_HOOKS));
      const refused = await refusal(service.deleteVersion('demo', '2.0.0'));
      expect(refused.message).toStartWith('Version factory would take its place');
      expect(refused.details).toMatchObject({ with: 'acme' });
    });
  });

  describe('narrowing', () => {
    test('is inherited by an earlier version, without models that this one does not have', async () => {
      await service.upload(claiming('acme', '1.0.0'));
      await service.upload(at('2.0.0', { key: 'acme', models: ['acme-2', 'acme-3'] }));
      await service.upload(at('3.0.0', { key: 'acme', models: ['acme-4'] }));
      await service.narrow('acme', ['acme-2']);
      expect((await service.preview('acme', { version: '2.0.0' })).narrowedModels).toEqual({
        before: ['acme-2'],
        after: ['acme-2'],
      });
      const change = await service.activate('acme', '2.0.0');
      expect(change).toMatchObject({ before: { narrowedModels: ['acme-2'] }, after: { narrowedModels: ['acme-2'] } });
      expect(service.current().plugins.get('acme')?.manifest.models).toEqual(['acme-2']);
      expect((await service.versions('acme')).map(({ narrowedModels }) => narrowedModels)).toEqual([
        null,
        ['acme-2'],
        ['acme-2'],
      ]);
      // Its own narrowing counts, whatever serves now.
      await service.narrow('acme', ['acme-3']);
      expect((await service.preview('acme', { version: '1.0.0' })).narrowedModels).toEqual({
        before: ['acme-3'],
        after: ['acme-2'],
      });
      // Nothing is left of it: the version serves nothing that nobody has allowed.
      expect((await service.preview('acme', { version: '3.0.0' })).narrowedModels).toEqual({
        before: ['acme-3'],
        after: [],
      });
      expect((await service.upload(at('4.0.0', { models: ['acme-3', 'acme-4'] }))).plugin?.narrowedModels).toEqual([
        'acme-3',
      ]);
      await service.narrow('acme', null);
      expect((await service.preview('acme', { version: '3.0.0' })).narrowedModels).toEqual({
        before: null,
        after: null,
      });
    });

    test('resolves a conflict, takes effect at once, and is shown everywhere', async () => {
      await service.upload(claiming('acme', '1.0.0'));
      expect((await refusal(service.upload(claiming('rival', '1.0.0', ['acme-2'])))).code).toBe('plugins.conflict');
      const change = await service.narrow('acme', ['acme-1']);
      expect([change.before?.narrowedModels, change.after.narrowedModels]).toEqual([null, ['acme-1']]);
      expect(service.current().protocolOwners('proto_video', 'acme-2')).toEqual([]);
      await service.upload(claiming('rival', '1.0.0', ['acme-2']));
      expect(service.current().protocolOwners('proto_video', 'acme-2')[0]?.plugin.key).toBe('rival');

      expect((await refusal(service.narrow('acme', null))).details).toMatchObject({ with: 'rival' });
      expect((await refusal(service.narrow('acme', ['acme-2']))).details).toMatchObject({ with: 'rival' });
      expect((await service.list()).map(({ key, narrowedModels }) => [key, narrowedModels])).toEqual([
        ['acme', ['acme-1']],
        ['demo', null],
        ['rival', null],
      ]);
      expect((await service.detail('acme')).plugin?.narrowedModels).toEqual(['acme-1']);
      expect((await service.detail('acme')).meta?.models).toEqual(['acme-1', 'acme-2']);
      const next = await service.upload(claiming('acme', '2.0.0'));
      expect(next.plugin?.narrowedModels).toEqual(['acme-1']);
      await service.activate('acme', '2.0.0');
      await service.setEnabled('rival', false);
      await service.narrow('acme', null);
      expect(service.current().protocolOwners('proto_video', 'acme-2')[0]?.plugin.key).toBe('acme');
    });

    test('names the models that a version does not have', async () => {
      await service.upload(at('1.0.0'));
      const refused = await refusal(service.narrow('acme', ['acme-1', 'nothing', 'ACME-2']));
      expect([refused.code, refused.details]).toMatchObject([
        'plugins.invalid',
        {
          errors: [
            { path: '/models/1', rule: 'models.unknown', hint: 'Its models: acme-1, acme-2.' },
            { path: '/models/2', rule: 'models.unknown' },
          ],
        },
      ]);
      expect((await refusal(service.narrow('demo', ['demo-music']))).code).toBe('plugins.invalid');
      expect((await refusal(service.narrow('nobody', null))).code).toBe('plugins.not_found');
    });

    test('of a factory plugin is resolved for others, inherited, and kept through a rebuild elsewhere', async () => {
      const rival = at(
        '1.0.0',
        { key: 'rival', models: ['demo-video-pro'], protocols: [{ name: 'proto_video' }] },
        VIDEO_HOOKS,
      );
      expect((await refusal(service.upload(rival))).details).toMatchObject({ with: 'demo' });
      const { before, after } = await service.narrow('demo', ['demo-video']);
      expect([before.narrowedModels, after.narrowedModels]).toEqual([null, ['demo-video']]);
      await service.upload(rival);
      expect(service.current().protocolOwners('proto_video', 'demo-video-pro')[0]?.plugin.key).toBe('rival');
      expect((await refusal(service.narrow('demo', null))).details).toMatchObject({ with: 'rival' });
      await withOtherNode(async (other) => {
        expect(other.current().plugins.get('demo')?.manifest.models).toEqual(['demo-video']);
        expect((await other.list()).find(({ key }) => key === 'demo')?.narrowedModels).toEqual(['demo-video']);
      });
      await service.setEnabled('demo', false);
      await service.setEnabled('demo', true);
      // What is uploaded over it takes nothing back from others.
      const own = { source: demoSource.replace("version: '1.0.0'", "version: '7.0.0'") };
      expect(await service.preview('demo', own)).toMatchObject({
        conflict: null,
        narrowedModels: { before: ['demo-video'], after: ['demo-video'] },
      });
      expect((await service.upload(own)).plugin).toMatchObject({ narrowedModels: ['demo-video'] });
      await service.activate('demo', '7.0.0');
      await service.narrow('demo', ['demo-video']);
      await service.deleteVersion('demo', '7.0.0');
      expect(service.current().plugins.get('demo')?.manifest.models).toEqual(['demo-video']);
      await service.setEnabled('rival', false);
      await service.narrow('demo', null);
      expect(service.current().protocolOwners('proto_video', 'demo-video-pro')[0]?.plugin.key).toBe('demo');
    });

    test('of a disabled plugin is checked when it is enabled', async () => {
      await service.upload(claiming('acme', '1.0.0', ['acme-1']));
      await service.upload({ ...claiming('rival', '1.0.0'), enabled: false });
      await service.narrow('rival', ['acme-1']);
      expect((await refusal(service.setEnabled('rival', true))).code).toBe('plugins.conflict');
      await service.narrow('rival', ['acme-2']);
      await service.setEnabled('rival', true);
      expect(service.current().protocolOwners('proto_video', 'acme-2')[0]?.plugin.key).toBe('rival');
    });
  });
});
