import { systemClock } from '../../kernel/index.ts';
import type { LogFile } from '../../telemetry/logging/log-file.ts';
import {
  createLogger,
  createRequestContext,
  type ProcessLogger,
  type RequestContext,
} from '../../telemetry/logging/logger.ts';
import { type Gateway, startGateway } from '../composition/start-gateway.ts';
import type { Config } from '../config/config-variables.ts';
import { recordAddress } from '../desktop/find-running.ts';
import { VERSION } from '../version.ts';
import { type CommandInput, EXIT, type ExitCode } from './command.ts';
import type { readSettings } from './read-settings.ts';

const MIB = 1024 * 1024;

type RunOptions = {
  /** Called once it serves. */
  onReady?: (gateway: Gateway) => void;
  /**
   * A person looks at the output although it is not a terminal: they started it on their desktop.
   */
  forPerson?: boolean;
};

/**
 * Runs the gateway until SIGTERM or SIGINT; a second signal does not wait for requests. SIGHUP
 * reloads, unless it says that the terminal is gone.
 */
export async function runGateway(
  input: CommandInput,
  settings: Settings,
  { onReady = () => {}, forPerson = false }: RunOptions = {},
): Promise<ExitCode> {
  const { config } = settings;
  const file = config.logFile === '' ? undefined : await openFile(config);
  const requests = createRequestContext();
  const colors = input.io.isTerminal && file === undefined;
  const logger = await createLogger({
    level: config.debug ? 'debug' : config.logLevel,
    pretty: config.logFormat === 'pretty' || (config.logFormat === 'auto' && colors),
    colors,
    file,
    requestId: requests.requestId,
  });
  try {
    return await serve(input, { ...settings, logger, file, requests, onReady, forPerson });
  } finally {
    // Log lines come before the reason of a failed start, which is not a log line.
    logger.flush();
  }
}

async function openFile({ logFile: path, logFileMb, logFileKeep: keep, logFileDaily }: Config): Promise<LogFile> {
  const { openLogFile } = await import('../../telemetry/logging/log-file.ts');
  return openLogFile({ path, maxBytes: logFileMb * MIB, keep, ...(logFileDaily ? { daily: systemClock } : {}) });
}

type Settings = ReturnType<typeof readSettings>;
type Serving = Settings & {
  logger: ProcessLogger;
  file: LogFile | undefined;
  requests: RequestContext;
} & Required<RunOptions>;

async function serve(input: CommandInput, serving: Serving): Promise<ExitCode> {
  const { config, warnings, logger, file, requests, onReady, forPerson } = serving;
  for (const { message } of warnings) logger.warn({}, message);

  const stopping = new AbortController();
  const force = new AbortController();
  const onSignal = (signal: NodeJS.Signals) => {
    if (stopping.signal.aborted) force.abort();
    else {
      logger.info({ signal }, 'stopping; a second signal ends at once');
      stopping.abort();
    }
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);

  let reload = () => logger.info({}, 'nothing can be reloaded before the gateway is ready');
  process.on('SIGHUP', (signal) => {
    // The terminal is gone, and with it the person who could end the gateway.
    if (input.io.isTerminal) onSignal(signal);
    else {
      file?.reopen();
      reload();
    }
  });

  const gateway = await startGateway({ config, clock: systemClock, logger, warnings, inRequest: requests.run });
  // From now on, code that runs often is compiled as usual (`main.ts`).
  Bun.unsafe.setJITPolicy(1);
  // The address follows the log of the start. Requests come already: nothing may block.
  logger.send();
  // Nodes on PostgreSQL may share a folder, or have none.
  const forget = config.databaseUrl === '' && recordAddress(gateway.dataDir, gateway);
  if (input.json) input.io.out(`${JSON.stringify(readyMessage(gateway))}\n`);
  else if (input.io.isTerminal || input.io.answersTerminal || forPerson) input.io.out(banner(config, gateway));
  else if (gateway.setupLink) logger.info({}, `no administrator yet: ${howToSetUp(forget !== false)}`);
  onReady(gateway);

  reload = () => {
    logger.info({}, 'reloading: the log file and the files of the TLS certificate are opened again');
    void gateway.reload();
  };

  await aborted(stopping.signal);
  if (forget) forget();
  gateway.drain();
  if (config.drainSeconds > 0) {
    logger.info({ seconds: config.drainSeconds }, 'draining: /readyz answers 503, everything else goes on');
    await systemClock.sleep(config.drainSeconds * 1000, force.signal);
  }
  const ended = await Promise.race([gateway.stop().then(() => true), aborted(force.signal).then(() => false)]);
  if (!ended) {
    logger.warn({}, 'ended by a second signal; requests in flight were cut');
    // The second signal is meant to end whatever still runs.
    process.exit(EXIT.failed);
  }
  logger.info({}, 'stopped');
  return EXIT.ok;
}

const aborted = (signal: AbortSignal): Promise<void> =>
  signal.aborted
    ? Promise.resolve()
    : new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

/**
 * The way to set up without a terminal. The set-up link is never logged: others may read the log.
 */
const howToSetUp = (isRecorded: boolean): string =>
  isRecorded
    ? '"taskgate open --print" prints the link that creates one'
    : 'create one with "taskgate admin create-root"';

/** What a person at the terminal needs. */
function banner(config: Config, gateway: Gateway): string {
  const lines = ['', `  Taskgate ${VERSION} is ready at ${gateway.address}`, ''];
  if (gateway.setupLink) {
    lines.push(
      '  Create the administrator account with this link. It works once, until the next start:',
      `  ${gateway.setupLink}`,
      '',
    );
  }
  if (config.logFile !== '') lines.push(`  Log       ${config.logFile}`);
  lines.push(`  Database  ${config.databaseUrl ? 'PostgreSQL' : `SQLite in ${gateway.dataDir}`}`);
  for (const path of gateway.created) lines.push(`  Created   ${path}`);
  return `${lines.join('\n')}\n\n`;
}

const readyMessage = (gateway: Gateway) => ({
  ok: true,
  version: VERSION,
  address: gateway.address,
  port: gateway.port,
  data_dir: gateway.dataDir,
  created: gateway.created,
  ...(gateway.setupLink ? { setup_url: gateway.setupLink } : {}),
});
