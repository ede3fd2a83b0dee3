import type { Sandbox } from '../../sandbox/index.ts';
import { checkSource } from '../source/check-source.ts';
import { createCompiler } from '../source/compile-plugin.ts';
import type { PluginFault } from '../types.ts';
import { findWarnings } from './lint-warnings.ts';

export type LintReport = {
  ok: boolean;
  key?: string;
  version?: string;
  faults: PluginFault[];
  warnings: PluginFault[];
};

/** All that an upload would refuse, and what it would accept but should not. Trouble with the sandbox is a fault of rule `sandbox`. */
export async function lintPlugin(source: string, sandbox: Sandbox): Promise<LintReport> {
  const compiled = await createCompiler(sandbox).compile(source);
  if (!compiled.ok) {
    const { error } = compiled;
    const faults =
      error.kind === 'faults' ? error.faults : [{ path: 'source', rule: 'sandbox', message: error.message }];
    return { ok: false, faults, warnings: [] };
  }
  const { manifest } = compiled.value;
  const { program } = checkSource(source);
  const warnings = program ? findWarnings(manifest, program) : [];
  return { ok: true, key: manifest.key, version: manifest.version, faults: [], warnings };
}
