import type { Node } from 'acorn';
import type { PluginFault } from '../types.ts';

/**
 * Every warning of lint: its stable id, and what to do. `null`: the message says it. When each is
 * given, with its thresholds and patterns: `lint-warnings.ts`, `find-exposed-credentials.ts`,
 * `find-status-fallbacks.ts`, and `compare-with-contract.ts` for names and fields.
 */
export const WARNINGS = {
  'protocol.artifacts': null,
  'usageExamples.count': null,
  'usageExample.label.length': null,
  'usageExample.label.price': 'Leave the amount out: it would be wrong on every other gateway.',
  'text.price': 'Leave the amount out: it would be wrong on every other gateway.',
  'models.case': null,
  'route.action': null,
  'source.characters': null,
  'status.fallback': 'List the statuses of a running job, and return { status: "UNKNOWN" } for every other one.',
  'descriptor.unused': 'Remove it, or look for another spelling in the reference.',
  'name.unknown': 'Look for another spelling in the reference: the sandbox has the language, utils and console.log.',
  'driver.client_route':
    'Let the decoder put what this hook needs into requestBody: POST /v1/tasks/<key> arrives without a decoder.',
  'credential.query': 'Send it in a header: addresses are written to logs. Ignore this if the vendor takes it only so.',
  'credential.body': 'Send it in a header. Ignore this if the vendor takes it only in the body.',
  'credential.log': "Log the part that you need. The channel's key is for requests to the vendor alone.",
} as const;
export type WarningId = keyof typeof WARNINGS;

/** A warning with the hint of its rule, and with the position of a node. */
export function makeWarning(
  rule: WarningId,
  { path, message, node }: { path: string; message: string; node?: Node | undefined },
): PluginFault {
  const hint = WARNINGS[rule];
  const start = node?.loc?.start;
  return {
    path,
    rule,
    message,
    ...(hint === null ? {} : { hint }),
    ...(start ? { line: start.line, column: start.column + 1 } : {}),
  };
}
