import type { Node } from 'acorn';
import { isObject } from '../../kernel/index.ts';
import type { Manifest } from '../types.ts';
import { childNodes } from './check-source.ts';

/**
 * What a plugin may do, as a code and the names that it concerns. The panel and the command line
 * put it into words.
 *
 * - `hosts`: sends requests to these. `channel_host`: only to the address that the channel names.
 * - `redirects`: answers may lead from one of its hosts to another.
 * - `any_host`: downloads results from any public address, without headers.
 * - `channel_key`, `access_token`: reads the channel's key, or a token that the gateway got for it.
 * - `whole_context`: hands on all that it knows of a request, or reads it by names that are not
 *   written down: with its credentials.
 * - `client_headers`, `client_query`, `client_files`: reads these of the client's request.
 * - `models`, `protocols`, `routes`, `channel_types`: serves these.
 */
export type PermissionCode =
  | 'hosts'
  | 'channel_host'
  | 'redirects'
  | 'any_host'
  | 'channel_key'
  | 'access_token'
  | 'whole_context'
  | 'client_headers'
  | 'client_query'
  | 'client_files'
  | 'models'
  | 'protocols'
  | 'routes'
  | 'channel_types';

export type Permission = { code: PermissionCode; values: string[] };

export type PermissionChanges = { gained: Permission[]; lost: Permission[]; kept: Permission[] };

/**
 * What a plugin may do by its manifest, and by what its source says. This describes and confines
 * nothing: a source can hide what it reads.
 */
export function describePermissions(manifest: Manifest, program: Node | undefined): Permission[] {
  const { baseUrl, allowedHosts, models, protocols, routes, channelTypes } = manifest;
  const hosts = [...new Set([...(baseUrl === undefined ? [] : [new URL(baseUrl).host]), ...allowedHosts])];
  const list = (code: PermissionCode, values: string[]): Permission[] => (values.length > 0 ? [{ code, values }] : []);
  const flag = (code: PermissionCode, isSet: boolean): Permission[] => (isSet ? [{ code, values: [] }] : []);
  return [
    ...list('hosts', hosts),
    ...flag('channel_host', baseUrl === undefined),
    ...flag('redirects', allowedHosts.length > 0),
    ...(program ? readPermissions(manifest, program) : []),
    ...list('models', models),
    ...list(
      'protocols',
      protocols.map(({ name }) => name),
    ),
    ...list(
      'routes',
      routes.map(({ method, path }) => `${method} ${path}`),
    ),
    ...list('channel_types', channelTypes.map(String)),
  ];
}

function readPermissions({ auth }: Manifest, program: Node): Permission[] {
  const { read, readOfContext, written, passesWhole } = findContextUse(program);
  const usesToken = (isObject(auth) ? auth.type : auth) === 'oauth2_jwt';
  const readsKey = ['apiKey', 'authHeader'].some((name) => read.has(name)) || readOfContext.has('auth');
  const flags: [PermissionCode, boolean][] = [
    ['any_host', written.has('credentialless')],
    [usesToken ? 'access_token' : 'channel_key', readsKey],
    ['whole_context', passesWhole],
    ['client_headers', read.has('requestHeaders') || read.has('clientRequest')],
    ['client_query', readOfContext.has('query')],
    ['client_files', readOfContext.has('files') || written.has('fileRef') || written.has('__fileRef')],
  ];
  return flags.flatMap(([code, isSet]) => (isSet ? [{ code, values: [] }] : []));
}

/** `before` is `undefined` if no plugin serves: everything is gained then. */
export function comparePermissions(
  before: readonly Permission[] | undefined,
  after: readonly Permission[],
): PermissionChanges {
  return {
    gained: select(after, before, false),
    lost: select(before ?? [], after, false),
    kept: select(after, before, true),
  };
}

/** The entries of `list` that are in `other` too, or are not. */
function select(list: readonly Permission[], other: readonly Permission[] | undefined, isIn: boolean): Permission[] {
  const known = new Map(other?.map(({ code, values }) => [code, new Set(values)]));
  return list.flatMap(({ code, values }): Permission[] => {
    const theirs = known.get(code);
    if (values.length === 0) return (theirs !== undefined) === isIn ? [{ code, values }] : [];
    const found = values.filter((value) => (theirs?.has(value) ?? false) === isIn);
    return found.length > 0 ? [{ code, values: found }] : [];
  });
}

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
function readName(key: Syntax | undefined, computed: boolean | undefined): string | undefined {
  if (!computed && key?.type === 'Identifier') return key.name;
  return key?.type === 'Literal' && typeof key.value === 'string' ? key.value : undefined;
}

/**
 * Walks a module. It finds what the source writes down; a name that the source puts together at run
 * time, and a context under another name, is not found.
 */
function findContextUse(program: Node): ContextUse {
  const contexts = findContextNames(program);
  const [read, readOfContext, written] = [new Set<string>(), new Set<string>(), new Set<string>()];
  let passesWhole = false;
  const isContext = (node: Syntax | undefined) => node?.type === 'Identifier' && contexts.has(node.name ?? '');

  const visit: Record<string, (node: Syntax) => void> = {
    MemberExpression({ object, property, computed }) {
      const name = readName(property, computed);
      if (name !== undefined) read.add(name);
      if (name !== undefined && isContext(object)) readOfContext.add(name);
      if (name === undefined && isContext(object)) passesWhole = true;
    },
    ObjectPattern({ properties = [] }) {
      for (const { key, computed } of properties) {
        const name = readName(key, computed);
        if (name === undefined) continue;
        read.add(name);
        readOfContext.add(name);
      }
    },
    ObjectExpression({ properties = [] }) {
      for (const { type, key, computed, value, argument } of properties) {
        const name = readName(key, computed);
        if (name !== undefined) written.add(name);
        if (type === 'SpreadElement' ? isContext(argument) : name === 'body' && isContext(value as Syntax))
          passesWhole = true;
      }
    },
    CallExpression({ callee, arguments: given = [] }) {
      const called = `${callee?.object?.name ?? ''}.${readName(callee?.property, callee?.computed) ?? ''}`;
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
