import { type Clock, sha256Hex, type WatchCache } from '../../kernel/index.ts';
import type { Counters } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import type { DecidingIp } from '../types.ts';
import { addressKey } from './address-key.ts';

/** Failures of one account from all addresses together that slow nobody down. */
const FREE = { failures: 20, windowSeconds: 60 * 60 };
const LONGEST_SECONDS = 8;
/** Answers that wait at once, on this node and for one address. */
const MAX_WAITING = 64;
const MAX_WAITING_PER_ADDRESS = 4;

export type Counted<T> = {
  outcome: T | undefined;
  /** How long the answer has to wait, right or wrong. */
  seconds: number;
};

/**
 * Slows the password answers of an account down that many addresses together guess at; it never
 * locks it. What counts is the name as it was typed, so that an account that does not exist answers
 * alike.
 */
export interface AccountSlowdown {
  /**
   * Runs an attempt and counts it as a failure unless it gives a value. Rejects as the attempt,
   * which then does not count.
   */
  count<T>(account: string, attempt: () => Promise<T | undefined>): Promise<Counted<T>>;
  /**
   * Waits; holds no thread. Rejects with `auth.unavailable` or `auth.too_many_attempts` when too
   * many wait already.
   */
  hold(seconds: number, ip: DecidingIp): Promise<void>;
}

type Deps = { counters: Counters; clock: Clock; watchCache?: WatchCache };

export function createAccountSlowdown({ counters, clock, watchCache }: Deps): AccountSlowdown {
  const waiting = new Map<string, number>();
  watchCache?.('slowed_addresses', () => waiting.size);
  let total = 0;

  return {
    async count(account, attempt) {
      const key = `guess-everywhere:${sha256Hex(account)}`;
      // Counted before the attempt, so that attempts at the same time see each other, and given
      // back after a right one.
      const { count } = await counters.add(key, 1, FREE.windowSeconds);
      const giveBack = () => counters.add(key, -1, FREE.windowSeconds);
      const outcome = await attempt().catch(async (error) => {
        await giveBack();
        throw error;
      });
      if (outcome !== undefined) await giveBack();
      return { outcome, seconds: Math.min(LONGEST_SECONDS, Math.max(0, count - FREE.failures)) };
    },

    async hold(seconds, ip) {
      if (seconds <= 0) return;
      const address = addressKey(ip);
      const others = waiting.get(address) ?? 0;
      if (others >= MAX_WAITING_PER_ADDRESS) throw authErrors.too_many_attempts({ retryAfterSeconds: seconds });
      if (total >= MAX_WAITING) throw authErrors.unavailable({ retryAfterSeconds: seconds });
      total += 1;
      waiting.set(address, others + 1);
      try {
        await clock.sleep(seconds * 1000);
      } finally {
        total -= 1;
        const left = (waiting.get(address) ?? 1) - 1;
        if (left === 0) waiting.delete(address);
        else waiting.set(address, left);
      }
    },
  };
}
