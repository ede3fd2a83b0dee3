import { type Auth, createAuth } from '../../auth/index.ts';
import { createSecretBox, silentLogger, systemClock } from '../../kernel/index.ts';
import { createMemoryCounters, createMemorySuccessLists, createNoSessionCache, openStore } from '../../store/index.ts';
import { authConfig, authSettings } from '../auth-settings.ts';
import { createLiveOptions } from '../live-options.ts';
import { loadSecrets } from '../load-secrets.ts';
import { prepareDataDir } from '../prepare-data-dir.ts';
import { CommandError, type CommandInput } from './command.ts';
import { readSettings } from './read-settings.ts';

/** Runs `work` with the auth room on the configured database, beside a running gateway or without one; migrates it first. */
export async function withAccounts<T>(input: CommandInput, work: (auth: Auth) => Promise<T>): Promise<T> {
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
  try {
    const secrets = loadSecrets(config, dataDir);
    const options = createLiveOptions({ store, logger: silentLogger, syncFrequencyMs: config.syncFrequency * 1000 });
    const auth = createAuth({
      store,
      counters: createMemoryCounters(),
      successLists: createMemorySuccessLists(systemClock),
      // What a command changes moves the user's auth version, which running nodes read from the database at every request.
      sessionCache: createNoSessionCache(),
      clock: systemClock,
      logger: silentLogger,
      secretBox: createSecretBox(secrets.crypto),
      config: authConfig(config, secrets),
      settings: () => authSettings(options, ''),
    });
    return await work(auth);
  } finally {
    await store.close();
  }
}

/** The password on standard input, without the line break at its end. */
export async function readPassword(input: CommandInput): Promise<string> {
  const password = (await input.io.readStdin()).replace(/\r?\n$/, '');
  if (password === '')
    throw new CommandError('no password on standard input: printf %s "$PASSWORD" | taskgate admin …');
  return password;
}
