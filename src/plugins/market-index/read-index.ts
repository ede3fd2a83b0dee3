/** Reads a marketplace's index: what it offers, and why the rest of it is left out. */
import schema from '../../../contracts/v1.schema.json';
import {
  err,
  isObject,
  type Json,
  ok,
  parseJson,
  type Result,
  type Sentence,
  sanitizeMessage,
  sentence,
} from '../../kernel/index.ts';
import { isWebsite, normalizeAllowedHost, normalizeBaseUrl } from '../manifest/addresses.ts';
import { describeNeeds } from '../manifest/faults.ts';
import { canonicalLocale } from '../manifest/localized-text.ts';
import { parsePublicKey } from '../signing/signing-keys.ts';
import type { ContractNeed, LocalizedText } from '../types.ts';
import { compareVersions, newestVersion } from './order-versions.ts';
import type { MarketIcon, MarketIndex, MarketPlugin, MarketRemark, MarketRevocation, MarketVersion } from './types.ts';

const INDEX_VERSION = 1;
/** Limits of one index. What is beyond is not read. */
const MAX_ENTRIES = 2000;
const MAX_VERSIONS = 100;
const MAX_REMARKS = 500;
/** Limits of the lists of one plugin or version, far above what a plugin can use. */
const MAX_MODELS = 500;
const MAX_CHANNEL_TYPES = 64;
const MAX_HOSTS = 64;
const MAX_LOCALES = schema.$defs.LocalizedText.maxProperties;
/** Limit of all versions, list items and texts together, which the gateway's thread copies. */
const MAX_DETAILS = 50_000;
/** Most characters of a displayed text, as in a manifest. */
const MAX_TEXT = 512;

const KEY = new RegExp(schema.properties.key.pattern);
const VERSION = new RegExp(schema.properties.version.pattern);
const ICON = new RegExp(schema.properties.icon.pattern);
const WEBSITE = new RegExp(schema.properties.website.pattern, 'u');
const LOCALE = /^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$/;

/**
 * Reads a marketplace index (version 1) whose URL is `base`. Entries that cannot be installed are
 * skipped with a reason; wrong details that are only displayed are hidden. Every URL in the result
 * is on the origin of `base`. Fails if the text is not an index at all.
 */
export function readIndex(text: string, base: URL): Result<MarketIndex, Sentence> {
  // Browsers drop the byte-order mark, which some editors write.
  const index = parseJson(text.replace(/^\uFEFF/, ''));
  if (index === undefined) return err(sentence('market.not_json'));
  if (!isObject(index)) return err(sentence('market.not_object'));
  const { indexVersion, name, plugins } = index;
  if (indexVersion !== INDEX_VERSION) {
    return err(sentence('market.version', { version: INDEX_VERSION }));
  }
  if (!Array.isArray(plugins)) return err(sentence('market.no_plugins'));

  const reading = new Reading(base);
  for (const [at, entry] of plugins.slice(0, MAX_ENTRIES).entries()) reading.add(at, entry);
  if (plugins.length > MAX_ENTRIES) {
    reading.skip({ index: MAX_ENTRIES }, sentence('index.entries_max', { max: MAX_ENTRIES }));
  }
  const { skipped, hidden, revoked } = reading;
  const sorted = [...reading.plugins.values()].sort(
    (a, b) => b.sortPriority - a.sortPriority || (a.key < b.key ? -1 : 1),
  );
  return ok({ name: readLine(name) ?? '', ...readSigned(index), plugins: sorted, revoked, skipped, hidden });
}

/** What only a signed index must have; what is wrong counts as missing. */
function readSigned({
  serial,
  expires_at: expiresAt,
  public_key: key,
}: Record<string, unknown>): Pick<MarketIndex, 'serial' | 'expiresAt' | 'publicKey'> {
  const publicKey = typeof key === 'string' ? parsePublicKey(key) : undefined;
  return {
    ...(isCount(serial) ? { serial } : {}),
    ...(isCount(expiresAt) ? { expiresAt } : {}),
    ...(publicKey ? { publicKey } : {}),
  };
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

type EntryPosition = { index: number; key?: string; version?: string };
type ListLimit = { name: string; max: number; position: EntryPosition };

class Reading {
  readonly plugins = new Map<string, MarketPlugin>();
  readonly skipped: MarketRemark[] = [];
  readonly hidden: MarketRemark[] = [];
  readonly revoked: MarketRevocation[] = [];
  private readonly base: URL;
  private detailsLeft = MAX_DETAILS;

  constructor(base: URL) {
    this.base = base;
  }

  skip(position: EntryPosition, said: Sentence, needs?: ContractNeed[]): undefined {
    if (this.skipped.length < MAX_REMARKS) this.skipped.push({ ...position, ...said, ...(needs ? { needs } : {}) });
  }

  private hide(position: EntryPosition, said: Sentence): void {
    if (this.hidden.length < MAX_REMARKS) this.hidden.push({ ...position, ...said });
  }

  add(index: number, entry: unknown): void {
    const plugin = this.read(index, entry);
    if (plugin) this.plugins.set(plugin.key, plugin);
  }

  private read(index: number, entry: unknown): MarketPlugin | undefined {
    if (!isObject(entry)) return this.skip({ index }, sentence('index.entry_object'));
    const { key } = entry;
    if (typeof key !== 'string' || key.length > schema.properties.key.maxLength || !KEY.test(key)) {
      return this.skip({ index }, sentence('index.key_form'));
    }
    const position = { index, key };
    const name = readLine(entry.name);
    if (name === undefined) return this.skip(position, sentence('index.name_missing'));
    if (this.plugins.has(key)) return this.skip(position, sentence('index.key_twice'));
    const versions = this.readVersions(entry.versions, position);
    const [newest] = versions;
    if (!newest) return undefined;

    const names = versions.map(({ version }) => version);
    const latest = typeof entry.latest === 'string' && names.includes(entry.latest) ? entry.latest : undefined;
    if (latest === undefined) this.hide(position, sentence('index.latest'));
    return {
      key,
      name,
      ...this.readDetails(entry, position),
      channelTypes: this.readList(
        entry.channelTypes,
        { name: 'channelTypes', max: MAX_CHANNEL_TYPES, position },
        (type) => (Number.isSafeInteger(type) ? Number(type) : undefined),
      ),
      models: this.readList(entry.models, { name: 'models', max: MAX_MODELS, position }, readLine),
      latest: latest ?? newestVersion(names) ?? newest.version,
      versions,
    };
  }

  private readVersions(value: unknown, position: EntryPosition): MarketVersion[] {
    if (!Array.isArray(value) || value.length === 0) {
      this.skip(position, sentence('index.versions'));
      return [];
    }
    const versions: MarketVersion[] = [];
    for (const entry of this.take(value, { name: 'versions', max: MAX_VERSIONS, position })) {
      const known = isObject(entry) && typeof entry.version === 'string' && VERSION.test(entry.version);
      const at = known ? { ...position, version: String(entry.version) } : position;
      const read = this.readVersion(entry, at);
      if (isObject(entry) && this.readRevoked(entry, at)) continue;
      const needed = isObject(entry) ? findNewerApi(entry.minApiVersion) : undefined;
      if (needed !== undefined)
        this.skip(at, sentence('index.newer_contract', { needs: describeNeeds([needed]) }), [needed]);
      else if (!read.ok) this.skip(at, read.error);
      else if (versions.some(({ version }) => version === read.value.version))
        this.skip(at, sentence('index.version_twice'));
      else versions.push(read.value);
    }
    return versions.sort((a, b) => compareVersions(b.version, a.version));
  }

  /** Notes a version that was revoked, whatever else is wrong with it. */
  private readRevoked({ revoked, sha256 }: Record<string, unknown>, { key, version }: EntryPosition): boolean {
    if (revoked === undefined || revoked === null || revoked === false) return false;
    const reason = (isObject(revoked) ? readLine(revoked.reason as Json) : undefined) ?? 'no reason given';
    const hash = readHash(sha256);
    const isKnown = key !== undefined && version !== undefined && hash !== undefined;
    if (isKnown && this.revoked.length < MAX_REMARKS) this.revoked.push({ key, version, sha256: hash, reason });
    return true;
  }

  private readVersion(entry: unknown, position: EntryPosition): Result<MarketVersion, Sentence> {
    if (!isObject(entry)) return err(sentence('index.version_object'));
    const { version, path, sha256, minApiVersion = 1, kind } = entry;
    if (typeof version !== 'string' || !VERSION.test(version)) return err(sentence('index.version_form'));
    if (kind !== 'task') return err(sentence('index.kind'));
    if (!Number.isSafeInteger(minApiVersion)) return err(sentence('index.whole', { name: 'minApiVersion' }));
    const hash = readHash(sha256);
    if (hash === undefined) return err(sentence('index.sha256'));
    const url = this.resolve(path);
    if (!url.ok) return url;
    const baseUrl = typeof entry.baseUrl === 'string' ? normalizeBaseUrl(entry.baseUrl) : undefined;
    return ok({
      version,
      url: url.value,
      sha256: hash,
      minApiVersion: Number(minApiVersion),
      allowedHosts: this.readList(entry.allowedHosts, { name: 'allowedHosts', max: MAX_HOSTS, position }, (item) => {
        const host = typeof item === 'string' ? normalizeAllowedHost(item) : undefined;
        return host?.ok ? host.value : undefined;
      }),
      ...(baseUrl?.ok ? { baseUrl: baseUrl.value } : {}),
    });
  }

  /** The details that are displayed beside the name. Wrong ones are left out. */
  private readDetails(
    { description, icon, iconFile, sortPriority, website }: Record<string, unknown>,
    position: EntryPosition,
  ): Pick<MarketPlugin, 'description' | 'icon' | 'iconFile' | 'sortPriority' | 'website'> {
    const text = description === undefined ? undefined : this.readText(description, position);
    if (description !== undefined && !text) this.hide(position, sentence('index.description'));
    const hasValidPriority = sortPriority === undefined || isInt32(sortPriority);
    if (!hasValidPriority) this.hide(position, sentence('index.sort_priority'));
    const site = typeof website === 'string' && website !== '' && WEBSITE.test(website) && isWebsite(website);
    if (website !== undefined && website !== '' && !site) {
      this.hide(position, sentence('index.website'));
    }
    const glyph =
      typeof icon === 'string' && icon !== '' && icon.length <= schema.properties.icon.maxLength && ICON.test(icon);
    if (icon !== undefined && icon !== '' && !glyph) this.hide(position, sentence('index.icon'));
    const file = iconFile === undefined ? undefined : this.readIconFile(iconFile);
    if (file && !file.ok) this.hide(position, sentence('index.icon_file', { fault: file.error }));
    return {
      ...(text ? { description: text } : {}),
      ...(glyph ? { icon: String(icon) } : {}),
      ...(file?.ok ? { iconFile: file.value } : {}),
      sortPriority: hasValidPriority && sortPriority !== undefined ? Number(sortPriority) : 0,
      ...(site ? { website: String(website) } : {}),
    };
  }

  /** What is read of a list; what is beyond the limits is not, and a remark says so. */
  private take<T>(items: readonly T[], { name, max, position }: ListLimit): T[] {
    const taken = items.slice(0, Math.min(max, this.detailsLeft));
    this.detailsLeft -= taken.length;
    if (items.length > max) {
      if (name === 'versions') this.skip(position, sentence('index.versions_max', { max }));
      else this.hide(position, sentence('index.list_max', { name, max }));
    } else if (taken.length < items.length) this.hide(position, sentence('index.details_max', { max: MAX_DETAILS }));
    return taken;
  }

  private readList<T>(value: unknown, limit: ListLimit, read: (item: unknown) => T | undefined): T[] {
    if (!Array.isArray(value)) return [];
    return this.take(value, limit)
      .map(read)
      .filter((item): item is T & {} => item !== undefined);
  }

  /**
   * Both forms of a text as a map by canonical locale. Without `en`, the first text is used for it.
   */
  private readText(value: unknown, position: EntryPosition): LocalizedText | undefined {
    const given = typeof value === 'string' ? { en: value } : isObject(value) ? value : {};
    const limit = { name: 'description', max: MAX_LOCALES, position };
    const texts = this.take(Object.keys(given), limit).flatMap((tag): [string, string][] => {
      const line = readLine(given[tag]);
      return LOCALE.test(tag) && line !== undefined ? [[canonicalLocale(tag), line]] : [];
    });
    const [first] = texts;
    return first && { en: first[1], ...Object.fromEntries(texts) };
  }

  private readIconFile(value: unknown): Result<MarketIcon, Sentence> {
    if (!isObject(value)) return err(sentence('index.file_object', { name: 'iconFile' }));
    const url = this.resolve(value.path);
    if (!url.ok) return url;
    const ending = /\.(svg|png)$/i.exec(new URL(url.value).pathname)?.[1]?.toLowerCase();
    if (ending === undefined) return err(sentence('index.file_ending', { name: 'path' }));
    const sha256 = readHash(value.sha256);
    if (value.sha256 !== undefined && sha256 === undefined) return err(sentence('index.sha256'));
    const mimeType = ending === 'svg' ? ('image/svg+xml' as const) : ('image/png' as const);
    return ok({ url: url.value, mimeType, ...(sha256 === undefined ? {} : { sha256 }) });
  }

  /** Resolves a path of the index to a URL on the same origin. */
  private resolve(path: unknown): Result<string, Sentence> {
    if (typeof path !== 'string' || path === '' || /[\s\p{Cc}\\#]/u.test(path)) {
      return err(sentence('index.path_form', { name: 'path' }));
    }
    if (!URL.canParse(path, this.base)) return err(sentence('index.path_valid', { name: 'path' }));
    const url = new URL(path, this.base);
    // `file:` URLs have no origin; `readMirror` checks that they are inside the folder.
    const isSameOrigin =
      url.protocol === 'file:' ? this.base.protocol === 'file:' && url.host === '' : url.origin === this.base.origin;
    if (!isSameOrigin) return err(sentence('index.path_origin', { name: 'path' }));
    if (url.username !== '' || url.password !== '') return err(sentence('index.credentials', { name: 'path' }));
    return ok(url.href);
  }
}

const readHash = (value: unknown): string | undefined =>
  typeof value === 'string' && /^[0-9a-f]{64}$/i.test(value) ? value.toLowerCase() : undefined;

/** What an entry needs of a newer contract. */
const findNewerApi = (version: unknown): ContractNeed | undefined =>
  Number.isSafeInteger(version) && Number(version) > 1 ? { code: 'api', version: Number(version) } : undefined;

const isInt32 = (value: unknown): boolean => typeof value === 'number' && (value | 0) === value;

function readLine(value: unknown): string | undefined {
  const line = typeof value === 'string' ? sanitizeMessage(value, MAX_TEXT) : '';
  return line === '' ? undefined : line;
}
