import type { Backups } from '../backup/backup-schedule.ts';
import type { BackupsView } from './types.ts';

/** What the system page shows of backups. */
export async function describeBackups(backups: Pick<Backups, 'report'>): Promise<BackupsView> {
  const { runs, ...report } = await backups.report();
  return {
    ...report,
    runs: runs.map(({ startedAt, endedAt, ...run }) => ({ ...run, started_at: startedAt, ended_at: endedAt })),
  };
}
