import type { PluginFault } from '../../types.ts';
import { UTILS, UTILS_EXTENSIONS } from './contract-fields.ts';
import { collectNodes, keyOf, type Syntax } from './plugin-syntax.ts';
import { makeWarning } from './warning-rules.ts';

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
export function readNames(nodes: readonly Syntax[]): Names {
  const declared = new Set<string>();
  const tested = new Set<string>();
  for (const node of nodes) {
    if (node.id) addBound(node.id, declared);
    for (const param of node.params ?? []) addBound(param, declared);
    if (node.type === 'CatchClause') addBound((node as Syntax & { param?: Syntax | null }).param, declared);
    const { argument } = node;
    if (node.type !== 'UnaryExpression' || node.operator !== 'typeof' || !argument) continue;
    const { object, name } = argument;
    tested.add(isName(object) ? `${object.name}.${keyOf(argument)}` : (name ?? ''));
  }
  return { declared, tested };
}

/** Members of a global object that are read, by a dot or by a pattern. */
export function usesOf(nodes: readonly Syntax[], objects: readonly string[]): Use[] {
  return nodes.flatMap((node): Use[] => {
    const object = node.type === 'MemberExpression' ? node.object : node.init;
    const name = isName(object) ? (object.name ?? '') : '';
    if (!objects.includes(name)) return [];
    const members = node.type === 'MemberExpression' ? [node] : (node.id?.properties ?? []);
    return members.flatMap((one) => {
      const member = keyOf(one);
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
    const near = nearest(name, known);
    const message = `${what}${near === undefined ? '' : `; is it "${near}"?`}`;
    return makeWarning('name.unknown', { path: 'source', message, node });
  };
  const objects = Object.keys(members).filter((name) => !declared.has(name));
  const ofObjects = usesOf(nodes, objects).flatMap(({ object, member, node }) => {
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

function nearest(name: string, known: ReadonlySet<string>): string | undefined {
  if (name.length > 64) return undefined;
  let found: string | undefined;
  let least = Math.min(MAX_DISTANCE, Math.floor(name.length / 2)) + 1;
  for (const one of known) {
    if (Math.abs(one.length - name.length) >= least) continue;
    const distance = distanceOf(name.toLowerCase(), one.toLowerCase());
    if (distance < least) [found, least] = [one, distance];
  }
  return found;
}

/** Edits of single letters between two short texts (Wagner and Fischer, 1974). */
function distanceOf(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
