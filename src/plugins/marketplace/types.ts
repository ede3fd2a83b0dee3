import type { Result } from '../../kernel/index.ts';
import type { LocalizedText } from '../types.ts';

/**
 * A marketplace that an administrator has entered: the address of its index, `https:`, `http:` or
 * `file:`.
 */
export type MarketSource = { name: string; indexUrl: string };

export type MarketVersion = {
  version: string;
  /** Where its source is, on the origin of the index. */
  url: string;
  /** SHA-256 of its source in lower-case hex. */
  sha256: string;
  minApiVersion: number;
  /**
   * What the index says of the plugin's `allowedHosts` and `baseUrl`; the plugin's own manifest is
   * what counts.
   */
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
  /** Those that can be installed, the newest first; never empty. */
  versions: MarketVersion[];
};

/** A part of an index that does not count, and why. `index` is the place in `plugins`. */
export type MarketRemark = { index: number; key?: string; version?: string; reason: string };

export type MarketIndex = {
  name: string;
  /** Higher priority first, then by key. */
  plugins: MarketPlugin[];
  /** Plugins and versions that cannot be installed. */
  skipped: MarketRemark[];
  /** Details that are wrong and not shown: a website, an icon, a priority. */
  hidden: MarketRemark[];
};

export type MarketFile = 'index' | 'source' | 'icon';

/** The bytes of a file of a source, or why there are none, in a sentence for an administrator. */
export type ReadMarketFile = (
  source: MarketSource,
  url: string,
  what: MarketFile,
) => Promise<Result<Uint8Array, string>>;
