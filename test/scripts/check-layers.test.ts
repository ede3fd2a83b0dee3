import { describe, expect, test } from 'bun:test';
import { checkLayers } from '../../scripts/check-layers.ts';
import { checkSizes } from '../../scripts/check-sizes.ts';
import { temporaryTree } from '../support/temporary-folder.ts';

describe('allowed', () => {
  test.each([
    ['src/auth/a.ts', "import { err } from '../kernel/index.ts';"],
    ['src/auth/a.ts', "import type { Store } from '../store/ports/records.ts';"],
    ['src/auth/sessions/a.ts', "import { x } from '../tokens/b.ts';"],
    ['src/store/drivers/a.ts', "import sql from '../../../migrations/sqlite/0001.sql' with { type: 'text' };"],
    ['src/http/a.ts', "import { manifest } from '../../build/panel/manifest.gen.ts';"],
    ['src/app/a.ts', "import { openSqlite } from '../store/drivers/sqlite.ts';"],
    ['src/app/a.ts', "import { factoryPlugins } from '../../build/factory/manifest.gen.ts';"],
    ['src/app/version.ts', "import manifest from '../../package.json';"],
    ['src/main.ts', "void import('./sandbox/child/run-child.ts'); void import('./app/index.ts');"],
    ['src/panel/a.ts', "import type { App } from '../http/index.ts';"],
    ['src/panel/a.ts', "import { x } from '../kernel/user-agents.ts';"],
    ['src/kernel/clock.ts', 'export const now = () => Date.now();'],
    ['src/http/pipeline/listen.ts', 'Bun.serve({\n  fetch(request) {\n    return handle(request);\n  },\n});'],
    ['src/tasks/a.ts', "// import { x } from '../auth/index.ts';\n/**\n * import('../http/index.ts')\n */"],
  ])('%s: %s', (path, text) => expect(checkLayers(temporaryTree({ [path]: text }))).toEqual([]));
});

describe('refused', () => {
  test.each([
    ['a room above', 'src/kernel/a.ts', "import { x } from '../auth/index.ts';", 'kernel may not import auth'],
    [
      'a type of a room above',
      'src/auth/a.ts',
      "import type { X } from '../http/index.ts';",
      'auth may not import http',
    ],
    [
      'an import over several lines',
      'src/tasks/a.ts',
      "import {\n  a,\n  type B,\n} from '../auth/index.ts';",
      'a.ts:4: tasks may not import auth',
    ],
    [
      'the factory plugins past the composition',
      'src/plugins/a.ts',
      "import { factoryPlugins } from '../../build/factory/manifest.gen.ts';",
      'plugins may not import factory-manifest',
    ],
    ['a re-export', 'src/billing/a.ts', "export * from '../channels/index.ts';", 'billing may not import channels'],
    ['a dynamic import', 'src/billing/a.ts', "const x = await import('../tasks/index.ts');", 'may not import tasks'],
    ['an import type', 'src/billing/a.ts', "type X = import('../tasks/index.ts').X;", 'may not import tasks'],
    ['an import for its effects', 'src/billing/a.ts', "import '../tasks/index.ts';", 'may not import tasks'],
    [
      'what a browser cannot run',
      'src/panel/a.ts',
      "import { x } from '../kernel/index.ts';",
      'of kernel the panel may import src/kernel/json.ts, src/kernel/quota.ts, src/kernel/texts.ts, src/kernel/user-agents.ts only',
    ],
    [
      'an import of a file that runs in a browser',
      'src/kernel/user-agents.ts',
      "import { x } from './errors.ts';",
      'it may import nothing',
    ],
    [
      'a side door',
      'src/http/a.ts',
      "import { x } from '../auth/sessions/rotate.ts';",
      'auth is entered through its index.ts',
    ],
    [
      'the store behind its ports',
      'src/auth/a.ts',
      "import { x } from '../store/index.ts';",
      'auth may not import store',
    ],
    ['an import of the panel', 'src/http/a.ts', "import { x } from '../panel/main.tsx';", 'http may not import panel'],
    ['server code in the panel', 'src/panel/a.ts', "import { x } from '../http/index.ts';", 'only types of http'],
    ['behaviour in a file of types', 'src/tasks/types.ts', "import { x } from './a.ts';", 'only types'],
    ['tests', 'src/http/a.ts', "import { x } from '../../test/support/gateway.ts';", 'leads out of the rooms'],
    ['an unknown room', 'src/extras/a.ts', '', 'lies in no room'],
    [
      'the sandbox from the gateway',
      'src/tasks/a.ts',
      "import { x } from '../sandbox/index.ts';",
      'tasks may not import sandbox',
    ],
    ['Elysia outside of http', 'src/auth/a.ts', "import { Elysia } from 'elysia';", 'elysia does not belong into auth'],
    ['the clock', 'src/auth/a.ts', 'const now = Date.now();', 'the current time'],
    ['chance', 'src/auth/a.ts', 'const x = Math.random();', 'Math.random'],
    ['the network', 'src/auth/a.ts', "await fetch('http://x');", 'fetch is not to be used'],
    ['the environment', 'src/auth/a.ts', 'const x = process.env.HOME;', 'the environment'],
  ])('%s', (_name, path, text, complaint) => {
    const breaches = checkLayers(temporaryTree({ [path]: text }));
    expect(breaches).toHaveLength(1);
    expect(breaches[0]).toContain(complaint);
  });
});

test('files over 400 lines and plugins over 550 are named, generated ones are not', () => {
  const lines = (count: number): string => 'x;\n'.repeat(count);
  const base = temporaryTree({
    'src/auth/long.ts': lines(401),
    'src/auth/full.ts': lines(400),
    'src/http/long.gen.ts': lines(900),
    'src/plugins/factory/full.js': lines(550),
    'src/plugins/factory/long.js': lines(551),
    'test/auth/long.test.ts': lines(900),
  });
  expect(checkSizes(base)).toEqual([
    'src/auth/long.ts: 401 lines, 400 is the ceiling',
    'src/plugins/factory/long.js: 551 lines, 550 is the ceiling',
  ]);
});

test.each([
  ['two files', { 'src/auth/a.ts': "import './b.ts';", 'src/auth/b.ts': "import { a } from './a.ts';" }],
  [
    'types alone',
    { 'src/auth/a.ts': "import type { B } from './b.ts';", 'src/auth/b.ts': "import type { A } from './a.ts';" },
  ],
])('an import cycle of %s is refused', (_, files) => {
  expect(checkLayers(temporaryTree(files as Record<string, string>))).toEqual([
    'src/auth/a.ts:1: import cycle: src/auth/a.ts -> src/auth/b.ts',
  ]);
});

test('two files that both import a third are not a cycle', () => {
  const files = {
    'src/auth/a.ts': "import './b.ts';\nimport './c.ts';",
    'src/auth/b.ts': "import './c.ts';",
    'src/auth/c.ts': '',
  };
  expect(checkLayers(temporaryTree(files))).toEqual([]);
});

test("a room's entrances may import its folders, which may not import them", () => {
  const tree = temporaryTree({
    'src/auth/auth.ts': "import { x } from './low/b.ts';",
    'src/auth/errors.ts': '',
    'src/auth/index.ts': "export { y } from './auth.ts';",
    'src/auth/low/b.ts': "import { e } from '../errors.ts';",
    'src/auth/low/c.ts': "import { y } from '../auth.ts';",
    'src/auth/other.ts': "import { x } from './low/b.ts';",
  });
  expect(checkLayers(tree, { auth: ['.', 'low'] })).toEqual([
    'src/auth/low/c.ts:1: src/auth/low/c.ts may not import src/auth/auth.ts above it',
    'src/auth/other.ts:1: auth/. may not import auth/low above it',
  ]);
});

test('an import from a folder to one above it is refused, and so is a folder without a place', () => {
  const tree = temporaryTree({
    'src/auth/high/a.ts': "import { x } from '../low/b.ts';",
    'src/auth/low/b.ts': "import { y } from '../high/c.ts';",
    'src/auth/index.ts': "export { x } from './low/b.ts';",
    'src/auth/other/d.ts': "import { x } from '../low/b.ts';",
  });
  expect(checkLayers(tree, { auth: ['low', 'high'] })).toEqual([
    'src/auth/low/b.ts:1: auth/low may not import auth/high above it',
    'src/auth/other/d.ts:1: auth/other has no place in folderOrder',
  ]);
});

test('folders of a folder have an order too, where it is named by its path', () => {
  const tree = temporaryTree({
    'src/auth/pages/high/a.ts': "import { x } from '../low/b.ts';",
    'src/auth/pages/low/b.ts': "import { y } from '../high/c.ts';",
    'src/auth/pages/other/d.ts': "import { x } from '../low/b.ts';",
  });
  expect(checkLayers(tree, { auth: ['pages'], 'auth/pages': ['low', 'high'] })).toEqual([
    'src/auth/pages/low/b.ts:1: auth/pages/low may not import auth/pages/high above it',
    'src/auth/pages/other/d.ts:1: auth/pages/other has no place in folderOrder',
  ]);
});

test('an import between folders of a room without an order is refused', () => {
  const tree = temporaryTree({
    'src/billing/prices/a.ts': "import { x } from '../ledger/b.ts';",
    'src/billing/ledger/b.ts': '',
  });
  expect(checkLayers(tree)).toEqual([
    'src/billing/prices/a.ts:1: billing/prices has no place in folderOrder',
    'src/billing/prices/a.ts:1: billing/ledger has no place in folderOrder',
  ]);
});
