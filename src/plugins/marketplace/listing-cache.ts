import { type Clock, err, type Result, type WatchCache } from '../../kernel/index.ts';
import type { PluginWorker } from '../worker/create-worker.ts';
import { decodeText } from './fetch-file.ts';
import { indexLocation } from './index-location.ts';
import type { MarketIndex, MarketSource, ReadMarketFile } from './types.ts';

/** An index as it was fetched, or why there is none. Times are unix seconds. */
export type Listing = { index: Result<MarketIndex, string>; fetchedAt: number };

/**
 * How long an index is shown without asking again; a failure shorter, so that a mended source is
 * back soon.
 */
const FRESH_MS = 5 * 60_000;
const FAILED_MS = 30_000;

export interface Listings {
  /**
   * The index of a source, at most five minutes old; with `refresh` asked for now. Those who ask at
   * once share one fetch. Never rejects.
   */
  of(source: MarketSource, refresh: boolean): Promise<Listing>;
  /** Forgets all other sources. */
  retain(sources: readonly MarketSource[]): void;
}

type Deps = { readFile: ReadMarketFile; worker: PluginWorker; clock: Clock; watchCache?: WatchCache | undefined };

export function createListingCache({ readFile, worker, clock, watchCache }: Deps): Listings {
  const known = new Map<string, { listing: Listing; until: number }>();
  watchCache?.('marketplace_listings', () => known.size);
  const underWay = new Map<string, Promise<Listing>>();

  const readText = (text: string, base: string): Promise<Result<MarketIndex, string>> =>
    worker.run('readIndex', text, base).catch(() => err('The index could not be read in time.'));

  async function fetchIndex(source: MarketSource): Promise<Listing> {
    const base = indexLocation(source);
    const bytes = await readFile(source, base.href, 'index');
    const text = bytes.ok ? decodeText(bytes.value) : bytes;
    const index = text.ok ? await readText(text.value.replace(/^\uFEFF/, ''), base.href) : err(text.error);
    const listing = { index, fetchedAt: clock.unix() };
    known.set(source.indexUrl, { listing, until: clock.monotonicMs() + (index.ok ? FRESH_MS : FAILED_MS) });
    return listing;
  }

  return {
    of(source, refresh) {
      const shared = underWay.get(source.indexUrl);
      if (shared) return shared;
      const kept = known.get(source.indexUrl);
      if (kept && !refresh && clock.monotonicMs() < kept.until) return Promise.resolve(kept.listing);
      const fetching = fetchIndex(source).finally(() => underWay.delete(source.indexUrl));
      underWay.set(source.indexUrl, fetching);
      return fetching;
    },
    retain(sources) {
      for (const url of known.keys()) {
        if (!sources.some(({ indexUrl }) => indexUrl === url)) known.delete(url);
      }
    },
  };
}
