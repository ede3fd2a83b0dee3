import { pluralize } from '../../../kernel/index.ts';
import { verifyBackup } from '../../../operations/backup/verify-backup.ts';
import { answer, type CommandInput, EXIT, type ExitCode } from '../command.ts';
import { chosenBackup, withBackupLocation } from '../open-backup.ts';
import { configuredUnseal } from '../read-passphrase.ts';

const SECRETS = {
  opened: 'its secrets can be opened',
  compared: 'its secrets are unchanged; opening them was not tried',
  absent: 'it has no secrets',
} as const;

/** Reads a whole backup and compares it with its manifest. Exit 1 with the first fault. */
export async function run(input: CommandInput): Promise<ExitCode> {
  return withBackupLocation(input, async (deps) => {
    const manifest = await chosenBackup(input, deps);
    const unseal = configuredUnseal(input, deps.config);
    const verified = await verifyBackup(deps, manifest, { unseal, readResults: input.values.results === true });
    const { counts } = manifest;
    const text = `the backup ${manifest.id} is intact: ${pluralize(counts.tasks, 'task')}, ${pluralize(counts.ledger_entries, 'ledger line')}, ${pluralize(verified.results, 'kept result')}; ${SECRETS[verified.secrets]}`;
    answer(input, { ok: true, id: manifest.id, ...verified, counts }, text);
    return EXIT.ok;
  });
}
