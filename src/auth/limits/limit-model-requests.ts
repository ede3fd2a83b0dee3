/**
 * How often models may be asked: the requests of a key, user or group in a minute, and the windows
 * of `ModelRequestRateLimit…`.
 */
import type { Clock } from '../../kernel/index.ts';
import type { Counters, KeyOwner, PresentedKey, SuccessLists } from '../../store/ports/index.ts';
import type { ModelRequestSettings } from '../config.ts';
import { authErrors } from '../errors.ts';

/** What is left of a limit after this request. All of it is free again in `resetSeconds`. */
export type RateLimitState = { limit: number; remaining: number; resetSeconds: number };

/** Whom a request is counted for. `key` is absent in the panel. `group` is that of the key. */
export type RequestPayer = {
  user: Pick<KeyOwner, 'id' | 'requestsPerMinute'>;
  key?: Pick<PresentedKey, 'id' | 'requestsPerMinute'>;
  group: string;
};

/**
 * Runs before a user submits a task. Gives the function to call once the answer is a success.
 * `report` gets the limit that leaves the fewest requests, also before a refusal; it is not called
 * where there is no limit. `isRepeat`: the gateway tries a request again that was counted before.
 *
 * @throws `auth.rate_limited` with the seconds to wait when the key, the user or the group has used
 * up the requests of the minute, or the user the successes or the requests of the window.
 */
export type ModelRequestLimit = (
  payer: RequestPayer,
  report: (state: RateLimitState) => void,
  isRepeat?: boolean,
) => Promise<() => Promise<void>>;

type Deps = { counters: Counters; successLists: SuccessLists; clock: Clock; settings: () => ModelRequestSettings };

type Note = (state: RateLimitState) => void;

const MINUTE_SECONDS = 60;

/**
 * Successes are limited in an approximate sliding window: concurrent requests all pass until the
 * first has succeeded. All requests, failures included, are limited in fixed windows. The limits
 * are read again for every request.
 */
export function createModelRequestLimit(deps: Deps): ModelRequestLimit {
  const { counters, successLists, clock } = deps;

  async function countWindow(payer: RequestPayer, note: Note, isRepeat: boolean): Promise<() => Promise<void>> {
    const { window } = deps.settings();
    if (!window) return async () => {};
    const { seconds: windowSeconds, groups, ...everyone } = window;
    const { total, success } = groups.get(payer.group) ?? everyone;

    const list = String(payer.user.id);
    const sinceMs = clock.nowMs() - windowSeconds * 1000;
    const { count, at } = await successLists.read(list, { sinceMs, index: success - 1 });
    const wait = at === undefined ? 0 : (at - sinceMs) / 1000;
    note({ limit: success, remaining: Math.max(0, success - count - 1), resetSeconds: windowSeconds });
    // An older node may have written a time that lies hours ahead. Its list still expires after one
    // window.
    if (wait > 0) throw authErrors.rate_limited({ retryAfterSeconds: Math.min(wait, windowSeconds) });
    if (total > 0 && !isRepeat) {
      const { count: requests, resetsInSeconds } = await counters.add(`model-requests:${list}`, 1, windowSeconds);
      note({ limit: total, remaining: Math.max(0, total - requests), resetSeconds: resetsInSeconds });
      if (requests > total) throw authErrors.rate_limited({ retryAfterSeconds: resetsInSeconds });
    }

    // The list keeps as many entries as the highest limit needs: a user's keys may belong to
    // several groups.
    const keep = Math.max(everyone.success, ...[...groups.values()].map((own) => own.success));
    return () => successLists.push(list, { atMs: clock.nowMs(), keep, ttlSeconds: windowSeconds });
  }

  return async (payer, report, isRepeat = false) => {
    let fewest: RateLimitState | undefined;
    const note: Note = (state) => {
      if (!fewest || state.remaining <= fewest.remaining) fewest = state;
    };
    try {
      if (!isRepeat) await countMinute(deps, payer, note);
      return await countWindow(payer, note, isRepeat);
    } finally {
      if (fewest) report(fewest);
    }
  };
}

/** Counts a request of this minute for the key, the user, and the user in the group. */
async function countMinute(
  { counters, settings }: Deps,
  { user, key, group }: RequestPayer,
  note: Note,
): Promise<void> {
  const limits = [
    [`key:${key?.id}`, key?.requestsPerMinute],
    [`user:${user.id}`, user.requestsPerMinute],
    [`group:${user.id}:${group}`, settings().requestsPerMinute(group)],
  ] as const;
  let waitSeconds = 0;
  for (const [owner, limit] of limits) {
    if (!limit) continue;
    const { count, resetsInSeconds } = await counters.add(`minute:${owner}`, 1, MINUTE_SECONDS);
    note({ limit, remaining: Math.max(0, limit - count), resetSeconds: resetsInSeconds });
    if (count > limit) waitSeconds = Math.max(waitSeconds, resetsInSeconds);
  }
  if (waitSeconds > 0) throw authErrors.rate_limited({ retryAfterSeconds: waitSeconds });
}
