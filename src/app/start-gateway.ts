import { type Clock, createSecretBox, type Logger, newUuid } from '../kernel/index.ts';
import { createSandbox } from '../sandbox/index.ts';
import { CommandError } from './cli/command.ts';
import type { Development, Services } from './compose.ts';
import type { Config } from './config/config-variables.ts';
import { fingerprintSecrets, loadSecrets, SECRETS_FILE } from './config/load-secrets.ts';
import { sandboxCommand, sandboxLimits } from './config/sandbox-settings.ts';
import { announceNode } from './operations/announce-node.ts';
import { prepareDataDir } from './operations/prepare-data-dir.ts';
import { createShutdown } from './shutdown.ts';
import { VERSION } from './version.ts';

export type Gateway = {
  /** Where a browser on this machine finds it, without a trailing slash. */
  address: string;
  port: number;
  dataDir: string;
  /** Opens the set-up page, once; undefined once there is an administrator. */
  setupLink: string | undefined;
  /** What this start made, in words. */
  created: string[];
  /** What a command may do with a running gateway. */
  rooms: Pick<Services, 'auth' | 'channels' | 'plugins' | 'options'>;
  /** Stops everything in order; waits for requests in flight up to `SHUTDOWN_TIMEOUT_SECONDS`. */
  stop(): Promise<void>;
};

/**
 * Starts all rooms in order and serves. The listener opens last: whoever reaches the port finds a
 * gateway that works. Throws `CommandError` or `AppError` with a message for people; what had been
 * started by then is stopped again.
 */
export async function startGateway(deps: {
  config: Config;
  clock: Clock;
  logger: Logger;
  development?: Development;
  /** What the configuration deserves a word for. */
  warnings?: readonly string[];
}): Promise<Gateway> {
  const { config, clock, logger, development, warnings = [] } = deps;
  const stops = createShutdown(logger, clock);
  const started = clock.monotonicMs();
  const timings: Record<string, number> = {};
  const passed = (step: string) => {
    timings[step] = Math.round(clock.monotonicMs() - started);
  };
  try {
    const created: string[] = [];
    const folder = config.databaseUrl === '' ? prepareDataDir(config.dataDir) : undefined;
    if (folder?.created) created.push(`data directory ${folder.path}`);
    for (const warning of folder?.warnings ?? []) logger.warn({}, warning);
    const dataDir = folder?.path ?? config.dataDir;

    // Its first process takes longest to boot, so it begins before most of the program is even
    // loaded.
    const sandbox = createSandbox({ limits: sandboxLimits(config), command: sandboxCommand(), clock, logger });
    stops.add('sandbox', () => sandbox.close());
    passed('sandbox_begun_ms');

    const { openStore } = await import('../store/index.ts');
    const store = await openStore({
      databaseUrl: config.databaseUrl,
      dataDir,
      synchronous: config.sqliteSynchronous,
      clock,
      logger,
      exclusive: true,
    });
    stops.add('store', () => store.close());
    passed('store_ms');

    const secrets = loadSecrets(config, dataDir);
    if (secrets.created) created.push(`secrets in ${dataDir}/${SECRETS_FILE}: keep a copy with your back-ups`);
    for (const warning of secrets.warnings) logger.warn({}, warning);

    const nodeId = newUuid();
    const node = await announceNode({
      store,
      clock,
      logger,
      id: nodeId,
      role: config.nodeRole,
      version: VERSION,
      fingerprints: fingerprintSecrets(secrets),
    });
    stops.add('node', () => node.stop());

    const { composeServices } = await import('./compose.ts');
    const rooms = await composeServices({
      config,
      clock,
      logger,
      store,
      sandbox,
      secretBox: createSecretBox(secrets.crypto),
      secrets,
      nodeId,
      stops,
      warnings,
      ...(development ? { development } : {}),
    });
    passed('rooms_ms');
    await sandbox.ready();
    passed('sandbox_ms');

    const { address, port } = await rooms.listen();
    const setupLink = await rooms.openSetupLink();
    passed('ready_ms');
    logger.info({ address, version: VERSION, node: nodeId, role: config.nodeRole, ...timings }, 'ready');
    return { address, port, dataDir, setupLink, created, rooms, stop: () => stops.run() };
  } catch (error) {
    await stops.run();
    throw explainStart(error, config);
  }
}

function explainStart(error: unknown, config: Config): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const where = `port ${config.port} on ${config.host}`;
  if (code === 'EADDRINUSE') {
    return new CommandError(`${where} is in use: stop the other program, or choose another port with --port`);
  }
  if (code === 'EACCES')
    return new CommandError(`${where} may not be used by this user: choose a port above 1023 with --port`);
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return new CommandError(`${config.host} is no address of this machine: choose another with --host`);
  }
  return error;
}
