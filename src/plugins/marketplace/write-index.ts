import { existsSync, lstatSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isObject, sha256Hex } from '../../kernel/index.ts';
import type { Sandbox } from '../../sandbox/index.ts';
import { openPlugin } from '../author/open-plugin.ts';
import { readIcon } from '../service/check-icon.ts';
import { createCompiler } from '../source/compile-plugin.ts';
import type { Manifest, PluginFault } from '../types.ts';
import { decodeText, MARKET_FILE_BYTES } from './fetch-file.ts';
import { findSources } from './find-sources.ts';
import { compareVersions, newestVersion } from './order-versions.ts';
import { readIndex } from './read-index.ts';

/** A fault of a file; `file` is relative to the folder. */
export type MarketFault = PluginFault & { file: string };

export type WrittenIndex = {
  faults: MarketFault[];
  name: string;
  plugins: number;
  versions: number;
  /** The text of the index; the same for the same folder. */
  text: string;
};

type Published = { file: string; manifest: Manifest; sha256: string };

/**
 * Builds the index of the plugins in `folder`, with paths relative to the file `out`. An existing
 * index at `out` gives the name, and versions that it has cannot get another source.
 *
 * @throws the platform's error when a file cannot be read
 */
export async function writeIndex(
  { folder, out, name }: { folder: string; out: string; name?: string | undefined },
  sandbox: Sandbox,
): Promise<WrittenIndex> {
  const faults: MarketFault[] = [];
  const earlier = readEarlier({ folder, out, faults });
  const found: Published[] = [];
  const compiler = createCompiler(sandbox);
  for (const { path, named } of findSources(folder)) {
    const fault = (rule: string, message: string, hint: string) =>
      faults.push({ file: path, path: 'meta', rule, message, hint });
    const bytes = readFileSync(join(folder, path));
    const text = decodeText(bytes);
    if (!text.ok) {
      fault('market.file', text.error, 'Save it as UTF-8.');
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
  if (found.length === 0 && faults.length === 0) {
    const message = 'there is no plugin in the folder';
    faults.push({ file: '.', path: 'source', rule: 'market.empty', message, hint: 'Put it at KEY/VERSION.js.' });
  }

  const keys = [...new Set(found.map(({ manifest }) => manifest.key))].sort();
  const index = {
    indexVersion: 1,
    name: name ?? earlier.name ?? basename(resolve(folder)),
    plugins: keys.map((key) => {
      const versions = found.filter(({ manifest }) => manifest.key === key);
      return entryOf(versions, { folder, out, faults });
    }),
  };
  const text = `${JSON.stringify(index, null, 2)}\n`;
  if (Buffer.byteLength(text) > MARKET_FILE_BYTES.index) {
    const message = `the index would be larger than ${MARKET_FILE_BYTES.index} bytes, which gateways refuse`;
    faults.push({ file: '.', path: 'source', rule: 'market.size', message });
  }
  return { faults, name: index.name, plugins: keys.length, versions: found.length, text };
}

/** The index that is there already: its name and the hashes of its versions. */
function readEarlier({ folder, out, faults }: Output): { name?: string; hashes: ReadonlyMap<string, string> } {
  if (!existsSync(out)) return { hashes: new Map() };
  const index = readIndex(readFileSync(out, 'utf8'), pathToFileURL(out));
  if (index.ok) {
    const { name, plugins } = index.value;
    const hashes = plugins.flatMap(({ key, versions }) =>
      versions.map(({ version, sha256 }) => [`${key}@${version}`, sha256] as const),
    );
    return { ...(name === '' ? {} : { name }), hashes: new Map(hashes) };
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

type Output = { folder: string; out: string; faults: MarketFault[] };

/** The entry of a plugin. Details of the plugin as a whole are those of its latest version. */
function entryOf(versions: readonly Published[], output: Output): object {
  const sorted = [...versions].sort((a, b) => compareVersions(b.manifest.version, a.manifest.version));
  const latest = newestVersion(sorted.map(({ manifest }) => manifest.version));
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
    versions: sorted.map(({ file, manifest, sha256 }) => {
      const { version, apiVersion, allowedHosts, baseUrl } = manifest;
      const auth = isObject(manifest.auth) ? manifest.auth.type : manifest.auth;
      return {
        version,
        path: pathOf(file, output),
        sha256,
        minApiVersion: apiVersion,
        kind: 'task',
        ...(allowedHosts.length === 0 ? {} : { allowedHosts }),
        ...(baseUrl === undefined ? {} : { baseUrl }),
        ...(typeof auth === 'string' ? { auth } : {}),
      };
    }),
  };
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
    if (!image.ok) output.faults.push({ file: icon, path: 'icon', rule: 'market.icon', message: image.error });
    return { path: pathOf(icon, output), sha256: sha256Hex(bytes) };
  }
  return undefined;
}

/** The URL of a file, relative to the index. */
const pathOf = (file: string, { folder, out }: Output): string =>
  relative(dirname(resolve(out)), resolve(folder, file))
    .split(sep)
    .map(encodeURIComponent)
    .join('/');
