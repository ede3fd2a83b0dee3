import type { PluginFault } from '../types.ts';
import { listMembers, listResultMembers, type ResultMember } from './follow-results.ts';
import { type PluginSyntax, readKey, readName, type Syntax } from './plugin-syntax.ts';
import { createTracer, type Exposure, type Scope } from './trace-credentials.ts';
import { makeWarning, type WarningId } from './warning-ids.ts';

/** Hooks whose parameters hold the channel's credential, and which of them do. */
const GIVEN: Readonly<Record<string, readonly Exposure[]>> = {
  buildSubmitRequest: ['context'],
  parseSubmitResponse: ['context'],
  extractUsage: ['context'],
  extractUsageOnSubmit: ['context'],
  buildQueryRequest: ['context'],
  parseTaskResult: ['context'],
  buildBatchQueryRequest: ['context', 'context'],
  parseBatchResult: ['context'],
  extractUsageOnComplete: ['context'],
  parseSubmitError: ['none', 'context'],
  resolveArtifact: ['none', 'none', 'context'],
  buildContentRequest: ['context'],
  buildBalanceRequest: ['context'],
  parseBalanceResponse: ['context'],
  queryCapacity: ['context'],
};
const BUILDERS: ReadonlySet<string> = new Set([
  'buildSubmitRequest',
  'buildQueryRequest',
  'buildBatchQueryRequest',
  'resolveArtifact',
  'buildContentRequest',
  'buildBalanceRequest',
  'queryCapacity',
]);

/**
 * Finds the channel's credential in the console, and in addresses and bodies of requests: signing
 * with it, and headers, are what it is for.
 */
export function findExposedCredentials(syntax: PluginSyntax): PluginFault[] {
  const tracer = createTracer(syntax);
  const warnings = new Map<Syntax, PluginFault>();
  const warn = (rule: WarningId, hook: string, { node, message }: { node: Syntax; message: string }): void => {
    if (!warnings.has(node)) warnings.set(node, makeWarning(rule, { path: `exports/${hook}`, message, node }));
  };
  for (const [hook, params] of Object.entries(GIVEN)) {
    const fn = syntax.hooks.get(hook);
    if (!fn) continue;
    const scopes = reachedScopes(syntax, tracer, { fn, params });
    for (const scope of scopes) {
      for (const node of tracer.nodesIn(scope.fn)) {
        if (!isConsole(node)) continue;
        for (const arg of node.arguments ?? []) {
          if (tracer.expose(arg, scope) === 'none') continue;
          warn('credential.log', hook, { node: arg, message: "writes the channel's credential to the log" });
        }
      }
    }
    for (const { name, key, value, fn: inside } of BUILDERS.has(hook) ? requestMembers(syntax, fn) : []) {
      const rule = name === 'url' ? 'credential.query' : name === 'body' || name === 'parts' ? 'credential.body' : '';
      const scope = scopes.find((one) => one.fn === inside);
      if (rule === '' || !scope) continue;
      const exposure = tracer.expose(value, scope);
      if (exposure === 'none') continue;
      const what = exposure === 'context' ? 'the whole context, with' : '';
      const place = name === 'url' ? 'the address' : 'the body';
      warn(rule, hook, { node: key, message: `sends ${what} the channel's credential in ${place}`.replace('  ', ' ') });
    }
  }
  return [...warnings.values()];
}

/** The members of what a hook describes, and of a request that stands in one of them. */
function requestMembers(syntax: PluginSyntax, hook: Syntax): ResultMember[] {
  const members = listResultMembers(syntax, hook);
  const inner = members.flatMap(({ name, value, fn }) => (name === 'request' ? listMembers(syntax, value, fn) : []));
  return [...members, ...inner];
}

const isConsole = ({ type, callee }: Syntax): boolean =>
  type === 'CallExpression' &&
  callee?.type === 'MemberExpression' &&
  readName(callee.object) === 'console' &&
  readKey(callee) !== undefined;

/** The hook, and the functions of the module that it calls, with what it passes to them. */
function reachedScopes({ functions }: PluginSyntax, tracer: ReturnType<typeof createTracer>, start: Scope): Scope[] {
  const scopes = [start];
  const seen = new Set<string>();
  for (const scope of scopes) {
    for (const { type, callee, arguments: args = [] } of tracer.nodesIn(scope.fn)) {
      const fn = type === 'CallExpression' ? functions.get(readName(callee) ?? '') : undefined;
      if (!fn) continue;
      const params = args.map((one) => tracer.expose(one, scope));
      const mark = `${fn.start} ${params.join()}`;
      if (fn !== start.fn && !seen.has(mark)) scopes.push({ fn, params });
      seen.add(mark);
    }
  }
  return scopes;
}
