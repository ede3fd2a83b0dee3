import { beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RULES } from '../../src/plugins/manifest/rules.ts';
import { baseMeta } from '../plugins/manifest-table/base.ts';
import { invalid } from '../plugins/manifest-table/index.ts';
import { brokenSources, pluginWith } from '../plugins/manifest-table/sources.ts';
import { IS_FULL_RUN } from '../support/full-run.ts';
import { runCommand } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** One plugin file for each rule. */
type Case = { rule: string; path: string; line?: number; source: string };

const cases = new Map<string, Case>();
for (const [, source, fault, line] of brokenSources) {
  const [path = '', rule = ''] = fault.split(' ');
  if (!cases.has(rule)) cases.set(rule, { rule, path, source, ...(line === undefined ? {} : { line }) });
}
for (const { meta, fault } of invalid) {
  const at = fault.lastIndexOf(' ');
  const rule = fault.slice(at + 1);
  if (cases.has(rule)) continue;
  // A manifest written as JSON is one line, so all its faults are on line 1.
  const line = meta === undefined ? {} : { line: 1 };
  cases.set(rule, { rule, path: fault.slice(0, at), source: pluginWith(meta), ...line });
}

/** Loading these ends at the deadline: they have a process of their own. */
const SLOW = ['source.timeout', 'source.killed', 'source.memory'];

const folder = temporaryFolder();
const fileFor = (rule: string): string => join(folder, `${rule}.js`);

const lint = (rules: readonly string[]) => runCommand(['plugin', 'lint', ...rules.map(fileFor)]);

function expectFault(out: string, { rule, path, line }: Case): void {
  const lines = out.split('\n');
  const said = lines.filter((text) => text.startsWith(fileFor(rule)));
  const position = line === undefined ? '' : `:${line}:`;
  expect(said[0]).toStartWith(`${fileFor(rule)}${position}`);
  expect(said[0]).toContain(` ${path || 'meta'}: `);
  expect(said[0]).toEndWith(` [${rule}]`);
  expect(lines[lines.indexOf(said[0] ?? '') + 1]).toMatch(/^ {4}\S.*\.?/);
  expect(said.slice(1)).toEqual([`${fileFor(rule)}: 1 fault`]);
}

describe('plugin lint on the compiled binary', () => {
  beforeAll(() => {
    for (const { rule, source } of cases.values()) writeFileSync(fileFor(rule), source);
  });

  test('every rule has a plugin that breaks it', () => {
    // Only --strict-v1 applies strict_v1, to files that are sound otherwise.
    expect([...cases.keys(), 'strict_v1'].sort()).toEqual(Object.keys(RULES).sort());
  });

  test('names file, line, rule and what to do for each rule, and exits 1', async () => {
    const quick = [...cases.keys()].filter((rule) => !SLOW.includes(rule));
    const [first, second] = await Promise.all([lint(quick), lint(SLOW)]);
    expect([first.code, first.err, second.code, second.err]).toEqual([1, '', 1, '']);
    for (const one of cases.values()) expectFault(SLOW.includes(one.rule) ? second.out : first.out, one);
  });

  // One rule of each group alone, so that the exit code is due to it.
  test.each([
    ...['key.format', 'export.required', 'source.import'],
    ...(IS_FULL_RUN
      ? [
          ...['text.locale.unique', 'baseUrl.format', 'protocol.supports.count', 'route.reserved', 'removed_name'],
          'usageExample.facts.value',
        ]
      : []),
  ])('exits 1 for a file that breaks %s alone', async (rule) => {
    const { code, out } = await lint([rule]);
    expect(code).toBe(1);
    const one = cases.get(rule);
    if (one) expectFault(out, one);
  });

  test('exits 0 for a sound file', async () => {
    writeFileSync(fileFor('sound'), pluginWith(baseMeta));
    const { code, out, err } = await lint(['sound']);
    expect([code, err]).toEqual([0, '']);
    expect(out).toStartWith(`${fileFor('sound')}: acme@1.0.0 is valid\n`);
    expect(out).not.toMatch(/warning|fault/);
  });

  test('exits 1 with --strict-v1 for a name that came after the first contract, and 0 without', async () => {
    const source = pluginWith({ ...baseMeta, upstreams: ['vendor'] });
    writeFileSync(fileFor('strict_v1'), source);
    expect((await lint(['strict_v1'])).code).toBe(0);
    const { code, out } = await runCommand(['plugin', 'lint', '--strict-v1', fileFor('strict_v1')]);
    expect(code).toBe(1);
    expectFault(out, { rule: 'strict_v1', path: '/upstreams', source });
  });
});
