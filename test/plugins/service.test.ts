import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { sha256Hex, silentLogger, systemClock } from '../../src/kernel/index.ts';
import { createPluginService, type PluginService } from '../../src/plugins/index.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { PNG_ICON } from './icons.ts';
import { channel, insertEndedTask, insertTask } from './records.ts';
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

const PNG = PNG_ICON;

const at = (version: string, change: object = {}, more = '') => ({
  source: pluginSource({ version, ...change }, more),
});

describe.each(RULE_DATABASES)('plugins on %s', (dialect) => {
  let opened: OpenedStore;
  let service: PluginService;
  const serving = (key = 'acme'): string | undefined => service.current().plugins.get(key)?.version;

  beforeEach(async () => {
    opened = await openTestStore(dialect);
    service = makeService(opened.store, sandbox, { factory: demo });
    await service.start();
  });
  afterEach(async () => {
    await service.stop();
    await opened.close();
  });

  test('the factory plugin serves from the first generation', async () => {
    expect(service.current().number).toBe(1);
    expect(service.current().plugins.get('demo')?.layer).toBe('factory');
    expect(service.current().protocolOwners('proto_video', 'demo-video')[0]?.plugin.key).toBe('demo');
    expect(service.runtimeStatus()).toMatchObject({
      currentGeneration: 1,
      lastRebuild: { status: 'success', pluginErrorCount: 0 },
      pluginErrors: {},
    });
    expect(await service.list()).toMatchObject([
      { key: 'demo', source: 'factory', enabled: true, runtimeStatus: 'registered', channelCount: 0, inFlightCount: 0 },
    ]);
    expect(await service.detail('demo')).toMatchObject({ plugin: null, layer: 'factory', source: demoSource });
    expect(await service.versions('demo')).toEqual([]);
  });

  test('the first version serves at once, later ones when activated, newer or older', async () => {
    const first = await service.upload({ ...at('1.0.0'), remark: 'first', icon: PNG });
    expect(first).toMatchObject({
      plugin: { key: 'acme', version: '1.0.0', active: true, enabled: true, remark: 'first', hasIcon: true },
      meta: { key: 'acme', sortPriority: 0 },
    });
    expect(serving()).toBe('1.0.0');
    const second = await service.upload(at('2.0.0'));
    expect(second.plugin).toMatchObject({ active: false, enabled: true });
    expect(serving()).toBe('1.0.0');
    expect((await service.versions('acme')).map(({ version, active }) => [version, active])).toEqual([
      ['2.0.0', false],
      ['1.0.0', true],
    ]);
    await service.activate('acme', '2.0.0');
    expect(serving()).toBe('2.0.0');
    await service.activate('acme', '1.0.0');
    expect(serving()).toBe('1.0.0');
    expect((await service.icon('acme'))?.mimeType).toBe('image/png');
    expect(await service.icon('acme', '2.0.0')).toBeUndefined();
    expect((await refusal(service.activate('acme', '3.0.0'))).code).toBe('plugins.not_found');
  });

  test('a plugin with hidden characters in its name is refused; a stored one still serves', async () => {
    const misleading = at('1.0.0', { name: 'Acme \u202eoediV' });
    const refused = await refusal(service.upload(misleading));
    expect(refused).toMatchObject({
      code: 'plugins.invalid',
      details: { errors: [{ path: '/name', rule: 'name.characters', line: expect.any(Number) }] },
    });
    await opened.store.plugins.insert({
      ...{ key: 'acme', version: '1.0.0', apiVersion: 1, source: misleading.source, remark: '', icon: null },
      ...{ sourceHash: sha256Hex(misleading.source), enabled: true, narrowedModels: null, createdAt: 1 },
    });
    const again = await service.upload({ ...misleading, remark: 'known' });
    expect(again.plugin).toMatchObject({ remark: 'known' });
    expect(serving()).toBe('1.0.0');
  });

  test('a refused upload does not change the serving plugins', async () => {
    await service.upload(at('1.0.0'));
    const before = service.current();
    const cases: [upload: Parameters<PluginService['upload']>[0], code: string, details?: object][] = [
      [{ source: 'export const meta = {' }, 'plugins.invalid', { errors: [{ rule: 'source.syntax', line: 1 }] }],
      [
        { source: 'export const meta: Meta = {};' },
        'plugins.invalid',
        { errors: [{ rule: 'source.syntax', hint: expect.stringContaining('"taskgate plugin build"') }] },
      ],
      [{ source: `//${'x'.repeat(1_048_576)}` }, 'plugins.invalid', { errors: [{ rule: 'source.size' }] }],
      [
        at('2.0.0', { colour: 1, models: [] }),
        'plugins.invalid',
        { errors: [{ path: '/colour' }, { path: '/models' }] },
      ],
      [
        { ...at('2.0.0'), sourceSha256: sha256Hex('other') },
        'plugins.invalid',
        { errors: [{ rule: 'source.sha256' }] },
      ],
      [at('1.0.0', { name: 'Other' }), 'plugins.version_exists', { key: 'acme', version: '1.0.0' }],
      [{ ...at('2.0.0'), icon: 'https://x.y/i.png' }, 'plugins.icon_invalid'],
      [
        { ...at('2.0.0'), icon: `data:image/png;base64,${Buffer.from('GIF89a').toString('base64')}` },
        'plugins.icon_invalid',
      ],
      [{ ...at('2.0.0'), icon: 'data:image/png;base64,%%%%' }, 'plugins.icon_invalid'],
      [
        { ...at('2.0.0'), icon: `data:image/svg+xml;base64,${Buffer.from('<svg><script/></svg>').toString('base64')}` },
        'plugins.icon_invalid',
      ],
      [
        {
          ...at('2.0.0'),
          icon: `data:image/png;base64,${Buffer.concat([Buffer.from(PNG.slice(22), 'base64'), Buffer.alloc(524_288)]).toString('base64')}`,
        },
        'plugins.icon_invalid',
      ],
    ];
    for (const [upload, code, details] of cases) {
      const error = await refusal(service.upload(upload));
      expect(error.code).toBe(code);
      if (details) expect(error.details).toMatchObject(details);
    }
    expect(service.current()).toBe(before);
    expect((await service.versions('acme')).map(({ version }) => version)).toEqual(['1.0.0']);
  });

  test('uploading the same source again updates its remark, icon and enabled', async () => {
    await service.upload(at('1.0.0'));
    const again = await service.upload({
      ...at('1.0.0'),
      remark: 'new',
      icon: PNG,
      sourceSha256: sha256Hex(at('1.0.0').source).toUpperCase(),
    });
    expect(again.plugin).toMatchObject({ remark: 'new', hasIcon: true, active: true });
    expect(await service.versions('acme')).toHaveLength(1);
  });

  const native = "export const native = { d: () => ({ kind: 'submit', model: 'acme-1' }), r: (c, t) => t };";
  const route = (path: string, method = 'POST') => ({
    routes: [{ method, path, type: 'submit', decode: 'd', render: 'r' }],
  });
  const conflicts: [name: string, ours: object, ourMore: string, theirs: object, theirMore: string, details: object][] =
    [
      [
        'channel type',
        { channelTypes: [7, 8] },
        '',
        { channelTypes: [8] },
        '',
        { with: 'acme', kind: 'channel_type', subject: '8' },
      ],
      [
        'route shape',
        route('/jobs/:id'),
        native,
        route('/jobs/:task'),
        native,
        { with: 'acme', kind: 'route', subject: 'POST /jobs/:task' },
      ],
      [
        'protocol model',
        { protocols: ['proto_video'] },
        VIDEO_HOOKS,
        { protocols: [{ name: 'proto_video', models: ['acme-2'] }] },
        VIDEO_HOOKS,
        { with: 'acme', kind: 'protocol_model', subject: 'proto_video acme-2' },
      ],
    ];
  test.each(conflicts)(
    'a conflict by %s names the other plugin; force stores the version without serving it',
    async (_name, ours, ourMore, theirs, theirMore, details) => {
      await service.upload(at('1.0.0', ours, ourMore));
      const rival = at('1.0.0', { key: 'rival', ...theirs }, theirMore);
      const error = await refusal(service.upload(rival));
      expect([error.code, error.details]).toEqual(['plugins.conflict', details]);
      expect(error.message).toContain('conflicts with plugin acme');
      expect(await service.detail('rival').catch((e) => e.code)).toBe('plugins.not_found');

      expect(await service.upload({ ...rival, force: true })).toMatchObject({
        isServing: false,
        runtimeError: { message: expect.stringContaining('conflicts with plugin acme') },
      });
      expect(serving('rival')).toBeUndefined();
      expect(service.runtimeStatus()).toMatchObject({ lastRebuild: { status: 'partial', pluginErrorCount: 1 } });
      expect(service.runtimeStatus().pluginErrors.rival?.message).toContain('conflicts with plugin acme');
      expect((await service.list()).find(({ key }) => key === 'rival')).toMatchObject({
        runtimeStatus: 'not_registered',
      });

      await service.setEnabled('acme', false);
      expect(serving('rival')).toBe('1.0.0');
      expect((await refusal(service.setEnabled('acme', true))).details).toMatchObject({ with: 'rival' });
    },
  );

  test('a task that names a channel type belongs to the plugin that drives that type', async () => {
    await service.upload(at('1.0.0', { channelTypes: [250] }));
    const find = async (platform: string) =>
      (await service.current().findPlugin({ platform, sourceHash: '', createdAt: 0 }))?.key;
    expect([await find('acme'), await find('250')]).toEqual(['acme', 'acme']);
    expect([await find('25'), await find('0250'), await find('')]).toEqual([undefined, undefined, undefined]);
    await service.setEnabled('acme', false);
    expect(await find('250')).toBeUndefined();
  });

  test('disjoint models share a protocol, and a disabled upload is stored despite a conflict', async () => {
    await service.upload(at('1.0.0', { protocols: [{ name: 'proto_video', models: ['acme-1'] }] }, VIDEO_HOOKS));
    await service.upload(
      at('1.0.0', { key: 'rival', protocols: [{ name: 'proto_video', models: ['acme-2'] }] }, VIDEO_HOOKS),
    );
    expect(service.current().protocolOwners('proto_video', 'acme-1')[0]?.plugin.key).toBe('acme');
    expect(service.current().protocolOwners('proto_video', 'acme-2')[0]?.plugin.key).toBe('rival');
    const stored = await service.upload({
      ...at('1.0.0', { key: 'third', protocols: ['proto_video'] }, VIDEO_HOOKS),
      enabled: false,
    });
    expect(stored.plugin).toMatchObject({ enabled: false, active: true });
    expect((await service.list()).find(({ key }) => key === 'third')).toMatchObject({
      runtimeStatus: 'disabled',
      enabled: false,
    });
    expect(service.runtimeStatus().lastRebuild.status).toBe('success');
  });

  test('narrowing applies to claims, conflicts and later versions', async () => {
    await service.upload(at('1.0.0', { protocols: ['proto_video'] }, VIDEO_HOOKS));
    const [row] = await opened.store.plugins.versions('acme');
    await opened.store.plugins.update(row?.id ?? 0, { narrowedModels: ['acme-1'] });
    await opened.store.publish('plugins');
    await until(() => service.current().protocolOwners('proto_video', 'acme-2').length === 0);
    expect(service.current().plugins.get('acme')?.manifest.models).toEqual(['acme-1']);
    await service.upload(
      at('1.0.0', { key: 'rival', protocols: [{ name: 'proto_video', models: ['acme-2'] }] }, VIDEO_HOOKS),
    );
    await service.upload(at('1.1.0', { protocols: ['proto_video'] }, VIDEO_HOOKS));
    await service.activate('acme', '1.1.0');
    expect(service.current().protocolOwners('proto_video', 'acme-2')[0]?.plugin.key).toBe('rival');
  });

  test('a database version overrides the factory plugin, which serves again without it', async () => {
    const override = demoSource.replace("version: '1.0.0'", "version: '9.0.0'");
    await service.upload({ source: override });
    expect([serving('demo'), service.current().plugins.get('demo')?.layer]).toEqual(['9.0.0', 'database']);
    expect((await service.list()).find(({ key }) => key === 'demo')).toMatchObject({
      source: 'override_over_factory',
      version: '9.0.0',
      factoryMeta: { version: '1.0.0' },
    });
    await service.upload({ source: override, enabled: false });
    expect(service.current().plugins.get('demo')?.layer).toBe('factory');
    expect((await service.list()).find(({ key }) => key === 'demo')).toMatchObject({
      runtimeStatus: 'disabled_fallback',
    });
    await service.setEnabled('demo', false);
    expect(serving('demo')).toBeUndefined();
    await service.setEnabled('demo', true);
    expect(serving('demo')).toBe('9.0.0');
    await service.deleteVersion('demo', '9.0.0');
    expect(service.current().plugins.get('demo')?.layer).toBe('factory');
  });

  for (const [need, add] of Object.entries({
    'a channel': (store: Store) => store.channels.insert(channel({ name: 'mine', taskPluginKey: 'demo' })),
    'a price': (store: Store) =>
      store.prices.put({ pluginKey: 'demo', model: 'demo-video', expression: '1', updatedAt: 1 }),
    'an unfinished task': (store: Store) => insertTask(store, 'demo'),
    'a recent result': (store: Store) =>
      insertEndedTask(store, 'demo', {
        data: {},
        change: { status: 'SUCCESS', finishTime: systemClock.unix() - 29 * 86_400 },
      }),
  })) {
    test(`a first version waits for its activation where ${need} needs the plugin that serves`, async () => {
      const override = demoSource.replace("version: '1.0.0'", "version: '9.1.0'");
      await add(opened.store);
      const made = await service.upload({ source: override, enabled: true, force: true });
      expect(made).toMatchObject({ plugin: { active: false, enabled: true }, use: expect.any(Object) });
      expect(made.preview).toMatchObject({ from: { version: '1.0.0', layer: 'factory' }, to: { version: '9.1.0' } });
      expect(service.current().plugins.get('demo')?.layer).toBe('factory');
      await service.activate('demo', '9.1.0');
      expect(service.current().plugins.get('demo')?.layer).toBe('database');
    });
  }

  test('a first version serves at once where only an old result needs the one that ships', async () => {
    const change = { status: 'SUCCESS', finishTime: systemClock.unix() - 31 * 86_400 } as const;
    await insertEndedTask(opened.store, 'demo', { data: {}, change });
    const override = demoSource.replace("version: '1.0.0'", "version: '9.1.0'");
    expect(await service.upload({ source: override })).toMatchObject({
      plugin: { active: true },
      use: null,
      preview: null,
    });
  });

  test('disabling a plugin in use needs cascade for channels and force for tasks', async () => {
    await service.upload(at('1.0.0', { channelTypes: [7] }));
    const bound = await opened.store.channels.insert(channel({ name: 'bound' }));
    const typed = await opened.store.channels.insert(channel({ name: 'typed', type: 7, taskPluginKey: null }));
    await opened.store.channels.insert(channel({ name: 'off', status: 2 }));
    await insertTask(opened.store, 'acme');
    expect((await service.list()).find(({ key }) => key === 'acme')).toMatchObject({
      channelCount: 3,
      inFlightCount: 1,
    });
    const use = {
      channels: [
        { id: bound.id, name: 'bound' },
        { id: typed.id, name: 'typed' },
      ],
      inFlightCount: 1,
    };
    for (const options of [{}, { cascade: true }, { force: true }]) {
      const error = await refusal(service.setEnabled('acme', false, options));
      expect([error.code, error.details]).toEqual(['plugins.in_use', use]);
    }
    expect((await refusal(service.deleteVersion('acme', '1.0.0'))).code).toBe('plugins.in_use');
    expect(serving()).toBe('1.0.0');
    expect(await service.setEnabled('acme', false, { cascade: true, force: true })).toEqual({
      pluginEnabled: false,
      disabledChannels: [bound.id, typed.id],
      inFlightCount: use.inFlightCount,
      before: { enabled: true },
    });
    expect(serving()).toBeUndefined();
    expect((await opened.store.channels.byId(bound.id))?.status).toBe(2);
    await service.deleteVersion('acme', '1.0.0', { force: true });
    expect((await refusal(service.setEnabled('acme', true))).code).toBe('plugins.not_found');
  });

  test('deleting the active version activates the newest other one', async () => {
    await service.upload(at('1.0.0'));
    await service.upload(at('1.1.0'));
    await service.activate('acme', '1.1.0');
    await service.deleteVersion('acme', '1.1.0');
    expect(serving()).toBe('1.0.0');
    expect((await refusal(service.deleteVersion('acme', '1.1.0'))).code).toBe('plugins.not_found');
  });

  test('if a version no longer compiles, the serving one stays and the status says why', async () => {
    await service.upload(at('1.0.0'));
    const incumbent = service.current().plugins.get('acme');
    await opened.store.plugins.insert({
      key: 'acme',
      version: '2.0.0',
      apiVersion: 1,
      source: 'not a plugin',
      sourceHash: sha256Hex('not a plugin'),
      icon: null,
      enabled: true,
      remark: '',
      narrowedModels: null,
      createdAt: 2,
    });
    expect((await refusal(service.activate('acme', '2.0.0'))).code).toBe('plugins.invalid');
    await opened.store.plugins.activate('acme', '2.0.0');
    await opened.store.publish('plugins');
    await until(() => service.runtimeStatus().lastRebuild.status === 'partial');
    expect(service.current().plugins.get('acme')).toBe(incumbent as never);
    expect(service.runtimeStatus().pluginErrors.acme?.message).toContain('line 1');
    expect(await service.list()).toMatchObject([
      { key: 'acme', runtimeStatus: 'compile_failed', meta: null },
      { key: 'demo' },
    ]);
    expect((await service.detail('acme')).errors).toMatchObject([{ rule: 'source.syntax' }]);
    await service.activate('acme', '1.0.0');
    expect(service.runtimeStatus().lastRebuild.status).toBe('success');
  });

  test('another node is notified of a change, and has the same revision', async () => {
    const other = makeService(opened.store, sandbox, { factory: demo, syncFrequencyMs: 20 });
    await other.start();
    try {
      await service.upload(at('1.0.0'));
      await until(() => other.current().plugins.has('acme'));
      expect(other.runtimeStatus().databaseRevision).toBe(service.runtimeStatus().databaseRevision);
      const revision = service.runtimeStatus().databaseRevision;
      await service.upload(at('2.0.0'));
      expect(service.runtimeStatus().databaseRevision).toBe(revision);
      await service.activate('acme', '2.0.0');
      expect(service.runtimeStatus().databaseRevision).not.toBe(revision);
    } finally {
      await other.stop();
    }
  });

  test('a change without a notification is found by reading again', async () => {
    const other = makeService(opened.store, sandbox, { factory: [], syncFrequencyMs: 20 });
    await other.start();
    try {
      const { source } = at('1.0.0');
      await opened.store.plugins.insert({
        key: 'acme',
        version: '1.0.0',
        apiVersion: 1,
        source,
        sourceHash: sha256Hex(source),
        icon: null,
        enabled: true,
        remark: '',
        narrowedModels: null,
        createdAt: 1,
      });
      await until(() => other.current().plugins.has('acme'));
      const { number } = other.current();
      const { attemptedAt } = other.runtimeStatus().lastRebuild;
      await until(() => other.runtimeStatus().lastRebuild.attemptedAt > attemptedAt);
      expect(other.current().number).toBe(number);
    } finally {
      await other.stop();
    }
  });

  test('an unavailable database leaves the serving plugins, and the status says so', async () => {
    let broken = false;
    const store: Store = {
      ...opened.store,
      plugins: {
        ...opened.store.plugins,
        active: () => (broken ? Promise.reject(new Error('gone')) : opened.store.plugins.active()),
      },
      ping: () => opened.store.ping(),
      publish: (topic) => opened.store.publish(topic),
      subscribe: (listener) => opened.store.subscribe(listener),
      transaction: (work) => opened.store.transaction(work),
      close: () => opened.store.close(),
    };
    const node = makeService(store, sandbox, { factory: demo, syncFrequencyMs: 20 });
    await node.start();
    broken = true;
    await until(() => node.runtimeStatus().databaseError !== undefined);
    expect(node.current().plugins.has('demo')).toBe(true);
    expect(node.runtimeStatus()).toMatchObject({
      databaseError: { message: 'database snapshot unavailable' },
      lastRebuild: { status: 'failed' },
    });
    broken = false;
    await until(() => node.runtimeStatus().lastRebuild.status === 'success');
    expect(node.runtimeStatus().databaseError).toBeUndefined();
    await node.stop();
  });

  test('a dry run calls one function and nothing more', async () => {
    await service.upload({
      ...at('1.0.0', {}, "export const helpers = { twice: (n) => { console.log('n', n); return n * 2; } };"),
      enabled: false,
    });
    expect(await service.dryRun('acme', { hook: 'helpers', member: 'twice', args: [21] })).toMatchObject({
      result: 42,
      console: ['n 21'],
    });
    expect(
      (await service.dryRun('acme', { hook: 'parseTaskResult', args: [null, { status: 'QUEUED' }] })).result,
    ).toEqual({ status: 'QUEUED' });
    expect(
      (
        await service.dryRun('demo', {
          hook: 'protocols',
          path: ['proto_video', 'render'],
          args: [{}, { task_id: 't', status: 'SUCCESS', data: {} }],
        })
      ).result,
    ).toBeObject();
    const thrown = await refusal(service.dryRun('acme', { hook: 'parseTaskResult', args: [] }));
    expect([thrown.code, (thrown.details as { kind: string }).kind]).toEqual(['plugins.hook_failed', 'thrown']);
    expect((await refusal(service.dryRun('acme', { hook: 'meta', args: [] }))).details).toMatchObject({
      kind: 'not_callable',
    });
    expect((await refusal(service.dryRun('nobody', { hook: 'x', args: [] }))).code).toBe('plugins.not_found');
  });
});

test('sources that no longer serve are forgotten, except those of a pinned generation', async () => {
  const opened = await openTestStore('sqlite');
  const forgotten: string[] = [];
  const watched: Sandbox = {
    ...sandbox,
    forget(hash) {
      forgotten.push(hash);
      sandbox.forget(hash);
    },
  };
  const service = createPluginService({
    store: opened.store,
    sandbox: watched,
    clock: systemClock,
    logger: silentLogger,
    factory: [],
    syncFrequencyMs: 60_000,
  });
  try {
    await service.start();
    const first = (await service.upload(at('1.0.0'))).sourceHash;
    const second = (await service.upload(at('2.0.0'))).sourceHash;
    const pin = service.pin();
    await service.activate('acme', '2.0.0');
    forgotten.length = 0;
    expect(
      await pin.generation.plugins
        .get('acme')
        ?.call('parseTaskResult', [null, { status: 'QUEUED' }], { owner: 'user:1' }),
    ).toMatchObject({ ok: true });
    expect(forgotten).toEqual([]);
    pin.release();
    pin.release();
    expect(forgotten).toEqual([first]);
    expect(forgotten).not.toContain(second);
  } finally {
    await service.stop();
    await opened.close();
  }
});
