import { Redis } from 'ioredis';
import type { Logger } from '../../kernel/index.ts';

export type { Redis } from 'ioredis';

/**
 * Longest wait for a reply before a command counts as failed. The caller then continues without the
 * cache.
 */
const COMMAND_TIMEOUT_MS = 500;
/**
 * Longest pause between connection attempts, so that a restarted server is used again within a
 * second.
 */
const RECONNECT_MS = 500;

/**
 * A connection to Redis or Valkey that never makes a caller wait: while the server is unavailable,
 * every command fails at once and the connection is retried in the background. Loss and recovery
 * are each logged once. `url` may hold a password and is never logged.
 */
export function connectRedis({ url, logger }: { url: string; logger: Logger }): Redis {
  const redis = new Redis(url, {
    commandTimeout: COMMAND_TIMEOUT_MS,
    connectTimeout: 2_000,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(attempt * 50, RECONNECT_MS),
  });
  let down = false;
  redis.on('error', (error: Error) => {
    // The client would go on in database 0, among other keys than those of the other nodes.
    const isElsewhere = (error as { command?: { name?: string } }).command?.name === 'select';
    if (isElsewhere) redis.disconnect(true);
    const reason = isElsewhere
      ? `the database of REDIS_URL cannot be used: ${error.message}; name one that exists, or raise "databases" at the server`
      : error.message;
    if (!down) logger.warn({ reason }, 'the shared cache cannot be reached; this node continues without it');
    down = true;
  });
  redis.on('ready', () => {
    if (down) logger.info({}, 'the shared cache is reachable again');
    down = false;
  });
  return redis;
}

/**
 * Defines a Lua script that the server runs atomically; its text is sent once per connection. The
 * returned function resolves with the raw reply and rejects as every command does.
 */
export function defineScript(
  redis: Redis,
  name: string,
  lua: string,
): (keys: readonly string[], args?: readonly (string | number)[]) => Promise<unknown> {
  redis.defineCommand(name, { lua });
  const command = Reflect.get(redis, name) as (...args: (string | number)[]) => Promise<unknown>;
  return (keys, args = []) => command.call(redis, keys.length, ...keys, ...args);
}
