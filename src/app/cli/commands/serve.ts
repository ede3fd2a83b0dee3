import type { CommandInput, ExitCode } from '../command.ts';
import { readSettings } from '../read-settings.ts';
import { runGateway } from '../run-gateway.ts';

/** Runs the gateway. */
export const run = (input: CommandInput): Promise<ExitCode> =>
  runGateway(input, readSettings(input, { staysRoot: true }));
