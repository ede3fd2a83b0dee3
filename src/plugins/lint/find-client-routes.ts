import type { PluginFault } from '../types.ts';
import { collectNodes, type PluginSyntax, readKey, readName, type Syntax } from './plugin-syntax.ts';
import { makeWarning } from './warning-rules.ts';

/** Hooks that must work alike for every way into the gateway. */
const DRIVER_HOOKS = ['buildSubmitRequest', 'extractUsage', 'parseSubmitResponse', 'extractUsageOnSubmit'] as const;
/** What tells a hook how the client's request came in. */
const ROUTE_FIELDS: ReadonlySet<string | undefined> = new Set([
  'path',
  'method',
  'params',
  'query',
  'protocol',
  'operation',
  'stream',
]);

/** Finds driver hooks that read the client's path or protocol. */
export function findClientRoutes(syntax: PluginSyntax): PluginFault[] {
  const warnings = new Map<Syntax, PluginFault>();
  for (const hook of DRIVER_HOOKS) {
    const fn = syntax.hooks.get(hook);
    for (const { field, node } of fn ? contextReads(syntax, fn) : []) {
      if (!ROUTE_FIELDS.has(field)) continue;
      const message = `reads "${field}" of the client's request`;
      if (!warnings.has(node)) {
        warnings.set(node, makeWarning('driver.client_route', { path: `exports/${hook}`, message, node }));
      }
    }
  }
  return [...warnings.values()];
}

/** The fields that a hook reads of its context, itself or in functions that get the context. */
function contextReads({ functions }: PluginSyntax, hook: Syntax): { field: string; node: Syntax }[] {
  const found: { field: string; node: Syntax }[] = [];
  const add = (pattern: Syntax): void => {
    for (const one of pattern.properties ?? []) {
      const field = readKey(one);
      if (field !== undefined) found.push({ field, node: one });
    }
  };
  const seen = new Set<string>();
  const pending = [{ fn: hook, index: 0 }];
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { fn, index } = next;
    const mark = `${fn.start}:${index}`;
    const given = fn.params?.[index];
    const param = given?.type === 'AssignmentPattern' ? given.left : given;
    if (!param || seen.has(mark)) continue;
    seen.add(mark);
    if (param.type === 'ObjectPattern') add(param);
    const { name } = param;
    if (param.type !== 'Identifier') continue;
    const isContext = (node: Syntax | null | undefined): boolean => node?.type === 'Identifier' && node.name === name;
    for (const node of collectNodes(fn)) {
      const { id, init, callee, arguments: args = [] } = node;
      const field = node.type === 'MemberExpression' && isContext(node.object) ? readKey(node) : undefined;
      if (field !== undefined) found.push({ field, node });
      if (node.type === 'VariableDeclarator' && isContext(init) && id?.type === 'ObjectPattern') add(id);
      const called = callee?.type === 'Identifier' ? functions.get(readName(callee) ?? '') : undefined;
      if (called) for (const [at, arg] of args.entries()) if (isContext(arg)) pending.push({ fn: called, index: at });
    }
  }
  return found;
}
