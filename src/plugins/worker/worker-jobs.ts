import type { Node } from 'acorn';
import { err, type Json, ok, type Result } from '../../kernel/index.ts';
import type { ExportShape } from '../../sandbox/index.ts';
import { readIcon } from '../icons/check-icon.ts';
import { lintSource } from '../lint/lint-warnings.ts';
import { checkBaseExports, checkModeExports, validParts } from '../manifest/check-exports.ts';
import { checkManifest } from '../manifest/check-manifest.ts';
import { createSchemaCheck } from '../manifest/check-schema.ts';
import { readVendorInfo } from '../manifest/read-vendor-info.ts';
import { readIndex } from '../market-index/read-index.ts';
import { checkSource } from '../source/check-source.ts';
import { compareJson, compareSources } from '../source/compare-versions.ts';
import { describePermissions, type Permission } from '../source/describe-permissions.ts';
import { createLocator } from '../source/locate-fault.ts';
import type { Manifest, PluginFault } from '../types.ts';

const checkSchema = createSchemaCheck();
/** The source that was parsed last. Its manifest is usually checked next. */
let parsed: { source: string; program: Node | undefined } | undefined;

/**
 * The worker's jobs by name: work on untrusted text that takes too long for the event loop.
 * Arguments and results are copied between threads, so they are plain data.
 */
export const JOBS = {
  checkSource(source: string): PluginFault[] {
    const { faults, program } = checkSource(source);
    parsed = { source, program };
    return faults;
  },
  /** Compiles the schema, while the sandbox evaluates the module. */
  prepare(): void {
    checkSchema({});
  },
  checkManifest(input: {
    source: string;
    meta: Json | undefined;
    vendorInfo?: Json | undefined;
    exports: Record<string, ExportShape>;
  }): Result<Manifest, PluginFault[]> {
    const { source, meta, exports } = input;
    const manifest = checkManifest(meta, exports, checkSchema);
    const demands = manifest.ok ? manifest.value : validParts(meta, exports, manifest.error);
    const missing = [...checkBaseExports(exports), ...checkModeExports(demands, exports)];
    const all = manifest.ok ? missing : [...manifest.error, ...missing];
    const vendor = readVendorInfo(input.vendorInfo);
    if (manifest.ok && all.length === 0) return ok({ ...manifest.value, ...(vendor && { vendor }) });
    const program = parseOnce(source);
    return err(program ? all.map(createLocator(program)) : all);
  },
  /** What an author should fix, beside what the checks refuse. */
  findWarnings({ source, manifest }: { source: string; manifest: Manifest }): PluginFault[] {
    const program = parseOnce(source);
    return program ? lintSource(manifest, source, program) : [];
  },
  describePermissions({ source, manifest }: { source: string | undefined; manifest: Manifest }): Permission[] {
    return describePermissions(manifest, source === undefined ? undefined : parseOnce(source));
  },
  compareVersions: (from: Compared, to: Compared) => ({
    ...compareSources(from, to),
    manifest: from.meta && to.meta ? compareJson(from.meta, to.meta) : null,
  }),
  readIcon,
  readIndex: (text: string, base: string) => readIndex(text, new URL(base)),
};

const parseOnce = (source: string): Node | undefined =>
  parsed?.source === source ? parsed.program : checkSource(source).program;

type Compared = { name: string; source: string; meta: object | undefined };
export type Jobs = typeof JOBS;
