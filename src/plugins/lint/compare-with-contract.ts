import { findNearest } from '../../kernel/index.ts';
import type { Manifest, PluginFault } from '../types.ts';
import { decodedFields, RESULT_FIELDS, UTILS, UTILS_EXTENSIONS } from './contract-fields.ts';
import { listResultMembers, type ResultMember } from './follow-results.ts';
import {
  collectNodes,
  type PluginSyntax,
  readBindings,
  readKey,
  readName,
  readPluginSyntax,
  type Syntax,
} from './plugin-syntax.ts';
import { makeWarning } from './warning-ids.ts';

/** What a plugin finds beside `utils` and `console`: the language of the sandbox. */
export const LANGUAGE: ReadonlySet<string> = new Set(
  [
    'AggregateError Array ArrayBuffer BigInt BigInt64Array BigUint64Array Boolean DataView Date Error',
    'EvalError FinalizationRegistry Float16Array Float32Array Float64Array Function Infinity Int16Array Int32Array',
    'Int8Array InternalError Iterator JSON Map Math NaN Number Object Promise Proxy RangeError ReferenceError Reflect',
    'RegExp Set SharedArrayBuffer String Symbol SyntaxError TypeError URIError Uint16Array Uint32Array Uint8Array',
    'Uint8ClampedArray WeakMap WeakRef WeakSet arguments console decodeURI decodeURIComponent encodeURI',
    'encodeURIComponent escape eval globalThis isFinite isNaN parseFloat parseInt undefined unescape utils',
  ].flatMap((names) => names.split(' ')),
);

/** Farther names are no slip of the fingers. */
const MAX_DISTANCE = 3;

type Names = { declared: Set<string>; tested: Set<string> };
type Use = { object: string; member: string; node: Syntax };

const isName = (node: Syntax | null | undefined): node is Syntax => node?.type === 'Identifier';

/** Names in a pattern: of a variable, a parameter, or a caught error. */
function addBound(pattern: Syntax | null | undefined, names: Set<string>): void {
  for (const node of pattern ? collectNodes(pattern) : []) if (isName(node)) names.add(node.name ?? '');
}

/** Every name that is declared somewhere, and what the plugin tests with `typeof`. */
function readNames(nodes: readonly Syntax[]): Names {
  const declared = new Set<string>();
  const tested = new Set<string>();
  for (const node of nodes) {
    if (node.id) addBound(node.id, declared);
    for (const param of node.params ?? []) addBound(param, declared);
    if (node.type === 'CatchClause') addBound((node as Syntax & { param?: Syntax | null }).param, declared);
    const { argument } = node;
    if (node.type !== 'UnaryExpression' || node.operator !== 'typeof' || !argument) continue;
    const { object, name } = argument;
    tested.add(isName(object) ? `${object.name}.${readKey(argument)}` : (name ?? ''));
  }
  return { declared, tested };
}

/** Members of a global object that are read, by a dot or by a pattern. */
function findUses(nodes: readonly Syntax[], objects: readonly string[]): Use[] {
  return nodes.flatMap((node): Use[] => {
    const object = node.type === 'MemberExpression' ? node.object : node.init;
    const name = isName(object) ? (object.name ?? '') : '';
    if (!objects.includes(name)) return [];
    const members = node.type === 'MemberExpression' ? [node] : (node.id?.properties ?? []);
    return members.flatMap((one) => {
      const member = readKey(one);
      return member === undefined ? [] : [{ object: name, member, node: one }];
    });
  });
}

/** Finds uses of globals and of members of `utils` and `console` that the sandbox does not have. */
export function findUnknownNames(program: Syntax): PluginFault[] {
  const nodes = collectNodes(program);
  const { declared, tested } = readNames(nodes);
  const members: Record<string, ReadonlySet<string>> = {
    utils: new Set([...UTILS, ...UTILS_EXTENSIONS]),
    console: new Set(['log']),
  };
  const warn = (what: string, name: string, { known, node }: { known: ReadonlySet<string>; node: Syntax }) => {
    const near = findNearest(name, known, MAX_DISTANCE);
    const message = `${what}${near === undefined ? '' : `; is it "${near}"?`}`;
    return makeWarning('name.unknown', { path: 'source', message, node });
  };
  const objects = Object.keys(members).filter((name) => !declared.has(name));
  const ofObjects = findUses(nodes, objects).flatMap(({ object, member, node }) => {
    const known = members[object] as ReadonlySet<string>;
    if (known.has(member) || tested.has(`${object}.${member}`)) return [];
    return [warn(`${object} has no "${member}"`, member, { known, node })];
  });
  const globals = nodes.flatMap((node) => {
    const used = node.type === 'MemberExpression' ? node.object : node.callee;
    if (!isName(used)) return [];
    const name = used.name ?? '';
    if (declared.has(name) || tested.has(name) || LANGUAGE.has(name)) return [];
    return [warn(`there is no global "${name}"`, name, { known: new Set([...LANGUAGE, ...declared]), node: used })];
  });
  return [...ofObjects, ...globals];
}

/** Finds fields of hooks' results that the gateway does not read. */
export function findUnusedFields(manifest: Manifest, syntax: PluginSyntax): PluginFault[] {
  const decoders = new Set(manifest.routes.map(({ decode }) => `native.${decode}`));
  const warnings = new Map<ResultMember['key'], PluginFault>();
  const batch = syntax.hooks.get('parseBatchResult');
  // A function that reads single tasks and those of a batch returns what either of them has.
  const ofBatch = new Set(batch ? listResultMembers(syntax, batch).map(({ key }) => key) : []);
  for (const [hook, fn] of syntax.hooks) {
    const known = (decoders.has(hook) ? decodedFields : RESULT_FIELDS[hook])?.();
    if (!known) continue;
    const members = listResultMembers(syntax, fn);
    const warn = ({ name, key }: ResultMember, why: string): void => {
      const path = `exports/${hook.replaceAll('.', '/')}`;
      const message = `returns "${name}", which the gateway does not read${why}`;
      if (!warnings.has(key)) warnings.set(key, makeWarning('descriptor.unused', { path, message, node: key }));
    };
    for (const member of members) if (!known.has(member.name) && !ofBatch.has(member.key)) warn(member, '');
    if (!known.has('parts')) continue;
    const isSaid = members.some(({ name }) => name === 'bodyType');
    for (const member of members) {
      if (member.name === 'parts' && !isSaid) warn(member, ' without bodyType: "multipart"');
    }
  }
  return [...warnings.values()];
}

/** Fields of descriptors that other hosts ignore. */
const CONTENT_FIELDS = ['base64', 'redirectHosts'];

/**
 * What a plugin uses inside its hooks that only this gateway has: members of `utils` that it does
 * not test for, and fields of descriptors and answers.
 */
export function findUsedExtensions(program: Syntax): string[] {
  const syntax = readPluginSyntax(program);
  const content = syntax.hooks.get('buildContentRequest');
  const returned = content ? listResultMembers(syntax, content).map(({ name }) => name) : [];
  return [
    ...usedUtils(program),
    ...CONTENT_FIELDS.filter((name) => returned.includes(name)).map((name) => `buildContentRequest.${name}`),
    ...(readsBytes(syntax.hooks.get('parseSubmitResponse')) ? ['response.base64'] : []),
  ];
}

function usedUtils(program: Syntax): string[] {
  const nodes = collectNodes(program);
  const { declared, tested } = readNames(nodes);
  if (declared.has('utils')) return [];
  const used = findUses(nodes, ['utils']).map(({ member }) => `utils.${member}`);
  const names = new Set([...UTILS_EXTENSIONS].filter((name) => !UTILS.has(name)).map((name) => `utils.${name}`));
  return [...new Set(used)].filter((name) => names.has(name) && !tested.has(name)).sort();
}

/** Whether `parseSubmitResponse` reads `base64` of its answer, by a dot or by a pattern. */
function readsBytes(hook: Syntax | undefined): boolean {
  const response = hook?.params?.[1];
  if (!hook || !response) return false;
  if (readBindings(response).some(([, field]) => field === 'base64')) return true;
  const name = readName(response);
  return name !== undefined && findUses(collectNodes(hook), [name]).some(({ member }) => member === 'base64');
}
