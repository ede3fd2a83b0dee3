import { constantTimeEqual } from '../../kernel/index.ts';
import type { PluginRecord } from '../../store/ports/index.ts';
import { pluginErrors } from '../errors.ts';
import type { CompiledPlugin } from '../source/compile-plugin.ts';
import { readIcon } from './check-icon.ts';
import {
  activeRow,
  applyChange,
  compileOrThrow,
  hashOf,
  invalidPlugin,
  refuseConflict,
  rowOf,
  type ServiceContext,
} from './context.ts';
import { type PluginDetail, toDetail } from './describe-plugins.ts';

export type PluginUpload = {
  source: string;
  remark?: string;
  /** True by default; false stores without serving. */
  enabled?: boolean;
  /** Stores although another plugin has what this one claims. */
  force?: boolean;
  /** A base64 data URL. */
  icon?: string;
  /** Hex SHA-256 that the source must have. */
  sourceSha256?: string;
};

/**
 * Checks a source and stores it as a version; the first version of a key becomes active at once, later ones wait to be activated.
 * The same version with the same source only updates remark, icon and `enabled`. Nothing changes when it throws: `plugins.invalid`,
 * `plugins.icon_invalid`, `plugins.conflict`, `plugins.version_exists`, `plugins.unavailable`.
 */
export async function uploadPlugin(ctx: ServiceContext, upload: PluginUpload): Promise<PluginDetail> {
  const sourceHash = hashOf(upload.source);
  if (upload.sourceSha256 !== undefined && !constantTimeEqual(upload.sourceSha256.toLowerCase(), sourceHash)) {
    throw invalidPlugin([{ path: 'source', rule: 'source.sha256', message: 'has another SHA-256 than was announced' }]);
  }
  const compiled = await compileOrThrow(ctx, upload.source);
  if (upload.icon !== undefined) {
    const icon = readIcon(upload.icon);
    if (!icon.ok) throw pluginErrors.icon_invalid({ message: `The icon ${icon.error}.`, param: 'icon' });
  }
  const { key, version } = compiled.manifest;
  const existing = await ctx.store.plugins.byVersion(key, version);
  if (existing && existing.sourceHash !== sourceHash) throw pluginErrors.version_exists({ details: { key, version } });
  const narrowedModels = (existing ?? (await activeRow(ctx, key)))?.narrowedModels ?? null;
  if (upload.enabled !== false && !upload.force) refuseConflict(ctx, compiled, 'database', narrowedModels);

  const row = existing
    ? await updateVersion(ctx, existing, upload)
    : await insertVersion(ctx, compiled, upload, narrowedModels);
  await applyChange(ctx);
  return toDetail(ctx, row, compiled);
}

async function updateVersion(ctx: ServiceContext, row: PluginRecord, upload: PluginUpload): Promise<PluginRecord> {
  const { remark, icon, enabled } = upload;
  await ctx.store.plugins.update(row.id, {
    ...(remark === undefined ? {} : { remark }),
    ...(icon === undefined ? {} : { icon }),
    ...(enabled === undefined ? {} : { enabled }),
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
  // Another upload of the same version was faster; its source may be another one.
  if (!row) throw pluginErrors.version_exists({ details: { key: manifest.key, version: manifest.version } });
  return row;
}
