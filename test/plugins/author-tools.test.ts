import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { lintPlugin, runFixture } from '../../src/plugins/index.ts';
import { demoSource, pluginSource, startSandbox, VIDEO_HOOKS } from './support.ts';

// A busy machine starts processes and databases slowly; nothing here waits for time to pass.
setDefaultTimeout(60_000);

const sandbox = startSandbox();
afterAll(() => sandbox.close());

const read = (path: string): string => readFileSync(join(import.meta.dir, '../..', path), 'utf8');

describe('lint', () => {
  test('the demo plugin and its batch sibling are clean', async () => {
    for (const source of [demoSource, read('test/fixtures/demo-batch.js')]) {
      expect(await lintPlugin(source, sandbox)).toMatchObject({ ok: true, faults: [], warnings: [] });
    }
  });

  test('faults come with path, rule, message and position', async () => {
    expect(await lintPlugin(`${pluginSource()}\nconst x = require('fs');`, sandbox)).toEqual({
      ok: false,
      faults: [
        {
          path: 'source',
          rule: 'source.require',
          message: 'require() is not allowed',
          hint: 'A plugin is one file and cannot load others.',
          line: 7,
          column: 11,
        },
      ],
      warnings: [],
    });
  });

  test('what is better left is a warning', async () => {
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
    const report = await lintPlugin(source, sandbox);
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
});

describe('fixtures', () => {
  test("the demo plugin's fixture passes", async () => {
    const report = await runFixture(demoSource, JSON.parse(read('src/plugins/factory/demo.fixture.json')), sandbox);
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
    const report = await runFixture(
      source,
      {
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
      sandbox,
    );
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
    const report = await runFixture(pluginSource(), fixture, sandbox);
    expect(report).toMatchObject({ ok: false, faults: [{ path: 'fixture', message }] });
  });

  test('a plugin that is not valid runs no case', async () => {
    const report = await runFixture('export const meta = 1;', { cases: [{ hook: 'x', args: [] }] }, sandbox);
    expect(report.ok).toBe(false);
    expect(report.faults[0]).toMatchObject({ path: '', rule: 'manifest.type' });
  });
});
