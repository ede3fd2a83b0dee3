import { type Clock, type ReportCacheSize, sha256Hex } from '../../kernel/index.ts';
import type { Counters } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import type { DecidingIp } from '../principals.ts';
import { addressKey } from './limit-requests.ts';

/** Failures of one account, from all addresses together, that cause no delay. */
const FREE = { failures: 20, windowSeconds: 60 * 60 };
const LONGEST_SECONDS = 8;
/** Delayed answers at the same time: on this node, and for one address. */
const MAX_WAITING = 64;
const MAX_WAITING_PER_ADDRESS = 4;

export type Counted<T> = {
  outcome: T | undefined;
  /** How long to delay the answer, right or wrong. */
  seconds: number;
};

/**
 * Delays the password answers of an account that many addresses guess at together. It never locks
 * the account. Failures are counted by the name as typed, so that an account that does not exist
 * behaves the same.
 */
export interface GuessDelay {
  /**
   * Runs an attempt and counts it as a failure unless it gives a value. Rejects as the attempt
   * does; nothing is counted then.
   */
  count<T>(account: string, attempt: () => Promise<T | undefined>): Promise<Counted<T>>;
  /**
   * Waits without blocking.
   *
   * @throws `auth.unavailable` or `auth.too_many_attempts` when too many answers wait already.
   */
  delay(seconds: number, ip: DecidingIp): Promise<void>;
}

type Deps = { counters: Counters; clock: Clock; reportCacheSize?: ReportCacheSize };

export function createGuessDelay({ counters, clock, reportCacheSize }: Deps): GuessDelay {
  const waiting = new Map<string, number>();
  reportCacheSize?.('slowed_addresses', () => waiting.size);
  let total = 0;

  return {
    async count(account, attempt) {
      const key = `guess-everywhere:${sha256Hex(account)}`;
      // Counted before the attempt, so that concurrent attempts see each other, and undone after a
      // right one.
      const { count } = await counters.add(key, 1, FREE.windowSeconds);
      const undo = () => counters.add(key, -1, FREE.windowSeconds);
      const outcome = await attempt().catch(async (error) => {
        await undo();
        throw error;
      });
      if (outcome !== undefined) await undo();
      return { outcome, seconds: Math.min(LONGEST_SECONDS, Math.max(0, count - FREE.failures)) };
    },

    async delay(seconds, ip) {
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
