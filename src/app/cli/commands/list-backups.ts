import { describeBytes, isoTime, pluralize } from '../../../kernel/index.ts';
import { listBackups } from '../../../operations/backup/list-backups.ts';
import { answer, type CommandInput, EXIT, type ExitCode } from '../command.ts';
import { withBackupLocation } from '../open-backup.ts';

/** Lists the backups of a place, the newest first. */
export async function run(input: CommandInput): Promise<ExitCode> {
  return withBackupLocation(input, async ({ place }) => {
    const found = await listBackups(place);
    const rows = found.backups.map(({ id, created_at, version, database, counts, results, secrets }) =>
      [
        id,
        isoTime(created_at * 1000),
        `version ${version}`,
        pluralize(counts.tasks, 'task'),
        describeBytes(database.bytes + results.total_bytes),
        secrets ? 'with secrets' : 'without secrets',
      ].join('  '),
    );
    const lines = [
      ...(rows.length === 0 ? [`there is no backup in ${place.name}`] : rows),
      ...found.unreadable.map(({ id, reason }) => `${id}  ${reason}`),
      ...found.unfinished.map((id) => `${id}  not finished: it is no backup`),
    ];
    answer(input, { ok: true, place: place.name, ...found }, lines.join('\n'));
    return EXIT.ok;
  });
}
