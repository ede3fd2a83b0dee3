import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { localOrigin } from '../../../auth/index.ts';
import type { DevelopmentView } from '../../../http/index.ts';
import {
  AppError,
  type Clock,
  isObject,
  type Logger,
  OperatorError,
  parseJson,
  QUOTA_PER_USD,
  randomToken,
} from '../../../kernel/index.ts';
import type { HookCall, Manifest, PluginFault } from '../../../plugins/index.ts';
import { type Gateway, startGateway } from '../../composition/start-gateway.ts';
import type { Services } from '../../composition/types.ts';
import { readConfig } from '../../config/config.ts';
import { createDevelopmentView } from './development-view.ts';
import { createEndWatch, type EndedTask } from './watch-ends.ts';

type DevOptions = {
  source: string;
  port: number;
  /** Keeps the data between runs; undefined: a temporary folder, removed at the end. */
  dataDir: string | undefined;
  /** The vendor's address and the key of the channel. */
  vendor: { baseUrl: string; key: string };
  /** The price of all models of the plugin, as an expression; undefined: they are free. */
  price: string | undefined;
  /** What the account has to spend. Default: enough for a long time if there is a price. */
  userQuota: number | undefined;
  onHookCall: (call: HookCall) => void;
  /** Called once for each task, when it has ended and its bill is settled. */
  onTaskEnd?: (ended: EndedTask) => void;
  clock: Clock;
  logger: Logger;
};

export type DevInstance = {
  address: string;
  manifest: Manifest;
  root: { username: string; password: string };
  apiKey: string;
  /**
   * Serves a new source and binds the channel to it; or returns its faults and changes nothing.
   *
   * @throws `OperatorError` if the price does not fit it; the source before it serves on
   */
  reload(source: string): Promise<Manifest | PluginFault[]>;
  /** Shows on the page which cases of the fixture no longer fit. */
  showMismatches(mismatches: DevelopmentView['mismatches']): void;
  /** A task as its owner sees it, for `plugin record`. */
  task(id: string): Promise<{ status: string; failReason: string }>;
  stop(): Promise<void>;
};

/** Stored in the data directory, so that the next run has the same account and key. */
type Accounts = { username: string; password: string; apiKey: string };
const ACCOUNTS_FILE = 'plugin-dev.json';

const ROOT = 'root';
const CHANNEL = 'plugin-dev';
const VENDOR_CHANNEL_TYPE = 61;
/** 1000 USD. */
const PLENTY = 1000 * QUOTA_PER_USD;

/**
 * Starts a gateway for one plugin: on loopback, with a root account, an API key, and a channel
 * bound to the plugin. Reads nothing from the environment, which may be that of another gateway.
 *
 * @throws `OperatorError` with the faults of a source that cannot serve
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
    const page = createDevelopmentView(clock, () => gateway?.services);
    const ends = createEndWatch({ clock, services: () => gateway?.services, print: options.onTaskEnd });
    const onCall = (call: HookCall): void => {
      page.log.add(call);
      onHookCall(call);
      ends.see(call);
    };
    const started = await startGateway({ config, clock, logger, development: { onHookCall: onCall, view: page.view } });
    gateway = started;
    const accounts = stored ?? (await createAccounts(started, folder));
    await grantQuota(started, accounts, options);
    const bind = await openChannel(started, vendor);
    const serve = async (source: string): Promise<Manifest | PluginFault[]> => {
      const developed = await started.services.plugins.develop(source);
      if (!developed.ok) return developed.error;
      await bind(developed.value);
      await setPrices(started, developed.value, options.price);
      page.show(developed.value);
      return developed.value;
    };
    const manifest = await serve(options.source);
    if (Array.isArray(manifest)) throw new OperatorError(manifest.map(({ message }) => message).join('; '));
    let serving = options.source;
    const reload = async (source: string): Promise<Manifest | PluginFault[]> => {
      try {
        const served = await serve(source);
        if (!Array.isArray(served)) serving = source;
        return served;
      } catch (error) {
        // The source serves already when its price proves wrong: back to the one before.
        await serve(serving);
        throw error;
      }
    };
    return {
      address: started.address,
      manifest,
      root: { username: accounts.username, password: accounts.password },
      apiKey: accounts.apiKey,
      reload,
      showMismatches: page.showMismatches,
      async task(id) {
        const { status, failReason } = (await started.services.tasks.detail(id, null)).task;
        return { status, failReason };
      },
      async stop() {
        ends.stop();
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
  if (!reading.ok) throw new OperatorError(reading.faults.join('; '));
  return reading.config;
}

/** @throws `OperatorError` for a folder of another program, such as a gateway in production */
function readAccounts(folder: string): Accounts | undefined {
  const file = join(folder, ACCOUNTS_FILE);
  if (existsSync(file)) {
    const stored = parseJson(readFileSync(file, 'utf8'));
    if (isObject(stored)) {
      const { username, password, apiKey } = stored;
      if (typeof username === 'string' && typeof password === 'string' && typeof apiKey === 'string')
        return { username, password, apiKey };
    }
    throw new OperatorError(`${file} is damaged: remove the folder ${folder}`);
  }
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new OperatorError(
      `${folder} is not empty and was not created by "plugin dev": choose another folder with --data-dir`,
    );
  }
  return undefined;
}

async function createAccounts({ services }: Gateway, folder: string): Promise<Accounts> {
  const { auth, options } = services;
  const password = randomToken(18);
  await auth.setup.createRoot({ username: ROOT, password });
  const principal = await signIn(services, { username: ROOT, password });
  const { key } = await auth.apiKeys.create(principal, { name: CHANNEL, unlimited_quota: true });
  // Only `--price` gives this gateway a price.
  await options.change([{ key: 'billing.unpriced', value: 'everyone' }]);
  const accounts: Accounts = { username: ROOT, password, apiKey: key };
  writeFileSync(join(folder, ACCOUNTS_FILE), `${JSON.stringify(accounts, null, 2)}\n`, { mode: 0o600 });
  return accounts;
}

async function signIn({ auth }: Services, account: { username: string; password: string }) {
  const signedIn = await auth.passwords.signIn({ ...account, origin: localOrigin('taskgate plugin dev') });
  if (signedIn.kind !== 'session') throw new OperatorError('the account of this folder asks for a second factor');
  return auth.authenticatePanel(`Bearer ${signedIn.bundle.access_token}`);
}

async function grantQuota({ services }: Gateway, accounts: Accounts, options: DevOptions): Promise<void> {
  const value = options.userQuota ?? (options.price === undefined ? undefined : PLENTY);
  if (value === undefined) return;
  const principal = await signIn(services, accounts);
  await services.auth.administration.changeQuota(principal, principal.user.id, { mode: 'override', value });
}

/** Gives every model of the plugin the price; without one, takes those of an earlier run away. */
async function setPrices({ services }: Gateway, manifest: Manifest, expression: string | undefined): Promise<void> {
  const { prices } = services.billing;
  const pluginKey = manifest.key;
  for (const price of prices.all()) {
    const isKept = expression !== undefined && price.pluginKey === pluginKey && manifest.models.includes(price.model);
    if (!isKept) await prices.delete(price.pluginKey, price.model);
  }
  if (expression === undefined) return;
  for (const model of manifest.models) {
    await prices.save({ pluginKey, model, expression }).catch((error) => {
      if (!(error instanceof AppError)) throw error;
      throw new OperatorError(
        `--price ${expression}: ${error.message} Stop the command and start it with another --price.`,
      );
    });
  }
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
