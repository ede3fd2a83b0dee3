import type { Clock } from '../../kernel/index.ts';
import type { Counters, SuccessLists } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';

/** How much of a limit is left, this request counted. `resetSeconds`: until all of it is. */
export type RateLimitState = { limit: number; remaining: number; resetSeconds: number };

/**
 * Runs before a user submits a task. `group` is that of the key. Gives the function to call once
 * the answer is a success. `report` gets the limit that leaves the fewest requests, also before a
 * refusal; it is not called where there is no limit.
 *
 * @throws `auth.rate_limited` with the seconds to wait when the user has used up the successes or
 * the requests of the window.
 */
export type ModelRequestLimit = (
  userId: number,
  group: string,
  report: (state: RateLimitState) => void,
) => Promise<() => Promise<void>>;

/**
 * Successes are limited in an approximate sliding window: concurrent requests all pass until the
 * first has succeeded. All requests, failures included, are limited in a fixed window. The limits
 * are read anew for every request.
 */
export function createModelRequestLimit(deps: {
  counters: Counters;
  successLists: SuccessLists;
  clock: Clock;
  settings: () => AuthSettings;
}): ModelRequestLimit {
  const { counters, successLists, clock } = deps;

  return async (userId, group, report) => {
    const { enabled, windowSeconds, groups, ...everyone } = deps.settings().modelRequests;
    if (!enabled) return async () => {};
    const { total, success } = groups.get(group) ?? everyone;

    const list = String(userId);
    const sinceMs = clock.nowMs() - windowSeconds * 1000;
    const { count, at } = await successLists.read(list, { sinceMs, index: success - 1 });
    const wait = at === undefined ? 0 : (at - sinceMs) / 1000;
    const successes = { limit: success, remaining: Math.max(0, success - count - 1), resetSeconds: windowSeconds };
    if (wait > 0) {
      report(successes);
      // An older node may have written a time that lies hours ahead. Its list still expires after
      // one window.
      throw authErrors.rate_limited({ retryAfterSeconds: Math.min(wait, windowSeconds) });
    }
    if (total === 0) report(successes);
    else {
      const { count: requests, resetsInSeconds } = await counters.add(`model-requests:${userId}`, 1, windowSeconds);
      const remaining = Math.max(0, total - requests);
      report(remaining > successes.remaining ? successes : { limit: total, remaining, resetSeconds: resetsInSeconds });
      if (requests > total) throw authErrors.rate_limited({ retryAfterSeconds: resetsInSeconds });
    }

    // As long as the highest limit needs: a user's keys may belong to several groups.
    const keep = Math.max(everyone.success, ...[...groups.values()].map((own) => own.success));
    return () => successLists.push(list, { atMs: clock.nowMs(), keep, ttlSeconds: windowSeconds });
  };
}
