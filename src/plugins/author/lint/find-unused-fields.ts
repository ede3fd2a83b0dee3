import type { Manifest, PluginFault } from '../../types.ts';
import { decodedFields, RESULT_FIELDS } from './contract-fields.ts';
import { membersOfResults, type ResultMember } from './follow-results.ts';
import type { PluginSyntax } from './plugin-syntax.ts';
import { makeWarning } from './warning-rules.ts';

/** Finds fields of hooks' results that the gateway does not read. */
export function findUnusedFields(manifest: Manifest, syntax: PluginSyntax): PluginFault[] {
  const decoders = new Set(manifest.routes.map(({ decode }) => `native.${decode}`));
  const warnings = new Map<ResultMember['key'], PluginFault>();
  const batch = syntax.hooks.get('parseBatchResult');
  // A function that reads single tasks and those of a batch returns what either of them has.
  const ofBatch = new Set(batch ? membersOfResults(syntax, batch).map(({ key }) => key) : []);
  for (const [hook, fn] of syntax.hooks) {
    const known = (decoders.has(hook) ? decodedFields : RESULT_FIELDS[hook])?.();
    if (!known) continue;
    const members = membersOfResults(syntax, fn);
    const warn = ({ name, key }: ResultMember, why: string): void => {
      const path = `exports/${hook.replaceAll('.', '/')}`;
      const message = `returns "${name}", which the gateway does not read${why}`;
      if (!warnings.has(key)) warnings.set(key, makeWarning('descriptor.unused', { path, message, node: key }));
    };
    for (const member of members) if (!known.has(member.name) && !ofBatch.has(member.key)) warn(member, '');
    if (!known.has('parts')) continue;
    const isSaid = members.some(({ name }) => name === 'bodyType');
    for (const member of members) {
      if (member.name === 'parts' && !isSaid) warn(member, ' without bodyType: "multipart"');
    }
  }
  return [...warnings.values()];
}
