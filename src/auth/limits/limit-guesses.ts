import { createSemaphore, type Semaphore, sha256Hex } from '../../kernel/index.ts';
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
