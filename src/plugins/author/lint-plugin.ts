import { sentence } from '../../kernel/index.ts';
import type { Sandbox } from '../../sandbox/index.ts';
import { findUsedExtensions } from '../lint/compare-with-contract.ts';
import { lintSource } from '../lint/lint-warnings.ts';
import type { Syntax } from '../lint/plugin-syntax.ts';
import { makeFault } from '../manifest/faults.ts';
import { checkSource } from '../source/check-source.ts';
import { describePermissions, type Permission } from '../source/describe-permissions.ts';
import type { PluginFault } from '../types.ts';
import type { Compiler } from '../worker/compile-plugin.ts';
import { openPlugin } from './open-plugin.ts';

/** Optional hooks that other hosts of the contract ignore. */
const EXTENSION_HOOKS = [
  'parseSubmitError',
  'resolveArtifact',
  'buildBalanceRequest',
  'parseBalanceResponse',
  'queryCapacity',
] as const;

export type LintReport = {
  ok: boolean;
  key?: string;
  version?: string;
  /** How the vendor's keys look, the usual form first. */
  keyFormat?: string[];
  faults: PluginFault[];
  warnings: PluginFault[];
  /** What the plugin may do; empty while it has faults. */
  permissions: Permission[];
  /** What it uses that only this gateway has. */
  extensions: string[];
};

/**
 * Faults, which an upload would refuse, and warnings, which it would accept. A failure of the
 * sandbox is a fault of rule `sandbox`. `compiler`: see `openPlugin`. `strictV1`: what hosts of the
 * first version of the contract would refuse is a fault too.
 */
export async function lintPlugin(
  source: string,
  sandbox: Sandbox,
  { compiler, strictV1 = false }: LintOptions = {},
): Promise<LintReport> {
  const opened = await openPlugin(source, sandbox, compiler);
  if (!opened.ok) return { ok: false, faults: opened.error, warnings: [], permissions: [], extensions: [] };
  const { manifest, exports } = opened.value;
  const { program } = checkSource(source);
  const warnings = program ? lintSource(manifest, source, program) : [];
  const permissions = describePermissions(manifest, program);
  const hooks = EXTENSION_HOOKS.filter((name) => Object.hasOwn(exports, name));
  const extensions = [...hooks, ...(program ? findUsedExtensions(program as Syntax) : [])];
  const { key, version, vendor } = manifest;
  const newer = strictV1 ? manifest.newerNames.map(toNewerFault) : [];
  const known = { key, version, ...(vendor?.keyFormat && { keyFormat: vendor.keyFormat }) };
  return { ok: newer.length === 0, ...known, faults: newer, warnings, permissions, extensions };
}

type LintOptions = { compiler?: Compiler; strictV1?: boolean };

const toNewerFault = (path: string): PluginFault => makeFault(path, 'strict_v1', sentence('fault.strict_v1'));
