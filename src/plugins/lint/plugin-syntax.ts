import type { Node } from 'acorn';
import { canonicalProtocol } from '../manifest/protocol-aliases.ts';
import { childNodes } from '../source/check-source.ts';

/** A node with the fields of all node types that rules look at. */
export type Syntax = Node & {
  name?: string;
  value?: unknown;
  raw?: string;
  kind?: string;
  operator?: string;
  computed?: boolean;
  method?: boolean;
  id?: Syntax | null;
  init?: Syntax | null;
  key?: Syntax;
  object?: Syntax;
  property?: Syntax;
  callee?: Syntax;
  argument?: Syntax | null;
  arguments?: Syntax[];
  left?: Syntax;
  right?: Syntax;
  test?: Syntax | null;
  consequent?: Syntax | Syntax[];
  alternate?: Syntax | null;
  cases?: Syntax[];
  discriminant?: Syntax;
  expression?: Syntax | boolean;
  expressions?: Syntax[];
  quasis?: Syntax[];
  properties?: Syntax[];
  elements?: (Syntax | null)[];
  params?: Syntax[];
  body?: Syntax | Syntax[];
  declaration?: Syntax | null;
  declarations?: Syntax[];
  specifiers?: Syntax[];
  exported?: Syntax;
  local?: Syntax;
};

/** A module's declarations at its top level, and the functions that the gateway calls. */
export type PluginSyntax = {
  functions: ReadonlyMap<string, Syntax>;
  values: ReadonlyMap<string, Syntax>;
  /** Hooks by their canonical names, such as `protocols.proto_video.render`. */
  hooks: ReadonlyMap<string, Syntax>;
};

const FUNCTIONS: ReadonlySet<string> = new Set([
  'FunctionDeclaration',
  'FunctionExpression',
  'ArrowFunctionExpression',
]);

export const isFunction = (node: Syntax | null | undefined): node is Syntax => !!node && FUNCTIONS.has(node.type);

/** A name, or a text in quotes. */
export const readName = (node: Syntax | null | undefined): string | undefined => {
  if (node?.type === 'Identifier') return node.name;
  return node?.type === 'Literal' && typeof node.value === 'string' ? node.value : undefined;
};

/** The name of a property, a member or a method, unless it is computed. */
export const readKey = ({ computed, key, property }: Syntax): string | undefined => {
  const name = key ?? property;
  return computed && name?.type !== 'Literal' ? undefined : readName(name);
};

/** All nodes of a tree, in no particular order; `enter: false` leaves out what is below a node. */
export function collectNodes(root: Syntax, enter: (node: Syntax) => boolean = () => true): Syntax[] {
  const found: Syntax[] = [];
  const pending: Syntax[] = [root];
  for (let node = pending.pop(); node; node = pending.pop()) {
    found.push(node);
    if (node !== root && !enter(node)) continue;
    for (const child of childNodes(node)) pending.push(child);
  }
  return found;
}

/** What a function itself may return. */
export function findReturns(fn: Syntax): Syntax[] {
  const { body } = fn;
  if (!body || Array.isArray(body)) return [];
  if (body.type !== 'BlockStatement') return [body];
  return collectNodes(body, (node) => !isFunction(node))
    .filter(({ type }) => type === 'ReturnStatement')
    .flatMap(({ argument }) => (argument ? [argument] : []));
}

export function readPluginSyntax(program: Node): PluginSyntax {
  const functions = new Map<string, Syntax>();
  const values = new Map<string, Syntax>();
  const exported = new Map<string, string>();
  const { body } = program as Syntax;
  for (const statement of Array.isArray(body) ? body : []) {
    const declared = statement.declaration ?? statement;
    for (const name of declare(declared, { functions, values })) {
      if (statement.type === 'ExportNamedDeclaration') exported.set(name, name);
    }
    for (const { exported: as, local } of statement.specifiers ?? []) {
      exported.set(readName(as) ?? '', readName(local) ?? '');
    }
  }
  const hooks = new Map<string, Syntax>();
  const addHooks = (name: string, node: Syntax | undefined, depth: number): void => {
    const found = resolve(node, { functions, values });
    if (isFunction(found)) hooks.set(name, found);
    if (depth === 0) return;
    for (const property of found?.type === 'ObjectExpression' ? (found.properties ?? []) : []) {
      const member = readKey(property);
      if (member === undefined || property.type !== 'Property') continue;
      const own = name === 'protocols' ? canonicalProtocol(member) : member;
      addHooks(`${name}.${own}`, property.value as Syntax, depth - 1);
    }
  };
  for (const [name, local] of exported) {
    addHooks(name, functions.get(local) ?? values.get(local), name === 'protocols' ? 2 : name === 'native' ? 1 : 0);
  }
  return { functions, values, hooks };
}

type Declarations = { functions: Map<string, Syntax>; values: Map<string, Syntax> };

function declare(node: Syntax, { functions, values }: Declarations): string[] {
  if (node.type === 'FunctionDeclaration') {
    const name = readName(node.id) ?? '';
    functions.set(name, node);
    return [name];
  }
  return (node.type === 'VariableDeclaration' ? (node.declarations ?? []) : []).flatMap(({ id, init }) => {
    const name = readName(id);
    if (name === undefined || !init) return [];
    if (isFunction(init)) functions.set(name, init);
    else values.set(name, init);
    return [name];
  });
}

/** The declaration that a name at the top level stands for. */
const resolve = (node: Syntax | undefined, { functions, values }: Declarations): Syntax | undefined =>
  node?.type === 'Identifier' ? (functions.get(node.name ?? '') ?? values.get(node.name ?? '')) : node;

/** What stands for a name in a function: where it is declared, and what is set to it or in it. */
type NameUse = {
  /** Declarators of the name alone. */
  declared: Syntax[];
  /** First values of patterns, with the member that the name is bound to. */
  bound: { init: Syntax | null | undefined; field: string }[];
  /** Assignments to the name, or to a member of it. */
  assigned: Syntax[];
};
export type FunctionNames = { nodes: readonly Syntax[]; of(name: string): Readonly<NameUse> };

const NO_USE: NameUse = { declared: [], bound: [], assigned: [] };

/** Indexes functions by the names in them, each once, so that rules take linear time. */
export function createNameIndex(): (fn: Syntax) => FunctionNames {
  const known = new Map<Syntax, FunctionNames>();
  return (fn) => {
    const found = known.get(fn) ?? indexNames(fn);
    known.set(fn, found);
    return found;
  };
}

function indexNames(fn: Syntax): FunctionNames {
  const nodes = collectNodes(fn);
  const uses = new Map<string, NameUse>();
  const findUse = (name: string): NameUse => {
    const use = uses.get(name) ?? { declared: [], bound: [], assigned: [] };
    uses.set(name, use);
    return use;
  };
  for (const node of nodes) {
    const { type, id, init, left } = node;
    if (type === 'VariableDeclarator') {
      const name = readName(id);
      if (name !== undefined) findUse(name).declared.push(node);
      for (const [bound, field] of readBindings(id)) findUse(bound).bound.push({ init, field });
    } else if (type === 'AssignmentExpression' && left) {
      const name = readName(left.type === 'MemberExpression' ? left.object : left);
      if (name !== undefined) findUse(name).assigned.push(node);
    }
  }
  return { nodes, of: (name) => uses.get(name) ?? NO_USE };
}

/** The names that a pattern binds, each with the member or the position that it stands for. */
export function readBindings(pattern: Syntax | null | undefined): [name: string, field: string][] {
  const items = (pattern?.elements ?? []).flatMap((one, index): [string, string][] => {
    const name = readName(one);
    return name === undefined ? [] : [[name, String(index)]];
  });
  const members = (pattern?.properties ?? []).flatMap((one): [string, string][] => {
    const value = one.value as Syntax | undefined;
    const name = readName(value?.type === 'AssignmentPattern' ? value.left : value);
    const field = readKey(one);
    return name === undefined || field === undefined ? [] : [[name, field]];
  });
  return [...items, ...members];
}
