import { OperatorError } from '../../kernel/index.ts';
import {
  configuredPassphrase,
  readPassphraseFile,
  requirePassphrase,
  unsealWithIdentities,
  unsealWithPassphrase,
} from '../../operations/backup/seal-secrets.ts';
import type { Unseal } from '../../operations/backup/types.ts';
import type { Config } from '../config/config-variables.ts';
import { askSecret } from './ask-secret.ts';
import { type CommandInput, option, UsageError } from './command.ts';

/** Asks at the terminal; undefined without one. */
export async function askPassphrase({ twice }: { twice: boolean }): Promise<string | undefined> {
  const first = await askSecret('Passphrase of the backup: ');
  if (first === undefined) return undefined;
  requirePassphrase(first);
  if (twice && (await askSecret('Once more: ')) !== first) throw new OperatorError('the two passphrases differ');
  return first;
}

/**
 * What opens the secrets of a backup, by the options or the configuration; undefined: nothing is
 * named.
 */
export function configuredUnseal(input: CommandInput, config: Config): Unseal | undefined {
  const file = option(input, 'passphrase-file');
  const identity = option(input, 'identity');
  if (file !== undefined && identity !== undefined) {
    throw new UsageError('--passphrase-file and --identity cannot be used together');
  }
  if (identity !== undefined) return unsealWithIdentities(identity);
  const passphrase = file === undefined ? configuredPassphrase(config) : readPassphraseFile(file);
  return passphrase === undefined ? undefined : unsealWithPassphrase(passphrase);
}
