import type { Node } from 'acorn';
import { hasHiddenCharacters } from '../../kernel/index.ts';
import { MAX_FAULTS, pointer } from '../manifest/faults.ts';
import { createLocator } from '../source/locate-fault.ts';
import type { LocalizedText, Manifest, PluginFault } from '../types.ts';
import { findUnknownNames, findUnusedFields } from './compare-with-contract.ts';
import { findExposedCredentials } from './find-exposed-credentials.ts';
import { findStatusFallbacks } from './find-status-fallbacks.ts';
import { listResultMembers } from './follow-results.ts';
import { collectNodes, type PluginSyntax, readKey, readName, readPluginSyntax, type Syntax } from './plugin-syntax.ts';
import { makeWarning, type WarningId } from './warning-ids.ts';

/** new-api refuses more than this; here it is only a warning. */
const MAX_EXAMPLES = 16;
const MAX_LABEL_LENGTH = 48;

/** An amount with a currency sign, code or name on either side. */
const PRICE =
  /[$€£¥￥₹]\s?\d|\d\s?(?:[$€£¥￥₹¢元]|美元|(?:USD|EUR|CNY|RMB|JPY|dollars?|cents?|euros?|yuan)\b)|\b(?:USD|EUR|CNY|RMB|JPY)\s?\d/i;
const SAYS_PRICE = 'seems to name a price; the operator of the gateway sets prices';

/** Finds what a plugin may do, but should not, with the places in its source. */
export const lintSource = (manifest: Manifest, source: string, program: Node): PluginFault[] => [
  ...findWarnings(manifest, program).map(createLocator(program)),
  ...findHiddenText(source),
];

function findWarnings(manifest: Manifest, program: Node): PluginFault[] {
  const warnings: PluginFault[] = [];
  const warn = (path: string, rule: WarningId, message: string): void => {
    warnings.push(makeWarning(rule, { path, message }));
  };
  const checkPrices = (path: string, text: LocalizedText | undefined): void => {
    for (const [locale, words] of Object.entries(text ?? {})) {
      if (PRICE.test(words)) warn(`${path}${pointer(locale)}`, 'text.price', SAYS_PRICE);
    }
  };
  const syntax = readPluginSyntax(program);
  if (manifest.protocols.some(({ name }) => name === 'proto_video') && !manifest.hasArtifacts) {
    if (!returnsAddress(syntax)) {
      warn(
        '/protocols',
        'protocol.artifacts',
        'clients cannot download results: there are neither listArtifacts and buildContentRequest, nor does parseTaskResult return a url',
      );
    }
  }
  if (manifest.usageExamples.length > MAX_EXAMPLES) {
    warn('/usageExamples', 'usageExamples.count', `has more than ${MAX_EXAMPLES} entries`);
  }
  for (const [index, { label }] of manifest.usageExamples.entries()) {
    const path = `/usageExamples/${index}/label`;
    if ([...label].length > MAX_LABEL_LENGTH)
      warn(path, 'usageExample.label.length', `has more than ${MAX_LABEL_LENGTH} characters`);
    if (PRICE.test(label)) warn(path, 'usageExample.label.price', SAYS_PRICE);
  }
  if (PRICE.test(manifest.name)) warn('/name', 'text.price', SAYS_PRICE);
  checkPrices('/description', manifest.description);
  for (const [name, field] of Object.entries(manifest.usageSchema)) {
    checkPrices(pointer('usageSchema', name, 'description'), field.description);
    for (const [value, label] of Object.entries(field.kind === 'enum' ? field.enumLabels : {})) {
      checkPrices(pointer('usageSchema', name, 'enumLabels', value), label);
    }
  }
  const seen = new Map<string, string>();
  for (const [index, model] of manifest.models.entries()) {
    const other = seen.get(model.toLowerCase());
    if (other !== undefined)
      warn(`/models/${index}`, 'models.case', `differs from ${JSON.stringify(other)} only in case`);
    seen.set(model.toLowerCase(), model);
  }
  for (const [index, route] of manifest.routes.entries()) {
    if (route.type === 'query' && route.action !== undefined) {
      warn(`/routes/${index}/action`, 'route.action', 'a query route submits nothing; its action is not used');
    }
  }
  const byPosition = [
    ...findStatusFallbacks(syntax),
    ...findUnusedFields(manifest, syntax),
    ...findClientRoutes(syntax),
    ...findExposedCredentials(syntax),
    ...findUnknownNames(program as Syntax),
  ].sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
  warnings.push(...byPosition.slice(0, MAX_FAULTS));
  return warnings;
}

/** Whether a task can have a result by its address alone, as far as the source shows. */
const returnsAddress = (syntax: PluginSyntax): boolean =>
  ['parseTaskResult', 'parseBatchResult'].some((hook) => {
    const fn = syntax.hooks.get(hook);
    return fn !== undefined && listResultMembers(syntax, fn).some(({ name }) => name === 'url' || name === 'remoteUrl');
  });

/**
 * The 1-based column of the first hidden character. Whether a joiner is hidden depends on the
 * character before it.
 */
function findHiddenColumn(line: string): number {
  let column = 1;
  let previous = '';
  for (const character of line) {
    if (hasHiddenCharacters(previous + character)) return column;
    column += character.length;
    if (!hasHiddenCharacters(character)) previous = character;
  }
  return column;
}

/** Finds lines with invisible characters, or with characters that change the direction of text. */
function findHiddenText(source: string): PluginFault[] {
  return source
    .replace(/^\ufeff/, '')
    .split(/\r\n|[\r\n]/)
    .flatMap((text, index) => {
      const line = text.replaceAll('\t', ' ');
      if (!hasHiddenCharacters(line)) return [];
      const message =
        'has invisible characters, or characters that change the direction of text; write them as escapes such as \\u202e';
      return [{ path: 'source', rule: 'source.characters', message, line: index + 1, column: findHiddenColumn(line) }];
    })
    .slice(0, MAX_FAULTS);
}

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
function findClientRoutes(syntax: PluginSyntax): PluginFault[] {
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
