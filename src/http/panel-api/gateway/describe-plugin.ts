import type { Billing } from '../../../billing/index.ts';
import { AppError, type Sentence, type StoredSentence, withoutMessage } from '../../../kernel/index.ts';
import type {
  ActivationPreview,
  PluginDetail,
  PluginSummary,
  PluginVersion,
  ProtocolClaim,
  ReplayVerdict,
  RuntimeStatus,
  Uploaded,
  VersionDiff,
} from '../../../plugins/index.ts';

export const describeVersion = (version: PluginVersion) => ({
  id: version.id,
  key: version.key,
  version: version.version,
  api_version: version.apiVersion,
  source_hash: version.sourceHash,
  enabled: version.enabled,
  active: version.active,
  remark: version.remark,
  has_icon: version.hasIcon,
  narrowed_models: version.narrowedModels,
  changelog: version.changelog,
  created_at: version.createdAt,
});

export const describeDetail = (detail: PluginDetail) => ({
  plugin: detail.plugin ? describeVersion(detail.plugin) : null,
  layer: detail.layer === 'database' ? ('override' as const) : ('factory' as const),
  meta: detail.meta,
  source: detail.source,
  source_hash: detail.sourceHash,
  has_icon: detail.hasIcon,
  errors: detail.errors,
  permissions: detail.permissions,
});

export const describeSummary = (plugin: PluginSummary) => ({
  key: plugin.key,
  version: plugin.version,
  meta: plugin.meta,
  source: plugin.source,
  enabled: plugin.enabled,
  active: plugin.active,
  source_hash: plugin.sourceHash,
  has_icon: plugin.hasIcon,
  remark: plugin.remark,
  narrowed_models: plugin.narrowedModels,
  share_models: plugin.shareModels,
  takes_place_of: plugin.takesPlaceOf,
  runtime_status: plugin.runtimeStatus,
  ...describeRuntimeError(plugin.runtimeError),
  ...(plugin.factoryMeta === undefined ? {} : { factory_meta: plugin.factoryMeta }),
  channel_count: plugin.channelCount,
  in_flight_count: plugin.inFlightCount,
});

const describeRuntimeError = (
  said: Sentence | undefined,
): { runtime_error?: string; runtime_error_sentence?: StoredSentence } =>
  said === undefined ? {} : { runtime_error: said.message, runtime_error_sentence: withoutMessage(said) };

export const describeRuntime = ({ lastRebuild, ...status }: RuntimeStatus) => ({
  current_generation: status.currentGeneration,
  generation_published_at: status.generationPublishedAt,
  database_revision: status.databaseRevision,
  ...(status.databaseError === undefined
    ? {}
    : {
        database_error: status.databaseError.message,
        database_error_sentence: withoutMessage(status.databaseError),
      }),
  last_rebuild: {
    status: lastRebuild.status,
    attempted_at: lastRebuild.attemptedAt,
    generation: lastRebuild.generation,
    database_revision: lastRebuild.databaseRevision,
    plugin_error_count: lastRebuild.pluginErrorCount,
    ...(lastRebuild.error === undefined
      ? {}
      : { error: lastRebuild.error.message, error_sentence: withoutMessage(lastRebuild.error) }),
  },
  ...describePluginErrors(status.pluginErrors),
});

const describePluginErrors = (errors: RuntimeStatus['pluginErrors']) => ({
  plugin_errors: Object.fromEntries(Object.entries(errors).map(([key, { message }]) => [key, message])),
  plugin_error_sentences: Object.fromEntries(Object.entries(errors).map(([key, said]) => [key, withoutMessage(said)])),
});

/** A version as the audit log shows it. */
export const auditVersion = (version: PluginVersion | null) =>
  version && {
    version: version.version,
    source_hash: version.sourceHash,
    enabled: version.enabled,
    active: version.active,
    remark: version.remark,
    has_icon: version.hasIcon,
    narrowed_models: version.narrowedModels,
  };

const describeSource = ({ version, sourceHash }: { version: string; sourceHash: string }) => ({
  version,
  source_hash: sourceHash,
});

export const describeDiff = (diff: VersionDiff) => ({
  from: describeSource(diff.from),
  to: describeSource(diff.to),
  identical: diff.identical,
  source: diff.source,
  hunks: diff.hunks.map(({ oldStart, oldLines, newStart, newLines, lines }) => ({
    old_start: oldStart,
    old_lines: oldLines,
    new_start: newStart,
    new_lines: newLines,
    lines,
  })),
  manifest: diff.manifest,
});

const describeClaim = ({ name, supports, models }: ProtocolClaim) => ({ name, modes: supports, models });

/** Routes and usage fields have the form of the manifest. */
/** What an activation would change, prices included. */
export function describeReview(billing: Billing, pluginKey: string, preview: ActivationPreview) {
  const { orphaned, undeclared, unpriced } = billing.prices.checkChange({ pluginKey, ...preview.priced });
  return {
    ...describePreview(preview),
    prices: {
      orphaned: orphaned.map((price) => ({ plugin_key: price.pluginKey, model: price.model })),
      undeclared: undeclared.map(({ pluginKey: key, model, facts }) => ({ plugin_key: key, model, facts })),
      unpriced,
    },
  };
}

/**
 * Runs a change that may be refused because the administrator has seen another preview. The refusal
 * then holds the preview as it is now.
 */
export async function withFreshPreview<T>(billing: Billing, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'plugins.preview_outdated') throw error;
    const { preview } = error.details as { preview: ActivationPreview };
    throw new AppError(error.code, error.kind, {
      message: error,
      details: { preview: describeReview(billing, preview.key, preview) },
    });
  }
}

/** Says what remains to be done after a version was stored, and why. */
export const describeOutcome = (billing: Billing, uploaded: Uploaded) => {
  const { plugin, use, permissions, preview, runtimeError, warnings } = uploaded;
  const outcome = chooseOutcome(uploaded);
  return {
    /**
     * `waits_for_activation`: another version serves until an administrator activates this one.
     * `not_registered`: it is active but cannot serve; `runtime_error` says why.
     */
    outcome,
    ...(outcome === 'not_registered' ? describeRuntimeError(runtimeError) : {}),
    /** What the author should fix, as `taskgate plugin lint` says it. */
    warnings,
    /** What needs the version that serves; null if nothing does. */
    in_use: use && {
      channels: use.channels,
      prices: use.prices,
      unfinished_tasks: use.unfinishedTasks,
      recent_results: use.hasRecentResults,
    },
    /** What the stored version may do: a code and the names that it concerns. */
    permissions,
    /** What the activation would change, as POST /api/plugin/task/:key/preview says it. */
    preview: preview && describeReview(billing, plugin?.key ?? '', preview),
  };
};

type Outcome = 'serving' | 'waits_for_activation' | 'disabled' | 'not_registered';

const chooseOutcome = ({ plugin, isServing }: Uploaded): Outcome => {
  if (!plugin?.enabled) return 'disabled';
  if (!plugin.active) return 'waits_for_activation';
  return isServing ? 'serving' : 'not_registered';
};

type ReplayView = { error: string; error_sentence: StoredSentence } | Exclude<ReplayVerdict, { error: Sentence }>;

const describeReplay = (verdict: ReplayVerdict): ReplayView =>
  'error' in verdict
    ? { error: verdict.error.message, error_sentence: withoutMessage(verdict.error) }
    : { status: verdict.status, progress: verdict.progress, reason: verdict.reason };

const describePreview = (preview: ActivationPreview) => ({
  digest: preview.digest,
  unfinished_tasks: preview.tasks.unfinished,
  from: preview.from && {
    ...describeSource(preview.from),
    layer: preview.from.layer === 'database' ? ('override' as const) : preview.from.layer,
  },
  to: describeSource(preview.to),
  hosts: preview.hosts,
  models: preview.models,
  narrowed_models: preview.narrowedModels,
  routes: preview.routes,
  protocols: {
    added: preview.protocols.added.map(describeClaim),
    removed: preview.protocols.removed.map(describeClaim),
    changed: preview.protocols.changed,
  },
  channel_types: preview.channelTypes,
  usage_schema: preview.usageSchema,
  channels: preview.channels,
  conflict: preview.conflict,
  sharing: { share_models: preview.sharing.shareModels, models: preview.sharing.models },
  changelog: preview.changelog,
  permissions: preview.permissions,
  replay: preview.replay.map(({ taskId, storedStatus, before, after, changed, lostArtifacts }) => ({
    task_id: taskId,
    stored_status: storedStatus,
    before: before && describeReplay(before),
    after: describeReplay(after),
    changed,
    lost_artifacts: lostArtifacts,
  })),
});
