import type { Clock, ReportCacheSize } from '../../kernel/index.ts';
import type { SuccessLists } from '../ports/index.ts';
import type { Redis } from './connect-redis.ts';

/**
 * Key names and formats of the public reference implementation (new-api,
 * `middleware/model-rate-limit.go`), so that its nodes and ours count together during a migration:
 * one list per user, the newest first, of UTC times in milliseconds. Its older nodes write local
 * time in the same format, which cannot be told apart: those entries are off by their time zone
 * until they expire.
 */
const PREFIX = 'rateLimit:MRRLS:';
const LAYOUT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/**
 * Counts the entries after a time by bisection, and reads one. Texts of this layout are in the
 * order of their times; the newest come first.
 */
const READ = `
local from, to = 0, redis.call('llen', KEYS[1])
while from < to do
  local middle = math.floor((from + to) / 2)
  if redis.call('lindex', KEYS[1], middle) > ARGV[1] then
    from = middle + 1
  else
    to = middle
  end
end
return {from, redis.call('lindex', KEYS[1], ARGV[2])}
`;

/**
 * Lists shared through Redis. While the server is unavailable or slow, lists of this process are
 * used: then a limit holds per node.
 */
export function createRedisSuccessLists(redis: Redis, clock: Clock, reportCacheSize?: ReportCacheSize): SuccessLists {
  const own = createMemorySuccessLists(clock, reportCacheSize);
  return {
    async read(key, { sinceMs, index }) {
      try {
        const since = new Date(sinceMs).toISOString();
        const [count, text] = (await redis.eval(READ, 1, PREFIX + key, since, index)) as [number, string | null];
        return { count, at: text === null ? undefined : readTime(text) };
      } catch {
        return own.read(key, { sinceMs, index });
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
        if (!results || failed) throw failed?.[0] ?? new Error('Redis did not run the transaction');
      } catch {
        await own.push(key, { atMs, keep, ttlSeconds });
      }
    },
  };
}

/** A value that is not a time counts as one long past, so that it blocks nobody. */
const readTime = (text: string): number => (LAYOUT.test(text) && Date.parse(text)) || 0;

/** The most lists at once. Beyond it, the one whose last addition is oldest is evicted. */
const MAX_LISTS = 100_000;

/** Lists in this process. */
export function createMemorySuccessLists(clock: Clock, reportCacheSize?: ReportCacheSize): SuccessLists {
  type List = { /** Oldest first. */ times: number[]; expiresAtMs: number };
  const lists = new Map<string, List>();
  reportCacheSize?.('success_lists', () => lists.size);

  const findLive = (key: string): List | undefined => {
    const list = lists.get(key);
    return list && list.expiresAtMs > clock.monotonicMs() ? list : undefined;
  };

  /**
   * Deletes expired lists from the front: the list whose last addition is oldest comes first. So no
   * key never expires.
   */
  function evictExpired(): void {
    for (const key of lists.keys()) {
      if (findLive(key) && lists.size <= MAX_LISTS) return;
      lists.delete(key);
    }
  }

  return {
    async read(key, { sinceMs, index }) {
      const times = findLive(key)?.times ?? [];
      let [from, to] = [0, times.length];
      while (from < to) {
        const middle = Math.floor((from + to) / 2);
        if ((times[middle] as number) > sinceMs) to = middle;
        else from = middle + 1;
      }
      return { count: times.length - from, at: times.at(-1 - index) };
    },
    async push(key, { atMs, keep, ttlSeconds }) {
      const times = findLive(key)?.times ?? [];
      times.push(atMs);
      if (times.length > keep) times.splice(0, times.length - keep);
      lists.delete(key);
      lists.set(key, { times, expiresAtMs: clock.monotonicMs() + ttlSeconds * 1000 });
      evictExpired();
    },
  };
}
