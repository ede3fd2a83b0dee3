import type { Node } from 'acorn';
import { childNodes } from '../source/check-source.ts';

/** What a source does with the contexts that its hooks get. */
export type ContextUse = {
  /** Names that it reads of any object: `ctx.apiKey`, `ctx['apiKey']`, `({ apiKey }) => …`. */
  read: ReadonlySet<string>;
  /** Names that it reads of a hook's own argument. */
  readOfContext: ReadonlySet<string>;
  /** Names that it gives to properties of objects that it makes. */
  written: ReadonlySet<string>;
  /** Whether it hands a context on as a whole, or reads it by computed names. */
  passesWhole: boolean;
};

type Syntax = Node & {
  name?: string;
  value?: unknown;
  key?: Syntax;
  computed?: boolean;
  object?: Syntax;
  property?: Syntax;
  properties?: Syntax[];
  params?: Syntax[];
  left?: Syntax;
  callee?: Syntax;
  arguments?: Syntax[];
  argument?: Syntax;
  declaration?: Syntax | null;
};

/** Functions that take an object apart, or write it out. */
const WHOLE = new Set(['JSON.stringify', 'Object.keys', 'Object.values', 'Object.entries', 'Object.assign']);

/** A property's name, as far as the source writes it down. */
function nameOf(key: Syntax | undefined, computed: boolean | undefined): string | undefined {
  if (!computed && key?.type === 'Identifier') return key.name;
  return key?.type === 'Literal' && typeof key.value === 'string' ? key.value : undefined;
}

/**
 * Walks a module. It finds what the source writes down; a name that the source puts together at run
 * time, and a context under another name, is not found.
 */
export function findContextUse(program: Node): ContextUse {
  const contexts = findContextNames(program);
  const [read, readOfContext, written] = [new Set<string>(), new Set<string>(), new Set<string>()];
  let passesWhole = false;
  const isContext = (node: Syntax | undefined) => node?.type === 'Identifier' && contexts.has(node.name ?? '');

  const visit: Record<string, (node: Syntax) => void> = {
    MemberExpression({ object, property, computed }) {
      const name = nameOf(property, computed);
      if (name !== undefined) read.add(name);
      if (name !== undefined && isContext(object)) readOfContext.add(name);
      if (name === undefined && isContext(object)) passesWhole = true;
    },
    ObjectPattern({ properties = [] }) {
      for (const { key, computed } of properties) {
        const name = nameOf(key, computed);
        if (name === undefined) continue;
        read.add(name);
        readOfContext.add(name);
      }
    },
    ObjectExpression({ properties = [] }) {
      for (const { type, key, computed, value, argument } of properties) {
        const name = nameOf(key, computed);
        if (name !== undefined) written.add(name);
        if (type === 'SpreadElement' ? isContext(argument) : name === 'body' && isContext(value as Syntax))
          passesWhole = true;
      }
    },
    CallExpression({ callee, arguments: given = [] }) {
      const called = `${callee?.object?.name ?? ''}.${nameOf(callee?.property, callee?.computed) ?? ''}`;
      if (WHOLE.has(called) && given.some(isContext)) passesWhole = true;
    },
  };
  const pending: Syntax[] = [program];
  for (let node = pending.pop(); node; node = pending.pop()) {
    visit[node.type]?.(node);
    pending.push(...(childNodes(node) as Syntax[]));
  }
  return { read, readOfContext, written, passesWhole };
}

const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);

/** The names that exported functions, and functions in exported objects, give their context. */
function findContextNames(program: Node): Set<string> {
  const names = new Set<string>();
  const pending: Syntax[] = [];
  for (const statement of childNodes(program) as Syntax[])
    if (statement.type === 'ExportNamedDeclaration' && statement.declaration) pending.push(statement.declaration);
  for (let node = pending.pop(); node; node = pending.pop()) {
    if (!FUNCTIONS.has(node.type)) {
      pending.push(...(childNodes(node) as Syntax[]));
      continue;
    }
    // Functions inside of a hook are not hooks.
    const [first] = node.params ?? [];
    const context = first?.type === 'AssignmentPattern' ? first.left : first;
    if (context?.name !== undefined) names.add(context.name);
  }
  return names;
}
