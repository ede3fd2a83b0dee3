import { afterAll, afterEach, beforeEach, expect, test } from 'bun:test';
import { sha256Hex, silentLogger, systemClock } from '../../src/kernel/index.ts';
import { createPluginService, type FactoryPlugin, type PluginService } from '../../src/plugins/index.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';
import type { NewPlugin } from '../../src/store/ports/index.ts';
import {
  compiledPlugins,
  makeService,
  type OpenedStore,
  openTestStore,
  pluginSource,
  startSandbox,
  until,
  VIDEO_HOOKS,
} from './support.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

let opened: OpenedStore;
let nodes: PluginService[];
beforeEach(async () => {
  opened = await openTestStore('sqlite');
  nodes = [];
});
afterEach(async () => {
  for (const node of nodes) await node.stop();
  await opened.close();
});

/** A cold start on the present database. */
async function startNode(...factory: FactoryPlugin[]): Promise<PluginService> {
  const node = makeService(opened.store, sandbox, { factory });
  nodes.push(node);
  await node.start();
  return node;
}

const serving = (node: PluginService, key = 'acme') => {
  const plugin = node.current().plugins.get(key);
  return plugin && `${plugin.layer} ${plugin.version}`;
};
const readError = (node: PluginService, key = 'acme') => node.runtimeStatus().pluginErrors[key]?.message ?? '';

/** Claims `models` on proto_video. */
const claiming = (key: string, version: string, ...models: string[]): string =>
  pluginSource(
    {
      key,
      version,
      models: ['base', ...models],
      protocols: models.length > 0 ? [{ name: 'proto_video', models }] : [],
    },
    models.length > 0 ? VIDEO_HOOKS : '',
  );

/** A row as another release of the gateway stored it, unchecked. */
function store(key: string, { version, source, ...change }: { version: string; source: string } & Partial<NewPlugin>) {
  const sourceHash = sha256Hex(source);
  const rest = { apiVersion: 1, icon: null, enabled: true, remark: '', narrowedModels: null, createdAt: 1 };
  return opened.store.plugins.insert({ key, version, source, sourceHash, ...rest, ...change });
}

/** Announces a change that was written past the node, and waits until the node has read it. */
async function reread(node: PluginService): Promise<void> {
  const { databaseRevision } = node.runtimeStatus();
  await opened.store.publish('plugins');
  await until(() => node.runtimeStatus().databaseRevision !== databaseRevision);
}

/** Syntax that a later release may refuse. */
const NOT_TAKEN = claiming('acme', '2.0.0', 'm').replace("kind: 'submit'", "kind: await 'submit'");

test('at a cold start the factory plugin replaces a stored version that does not compile', async () => {
  const [factory] = await compiledPlugins(sandbox, claiming('acme', '1.0.0', 'm'));
  if (!factory) throw new Error('no factory plugin');
  await store('acme', { version: '2.0.0', source: NOT_TAKEN });
  const node = await startNode(factory);
  expect(serving(node)).toBe('factory 1.0.0');
  expect(node.current().protocolOwners('proto_video', 'm')[0]?.plugin.layer).toBe('factory');
  expect(readError(node)).toContain('source line');
  expect(readError(node)).toEndWith('; factory version 1.0.0 serves instead');
  expect(node.runtimeStatus().lastRebuild).toMatchObject({ status: 'partial', pluginErrorCount: 1 });
  expect(await node.list()).toMatchObject([
    { key: 'acme', version: '2.0.0', runtimeStatus: 'compile_failed', runtimeError: { message: readError(node) } },
  ]);

  await node.upload({ source: claiming('acme', '2.0.1', 'm') });
  await node.activate('acme', '2.0.1');
  expect([serving(node), readError(node)]).toEqual(['database 2.0.1', '']);
  // The running node keeps what serves; one that starts now has the factory's alone.
  await opened.store.plugins.activate('acme', '2.0.0');
  await reread(node);
  expect(serving(node)).toBe('database 2.0.1');
  expect(readError(node)).toEndWith('; database version 2.0.1 serves instead');
  expect(serving(await startNode(factory))).toBe('factory 1.0.0');
});

test('a disabled factory plugin does not replace a version that does not compile', async () => {
  const [factory] = await compiledPlugins(sandbox, claiming('acme', '1.0.0', 'm'));
  if (!factory) throw new Error('no factory plugin');
  const first = await startNode(factory);
  await first.setEnabled('acme', false);
  await store('acme', { version: '2.0.0', source: NOT_TAKEN });
  const node = await startNode(factory);
  expect(serving(node)).toBeUndefined();
  expect(readError(node)).not.toContain('serves instead');
});

test('a factory plugin of an upgrade takes no claim from an installed plugin', async () => {
  await store('zeta', { version: '1.0.0', source: claiming('zeta', '1.0.0', 'm') });
  const node = await startNode(...(await compiledPlugins(sandbox, claiming('acme', '1.0.0', 'm'))));
  expect([serving(node, 'zeta'), serving(node)]).toEqual(['database 1.0.0', undefined]);
  expect(readError(node)).toBe('plugin acme protocol proto_video model "m" conflicts with plugin zeta');
});

test('a disabled version stops serving, even if its factory plugin is in conflict', async () => {
  const factory = await compiledPlugins(sandbox, claiming('acme', '1.0.0', 'm'));
  const node = await startNode(...factory);
  await node.upload({ source: claiming('acme', '2.0.0', 'other') });
  await node.upload({ source: claiming('rival', '1.0.0', 'm') });
  await node.upload({ source: claiming('acme', '2.0.0', 'other'), enabled: false });
  expect([serving(node), serving(node, 'rival')]).toEqual([undefined, 'database 1.0.0']);
  expect(readError(node)).toContain('conflicts with plugin rival');
});

test('of several changes in one rebuild, a refused one keeps its old claims', async () => {
  const node = await startNode();
  for (const [key, model] of [
    ['a', 'm1'],
    ['b', 'm2'],
    ['c', 'm3'],
  ] as const)
    await node.upload({ source: claiming(key, '1.0.0', model) });
  // b gives up m2 for m3, which c has; a would take m2 over.
  for (const [key, model] of [
    ['a', 'm2'],
    ['b', 'm3'],
  ] as const) {
    await store(key, { version: '2.0.0', source: claiming(key, '2.0.0', model) });
    await opened.store.plugins.activate(key, '2.0.0');
  }
  const before = node.current();
  await reread(node);
  expect(node.current()).toBe(before);
  expect(readError(node, 'a')).toBe(
    'plugin a protocol proto_video model "m2" conflicts with plugin b; database version 1.0.0 serves instead',
  );
  expect(readError(node, 'b')).toBe(
    'plugin b protocol proto_video model "m3" conflicts with plugin c; database version 1.0.0 serves instead',
  );
});

test('two plugins may swap what they claim in one change', async () => {
  const node = await startNode();
  await node.upload({ source: claiming('a', '1.0.0', 'm1') });
  await node.upload({ source: claiming('b', '1.0.0', 'm2') });
  for (const [key, model] of [
    ['a', 'm2'],
    ['b', 'm1'],
  ] as const) {
    await store(key, { version: '2.0.0', source: claiming(key, '2.0.0', model) });
    await opened.store.plugins.activate(key, '2.0.0');
  }
  const { number } = node.current();
  await reread(node);
  expect(node.current().number).toBe(number + 1);
  expect(['m1', 'm2'].map((model) => node.current().protocolOwners('proto_video', model)[0]?.plugin.key)).toEqual([
    'b',
    'a',
  ]);
});

test('narrowing resolves an overlap: the refused plugin serves at once', async () => {
  const node = await startNode();
  await node.upload({ source: claiming('acme', '1.0.0', 'm1', 'm2') });
  await node.upload({ source: claiming('rival', '1.0.0', 'm2'), force: true });
  expect([serving(node, 'rival'), readError(node, 'rival')]).toEqual([
    undefined,
    'plugin rival protocol proto_video model "m2" conflicts with plugin acme',
  ]);
  const [row] = await opened.store.plugins.versions('acme');
  await opened.store.plugins.update(row?.id ?? 0, { narrowedModels: ['base', 'm1'] });
  await reread(node);
  expect(serving(node, 'rival')).toBe('database 1.0.0');
  expect(node.current().protocolOwners('proto_video', 'm2')[0]?.plugin.key).toBe('rival');
  expect(node.runtimeStatus()).toMatchObject({ pluginErrors: {}, lastRebuild: { status: 'success' } });
});

test('a generation is consistent: its plugins and lookups are of one moment', async () => {
  const node = await startNode();
  const versioned = (n: number) =>
    pluginSource({ version: `1.0.${n}`, channelTypes: [100 + n], protocols: ['proto_video'] }, VIDEO_HOOKS);
  for (let n = 0; n < 8; n++) await node.upload({ source: versioned(n) });
  let ended = false;
  let looks = 0;
  const look = async (): Promise<void> => {
    while (!ended) {
      const { plugins, byChannelType, protocolOwners, number } = node.current();
      const plugin = plugins.get('acme');
      const owners = Array.from({ length: 8 }, (_, n) => byChannelType(100 + n)).filter((owner) => owner !== undefined);
      expect([owners, protocolOwners('proto_video', 'acme-1')[0]?.plugin]).toEqual([[plugin as never], plugin]);
      expect(node.runtimeStatus().currentGeneration).toBe(number);
      looks += 1;
      await Bun.sleep(0);
    }
  };
  const looking = look();
  for (let n = 7; n >= 0; n--) await node.activate('acme', `1.0.${n}`);
  ended = true;
  await looking;
  expect(looks).toBeGreaterThan(8);
  expect(serving(node)).toBe('database 1.0.0');
});

test('the database revision depends only on the active versions', async () => {
  const a = claiming('a', '1.0.0', 'm1');
  const b = claiming('b', '1.0.0', 'm2');
  await store('a', { version: '1.0.0', source: a });
  await store('b', { version: '1.0.0', source: b });
  const revision = (await startNode()).runtimeStatus().databaseRevision;
  const other = await openTestStore('sqlite');
  try {
    const node = makeService(other.store, sandbox, {
      factory: await compiledPlugins(sandbox, claiming('c', '1.0.0', 'm3')),
    });
    await node.start();
    await node.upload({ source: b, remark: 'uploaded first' });
    await node.upload({ source: a });
    await node.upload({ source: claiming('a', '1.1.0', 'm1') });
    expect(node.current().number).toBe(3);
    expect(node.runtimeStatus().databaseRevision).toBe(revision);
    const revisions = new Set([revision]);
    await node.activate('a', '1.1.0');
    revisions.add(node.runtimeStatus().databaseRevision);
    await node.setEnabled('b', false);
    revisions.add(node.runtimeStatus().databaseRevision);
    await node.setEnabled('c', false);
    revisions.add(node.runtimeStatus().databaseRevision);
    expect(revisions.size).toBe(4);
    await node.stop();
  } finally {
    await other.close();
  }
});

test('activations keep no old versions, except those that a request has pinned', async () => {
  const held = new Set<string>();
  const watched: Sandbox = {
    ...sandbox,
    inspect(module) {
      held.add(module.sourceHash);
      return sandbox.inspect(module, 'system');
    },
    call(module, call) {
      held.add(module.sourceHash);
      return sandbox.call(module, call);
    },
    forget(hash) {
      held.delete(hash);
      sandbox.forget(hash);
    },
  };
  const node = createPluginService({
    store: opened.store,
    sandbox: watched,
    clock: systemClock,
    logger: silentLogger,
    factory: [],
    syncFrequencyMs: 60_000,
  });
  nodes.push(node);
  await node.start();
  const ask = (pin = node.pin()) =>
    pin.generation.plugins
      .get('acme')
      ?.call('parseTaskResult', [null, { status: 'QUEUED' }], { owner: 'user:1' })
      .finally(pin.release);
  await node.upload({ source: pluginSource({ version: '1.0.0' }) });
  const pinned = node.pin();
  for (let n = 1; n <= 8; n++) {
    await node.upload({ source: pluginSource({ version: `1.0.${n}` }) });
    await node.activate('acme', `1.0.${n}`);
    expect(await ask()).toMatchObject({ ok: true });
  }
  const hashFor = (version: string) => sha256Hex(pluginSource({ version }));
  expect(held).toEqual(new Set([hashFor('1.0.0'), hashFor('1.0.8')]));
  expect(await ask(pinned)).toMatchObject({ ok: true });
  expect(held).toEqual(new Set([hashFor('1.0.8')]));
});
