import { type Node, Parser } from 'acorn';
import { quoted, type Sentence, sentence } from '../../kernel/index.ts';
import { MAX_FAULTS, makeFault } from '../manifest/faults.ts';
import type { RuleId } from '../manifest/rules.ts';
import type { PluginFault } from '../types.ts';

/** Largest source of a plugin, in bytes of UTF-8 (as in new-api). */
export const MAX_SOURCE_BYTES = 1_048_576;

/** `program` is set if the source could be parsed. */
export type SourceCheck = { faults: PluginFault[]; program?: Node };

/**
 * Most nested labels of a statement, and named groups of a regular expression. Parsing takes time
 * quadratic in both.
 */
const MAX_LABELS = 32;
const MAX_NAMED_GROUPS = 100;
const TOO_MANY_GROUPS = sentence('fault.source_groups');
const TOO_MANY_LABELS = sentence('fault.source_labels');
/** What the parser is made to say; its own words have no reason. */
const LIMITS = [TOO_MANY_GROUPS, TOO_MANY_LABELS];

type Internals = { labels: unknown[]; start: number; raise(position: number, message: string): never };
type ParseLabelled = (this: unknown, ...args: unknown[]) => unknown;
const { parseLabeledStatement } = Parser.prototype as unknown as { parseLabeledStatement: ParseLabelled };

/**
 * Acorn without the checks that take quadratic time: of declared names (20,000 names took five
 * seconds) and of regular expressions (20,000 named groups took a minute, here and in the engine).
 * The sandbox's compiler finds the same mistakes, under a deadline.
 */
class ModuleParser extends Parser {
  declareName(): void {}
  checkLocalExport(): void {}
  validateRegExpPattern({ source, start }: { source: string; start: number }): void {
    if (source.split('(?<').length > MAX_NAMED_GROUPS) {
      (this as unknown as Internals).raise(start, TOO_MANY_GROUPS.message);
    }
  }
  parseLabeledStatement(...args: unknown[]): unknown {
    const { labels, start } = this as unknown as Internals;
    if (labels.length > MAX_LABELS) (this as unknown as Internals).raise(start, TOO_MANY_LABELS.message);
    return parseLabeledStatement.apply(this, args);
  }
}

/** Child nodes of a syntax node, in no particular order. */
export function childNodes(node: Node): Node[] {
  const children: Node[] = [];
  const take = (value: unknown): void => {
    if (typeof value === 'object' && value !== null && typeof (value as Node).type === 'string')
      children.push(value as Node);
  };
  for (const value of Object.values(node)) {
    if (Array.isArray(value)) for (const item of value) take(item);
    else take(value);
  }
  return children;
}

const isNamed = (node: unknown, name: string): boolean =>
  (node as { type?: string; name?: string } | null)?.type === 'Identifier' && (node as { name?: string }).name === name;

type Fields = {
  async?: boolean;
  await?: boolean;
  source?: unknown;
  callee?: unknown;
  meta?: { name: string };
  method?: boolean;
  key?: Node;
  value?: Node & Fields;
};

/** A method: its keyword `async` stands before its name, outside the node of the function. */
const isMethod = (node: Node & Fields): boolean => node.type === 'MethodDefinition' || node.method === true;

/** The position of a node's fault: for a method at its `async`, which `static` may precede. */
function findPosition(node: Node & Fields, source: string): { line: number; column: number } {
  const start = node.loc?.start ?? { line: 1, column: 0 };
  const keyword = isMethod(node) && node.key ? source.lastIndexOf('async', node.key.start - 1) : node.start;
  const before = source.slice(node.start, Math.max(keyword, node.start));
  return { line: start.line, column: start.column + 1 + (/[\r\n\u2028\u2029]/.test(before) ? 0 : before.length) };
}

const ASYNC: [RuleId, Sentence] = ['source.async', sentence('fault.async')];

/** The rule that a node breaks, and the message. */
function findViolation(node: Node, text: string): [rule: RuleId, said: Sentence] | undefined {
  const { async, await: awaits, source, callee, meta, value } = node as Node & Fields;
  switch (node.type) {
    case 'Property':
    case 'MethodDefinition':
      return isMethod(node) && value?.async ? ASYNC : undefined;
    case 'FunctionDeclaration':
    case 'FunctionExpression':
    case 'ArrowFunctionExpression':
      // The function of a method begins after the keyword, and is reported with the method.
      return async && text.startsWith('async', node.start) ? ASYNC : undefined;
    case 'AwaitExpression':
      return ['source.await', sentence('fault.not_allowed', { what: 'await' })];
    case 'ForOfStatement':
      return awaits ? ['source.await', sentence('fault.not_allowed', { what: 'for await' })] : undefined;
    case 'ImportDeclaration':
      return ['source.import', sentence('fault.not_allowed', { what: 'import' })];
    case 'ImportExpression':
      return ['source.dynamic_import', sentence('fault.not_allowed', { what: 'import()' })];
    case 'MetaProperty':
      return meta?.name === 'import'
        ? ['source.import_meta', sentence('fault.not_allowed', { what: 'import.meta' })]
        : undefined;
    case 'ExportAllDeclaration':
      return ['source.reexport', sentence('fault.reexports')];
    case 'ExportNamedDeclaration':
      return source ? ['source.reexport', sentence('fault.reexports')] : undefined;
    case 'CallExpression':
      return isNamed(callee, 'require')
        ? ['source.require', sentence('fault.not_allowed', { what: 'require()' })]
        : undefined;
    default:
      return undefined;
  }
}

/** Acorn itself reports an `await` in a place where it is not allowed. */
const ruleOfSyntaxError = (message: string): RuleId => (/\bawait\b/.test(message) ? 'source.await' : 'source.syntax');

/**
 * Checks the text of a plugin: its size, its syntax, and that it is one synchronous module.
 * Positions are 1-based.
 */
export function checkSource(source: string): SourceCheck {
  const bytes = Buffer.byteLength(source);
  if (bytes > MAX_SOURCE_BYTES) {
    const said = sentence('fault.source_size', { bytes, max: MAX_SOURCE_BYTES });
    return { faults: [makeFault('source', 'source.size', said)] };
  }
  let program: Node;
  try {
    program = ModuleParser.parse(source, {
      ecmaVersion: 'latest',
      sourceType: 'module',
      locations: true,
      allowAwaitOutsideFunction: true,
    });
  } catch (error) {
    return { faults: [syntaxFault(error)] };
  }
  const faults: PluginFault[] = [];
  const pending: Node[] = [program];
  for (let node = pending.pop(); node; node = pending.pop()) {
    const found = findViolation(node, source);
    if (found) faults.push({ ...makeFault('source', ...found), ...findPosition(node, source) });
    for (const child of childNodes(node)) pending.push(child);
  }
  faults.sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
  return { faults: faults.slice(0, MAX_FAULTS), program };
}

function syntaxFault(error: unknown): PluginFault {
  const { message, loc } = error as Error & { loc?: { line: number; column: number } };
  const text = message.replace(/ \(\d+:\d+\)$/, '');
  return {
    ...makeFault('source', ruleOfSyntaxError(text), LIMITS.find(({ message }) => message === text) ?? quoted(text)),
    ...(loc ? { line: loc.line, column: loc.column + 1 } : {}),
  };
}
