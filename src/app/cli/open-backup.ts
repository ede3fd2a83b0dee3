import { type Stats, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { OperatorError, silentLogger, systemClock, unreadable } from '../../kernel/index.ts';
import { openBackupLocation } from '../../operations/backup/backup-location.ts';
import type { findBackup } from '../../operations/backup/manifest.ts';
import {
  configuredPassphrase,
  readPassphraseFile,
  requirePassphrase,
  unsealWithIdentities,
  unsealWithPassphrase,
} from '../../operations/backup/seal-secrets.ts';
import type { BackupConfig, BackupDeps, Manifest, Unseal } from '../../operations/backup/types.ts';
import type { StorageLocation } from '../../operations/storage/result-files.ts';
import type { Config } from '../config/config-variables.ts';
import { backupLocation } from '../config/storage-locations.ts';
import { VERSION } from '../version.ts';
import { askSecret } from './ask-secret.ts';
import { type CommandInput, option, stopSignals, UsageError } from './command.ts';
import { readSettings } from './read-settings.ts';

/**
 * Runs `work` with the location of `--from` or BACKUP_TO; a signal to stop aborts `signal`.
 *
 * @throws `OperatorError` where the location is a folder that is not there: a wrong name is not a
 * location without backups
 */
export async function withBackupLocation<T>(
  input: CommandInput,
  work: (deps: BackupDeps & { config: Config }) => Promise<T>,
): Promise<T> {
  // On the day of a restore the secrets may be in the backup alone.
  const { config } = readSettings(input, { needsSecrets: false });
  const base = { config, clock: systemClock, logger: silentLogger };
  const location = openBackupLocation(base, readBackupLocation(config, option(input, 'from')));
  try {
    if (location.folder !== undefined) requireFolder(location.folder);
    return await work({ ...base, version: VERSION, location, signal: stopSignals() });
  } finally {
    await location.close();
  }
}

function requireFolder(path: string): void {
  let found: Stats | undefined;
  try {
    found = statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    // A folder above it that this user may not enter hides it.
    throw unreadable(path, error);
  }
  if (found === undefined) {
    throw new OperatorError(`there is no folder ${path}: --from and BACKUP_TO say where backups are`);
  }
  if (!found.isDirectory()) throw new OperatorError(`${path} is not a folder: --from and BACKUP_TO name one`);
}

/** The backup that `--id` names, or the newest; `find` says of which gateways. */
export const chosenBackup = (
  input: CommandInput,
  { location, clock }: BackupDeps,
  find: typeof findBackup,
): Promise<Manifest> => find(location, { id: option(input, 'id'), now: clock.unix() });

/**
 * The location that `given` names, or else BACKUP_TO. A relative folder is one of the current
 * directory.
 * @throws `UsageError` without a location, or with one that is neither a folder nor a bucket
 */
export function readBackupLocation(
  { backupTo }: Pick<BackupConfig, 'backupTo'>,
  given: string | undefined,
): StorageLocation {
  const location = given === undefined ? backupTo : parseLocation(given);
  if (location.kind === 'folder' && location.path === '') {
    throw new UsageError('no backup location: give a folder or s3://…, or set BACKUP_TO');
  }
  return location;
}

function parseLocation(given: string): StorageLocation {
  const [, scheme] = /^([a-z][a-z0-9+.-]*):\/\//i.exec(given) ?? [];
  if (scheme !== undefined && !/^s3$/i.test(scheme)) {
    throw new UsageError(`backups go into a folder or a bucket (s3://…), not to ${scheme}://`);
  }
  if (!/^s3:/i.test(given)) return { kind: 'folder', path: resolve(given) };
  const read = backupLocation.parse(given);
  if (read.ok) return read.value;
  throw new UsageError(`the bucket cannot be understood: ${read.error}; allowed: ${backupLocation.allowed}`);
}

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
