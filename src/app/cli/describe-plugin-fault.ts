import type { PluginFault } from '../../plugins/index.ts';

/**
 * Formats a fault as compilers do, `plugin.js:12:3: /models: message [rule]`; the hint below it.
 */
export function describePluginFault(file: string, fault: PluginFault, level: 'fault' | 'warning' = 'fault'): string {
  const { path, message, rule, hint, line, column } = fault;
  const position = line === undefined ? '' : `:${line}${column === undefined ? '' : `:${column}`}`;
  const text = `${file}${position}: ${level === 'warning' ? 'warning: ' : ''}${path || 'meta'}: ${message} [${rule}]`;
  return hint ? `${text}\n    ${hint}` : text;
}
