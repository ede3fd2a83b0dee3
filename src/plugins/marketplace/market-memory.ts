import { isObject, parseJson, sha256Hex } from '../../kernel/index.ts';
import type { OptionStore } from '../../store/ports/index.ts';
import type { MarketRevocation, MarketSource } from '../market-index/types.ts';
import { indexLocation } from './fetch-file.ts';

/**
 * What all nodes remember of a source: the highest serial that each key has signed, and the
 * versions that it has revoked.
 */
type Remembered = { serials: Record<string, number>; revoked: MarketRevocation[] };

export interface MarketMemory {
  /** The highest serial of an index of this source that `publicKey` has signed; -1 if none. */
  highestSerial(source: MarketSource, publicKey: string): Promise<number>;
  /** False if a newer index of the source was seen, on any node: nothing has changed then. */
  advance(source: MarketSource, publicKey: string, serial: number): Promise<boolean>;
  keepRevoked(source: MarketSource, revoked: readonly MarketRevocation[]): Promise<void>;
  revokedBy(source: MarketSource): Promise<readonly MarketRevocation[]>;
}

/** Keys whose serials are kept for a source; those used longest ago are forgotten first. */
const MAX_KEYS = 20;
/** Writers of one row that meet. Each failed attempt means that another one has succeeded. */
const MAX_ATTEMPTS = 20;

/** The memory, in rows of the option table that no administrator edits: one a source. */
export function createMarketMemory(options: Pick<OptionStore, 'get' | 'putIfAbsent' | 'replace'>): MarketMemory {
  /** Changes the row in one conditional write; `change` returns `undefined` to leave it. */
  async function update(source: MarketSource, change: (now: Remembered) => Remembered | undefined): Promise<void> {
    const row = rowName(source);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const stored = await options.get(row);
      const next = change(read(stored));
      if (next === undefined) return;
      const text = JSON.stringify(next);
      if (text === stored) return;
      const written =
        stored === undefined ? await options.putIfAbsent(row, text) : await options.replace(row, stored, text);
      if (written) return;
    }
    throw new Error(`the row ${row} changes too often`);
  }

  return {
    async highestSerial(source, publicKey) {
      return read(await options.get(rowName(source))).serials[publicKey] ?? -1;
    },

    async advance(source, publicKey, serial) {
      let isNewest = true;
      await update(source, (now) => {
        const { [publicKey]: highest = -1, ...others } = now.serials;
        isNewest = serial >= highest;
        if (serial <= highest) return undefined;
        const kept = Object.entries(others).slice(1 - MAX_KEYS);
        return { ...now, serials: { ...Object.fromEntries(kept), [publicKey]: serial } };
      });
      return isNewest;
    },

    keepRevoked: (source, revoked) =>
      update(source, (now) =>
        now.revoked.length + revoked.length === 0 ? undefined : { ...now, revoked: [...revoked] },
      ),

    revokedBy: async (source) => read(await options.get(rowName(source))).revoked,
  };
}

const rowName = (source: MarketSource): string =>
  `marketplace.source.${sha256Hex(indexLocation(source).href).slice(0, 32)}`;

function read(text: string | undefined): Remembered {
  const value = text === undefined ? undefined : parseJson(text);
  return isObject(value) ? (value as Remembered) : { serials: {}, revoked: [] };
}
