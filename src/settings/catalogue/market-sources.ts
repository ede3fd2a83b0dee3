import {
  err,
  hasHiddenCharacters,
  isObject,
  type Json,
  ok,
  parseJson,
  type Result,
  type Sentence,
  sentence,
} from '../../kernel/index.ts';

/**
 * A marketplace: `indexUrl` is the address of its index, `https:`, `http:` or `file:`; `publicKey`
 * is the key that its index must be signed with.
 */
type MarketSource = { name: string; indexUrl: string; publicKey?: string };

/** The public marketplaces of new-api, where the plugin contract comes from. */
export const DEFAULT_MARKET_SOURCES: readonly MarketSource[] = [
  { name: 'Official', indexUrl: 'https://www.newapi.ai/api/v1/plugins/index.json' },
  { name: 'GitHub', indexUrl: 'https://raw.githubusercontent.com/QuantumNous/new-api-plugins/main/index.json' },
];

/** The option that has the sources. */
export const MARKET_SOURCES = 'task_plugin.marketplace_sources';

const MAX_SOURCES = 20;
const MAX_NAME = 60;
const MAX_URL = 500;
/** A public key of minisign: 42 bytes in Base64, of which the first two are "Ed". */
const PUBLIC_KEY = /^RW[QRST][A-Za-z0-9+/]{53}$/;

/** `field` is a path such as `1.index_url`, or empty for the list; `message` is a sentence. */
export type SourceFault = Sentence & { field: string };

/**
 * Reads `[{name, index_url, public_key?}]`, or returns its first fault. An empty list means no
 * marketplace.
 */
export function parseMarketSources(value: Json | undefined): Result<MarketSource[], SourceFault> {
  if (!Array.isArray(value) || value.length > MAX_SOURCES) {
    return err({
      field: '',
      ...sentence('sources.list', { max: MAX_SOURCES }),
    });
  }
  const sources: MarketSource[] = [];
  for (const [index, entry] of value.entries()) {
    const fault = (field: string, said: Sentence) => err({ field: field ? `${index}.${field}` : `${index}`, ...said });
    if (!isObject(entry)) return fault('', sentence('sources.object', { number: index + 1 }));
    const { name, index_url: indexUrl, public_key: publicKey, ...others } = entry;
    const [unknown] = Object.keys(others);
    if (unknown !== undefined) {
      return fault(unknown.slice(0, MAX_NAME), sentence('sources.field', { number: index + 1 }));
    }
    if (typeof name !== 'string' || name !== name.trim() || !/^.{1,60}$/u.test(name) || hasHiddenCharacters(name)) {
      return fault('name', sentence('sources.name', { number: index + 1, max: MAX_NAME }));
    }
    if (sources.some((other) => other.name.toLowerCase() === name.toLowerCase())) {
      return fault('name', sentence('sources.name_taken', { number: index + 1 }));
    }
    const problem = typeof indexUrl === 'string' ? faultOfUrl(indexUrl) : sentence('sources.url_missing');
    if (problem !== undefined)
      return fault('index_url', sentence('sources.url', { number: index + 1, fault: problem }));
    const isKey = typeof publicKey === 'string' && PUBLIC_KEY.test(publicKey);
    if (publicKey !== undefined && publicKey !== null && !isKey) {
      return fault('public_key', sentence('sources.key', { number: index + 1 }));
    }
    sources.push({ name, indexUrl: String(indexUrl), ...(isKey ? { publicKey } : {}) });
  }
  return ok(sources);
}

function faultOfUrl(text: string): Sentence | undefined {
  const kinds = sentence('sources.url_absolute');
  if (text.length > MAX_URL) return sentence('sources.url_length', { max: MAX_URL });
  if (/[\s\p{Cc}\\]/u.test(text) || !/^(?:https?|file):\/\//i.test(text) || !URL.canParse(text)) return kinds;
  const url = new URL(text);
  if (url.username !== '' || url.password !== '' || /^[^/]*\/\/[^/?#]*@/.test(text))
    return sentence('sources.url_credentials');
  if (text.includes('#')) return sentence('sources.url_fragment');
  if (url.protocol === 'file:' && (url.host !== '' || text.includes('?'))) return kinds;
  return undefined;
}

export const writeMarketSources = (sources: readonly MarketSource[]): string =>
  JSON.stringify(
    sources.map(({ name, indexUrl, publicKey }) => ({
      name,
      index_url: indexUrl,
      ...(publicKey === undefined ? {} : { public_key: publicKey }),
    })),
  );

const readSources = (text: string): MarketSource[] => {
  const sources = parseMarketSources(parseJson(text));
  return sources.ok ? sources.value : [];
};

/**
 * Replaces the pinned key `from` by `to` in the sources at `indexUrl`. Returns the new text, or
 * `undefined` if none matches. As a key, `undefined` means unpinned.
 */
export function repinSources(
  text: string,
  { indexUrl, from, to }: { indexUrl: string; from: string | undefined; to: string | undefined },
): string | undefined {
  const sources = readSources(text);
  const isMeant = (source: MarketSource) => source.indexUrl === indexUrl && source.publicKey === from;
  if (!sources.some(isMeant)) return undefined;
  return writeMarketSources(
    sources.map((source) => {
      if (!isMeant(source)) return source;
      const { publicKey: _, ...unpinned } = source;
      return to === undefined ? unpinned : { ...unpinned, publicKey: to };
    }),
  );
}

/**
 * The list that replaces the sources in `text`. A source that is sent without `public_key` keeps
 * its key, so that a client that does not know of keys does not unpin it; `null` unpins it.
 */
export function replaceSources(text: string, sent: readonly SentSource[]): string {
  const before = readSources(text);
  return JSON.stringify(
    sent.map(({ name, index_url, public_key }) => {
      const kept = before.find((source) => source.indexUrl === index_url)?.publicKey;
      const key = public_key === undefined ? kept : public_key;
      return { name, index_url, ...(key === undefined || key === null ? {} : { public_key: key }) };
    }),
  );
}

/** A source as a client sends it. */
type SentSource = { name: string; index_url: string; public_key?: string | null };
