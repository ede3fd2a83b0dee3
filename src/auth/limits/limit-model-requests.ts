import type { Clock } from '../../kernel/index.ts';
import type { Counters, SuccessLists } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import { countRequest } from './limit-requests.ts';

/**
 * Before a user submits a task: rejects with `auth.rate_limited` and the seconds to wait when he
 * has had his successes or his requests of the window. Gives what is to be called once the answer
 * is a success. `group` is that of the key.
 */
export type ModelRequestLimit = (userId: number, group: string) => Promise<() => Promise<void>>;

/**
 * Successes are held in an approximate sliding window: requests under way at the same time all pass
 * until the first has succeeded. All requests together, failures included, are held in a fixed
 * window. The numbers are asked for anew with every request.
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
    // A time that an older node has written may lie hours ahead; its list is gone after one window
    // all the same.
    if (wait > 0) throw authErrors.rate_limited({ retryAfterSeconds: Math.min(wait, windowSeconds) });

    if (total > 0) await countRequest(counters, `model-requests:${userId}`, { limit: total, windowSeconds });

    // As long as the longest limit needs: a user's keys may be of several groups.
    const keep = Math.max(everyone.success, ...[...groups.values()].map((own) => own.success));
    return () => successLists.push(list, { atMs: clock.nowMs(), keep, ttlSeconds: windowSeconds });
  };
}
