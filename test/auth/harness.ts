import { expect } from 'bun:test';
import { rm } from 'node:fs/promises';
import { createPasswordHashes } from '../../src/auth/credentials/password-hashes.ts';
import {
  type Auth,
  type AuthConfig,
  type AuthSettings,
  createAuth,
  type DecidingIp,
  type PanelPrincipal,
  type RequestOrigin,
  type SignedIn,
} from '../../src/auth/index.ts';
import {
  type Clock,
  createSecretBox,
  type Logger,
  newUuid,
  silentLogger,
  systemClock,
} from '../../src/kernel/index.ts';
import { createCallbackUrls } from '../../src/notifications/callback-urls.ts';
import {
  createMemoryCounters,
  createMemorySuccessLists,
  createNoSessionCache,
  openStore,
} from '../../src/store/index.ts';
import type { Counters, SessionCache, Store, UserRecord } from '../../src/store/ports/index.ts';
import { createUpstream, type SendMail } from '../../src/upstream/index.ts';
import { addUser } from '../support/add-user.ts';
import { CHEAP_COST, PASSWORD } from '../support/cheap-hash.ts';
import type { DatabaseKind } from '../support/databases.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

export type Dialect = DatabaseKind;

/** A request straight from `ip`. */
export function originFor(ip: string, userAgent = 'test browser'): RequestOrigin {
  return { ip, decidingIp: ip as DecidingIp, userAgent };
}

/** A fresh, migrated database, or the given one. */
export async function openTestStore(
  dialect: Dialect,
  databaseUrl?: string,
): Promise<{ store: Store; databaseUrl: string; dataDir: string; stop(): Promise<void> }> {
  const dataDir = temporaryFolder();
  const url = dialect === 'sqlite' ? '' : (databaseUrl ?? (await migratedDatabaseUrl()));
  const store = await openStore({
    databaseUrl: url,
    dataDir,
    synchronous: 'NORMAL',
    clock: systemClock,
    logger: silentLogger,
  });
  return {
    store,
    databaseUrl: url,
    dataDir,
    async stop() {
      await store.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

export const ORIGIN: RequestOrigin = originFor('203.0.113.7');

export const testConfig = (change: Partial<AuthConfig> = {}): AuthConfig => ({
  sessionSecrets: ['a session secret of the tests, long enough'],
  cryptoSecrets: ['a crypto secret of the tests, long enough'],
  refreshDays: 30,
  activeSessionLimit: 50,
  sessionIssuanceLimit: 100,
  sessionIssuanceWindowSeconds: 86_400,
  sessionIdleSeconds: 0,
  criticalLimit: 600,
  criticalLimitSeconds: 1200,
  apiLimit: 3000,
  apiLimitSeconds: 180,
  checkWebhookUrl: createCallbackUrls({ names: [], ranges: [] }).check,
  ...change,
});

export const testSettings = (change: Partial<AuthSettings['passkeys']> = {}): AuthSettings => ({
  systemName: 'Taskgate',
  serverAddress: 'http://localhost:3000',
  passkeys: {
    enabled: true,
    rpDisplayName: '',
    rpId: '',
    origins: [],
    allowInsecureOrigin: false,
    userVerification: 'preferred',
    attachment: '',
    ...change,
  },
  passwordSignIn: true,
  registration: {
    enabled: false,
    byPassword: true,
    verifyEmail: false,
    quotaForNewUser: 0,
    quotaForInviter: 0,
    quotaForInvitee: 0,
  },
  emails: { domains: undefined, refuseAliases: false },
  balanceAlerts: { offered: true, fallback: 0 },
  timezone: 'UTC',
  mail: undefined,
  challenge: undefined,
  providers: {
    github: undefined,
    discord: undefined,
    linuxdo: undefined,
    oidc: undefined,
    telegram: undefined,
    wechat: undefined,
  },
});

/** The auth room of one node. */
export function openAuth(
  store: Store,
  options: {
    sessionCache?: SessionCache;
    counters?: Counters;
    clock?: Clock;
    logger?: Logger;
    config?: Partial<AuthConfig>;
    settings?: () => AuthSettings;
    /** Default: as `settings`. */
    settingsIn?: Parameters<typeof createAuth>[0]['settings']['inTransaction'];
    /** Default: emails are dropped. */
    sendMail?: SendMail;
    onSignIn?: Parameters<typeof createAuth>[0]['onSignIn'];
    /** With the gateway's own cost of a password, for comparing times. */
    costlyPasswords?: boolean;
  } = {},
): Auth {
  const config = testConfig(options.config);
  const settings = options.settings ?? (() => testSettings());
  return createAuth({
    upstream: createUpstream({ allowPrivate: false, clock: systemClock, logger: silentLogger }),
    sendMail: options.sendMail ?? (async () => ({ steps: [] })),
    store,
    shared: {
      counters: options.counters ?? createMemoryCounters(),
      successLists: createMemorySuccessLists(options.clock ?? systemClock),
      sessionCache: options.sessionCache ?? createNoSessionCache(),
    },
    clock: options.clock ?? systemClock,
    logger: options.logger ?? silentLogger,
    secretBox: createSecretBox(config.cryptoSecrets),
    config: { ...config, ...(options.costlyPasswords ? {} : { passwordCost: CHEAP_COST }) },
    settings: {
      now: settings,
      inTransaction: options.settingsIn ?? (async () => settings()),
      modelRequests: () => ({ window: undefined, requestsPerMinute: () => undefined }),
    },
    ...(options.onSignIn ? { onSignIn: options.onSignIn } : {}),
  });
}

/** `PASSWORD` with the gateway's real hash parameters, for comparing times. */
export const hashOfGateway = (): Promise<string> => createPasswordHashes(silentLogger).hash(PASSWORD);

/** A user with a session, without the cost of a password. */
export async function enterQuickly(store: Store, clock: Clock): Promise<Extract<PanelPrincipal, { kind: 'session' }>> {
  const user = await addUser(store);
  const now = clock.unix();
  const sid = newUuid();
  await store.sessions.insert({
    ...{ sid, userId: user.id, version: 1, userAuthVersion: 1, status: 'active', loginMethod: 'password' },
    ...{
      refreshHash: '0'.repeat(64),
      previousRefreshHash: null,
      previousValidUntil: 0,
      ip: '',
      addressKey: '',
      userAgent: '',
    },
    ...{ createdAt: now, lastActiveAt: now, expiresAt: now + 100_000, revokedAt: 0, revokedReason: '' },
  });
  return { kind: 'session', user, sid, sessionVersion: 1 };
}

export async function signIn(auth: Auth, user: UserRecord, origin = ORIGIN): Promise<SignedIn> {
  const result = await auth.passwords.signIn({ username: user.username, password: PASSWORD, origin });
  if (result.kind !== 'session') throw new Error('a second factor was asked');
  return result;
}

export const refreshWith = (auth: Auth, refreshToken: string | undefined, expectedSid?: string): Promise<SignedIn> =>
  auth.sessions.refresh({ refreshToken, expectedSid, origin: ORIGIN });

export const bearer = (signedIn: SignedIn): string => `Bearer ${signedIn.bundle.access_token}`;

/**
 * `target` with some members replaced, for example to make one statement of a real store fail or
 * run late.
 */
export function overriding<T extends object>(target: T, change: Partial<T>): T {
  return new Proxy(target, {
    get(object, name) {
      if (Reflect.has(change, name)) return Reflect.get(change, name);
      const member: unknown = Reflect.get(object, name);
      return typeof member === 'function' ? member.bind(object) : member;
    },
  });
}

/** The newest row of the audit log about the user is a sign-in by this method. */
export async function expectSignInRow(store: Store, user: UserRecord, method: string): Promise<void> {
  const { items } = await store.logs.listAudit({ target: `user:${user.id}` }, { page: 1, pageSize: 1 });
  expect(items).toMatchObject([
    { action: 'auth.login', authMethod: method, username: user.username, target: `user:${user.id}` },
  ]);
}
