import { setPriority } from 'node:os';
import { describeBytes, OperatorError } from '../../../kernel/index.ts';
import { runBackup, runScheduledBackup } from '../../../operations/backup/run-backup.ts';
import {
  configuredSeal,
  readPassphraseFile,
  sealForRecipients,
  sealWithPassphrase,
} from '../../../operations/backup/seal-secrets.ts';
import type { Seal } from '../../../operations/backup/types.ts';
import type { Config } from '../../config/config-variables.ts';
import { VERSION } from '../../version.ts';
import { answer, type CommandInput, EXIT, type ExitCode, option, stopSignals, UsageError } from '../command.ts';
import { readBackupLocation } from '../open-backup.ts';
import { askPassphrase } from '../read-passphrase.ts';
import { readSettings } from '../read-settings.ts';
import { requireDatabase } from '../require-database.ts';

/** The lowest priority of processes: a gateway beside it comes first. */
const LOWEST = 19;

/** Makes one backup. Exit 0 without one when another is under way. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const { config } = readSettings(input);
  try {
    setPriority(LOWEST);
  } catch {
    // The system does not allow it: the backup keeps the usual priority.
  }
  await requireDatabase(config);
  const isScheduled = input.values.schedule === true;
  const seal = isScheduled ? await configuredSeal(config) : await chooseSeal(input, config);
  const acceptFolder = input.values['accept-folder'] === true;
  const request = {
    config,
    version: VERSION,
    to: readBackupLocation(config, option(input, 'to')),
    acceptFolder,
    seal,
    signal: stopSignals(),
  };
  const made = await (isScheduled ? runScheduledBackup(request) : runBackup({ ...request, trigger: 'manual' }));
  if (!made) {
    const why = isScheduled ? 'no backup is due, or one is running' : 'another backup is running';
    answer(input, { ok: true, created: false }, why);
    return EXIT.ok;
  }
  const { manifest, bytes } = made;
  const warnings = made.warnings.map(({ message }) => message);
  const lines = [
    `made and verified the backup ${manifest.id} (${describeBytes(bytes)})`,
    ...warnings.map((each) => `warning: ${each}`),
  ];
  answer(input, { ok: true, created: true, id: manifest.id, bytes, warnings, manifest }, lines.join('\n'));
  return EXIT.ok;
}

/** How the secrets are sealed; undefined: they are left out. */
async function chooseSeal(input: CommandInput, config: Config): Promise<Seal | undefined> {
  if (input.values['without-secrets'] === true) return undefined;
  const file = option(input, 'passphrase-file');
  const recipients = option(input, 'recipients');
  if (file !== undefined && recipients !== undefined) {
    throw new UsageError('--passphrase-file and --recipients cannot be used together');
  }
  if (recipients !== undefined) return sealForRecipients(recipients);
  if (file !== undefined) return sealWithPassphrase(readPassphraseFile(file));
  const configured = await configuredSeal(config);
  if (configured) return configured;
  const asked = await askPassphrase({ twice: true });
  if (asked !== undefined) return sealWithPassphrase(asked);
  throw new OperatorError(
    'no way to encrypt the secrets is set: set BACKUP_PASSPHRASE_FILE or BACKUP_RECIPIENTS, give --passphrase-file or --recipients, or leave the secrets out with --without-secrets',
  );
}
