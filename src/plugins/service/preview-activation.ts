import { canonicalJson, sentence, sha256Hex } from '../../kernel/index.ts';
import {
  boundPluginKeys,
  type ChannelRecord,
  type PluginRecord,
  type PriceRecord,
  type Store,
} from '../../store/ports/index.ts';
import { pluginErrors } from '../errors.ts';
import { toHint } from '../manifest/faults.ts';
import { loadPlugin } from '../registry/load-plugin.ts';
import { type Conflict, preflight } from '../registry/ownership-index.ts';
import type { PermissionChanges } from '../source/describe-permissions.ts';
import type { Layer, LoadedPlugin, Manifest, ProtocolName } from '../types.ts';
import type { CompiledPlugin } from '../worker/compile-plugin.ts';
import { findActivatable, findCurrentNarrowing, findNarrowing } from './activate-version.ts';
import { compareManifests, type ManifestChanges } from './compare-manifests.ts';
import { type CompileContext, compileFound, compileOrThrow, invalidPlugin } from './compile-or-refuse.ts';
import { findPermissionChanges, type PermissionContext } from './describe-plugins.ts';
import { boundChannels } from './find-dependents.ts';
import type { FoundVersion, VersionContext } from './find-version.ts';
import { type ConflictContext, sharingAfter } from './refuse-conflicts.ts';
import { type ReplayedTask, replayTasks } from './replay-tasks.ts';

export type PreviewContext = VersionContext & CompileContext & ConflictContext & PermissionContext & { store: Store };

/** Number of tasks whose stored answers are parsed again. */
const REPLAYED_TASKS = 20;

/** A channel that would lose models: those that the plugin loses, or all if it loses its type. */
export type AffectedChannel = { id: number; name: string; status: number; models: string[] };

/** What prices depend on. */
export type PricedPart = { models: readonly string[]; facts: readonly string[] };

export type ActivationPreview = ManifestChanges & {
  key: string;
  /** The serving plugin; `null` if there is none. */
  from: { version: string; sourceHash: string; layer: Layer } | null;
  to: { version: string; sourceHash: string };
  /**
   * The models that the serving version is narrowed to, and that the new one would be narrowed to.
   * `null`: all of them.
   */
  narrowedModels: { before: string[] | null; after: string[] | null };
  /** What prices depend on, in the serving version and in the new one. */
  priced: { before: PricedPart | null; after: PricedPart };
  channels: AffectedChannel[];
  /** Why an activation would be refused. */
  conflict: Conflict | null;
  /** The models that other plugins claim on the same protocol, and whether it may share them. */
  sharing: { shareModels: boolean; models: { protocol: ProtocolName; model: string; with: string[] }[] };
  /** What changed in the version, by its marketplace; null: unknown. */
  changelog: PluginRecord['changelog'];
  /** What it may do, compared with the serving version. */
  permissions: PermissionChanges;
  replay: ReplayedTask[];
  /** Tasks that other versions began, and that an activation with `adopt` would move. */
  tasks: { unfinished: number };
  /** Stands for what an administrator agrees to; it changes when any of this does. */
  digest: string;
};

/** A stored version, or `factory`; or a source that is not stored. */
export type PreviewedVersion = ({ version: string; source?: undefined } | { source: string; version?: undefined }) & {
  /** As in an upload. */
  shareModels?: boolean | undefined;
};

/**
 * What would change if a version were activated now. Writes nothing and sends no request to a
 * vendor.
 *
 * @throws `plugins.not_found`, `plugins.invalid` (also a source of another key),
 *   `plugins.unavailable`
 */
export async function previewActivation(
  ctx: PreviewContext,
  key: string,
  previewed: PreviewedVersion,
): Promise<ActivationPreview> {
  const { compiled, found } = await findPreviewed(ctx, key, previewed);
  const { sandbox, clock, logger } = ctx;
  const isFactory = found.factory !== undefined;
  const narrowedModels = await findNarrowing(ctx, found, compiled);
  const layer = isFactory ? 'factory' : 'database';
  const candidate = loadPlugin({ sandbox, clock, logger, compiled, layer, narrowedModels });
  const { plugins, findPlugin } = ctx.registry.current();
  const serving = plugins.get(key);
  const sharing = sharingAfter(ctx, key, previewed.shareModels);
  const { manifest } = candidate;
  const [channels, tasks, unfinished, prices, permissions] = await Promise.all([
    ctx.store.channels.all(),
    ctx.store.tasks.latestWithData(key, REPLAYED_TASKS),
    ctx.store.tasks.countUnfinished({ platform: key }),
    ctx.store.prices.all(),
    findPermissionChanges(ctx, { source: compiled.source, manifest }),
  ]);
  const changes = compareManifests(serving?.manifest, manifest);
  const preview = {
    key,
    from: serving ? { version: serving.version, sourceHash: serving.sourceHash, layer: serving.layer } : null,
    to: { version: candidate.version, sourceHash: candidate.sourceHash },
    ...changes,
    narrowedModels: { before: await findCurrentNarrowing(ctx, key), after: narrowedModels },
    priced: { before: serving ? pricedPart(serving.manifest) : null, after: pricedPart(manifest) },
    channels: affectedChannels(boundChannels(channels, key, serving?.manifest), key, changes),
    conflict: preflight(plugins.values(), candidate, sharing) ?? null,
    sharing: { shareModels: sharing.has(key), models: sharedModels(ctx, candidate) },
    changelog: found.row?.changelog ?? null,
    permissions,
    replay: await replayTasks(tasks, channels, { findPlugin, candidate: candidate.onTrial(), owner: ctx.owner }),
  };
  return { ...preview, tasks: { unfinished }, digest: digestPreview(preview, key, prices) };
}

/**
 * Refuses a change that an administrator agreed to when it was another one.
 *
 * @throws `plugins.preview_outdated` with the preview as it is now, and what a preview throws
 */
export async function requirePreview(
  ctx: PreviewContext,
  key: string,
  { digest, ...previewed }: PreviewedVersion & { digest: string },
): Promise<void> {
  const preview = await previewActivation(ctx, key, previewed);
  if (preview.digest !== digest) throw pluginErrors.preview_outdated({ details: { preview } });
}

/** `found.narrowedModels`: those of the version itself. */
async function findPreviewed(
  ctx: VersionContext & CompileContext,
  key: string,
  { version, source }: PreviewedVersion,
): Promise<{ compiled: CompiledPlugin; found: Pick<FoundVersion, 'factory' | 'row' | 'narrowedModels'> }> {
  if (source === undefined) {
    const found = await findActivatable(ctx, key, version);
    return { compiled: await compileFound(ctx, found), found };
  }
  const compiled = await compileOrThrow(ctx, source);
  const declared = compiled.manifest.key;
  if (declared !== key) {
    const said = sentence('plugins.other_key', { declared, key });
    const hint = toHint(sentence('hint.preview.key'));
    throw invalidPlugin([{ path: 'key', rule: 'preview.key', ...said, ...hint }]);
  }
  return { compiled, found: { narrowedModels: null } };
}

/** The facts of all models: a price may be of any of them. */
const pricedPart = ({ models, usageSchema, usageProfiles }: Manifest): PricedPart => ({
  models,
  facts: [...new Set([{ usageSchema }, ...usageProfiles].flatMap((usage) => Object.keys(usage.usageSchema)))],
});

function sharedModels({ registry }: Pick<PreviewContext, 'registry'>, { key, manifest }: LoadedPlugin) {
  const generation = registry.current();
  return manifest.protocols.flatMap(({ name: protocol, models }) =>
    models.flatMap((model) => {
      const others = generation.protocolOwners(protocol, model).flatMap(({ plugin }) => plugin.key);
      const shared = others.filter((other) => other !== key);
      return shared.length > 0 ? [{ protocol, model, with: shared }] : [];
    }),
  );
}

/** Which of the channels that the plugin serves now would lose models. */
function affectedChannels(
  bound: readonly ChannelRecord[],
  key: string,
  { models, channelTypes }: ManifestChanges,
): AffectedChannel[] {
  return bound.flatMap((channel) => {
    const { id, name, status, type, modelMapping } = channel;
    const orphaned = !boundPluginKeys(channel).includes(key) && channelTypes.removed.includes(type);
    const lost = channel.models.filter((model) => orphaned || models.removed.includes(modelMapping[model] ?? model));
    return lost.length > 0 || orphaned ? [{ id, name, status, models: lost }] : [];
  });
}

/**
 * What an administrator agreed to when they had read a preview: the versions, everything that would
 * change, and the prices that apply. For the tasks it is only whether any would be read otherwise
 * or lose files, since new ones come all the time.
 */
function digestPreview(
  { replay, ...changes }: { replay: readonly ReplayedTask[] },
  key: string,
  prices: readonly PriceRecord[],
): string {
  const agreed = {
    ...changes,
    readsOtherwise: replay.some(({ changed }) => changed),
    losesFiles: replay.some(({ lostArtifacts }) => lostArtifacts.length > 0),
    prices: prices.flatMap(({ pluginKey, model, expression }) =>
      pluginKey === key || pluginKey === '*' ? [[pluginKey, model, expression]] : [],
    ),
  };
  return sha256Hex(canonicalJson(JSON.stringify(agreed)));
}
