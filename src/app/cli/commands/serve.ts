import { AppError, OperatorError, systemClock } from '../../../kernel/index.ts';
import { readEnvironment } from '../../config/config.ts';
import type { Config } from '../../config/config-variables.ts';
import { findRunning, type RunningGateway } from '../../desktop/find-running.ts';
import { browserCommand, openBrowser, readPlatform } from '../../desktop/open-browser.ts';
import { answer, type CommandInput, EXIT, type ExitCode } from '../command.ts';
import { readSettings } from '../read-settings.ts';
import { runGateway } from '../run-gateway.ts';

/** Runs the gateway. */
export const serve = (input: CommandInput): Promise<ExitCode> =>
  runGateway(input, readSettings(input, { staysRoot: true }));

/** How long a gateway that is being started by somebody else may take to serve. */
const START_MS = 15_000;
const RETRY_MS = 100;

/**
 * Runs the gateway as `serve` does and opens its panel in the browser. Where it runs already, only
 * opens the panel.
 */
export async function start(input: CommandInput): Promise<ExitCode> {
  const settings = readSettings(input, { staysRoot: true });
  const platform = readPlatform(readEnvironment());
  const commandFor = (link: string) => (input.values['no-open'] === true ? undefined : browserCommand(link, platform));
  const open = (link: string) => {
    const command = commandFor(link);
    if (command) openBrowser(command);
  };
  const running = await findRunning(settings.config);
  if (running) return show(input, running, open);
  try {
    return await runGateway(input, settings, {
      onReady: ({ setupLink, address }) => open(setupLink ?? address),
      forPerson: commandFor('') !== undefined,
    });
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'store.in_use')) throw error;
    // Started twice at nearly the same time.
    const other = await waitForOther(settings.config);
    if (other === undefined) throw error;
    return show(input, other, open);
  }
}

function show(input: CommandInput, { address, link }: RunningGateway, open: (link: string) => void): ExitCode {
  open(link);
  answer(input, { ok: true, already_running: true, address, link }, `Taskgate is running already: ${link}`);
  return EXIT.ok;
}

async function waitForOther(config: Config): Promise<RunningGateway | undefined> {
  const until = systemClock.monotonicMs() + START_MS;
  while (systemClock.monotonicMs() < until) {
    const running = await findRunning(config);
    if (running) return running;
    await systemClock.sleep(RETRY_MS);
  }
  return undefined;
}

/**
 * Opens the panel of the running gateway in the browser, on its set-up page while there is no
 * administrator, and prints the address.
 */
export async function openPanel(input: CommandInput): Promise<ExitCode> {
  const { config } = readSettings(input);
  const running = await findRunning(config);
  if (running === undefined) {
    const place = config.databaseUrl === '' ? `with the data directory ${config.dataDir}` : 'at the configured address';
    throw new OperatorError(`no gateway is running ${place}: start one with "taskgate serve"`);
  }
  const command =
    input.values.print === true ? undefined : browserCommand(running.link, readPlatform(readEnvironment()));
  const opened = command !== undefined && openBrowser(command);
  answer(input, { ok: true, address: running.address, link: running.link, opened }, running.link);
  return EXIT.ok;
}
