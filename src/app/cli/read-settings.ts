import { type ConfigOverrides, loadConfig } from '../config/config.ts';
import type { Config, VariableName } from '../config/config-variables.ts';
import { CommandError, type CommandInput, option, UsageError } from './command.ts';

const FLAGS: readonly (readonly [flag: string, variable: VariableName])[] = [
  ['host', 'host'],
  ['port', 'port'],
  ['data-dir', 'dataDir'],
];

/**
 * Reads the configuration; the command's flags override it. `needsSecrets` false: the command runs
 * without the gateway's secrets, which PostgreSQL demands else.
 *
 * @throws `UsageError` for an invalid flag, else `CommandError` that lists every fault
 */
export function readSettings(
  input: CommandInput,
  needs?: { needsSecrets: boolean },
): { config: Config; warnings: string[] } {
  const overrides: ConfigOverrides = {};
  for (const [flag, variable] of FLAGS) {
    const value = option(input, flag);
    if (value !== undefined) overrides[variable] = { flag: `--${flag}`, value };
  }
  const reading = loadConfig(overrides, needs);
  if (reading.ok) return reading;
  // An invalid flag is wrong usage; an invalid variable is a failure.
  const wrong = reading.faults.filter((fault) => fault.startsWith('--'));
  if (wrong.length > 0) throw new UsageError(wrong.join('; '));
  throw new CommandError(`the configuration is not valid:\n${reading.faults.map((fault) => `  ${fault}`).join('\n')}`);
}
