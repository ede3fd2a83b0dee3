import type { Result } from '../../kernel/index.ts';
import type { LocalizedText } from '../types.ts';

/** A marketplace that an administrator has entered. `indexUrl` is `https:`, `http:` or `file:`. */
export type MarketSource = { name: string; indexUrl: string };

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

/** A part of an index that is ignored, and why. `index` is the position in `plugins`. */
export type MarketRemark = { index: number; key?: string; version?: string; reason: string };

export type MarketIndex = {
  name: string;
  /** By descending priority, then by key. */
  plugins: MarketPlugin[];
  /** Plugins and versions that cannot be installed. */
  skipped: MarketRemark[];
  /** Wrong details that are not displayed: a website, an icon, a priority. */
  hidden: MarketRemark[];
};

export type MarketFile = 'index' | 'source' | 'icon';

/** Reads a file of a source. The error is a sentence for administrators. */
export type ReadMarketFile = (
  source: MarketSource,
  url: string,
  what: MarketFile,
) => Promise<Result<Uint8Array, string>>;
