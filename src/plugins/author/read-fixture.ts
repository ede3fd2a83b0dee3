import { err, isObject, type Json, ok, type Result } from '../../kernel/index.ts';

export type FixtureCase = {
  name: string;
  /** From the export to the function, such as `['protocols', 'proto_video', 'render']`. */
  path: string[];
  args: Json[];
  expected: Json | undefined;
  expectedError: string | undefined;
};
/** `unixNow` freezes clock and random seed, in seconds. */
export type Fixture = { unixNow: number | undefined; cases: FixtureCase[] };

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

/** Checks the parsed JSON of a fixture file. The error names the case and the rule. */
export function readFixture(value: unknown): Result<Fixture, string> {
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
