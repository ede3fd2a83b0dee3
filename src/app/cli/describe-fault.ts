import type { PluginFault } from '../../plugins/index.ts';

/** One line as compilers write them: `plugin.js:12:3: /models: rule: message (hint)`. */
export function describeFault(file: string, fault: PluginFault): string {
  const position =
    fault.line === undefined ? '' : `:${fault.line}${fault.column === undefined ? '' : `:${fault.column}`}`;
  const hint = fault.hint ? ` (${fault.hint})` : '';
  return `${file}${position}: ${fault.path}: ${fault.message}${hint} [${fault.rule}]`;
}
