import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { localOrigin } from '../../auth/index.ts';
import { type Clock, isObject, type Logger, parseJson, randomToken } from '../../kernel/index.ts';
import type { HookCall, Manifest, PluginFault } from '../../plugins/index.ts';
import { CommandError } from '../cli/command.ts';
import { readConfig } from '../config/config.ts';
import { type Gateway, startGateway } from '../start-gateway.ts';

type DevOptions = {
  source: string;
  port: number;
  /** Keeps the data between runs; undefined: a temporary folder, removed at the end. */
  dataDir: string | undefined;
  /** The vendor's address and the key of the channel. */
  vendor: { baseUrl: string; key: string };
  onHookCall: (call: HookCall) => void;
  clock: Clock;
  logger: Logger;
};

export type DevInstance = {
  address: string;
  manifest: Manifest;
  root: { username: string; password: string };
  apiKey: string;
  /** Serves a new source and binds the channel to it; or returns its faults and changes nothing. */
  reload(source: string): Promise<Manifest | PluginFault[]>;
  stop(): Promise<void>;
};

/** Stored in the data directory, so that the next run has the same account and key. */
type Accounts = { username: string; password: string; apiKey: string };
const ACCOUNTS_FILE = 'plugin-dev.json';

const ROOT = 'root';
const CHANNEL = 'plugin-dev';
const VENDOR_CHANNEL_TYPE = 61;

/**
 * Starts a gateway for one plugin: on loopback, with a root account, an API key, and a channel
 * bound to the plugin. Reads nothing from the environment, which may be that of another gateway.
 *
 * @throws `CommandError` with the faults of a source that cannot serve
 */
export async function startDevInstance(options: DevOptions): Promise<DevInstance> {
  const { dataDir, clock, logger, vendor, onHookCall } = options;
  const folder = dataDir ?? mkdtempSync(join(tmpdir(), 'taskgate-dev-'));
  const discard = () => {
    if (dataDir === undefined) rmSync(folder, { recursive: true, force: true });
  };
  let gateway: Gateway | undefined;
  try {
    const stored = readAccounts(folder);
    const config = devConfig(folder, options.port);
    const started = await startGateway({ config, clock, logger, development: { onHookCall } });
    gateway = started;
    const accounts = stored ?? (await createAccounts(started, folder));
    const bind = await openChannel(started, vendor);
    const reload = async (source: string): Promise<Manifest | PluginFault[]> => {
      const developed = await started.services.plugins.develop(source);
      if (!developed.ok) return developed.error;
      await bind(developed.value);
      return developed.value;
    };
    const manifest = await reload(options.source);
    if (Array.isArray(manifest)) throw new CommandError(manifest.map(({ message }) => message).join('; '));
    return {
      address: started.address,
      manifest,
      root: { username: accounts.username, password: accounts.password },
      apiKey: accounts.apiKey,
      reload,
      async stop() {
        await started.stop();
        discard();
      },
    };
  } catch (error) {
    await gateway?.stop();
    discard();
    throw error;
  }
}

function devConfig(dataDir: string, port: number) {
  const flag = (value: string) => ({ flag: 'plugin dev', value });
  const reading = readConfig(
    {},
    {
      host: flag('127.0.0.1'),
      port: flag(String(port)),
      dataDir: flag(dataDir),
      trustedProxies: flag('none'),
      // A person waits for the result.
      pollIntervalSeconds: flag('1'),
      shutdownSeconds: flag('2'),
      sandboxKillsToSuspend: flag('1000'),
    },
  );
  if (!reading.ok) throw new CommandError(reading.faults.join('; '));
  return reading.config;
}

/** @throws `CommandError` for a folder of another program, such as a gateway in production */
function readAccounts(folder: string): Accounts | undefined {
  const file = join(folder, ACCOUNTS_FILE);
  if (existsSync(file)) {
    const stored = parseJson(readFileSync(file, 'utf8'));
    if (isObject(stored)) {
      const { username, password, apiKey } = stored;
      if (typeof username === 'string' && typeof password === 'string' && typeof apiKey === 'string')
        return { username, password, apiKey };
    }
    throw new CommandError(`${file} is damaged: remove the folder ${folder}`);
  }
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new CommandError(
      `${folder} is not empty and was not created by "plugin dev": choose another folder with --data-dir`,
    );
  }
  return undefined;
}

async function createAccounts({ services }: Gateway, folder: string): Promise<Accounts> {
  const { auth, options } = services;
  const password = randomToken(18);
  await auth.setup.createRoot({ username: ROOT, password });
  const login = await auth.passwords.logIn({
    username: ROOT,
    password,
    origin: localOrigin('taskgate plugin dev'),
  });
  if (login.kind !== 'session') throw new Error('a new account asks for a second factor');
  const principal = await auth.authenticatePanel(`Bearer ${login.bundle.access_token}`);
  const { key } = await auth.apiKeys.create(principal, { name: CHANNEL, unlimited_quota: true });
  // This gateway has no prices, and needs none.
  await options.change([{ key: 'billing.unpriced', value: 'everyone' }]);
  const accounts: Accounts = { username: ROOT, password, apiKey: key };
  writeFileSync(join(folder, ACCOUNTS_FILE), `${JSON.stringify(accounts, null, 2)}\n`, { mode: 0o600 });
  return accounts;
}

/**
 * Returns the function that binds the channel to a manifest; its first call creates the channel.
 */
async function openChannel({ services }: Gateway, { baseUrl, key }: DevOptions['vendor']) {
  const { channels } = services;
  const { items } = await channels.list({ page: 1, pageSize: 100 });
  let id = items.find(({ name }) => name === CHANNEL)?.id;
  return async (manifest: Manifest): Promise<void> => {
    const bound = { key, baseUrl, models: manifest.models, taskPluginKey: manifest.key };
    if (id === undefined) {
      const { channel } = await channels.create({ name: CHANNEL, type: VENDOR_CHANNEL_TYPE, ...bound });
      id = channel.id;
    } else await channels.update(id, bound, { mayMoveKey: true });
  };
}
