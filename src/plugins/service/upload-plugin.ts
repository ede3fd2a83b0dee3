import { constantTimeEqual, type Sentence, sentence, sha256Hex } from '../../kernel/index.ts';
import type { PluginRecord } from '../../store/ports/index.ts';
import { pluginErrors } from '../errors.ts';
import { toHint } from '../manifest/faults.ts';
import type { Changelog } from '../market-index/read-changelog.ts';
import { setSharing } from '../registry/active-versions.ts';
import type { Registry } from '../registry/create-registry.ts';
import type { PluginFault } from '../types.ts';
import type { CompiledPlugin } from '../worker/compile-plugin.ts';
import type { PluginWorker } from '../worker/create-worker.ts';
import { type ActivationContext, findNarrowing } from './activate-version.ts';
import { applyChange } from './change-plugins.ts';
import { compileOrThrow, invalidPlugin, refuseInNewVersions } from './compile-or-refuse.ts';
import { type PluginDetail, type PluginVersion, toDetail, toVersion } from './describe-plugins.ts';
import { type Dependents, type DependentsContext, findDependents, refuseWhileNeeded } from './find-dependents.ts';
import { readRow } from './find-version.ts';
import { type PreviewContext, requirePreview } from './preview-activation.ts';
import { recordActivation } from './record-activation.ts';
import { refuseConflict } from './refuse-conflicts.ts';

type UploadContext = ActivationContext &
  PreviewContext &
  DependentsContext & { worker: PluginWorker; registry: Pick<Registry, 'status'> };

export type PluginUpload = {
  source: string;
  remark?: string;
  /** True by default for a new version; false stores it without serving. */
  enabled?: boolean;
  /** Stores despite a conflict with another plugin, and disables a version despite its use. */
  force?: boolean;
  /** A base64 data URL. */
  icon?: string;
  /** Hex SHA-256 that the source must have. */
  sourceSha256?: string;
  /** Activates the version as well, if a preview of it still has this digest. */
  previewDigest?: string;
  /** Whether it may claim models that others claim too; kept with its key. */
  shareModels?: boolean;
  /** What changed in it, as its marketplace says. */
  changelog?: Changelog;
};

export type UploadedPlugin = PluginDetail & {
  /** The stored version before the upload; `null` if it is new. */
  before: PluginVersion | null;
  /** What needs the version that serves instead, if this one waits for that reason. */
  use: Dependents | null;
  /** Whether the version serves on this node now. */
  isServing: boolean;
  /** Why it does not serve although it is active and enabled. */
  runtimeError: Sentence | undefined;
  /** What its author should fix; such a version is stored all the same. */
  warnings: PluginFault[];
};

/**
 * Checks a source and stores it as a version. The first version of a key becomes active at once,
 * unless a factory plugin, or one under development, serves the key and is in
 * use; later versions have to be activated. Uploading the same version with the same source again
 * only updates remark, icon and `enabled`.
 *
 * @throws `plugins.invalid`, `plugins.icon_invalid`, `plugins.conflict`, `plugins.version_exists`,
 *   `plugins.in_use`, `plugins.preview_outdated`, `plugins.unavailable`; nothing has changed then
 */
export async function uploadPlugin(ctx: UploadContext, upload: PluginUpload): Promise<UploadedPlugin> {
  const { force = false, shareModels } = upload;
  const sourceHash = sha256Hex(upload.source);
  if (upload.sourceSha256 !== undefined && !constantTimeEqual(upload.sourceSha256.toLowerCase(), sourceHash)) {
    // A source with the wrong hash is not run. Its size is checked first, as the likelier reason.
    const size = (await ctx.worker.run('checkSource', upload.source)).filter(({ rule }) => rule === 'source.size');
    throw invalidPlugin([
      ...size,
      {
        path: 'source',
        rule: 'source.sha256',
        ...sentence('fault.sha256', { hash: sourceHash }),
        ...toHint(sentence('hint.source.sha256')),
      },
    ]);
  }
  const compiled = await compileOrThrow(ctx, upload.source);
  if (upload.icon !== undefined) {
    const icon = await ctx.worker.run('readIcon', upload.icon);
    if (!icon.ok)
      throw pluginErrors.icon_invalid({ message: sentence('icon.sentence', { fault: icon.error }), param: 'icon' });
  }
  const { key, version } = compiled.manifest;
  const existing = await ctx.store.plugins.byVersion(key, version);
  // Versions that are stored already keep their names and paths.
  if (!existing) refuseInNewVersions(compiled, ctx.registry.current().plugins.get(key)?.manifest);
  if (existing && existing.sourceHash !== sourceHash) throw versionExists(key, version);
  const activates = upload.previewDigest !== undefined;
  const narrowedModels =
    existing && !activates
      ? existing.narrowedModels
      : await findNarrowing(ctx, { narrowedModels: existing?.narrowedModels ?? null }, compiled);
  const enabled = upload.enabled ?? existing?.enabled ?? true;
  if ((enabled && !force) || activates)
    refuseConflict(ctx, { compiled, layer: 'database', narrowedModels, shareModels });

  if (upload.previewDigest !== undefined)
    await requirePreview(ctx, key, { source: upload.source, digest: upload.previewDigest, shareModels });
  const change: StoredUpload = { ...upload, narrowedModels, activates };
  const { row, use } = existing
    ? { row: await updateVersion(ctx, { row: existing, compiled }, change), use: null }
    : await insertVersion(ctx, compiled, change);
  await applyChange(ctx);
  return {
    ...(await toDetail(ctx, row, compiled)),
    before: existing ? toVersion(existing) : null,
    use,
    isServing: ctx.registry.current().plugins.get(key)?.sourceHash === sourceHash,
    runtimeError: ctx.registry.status().pluginErrors[key],
    warnings: await findWarnings(ctx, compiled),
  };
}

/** The version is stored whatever the linter does with its source. */
async function findWarnings(
  { worker, logger }: Pick<UploadContext, 'worker' | 'logger'>,
  compiled: CompiledPlugin,
): Promise<PluginFault[]> {
  const { source, manifest } = compiled;
  try {
    return await worker.run('findWarnings', { source, manifest });
  } catch (error) {
    logger.warn({ err: error, plugin: manifest.key }, 'an uploaded version could not be linted');
    return [];
  }
}

const versionExists = (key: string, version: string) =>
  pluginErrors.version_exists({
    message: sentence('plugins.stored_otherwise', { version, plugin: key }),
    details: { key, version },
  });

const versionWasOther = (key: string, version: string) =>
  pluginErrors.version_exists({
    message: sentence('plugins.deleted_otherwise', { version, plugin: key }),
    details: { key, version },
  });

/** `narrowedModels`: of the version, once it is stored. */
type StoredUpload = PluginUpload & { narrowedModels: string[] | null; activates: boolean };

async function updateVersion(
  ctx: UploadContext,
  { row, compiled }: { row: PluginRecord; compiled: CompiledPlugin },
  upload: StoredUpload,
): Promise<PluginRecord> {
  const { remark, icon, enabled, force = false, activates, narrowedModels } = upload;
  await ctx.store.transaction(async (tx) => {
    if (upload.shareModels !== undefined) await setSharing(tx, row.key, upload.shareModels);
    await tx.plugins.update(row.id, {
      ...(remark === undefined ? {} : { remark }),
      ...(icon === undefined ? {} : { icon }),
      ...(upload.changelog === undefined ? {} : { changelog: upload.changelog }),
      ...(enabled === undefined ? {} : { enabled }),
      ...(activates ? { narrowedModels } : {}),
    });
    if (activates) {
      await tx.plugins.activate(row.key, row.version);
      await recordActivation(ctx, tx, { compiled });
    }
    const stopsServing = row.active && row.enabled && enabled === false;
    if (stopsServing && !force && !ctx.registry.factory().has(row.key))
      await refuseWhileNeeded(ctx, tx, { key: row.key });
  });
  return readRow(ctx, row.key, row.version);
}

async function insertVersion(
  ctx: UploadContext,
  compiled: CompiledPlugin,
  upload: StoredUpload,
): Promise<{ row: PluginRecord; use: Dependents | null }> {
  const { manifest, source, sourceHash } = compiled;
  const { key, version, apiVersion } = manifest;
  const plugin = {
    ...{ key, version, apiVersion, source, sourceHash },
    icon: upload.icon ?? null,
    enabled: upload.enabled ?? true,
    remark: upload.remark ?? '',
    narrowedModels: upload.narrowedModels,
    changelog: upload.changelog ?? null,
    createdAt: ctx.clock.unix(),
  };
  const { row, use } = await ctx.store.transaction(async (tx) => {
    const found = upload.activates ? null : await findDependents(ctx, tx, key);
    const stored = await tx.plugins.insert(plugin, { waits: found !== null });
    if (!stored) return { row: undefined, use: null };
    if (upload.shareModels !== undefined) await setSharing(tx, key, upload.shareModels);
    const deletedHash = await tx.plugins.deletedSource(key, version);
    if (deletedHash !== undefined && deletedHash !== sourceHash) throw versionWasOther(key, version);
    if (upload.activates) await tx.plugins.activate(key, version);
    const active = stored.active || upload.activates;
    if (active) await recordActivation(ctx, tx, { compiled });
    return { row: { ...stored, active, enabled: stored.enabled || upload.activates }, use: found };
  });
  if (row) return { row, use };
  // Another node has stored this version since the check, with this source or with another one.
  const stored = await readRow(ctx, key, version);
  if (stored.sourceHash !== sourceHash) throw versionExists(key, version);
  return { row: await updateVersion(ctx, { row: stored, compiled }, upload), use: null };
}
