import { constantTimeEqual } from '../../kernel/index.ts';
import type { PluginRecord } from '../../store/ports/index.ts';
import { pluginErrors } from '../errors.ts';
import type { CompiledPlugin } from '../source/compile-plugin.ts';
import { narrowingOf } from './activate-version.ts';
import {
  activeRow,
  applyChange,
  compileOrThrow,
  hashOf,
  invalidPlugin,
  refuseConflict,
  refuseHiddenNames,
  rowOf,
  type ServiceContext,
} from './context.ts';
import { type PluginDetail, type PluginVersion, toDetail, toVersion } from './describe-plugins.ts';
import { refuseUse } from './switch-plugin.ts';

export type PluginUpload = {
  source: string;
  remark?: string;
  /** True for a new version unless given; false stores without serving. */
  enabled?: boolean;
  /**
   * Stores although another plugin has what this one claims, or takes a version in use from
   * service.
   */
  force?: boolean;
  /** A base64 data URL. */
  icon?: string;
  /** Hex SHA-256 that the source must have. */
  sourceSha256?: string;
};

/** `before` is the stored version as it was, `null` when this upload made it. */
export type UploadedPlugin = PluginDetail & { before: PluginVersion | null };

/**
 * Checks a source and stores it as a version; the only version of a key becomes active at once,
 * later ones wait to be activated. The same version with the same source only updates remark, icon
 * and `enabled`. Nothing changes when it throws: `plugins.invalid`, `plugins.icon_invalid`,
 * `plugins.conflict`, `plugins.version_exists`, `plugins.in_use`, `plugins.unavailable`.
 */
export async function uploadPlugin(ctx: ServiceContext, upload: PluginUpload): Promise<UploadedPlugin> {
  const { force = false } = upload;
  const sourceHash = hashOf(upload.source);
  if (upload.sourceSha256 !== undefined && !constantTimeEqual(upload.sourceSha256.toLowerCase(), sourceHash)) {
    // A text beside the announced one is not run; what its size alone says comes first.
    const size = (await ctx.worker.run('checkSource', upload.source)).filter(({ rule }) => rule === 'source.size');
    throw invalidPlugin([
      ...size,
      {
        path: 'source',
        rule: 'source.sha256',
        message: `has another SHA-256 (${sourceHash}) than was announced`,
        hint: 'Fetch the file again; if it stays so, ask whoever offers it.',
      },
    ]);
  }
  const compiled = await compileOrThrow(ctx, upload.source);
  if (upload.icon !== undefined) {
    const icon = await ctx.worker.run('readIcon', upload.icon);
    if (!icon.ok) throw pluginErrors.icon_invalid({ message: `The icon ${icon.error}.`, param: 'icon' });
  }
  const { key, version } = compiled.manifest;
  const existing = await ctx.store.plugins.byVersion(key, version);
  // What is stored already may keep its names.
  if (!existing) refuseHiddenNames(compiled);
  if (existing && existing.sourceHash !== sourceHash) throw versionExists(key, version);
  const narrowedModels = existing
    ? existing.narrowedModels
    : narrowingOf(null, await activeRow(ctx.store, key), compiled);
  const enabled = upload.enabled ?? existing?.enabled ?? true;
  if (enabled && !force) refuseConflict(ctx, compiled, 'database', narrowedModels);

  const row = existing
    ? await updateVersion(ctx, existing, upload)
    : await insertVersion(ctx, compiled, upload, narrowedModels);
  await applyChange(ctx);
  return { ...(await toDetail(ctx, row, compiled)), before: existing ? toVersion(existing) : null };
}

const versionExists = (key: string, version: string) =>
  pluginErrors.version_exists({
    message: `Version ${version} of ${key} is stored with another source. Give the changed source a new version.`,
    details: { key, version },
  });

async function updateVersion(ctx: ServiceContext, row: PluginRecord, upload: PluginUpload): Promise<PluginRecord> {
  const { remark, icon, enabled, force = false } = upload;
  await ctx.store.transaction(async (tx) => {
    await tx.plugins.update(row.id, {
      ...(remark === undefined ? {} : { remark }),
      ...(icon === undefined ? {} : { icon }),
      ...(enabled === undefined ? {} : { enabled }),
    });
    const leaves = row.active && row.enabled && enabled === false;
    if (leaves && !force && !ctx.registry.factory().has(row.key)) await refuseUse(ctx, tx, row.key);
  });
  return rowOf(ctx, row.key, row.version);
}

async function insertVersion(
  ctx: ServiceContext,
  { manifest, source, sourceHash }: CompiledPlugin,
  upload: PluginUpload,
  narrowedModels: string[] | null,
): Promise<PluginRecord> {
  const row = await ctx.store.plugins.insert({
    key: manifest.key,
    version: manifest.version,
    apiVersion: manifest.apiVersion,
    source,
    sourceHash,
    icon: upload.icon ?? null,
    enabled: upload.enabled ?? true,
    remark: upload.remark ?? '',
    narrowedModels,
    createdAt: ctx.clock.unix(),
  });
  if (row) return row;
  // Another node was faster, with the same source or with another one.
  const faster = await rowOf(ctx, manifest.key, manifest.version);
  if (faster.sourceHash !== sourceHash) throw versionExists(manifest.key, manifest.version);
  return updateVersion(ctx, faster, upload);
}
