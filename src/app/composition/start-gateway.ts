import type { InRequest } from '../../http/index.ts';
import { type Clock, createSecretBox, type Logger, newUuid, OperatorError } from '../../kernel/index.ts';
import { adviseOnDamage } from '../../operations/doctor/advise-on-damage.ts';
import { announceNode, type NodePresence } from '../../operations/nodes/announce-node.ts';
import { fingerprintSecrets, openSecrets, SECRETS_FILE } from '../../operations/secrets/load-secrets.ts';
import { describeProcessLimits } from '../../operations/start/check-process.ts';
import { prepareDataDir } from '../../operations/start/prepare-data-dir.ts';
import { createSandbox } from '../../sandbox/index.ts';
import type { SettingWarning } from '../../settings/index.ts';
import type { Config } from '../config/config-variables.ts';
import { sandboxCommand, sandboxLimits } from '../config/sandbox-settings.ts';
import { VERSION } from '../version.ts';
import { createShutdown } from './shutdown.ts';
import type { Development, Services } from './types.ts';

export type Gateway = {
  /** Where a browser on this machine finds it, without a trailing slash. */
  address: string;
  port: number;
  dataDir: string;
  /** Opens the set-up page, once; undefined once there is an administrator. */
  setupLink: string | undefined;
  /** The files and folders that this start created, in words. */
  created: string[];
  /** What a command may do with a running gateway. */
  services: Services;
  /** Stops everything in order; waits for requests in flight up to `SHUTDOWN_TIMEOUT_SECONDS`. */
  stop(): Promise<void>;
  /** From now on `/readyz` answers 503; everything else goes on. */
  drain(): void;
  /** Reads the TLS certificate again. Never rejects. */
  reload(): Promise<void>;
};

/**
 * Starts all services in order and serves. The listener opens last, so that an open port means a
 * gateway that works; plugin calls wait until the first sandbox process is up, and `/readyz` with
 * them. When a step fails, everything already started is stopped again.
 *
 * @throws `OperatorError` or `AppError` with a message for people
 */
export async function startGateway(deps: {
  config: Config;
  clock: Clock;
  logger: Logger;
  development?: Development;
  /** What is unsafe or odd about the configuration. */
  warnings?: readonly SettingWarning[];
  inRequest?: InRequest;
}): Promise<Gateway> {
  const { config, clock, logger, development, warnings = [], inRequest } = deps;
  const shutdown = createShutdown(logger, clock);
  const startedMs = clock.monotonicMs();
  const timings: Record<string, number> = {};
  const recordTiming = (step: string) => {
    timings[step] = Math.round(clock.monotonicMs() - startedMs);
  };
  try {
    const created: string[] = [];
    const folder = config.databaseUrl === '' ? prepareDataDir(config.dataDir) : undefined;
    if (folder?.created) created.push(`data directory ${folder.path}`);
    for (const warning of [...(folder?.warnings ?? []), ...describeProcessLimits()]) logger.warn({}, warning);
    const dataDir = folder?.path ?? config.dataDir;

    // The first sandbox process boots slowest, so it starts before most of the program is loaded.
    const sandbox = createSandbox({ limits: sandboxLimits(config), command: sandboxCommand(), clock, logger });
    shutdown.add('sandbox', () => sandbox.close());
    recordTiming('sandbox_begun_ms');

    const { openStore } = await import('../../store/index.ts');
    const opening = openStore({
      databaseUrl: config.databaseUrl,
      poolUrl: config.databasePoolUrl,
      dataDir,
      synchronous: config.sqliteSynchronous,
      clock,
      logger,
      exclusive: true,
    });
    // Most of the program is loaded while the disk takes a new database.
    const loading = import('./compose-gateway.ts');
    const store = await opening;
    shutdown.add('store', () => store.close());
    recordTiming('store_ms');

    const secrets = await openSecrets(config, { store, dataDir });
    if (secrets.created) created.push(`secrets in ${dataDir}/${SECRETS_FILE}: keep a copy with your backups`);
    for (const warning of secrets.warnings) logger.warn({}, warning);

    const nodeId = newUuid();
    let presence: NodePresence | undefined;
    const announce = async () => {
      const node = await announceNode({
        store,
        clock,
        logger,
        id: nodeId,
        role: config.nodeRole,
        version: VERSION,
        fingerprints: fingerprintSecrets(secrets),
      });
      presence = node;
      shutdown.add('node', () => node.stop());
    };
    // Other nodes must know this one before it serves. On SQLite there are none, and the first
    // commit of a new file waits for the disk three times.
    if (store.dialect === 'postgres') await announce();

    const { composeGateway } = await loading;
    const isDrained = () => presence?.isDrained() === true;
    const composed = await composeGateway(
      {
        config,
        clock,
        logger,
        store,
        sandbox,
        secretBox: createSecretBox(secrets.crypto),
        secrets,
        nodeId,
        shutdown,
        warnings,
        ...(development ? { development } : {}),
        inRequest,
      },
      isDrained,
    );
    recordTiming('services_ms');
    const { address, port } = await composed.listen();
    if (store.dialect === 'sqlite') await announce();
    const setupLink = await composed.openSetupLink();
    recordTiming('ready_ms');
    logger.info({ address, version: VERSION, node: nodeId, role: config.nodeRole, ...timings }, 'ready');
    const { services, drain, reload } = composed;
    return { address, port, dataDir, setupLink, created, services, stop: () => shutdown.run(), drain, reload };
  } catch (error) {
    await shutdown.run();
    throw explainStartFailure(error, config);
  }
}

function explainStartFailure(error: unknown, config: Config): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const ports = config.resultsPort === 0 ? `port ${config.port}` : `port ${config.port} or ${config.resultsPort}`;
  const where = `${ports} on ${config.host}`;
  if (code === 'EADDRINUSE') {
    return new OperatorError(`${where} is in use: stop the other program, or choose another port with --port`);
  }
  if (code === 'EACCES')
    return new OperatorError(`${where} may not be used by this user: choose a port above 1023 with --port`);
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return new OperatorError(`${config.host} is not an address of this machine: choose another with --host`);
  }
  const advice = adviseOnDamage(error, config);
  return advice === undefined ? error : new OperatorError(advice);
}
