import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describeBytes, isObject, type Json, parseJson, sha256Hex } from '../../kernel/index.ts';
import type { Sandbox } from '../../sandbox/index.ts';
import { openPlugin } from '../author/open-plugin.ts';
import { readIcon } from '../icons/check-icon.ts';
import { compareVersions, newestVersion } from '../market-index/order-versions.ts';
import { readIndex } from '../market-index/read-index.ts';
import type { PublicKey } from '../signing/signing-keys.ts';
import type { Manifest, PluginFault } from '../types.ts';
import { createCompiler } from '../worker/compile-plugin.ts';
import { decodeText, MARKET_FILE_BYTES } from './fetch-file.ts';
import { findReason, type Revocations, revokedEntries } from './publish-revoked.ts';

/** A fault of a file; `file` is relative to the folder. */
export type MarketFault = PluginFault & { file: string };

export type WrittenIndex = {
  faults: MarketFault[];
  name: string;
  plugins: number;
  versions: number;
  /** A folder always gives one text, until a signed index must be renewed. */
  text: string;
  /** A signed index has it. */
  serial?: number;
  /** The key that the index before names. */
  keyBefore?: PublicKey;
};

export type IndexToWrite = {
  folder: string;
  out: string;
  name?: string | undefined;
  /** Names the key in the index, and numbers and dates it. `now` is in unix seconds. */
  sign?: { publicKey: PublicKey; now: number; days: number } | undefined;
  revocations?: Revocations | undefined;
};

type Published = { file: string; manifest: Manifest; sha256: string };

/**
 * Builds the index of the plugins in `folder`, with paths relative to the file `out`. An existing
 * index at `out` gives the name and what it has revoked; its versions cannot get another source.
 *
 * @throws the platform's error when a file cannot be read
 */
export async function writeIndex(
  { folder, out, name, sign, revocations }: IndexToWrite,
  sandbox: Sandbox,
): Promise<WrittenIndex> {
  const faults: MarketFault[] = [];
  const earlier = readEarlier({ folder, out, faults });
  if (earlier.publicKey && !sign) {
    const hint = 'Name the key with --sign: gateways that know it refuse an index without signature.';
    faults.push({ file: relative(folder, out), path: 'source', rule: 'market.sign', message: 'is signed', hint });
  }
  const found: Published[] = [];
  const compiler = createCompiler(sandbox);
  for (const { path, named } of findSources(folder)) {
    const fault = (rule: string, message: string, hint: string) =>
      faults.push({ file: path, path: 'meta', rule, message, hint });
    const bytes = readFileSync(join(folder, path));
    const text = decodeText(bytes);
    if (!text.ok) {
      fault('market.file', text.error.message, 'Save it as UTF-8.');
      continue;
    }
    const opened = await openPlugin(text.value, sandbox, compiler);
    if (!opened.ok) {
      faults.push(...opened.error.map((each) => ({ ...each, file: path })));
      continue;
    }
    const { manifest } = opened.value;
    const { key, version } = manifest;
    const sha256 = sha256Hex(bytes);
    if (named && (named.key !== key || named.version !== version)) {
      fault('market.name', `is ${key}@${version}`, `Move it to ${key}/${version}.js.`);
    }
    const duplicate = found.find((each) => each.manifest.key === key && each.manifest.version === version);
    if (duplicate)
      fault('market.unique', `is ${key}@${version} as ${duplicate.file} is`, 'Give one of them another version.');
    const before = earlier.hashes.get(`${key}@${version}`);
    if (before !== undefined && before !== sha256) {
      fault(
        'market.hash',
        `${key}@${version} is published with another source`,
        'Gateways that have the version would refuse it. Give the changed source a new version.',
      );
    }
    found.push({ file: path, manifest, sha256 });
  }
  const revokedBefore = revokedEntries(earlier.raw);
  if (found.length === 0 && revokedBefore.size === 0 && faults.length === 0) {
    const message = 'there is no plugin in the folder';
    faults.push({ file: '.', path: 'source', rule: 'market.empty', message, hint: 'Put it at KEY/VERSION.js.' });
  }

  const entries = new Map<string, Entry>();
  for (const key of [...new Set([...found.map(({ manifest }) => manifest.key), ...revokedBefore.keys()])].sort()) {
    const versions = found.filter(({ manifest }) => manifest.key === key);
    const reason = (version: string) => findReason(`${key}@${version}`, revocations, revokedBefore);
    const gone = (revokedBefore.get(key)?.versions ?? []).filter(
      ({ version }) =>
        !versions.some(({ manifest }) => manifest.version === version) && reason(String(version)) !== undefined,
    );
    if (versions.length > 0) entries.set(key, toEntry(versions, { folder, out, faults, gone, reason }));
    else if (gone.length > 0) entries.set(key, { ...(revokedBefore.get(key)?.entry as Entry), versions: gone });
  }
  for (const named of revocations?.keys() ?? []) {
    const has = (key: string, entry: Entry) => entry.versions.some(({ version }) => `${key}@${version}` === named);
    if ([...entries].some(([key, entry]) => has(key, entry))) continue;
    const message = `there is no version ${named} to revoke`;
    faults.push({ file: '.', path: 'source', rule: 'market.revoked', message, hint: 'Name it KEY@VERSION.' });
  }
  const content = {
    indexVersion: 1,
    name: name ?? earlier.name ?? basename(resolve(folder)),
    ...(sign ? { public_key: sign.publicKey.text } : {}),
    plugins: [...entries.values()],
  };
  const numbered = sign && numberIndex(content, earlier, sign);
  const { indexVersion, ...others } = content;
  const index = { indexVersion, ...numbered, ...others };
  const text = `${JSON.stringify(index, null, 2)}\n`;
  if (Buffer.byteLength(text) > MARKET_FILE_BYTES.index) {
    const message = `the index would be larger than ${describeBytes(MARKET_FILE_BYTES.index)}, which gateways refuse`;
    faults.push({ file: '.', path: 'source', rule: 'market.size', message });
  }
  return {
    ...{ faults, name: index.name, plugins: entries.size, versions: found.length, text },
    ...(numbered ? { serial: numbered.serial } : {}),
    ...(earlier.publicKey ? { keyBefore: earlier.publicKey } : {}),
  };
}

type Numbered = { serial: number; expires_at: number };

/**
 * The number and the end of a signed index. They stay while the rest does, until half of the time
 * is over. The number is at least the time, so that it grows even if the index before is lost.
 */
function numberIndex(content: object, { raw }: Earlier, sign: NonNullable<IndexToWrite['sign']>): Numbered {
  const { now, days } = sign;
  const { serial, expires_at: end, ...before } = isObject(raw) ? raw : {};
  const isSame = JSON.stringify(before) === JSON.stringify(content);
  if (isSame && typeof serial === 'number' && typeof end === 'number' && end > now + days * 43_200)
    return { serial, expires_at: end };
  const next = typeof serial === 'number' ? serial + 1 : 1;
  return { serial: Math.max(next, now), expires_at: now + days * 86_400 };
}

type Earlier = { name?: string; publicKey?: PublicKey; hashes: ReadonlyMap<string, string>; raw?: Json | undefined };

/** The index that is there already: its name, its key and the hashes of its versions. */
function readEarlier({ folder, out, faults }: Omit<Output, 'gone' | 'reason'>): Earlier {
  if (!existsSync(out)) return { hashes: new Map() };
  const text = readFileSync(out, 'utf8');
  const index = readIndex(text, pathToFileURL(out));
  if (index.ok) {
    const { name, publicKey, plugins, revoked } = index.value;
    const versions = [
      ...plugins.flatMap((plugin) => plugin.versions.map((each) => ({ ...each, key: plugin.key }))),
      ...revoked,
    ];
    return {
      ...(name === '' ? {} : { name }),
      ...(publicKey ? { publicKey } : {}),
      hashes: new Map(versions.map(({ key, version, sha256 }) => [`${key}@${version}`, sha256] as const)),
      raw: parseJson(text),
    };
  }
  const hint = 'Move it away, or name another file with --out.';
  faults.push({
    file: relative(folder, out),
    path: 'source',
    rule: 'market.index',
    message: `is not an index: ${index.error}`,
    hint,
  });
  return { hashes: new Map() };
}

type Output = {
  folder: string;
  out: string;
  faults: MarketFault[];
  /** Revoked versions whose files are gone, as the index before has them. */
  gone: readonly { [name: string]: Json }[];
  /** Why a version is revoked. */
  reason: (version: string) => string | undefined;
};

type Entry = { [name: string]: unknown; versions: { [name: string]: Json }[] };

/**
 * The entry of a plugin. Details of the plugin as a whole are those of its latest version that is
 * not revoked.
 */
function toEntry(versions: readonly Published[], output: Output): Entry {
  const sorted = [...versions].sort((a, b) => compareVersions(b.manifest.version, a.manifest.version));
  const names = sorted.map(({ manifest }) => manifest.version);
  const valid = names.filter((version) => output.reason(version) === undefined);
  const latest = newestVersion(valid.length > 0 ? valid : names);
  const shown = sorted.find(({ manifest }) => manifest.version === latest);
  if (!shown) throw new Error('an entry has at least one version');
  const { key, name, icon, description, sortPriority, website, channelTypes, models } = shown.manifest;
  const iconFile = findIcon(shown, output);
  return {
    key,
    name,
    ...(icon === undefined ? {} : { icon }),
    ...(iconFile === undefined ? {} : { iconFile }),
    ...(description === undefined ? {} : { description }),
    ...(sortPriority === 0 ? {} : { sortPriority }),
    ...(website === undefined ? {} : { website }),
    ...(channelTypes.length === 0 ? {} : { channelTypes }),
    models,
    latest,
    versions: [...sorted.map(versionEntry), ...output.gone],
  };

  function versionEntry({ file, manifest, sha256 }: Published): { [name: string]: Json } {
    const { version, apiVersion, allowedHosts, baseUrl } = manifest;
    const reason = output.reason(version);
    const auth = isObject(manifest.auth) ? manifest.auth.type : manifest.auth;
    return {
      version,
      path: toUrlPath(file, output),
      sha256,
      minApiVersion: apiVersion,
      kind: 'task',
      ...(allowedHosts.length === 0 ? {} : { allowedHosts }),
      ...(baseUrl === undefined ? {} : { baseUrl }),
      ...(typeof auth === 'string' ? { auth } : {}),
      ...(reason === undefined ? {} : { revoked: { reason } }),
    };
  }
}

/** `KEY.svg` or `KEY.png` beside the latest version. */
function findIcon(
  { file, manifest: { key } }: Published,
  output: Output,
): { path: string; sha256: string } | undefined {
  for (const [ending, mimeType] of [
    ['svg', 'image/svg+xml'],
    ['png', 'image/png'],
  ] as const) {
    const icon = join(dirname(file), `${key}.${ending}`).replaceAll(sep, '/');
    const path = join(output.folder, icon);
    const entry = lstatSync(path, { throwIfNoEntry: false });
    if (!entry) continue;
    // Links are not followed, as for sources: `readMirror` refuses files outside the folder.
    if (!entry.isFile()) {
      const hint = 'Put the image itself there; links are not followed.';
      output.faults.push({ file: icon, path: 'icon', rule: 'market.icon', message: 'is not a regular file', hint });
      return undefined;
    }
    const bytes = readFileSync(path);
    const image = readIcon(`data:${mimeType};base64,${bytes.toString('base64')}`);
    if (!image.ok) output.faults.push({ file: icon, path: 'icon', rule: 'market.icon', ...image.error });
    return { path: toUrlPath(icon, output), sha256: sha256Hex(bytes) };
  }
  return undefined;
}

/** The URL of a file, relative to the index. */
const toUrlPath = (file: string, { folder, out }: Pick<Output, 'folder' | 'out'>): string =>
  relative(dirname(resolve(out)), resolve(folder, file))
    .split(sep)
    .map(encodeURIComponent)
    .join('/');

/**
 * A plugin file. `path` is relative to the folder; `named` is the key and version that the path
 * gives it.
 */
type SourceFile = { path: string; named?: { key: string; version: string } };

const listVisible = (folder: string) =>
  readdirSync(folder, { withFileTypes: true }).filter(({ name }) => !name.startsWith('.'));

/**
 * The plugin files of a folder, `KEY/VERSION.js` and `*.js`, in alphabetical order. Links are not
 * followed, because everything that is published is in the folder.
 *
 * @throws the platform's error when the folder cannot be read
 */
function findSources(folder: string): SourceFile[] {
  const found: SourceFile[] = [];
  for (const entry of listVisible(folder)) {
    if (entry.isFile() && entry.name.endsWith('.js')) found.push({ path: entry.name });
    if (!entry.isDirectory()) continue;
    for (const file of listVisible(join(folder, entry.name))) {
      if (!file.isFile() || !file.name.endsWith('.js')) continue;
      const named = { key: entry.name, version: file.name.slice(0, -'.js'.length) };
      found.push({ path: `${entry.name}/${file.name}`, named });
    }
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}
