import { OperatorError, pluralize } from '../../../kernel/index.ts';
import { restoreBackup } from '../../../operations/backup/restore-backup.ts';
import { unsealWithPassphrase } from '../../../operations/backup/seal-secrets.ts';
import type { Manifest, Unseal } from '../../../operations/backup/types.ts';
import type { Config } from '../../config/config-variables.ts';
import { answer, type CommandInput, EXIT, type ExitCode } from '../command.ts';
import { chosenBackup, withBackupLocation } from '../open-backup.ts';
import { askPassphrase, configuredUnseal } from '../read-passphrase.ts';

/** Restores a backup into an empty data directory or database. */
export async function run(input: CommandInput): Promise<ExitCode> {
  return withBackupLocation(input, async (deps) => {
    const manifest = await chosenBackup(input, deps);
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
