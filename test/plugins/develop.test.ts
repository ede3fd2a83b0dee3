import { afterAll, afterEach, beforeEach, expect, test } from 'bun:test';
import type { HookCall, PluginService } from '../../src/plugins/index.ts';
import {
  compiledPlugins,
  demoSource,
  makeService,
  type OpenedStore,
  openTestStore,
  pluginSource,
  refusal,
  startSandbox,
  VIDEO_HOOKS,
} from './support.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());
const demo = await compiledPlugins(sandbox, demoSource);

let opened: OpenedStore;
let service: PluginService;
let calls: HookCall[];
const serving = (key = 'acme') => {
  const plugin = service.current().plugins.get(key);
  return plugin && [plugin.layer, plugin.version];
};

beforeEach(async () => {
  opened = await openTestStore('sqlite');
  calls = [];
  service = makeService(opened.store, sandbox, { factory: demo, onHookCall: (call) => calls.push(call) });
  await service.start();
});
afterEach(async () => {
  await service.stop();
  await opened.close();
});

test('the plugin under development takes precedence over database and factory, whatever its version', async () => {
  await service.upload({ source: pluginSource({ version: '2.0.0' }) });
  expect(await service.develop(pluginSource({ version: '1.0.0' }))).toMatchObject({
    ok: true,
    value: { key: 'acme', version: '1.0.0' },
  });
  expect(serving()).toEqual(['development', '1.0.0']);
  // The same version with another source, as an editor saves it.
  const saved = await service.develop(pluginSource({ version: '1.0.0', models: ['acme-3'] }));
  expect(saved.ok).toBe(true);
  expect(service.current().plugins.get('acme')?.manifest.models).toEqual(['acme-3']);
  await service.upload({ source: pluginSource({ version: '3.0.0' }) });
  await service.activate('acme', '3.0.0');
  expect(serving()).toEqual(['development', '1.0.0']);
  expect((await service.develop(demoSource)).ok).toBe(true);
  expect([serving('demo'), serving()]).toEqual([
    ['development', '1.0.0'],
    ['database', '3.0.0'],
  ]);
  expect((await service.versions('acme')).map(({ version }) => version)).toEqual(['3.0.0', '2.0.0']);
});

test('a plugin that changes its key keeps its claims', async () => {
  const claims = (key: string) => pluginSource({ key, protocols: ['proto_video'] }, VIDEO_HOOKS);
  expect((await service.develop(claims('acme'))).ok).toBe(true);
  expect((await service.develop(claims('renamed'))).ok).toBe(true);
  expect([serving(), serving('renamed')]).toEqual([undefined, ['development', '1.0.0']]);
  expect(service.current().protocolOwners('proto_video', 'acme-1')[0]?.plugin.key).toBe('renamed');
});

test('a broken or conflicting source gives its faults, and the serving plugin stays', async () => {
  const claims = { protocols: [{ name: 'proto_video', models: ['acme-1'] }] };
  await service.upload({ source: pluginSource({ key: 'rival', ...claims }, VIDEO_HOOKS) });
  await service.develop(pluginSource());
  const before = service.current();
  expect(await service.develop('export const meta = {')).toMatchObject({
    ok: false,
    error: [{ path: 'source', rule: 'source.syntax', line: 1 }],
  });
  expect(await service.develop(pluginSource({ models: [], colour: 1 }))).toMatchObject({
    ok: false,
    error: [{ path: '/colour' }, { path: '/models' }],
  });
  expect(service.current()).toBe(before);
  const conflict = await service.develop(pluginSource(claims, VIDEO_HOOKS));
  expect(conflict).toMatchObject({ ok: false, error: [{ rule: 'conflict' }] });
  expect(JSON.stringify(conflict)).toContain('acme-1\\" conflicts with plugin rival');
  expect(service.current()).toBe(before);
  expect(service.runtimeStatus().pluginErrors).toEqual({});
});

test('an unavailable database is not reported as a fault of the plugin', async () => {
  const { active } = opened.store.plugins;
  opened.store.plugins.active = () => Promise.reject(new Error('gone'));
  expect((await refusal(service.develop(pluginSource()))).code).toBe('plugins.unavailable');
  opened.store.plugins.active = active;
  expect((await service.develop(pluginSource())).ok).toBe(true);
});

test('every hook call is reported, with secrets redacted in arguments, results, errors and console', async () => {
  const secret = 'vendor-key-0123456789';
  const source = pluginSource().replace(
    'return { status: body.status };',
    `console.log('key', ctx.key);
  if (ctx.fail) throw new Error('bad ' + ctx.key);
  return { [ctx.key]: ['Bearer ' + ctx.key], n: 1 };`,
  );
  expect((await service.develop(source)).ok).toBe(true);
  const plugin = service.current().plugins.get('acme');
  const args = [{ key: secret, list: [secret, 1, null, true], missing: undefined }];
  const outcome = await plugin?.call('parseTaskResult', args, { owner: 'user:1', secrets: [secret] });
  await plugin?.call('parseTaskResult', [{ key: secret, fail: true }], { owner: 'user:1', secrets: [secret] });
  expect(outcome).toMatchObject({ ok: true, value: { [secret]: [`Bearer ${secret}`] } });
  expect(calls).toEqual([
    {
      key: 'acme',
      version: '1.0.0',
      hook: 'parseTaskResult',
      args: [{ key: '[redacted]', list: ['[redacted]', 1, null, true] }],
      outcome: { ok: true, value: { '[redacted]': ['Bearer [redacted]'], n: 1 } },
      console: ['key [redacted]'],
      ms: expect.any(Number),
    },
    {
      key: 'acme',
      version: '1.0.0',
      hook: 'parseTaskResult',
      args: [{ key: '[redacted]', fail: true }],
      outcome: {
        ok: false,
        kind: 'thrown',
        message: 'bad [redacted]',
        line: expect.any(Number),
        column: expect.any(Number),
      },
      console: ['key [redacted]'],
      ms: expect.any(Number),
    },
  ]);
  expect(JSON.stringify(calls)).not.toContain(secret);
});
