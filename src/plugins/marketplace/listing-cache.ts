import {
  type Clock,
  err,
  ok,
  quoted,
  type ReportCacheSize,
  type Result,
  type Sentence,
  sentence,
  toSentence,
} from '../../kernel/index.ts';
import type { MarketIndex, MarketSource } from '../market-index/types.ts';
import type { PluginWorker } from '../worker/create-worker.ts';
import { checkTrust, type MarketTrust, type TrustDeps } from './check-trust.ts';
import { decodeText, indexLocation } from './fetch-file.ts';

/**
 * A fetched index, or why it could not be fetched, or is refused. `fetchedAt` is in unix seconds;
 * `trust` is missing if nothing could be checked.
 */
export type Listing = { index: Result<MarketIndex, Sentence>; trust?: MarketTrust; fetchedAt: number };

/**
 * How long an index is cached. A failure is cached shorter, so that a repaired source returns soon.
 */
const FRESH_MS = 5 * 60_000;
const FAILED_MS = 30_000;

export interface Listings {
  /**
   * The index of a source, at most five minutes old; with `refresh`, fetched now. Concurrent calls
   * share one fetch. Never rejects.
   */
  of(source: MarketSource, refresh: boolean): Promise<Listing>;
  /** Starts to read a source that nobody has read for this long. */
  readAfter(source: MarketSource, ms: number): void;
  /** Forgets all other sources. */
  retain(sources: readonly MarketSource[]): void;
}

type Deps = TrustDeps & { worker: PluginWorker; clock: Clock; reportCacheSize?: ReportCacheSize | undefined };

export function createListingCache(deps: Deps): Listings {
  const { readFile, memory, worker, clock, reportCacheSize } = deps;
  const cached = new Map<string, { listing: Listing; until: number }>();
  reportCacheSize?.('marketplace_listings', () => cached.size);
  const pending = new Map<string, Promise<Listing>>();

  const readText = (text: string, base: string): Promise<Result<MarketIndex, Sentence>> =>
    worker.run('readIndex', text, base).catch(() => err(sentence('market.read_late')));

  async function fetchIndex(source: MarketSource): Promise<Omit<Listing, 'fetchedAt'>> {
    const base = indexLocation(source);
    const bytes = await readFile(source, base.href, 'index');
    if (!bytes.ok) return { index: err(toSentence(bytes.error)) };
    const text = decodeText(bytes.value);
    const index = text.ok ? await readText(text.value.replace(/^\uFEFF/, ''), base.href) : err(text.error);
    const { trust, error } = await checkTrust(deps, source, { bytes: bytes.value, index });
    if (error !== undefined) return { index: err(error) };
    if (trust.state === 'refused') return { index: err(quoted(trust.message)), trust };
    if (!index.ok) return { index };
    await memory.keepRevoked(source, index.value.revoked);
    return { index: trust.state === 'signed' ? ok(withoutUnsignedFiles(index.value)) : index, trust };
  }

  async function fetchListing(source: MarketSource): Promise<Listing> {
    const failed = () => ({ index: err(sentence('market.memory')) });
    const listing: Listing = { ...(await fetchIndex(source).catch(failed)), fetchedAt: clock.unix() };
    const key = listing.trust?.state === 'signed' ? listing.trust.key.text : source.publicKey;
    const until = clock.monotonicMs() + (listing.index.ok ? FRESH_MS : FAILED_MS);
    cached.set(cacheKey({ ...source, publicKey: key }), { listing, until });
    return listing;
  }

  const readNow = (source: MarketSource): Promise<Listing> => {
    const name = cacheKey(source);
    const shared = pending.get(name);
    if (shared) return shared;
    const fetching = fetchListing(source).finally(() => pending.delete(name));
    pending.set(name, fetching);
    return fetching;
  };

  return {
    of(source, refresh) {
      const name = cacheKey(source);
      const found = pending.has(name) || refresh ? undefined : cached.get(name);
      return found && clock.monotonicMs() < found.until ? Promise.resolve(found.listing) : readNow(source);
    },
    readAfter(source, ms) {
      const found = cached.get(cacheKey(source));
      if (!found || clock.monotonicMs() > found.until + ms) void readNow(source);
    },
    retain(sources) {
      const names = new Set(sources.map(cacheKey));
      for (const name of cached.keys()) if (!names.has(name)) cached.delete(name);
    },
  };
}

/** A signature covers a file only by its hash: a logo without one is not shown. */
const withoutUnsignedFiles = (index: MarketIndex): MarketIndex => ({
  ...index,
  plugins: index.plugins.map(({ iconFile, ...plugin }) =>
    iconFile?.sha256 === undefined ? plugin : { ...plugin, iconFile },
  ),
});

/** An index is read again once its source is pinned to another key. */
const cacheKey = ({ indexUrl, publicKey }: { indexUrl: string; publicKey?: string | undefined }): string =>
  `${publicKey ?? ''} ${indexUrl}`;
