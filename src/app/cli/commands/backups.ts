import { describeBytes, isoTime, OperatorError, pluralize } from '../../../kernel/index.ts';
import { findBackup, findBackupToRestore, listBackups } from '../../../operations/backup/manifest.ts';
import { restoreBackup } from '../../../operations/backup/restore-backup.ts';
import { runBackup, runScheduledBackup } from '../../../operations/backup/run-backup.ts';
import {
  configuredSeal,
  readPassphraseFile,
  sealForRecipients,
  sealWithPassphrase,
  unsealWithPassphrase,
} from '../../../operations/backup/seal-secrets.ts';
import type { Manifest, Seal, Unseal } from '../../../operations/backup/types.ts';
import { verifyBackup } from '../../../operations/backup/verify-backup.ts';
import type { Config } from '../../config/config-variables.ts';
import { VERSION } from '../../version.ts';
import {
  answer,
  type CommandInput,
  EXIT,
  type ExitCode,
  lowerPriority,
  option,
  stopSignals,
  UsageError,
} from '../command.ts';
import {
  askPassphrase,
  chosenBackup,
  configuredUnseal,
  readBackupLocation,
  withBackupLocation,
} from '../open-backup.ts';
import { readSettings } from '../read-settings.ts';
import { requireDatabase } from '../require-database.ts';

/** Makes one backup. Exit 0 without one when another is under way. */
export async function create(input: CommandInput): Promise<ExitCode> {
  const { config } = readSettings(input, { needsSecrets: input.values['without-secrets'] !== true });
  lowerPriority();
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

/** Lists the backups of a location, the newest first. */
export async function list(input: CommandInput): Promise<ExitCode> {
  return withBackupLocation(input, async ({ location }) => {
    const found = await listBackups(location);
    const hasOthers = new Set(found.backups.map(({ installation }) => installation)).size > 1;
    const rows = found.backups.map(({ id, created_at, version, installation, database, counts, results, secrets }) =>
      [
        id,
        isoTime(created_at * 1000),
        `version ${version}`,
        pluralize(counts.tasks, 'task'),
        describeBytes(database.bytes + results.total_bytes),
        secrets ? 'with secrets' : 'without secrets',
        ...(hasOthers ? [`gateway ${installation.slice(0, 13)}`] : []),
      ].join('  '),
    );
    const lines = [
      ...(rows.length === 0 ? [`there is no backup in ${location.name}`] : rows),
      ...found.unreadable.map(({ id, reason }) => `${id}  ${reason}`),
      ...found.unfinished.map((id) => `${id}  not finished: it is not a backup`),
    ];
    answer(input, { ok: true, place: location.name, ...found }, lines.join('\n'));
    return EXIT.ok;
  });
}

const SECRETS = {
  opened: 'its secrets can be opened',
  compared: 'its secrets are unchanged; opening them was not tried',
  absent: 'it has no secrets',
} as const;

/** Reads a whole backup and compares it with its manifest. Exit 1 with the first fault. */
export async function verify(input: CommandInput): Promise<ExitCode> {
  return withBackupLocation(input, async (deps) => {
    const manifest = await chosenBackup(input, deps, findBackup);
    const unseal = configuredUnseal(input, deps.config);
    const verified = await verifyBackup(deps, manifest, { unseal, readResults: input.values.results === true });
    const { counts } = manifest;
    const text = `the backup ${manifest.id} is intact: ${pluralize(counts.tasks, 'task')}, ${pluralize(counts.ledger_entries, 'ledger line')}, ${pluralize(verified.results, 'kept result')}; ${SECRETS[verified.secrets]}`;
    answer(input, { ok: true, id: manifest.id, ...verified, counts }, text);
    return EXIT.ok;
  });
}

/** Restores a backup into an empty data directory or database. */
export async function restore(input: CommandInput): Promise<ExitCode> {
  return withBackupLocation(input, async (deps) => {
    const manifest = await chosenBackup(input, deps, findBackupToRestore);
    const unseal = await chooseUnseal(input, deps.config, manifest);
    const restored = await restoreBackup(deps, manifest, { unseal });
    const { submissions, webhooks, sessions, results, notes } = restored;
    const lines = [
      `restored the backup ${manifest.id}: ${pluralize(manifest.counts.tasks, 'task')}, ${pluralize(results, 'kept result')}`,
      submissions === 1
        ? '1 open submission ends as interrupted and is refunded when the gateway starts'
        : `${submissions} open submissions end as interrupted and are refunded when the gateway starts`,
      `given up: ${pluralize(webhooks, 'undelivered webhook')}; revoked: ${pluralize(sessions, 'session')}`,
      ...notes,
      'start the gateway, then run taskgate doctor',
    ];
    answer(input, { ok: true, id: manifest.id, ...restored }, lines.join('\n'));
    return EXIT.ok;
  });
}

async function chooseUnseal(
  input: CommandInput,
  config: Config,
  { id, secrets }: Manifest,
): Promise<Unseal | undefined> {
  if (input.values['without-secrets'] === true) return undefined;
  if (!secrets) {
    throw new OperatorError(`the backup ${id} has no secrets; to restore it all the same, give --without-secrets`);
  }
  const configured = configuredUnseal(input, config);
  if (configured) return configured;
  const asked = secrets.sealed_with === 'passphrase' ? await askPassphrase({ twice: false }) : undefined;
  if (asked !== undefined) return unsealWithPassphrase(asked);
  throw new OperatorError(
    secrets.sealed_with === 'passphrase'
      ? 'the passphrase of the backup is missing: give --passphrase-file, set BACKUP_PASSPHRASE_FILE, or restore --without-secrets'
      : 'the secret key of age is missing: give --identity, or restore --without-secrets',
  );
}
