import { afterAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../src/kernel/index.ts';
import {
  addCases,
  addExpected,
  benchPlugin,
  cleanExchange,
  lintPlugin,
  openPlugin,
  readFixture,
  recordCall,
  removeCases,
  runFixture,
} from '../../src/plugins/author/index.ts';
import { createCompiler } from '../../src/plugins/worker/compile-plugin.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { demoSource, pluginSource, startSandbox, VIDEO_HOOKS } from './support.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());
const compiler = createCompiler(sandbox);

const read = (path: string): string => readFileSync(join(import.meta.dir, '../..', path), 'utf8');

describe('lint', () => {
  test('the demo plugin and its batch sibling are clean', async () => {
    for (const source of [demoSource, read('test/fixtures/demo-batch.js')]) {
      expect(await lintPlugin(source, sandbox, { compiler })).toMatchObject({ ok: true, faults: [], warnings: [] });
    }
  });

  test('faults come with path, rule, message and position', async () => {
    expect(await lintPlugin(`${pluginSource()}\nconst x = require('fs');`, sandbox, { compiler })).toEqual({
      ok: false,
      faults: [
        {
          path: 'source',
          rule: 'source.require',
          message: 'require() is not allowed',
          reason: 'fault.not_allowed',
          params: { what: 'require()' },
          hint: 'A plugin is one file and cannot load others.',
          hint_sentence: { reason: 'hint.source.import', params: {} },
          line: 7,
          column: 11,
        },
      ],
      warnings: [],
      permissions: [],
      extensions: [],
    });
  });

  test('bad practice is a warning', async () => {
    const usageSchema = { s: { type: 'boolean' } };
    const examples = Array.from({ length: 17 }, (_, i) => ({
      label: i === 0 ? `Costs $0.10 ${'x'.repeat(48)}` : `e${i}`,
      facts: { s: true },
    }));
    const source = pluginSource(
      {
        models: ['Acme', 'acme'],
        protocols: ['proto_video'],
        usageSchema,
        usageExamples: examples,
        description: { en: 'Video for 5 USD' },
        routes: [{ method: 'GET', path: '/acme/:task_id', type: 'query', render: 'r', action: 'x' }],
      },
      `${VIDEO_HOOKS}\nexport const native = { r: () => 1 };`,
    ).replace('{ status: body.status }', "{ status: body.status || 'IN_PROGRESS' }");
    const report = await lintPlugin(source, sandbox, { compiler });
    expect(report.ok).toBe(true);
    expect(report.warnings.map(({ path, rule }) => `${path} ${rule}`)).toEqual([
      '/protocols protocol.artifacts',
      '/usageExamples usageExamples.count',
      '/usageExamples/0/label usageExample.label.length',
      '/usageExamples/0/label usageExample.label.price',
      '/description/en text.price',
      '/models/1 models.case',
      '/routes/0/action route.action',
      'exports/parseTaskResult status.fallback',
    ]);
  });

  test('a plugin that gives its result as an address only can be downloaded from', async () => {
    const source = pluginSource({ protocols: ['proto_video'] }, VIDEO_HOOKS);
    const rules = async (text: string) =>
      (await lintPlugin(text, sandbox, { compiler })).warnings.map(({ rule }) => rule);
    expect(await rules(source)).toEqual(['protocol.artifacts']);
    const withAddress = source.replace('{ status: body.status }', '{ status: body.status, url: body.url }');
    expect(withAddress).not.toBe(source);
    expect(await rules(withAddress)).toEqual([]);
  });

  test.each([
    ['a comment that an override turns round', '// \u202e} if (free) {', 4],
    ['an isolate in a string', "const word = '\u2067admin\u2069';", 15],
    ['a space of no width in a name', 'const ad = "ad\u200bmin";', 15],
    ['a control character', 'const red = "\u001b[31m";', 14],
    ['a joiner after a Latin letter, behind one that joins an emoji', 'const s = "👩\u200d🚀 ad\u200dmin";', 20],
  ])('hidden text: %s is a warning with its place', async (_what, line, column) => {
    const source = `${pluginSource()}\r\n${line}\n`;
    const { ok, warnings } = await lintPlugin(source, sandbox, { compiler });
    expect(ok).toBe(true);
    expect(warnings).toEqual([
      {
        path: 'source',
        rule: 'source.characters',
        message: expect.stringContaining('write them as escapes'),
        line: source.split('\n').length - 1,
        column,
      },
    ]);
  });

  test('tabs, line ends, emoji and words of other scripts are not warnings', async () => {
    const source = `\ufeff${pluginSource()}\r\n\tconst words = ['می‌خواهم', 'חיים', '日本', '👩‍🚀', '\\u202e'];\r\n`;
    expect(await lintPlugin(source, sandbox, { compiler })).toMatchObject({ ok: true, warnings: [] });
  });
});

describe('fixtures', () => {
  test("the demo plugin's fixture passes", async () => {
    const report = await runFixture(sandbox, {
      compiler,
      source: demoSource,
      fixture: JSON.parse(read('src/plugins/factory/demo.fixture.json')),
    });
    expect(report.cases.filter(({ ok }) => !ok)).toEqual([]);
    expect(report).toMatchObject({ ok: true, faults: [] });
    expect(report.passed).toBe(report.total);
    expect(report.total).toBeGreaterThan(10);
  });

  test('all cases run; differences, errors and times are reported', async () => {
    const source = pluginSource(
      {},
      'export const helpers = { now: () => utils.unixNow(), deep: { none: () => undefined } };',
    );
    const report = await runFixture(sandbox, {
      compiler,
      source,
      fixture: {
        unixNow: 1_700_000_000,
        cases: [
          { name: 'frozen time', hook: 'helpers', member: 'now', args: [], expected: 1_700_000_000 },
          { hook: 'helpers', path: ['deep', 'none'], args: [], expected: null },
          {
            name: 'key order',
            hook: 'parseTaskResult',
            args: [null, { status: 'QUEUED' }],
            expected: { status: 'QUEUED' },
          },
          {
            name: 'wrong',
            hook: 'parseTaskResult',
            args: [null, { status: 'QUEUED' }],
            expected: { status: 'SUCCESS' },
          },
          { name: 'throws', hook: 'parseTaskResult', args: [null], expectedError: 'status' },
          { name: 'throws otherwise', hook: 'parseTaskResult', args: [null], expectedError: 'quota' },
          { name: 'does not throw', hook: 'parseTaskResult', args: [null, {}], expectedError: 'x' },
          { name: 'no such hook', hook: 'nothing', args: [] },
        ],
      },
    });
    expect(report).toMatchObject({ ok: false, passed: 4, total: 8 });
    expect(report.cases.map(({ name, ok }) => `${name}: ${ok}`)).toEqual([
      'frozen time: true',
      '2 helpers.deep.none: true',
      'key order: true',
      'wrong: false',
      'throws: true',
      'throws otherwise: false',
      'does not throw: false',
      'no such hook: false',
    ]);
    expect(report.cases[3]).toEqual({
      name: 'wrong',
      ok: false,
      message: 'result mismatch',
      expected: { status: 'SUCCESS' },
      actual: { status: 'QUEUED' },
    });
  });

  const broken: [name: string, fixture: unknown, message: string][] = [
    ['no object', [], 'a fixture is an object with a list of cases'],
    ['no cases', {}, 'a fixture is an object with a list of cases'],
    ['an empty list of cases', { cases: [] }, 'the fixture has no cases: it needs at least one'],
    ['a fractional time', { unixNow: 1.5, cases: [] }, 'unixNow must be a whole number of seconds'],
    ['a case without hook', { cases: [{ args: [] }] }, 'case 1 names no hook'],
    ['a case without args', { cases: [{ hook: 'x' }] }, 'case 1: args must be a list'],
    ['an unknown field', { cases: [{ hook: 'x', args: [], expect: 1 }] }, 'case 1 has unknown field "expect"'],
    [
      'two expectations',
      { cases: [{ hook: 'x', args: [], expected: 1, expectedError: 'x' }] },
      'case 1 has both expected and expectedError',
    ],
  ];
  test.each(broken)('a fixture with %s is refused', async (_name, fixture, message) => {
    const report = await runFixture(sandbox, { compiler, source: pluginSource(), fixture });
    expect(report).toMatchObject({ ok: false, faults: [{ path: 'fixture', message }] });
  });

  test('a plugin that is not valid runs no case', async () => {
    const report = await runFixture(sandbox, {
      compiler,
      source: 'export const meta = 1;',
      fixture: { cases: [{ hook: 'x', args: [] }] },
    });
    expect(report.ok).toBe(false);
    expect(report.faults[0]).toMatchObject({ path: '', rule: 'manifest.type' });
  });
});

describe('a fixture is changed only where necessary', () => {
  test('expected is added after the last member of its case, in the style of the file', () => {
    const text =
      '{\n\t"cases": [\n\t\t{ "hook": "a", "args": [] },\n\t\t{\n\t\t\t"hook" : "b",\n\t\t\t"args": [1,  2]\n\t\t}\n\t]\n}\n';
    const value = { deep: [1, { x: null }] };
    expect(
      addExpected(text, [
        { index: 0, value },
        { index: 1, value },
      ]),
    ).toBe(
      text
        .replace('"args": []', '"args": [], "expected": {"deep":[1,{"x":null}]}')
        .replace(
          '[1,  2]',
          '[1,  2],\n\t\t\t"expected": {\n\t\t\t\t"deep": [\n\t\t\t\t\t1,\n\t\t\t\t\t{\n\t\t\t\t\t\t"x": null\n\t\t\t\t\t}\n\t\t\t\t]\n\t\t\t}',
        ),
    );
  });

  const lists: [what: string, before: string, after: string][] = [
    ['an empty list', '{"unixNow":1,"cases":[]}', '{"unixNow":1,"cases":[\n  {\n    "hook": "x"\n  }\n]}'],
    ['a list on one line', '{"cases":[{"hook":"a"}]}', '{"cases":[{"hook":"a"},\n  {\n    "hook": "x"\n  }]}'],
    [
      'a written list with Windows lines, its name twice',
      '{\r\n    "cases": 1,\r\n    "cases": [\r\n        {}\r\n    ]\r\n}',
      '{\r\n    "cases": 1,\r\n    "cases": [\r\n        {},\r\n        {\r\n            "hook": "x"\r\n        }\r\n    ]\r\n}',
    ],
  ];
  test.each(lists)('cases go to the end of %s', (_what, before, after) => {
    const text = addCases(before, [{ hook: 'x' }]);
    expect(text).toBe(after);
    expect(JSON.parse(text).cases.at(-1)).toEqual({ hook: 'x' });
  });
});

test('cases are removed from the beginning, the middle and the end of a list, and all of them', () => {
  const text = '{\n  "cases": [\n    { "hook": "a" },\n    {\n      "hook": "b"\n    },\n    { "hook": "c" }\n  ]\n}\n';
  expect(removeCases(text, [])).toBe(text);
  expect(removeCases(text, [1])).toBe('{\n  "cases": [\n    { "hook": "a" },\n    { "hook": "c" }\n  ]\n}\n');
  for (const [gone, left] of [
    [[0], ['b', 'c']],
    [[0, 1], ['c']],
    [[2], ['a', 'b']],
    [[0, 1, 2], []],
  ] as const) {
    const cases: { hook: string }[] = JSON.parse(removeCases(text, gone)).cases;
    expect(cases.map(({ hook }) => hook)).toEqual([...left]);
  }
});

describe('recording', () => {
  const source = pluginSource(
    {},
    `export const helpers = {
      sign: (ctx) => { const [ak, sk] = ctx.apiKey.split('|'); if (!sk) throw new Error('no secret'); return { ak, mac: utils.hmacSHA256('x', sk) }; },
      now: () => utils.unixNow(),
      need: (ctx) => { if (ctx.token.length < 20) throw new Error('short'); return 1; },
      refuse: () => { throw new Error('Please give a prompt.'); },
    };`,
  );
  const record = async (
    hook: string,
    args: unknown[],
    { outcome, fixture = { unixNow: 5, cases: [] } }: { outcome: object; fixture?: object },
  ) => {
    const [plugin, read] = [await openPlugin(source, sandbox, compiler), readFixture(fixture)];
    if (!plugin.ok || !read.ok) throw new Error('the plugin or the fixture is not valid');
    const call = { hook, args, outcome } as Parameters<typeof recordCall>[1]['call'];
    return recordCall(plugin.value, { fixture: read.value, call, channelKey: 'ak-123456|sk-secret-7890' });
  };
  const ok = { ok: true, value: null };

  test('a key of two parts becomes a placeholder of two parts, and the result is for it', async () => {
    const { case: made } = await record('helpers.sign', [{ apiKey: '[redacted]', model: 'm' }], { outcome: ok });
    expect(await runFixture(sandbox, { compiler, source, fixture: { unixNow: 5, cases: [made] } })).toMatchObject({
      ok: true,
      passed: 1,
    });
    expect(made).toMatchObject({
      name: 'recorded: helpers.sign 1',
      hook: 'helpers',
      path: ['sign'],
      args: [{ apiKey: 'redacted|redacted', model: 'm' }],
      expected: { ak: 'redacted', mac: expect.stringMatching(/^[0-9a-f]{64}$/) },
    });
  });

  test('a result that depends on the clock is expected only if the fixture freezes it', async () => {
    expect((await record('helpers.now', [], { outcome: ok })).case).toMatchObject({ expected: 5 });
    const open = await record('helpers.now', [], { outcome: ok, fixture: { cases: [] } });
    expect(open.case).not.toHaveProperty('expected');
    expect(open.note).toContain('recorded without "expected"');
  });

  test('a refusal becomes a case, a call that fails without credentials does not', async () => {
    const refused = { ok: false, kind: 'thrown', message: 'Please give a prompt.' };
    expect((await record('helpers.refuse', [], { outcome: refused })).case).toMatchObject({
      expectedError: 'Please give a prompt.',
    });
    const needed = await record('helpers.need', [{ token: 'a-token-of-the-vendor-0123456789' }], { outcome: ok });
    expect(needed).toEqual({ note: 'helpers.need not recorded: it fails without credentials' });
  });

  test('repeated calls, too many and too long ones are not recorded', async () => {
    const known = { hook: 'helpers', path: ['now'], args: [] };
    expect(await record('helpers.now', [], { outcome: ok, fixture: { cases: [known] } })).toEqual({});
    const many = Array.from({ length: 20 }, (_, i) => ({ ...known, args: [i] }));
    expect(await record('helpers.now', [], { outcome: ok, fixture: { cases: many } })).toEqual({});
    expect((await record('helpers.now', ['x'.repeat(70_000)], { outcome: ok })).note).toContain('longer than 64 KiB');
  });

  test('a recorded exchange gives away no key, token, cookie, password or signed address', () => {
    const secret = 'Zm9vYmFyLXNlY3JldA';
    const jwt = `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.${secret}`;
    const exchange = {
      headers: {
        authorization: `HMAC-SHA256 Credential=${secret}`,
        'Set-Cookie': [`sid=${secret}`],
        'x-goog-api-key': secret,
      },
      body: { access_token: secret, nested: [{ clientSecret: secret, password: secret, sessionId: secret }] },
      log: `sent with Bearer ${secret}, then ${jwt}`,
      url: `https://cdn.example/v.mp4?id=7&X-Amz-Signature=${secret}&Expires=1&sig=${secret}&key=${secret}`,
      usage: { total_tokens: 12, prompt: 'the secret of the boat' },
    };
    const clean = cleanExchange(exchange);
    expect(JSON.stringify(clean)).not.toContain(secret);
    expect(clean).toMatchObject({
      url: expect.stringContaining('https://cdn.example/v.mp4?id=7&X-Amz-Signature=[redacted]'),
      usage: exchange.usage,
    });
  });
});

test('a case that goes over the limit fails the measurement, the others are measured', async () => {
  const source = pluginSource(
    {},
    'export const helpers = { slow() { const end = Date.now() + 60; while (Date.now() < end); return 1; } };',
  );
  const fixture = {
    cases: [
      { name: 'slow', hook: 'helpers', member: 'slow', args: [] },
      { name: 'quick', hook: 'parseTaskResult', args: [null, { status: 'QUEUED' }] },
    ],
  };
  // On a busy machine as well.
  const inTime: Sandbox = {
    ...sandbox,
    async call(module, call) {
      const outcome = await sandbox.call(module, call);
      if (!outcome.ok || call.path.includes('slow')) return outcome;
      return { ok: true, value: { ...outcome.value, ms: Math.min(outcome.value.ms, 1) } };
    },
  };
  const bench = (limitMs: number) =>
    benchPlugin(inTime, { source, fixture }, { clock: systemClock, durationMs: 1, limitMs });
  expect(await bench(20)).toMatchObject({
    ok: true,
    value: {
      ok: false,
      failures: [{ name: 'slow', message: expect.stringContaining('the limit is 20 ms') }],
      hooks: [{ hook: 'parseTaskResult', cases: 1 }],
    },
  });
  expect(await bench(5000)).toMatchObject({ value: { ok: true, slow: ['helpers.slow'], failures: [] } });
});

test('a fault has the position of its text, also behind a name and in a method', async () => {
  const source = `const models = ['a',
  'a'];
const native = { error: 5 };
const meta = { apiVersion: 1, key: 'acme', name: 'Acme', version: '1.0.0', author: { name: 'x' }, models, fetchMode: 'per_task' };
export { meta, native };
export function buildSubmitRequest() {}
export function parseSubmitResponse() {}
export const parseTaskResult = () => ({});
export const buildQueryRequest = 1;`;
  const { faults } = await lintPlugin(source, sandbox, { compiler });
  expect(faults.map(({ path, line, column }) => `${path} ${line}:${column}`)).toEqual([
    '/models/1 2:3',
    'exports/buildQueryRequest 9:14',
    'exports/native/error 3:18',
  ]);
});
