import { parseExpressionAt } from 'acorn';
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

type JsonNode = { type: string; start: number; end: number };
type ObjectNode = JsonNode & { properties: { key: { value: unknown }; value: JsonNode; start: number; end: number }[] };
type ArrayNode = JsonNode & { elements: JsonNode[] };
type Insertion = { at: number; text: string };

const isObjectNode = (node: JsonNode | undefined): node is ObjectNode => node?.type === 'ObjectExpression';
const isArrayNode = (node: JsonNode | undefined): node is ArrayNode => node?.type === 'ArrayExpression';

/**
 * The list `cases` in the text of a fixture. JSON is parsed as a JavaScript expression. If members
 * share a name, the last one counts.
 */
function findCases(text: string): ArrayNode {
  const root: JsonNode = parseExpressionAt(text, 0, { ecmaVersion: 'latest' });
  const cases = isObjectNode(root) ? root.properties.findLast(({ key }) => key.value === 'cases')?.value : undefined;
  if (!isArrayNode(cases)) throw new Error('the text is not a fixture');
  return cases;
}

/** The indentation before `at`, if there is only white space before it on its line. */
function indentationAt(text: string, at: number): string | undefined {
  const before = text.slice(text.lastIndexOf('\n', at - 1) + 1, at);
  return before.trim() === '' ? before : undefined;
}

const findLineBreak = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n');

/** `step` is one level of indentation. All lines but the first begin with `indentation`. */
type Format = { indentation: string; step: string; lineBreak: string };

function writeJson(value: Json, { indentation, step, lineBreak }: Format): string {
  return JSON.stringify(value, null, step).replaceAll('\n', `${lineBreak}${indentation}`);
}

/** One level of indentation: the difference of an inner and an outer line. */
const findStep = (inner: string, outer: string): string =>
  inner.length > outer.length && inner.startsWith(outer) ? inner.slice(outer.length) : '  ';

function insert(text: string, insertions: readonly Insertion[]): string {
  let out = text;
  for (const { at, text: added } of [...insertions].sort((a, b) => b.at - a.at)) {
    out = out.slice(0, at) + added + out.slice(at);
  }
  return out;
}

/**
 * Adds `expected` to the cases of a fixture at the given positions. All other text stays the same,
 * and a case on one line stays on one line. The caller has checked that the text is a fixture.
 */
export function addExpected(text: string, additions: readonly { index: number; value: Json }[]): string {
  const cases = findCases(text);
  const lineBreak = findLineBreak(text);
  const insertions = additions.flatMap(({ index, value }): Insertion[] => {
    const one = cases.elements[index];
    const last = isObjectNode(one) ? one.properties.at(-1) : undefined;
    if (one === undefined || last === undefined) return [];
    const inner = indentationAt(text, last.start);
    if (inner === undefined) return [{ at: last.end, text: `, "expected": ${JSON.stringify(value)}` }];
    const step = findStep(inner, indentationAt(text, one.end - 1) ?? '');
    const written = writeJson(value, { indentation: inner, step, lineBreak });
    return [{ at: last.end, text: `,${lineBreak}${inner}"expected": ${written}` }];
  });
  return insert(text, insertions);
}

/** Appends cases to the text of a fixture. All other text stays the same. */
export function addCases(text: string, added: readonly Json[]): string {
  const cases = findCases(text);
  const lineBreak = findLineBreak(text);
  const last = cases.elements.at(-1);
  const closing = indentationAt(text, cases.end - 1) ?? indentationOfLine(text, cases.start);
  const inner = (last && indentationAt(text, last.start)) ?? `${closing}  `;
  const step = findStep(inner, closing);
  const written = added
    .map((one) => `${lineBreak}${inner}${writeJson(one, { indentation: inner, step, lineBreak })}`)
    .join(',');
  if (last) return insert(text, [{ at: last.end, text: `,${written}` }]);
  return `${text.slice(0, cases.start + 1)}${written}${lineBreak}${closing}${text.slice(cases.end - 1)}`;
}

/**
 * Removes cases by their positions. All other text stays as it is; JSON has no comments that could
 * get lost.
 */
export function removeCases(text: string, indexes: readonly number[]): string {
  const { elements } = findCases(text);
  const gone = new Set(indexes);
  const kept = elements.filter((_, index) => !gone.has(index));
  const [first] = elements;
  const last = elements.at(-1);
  if (first === undefined || last === undefined || kept.length === elements.length) return text;
  // What is between two cases belongs to the second: a comma, and the white space before it.
  const pieces = kept.map((one, index) => {
    const before = elements[elements.indexOf(one) - 1];
    const gap = index === 0 || before === undefined ? '' : text.slice(before.end, one.start);
    return gap + text.slice(one.start, one.end);
  });
  return text.slice(0, first.start) + pieces.join('') + text.slice(last.end);
}

const indentationOfLine = (text: string, at: number): string =>
  /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', at - 1) + 1))?.[0] ?? '';
