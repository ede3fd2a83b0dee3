import type { Node } from 'acorn';
import { hasHiddenCharacters } from '../../kernel/index.ts';
import { MAX_FAULTS } from '../manifest/faults.ts';
import { childNodes } from '../source/check-source.ts';
import type { Manifest, PluginFault } from '../types.ts';

/** new-api refuses more than this; here it is only a warning. */
const MAX_EXAMPLES = 16;
const MAX_LABEL_LENGTH = 48;

/** An amount with a currency sign or code on either side. */
const PRICE = /[$€£¥₹]\s?\d|\d\s?(?:[$€£¥₹]|USD\b|EUR\b|CNY\b|RMB\b|JPY\b)|\b(?:USD|EUR|CNY|RMB|JPY)\s?\d/i;

type Named = Node & {
  name?: string;
  value?: unknown;
  key?: Named;
  id?: Named;
  operator?: string;
  right?: Named;
  init?: Named;
};

/**
 * Whether `parseTaskResult` treats every unknown status as a running task. Such tasks never fail.
 */
function treatsUnknownStatusAsRunning(program: Node): boolean {
  const pending: Named[] = [program];
  let inside: Named[] = [];
  for (let node = pending.pop(); node; node = pending.pop()) {
    const isHook = node.type === 'FunctionDeclaration' || node.type === 'VariableDeclarator';
    if (isHook && node.id?.name === 'parseTaskResult') inside.push(node);
    pending.push(...childNodes(node));
  }
  for (; inside.length > 0; inside = inside.flatMap(childNodes)) {
    const found = inside.some(
      ({ type, operator, right }) =>
        type === 'LogicalExpression' && (operator === '||' || operator === '??') && right?.value === 'IN_PROGRESS',
    );
    if (found) return true;
  }
  return false;
}

/** Finds what a plugin may do, but should not. */
export function findWarnings(manifest: Manifest, program: Node): PluginFault[] {
  const warnings: PluginFault[] = [];
  const warn = (path: string, rule: string, message: string): void => {
    warnings.push({ path, rule, message });
  };
  if (manifest.protocols.some(({ name }) => name === 'proto_video') && !manifest.hasArtifacts) {
    warn(
      '/protocols',
      'protocol.artifacts',
      'proto_video serves content through listArtifacts and buildContentRequest; without them clients cannot download results',
    );
  }
  if (manifest.usageExamples.length > MAX_EXAMPLES) {
    warn('/usageExamples', 'usageExamples.count', `has more than ${MAX_EXAMPLES} entries`);
  }
  for (const [index, { label }] of manifest.usageExamples.entries()) {
    const path = `/usageExamples/${index}/label`;
    if ([...label].length > MAX_LABEL_LENGTH)
      warn(path, 'usageExample.label.length', `has more than ${MAX_LABEL_LENGTH} characters`);
    if (PRICE.test(label))
      warn(path, 'usageExample.label.price', 'seems to name a price; the operator of the gateway sets prices');
  }
  for (const [locale, text] of Object.entries(manifest.description ?? {})) {
    if (PRICE.test(text))
      warn(`/description/${locale}`, 'text.price', 'seems to name a price; the operator of the gateway sets prices');
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
  if (treatsUnknownStatusAsRunning(program)) {
    warn(
      'exports/parseTaskResult',
      'status.fallback',
      'treats an unknown status as IN_PROGRESS; return UNKNOWN, so that a lost task ends',
    );
  }
  return warnings;
}

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
export function findHiddenText(source: string): PluginFault[] {
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
