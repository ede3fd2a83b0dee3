import { createNameIndex, findReturns, isFunction, type PluginSyntax, readName, type Syntax } from './plugin-syntax.ts';

/** How far a result is followed through functions and names. */
const MAX_DEPTH = 8;
/** Calls on a list that keep its items, and those that make new ones. */
const KEEPING: ReadonlySet<string | undefined> = new Set(['filter', 'slice', 'reverse', 'sort', 'concat']);
const MAKING: ReadonlySet<string | undefined> = new Set(['map', 'flatMap']);

/** A part of a returned object: a member of its literal, or one that is set afterwards. */
export type ResultMember = { name: string; key: Syntax; value: Syntax; fn: Syntax };

/**
 * The members of the objects that a function returns, as far as they are written in the module:
 * through names, branches, spreads, lists, and functions of the module. `fn` is the function that
 * a member's value stands in.
 */
export const listResultMembers = (syntax: PluginSyntax, hook: Syntax): ResultMember[] =>
  followAll(syntax, findReturns(hook), hook);

/** Follows an expression in a function. */
export const listMembers = (syntax: PluginSyntax, node: Syntax, fn: Syntax): ResultMember[] =>
  followAll(syntax, [node], fn);

function followAll(syntax: PluginSyntax, nodes: readonly Syntax[], hook: Syntax): ResultMember[] {
  const members: ResultMember[] = [];
  const seen = new Set<Syntax>();
  const namesIn = createNameIndex();

  function follow(node: Syntax | null | undefined, fn: Syntax, depth = 0): void {
    if (!node || seen.has(node) || depth > MAX_DEPTH) return;
    seen.add(node);
    const next = (one: Syntax | null | undefined, inside = fn): void => follow(one, inside, depth + 1);
    const { callee, arguments: args = [] } = node;
    switch (node.type) {
      case 'ObjectExpression':
        for (const one of node.properties ?? []) {
          if (one.type === 'SpreadElement') next(one.argument);
          else addMember(one, one.value as Syntax, fn);
        }
        return;
      case 'ArrayExpression':
        for (const one of node.elements ?? []) next(one?.type === 'SpreadElement' ? one.argument : one);
        return;
      case 'ConditionalExpression':
        next(node.consequent as Syntax);
        next(node.alternate);
        return;
      case 'LogicalExpression':
        next(node.left);
        next(node.right);
        return;
      case 'Identifier':
        followName(node.name ?? '', fn, next);
        return;
      case 'CallExpression': {
        const own = callee?.type === 'Identifier' ? syntax.functions.get(callee.name ?? '') : undefined;
        if (own) for (const one of findReturns(own)) next(one, own);
        const method = callee?.type === 'MemberExpression' ? readName(callee.property) : undefined;
        if (KEEPING.has(method)) next(callee?.object);
        const [item] = args;
        const makes = MAKING.has(method)
          ? isFunction(item)
            ? item
            : syntax.functions.get(readName(item) ?? '')
          : undefined;
        if (makes) for (const one of findReturns(makes)) next(one, isFunction(item) ? fn : makes);
        return;
      }
      default:
    }
  }

  function addMember(property: Syntax, value: Syntax | undefined, fn: Syntax): void {
    const key = property.key ?? property.property;
    const name = property.computed ? undefined : readName(key);
    if (key && name !== undefined) members.push({ name, key, value: value ?? key, fn });
  }

  /** A variable's first value, what it is set to later, and the members that are set in it. */
  function followName(name: string, fn: Syntax, next: (node: Syntax | null | undefined) => void): void {
    const {
      declared: [first],
      assigned,
    } = namesIn(fn).of(name);
    next(first ? first.init : syntax.values.get(name));
    if (!first) return;
    for (const { left, right } of assigned) {
      if (left?.type === 'MemberExpression') addMember(left, right, fn);
      else next(right);
    }
  }

  for (const one of nodes) follow(one, hook);
  return members;
}
