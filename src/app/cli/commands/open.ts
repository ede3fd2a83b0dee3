import { OperatorError } from '../../../kernel/index.ts';
import { readEnvironment } from '../../config/config.ts';
import { findRunning } from '../../desktop/find-running.ts';
import { browserCommand, openBrowser, processSurroundings } from '../../desktop/open-browser.ts';
import { answer, type CommandInput, EXIT, type ExitCode } from '../command.ts';
import { readSettings } from '../read-settings.ts';

/**
 * Opens the panel of the running gateway in the browser, on its set-up page while there is no
 * administrator, and prints the address.
 */
export async function run(input: CommandInput): Promise<ExitCode> {
  const { config } = readSettings(input);
  const running = await findRunning(config);
  if (running === undefined) {
    const place = config.databaseUrl === '' ? `with the data directory ${config.dataDir}` : 'at the configured address';
    throw new OperatorError(`no gateway is running ${place}: start one with "taskgate serve"`);
  }
  const command =
    input.values.print === true ? undefined : browserCommand(running.link, processSurroundings(readEnvironment()));
  const opened = command !== undefined && openBrowser(command);
  answer(input, { ok: true, address: running.address, link: running.link, opened }, running.link);
  return EXIT.ok;
}
