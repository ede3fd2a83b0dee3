import type { Node } from 'acorn';
import { hasHiddenCharacters } from '../../kernel/index.ts';
import { MAX_FAULTS, pointer } from '../manifest/faults.ts';
import { createLocator } from '../source/locate-fault.ts';
import type { LocalizedText, Manifest, PluginFault } from '../types.ts';
import { findUnknownNames, findUnusedFields } from './compare-with-contract.ts';
import { findClientRoutes } from './find-client-routes.ts';
import { findExposedCredentials } from './find-exposed-credentials.ts';
import { findStatusFallbacks } from './find-status-fallbacks.ts';
import { listResultMembers } from './follow-results.ts';
import { type PluginSyntax, readPluginSyntax, type Syntax } from './plugin-syntax.ts';
import { makeWarning, type WarningId } from './warning-rules.ts';

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
    if (!givesAddress(syntax)) {
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
const givesAddress = (syntax: PluginSyntax): boolean =>
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
