import { relative, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Sentence, sha256Hex } from '../../kernel/index.ts';
import type { Sandbox } from '../../sandbox/index.ts';
import { openPlugin } from '../author/open-plugin.ts';
import { readIcon } from '../icons/check-icon.ts';
import { pointer } from '../manifest/faults.ts';
import { readIndex } from '../market-index/read-index.ts';
import type { MarketFile, MarketIndex, MarketPlugin, MarketVersion } from '../market-index/types.ts';
import { hashData, readSignature, verifySignature } from '../signing/signature.ts';
import type { PublicKey } from '../signing/signing-keys.ts';
import { createCompiler } from '../worker/compile-plugin.ts';
import { SIGNATURE_ENDING } from './check-trust.ts';
import { compareEntry } from './compare-entry.ts';
import { decodeText, MARKET_FILE_BYTES, readMirror } from './fetch-file.ts';
import type { MarketFault } from './write-index.ts';

export type CheckedMarket = { faults: MarketFault[]; name: string; plugins: number; versions: number };

const INDEX = 'index.json';

/**
 * Checks `index.json` of a folder against the folder: every entry can be installed and is shown as
 * written, every file exists with its hash, every plugin compiles and matches its entry. The
 * signature is checked by `publicKey`, else by the key that the index names; `now` is in unix
 * seconds.
 */
export async function checkFolder(
  folder: string,
  sandbox: Sandbox,
  signed?: { publicKey: PublicKey | undefined; now: number },
): Promise<CheckedMarket> {
  const root = resolve(folder);
  const base = pathToFileURL(`${root}${sep}${INDEX}`);
  const faults: MarketFault[] = [];
  const compiler = createCompiler(sandbox);
  const failed = ({ message }: Sentence): CheckedMarket => {
    faults.push({ file: INDEX, path: 'source', rule: 'market.index', message });
    return { faults, name: '', plugins: 0, versions: 0 };
  };
  /** Reads a file, and checks its hash if the index has one. */
  async function readFile(file: { url: string; sha256?: string }, what: MarketFile): Promise<Uint8Array | undefined> {
    const name = toPath(root, file.url);
    const bytes = await readMirror(root, new URL(file.url), MARKET_FILE_BYTES[what]);
    if (!bytes.ok) faults.push({ file: name, path: 'source', rule: 'market.file', message: bytes.error.message });
    else if (file.sha256 !== undefined && sha256Hex(bytes.value) !== file.sha256) {
      const hint = 'Write the index again with "marketplace build", or restore the file.';
      faults.push({
        file: name,
        path: 'source',
        rule: 'market.hash',
        message: 'has another SHA-256 than in the index',
        hint,
      });
    } else return bytes.value;
    return undefined;
  }
  async function checkVersion(plugin: MarketPlugin, version: MarketVersion): Promise<void> {
    const bytes = await readFile(version, 'source');
    if (!bytes) return;
    const file = toPath(root, version.url);
    const text = decodeText(bytes);
    if (!text.ok) {
      faults.push({ file, path: 'source', rule: 'market.file', ...text.error });
      return;
    }
    const opened = await openPlugin(text.value, sandbox, compiler);
    if (!opened.ok) faults.push(...opened.error.map((fault) => ({ ...fault, file })));
    else {
      const differences = compareEntry(plugin, version, opened.value.manifest);
      faults.push(...differences.map((said) => ({ file, path: 'meta', rule: 'market.entry', ...said })));
    }
  }

  const bytes = await readMirror(root, base, MARKET_FILE_BYTES.index);
  if (!bytes.ok) return failed(bytes.error);
  const text = decodeText(bytes.value);
  const index = text.ok ? readIndex(text.value, base) : text;
  if (!index.ok) return failed(index.error);
  const { name, plugins, skipped, hidden } = index.value;
  const key = signed?.publicKey ?? index.value.publicKey;
  if (key) {
    const file = `${INDEX}${SIGNATURE_ENDING}`;
    const signature = await readMirror(root, new URL(`${base.href}${SIGNATURE_ENDING}`), MARKET_FILE_BYTES.signature);
    const text = signature.ok ? Buffer.from(signature.value).toString('utf8') : '';
    const problem = signature.ok
      ? findSignatureFault({ key, bytes: bytes.value, signature: text, index: index.value, now: signed?.now ?? 0 })
      : signature.error.message;
    if (problem !== undefined) faults.push({ file, path: 'source', rule: 'market.signature', message: problem });
  }
  for (const { index: at, key, version, message } of [...skipped, ...hidden]) {
    const subject = key === undefined ? '' : `${key}${version === undefined ? '' : `@${version}`}: `;
    faults.push({ file: INDEX, path: pointer('plugins', at), rule: 'market.entry', message: `${subject}${message}` });
  }
  for (const plugin of plugins) {
    for (const version of plugin.versions) await checkVersion(plugin, version);
    const icon = plugin.iconFile;
    const image = icon && (await readFile(icon, 'icon'));
    if (!icon || !image) continue;
    const checked = readIcon(`data:${icon.mimeType};base64,${Buffer.from(image).toString('base64')}`);
    if (!checked.ok) {
      faults.push({ file: toPath(root, icon.url), path: 'icon', rule: 'market.icon', ...checked.error });
    }
  }
  const versions = plugins.reduce((sum, each) => sum + each.versions.length, 0);
  return { faults, name, plugins: plugins.length, versions };
}

type SignedIndex = { key: PublicKey; bytes: Uint8Array; signature: string; index: MarketIndex; now: number };

function findSignatureFault({ key, bytes, signature: text, index, now }: SignedIndex): string | undefined {
  const signature = readSignature(text);
  if (!signature) return 'is not a signature of minisign of a hashed file';
  if (signature.keyId !== key.id) return `is by the key ${signature.keyId}, not by ${key.id}`;
  if (!verifySignature(key, hashData(bytes), signature)) return `does not belong to ${INDEX} and the key ${key.id}`;
  if (index.publicKey?.text !== key.text) return `${INDEX} names another public_key, or none`;
  if (index.serial === undefined || index.expiresAt === undefined) return `${INDEX} has no serial or no expires_at`;
  return index.expiresAt < now ? `${INDEX} ended at ${new Date(index.expiresAt * 1000).toISOString()}` : undefined;
}

/** The path of a file relative to the folder. */
function toPath(root: string, url: string): string {
  try {
    return relative(root, fileURLToPath(url));
  } catch {
    return url;
  }
}
