import type { Clock } from '../../kernel/index.ts';
import type { Counters, SuccessLists } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import { countRequest } from './limit-requests.ts';

/**
 * Runs before a user submits a task. `group` is that of the key. Gives the function to call once
 * the answer is a success.
 *
 * @throws `auth.rate_limited` with the seconds to wait when the user has used up the successes or
 * the requests of the window.
 */
export type ModelRequestLimit = (userId: number, group: string) => Promise<() => Promise<void>>;

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

  return async (userId, group) => {
    const { enabled, windowSeconds, groups, ...everyone } = deps.settings().modelRequests;
    if (!enabled) return async () => {};
    const { total, success } = groups.get(group) ?? everyone;

    const list = String(userId);
    const last = await successLists.at(list, success - 1);
    const wait = last === undefined ? 0 : last / 1000 + windowSeconds - clock.nowMs() / 1000;
    // An older node may have written a time that lies hours ahead. Its list still expires after one
    // window.
    if (wait > 0) throw authErrors.rate_limited({ retryAfterSeconds: Math.min(wait, windowSeconds) });

    if (total > 0) await countRequest(counters, `model-requests:${userId}`, { limit: total, windowSeconds });

    // As long as the highest limit needs: a user's keys may belong to several groups.
    const keep = Math.max(everyone.success, ...[...groups.values()].map((own) => own.success));
    return () => successLists.push(list, { atMs: clock.nowMs(), keep, ttlSeconds: windowSeconds });
  };
}
