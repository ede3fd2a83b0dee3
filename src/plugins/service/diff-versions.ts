import type { StructuredPatchHunk } from 'diff';
import { publishMeta } from '../manifest/normalize-meta.ts';
import type { ValueChange } from '../source/compare-versions.ts';
import type { Compiler } from '../worker/compile-plugin.ts';
import type { PluginWorker } from '../worker/create-worker.ts';
import { type FoundVersion, findVersion, type VersionContext } from './find-version.ts';

export type VersionDiff = {
  from: { version: string; sourceHash: string };
  to: { version: string; sourceHash: string };
  identical: boolean;
  /** A unified diff; empty if the sources are the same. */
  source: string;
  hunks: StructuredPatchHunk[];
  /** Differences of the manifests in the contract's form; `null` if a source has faults. */
  manifest: ValueChange[] | null;
};

/**
 * Compares two stored versions of a key. Either may be `factory`.
 *
 * @throws `plugins.not_found`
 */
export async function diffVersions(
  ctx: VersionContext & { compiler: Compiler; worker: PluginWorker },
  { key, from, to }: { key: string; from: string; to: string },
): Promise<VersionDiff> {
  const [before, after] = await Promise.all([read(ctx, key, from), read(ctx, key, to)]);
  const { text, hunks, manifest } = await ctx.worker.run('compareVersions', before, after);
  return {
    from: { version: before.version, sourceHash: before.sourceHash },
    to: { version: after.version, sourceHash: after.sourceHash },
    identical: before.sourceHash === after.sourceHash,
    source: text,
    hunks,
    manifest,
  };
}

async function read(ctx: VersionContext & { compiler: Compiler }, key: string, name: string) {
  const found = await findVersion(ctx, key, name);
  const { source, sourceHash } = found.row ?? found.factory;
  const manifest = await readManifest(ctx, found);
  const version = found.row?.version ?? found.factory?.manifest.version ?? name;
  return { version, source, sourceHash, name: `${key}@${version}`, meta: manifest && publishMeta(manifest) };
}

async function readManifest(ctx: { compiler: Compiler }, { row, factory }: FoundVersion) {
  if (!row) return factory.manifest;
  const compiled = await ctx.compiler.compile(row.source, row);
  return compiled.ok ? compiled.value.manifest : undefined;
}
