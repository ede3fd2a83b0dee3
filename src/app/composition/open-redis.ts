import type { ReportCacheSize } from '../../kernel/index.ts';
import { createMemoryCounters, createMemorySuccessLists, createNoSessionCache } from '../../store/index.ts';
import type { Counters, SessionCache, SuccessLists } from '../../store/ports/index.ts';
import type { Foundation } from './types.ts';

/**
 * Opens what nodes share through Redis: counters of limits and the cache of sessions. Without Redis
 * each node counts for itself, and sessions are read from the database.
 */
export async function openRedis(
  foundation: Pick<Foundation, 'config' | 'clock' | 'logger' | 'secrets' | 'shutdown'>,
  reportCacheSize: ReportCacheSize,
): Promise<{ counters: Counters; successLists: SuccessLists; sessionCache: SessionCache }> {
  const { config, clock, logger, secrets, shutdown } = foundation;
  const memoryCounters = createMemoryCounters(clock);
  reportCacheSize('counters', memoryCounters.size);
  if (config.redisUrl === '') {
    return {
      counters: memoryCounters,
      successLists: createMemorySuccessLists(clock, reportCacheSize),
      sessionCache: createNoSessionCache(),
    };
  }
  const { connectRedis, createRedisCounters, createRedisSessionCache, createRedisSuccessLists } = await import(
    '../../store/redis/index.ts'
  );
  const redis = connectRedis({ url: config.redisUrl, logger });
  shutdown.add('redis', () => redis.disconnect());
  // Reading the database is what records that a session is used. Where idle sessions end, that must
  // happen every minute.
  const ttlSeconds = config.sessionIdleMinutes > 0 ? Math.min(config.syncFrequency, 60) : config.syncFrequency;
  return {
    counters: createRedisCounters(redis, memoryCounters),
    successLists: createRedisSuccessLists(redis, clock, reportCacheSize),
    sessionCache: createRedisSessionCache({
      redis,
      clock,
      logger,
      ttlSeconds,
      reportCacheSize,
      cryptoSecrets: secrets.crypto,
    }),
  };
}
