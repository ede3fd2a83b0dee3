import type { Meta } from '../../../contracts/v1.d.ts';
import {
  AppError,
  type Clock,
  type Logger,
  type ReportCacheSize,
  type Sentence,
  sentence,
  sha256Hex,
  toSentence,
} from '../../kernel/index.ts';
import type { OptionStore, PluginSourceStore } from '../../store/ports/index.ts';
import type { Upstream } from '../../upstream/index.ts';
import { pluginErrors } from '../errors.ts';
import type { IconImage } from '../icons/check-icon.ts';
import { findNeeds } from '../manifest/faults.ts';
import { publishMeta } from '../manifest/normalize-meta.ts';
import type { Changelog } from '../market-index/read-changelog.ts';
import type {
  MarketIcon,
  MarketPlugin,
  MarketRemark,
  MarketRevocation,
  MarketSource,
  MarketVersion,
} from '../market-index/types.ts';
import type { PluginService, Uploaded } from '../service/create-plugin-service.ts';
import type { ActivationPreview } from '../service/preview-activation.ts';
import type { PermissionChanges } from '../source/describe-permissions.ts';
import type { ContractNeed, Manifest, PluginFault } from '../types.ts';
import { createPluginWorker, type PluginWorker } from '../worker/create-worker.ts';
import type { MarketTrust, PinMarketKey } from './check-trust.ts';
import { createVersionCheck } from './check-versions.ts';
import { compareEntry, isAnnounced } from './compare-entry.ts';
import { createMarketReader, decodeText, fetchChangelog } from './fetch-file.ts';
import { createListingCache } from './listing-cache.ts';
import { createMarketMemory } from './market-memory.ts';
import { type OfferedPlugin, offerPlugin, presentPlugins } from './offer-plugins.ts';

/** What one source offers. After a failure there are no plugins, and `error` is set. */
export type SourceOffer = {
  source: MarketSource;
  /** The name in the index. */
  name: string;
  error?: Sentence;
  /** Unix seconds. */
  fetchedAt: number;
  /** Whether its index is signed; missing if the index could not be checked. */
  trust?: MarketTrust;
  /** Whether a signed index is past its end: its publisher should have renewed it. */
  isExpired: boolean;
  plugins: OfferedPlugin[];
  revoked: MarketRevocation[];
  skipped: MarketRemark[];
};

/** A version that serves although a source has revoked it. */
/** A revoked version that is in use: it serves, or unfinished tasks are polled by it. */
export type RevokedInUse = MarketRevocation & { source: string; serves: boolean; unfinishedTasks: number };

/** A version of a plugin in a source, by the source's name. */
export type OfferedName = { source: string; key: string; version: string };

export type OfferedSource = {
  key: string;
  version: string;
  source: string;
  sourceHash: string;
  /** In the contract's form; `null` if an upload would refuse the source, see `errors`. */
  meta: Meta | null;
  errors: PluginFault[];
  /** What it needs of a newer contract, if that is why an upload would refuse it. */
  needs: ContractNeed[];
  /** What it may do, compared with `current`; `null` if it has errors. */
  permissions: PermissionChanges | null;
  /** What changed in the version; null: its publisher does not say. */
  changelog: Changelog | null;
  /** Differences between the index and the plugin. */
  differences: Sentence[];
  /** The active version of this key, or the factory plugin. */
  current: { version: string; source: string; sourceHash: string } | null;
};

export type MarketInstall = OfferedName & {
  /** The hash that the administrator has seen. Refused if the index now has another one. */
  sha256?: string;
  force?: boolean;
  enabled?: boolean;
  /** As in `PluginUpload`. */
  previewDigest?: string;
  shareModels?: boolean;
};

export interface Marketplace {
  /** All sources with their plugins, or with an error. */
  list(options: { refresh: boolean }): Promise<SourceOffer[]>;
  /** The source of a version, by default the latest, checked against its hash. */
  read(name: Omit<OfferedName, 'version'> & { version?: string | undefined }): Promise<OfferedSource>;
  /** The icon file of a plugin; `undefined` if the index has none. */
  icon(name: Omit<OfferedName, 'version'>): Promise<IconImage | undefined>;
  /** Fetches source and icon file, checks their hashes and uploads them. */
  install(request: MarketInstall, owner?: string): Promise<Uploaded>;
  /** What an activation of an offered version would change. Stores nothing. */
  preview(name: OfferedName & { shareModels?: boolean | undefined }, owner?: string): Promise<ActivationPreview>;
  /**
   * The versions that are in use although a source has revoked them, by what the sources said when
   * they were read last. Signed sources that were not read for hours are read again.
   */
  revokedInUse(): Promise<RevokedInUse[]>;
}

type Deps = {
  plugins: Pick<
    PluginService,
    'check' | 'current' | 'detail' | 'list' | 'permissions' | 'preview' | 'upload' | 'versions'
  >;
  store: { options: OptionStore; pluginSources: Pick<PluginSourceStore, 'countUnfinished'> };
  upstream: Upstream;
  /** The current marketplaces. */
  sources: () => readonly MarketSource[];
  /** Stores the key that a source is pinned to from now on. */
  pin: PinMarketKey;
  /** The sources that ship with the gateway. They are never at a private address. */
  shippedSources: readonly MarketSource[];
  /** The folder of `file:` sources; empty: there are none. */
  mirrorDir: string;
  clock: Clock;
  logger: Logger;
  /** Deadline for one file in ms, by default 15 s. */
  timeoutMs?: number;
  reportCacheSize?: ReportCacheSize;
  /** Default: one of its own. */
  worker?: PluginWorker;
};

type Entry = { source: MarketSource; plugin: MarketPlugin; isSigned: boolean };

/** How long a list waits for what this gateway says to the versions in it. */
const CHECK_MS = 3000;
/** How often signed sources are read for revocations while nobody looks at them. */
const REVOCATIONS_MS = 6 * 3_600_000;

/**
 * Methods throw `plugins.not_found` (no such source, plugin or version), `plugins.market_failed` (a
 * file could not be fetched), `plugins.market_mismatch` (a file is not what the index announces),
 * `plugins.market_changed`, and the errors of an upload.
 */
export function createMarketplace(deps: Deps): Marketplace {
  const { plugins, pin, clock, worker = createPluginWorker() } = deps;
  const readFile = createMarketReader(deps);
  const memory = createMarketMemory(deps.store.options);
  const versionCheck = createVersionCheck({ check: (source) => plugins.check(source), sleep: (ms) => clock.sleep(ms) });
  const listings = createListingCache({ readFile, memory, pin, worker, clock, reportCacheSize: deps.reportCacheSize });

  /** @throws for a `version` that the source has revoked too */
  async function find({
    source: name,
    key,
    version,
  }: Omit<OfferedName, 'version'> & { version?: string }): Promise<Entry> {
    const source = deps.sources().find((each) => each.name === name);
    if (!source) throw pluginErrors.not_found({ message: sentence('market.no_source', { name }) });
    const { index, trust } = await listings.of(source, false);
    if (!index.ok) {
      const message = sentence('market.source_unread', { name, fault: index.error });
      if (trust?.state === 'refused') throw pluginErrors.market_untrusted({ message, details: untrusted(trust) });
      throw pluginErrors.market_failed({ message });
    }
    const revoked = index.value.revoked.find((each) => each.key === key && each.version === version);
    if (revoked) {
      const message = sentence('market.revoked', { version: `${key}@${version}`, words: revoked.reason });
      throw pluginErrors.market_revoked({ message, details: { reason: revoked.reason } });
    }
    const plugin = index.value.plugins.find((each) => each.key === key);
    if (!plugin) throw pluginErrors.not_found({ message: sentence('market.no_plugin', { name, plugin: key }) });
    return { source, plugin, isSigned: trust?.state === 'signed' };
  }

  function findVersion({ source, plugin }: Entry, version: string): MarketVersion {
    const found = plugin.versions.find((each) => each.version === version);
    if (found) return found;
    throw pluginErrors.not_found({
      message: sentence('market.no_version', { name: source.name, version: `${plugin.key}@${version}` }),
    });
  }

  /** Fetches a file of an entry, and checks its hash if the index has one. */
  async function fetchFile(
    { source, plugin }: Entry,
    file: { url: string; sha256?: string },
    what: 'source' | 'icon',
  ): Promise<Uint8Array> {
    const bytes = await readFile(source, file.url, what);
    const subject = sentence(what === 'source' ? 'market.source_file' : 'market.icon_file', {
      plugin: plugin.key,
      name: source.name,
    });
    if (!bytes.ok)
      throw pluginErrors.market_failed({
        message: sentence('market.fetch', { subject, fault: toSentence(bytes.error) }),
      });
    if (file.sha256 !== undefined && sha256Hex(bytes.value) !== file.sha256) {
      throw pluginErrors.market_mismatch({
        message: sentence('market.hash', { subject }),
      });
    }
    return bytes.value;
  }

  async function fetchSource(entry: Entry, version: MarketVersion): Promise<string> {
    const text = decodeText(await fetchFile(entry, version, 'source'));
    if (text.ok) return text.value;
    throw pluginErrors.market_mismatch({ message: sentence('market.source_utf8', { plugin: entry.plugin.key }) });
  }

  async function fetchIcon(entry: Entry, icon: MarketIcon): Promise<{ image: IconImage; dataUrl: string }> {
    const bytes = await fetchFile(entry, icon, 'icon');
    const dataUrl = `data:${icon.mimeType};base64,${Buffer.from(bytes).toString('base64')}`;
    const image = await worker.run('readIcon', dataUrl);
    if (image.ok) return { image: image.value, dataUrl };
    throw pluginErrors.icon_invalid({
      message: sentence('icon.sentence_of', { plugin: entry.plugin.key, fault: image.error }),
    });
  }

  /** A picture that cannot be had stops no installation; one that is not what it should be does. */
  function withoutIcon(error: unknown): undefined {
    if (!(error instanceof AppError) || error.code !== 'plugins.market_failed') throw error;
    deps.logger.warn({ err: error }, 'a plugin is installed without its logo');
    return undefined;
  }

  return {
    async list({ refresh }) {
      const sources = deps.sources();
      listings.retain(sources);
      const [read, present] = await Promise.all([
        Promise.all(sources.map((source) => listings.of(source, refresh))),
        presentPlugins(plugins),
      ]);
      await versionCheck.check(
        read.flatMap(({ index }, at) => {
          const source = sources[at];
          if (!source || !index.ok) return [];
          const toCheck = (plugin: MarketPlugin) => ({
            versions: plugin.versions,
            read: (version: MarketVersion) => fetchSource({ source, plugin, isSigned: false }, version),
          });
          return index.value.plugins.map(toCheck);
        }),
        CHECK_MS,
      );
      const serving = plugins.current().plugins;
      const known = { findVerdict: versionCheck.find, isServing: (key: string) => serving.has(key) };
      return read.map(({ index, trust, fetchedAt }, at): SourceOffer => {
        const source = sources[at] ?? { name: '', indexUrl: '' };
        const isExpired = trust?.state === 'signed' && trust.expiresAt < clock.unix();
        const checked = { source, fetchedAt, isExpired, ...(trust ? { trust } : {}) };
        if (!index.ok) return { ...checked, name: '', error: index.error, plugins: [], revoked: [], skipped: [] };
        const { name, revoked, skipped } = index.value;
        const offered = index.value.plugins.map((plugin) => offerPlugin(plugin, present.get(plugin.key), known));
        return { ...checked, name, plugins: offered, revoked, skipped };
      });
    },

    async read({ version: requested, ...name }) {
      const entry = await find({ ...name, ...(requested === undefined ? {} : { version: requested }) });
      const version = findVersion(entry, requested ?? entry.plugin.latest);
      const [source, changelog] = await Promise.all([
        fetchSource(entry, version),
        fetchChangelog(readFile, entry, version),
      ]);
      const { manifest, errors } = await checkManifest(plugins, source);
      const permissions = manifest ? await plugins.permissions(source) : null;
      return {
        key: name.key,
        version: version.version,
        source,
        sourceHash: version.sha256,
        meta: manifest ? publishMeta(manifest) : null,
        errors,
        needs: findNeeds(errors),
        permissions,
        changelog,
        differences: manifest ? compareEntry(entry.plugin, version, manifest) : [],
        current: await currentVersion(plugins, name.key),
      };
    },

    async icon(name) {
      const entry = await find(name);
      const { iconFile } = entry.plugin;
      return iconFile && (await fetchIcon(entry, iconFile)).image;
    },

    async preview({ shareModels, ...name }, owner) {
      const entry = await find(name);
      const source = await fetchSource(entry, findVersion(entry, name.version));
      return plugins.preview(name.key, { source, shareModels }, owner);
    },

    async install(
      { source: sourceName, key, version: requested, sha256, force, enabled, previewDigest, shareModels },
      owner,
    ) {
      const entry = await find({ source: sourceName, key, version: requested });
      const version = findVersion(entry, requested);
      if (sha256 !== undefined && sha256.toLowerCase() !== version.sha256) {
        throw pluginErrors.market_changed({
          message: sentence('market.other_hash', { name: sourceName, version: `${key}@${requested}` }),
        });
      }
      const { iconFile } = entry.plugin;
      const [source, changelog, icon] = await Promise.all([
        fetchSource(entry, version),
        fetchChangelog(readFile, entry, version),
        iconFile ? fetchIcon(entry, iconFile).catch(withoutIcon) : undefined,
      ]);
      const manifest = await plugins.check(source, owner);
      if (!isAnnounced(manifest, key, requested)) {
        throw pluginErrors.market_mismatch({
          message: sentence('market.other_file', {
            version: `${key}@${requested}`,
            found: `${manifest.key}@${manifest.version}`,
          }),
        });
      }
      return plugins.upload(
        {
          source,
          sourceSha256: version.sha256,
          ...(icon ? { icon: icon.dataUrl } : {}),
          ...(changelog ? { changelog } : {}),
          ...(force === undefined ? {} : { force }),
          ...(enabled === undefined ? {} : { enabled }),
          ...(previewDigest === undefined ? {} : { previewDigest }),
          ...(shareModels === undefined ? {} : { shareModels }),
        },
        owner,
      );
    },

    async revokedInUse() {
      const sources = deps.sources();
      const revoked = await Promise.all(
        sources.map(async (source) =>
          (await memory.revokedBy(source)).map((each) => ({ ...each, source: source.name })),
        ),
      );
      for (const source of sources) if (source.publicKey !== undefined) listings.readAfter(source, REVOCATIONS_MS);
      if (revoked.every((each) => each.length === 0)) return [];
      const serving = new Set([...plugins.current().plugins.values()].map(({ sourceHash }) => sourceHash));
      const unfinished = await deps.store.pluginSources.countUnfinished();
      return revoked
        .flat()
        .map((each) => ({
          ...each,
          serves: serving.has(each.sha256),
          unfinishedTasks: unfinished.get(each.sha256) ?? 0,
        }))
        .filter(({ serves, unfinishedTasks }) => serves || unfinishedTasks > 0);
    },
  };
}

const untrusted = ({ reason, known, seen }: MarketTrust & { state: 'refused' }) => ({
  reason,
  known_key: known.text,
  seen_key: seen?.text ?? null,
});

/** The manifest of a source, or the faults for which an upload would refuse it. */
async function checkManifest(
  plugins: Deps['plugins'],
  source: string,
): Promise<{ manifest?: Manifest; errors: PluginFault[] }> {
  try {
    return { manifest: await plugins.check(source), errors: [] };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'plugins.invalid') throw error;
    return { errors: (error.details as { errors: PluginFault[] }).errors };
  }
}

async function currentVersion(plugins: Deps['plugins'], key: string): Promise<OfferedSource['current']> {
  const detail = (await plugins.list()).some((each) => each.key === key) ? await plugins.detail(key) : undefined;
  if (!detail) return null;
  const version = detail.plugin?.version ?? detail.meta?.version ?? '';
  return { version, source: detail.source, sourceHash: detail.sourceHash };
}
