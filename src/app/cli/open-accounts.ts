import { type Auth, createAuth, rootHasOtherSignInMethod } from '../../auth/index.ts';
import { createSecretBox, type JsonObject, silentLogger, systemClock } from '../../kernel/index.ts';
import { authSettings, createSettingsService, readOptions, type SettingsService } from '../../settings/index.ts';
import { createMemoryCounters, createMemorySuccessLists, createNoSessionCache, openStore } from '../../store/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { createSendMail, createUpstream } from '../../upstream/index.ts';
import { authConfig } from '../config/auth-config.ts';
import { loadSecrets } from '../config/load-secrets.ts';
import { configuredNode } from '../config/node-address.ts';
import { prepareDataDir } from '../operations/prepare-data-dir.ts';
import { CommandError, type CommandInput } from './command.ts';
import { readSettings } from './read-settings.ts';

/**
 * What a command has done to an account: `user.password_reset` of `user:1`, with what was done
 * besides.
 */
export type AccountChange = { action: string; userId: number; detail: JsonObject };

export type Accounts = {
  auth: Auth;
  /**
   * Enters a done change into the audit trail. The change stands if that fails; standard error says
   * so.
   */
  audit(change: AccountChange): Promise<void>;
  options: SettingsService;
};

/** So long a command waits for the mail that tells an owner what it did. */
const MAIL_MS = 10_000;

/**
 * Runs `work` with the auth room on the configured database, beside a running gateway or without
 * one; migrates it first.
 */
export async function withAccounts<T>(input: CommandInput, work: (accounts: Accounts) => Promise<T>): Promise<T> {
  const { config } = readSettings(input);
  const dataDir = config.databaseUrl === '' ? prepareDataDir(config.dataDir).path : config.dataDir;
  const store = await openStore({
    databaseUrl: config.databaseUrl,
    dataDir,
    synchronous: config.sqliteSynchronous,
    clock: systemClock,
    logger: silentLogger,
    exclusive: false,
  });
  const upstream = createUpstream({ allowPrivate: false, clock: systemClock, logger: silentLogger });
  try {
    const secrets = loadSecrets(config, dataDir);
    const secretBox = createSecretBox(secrets.crypto);
    const node = { ...configuredNode(config), listening: '' };
    const options = readOptions(await store.options.all(), secretBox);
    const auth = createAuth({
      upstream,
      sendMail: createSendMail(),
      store,
      counters: createMemoryCounters(),
      successLists: createMemorySuccessLists(systemClock),
      // What a command changes moves the user's auth version, which running nodes read from the
      // database at every request.
      sessionCache: createNoSessionCache(),
      clock: systemClock,
      logger: silentLogger,
      secretBox,
      config: authConfig(config, secrets),
      settings: () => authSettings(options, node),
      settingsIn: async (tx) => authSettings(readOptions(await tx.options.all(), secretBox), node),
    });
    const desk = createSettingsService({
      store,
      secretBox,
      clock: systemClock,
      reload: async () => {},
      rootHasOtherSignInMethod: (tx, changed) => rootHasOtherSignInMethod(tx, authSettings(changed, node)),
    });
    const done = await work({ auth, options: desk, audit: (change) => enterAudit(store, input, change) });
    await auth.mail.stop(MAIL_MS);
    return done;
  } finally {
    await upstream.close();
    await store.close();
  }
}

async function enterAudit(
  store: Store,
  { io }: CommandInput,
  { action, userId, detail }: AccountChange,
): Promise<void> {
  // Whoever holds the data directory or the database's password acted; the gateway knows no name
  // for him.
  const actor = { userId: null, username: '', authMethod: 'cli', ip: '' };
  try {
    await store.logs.addAudit({ ...actor, action, target: `user:${userId}`, detail, createdAt: systemClock.unix() });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    io.err(`taskgate: it is done, but the audit trail does not have it: ${reason}\n`);
  }
}

/** The password on standard input, without the line break at its end. */
export async function readPassword(input: CommandInput): Promise<string> {
  const password = (await input.io.readStdin()).replace(/\r?\n$/, '');
  if (password === '')
    throw new CommandError('no password on standard input: printf %s "$PASSWORD" | taskgate admin …');
  return password;
}
