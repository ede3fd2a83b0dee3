import { parseExpressionAt } from 'acorn';
import type { Json } from '../../kernel/index.ts';

type JsonNode = { type: string; start: number; end: number };
type ObjectNode = JsonNode & { properties: { key: { value: unknown }; value: JsonNode; start: number; end: number }[] };
type ArrayNode = JsonNode & { elements: JsonNode[] };
type Insertion = { at: number; text: string };

const isObjectNode = (node: JsonNode | undefined): node is ObjectNode => node?.type === 'ObjectExpression';
const isArrayNode = (node: JsonNode | undefined): node is ArrayNode => node?.type === 'ArrayExpression';

/**
 * The list `cases` in the text of a fixture. JSON is parsed as a JavaScript expression. Of members
 * with the same name the last one counts.
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

/** Removes cases by their positions. All other text stays the same, comments there are none. */
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
