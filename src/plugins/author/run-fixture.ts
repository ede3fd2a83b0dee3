import { isDeepStrictEqual } from 'node:util';
import { err, type Json, ok, type Result } from '../../kernel/index.ts';
import type { Sandbox } from '../../sandbox/index.ts';
import { canonicalProtocol } from '../manifest/protocol-aliases.ts';
import { pickPlace } from '../registry/load-plugin.ts';
import type { PluginFault } from '../types.ts';
import type { Compiler } from '../worker/compile-plugin.ts';
import { type Fixture, type FixtureCase, readFixture } from './fixture-file.ts';
import { type OpenPlugin, openPlugin } from './open-plugin.ts';

export type FixtureCaseReport = {
  name: string;
  ok: boolean;
  /** Why the case failed. */
  message?: string;
  /** Where the hook threw what it should not: 1-based, in the source. */
  line?: number;
  column?: number;
  /** Both are set if the result is not the expected one. */
  expected?: Json;
  actual?: Json;
};
export type FixtureReport = {
  ok: boolean;
  passed: number;
  /** Cases that ran. */
  total: number;
  /** Cases that the filter excluded. */
  skipped: number;
  cases: FixtureCaseReport[];
  /** Hooks of the plugin that no case of the file calls. */
  uncovered: string[];
  /** Results of cases without an expectation, by their position in the file. */
  unjudged: { index: number; name: string; result: RepeatableResult }[];
  /** Why no case could run: faults of the plugin, or of the fixture (path `fixture`). */
  faults: PluginFault[];
};
/** `repeatable: false`: the result depends on the clock or on randomness. */
export type RepeatableResult = { repeatable: true; value: Json } | { repeatable: false };

/** Frozen times. A hook with the same result at both depends neither on clock nor on randomness. */
const MOMENTS = [1_700_000_000, 1_810_000_123] as const;

const failed = (faults: PluginFault[]): FixtureReport => ({
  ok: false,
  passed: 0,
  total: 0,
  skipped: 0,
  cases: [],
  uncovered: [],
  unjudged: [],
  faults,
});

type FixtureRun = { source: string; fixture: unknown; filter?: string; compiler?: Compiler };

/**
 * Runs the cases of a fixture against a source. `fixture` is the parsed JSON of its file.
 * `expected` is compared as JSON; `expectedError` must be part of the message; a case with neither
 * must only not fail. A result of nothing counts as null. A result that the gateway would refuse is
 * an error with the same message. With `filter`, only cases run whose name contains it, ignoring
 * case. `compiler`: see `openPlugin`.
 */
export async function runFixture(
  sandbox: Sandbox,
  { source, fixture, filter = '', compiler }: FixtureRun,
): Promise<FixtureReport> {
  const read = readFixture(fixture);
  if (!read.ok) return failed([{ path: 'fixture', rule: 'fixture.format', message: read.error }]);
  const opened = await openPlugin(source, sandbox, compiler);
  if (!opened.ok) return failed(opened.error);
  const plugin = opened.value;
  const { cases } = read.value;
  if (cases.length === 0) {
    return failed([
      { path: 'fixture', rule: 'fixture.empty', message: 'the fixture has no cases: it needs at least one' },
    ]);
  }

  const report = failed([]);
  for (const [index, one] of cases.entries()) {
    if (!one.name.toLowerCase().includes(filter.toLowerCase())) {
      report.skipped += 1;
      continue;
    }
    const outcome = await plugin.call(one.path, one.args, read.value.unixNow);
    const value = outcome.ok ? ok(outcome.value.value ?? null) : err(outcome.error.message);
    const checked = checkCase(one, value);
    report.cases.push(checked.ok || outcome.ok ? checked : { ...checked, ...pickPlace(outcome.error) });
    if (value.ok && one.expected === undefined && one.expectedError === undefined) {
      const result = await repeat(plugin, read.value, one);
      report.unjudged.push({ index, name: one.name, result });
    }
  }
  report.total = report.cases.length;
  report.passed = report.cases.filter((one) => one.ok).length;
  report.uncovered = findUncoveredHooks(
    plugin,
    cases.map(({ path }) => path),
  );
  report.ok = report.passed === report.total && report.total > 0;
  return report;
}

/**
 * The result of a case, if it is the same in every run. A fixture that freezes the clock freezes
 * randomness too, so one run is enough then.
 */
export async function repeat(
  plugin: OpenPlugin,
  { unixNow }: Pick<Fixture, 'unixNow'>,
  { path, args }: Pick<FixtureCase, 'path' | 'args'>,
): Promise<RepeatableResult> {
  const values: Json[] = [];
  for (const moment of unixNow === undefined ? MOMENTS : [unixNow]) {
    const outcome = await plugin.call(path, args, moment);
    if (!outcome.ok) return { repeatable: false };
    values.push(outcome.value.value ?? null);
  }
  const [value, again = value] = values;
  return value !== undefined && isDeepStrictEqual(value, again) ? { repeatable: true, value } : { repeatable: false };
}

function checkCase({ name, expected, expectedError }: FixtureCase, outcome: Result<Json, string>): FixtureCaseReport {
  if (!outcome.ok) {
    if (expectedError !== undefined && outcome.error.includes(expectedError)) return { name, ok: true };
    const message =
      expectedError === undefined
        ? outcome.error
        : `expected an error with ${JSON.stringify(expectedError)}, got: ${outcome.error}`;
    return { name, ok: false, message };
  }
  if (expectedError !== undefined) {
    return {
      name,
      ok: false,
      message: `expected an error with ${JSON.stringify(expectedError)}`,
      actual: outcome.value,
    };
  }
  if (expected === undefined || isDeepStrictEqual(outcome.value, expected)) return { name, ok: true };
  return { name, ok: false, message: 'result mismatch', expected, actual: outcome.value };
}

/** Exported functions that the gateway calls, in the order of a task's life. */
const TOP_LEVEL = [
  'buildSubmitRequest',
  'extractUsage',
  'parseSubmitResponse',
  'parseSubmitError',
  'extractUsageOnSubmit',
  'buildQueryRequest',
  'parseTaskResult',
  'buildBatchQueryRequest',
  'parseBatchResult',
  'extractUsageOnComplete',
  'listArtifacts',
  'resolveArtifact',
  'buildContentRequest',
  'buildBalanceRequest',
  'parseBalanceResponse',
  'queryCapacity',
] as const;

type PluginParts = Pick<OpenPlugin, 'manifest' | 'exports'>;

/** The canonical name of a hook: aliases of protocols are replaced. */
const canonicalName = ([first = '', second, ...rest]: readonly string[]): string =>
  [first, ...(second === undefined ? [] : [first === 'protocols' ? canonicalProtocol(second) : second]), ...rest].join(
    '.',
  );

/**
 * Names of all hooks: `buildSubmitRequest`, `protocols.proto_video.render`, `native.presentTask`.
 */
function listHooks({ manifest, exports }: PluginParts): string[] {
  const hooks = new Set<string>();
  for (const [protocol, { members = {} }] of Object.entries(exports.protocols?.members ?? {})) {
    for (const member of Object.keys(members)) hooks.add(canonicalName(['protocols', protocol, member]));
  }
  for (const { decode } of manifest.routes) if (decode !== undefined) hooks.add(`native.${decode}`);
  for (const name of TOP_LEVEL) if (Object.hasOwn(exports, name)) hooks.add(name);
  for (const { render } of manifest.routes) hooks.add(`native.${render}`);
  if (exports.native?.members && Object.hasOwn(exports.native.members, 'error')) hooks.add('native.error');
  return [...hooks];
}

/** The hooks that none of the paths leads to. */
function findUncoveredHooks(plugin: PluginParts, paths: readonly (readonly string[])[]): string[] {
  const covered = new Set(paths.map(canonicalName));
  return listHooks(plugin).filter((hook) => !covered.has(hook));
}
