import {
  createNameIndex,
  findReturns,
  isFunction,
  type PluginSyntax,
  readBindings,
  readKey,
  readName,
  type Syntax,
} from './plugin-syntax.ts';

/**
 * What a value gives away. `context`: the whole context, with the credential in it. `parts`: a key
 * that was split, of which the first part is a name and no secret.
 */
export type Exposure = 'none' | 'context' | 'parts' | 'secret';

/** A function, and what its parameters give away. */
export type Scope = { fn: Syntax; params: readonly Exposure[] };

const MAX_DEPTH = 12;
const CREDENTIALS: ReadonlySet<string | undefined> = new Set(['apiKey', 'authHeader', 'auth']);
/** What a text tells of itself, without being given away. */
const HARMLESS: ReadonlySet<string | undefined> = new Set([
  ...['length', 'startsWith', 'endsWith', 'includes', 'indexOf', 'search', 'test', 'some', 'every'],
]);
/** Calls that return what they are given in another form. The rest of `utils` signs. */
const PASSING: ReadonlySet<string | undefined> = new Set([
  ...['String', 'encodeURIComponent', 'encodeURI', 'decodeURIComponent'],
  ...['JSON.stringify', 'Object.assign', 'Object.values', 'Object.entries', 'Object.fromEntries'],
  ...['utils.base64', 'utils.base64URL', 'utils.bytes', 'utils.urlEncodeRFC3986'],
]);

const strongest = (all: readonly Exposure[]): Exposure =>
  (['secret', 'context', 'parts'] as const).find((one) => all.includes(one)) ?? 'none';

/** Says what expressions of a module give away of the channel's credential. */
export function createTracer({ functions, values }: PluginSyntax) {
  const inside = new Set<Syntax>();
  const namesIn = createNameIndex();
  /** What names of a scope, and results of functions, were found to give away. */
  const known = new Map<string, Exposure>();
  const memoize = (key: string, find: () => Exposure): Exposure => {
    const found = known.get(key);
    if (found !== undefined) return found;
    // While it is looked for, what is defined by itself gives nothing away.
    known.set(key, 'none');
    const exposure = find();
    known.set(key, exposure);
    return exposure;
  };
  const toMark = ({ fn, params }: Scope): string => `${fn.start} ${params.join()}`;

  function expose(node: Syntax | null | undefined, scope: Scope): Exposure {
    // A name that is defined by itself, or a very long chain, gives nothing away.
    if (!node || inside.has(node) || inside.size > MAX_DEPTH * 16) return 'none';
    inside.add(node);
    try {
      return exposeNode(node, scope);
    } finally {
      inside.delete(node);
    }
  }

  const all = (nodes: readonly (Syntax | null | undefined)[], scope: Scope): Exposure =>
    strongest(nodes.map((one) => expose(one, scope)));

  function exposeNode(node: Syntax, scope: Scope): Exposure {
    switch (node.type) {
      case 'Identifier':
        return memoize(`${toMark(scope)} ${node.name}`, () => exposeName(node.name ?? '', scope));
      case 'MemberExpression':
        return exposeMember(node, scope);
      case 'TemplateLiteral':
        return all(node.expressions ?? [], scope);
      case 'BinaryExpression':
        return node.operator === '+' ? all([node.left, node.right], scope) : 'none';
      case 'LogicalExpression':
        return all([node.left, node.right], scope);
      case 'ConditionalExpression':
        return all([node.consequent as Syntax, node.alternate], scope);
      case 'AssignmentExpression':
        return expose(node.right, scope);
      case 'ChainExpression':
        return expose(node.expression as Syntax, scope);
      case 'SpreadElement':
        return expose(node.argument, scope);
      case 'ArrayExpression':
        return all(node.elements ?? [], scope);
      case 'ObjectExpression':
        return all(
          (node.properties ?? []).map((one) => (one.type === 'SpreadElement' ? one : (one.value as Syntax))),
          scope,
        );
      case 'CallExpression':
        return exposeCall(node, scope);
      default:
        return 'none';
    }
  }

  function exposeName(name: string, scope: Scope): Exposure {
    const { fn, params } = scope;
    for (const [index, given] of (fn.params ?? []).entries()) {
      const param = given.type === 'AssignmentPattern' ? given.left : given;
      if (param && readName(param) === name) return params[index] ?? 'none';
      const field = readBindings(param).find(([bound]) => bound === name)?.[1];
      if (field !== undefined) return exposeField(params[index] ?? 'none', field);
    }
    const { declared, bound, assigned } = namesIn(fn).of(name);
    const own = [
      ...declared.map(({ init }) => expose(init, scope)),
      ...bound.map(({ init, field }) => traceMember(init, field, scope)),
      ...assigned.map(({ right }) => expose(right, scope)),
    ];
    return own.length > 0 ? strongest(own) : expose(values.get(name), scope);
  }

  function exposeMember(node: Syntax, scope: Scope): Exposure {
    const { property, object } = node;
    const field = node.computed && property?.type === 'Literal' ? String(property.value) : readKey(node);
    return traceMember(object, field ?? '', scope);
  }

  /** What `node.field` gives away. If the object is written out, only that member counts. */
  function traceMember(node: Syntax | null | undefined, field: string, scope: Scope): Exposure {
    for (const { object, scope: inner } of findLiterals(node, scope)) {
      const member = (object.properties ?? []).find((one) => readKey(one) === field);
      if (member) return expose(member.value as Syntax, inner);
    }
    return exposeField(expose(node, scope), field);
  }

  /** The object literals that an expression stands for, also by a name or a function's result. */
  function findLiterals(node: Syntax | null | undefined, scope: Scope): { object: Syntax; scope: Scope }[] {
    if (node?.type === 'ObjectExpression') return [{ object: node, scope }];
    if (node?.type === 'Identifier') {
      const [found] = namesIn(scope.fn).of(node.name ?? '').declared;
      return found?.init && found.init.type !== 'Identifier' ? findLiterals(found.init, scope) : [];
    }
    const called = node?.type === 'CallExpression' ? functions.get(readName(node.callee) ?? '') : undefined;
    if (!node || !called || called === scope.fn) return [];
    const inner = { fn: called, params: (node.arguments ?? []).map((one) => expose(one, scope)) };
    return findReturns(called).flatMap((object) =>
      object.type === 'ObjectExpression' ? [{ object, scope: inner }] : [],
    );
  }

  function exposeCall({ callee, arguments: args = [] }: Syntax, scope: Scope): Exposure {
    if (!callee) return 'none';
    const own = callee.type === 'Identifier' ? functions.get(callee.name ?? '') : undefined;
    if (own) {
      const params = args.map((one) => expose(one, scope));
      if (params.every((one) => one === 'none')) return 'none';
      const inner = { fn: own, params };
      return memoize(toMark(inner), () => all(findReturns(own), inner));
    }
    const object = callee.type === 'MemberExpression' ? callee.object : undefined;
    const method = callee.type === 'MemberExpression' ? readKey(callee) : readName(callee);
    const name = object?.type === 'Identifier' ? `${object.name}.${method}` : method;
    if (PASSING.has(name)) return all(args, scope);
    if (!object || readName(object) === 'utils' || HARMLESS.has(method)) return 'none';
    const exposure = expose(object, scope);
    if (method === 'split' && exposure === 'secret') return 'parts';
    const [item] = args;
    if ((method === 'map' || method === 'flatMap') && isFunction(item) && exposure !== 'parts') {
      return all(findReturns(item), { fn: item, params: [exposure] });
    }
    return strongest([exposure, method === 'concat' ? all(args, scope) : 'none']);
  }

  return { expose, nodesIn: (fn: Syntax) => namesIn(fn).nodes };
}

function exposeField(of: Exposure, field: string): Exposure {
  if (of === 'context') return CREDENTIALS.has(field) ? 'secret' : field === 'tasks' ? 'context' : 'none';
  if (of === 'parts') return field === '0' || HARMLESS.has(field) ? 'none' : 'secret';
  // A service account's project is a name, and stands in the vendor's addresses.
  return of === 'secret' && (HARMLESS.has(field) || field === 'projectId') ? 'none' : of;
}
