/**
 * The sentences in the source of the server that a caller may read, each with `*` where a value
 * stands: whatever is not a log line, a text of the API's documentation or an unexpected error.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Node, parse } from 'acorn';
import { root } from './hash-inputs.ts';

export type FoundSentence = { file: string; text: string };

const DOCUMENTATION = /^(?:description|summary|doc|help|usage|when|step)$/;
const LOGS = /(?:^|\.)(?:info|warn|error|debug|trace|fatal)$/;
/** Three words in a row, of which the second begins in lower case. */
const WORDS = /[A-Za-z*"')}][^ ]* [a-z*"][^ ]*(?: |$)[A-Za-z*"(]?/;
const STATEMENT = /^\s*(?:select|insert|update|delete|create|pragma|with|alter|drop) /i;
/** Several lines, or a value of a header. */
const HEADER = /\n|^[\w/-]+; /;

type AnyNode = Node & Record<string, unknown>;

const transpiler = new Bun.Transpiler({ loader: 'ts', minifyWhitespace: false });

/** Sentences of a file, by its path under the root of the repository. */
export function listSentences(file: string): FoundSentence[] {
  const program = parse(transpiler.transformSync(readFileSync(join(root, file), 'utf8')), {
    ecmaVersion: 'latest',
    sourceType: 'module',
  });
  const found = new Set<string>();
  visit(program as unknown as AnyNode, found);
  return [...found].map((text) => ({ file, text }));
}

function visit(node: AnyNode, found: Set<string>): void {
  if (isUnread(node)) return;
  const text = textOf(node);
  if (text !== undefined && isSentence(text)) found.add(text);
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child, found);
  }
}

function isUnread(node: AnyNode): boolean {
  if (node.type === 'ImportDeclaration' || node.type === 'TaggedTemplateExpression') return true;
  if (node.type === 'NewExpression') return /^(?:Type|Range)?Error$/.test(nameOf(node.callee));
  if (node.type === 'CallExpression') return LOGS.test(nameOf(node.callee));
  return node.type === 'Property' && DOCUMENTATION.test(nameOf(node.key));
}

function nameOf(value: unknown): string {
  if (!isNode(value)) return '';
  if (value.type === 'Identifier') return String(value.name);
  if (value.type === 'ChainExpression') return nameOf(value.expression);
  return value.type === 'MemberExpression' ? `${nameOf(value.object)}.${nameOf(value.property)}` : '';
}

function textOf(node: AnyNode): string | undefined {
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : undefined;
  if (node.type !== 'TemplateLiteral') return undefined;
  const pieces = node.quasis as { value: { cooked: string } }[];
  return pieces.map(({ value }) => value.cooked).join('*');
}

const isSentence = (text: string): boolean =>
  WORDS.test(text) && !STATEMENT.test(text) && !HEADER.test(text) && countWords(text) >= 3;

/** Two words and a value are a sentence as well. */
function countWords(text: string): number {
  const words = text.split(' ');
  const real = words.filter((word) => /[a-z]{2}/.test(word)).length;
  return real < 2 ? 0 : words.filter((word) => /[a-z]{2}|\*/.test(word)).length;
}

const isNode = (value: unknown): value is AnyNode =>
  typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string';
