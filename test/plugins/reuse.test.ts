/** Which results of a plugin's hooks are used again. */
import { afterAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Json, silentLogger, systemClock } from '../../src/kernel/index.ts';
import type { LoadedPlugin } from '../../src/plugins/index.ts';
import { loadPlugin } from '../../src/plugins/registry/load-plugin.ts';
import { createCompiler } from '../../src/plugins/worker/compile-plugin.ts';
import { pluginSource, startSandbox } from './support.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());
const compiler = createCompiler(sandbox);

async function load(source: string, layer: LoadedPlugin['layer'] = 'database'): Promise<LoadedPlugin> {
  const compiled = await compiler.compile(source);
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.error));
  const deps = { sandbox, logger: silentLogger, clock: systemClock };
  return loadPlugin({ compiled: compiled.value, layer, narrowedModels: null, ...deps });
}

const factoryFile = (name: string): string =>
  readFileSync(join(import.meta.dir, '../../src/plugins/factory', name), 'utf8');

/** Whether equal calls may return something else. */
async function varies(plugin: LoadedPlugin, hook: string, args: readonly unknown[]): Promise<boolean> {
  let varying = false;
  const onVarying = () => {
    varying = true;
  };
  await plugin.call(hook, args, { owner: 'system', large: true, onVarying });
  return varying;
}

describe.each(['kling', 'jimeng'])('%s, which signs its requests', async (key) => {
  const plugin = await load(factoryFile(`${key}.js`));
  const { cases } = JSON.parse(factoryFile(`${key}.fixture.json`)) as {
    cases: { hook: string; args: Json[]; expected?: Json }[];
  };
  const casesFor = (hook: string) => cases.filter((one) => one.hook === hook && one.expected !== undefined);

  test.each(['parseTaskResult', 'listArtifacts'])('%s returns the same again', async (hook) => {
    expect(casesFor(hook).length).toBeGreaterThan(1);
    for (const { args } of casesFor(hook)) expect(await varies(plugin, hook, args)).toBe(false);
  });

  test('signs again each time', async () => {
    const [signed] = casesFor('buildQueryRequest');
    expect(await varies(plugin, 'buildQueryRequest', signed?.args ?? [])).toBe(true);
  });
});

test('a failed call may return something else the next time', async () => {
  const plugin = await load(pluginSource());
  expect(await varies(plugin, 'native.gone', [])).toBe(true);
});

describe('a call that may reuse a result', () => {
  const source = pluginSource({ key: 'reused' });
  const calls = async (plugin: LoadedPlugin, options: object): Promise<number> => {
    const before = sandbox.stats().calls;
    for (let i = 0; i < 3; i++)
      await plugin.call('buildQueryRequest', [{ taskId: 'a' }], { owner: 'system', ...options });
    return sandbox.stats().calls - before;
  };

  test('runs the hook once', async () => {
    expect(await calls(await load(source), { reuse: true })).toBe(1);
  });

  test('runs it each time if the caller does not ask for it', async () => {
    expect(await calls(await load(source), {})).toBe(3);
  });

  test('runs it each time while the plugin is in development', async () => {
    const plugin = await load(source, 'development');
    expect(await calls(plugin, { reuse: true })).toBe(3);
    expect(await varies(plugin, 'buildQueryRequest', [{ taskId: 'a' }])).toBe(true);
  });
});
