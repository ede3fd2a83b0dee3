/**
 * The accounts of a gateway for commands beside it: `withAccounts` opens the auth room on its
 * database, and writes what a command did into its audit log.
 */
import { type Auth, createAuth, rootHasOtherSignInMethod } from '../../auth/index.ts';
import { createSecretBox, type JsonObject, silentLogger, systemClock } from '../../kernel/index.ts';
import { openSecrets } from '../../operations/secrets/load-secrets.ts';
import { prepareDataDir } from '../../operations/start/prepare-data-dir.ts';
import {
  authSettings,
  createSettingsService,
  modelRequestSettings,
  readOptions,
  type SettingsService,
} from '../../settings/index.ts';
import {
  createMemoryCounters,
  createMemorySuccessLists,
  createNoSessionCache,
  databaseVersion,
  openStore,
} from '../../store/index.ts';
import type { AuditAction, Store } from '../../store/ports/index.ts';
import { configuredNetwork, createSendMail, createUpstream } from '../../upstream/index.ts';
import { configuredNode } from '../config/node-address.ts';
import { authConfig } from '../config/room-settings.ts';
import type { CommandInput } from './command.ts';
import { readSettings } from './read-settings.ts';
import { requireDatabase } from './require-database.ts';

/**
 * What a command did, for the audit log: `user.password_reset` of an account, or of another target.
 */
export type AccountChange = { action: AuditAction; detail: JsonObject } & ({ userId: number } | { target: string });

export type Accounts = {
  auth: Auth;
  /**
   * Writes a change into the audit log. If that fails the change stands, and a warning is shown.
   */
  audit(change: AccountChange): Promise<void>;
  options: SettingsService;
  store: Store;
};

/** How long a command waits for the email that notifies the account's owner. */
const MAIL_MS = 10_000;

/**
 * Runs `work` with the auth room on the configured database. `creates`: where there is no database
 * yet, it is created. One that is there is never migrated: an older gateway may be serving it.
 *
 * @throws `OperatorError` where there is none otherwise; `store.schema_outdated`
 */
export async function withAccounts<T>(
  input: CommandInput,
  work: (accounts: Accounts) => Promise<T>,
  { creates = false } = {},
): Promise<T> {
  const { config } = readSettings(input);
  if (!creates) await requireDatabase(config);
  const dataDir = config.databaseUrl === '' ? prepareDataDir(config.dataDir).path : config.dataDir;
  const store = await openStore({
    databaseUrl: config.databaseUrl,
    dataDir,
    synchronous: config.sqliteSynchronous,
    clock: systemClock,
    logger: silentLogger,
    exclusive: false,
    migrate: (await databaseVersion(config)) === 0,
  });
  const upstream = createUpstream({
    ...{ allowPrivate: false, clock: systemClock, logger: silentLogger },
    network: configuredNetwork(config),
  });
  try {
    const secrets = await openSecrets(config, { store, dataDir });
    const secretBox = createSecretBox(secrets.crypto);
    const node = { ...configuredNode(config), listening: '' };
    const options = readOptions(await store.options.all(), secretBox);
    const auth = createAuth({
      upstream,
      sendMail: createSendMail({ proxy: config.smtpProxy, authorities: config.outboundAuthorities }),
      store,
      shared: {
        counters: createMemoryCounters(),
        successLists: createMemorySuccessLists(systemClock),
        // No cache to invalidate: a change raises the user's auth version, which running nodes read
        // from the database at every request.
        sessionCache: createNoSessionCache(),
      },
      clock: systemClock,
      logger: silentLogger,
      secretBox,
      config: authConfig(config, secrets),
      settings: {
        now: () => authSettings(options, node),
        inTransaction: async (tx) => authSettings(readOptions(await tx.options.all(), secretBox), node),
        modelRequests: () => modelRequestSettings(options),
      },
    });
    const settingsService = createSettingsService({
      store,
      secretBox,
      clock: systemClock,
      reload: async () => {},
      rootHasOtherSignInMethod: (tx, changed) =>
        rootHasOtherSignInMethod(tx, { settings: authSettings(changed, node), secretBox }),
    });
    const done = await work({
      auth,
      store,
      options: settingsService,
      audit: (change) => writeAudit(store, input, change),
    });
    await auth.mail.stop(MAIL_MS);
    return done;
  } finally {
    await upstream.close();
    await store.close();
  }
}

async function writeAudit(
  store: Store,
  { io }: CommandInput,
  { action, detail, ...about }: AccountChange,
): Promise<void> {
  // The person has the data directory or the database's password; the gateway knows no name.
  const actor = { userId: null, username: '', authMethod: 'cli', ip: '' };
  try {
    const target = 'target' in about ? about.target : `user:${about.userId}`;
    await store.logs.addAudit({ ...actor, action, target, detail, createdAt: systemClock.unix() });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    io.err(`taskgate: the change is made, but could not be written to the audit log: ${reason}\n`);
  }
}
