/**
 * What wrong passwords and codes cost: one address is refused for a while (`createGuessLimit`), and
 * an account that many addresses guess at answers later (`createGuessDelay`).
 */
import { type Clock, createSemaphore, type ReportCacheSize, type Semaphore, sha256Hex } from '../../kernel/index.ts';
import type { Counters } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import type { DecidingIp } from '../principals.ts';
import { addressKey } from './limit-requests.ts';

/** Failures only: 5 per 15 minutes for each account and address, 50 per hour for each address. */
const PER_ACCOUNT = { limit: 5, windowSeconds: 15 * 60 };
const PER_ADDRESS = { limit: 50, windowSeconds: 60 * 60 };

/**
 * Concurrent attempts per node. Below the limit of one account, so that correct attempts at the
 * same time do not reach it.
 */
const CONCURRENT_ATTEMPTS = 4;

/**
 * Runs one attempt to prove something guessable (a password, a code). `attempt` gives a value, or
 * `undefined` when the proof was wrong. Accounts that do not exist are limited in the same way, so
 * that a limit reveals nothing.
 *
 * @throws `auth.too_many_attempts` when the address has used up its failures for this account or
 * overall. Other addresses are never locked out.
 */
export type GuessLimit = <T>(
  account: string,
  by: AttemptSource,
  attempt: () => Promise<T | undefined>,
) => Promise<T | undefined>;

/**
 * An address, or the id of a live session of the account. A session has a count of its own, so that
 * nobody who shares its address can lock it out.
 */
export type AttemptSource = DecidingIp | { sid: string };

export function createGuessLimit(counters: Counters): GuessLimit {
  const limitFailures = createFailureLimit(counters);
  return (account, by, attempt) => {
    const toLimitKey = (guesser: string) => `guess-account:${sha256Hex(`${account}\n${guesser}`)}`;
    if (typeof by === 'object')
      return limitFailures([{ key: toLimitKey(`session ${by.sid}`), ...PER_ACCOUNT }], attempt);
    return limitFailures([{ key: toLimitKey(addressKey(by)), ...PER_ACCOUNT }, failureRuleFor(by)], attempt);
  };
}

/** At most `limit` failures per `windowSeconds` among all that share `key`. */
export type FailureRule = { key: string; limit: number; windowSeconds: number };

/** All failures of an address together. */
export const failureRuleFor = (ip: DecidingIp): FailureRule => ({ key: `guess-ip:${addressKey(ip)}`, ...PER_ADDRESS });

/** Runs an attempt as `GuessLimit` does, under the given rules. */
export type FailureLimit = <T>(
  rules: readonly FailureRule[],
  attempt: () => Promise<T | undefined>,
) => Promise<T | undefined>;

export function createFailureLimit(counters: Counters): FailureLimit {
  const semaphore = createBoundedSemaphore(CONCURRENT_ATTEMPTS);

  return (rules, attempt) =>
    semaphore(async () => {
      // Counted before the attempt and undone after a right one: concurrent attempts cannot all
      // pass at a count of zero.
      const counts = await Promise.all(rules.map((rule) => counters.add(rule.key, 1, rule.windowSeconds)));
      const undo = () => Promise.all(rules.map((rule) => counters.add(rule.key, -1, rule.windowSeconds)));

      const waits = rules.flatMap(({ limit }, i) => {
        const count = counts[i];
        return count && count.count > limit ? [count.resetsInSeconds] : [];
      });
      if (waits.length > 0) {
        await undo();
        throw authErrors.too_many_attempts({ retryAfterSeconds: Math.max(...waits) });
      }
      let outcome: Awaited<ReturnType<typeof attempt>>;
      try {
        outcome = await attempt();
      } catch (error) {
        await undo();
        throw error;
      }
      if (outcome !== undefined) await undo();
      return outcome;
    });
}

/** Failures of one account, from all addresses together, that cause no delay. */
const WITHOUT_DELAY = { failures: 20, windowSeconds: 60 * 60 };
const LONGEST_DELAY_SECONDS = 8;
/** Delayed answers at the same time: on this node, and for one address. */
const MAX_DELAYED = 64;
const MAX_DELAYED_PER_ADDRESS = 4;

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

type GuessDelayDeps = { counters: Counters; clock: Clock; reportCacheSize?: ReportCacheSize };

export function createGuessDelay({ counters, clock, reportCacheSize }: GuessDelayDeps): GuessDelay {
  const waiting = new Map<string, number>();
  reportCacheSize?.('slowed_addresses', () => waiting.size);
  let total = 0;

  return {
    async count(account, attempt) {
      const key = `guess-everywhere:${sha256Hex(account)}`;
      // Counted before the attempt, so that concurrent attempts see each other, and undone after a
      // right one.
      const { count } = await counters.add(key, 1, WITHOUT_DELAY.windowSeconds);
      const undo = () => counters.add(key, -1, WITHOUT_DELAY.windowSeconds);
      const outcome = await attempt().catch(async (error) => {
        await undo();
        throw error;
      });
      if (outcome !== undefined) await undo();
      return { outcome, seconds: Math.min(LONGEST_DELAY_SECONDS, Math.max(0, count - WITHOUT_DELAY.failures)) };
    },

    async delay(seconds, ip) {
      if (seconds <= 0) return;
      const address = addressKey(ip);
      const others = waiting.get(address) ?? 0;
      if (others >= MAX_DELAYED_PER_ADDRESS) throw authErrors.too_many_attempts({ retryAfterSeconds: seconds });
      if (total >= MAX_DELAYED) throw authErrors.unavailable({ retryAfterSeconds: seconds });
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

/**
 * Longest queue for password hashing and guess checks. At about 100 passwords a second, callers
 * further back have given up before they are served.
 */
const MAX_QUEUED = 500;
const RETRY_AFTER_SECONDS = 5;

/** A semaphore that rejects with `auth.unavailable` when its queue is full. */
export const createBoundedSemaphore = (slots: number, maxQueued = MAX_QUEUED): Semaphore['run'] =>
  createSemaphore({
    slots,
    maxQueued,
    onFull: () => authErrors.unavailable({ retryAfterSeconds: RETRY_AFTER_SECONDS }),
  }).run;
