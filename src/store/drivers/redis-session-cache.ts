import {
  type Clock,
  deriveKey,
  hmacSha256Base64Url,
  isObject,
  type Logger,
  parseJson,
  type WatchCache,
} from '../../kernel/index.ts';
import type { CachedSession, CacheReading, SessionCache } from '../ports/session-cache.ts';
import type { Redis } from './redis.ts';
import { keepAvailable } from './redis-availability.ts';
import { createSessionScripts } from './redis-session-scripts.ts';

const PREFIX = 'taskgate:session:';
const PROBE_KEY = 'taskgate:session-probe';

/**
 * After the server was away, entries of up to so long afterwards are not believed: by then every
 * node is back too (they try again twice a second) and has published what it ended meanwhile.
 */
const SETTLE_MS = 2000;
/** Ended sessions a script call: the server does nothing else meanwhile. */
const BATCH = 500;
/**
 * Ends that are kept while the server is away: of more, those whose entries live the shortest are
 * given up first.
 */
const MAX_UNPUBLISHED = 100_000;

/**
 * The session cache in Redis or Valkey. `ttlSeconds` is the effective SYNC_FREQUENCY; session ids
 * are digested under a key of the first of `cryptoSecrets`, so that the server's keys open nothing.
 * While secrets are rotated nodes differ in which is the first: what ends is published under all of
 * them.
 *
 * The server counts as away from the first command that fails or gets no answer in time. Then
 * nothing waits for it: readings say nothing, what ends is kept. Once it answers again the kept
 * tombstones go out before any reading is believed, and what was remembered before that is not
 * believed at all: a restarted server may have gone back to older data.
 */
export function createRedisSessionCache(options: {
  redis: Redis;
  clock: Clock;
  logger: Logger;
  ttlSeconds: number;
  cryptoSecrets: readonly [string, ...string[]];
  watchCache?: WatchCache;
}): SessionCache {
  const { redis, clock, logger } = options;
  const ttlMs = options.ttlSeconds * 1000;
  const [digestKey, ...otherKeys] = options.cryptoSecrets.map((secret) => deriveKey(secret, 'session-cache.v1'));
  if (!digestKey) throw new Error('The session cache needs a secret.');
  const keyUnder = (key: Uint8Array, sid: string) => PREFIX + hmacSha256Base64Url(key, sid);
  const keyOf = (sid: string) => keyUnder(digestKey, sid);
  const scripts = createSessionScripts(redis);

  /** The server's time from which on entries are believed. */
  let believedFrom = 0;
  /** What ended and was not published yet, the oldest first. */
  const unpublished = new Map<string, { expiresAt: number; endedMs: number }>();
  options.watchCache?.('unpublished_session_ends', () => unpublished.size);

  const link = keepAvailable({
    redis,
    clock,
    logger,
    async restore() {
      await publish();
      believedFrom = (await scripts.probe(PROBE_KEY)) + SETTLE_MS;
      return unpublished.size === 0;
    },
  });

  const toTombstones = (sid: string, expiresAt: number) =>
    [digestKey, ...otherKeys].map((key) => ({
      key: keyUnder(key, sid),
      ttlMs: Math.max(1000, Math.floor(Math.min(expiresAt * 1000 - clock.nowMs(), ttlMs))),
    }));

  /** No entry that could contradict it lives longer than `ttlMs`. */
  function forgetNeedless(): void {
    for (const [sid, { endedMs }] of unpublished) {
      if (endedMs + ttlMs > clock.monotonicMs()) return;
      unpublished.delete(sid);
    }
  }

  function keep(sid: string, expiresAt: number): void {
    unpublished.delete(sid);
    unpublished.set(sid, { expiresAt, endedMs: clock.monotonicMs() });
    const [oldest] = unpublished.keys();
    if (unpublished.size > MAX_UNPUBLISHED && oldest !== undefined) unpublished.delete(oldest);
  }

  async function publish(): Promise<void> {
    forgetNeedless();
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
      link.attempt(async (): Promise<CacheReading> => {
        const { at, value } = await scripts.read(keyOf(sid));
        if (value === 'revoking' || value === 'revoked') return { at, state: value };
        const entry = readEntry(value);
        // One from the future is of a server whose clock was set back: its age cannot be told.
        const believed = entry !== undefined && entry.at >= believedFrom && entry.at <= at;
        return believed ? { at, state: 'active', session: entry.session } : { at, state: 'unknown' };
      }),

    async remember(sid, { userId, userAuthVersion, version, expiresAt }, at) {
      const restMs = expiresAt * 1000 - clock.nowMs();
      if (restMs < 1) return;
      const entry = { userId, userAuthVersion, version, expiresAt, at };
      await link.attempt(() => scripts.remember(keyOf(sid), entry, { lifeMs: ttlMs, restMs }));
    },

    async markRevoking(sessions) {
      await link.attempt(async () => {
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
      forgetNeedless();
      for (const { sid, expiresAt } of sessions) keep(sid, expiresAt);
      await link.attempt(publish);
    },
  };
}

function readEntry(value: string | null): { at: number; session: CachedSession } | undefined {
  const entry = value === null ? undefined : parseJson(value);
  if (!isObject(entry)) return undefined;
  const { userId, userAuthVersion, version, expiresAt, at } = entry;
  const whole =
    typeof userId === 'number' &&
    typeof userAuthVersion === 'number' &&
    typeof version === 'number' &&
    typeof expiresAt === 'number' &&
    typeof at === 'number';
  return whole ? { at, session: { userId, userAuthVersion, version, expiresAt } } : undefined;
}
