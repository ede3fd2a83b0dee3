import { sha256Hex } from '../../kernel/index.ts';
import type { Counters } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import type { DecidingIp } from '../types.ts';
import { addressKey } from './address-key.ts';
import { createQueueLimit } from './limit-password-hashing.ts';

/** Failures only: 5 per 15 minutes and (account, address), 50 per hour and address. */
const PER_ACCOUNT = { limit: 5, windowSeconds: 15 * 60 };
const PER_ADDRESS = { limit: 50, windowSeconds: 60 * 60 };

/**
 * Attempts of the whole node at once; below the limit of one account, so that honest ones at the
 * same time do not meet it.
 */
const ATTEMPTS_AT_ONCE = 4;

/**
 * Runs one attempt to prove something that could be guessed (a password, a code). `attempt` gives a
 * value, or `undefined` when the proof was wrong. Rejects with `auth.too_many_attempts` when the
 * address has used up its failures for this account or altogether: other addresses are never locked
 * out. The same for accounts that do not exist, so that it tells nothing.
 */
export type GuessLimit = <T>(
  account: string,
  by: Guesser,
  attempt: () => Promise<T | undefined>,
) => Promise<T | undefined>;

/**
 * An address, or the browser that holds a live session of the account (its id): that one has a
 * count of its own, so that nobody who shares its address holds it up.
 */
export type Guesser = DecidingIp | { sid: string };

export function createGuessLimit(counters: Counters): GuessLimit {
  const limitFailures = createFailureLimit(counters);
  return (account, by, attempt) => {
    const keyOf = (guesser: string) => `guess-account:${sha256Hex(`${account}\n${guesser}`)}`;
    if (typeof by === 'object') return limitFailures([{ key: keyOf(`session ${by.sid}`), ...PER_ACCOUNT }], attempt);
    return limitFailures([{ key: keyOf(addressKey(by)), ...PER_ACCOUNT }, failuresOf(by)], attempt);
  };
}

/** At most `limit` failures per `windowSeconds` among all that share `key`. */
export type FailureCount = { key: string; limit: number; windowSeconds: number };

/** All failures of an address together. */
export const failuresOf = (ip: DecidingIp): FailureCount => ({ key: `guess-ip:${addressKey(ip)}`, ...PER_ADDRESS });

/** Runs an attempt as `GuessLimit` does, under counts of one's own. */
export type FailureLimit = <T>(
  counts: readonly FailureCount[],
  attempt: () => Promise<T | undefined>,
) => Promise<T | undefined>;

export function createFailureLimit(counters: Counters): FailureLimit {
  const gate = createQueueLimit(ATTEMPTS_AT_ONCE);

  return (holds, attempt) =>
    gate(async () => {
      // Counted before the attempt and given back after a right one: many attempts at the same time
      // cannot all pass at zero.
      const counts = await Promise.all(holds.map((hold) => counters.add(hold.key, 1, hold.windowSeconds)));
      const giveBack = () => Promise.all(holds.map((hold) => counters.add(hold.key, -1, hold.windowSeconds)));

      const waits = holds.flatMap(({ limit }, i) => {
        const count = counts[i];
        return count && count.count > limit ? [count.resetsInSeconds] : [];
      });
      if (waits.length > 0) {
        await giveBack();
        throw authErrors.too_many_attempts({ retryAfterSeconds: Math.max(...waits) });
      }
      let outcome: Awaited<ReturnType<typeof attempt>>;
      try {
        outcome = await attempt();
      } catch (error) {
        await giveBack();
        throw error;
      }
      if (outcome !== undefined) await giveBack();
      return outcome;
    });
}
