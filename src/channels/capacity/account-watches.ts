import { credentialPool } from './declared-limits.ts';
import type { Dispatch, RefusalKind } from './types.ts';

const LATEST = 10;
const FAILURES = 5;
const WITHIN_MS = 120_000;
const USERS_OF_MS = 3_600_000;

/**
 * Decides whether a vendor has an outage: 5 of the last 10 submissions failed within two minutes,
 * and they came from two users (one user's requests might be at fault), or from the only user of
 * the last hour.
 */
function createOutageWatch(monotonicMs: () => number) {
  let latest: { failed: boolean; userId: number; atMs: number }[] = [];
  const users = new Map<number, number>();
  return {
    /** Counts a submission, and returns whether its vendor seems to have an outage. */
    note(submission: { failed: boolean; userId: number }): boolean {
      const atMs = monotonicMs();
      users.delete(submission.userId);
      users.set(submission.userId, atMs);
      for (const [userId, seenMs] of users) {
        if (seenMs > atMs - USERS_OF_MS) break;
        users.delete(userId);
      }
      latest = [...latest, { ...submission, atMs }].slice(-LATEST);
      if (!submission.failed) return false;
      const failures = latest.filter((one) => one.failed && one.atMs > atMs - WITHIN_MS);
      const isOut =
        failures.length >= FAILURES && (users.size === 1 || new Set(failures.map((one) => one.userId)).size > 1);
      if (isOut) latest = [];
      return isOut;
    },
  };
}

const FORBIDDEN_MS = 600_000;

/**
 * Decides what a 403 without words means: one user's may be due to what they asked for; two users'
 * with no acceptance between them are due to the account's credential.
 */
function createForbiddenWatch(monotonicMs: () => number) {
  const users = new Map<number, number>();
  return {
    /** Counts a bare 403, and returns whether another user got one recently. */
    note(userId: number): boolean {
      const now = monotonicMs();
      for (const [seen, atMs] of users) if (atMs <= now - FORBIDDEN_MS) users.delete(seen);
      users.set(userId, now);
      return users.size > 1;
    },
    accepted: () => users.clear(),
  };
}

/** The watches of channels for outages, and of credentials for bare 403s. */
export function createAccountWatches(monotonicMs: () => number) {
  const outages = new Map<number, ReturnType<typeof createOutageWatch>>();
  const forbidden = new Map<string, ReturnType<typeof createForbiddenWatch>>();
  return {
    outage(channelId: number) {
      const watch = outages.get(channelId) ?? createOutageWatch(monotonicMs);
      outages.set(channelId, watch);
      return watch;
    },
    accepted: ({ scope }: Dispatch): void => forbidden.get(credentialPool(scope))?.accepted(),
    /** The meaning of a bare 403. One that answers a credential's trial does not end its rest. */
    classify(kind: RefusalKind, { scope, userId }: Dispatch, isResting: boolean): Exclude<RefusalKind, 'forbidden'> {
      if (kind !== 'forbidden') return kind;
      const watch = forbidden.get(credentialPool(scope)) ?? createForbiddenWatch(monotonicMs);
      forbidden.set(credentialPool(scope), watch);
      return watch.note(userId) || isResting ? 'credential' : 'content';
    },
  };
}
