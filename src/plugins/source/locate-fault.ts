import type { Node } from 'acorn';
import type { PluginFault } from '../types.ts';

type Syntax = Node & {
  body?: unknown;
  declaration?: Syntax | null;
  declarations?: Syntax[];
  specifiers?: Syntax[];
  id?: Syntax;
  init?: Syntax | null;
  name?: string;
  value?: unknown;
  key?: Syntax;
  computed?: boolean;
  exported?: Syntax;
  local?: Syntax;
  properties?: Syntax[];
  elements?: (Syntax | null)[];
};

/** A declaration: the node to point at, and the value if it is written there as a literal. */
type Declared = { at: Syntax; value: Syntax | undefined };

const readName = (node: Syntax | undefined): string | undefined => {
  if (node?.type === 'Identifier') return node.name;
  return node?.type === 'Literal' && typeof node.value === 'string' ? node.value : undefined;
};

function declaredBy(statement: Syntax): [name: string, declared: Declared][] {
  if (statement.type === 'VariableDeclaration') {
    return (statement.declarations ?? []).flatMap((one): [string, Declared][] => {
      const name = readName(one.id);
      return name === undefined ? [] : [[name, { at: one.id ?? one, value: one.init ?? undefined }]];
    });
  }
  const name = readName(statement.id);
  return name === undefined ? [] : [[name, { at: statement.id ?? statement, value: undefined }]];
}

/** Every export by its name, resolved to its declaration in the module. */
function findExports(program: Syntax): Map<string, Declared> {
  const statements = Array.isArray(program.body) ? (program.body as Syntax[]) : [];
  const declared = new Map(statements.flatMap((one) => declaredBy(one.declaration ?? one)));
  const exported = new Map<string, Declared>();
  for (const statement of statements) {
    if (statement.type !== 'ExportNamedDeclaration') continue;
    if (statement.declaration) {
      for (const [name, one] of declaredBy(statement.declaration)) exported.set(name, one);
    }
    for (const specifier of statement.specifiers ?? []) {
      const name = readName(specifier.exported);
      if (name === undefined) continue;
      exported.set(name, declared.get(readName(specifier.local) ?? '') ?? { at: specifier, value: undefined });
    }
  }
  return exported;
}

/** The members of an object or list literal. If members share a name, the last one counts. */
function readMembers(node: Syntax): Map<string, Declared> {
  if (node.type === 'ArrayExpression') {
    const elements = node.elements ?? [];
    return new Map(elements.flatMap((one, index) => (one ? [[String(index), { at: one, value: one }]] : [])));
  }
  return new Map(
    (node.properties ?? []).flatMap((one): [string, Declared][] => {
      const name = one.computed ? undefined : readName(one.key);
      return name === undefined ? [] : [[name, { at: one.key ?? one, value: one.value as Syntax }]];
    }),
  );
}

/**
 * Follows `segments` through literals as far as possible. A missing member is located at the object
 * that lacks it.
 */
function follow(
  start: Declared,
  segments: readonly string[],
  findMembers: (node: Syntax) => ReadonlyMap<string, Declared>,
): Syntax {
  let found = start;
  for (const segment of segments) {
    const next = found.value && findMembers(found.value).get(segment);
    if (!next) break;
    found = next;
  }
  return found.at;
}

const readPointer = (path: string): string[] =>
  path
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));

/**
 * Adds positions to faults of the manifest (`/routes/0/path`) and of exports
 * (`exports/native/error`): 1-based line and column of the text in question, as far as it is a
 * literal and not computed. Faults that have a position keep it.
 */
export function createLocator(program: Node): (fault: PluginFault) => PluginFault {
  const exported = findExports(program as Syntax);
  const statements = (program as Syntax).body as Syntax[];
  const declared = new Map(statements.flatMap((one) => declaredBy(one.declaration ?? one)));
  // Cached, so that a manifest with many faults takes time linear in its length.
  const known = new Map<Syntax, Map<string, Declared>>();
  const findMembers = (node: Syntax): ReadonlyMap<string, Declared> => {
    const written = (node.type === 'Identifier' ? declared.get(node.name ?? '')?.value : undefined) ?? node;
    const members = known.get(written) ?? readMembers(written);
    known.set(written, members);
    return members;
  };

  function find(path: string): Syntax | undefined {
    if (path === '' || path.startsWith('/')) {
      const meta = exported.get('meta');
      return meta && follow(meta, readPointer(path), findMembers);
    }
    const [root, name = '', ...members] = path.split('/');
    const start = root === 'exports' ? exported.get(name) : undefined;
    return start && follow(start, members, findMembers);
  }

  return (fault) => {
    if (fault.line !== undefined) return fault;
    const start = find(fault.path)?.loc?.start;
    return start ? { ...fault, line: start.line, column: start.column + 1 } : fault;
  };
}
