import { isDeepStrictEqual } from 'node:util';
import { err, isObject, type Json, ok, type Result } from '../../kernel/index.ts';
import type { Sandbox } from '../../sandbox/index.ts';
import { modulePath } from '../registry/load-plugin.ts';
import { createCompiler } from '../source/compile-plugin.ts';
import type { PluginFault } from '../types.ts';

export type FixtureCaseReport = {
  name: string;
  ok: boolean;
  /** Why it failed. */
  message?: string;
  /** Both set where the result is not the expected one. */
  expected?: Json;
  actual?: Json;
};
export type FixtureReport = {
  ok: boolean;
  passed: number;
  total: number;
  cases: FixtureCaseReport[];
  /** Why no case could run: faults of the plugin, or of the fixture (path `fixture`). */
  faults: PluginFault[];
};

type FixtureCase = {
  name: string;
  path: string[];
  args: Json[];
  expected: Json | undefined;
  expectedError: string | undefined;
};
type Fixture = { unixNow: number | undefined; cases: FixtureCase[] };

/** Arguments and result of a case, in bytes: as for a hook that carries bodies. */
const MAX_BYTES = 16 * 1024 * 1024;
const CASE_FIELDS = new Set(['name', 'hook', 'member', 'path', 'args', 'expected', 'expectedError']);

function readCase(value: unknown, index: number): Result<FixtureCase, string> {
  const at = `case ${index + 1}`;
  if (!isObject(value)) return err(`${at} must be an object`);
  const unknown = Object.keys(value).find((name) => !CASE_FIELDS.has(name));
  if (unknown !== undefined) return err(`${at} has unknown field ${JSON.stringify(unknown)}`);
  const { name, hook, member, path, args, expected, expectedError } = value;
  if (typeof hook !== 'string' || hook === '') return err(`${at} names no hook`);
  if (!Array.isArray(args)) return err(`${at}: args must be a list`);
  if (member !== undefined && typeof member !== 'string') return err(`${at}: member must be a string`);
  if (path !== undefined && !(Array.isArray(path) && path.every((part) => typeof part === 'string'))) {
    return err(`${at}: path must be a list of strings`);
  }
  if (expectedError !== undefined && typeof expectedError !== 'string')
    return err(`${at}: expectedError must be a string`);
  if (expectedError !== undefined && expected !== undefined) return err(`${at} has both expected and expectedError`);
  const members: string[] = path ?? (member === undefined ? [] : [member]);
  const full = [hook, ...members];
  return ok({
    name: typeof name === 'string' && name !== '' ? name : `${index + 1} ${full.join('.')}`,
    path: full,
    args: args as Json[],
    expected: expected as Json | undefined,
    expectedError,
  });
}

function readFixture(value: unknown): Result<Fixture, string> {
  if (!isObject(value) || !Array.isArray(value.cases)) return err('a fixture is an object with a list of cases');
  const { unixNow } = value;
  if (unixNow !== undefined && !Number.isInteger(unixNow)) return err('unixNow must be a whole number of seconds');
  const cases: FixtureCase[] = [];
  for (const [index, entry] of value.cases.entries()) {
    const read = readCase(entry, index);
    if (!read.ok) return read;
    cases.push(read.value);
  }
  return ok({ unixNow: unixNow as number | undefined, cases });
}

const failed = (faults: PluginFault[]): FixtureReport => ({ ok: false, passed: 0, total: 0, cases: [], faults });

/**
 * Runs every case of a fixture (the parsed JSON of its file) against a source. `expected` compares as JSON, `expectedError` is a part of the message;
 * a case with neither must only not fail. Nothing returned counts as null.
 */
export async function runFixture(source: string, fixture: unknown, sandbox: Sandbox): Promise<FixtureReport> {
  const read = readFixture(fixture);
  if (!read.ok) return failed([{ path: 'fixture', rule: 'fixture.format', message: read.error }]);
  const compiled = await createCompiler(sandbox).compile(source);
  if (!compiled.ok) {
    const { error } = compiled;
    return failed(
      error.kind === 'faults' ? error.faults : [{ path: 'source', rule: 'sandbox', message: error.message }],
    );
  }
  const { manifest, sourceHash, exports } = compiled.value;
  const module = { key: manifest.key, version: manifest.version, source, sourceHash };
  const { unixNow, cases } = read.value;

  const reports: FixtureCaseReport[] = [];
  for (const { name, path, args, expected, expectedError } of cases) {
    const outcome = await sandbox.call(module, {
      path: modulePath(path, exports),
      args,
      maxArgsBytes: MAX_BYTES,
      maxResultBytes: MAX_BYTES,
      ...(unixNow === undefined ? {} : { unixNow }),
    });
    reports.push(
      judge(name, outcome.ok ? ok(outcome.value.value ?? null) : err(outcome.error.message), expected, expectedError),
    );
  }
  const passed = reports.filter((report) => report.ok).length;
  return { ok: passed === reports.length, passed, total: reports.length, cases: reports, faults: [] };
}

function judge(
  name: string,
  outcome: Result<Json, string>,
  expected: Json | undefined,
  expectedError: string | undefined,
): FixtureCaseReport {
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
