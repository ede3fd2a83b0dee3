import type { Clock, WatchCache } from '../../kernel/index.ts';
import type { SuccessLists } from '../ports/success-lists.ts';
import type { Redis } from './redis.ts';

/**
 * Names and texts of the public reference implementation (new-api,
 * `middleware/model-rate-limit.go`), so that its nodes and ours count together while an
 * installation changes over: a list a user, newest first, of UTC times to the millisecond. Older
 * nodes of its write their local time in the same layout, which nothing tells apart: what they
 * wrote is off by their time zone until it is gone.
 */
const PREFIX = 'rateLimit:MRRLS:';
const LAYOUT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/**
 * Lists shared through Redis. While the server is away or does not answer in time, lists of this
 * process take their place: a limit then holds per node.
 */
export function createRedisSuccessLists(redis: Redis, clock: Clock, watchCache?: WatchCache): SuccessLists {
  const own = createMemorySuccessLists(clock, watchCache);
  return {
    async at(key, index) {
      try {
        const text = await redis.lindex(PREFIX + key, index);
        return text === null ? undefined : readTime(text);
      } catch {
        return own.at(key, index);
      }
    },
    async push(key, { atMs, keep, ttlSeconds }) {
      try {
        const list = PREFIX + key;
        const results = await redis
          .multi()
          .lpush(list, new Date(atMs).toISOString())
          .ltrim(list, 0, keep - 1)
          .expire(list, ttlSeconds)
          .exec();
        const failed = results?.find(([error]) => error !== null);
        if (!results || failed) throw failed?.[0] ?? new Error('the transaction was not run');
      } catch {
        await own.push(key, { atMs, keep, ttlSeconds });
      }
    },
  };
}

/** What is no time counts as one long past: it holds nobody up. */
const readTime = (text: string): number => (LAYOUT.test(text) && Date.parse(text)) || 0;

/** Users' lists kept at once; beyond, the one that was pushed to longest ago goes. */
const MAX_LISTS = 100_000;

/** Lists in this process. */
export function createMemorySuccessLists(clock: Clock, watchCache?: WatchCache): SuccessLists {
  type List = { /** Oldest first. */ times: number[]; goneAtMs: number };
  const lists = new Map<string, List>();
  watchCache?.('success_lists', () => lists.size);

  const living = (key: string): List | undefined => {
    const list = lists.get(key);
    return list && list.goneAtMs > clock.monotonicMs() ? list : undefined;
  };

  /**
   * The list that was pushed to longest ago comes first: what is gone at the front is forgotten, so
   * that no key stays for ever.
   */
  function forgetGone(): void {
    for (const key of lists.keys()) {
      if (living(key) && lists.size <= MAX_LISTS) return;
      lists.delete(key);
    }
  }

  return {
    async at(key, index) {
      return living(key)?.times.at(-1 - index);
    },
    async push(key, { atMs, keep, ttlSeconds }) {
      const times = living(key)?.times ?? [];
      times.push(atMs);
      if (times.length > keep) times.splice(0, times.length - keep);
      lists.delete(key);
      lists.set(key, { times, goneAtMs: clock.monotonicMs() + ttlSeconds * 1000 });
      forgetGone();
    },
  };
}
