import { afterAll, expect, test } from 'bun:test';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readImports } from '../../scripts/read-imports.ts';
import { checkFactory, renderFactory } from '../../scripts/write-factory.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import {
  compiledPlugins,
  demoSource,
  makeService,
  openTestStore,
  pluginSource,
  startSandbox,
  VIDEO_HOOKS,
} from './support.ts';

const sandbox = startSandbox();
const folder = temporaryFolder();
afterAll(async () => {
  await sandbox.close();
  rmSync(folder, { recursive: true, force: true });
});

const claim = { protocols: ['proto_video'] };

test('a factory plugin that breaks a rule is named with its file and all its faults', async () => {
  const { plugins, faults } = await checkFactory(
    [
      { name: 'good.js', source: pluginSource({ key: 'good' }) },
      { name: 'meta.js', source: pluginSource({ key: 'bad', models: [], colour: 1 }) },
      { name: 'text.js', source: `${pluginSource({ key: 'text' })}\nconst a = require('a');` },
      { name: 'throws.js', source: `${pluginSource({ key: 'throws' })}\nthrow new Error('at the top');` },
    ],
    sandbox,
  );
  expect(plugins.map(({ manifest }) => manifest.key)).toEqual(['good']);
  expect(faults).toEqual([
    expect.stringMatching(/^meta\.js: .*\/colour.*\/models/),
    expect.stringMatching(/^text\.js: source line 7: require\(\)/),
    expect.stringMatching(/^throws\.js: source.* at the top/),
  ]);
});

test('factory plugins with the same claim or key are named', async () => {
  const { faults } = await checkFactory(
    [
      { name: 'one.js', source: pluginSource({ key: 'one', ...claim }, VIDEO_HOOKS) },
      { name: 'two.js', source: pluginSource({ key: 'two', ...claim }, VIDEO_HOOKS) },
      { name: 'again.js', source: pluginSource({ key: 'one', version: '2.0.0' }) },
    ],
    sandbox,
  );
  expect(faults).toEqual([
    'two.js: plugin two protocol proto_video model "acme-1" conflicts with plugin one',
    'again.js: another factory plugin has the key one',
  ]);
});

test('the generated module has the checked plugins', async () => {
  const plugins = await compiledPlugins(
    sandbox,
    demoSource,
    pluginSource({ key: 'quoted', name: 'a "b" `c` ${d} \u2028 日本' }),
  );
  const file = join(folder, 'manifest.gen.ts');
  // The import of a type has no place to lead to from here.
  writeFileSync(file, renderFactory(plugins, 'hash').replace(/^import type .*$/m, 'type FactoryPlugin = unknown;'));
  const { factoryPlugins } = (await import(file)) as { factoryPlugins: unknown };
  expect(factoryPlugins).toEqual(plugins);
});

test('the inputs are hashed before any code that checks plugins is loaded: a pull between the two is seen', () => {
  const path = join(import.meta.dir, '../../scripts/build-factory.ts');
  const loaded = readImports(readFileSync(path, 'utf8')).map(({ specifier }) => specifier);
  expect(loaded.filter((name) => name.includes('/src/') || name.includes('write-factory'))).toEqual([]);
});

test('starting calls no sandbox, however many factory plugins there are', async () => {
  const factory = await compiledPlugins(
    sandbox,
    ...Array.from({ length: 12 }, (_, n) => pluginSource({ key: `vendor-${n}` })),
  );
  let asked = 0;
  const counting: Sandbox = {
    ...sandbox,
    inspect(module) {
      asked += 1;
      return sandbox.inspect(module, 'system');
    },
    call(module, call) {
      asked += 1;
      return sandbox.call(module, call);
    },
  };
  const opened = await openTestStore('sqlite');
  const service = makeService(opened.store, counting, { factory });
  try {
    await service.start();
    expect([service.current().plugins.size, asked]).toEqual([12, 0]);
    const answer = await service
      .current()
      .plugins.get('vendor-7')
      ?.call('parseTaskResult', [{}, { status: 'QUEUED' }], { owner: 'user:1' });
    expect([answer, asked]).toEqual([{ ok: true, value: { status: 'QUEUED' } }, 1]);
  } finally {
    await service.stop();
    await opened.close();
  }
});
