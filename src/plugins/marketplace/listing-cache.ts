import { type Clock, err, type Result, type WatchCache } from '../../kernel/index.ts';
import type { PluginWorker } from '../worker/create-worker.ts';
import { decodeText } from './fetch-file.ts';
import { indexLocation } from './index-location.ts';
import type { MarketIndex, MarketSource, ReadMarketFile } from './types.ts';

/** A fetched index, or why it could not be fetched. `fetchedAt` is in unix seconds. */
export type Listing = { index: Result<MarketIndex, string>; fetchedAt: number };

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
  /** Forgets all other sources. */
  retain(sources: readonly MarketSource[]): void;
}

type Deps = { readFile: ReadMarketFile; worker: PluginWorker; clock: Clock; watchCache?: WatchCache | undefined };

export function createListingCache({ readFile, worker, clock, watchCache }: Deps): Listings {
  const cached = new Map<string, { listing: Listing; until: number }>();
  watchCache?.('marketplace_listings', () => cached.size);
  const pending = new Map<string, Promise<Listing>>();

  const readText = (text: string, base: string): Promise<Result<MarketIndex, string>> =>
    worker.run('readIndex', text, base).catch(() => err('The index could not be read in time.'));

  async function fetchIndex(source: MarketSource): Promise<Listing> {
    const base = indexLocation(source);
    const bytes = await readFile(source, base.href, 'index');
    const text = bytes.ok ? decodeText(bytes.value) : bytes;
    const index = text.ok ? await readText(text.value.replace(/^\uFEFF/, ''), base.href) : err(text.error);
    const listing = { index, fetchedAt: clock.unix() };
    cached.set(source.indexUrl, { listing, until: clock.monotonicMs() + (index.ok ? FRESH_MS : FAILED_MS) });
    return listing;
  }

  return {
    of(source, refresh) {
      const shared = pending.get(source.indexUrl);
      if (shared) return shared;
      const found = cached.get(source.indexUrl);
      if (found && !refresh && clock.monotonicMs() < found.until) return Promise.resolve(found.listing);
      const fetching = fetchIndex(source).finally(() => pending.delete(source.indexUrl));
      pending.set(source.indexUrl, fetching);
      return fetching;
    },
    retain(sources) {
      for (const url of cached.keys()) {
        if (!sources.some(({ indexUrl }) => indexUrl === url)) cached.delete(url);
      }
    },
  };
}
