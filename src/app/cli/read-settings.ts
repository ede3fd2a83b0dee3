import { OperatorError } from '../../kernel/index.ts';
import type { SettingWarning } from '../../settings/index.ts';
import { type ConfigOverrides, loadConfig } from '../config/config.ts';
import type { Config, VariableName } from '../config/config-variables.ts';
import { type CommandInput, option, UsageError } from './command.ts';
import { dropRoot } from './drop-root.ts';

const FLAGS: readonly (readonly [flag: string, variable: VariableName])[] = [
  ['host', 'host'],
  ['port', 'port'],
  ['data-dir', 'dataDir'],
];

type Needs = {
  /** False: the command runs without the gateway's secrets, which PostgreSQL demands else. */
  needsSecrets?: boolean;
  /** The command needs root where root runs it, and looks after the data directory itself. */
  staysRoot?: boolean;
};

/**
 * Reads the configuration; the command's flags override it. Run by root, the command goes on as the
 * owner of the data directory.
 *
 * @throws `UsageError` for an invalid flag, else `OperatorError` that lists every fault
 */
export function readSettings(
  input: CommandInput,
  { needsSecrets = true, staysRoot = false }: Needs = {},
): { config: Config; warnings: SettingWarning[] } {
  const overrides: ConfigOverrides = {};
  for (const [flag, variable] of FLAGS) {
    const value = option(input, flag);
    if (value !== undefined) overrides[variable] = { flag: `--${flag}`, value };
  }
  const reading = loadConfig(overrides, { needsSecrets });
  if (reading.ok) {
    if (!staysRoot) dropRoot(reading.config.dataDir);
    return reading;
  }
  // An invalid flag is wrong usage; an invalid variable is a failure.
  const wrong = reading.faults.filter((fault) => fault.startsWith('--'));
  if (wrong.length > 0) throw new UsageError(wrong.join('; '));
  throw new OperatorError(`the configuration is not valid:\n${reading.faults.map((fault) => `  ${fault}`).join('\n')}`);
}
