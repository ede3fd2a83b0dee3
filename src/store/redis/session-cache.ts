import {
  type Clock,
  deriveKey,
  hmacSha256Base64Url,
  isObject,
  type Logger,
  parseJson,
  type ReportCacheSize,
} from '../../kernel/index.ts';
import type { CachedSession, CacheReading, SessionCache } from '../ports/index.ts';
import { defineScript, type Redis } from './connect-redis.ts';
import { trackAvailability } from './track-availability.ts';

const PREFIX = 'taskgate:session:';
const PROBE_KEY = 'taskgate:session-probe';

/**
 * After an outage, entries written up to this long afterwards are ignored. By then every node has
 * reconnected (they retry twice a second) and has published the sessions that ended during it.
 */
const SETTLE_MS = 2000;
/** Ended sessions per script call; the server does nothing else during a call. */
const BATCH = 500;
/**
 * The most ended sessions queued during an outage. Beyond it the oldest are dropped: the cache
 * entries that they contradict expire first.
 */
const MAX_UNPUBLISHED = 100_000;

/**
 * The session cache in Redis or Valkey. `ttlSeconds` is the effective SYNC_FREQUENCY. Session ids
 * are digested under a key derived from the first of `cryptoSecrets`, so that the server's keys
 * reveal none. While secrets are rotated, nodes differ in which is the first: tombstones are
 * written under all of them.
 *
 * The server counts as away from the first command that fails or gets no answer in time. While it
 * is away nothing waits for it: reads return nothing and ended sessions are queued. Once it answers
 * again, the queued tombstones are written before any read is trusted. Entries from before that are
 * ignored, because a restarted server may have restored older data.
 */
export function createRedisSessionCache(options: {
  redis: Redis;
  clock: Clock;
  logger: Logger;
  ttlSeconds: number;
  cryptoSecrets: readonly [string, ...string[]];
  reportCacheSize?: ReportCacheSize;
}): SessionCache {
  const { redis, clock, logger } = options;
  const ttlMs = options.ttlSeconds * 1000;
  const [digestKey, ...otherKeys] = options.cryptoSecrets.map((secret) => deriveKey(secret, 'session-cache.v1'));
  if (!digestKey) throw new Error('The session cache needs a secret.');
  const keyUnder = (key: Uint8Array, sid: string) => PREFIX + hmacSha256Base64Url(key, sid);
  const toKey = (sid: string) => keyUnder(digestKey, sid);
  const scripts = createSessionScripts(redis);

  /** Entries older than this, by the server's time, are ignored. */
  let trustedFrom = 0;
  /** Ended sessions whose tombstones are not written yet, the oldest first. */
  const unpublished = new Map<string, { expiresAt: number; endedAtMs: number }>();
  options.reportCacheSize?.('unpublished_session_ends', () => unpublished.size);

  const availability = trackAvailability({
    redis,
    clock,
    logger,
    async restore() {
      await publish();
      trustedFrom = (await scripts.probe(PROBE_KEY)) + SETTLE_MS;
      return unpublished.size === 0;
    },
  });

  const toTombstones = (sid: string, expiresAt: number) =>
    [digestKey, ...otherKeys].map((key) => ({
      key: keyUnder(key, sid),
      ttlMs: Math.max(1000, Math.floor(Math.min(expiresAt * 1000 - clock.nowMs(), ttlMs))),
    }));

  /**
   * Drops those that are no longer needed: no entry that could contradict a tombstone lives longer
   * than `ttlMs`.
   */
  function dropExpired(): void {
    for (const [sid, { endedAtMs }] of unpublished) {
      if (endedAtMs + ttlMs > clock.monotonicMs()) return;
      unpublished.delete(sid);
    }
  }

  function enqueue(sid: string, expiresAt: number): void {
    unpublished.delete(sid);
    unpublished.set(sid, { expiresAt, endedAtMs: clock.monotonicMs() });
    const [oldest] = unpublished.keys();
    if (unpublished.size > MAX_UNPUBLISHED && oldest !== undefined) unpublished.delete(oldest);
  }

  async function publish(): Promise<void> {
    dropExpired();
    while (unpublished.size > 0) {
      const batch = [...unpublished].slice(0, BATCH);
      await scripts.mark(
        'revoked',
        batch.flatMap(([sid, { expiresAt }]) => toTombstones(sid, expiresAt)),
      );
      for (const [sid] of batch) unpublished.delete(sid);
    }
  }

  return {
    enabled: true,

    get: (sid) =>
      availability.attempt(async (): Promise<CacheReading> => {
        const { at, value } = await scripts.read(toKey(sid));
        if (value === 'revoking' || value === 'revoked') return { at, state: value };
        const entry = readEntry(value);
        // An entry from the future means that the server's clock was set back: its age is unknown.
        const trusted = entry !== undefined && entry.at >= trustedFrom && entry.at <= at;
        return trusted ? { at, state: 'active', session: entry.session } : { at, state: 'unknown' };
      }),

    async remember(sid, { userId, userAuthVersion, version, expiresAt }, at) {
      const remainingMs = expiresAt * 1000 - clock.nowMs();
      if (remainingMs < 1) return;
      const entry = { userId, userAuthVersion, version, expiresAt, at };
      await availability.attempt(() => scripts.remember(toKey(sid), entry, { lifeMs: ttlMs, remainingMs }));
    },

    async markRevoking(sessions) {
      await availability.attempt(async () => {
        for (let i = 0; i < sessions.length; i += BATCH) {
          const batch = sessions.slice(i, i + BATCH);
          await scripts.mark(
            'revoking',
            batch.flatMap(({ sid, expiresAt }) => toTombstones(sid, expiresAt)),
          );
        }
      });
    },

    async writeTombstones(sessions) {
      dropExpired();
      for (const { sid, expiresAt } of sessions) enqueue(sid, expiresAt);
      await availability.attempt(publish);
    },
  };
}

function readEntry(value: string | null): { at: number; session: CachedSession } | undefined {
  const entry = value === null ? undefined : parseJson(value);
  if (!isObject(entry)) return undefined;
  const { userId, userAuthVersion, version, expiresAt, at } = entry;
  const isComplete =
    typeof userId === 'number' &&
    typeof userAuthVersion === 'number' &&
    typeof version === 'number' &&
    typeof expiresAt === 'number' &&
    typeof at === 'number';
  return isComplete ? { at, session: { userId, userAuthVersion, version, expiresAt } } : undefined;
}

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

function createSessionScripts(redis: Redis): SessionScripts {
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
