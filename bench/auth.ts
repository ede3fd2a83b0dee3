import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { createAuth } from '../src/auth/index.ts';
import { silentLogger, systemClock } from '../src/kernel/index.ts';
import { createMemoryCounters, openStore } from '../src/store/index.ts';

export type AuthRates = {
  /** Rotations of different sessions, each a durable write. */
  refreshesPerSecond: number;
  /** Access tokens checked with their session and user in the store. */
  sessionChecksPerSecond: number;
  apiKeyChecksPerSecond: number;
  /** Each one an argon2id hash and a new session. */
  loginsPerSecond: number;
};

const SESSIONS = 32;
const SECONDS = 2;
const ACCOUNT = { username: 'bench', password: 'a password for the bench' };
const ORIGIN = { ip: '127.0.0.1', userAgent: 'bench' };

/** The auth room alone, without HTTP, over a database of its own: SQLite in a temporary folder, or an empty PostgreSQL database. */
export async function benchAuth(databaseUrl = ''): Promise<AuthRates> {
  const dataDir = await mkdtemp(join(tmpdir(), 'taskgate-bench-'));
  const store = await openStore({
    databaseUrl,
    dataDir,
    synchronous: 'NORMAL',
    clock: systemClock,
    logger: silentLogger,
  });
  const auth = createAuth({
    store,
    counters: createMemoryCounters(),
    clock: systemClock,
    logger: silentLogger,
    config: {
      sessionSecrets: ['a secret for the bench'],
      refreshDays: 30,
      activeSessionLimit: 100_000,
      sessionIssuanceLimit: 100_000,
      sessionIssuanceWindowSeconds: 86_400,
      criticalLimit: 1,
      criticalLimitSeconds: 1,
    },
  });
  const logIn = async () => {
    const result = await auth.passwords.logIn({ ...ACCOUNT, origin: ORIGIN });
    if (result.kind !== 'session') throw new Error('a second factor was asked');
    return result;
  };

  await auth.setup.createRoot(ACCOUNT);
  const sessions = await Promise.all(Array.from({ length: SESSIONS }, logIn));
  const cookies = sessions.map(({ refreshToken }) => refreshToken);
  const bearers = sessions.map(({ bundle }) => `Bearer ${bundle.access_token}`);
  const { key } = await auth.apiKeys.create(await auth.authenticatePanel(bearers[0]), {
    name: 'bench',
    unlimited_quota: true,
  });

  const rates: AuthRates = {
    refreshesPerSecond: await rate(async (i) => {
      const request = { refreshToken: cookies[i], expectedSid: undefined, origin: ORIGIN };
      cookies[i] = (await auth.sessions.refresh(request)).refreshToken;
    }),
    sessionChecksPerSecond: await rate((i) => auth.authenticatePanel(bearers[i])),
    apiKeyChecksPerSecond: await rate(() => auth.authenticateApiKey(`Bearer ${key}`)),
    loginsPerSecond: await rate(logIn),
  };
  await store.close();
  await rm(dataDir, { recursive: true, force: true });
  return rates;
}

/** How often `work` ends a second, with one call a session in flight. */
async function rate(work: (session: number) => Promise<unknown>): Promise<number> {
  let done = 0;
  const begun = performance.now();
  const end = begun + SECONDS * 1000;
  await Promise.all(
    Array.from({ length: SESSIONS }, async (_, session) => {
      while (performance.now() < end) {
        await work(session);
        done += 1;
      }
    }),
  );
  return Math.round(done / ((performance.now() - begun) / 1000));
}
