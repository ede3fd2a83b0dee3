import type { Clock, Logger, WatchCache } from '../kernel/index.ts';
import {
  connectRedis,
  createMemoryCounters,
  createMemorySuccessLists,
  createNoSessionCache,
  createRedisCounters,
  createRedisSessionCache,
  createRedisSuccessLists,
} from '../store/index.ts';
import type { Counters, SessionCache, SuccessLists } from '../store/ports/index.ts';
import type { Config } from './config/config-variables.ts';
import type { Secrets } from './config/load-secrets.ts';
import type { Shutdown } from './shutdown.ts';

type Foundation = { config: Config; clock: Clock; logger: Logger; secrets: Secrets; stops: Shutdown };

/**
 * What nodes share through Redis; without it limits count for this node alone, and sessions are
 * read from the database.
 */
export function openShared(
  foundation: Foundation,
  watchCache: WatchCache,
): {
  counters: Counters;
  successLists: SuccessLists;
  sessionCache: SessionCache;
} {
  const { config, clock, logger, secrets, stops } = foundation;
  const own = createMemoryCounters(clock);
  watchCache('counters', own.size);
  if (config.redisUrl === '') {
    return {
      counters: own,
      successLists: createMemorySuccessLists(clock, watchCache),
      sessionCache: createNoSessionCache(),
    };
  }
  const redis = connectRedis({ url: config.redisUrl, logger });
  stops.add('redis', () => redis.disconnect());
  // A use of a session is noted when the database is read: where sessions end for want of use, that
  // has to happen every minute.
  const ttlSeconds = config.sessionIdleMinutes > 0 ? Math.min(config.syncFrequency, 60) : config.syncFrequency;
  return {
    counters: createRedisCounters(redis, own),
    successLists: createRedisSuccessLists(redis, clock, watchCache),
    sessionCache: createRedisSessionCache({
      ...{ redis, clock, logger, ttlSeconds, watchCache },
      cryptoSecrets: secrets.crypto,
    }),
  };
}
