import type { Result, Sentence } from '../../kernel/index.ts';
import type { PublicKey } from '../signing/signing-keys.ts';
import type { ContractNeed, LocalizedText } from '../types.ts';

/**
 * A marketplace that an administrator has entered. `indexUrl` is `https:`, `http:` or `file:`;
 * `publicKey` is the key that its index must be signed with, in minisign's form.
 */
export type MarketSource = { name: string; indexUrl: string; publicKey?: string };

export type MarketVersion = {
  version: string;
  /** URL of its source, on the origin of the index. */
  url: string;
  /** SHA-256 of its source, in lower-case hex. */
  sha256: string;
  minApiVersion: number;
  /** `allowedHosts` and `baseUrl` according to the index. Only the plugin's own manifest counts. */
  allowedHosts: string[];
  baseUrl?: string;
};

export type MarketIcon = { url: string; sha256?: string; mimeType: 'image/svg+xml' | 'image/png' };

export type MarketPlugin = {
  key: string;
  name: string;
  description?: LocalizedText;
  /** A name of the icon library, `text` or `text:<label>`. */
  icon?: string;
  iconFile?: MarketIcon;
  sortPriority: number;
  website?: string;
  channelTypes: number[];
  models: string[];
  /** One of `versions`. */
  latest: string;
  /** The versions that can be installed, the newest first; never empty. */
  versions: MarketVersion[];
};

/**
 * A part of an index that is ignored, and why. `index` is the position in `plugins`. `needs`: it
 * was made for a newer contract, and needs this of it.
 */
export type MarketRemark = Sentence & { index: number; key?: string; version?: string; needs?: ContractNeed[] };

/** A version that its publisher has taken back. It is not offered. */
export type MarketRevocation = { key: string; version: string; sha256: string; reason: string };

export type MarketIndex = {
  name: string;
  /** What a signed index has: its number, unix seconds of its end, and the key that signs it. */
  serial?: number;
  expiresAt?: number;
  publicKey?: PublicKey;
  revoked: MarketRevocation[];
  /** By descending priority, then by key. */
  plugins: MarketPlugin[];
  /** Plugins and versions that cannot be installed. */
  skipped: MarketRemark[];
  /** Wrong details that are not displayed: a website, an icon, a priority. */
  hidden: MarketRemark[];
};

export type MarketFile = 'index' | 'signature' | 'hand-over' | 'source' | 'icon' | 'changelog';

/** Why a file was not read. `isAbsent`: there is no such file. */
export type ReadFault = Sentence & { isAbsent: boolean };

/** Reads a file of a source. */
export type ReadMarketFile = (
  source: MarketSource,
  url: string,
  what: MarketFile,
) => Promise<Result<Uint8Array, ReadFault>>;
