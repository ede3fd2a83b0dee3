import type { CachedSession } from '../ports/index.ts';
import { defineScript, type Redis } from './connect-redis.ts';

/**
 * The session cache's operations on the server, each atomic. All times are the server's own. So
 * neither clock differences between nodes nor a command that a hung server runs late can extend an
 * entry beyond what its database read justifies.
 */
export interface SessionScripts {
  read(key: string): Promise<{ at: number; value: string | null }>;
  /**
   * Milliseconds. The entry lives for `lifeMs` counted from `entry.at`, and at most for
   * `remainingMs` counted from now.
   */
  remember(key: string, entry: ActiveEntry, life: { lifeMs: number; remainingMs: number }): Promise<void>;
  /** `revoking` never replaces `revoked`; both replace an entry. */
  mark(state: 'revoking' | 'revoked', tombstones: readonly { key: string; ttlMs: number }[]): Promise<void>;
  /** Returns the server's time, if the server also accepts writes. */
  probe(key: string): Promise<number>;
}

export type ActiveEntry = CachedSession & { at: number };

const NOW = `
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;

const READ = `${NOW}
return { now, redis.call('get', KEYS[1]) }
`;

// ARGV: the entry as JSON, then `lifeMs` and `remainingMs`.
const REMEMBER = `${NOW}
local entry = cjson.decode(ARGV[1])
local ttl = math.min(entry.at + ARGV[2] - now, ARGV[3] + 0)
if ttl < 1 or entry.at > now then return 0 end
local held = redis.call('get', KEYS[1])
if held == 'revoking' or held == 'revoked' then return 0 end
if held then
  local known = cjson.decode(held)
  if known.userAuthVersion > entry.userAuthVersion or known.version > entry.version or known.at > entry.at then
    return 0
  end
end
redis.call('set', KEYS[1], ARGV[1], 'PX', math.floor(ttl))
return 1
`;

// ARGV: the state, then a time to live in milliseconds for each key.
const MARK = `
for i, key in ipairs(KEYS) do
  if ARGV[1] == 'revoked' or redis.call('get', key) ~= 'revoked' then
    redis.call('set', key, ARGV[1], 'PX', ARGV[i + 1])
  end
end
return 1
`;

// A full server or a replica answers reads and refuses writes: it cannot be used.
const PROBE = `${NOW}
redis.call('set', KEYS[1], 1, 'PX', 1000)
return now
`;

export function createSessionScripts(redis: Redis): SessionScripts {
  const read = defineScript(redis, 'taskgateReadSession', READ);
  const remember = defineScript(redis, 'taskgateRememberSession', REMEMBER);
  const mark = defineScript(redis, 'taskgateMarkSessions', MARK);
  const probe = defineScript(redis, 'taskgateProbe', PROBE);
  return {
    async read(key) {
      const reply = await read([key]);
      const [at, value] = Array.isArray(reply) ? reply : [];
      return { at: toTime(at), value: typeof value === 'string' ? value : null };
    },
    async remember(key, entry, { lifeMs, remainingMs }) {
      await remember([key], [JSON.stringify(entry), lifeMs, remainingMs]);
    },
    async mark(state, tombstones) {
      await mark(
        tombstones.map(({ key }) => key),
        [state, ...tombstones.map(({ ttlMs }) => ttlMs)],
      );
    },
    probe: async (key) => toTime(await probe([key])),
  };
}

function toTime(reply: unknown): number {
  if (typeof reply !== 'number') throw new Error('the cache server returned no time');
  return reply;
}
