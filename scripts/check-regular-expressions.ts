import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'oxc-parser';
import type { Parameters } from 'recheck';
import { checkSync } from 'recheck/lib/browser.js';
import { version } from 'recheck/package.json';
import { listFiles, root, writeWhole } from './hash-inputs.ts';

/** A regular expression of the server's code. `line` counts from 1. */
type FoundPattern = { file: string; line: number; source: string; flags: string };

/**
 * Regular expressions that may be super-linear, because the text is short where they are used.
 * `bound` is the most characters that the text can have there, and `reason` says what enforces it.
 */
const exceptions: readonly { file: string; source: string; bound: number; reason: string }[] = [];

/** With a text of more characters a quadratic search is felt. */
const MAX_BOUND = 1000;

/**
 * No deadlines and a fixed seed, so that a verdict depends on the expression alone. Expressions
 * with more than a few counted repetitions are attacked (`fuzz`) and not proven (`automaton`),
 * since the proof of those takes half a minute each.
 */
const options: Parameters = {
  ...{ timeout: null, attackTimeout: null, incubationTimeout: null, randomSeed: 0 },
  ...{ maxRepeatCount: 8, attackLimit: 100_000_000, maxAttackStringSize: 30_000 },
};

/** What is wrong with an expression by its name; `null` when it is linear. */
type Verdicts = Record<string, string | null>;

/**
 * Every regular expression below `base` that takes more than linear time on some text, as
 * `file:line: what`. Reads `src/` but the panel (literals, `RegExp` with constant text, `pattern`
 * of a schema) and the patterns of the JSON schemas in `contracts/`. `known` has the verdicts of
 * former runs and gets those of this one.
 */
export function checkRegularExpressions(base: string, known: Verdicts = {}): string[] {
  const { patterns, unreadable } = findPatterns(base);
  const findings = patterns.flatMap(({ file, line, source, flags }) => {
    if (exceptions.some((one) => one.file === file && one.source === source && one.bound <= MAX_BOUND)) return [];
    const name = `/${source}/${flags}`;
    if (known[name] === undefined) known[name] = checkPattern(source, flags);
    const verdict = known[name];
    return verdict === null ? [] : [`${file}:${line}: ${name} ${verdict}`];
  });
  return [...unreadable, ...findings];
}

function checkPattern(source: string, flags: string): string | null {
  const result = checkSync(source, flags, options);
  if (result.status === 'safe') return null;
  if (result.status === 'unknown') return `cannot be checked (${result.error.kind})`;
  return `takes ${result.complexity.type} time, for example on ${result.attack.pattern}: trim and split with loops, or make its parts exclude each other`;
}

/** `unreadable` names the uses of `RegExp` whose text is not constant. */
function findPatterns(base: string): { patterns: FoundPattern[]; unreadable: string[] } {
  const patterns: FoundPattern[] = [];
  const unreadable: string[] = [];
  const files = listFiles('src', base).filter((file) => file.endsWith('.ts') && !file.startsWith('src/panel/'));
  for (const file of files) {
    const text = readFileSync(join(base, file), 'utf8');
    const { program, errors } = parseSync(file, text);
    if (errors.length > 0) unreadable.push(`${file}:1: does not parse`);
    const constants = readConstants(program);
    visit(program, (node) => {
      const line = () => text.slice(0, node.start).split('\n').length;
      const found = readPattern(node, constants);
      if (found === 'unreadable') unreadable.push(`${file}:${line()}: RegExp takes a constant text here`);
      else if (found) patterns.push({ file, line: line(), ...found });
    });
  }
  for (const file of listFiles('contracts', base).filter((name) => name.endsWith('.json'))) {
    const text = readFileSync(join(base, file), 'utf8');
    for (const source of schemaPatterns(JSON.parse(text))) {
      const at = text.indexOf(JSON.stringify(source));
      patterns.push({ file, line: text.slice(0, at).split('\n').length, source, flags: 'u' });
    }
  }
  return { patterns, unreadable };
}

type Node = { type: string; start: number; [field: string]: unknown };

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';

function visit(node: unknown, see: (node: Node) => void): void {
  if (Array.isArray(node)) for (const item of node) visit(item, see);
  else if (isNode(node)) {
    see(node);
    for (const value of Object.values(node)) if (typeof value === 'object') visit(value, see);
  }
}

/** The expression that a node is or makes; `unreadable` for a `RegExp` of some other text. */
function readPattern(node: Node, constants: Constants): { source: string; flags: string } | 'unreadable' | undefined {
  if (node.type === 'Literal' && node.regex) {
    const { pattern, flags } = node.regex as { pattern: string; flags: string };
    return { source: pattern, flags };
  }
  if (node.type === 'NewExpression' || node.type === 'CallExpression') {
    if ((node.callee as Node & { name?: string }).name !== 'RegExp') return undefined;
    const [text, flags] = node.arguments as Node[];
    if (isSchemaPattern(text) || isLinearByTest(text)) return undefined;
    const source = constantText(text, constants);
    const how = flags === undefined ? '' : constantText(flags, constants);
    return source === undefined || how === undefined ? 'unreadable' : { source, flags: how };
  }
  if (node.type === 'Property' && (node.key as Node & { name?: string }).name === 'pattern') {
    const source = constantText(node.value as Node, constants);
    return source ? { source, flags: 'u' } : undefined;
  }
  return undefined;
}

/** Patterns of the contract's schema, which are checked where they stand. */
function isSchemaPattern(node: Node | undefined): boolean {
  let at = node;
  if (at?.type !== 'MemberExpression' || (at.property as { name?: string }).name !== 'pattern') return false;
  while (at?.type === 'MemberExpression') at = at.object as Node;
  return (at as { name?: string } | undefined)?.name === 'schema';
}

/** Makes expressions that its own test shows to be linear. */
function isLinearByTest(node: Node | undefined): boolean {
  return node?.type === 'CallExpression' && (node.callee as { name?: string }).name === 'toKeyPattern';
}

/** The texts that a module's `const` declarations give names to. */
type Constants = ReadonlyMap<string, string>;

function readConstants(program: unknown): Constants {
  const constants = new Map<string, string>();
  visit(program, (node) => {
    if (node.type !== 'VariableDeclaration' || node.kind !== 'const') return;
    for (const { id, init } of node.declarations as { id: Node & { name?: string }; init: Node | null }[]) {
      const text = init === null ? undefined : constantText(init, constants);
      if (id.name !== undefined && text !== undefined) constants.set(id.name, text);
    }
  });
  return constants;
}

function constantText(node: Node | undefined, constants: Constants): string | undefined {
  if (node?.type === 'Literal' && typeof node.value === 'string') return node.value;
  if (node?.type === 'Identifier') return constants.get(node.name as string);
  if (node?.type !== 'TemplateLiteral') return undefined;
  const quasis = (node.quasis as { value: { cooked: string } }[]).map(({ value }) => value.cooked);
  const inserted = (node.expressions as Node[]).map((expression) => constantText(expression, constants));
  if (inserted.includes(undefined)) return undefined;
  return quasis.map((text, index) => text + (inserted[index] ?? '')).join('');
}

function schemaPatterns(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  return Object.entries(schema).flatMap(([name, value]) => {
    if (name === 'pattern' && typeof value === 'string') return [value];
    if (name === 'patternProperties') return [...Object.keys(value), ...schemaPatterns(Object.values(value))];
    return schemaPatterns(value);
  });
}

/** Verdicts of former runs of this version of the checker: together they take half a minute. */
const verdictsFile = join(root, 'build/regular-expressions.json');
/**
 * Expressions that were proven linear, for a checkout that has no verdicts yet. `--update` writes
 * them; an expression that is missing is proven again, and the full run of the tests proves all.
 */
const linearFile = join(root, 'scripts/linear-expressions.json');

type Kept = { checker: string; verdicts: Verdicts };

function readKept(checker: string): Verdicts {
  const listed = JSON.parse(readFileSync(linearFile, 'utf8')) as { checker: string; expressions: string[] };
  const linear = listed.checker === checker ? listed.expressions.map((name) => [name, null] as const) : [];
  const kept = existsSync(verdictsFile) ? (JSON.parse(readFileSync(verdictsFile, 'utf8')) as Kept) : undefined;
  return { ...Object.fromEntries(linear), ...(kept?.checker === checker ? kept.verdicts : {}) };
}

if (import.meta.main) {
  const checker = JSON.stringify([version, options]);
  const verdicts = readKept(checker);
  const findings = checkRegularExpressions(root, verdicts);
  mkdirSync(join(root, 'build'), { recursive: true });
  writeWhole('build/regular-expressions.json', JSON.stringify({ checker, verdicts } satisfies Kept, null, 1));
  if (process.argv.includes('--update')) {
    const found = new Set(findPatterns(root).patterns.map(({ source, flags }) => `/${source}/${flags}`));
    const expressions = [...found].filter((name) => verdicts[name] === null).sort();
    writeWhole('scripts/linear-expressions.json', `${JSON.stringify({ checker, expressions }, null, 2)}\n`);
  }
  for (const finding of findings) console.error(finding);
  process.exitCode = findings.length > 0 ? 1 : 0;
}
