import { statSync } from 'node:fs';
import { type Clock, pluralize, silentLogger } from '../../kernel/index.ts';
import type { OptionValues } from '../../settings/index.ts';
import type { BackupRun, Store } from '../../store/ports/index.ts';
import { describeLocation } from '../backup/backup-location.ts';
import { createBackups, isWarning } from '../backup/backup-schedule.ts';
import { findSchemasFault } from '../backup/dump-postgres.ts';
import type { BackupConfig } from '../backup/types.ts';
import type { Finding } from './doctor-checks.ts';

type Deps = { store: Store; clock: Clock; config: BackupConfig; options: OptionValues };

/** Whether there are backups to go back to, by the same rules as the home page. Makes none. */
export async function checkBackups(deps: Deps): Promise<Finding[]> {
  const { clock, config } = deps;
  const backups = createBackups({ ...deps, logger: silentLogger, program: [], notices: { write: async () => {} } });
  const [faults, done] = await Promise.all([backups.attention(), backups.lastDone()]);
  const latest = describeLatest(done, clock);
  // That they are off is said below, with their age.
  const shown = faults.filter(({ code }) => code !== 'backup_off');
  const findings = shown.map(
    ({ code, message }): Finding => ({
      check: 'backups',
      level: isWarning(code) ? 'warning' : 'error',
      message: code === 'backup_failed' ? `${message} ${latest}.` : message,
    }),
  );
  const warn = (message: string) => findings.push({ check: 'backups', level: 'warning', message });
  const unrestorable = findSchemasFault(await deps.store.backups.schemas());
  if (unrestorable !== undefined) {
    findings.push({ check: 'backups', level: 'error', message: `No backup can be made: ${unrestorable.message}.` });
  }
  const place = describeLocation(config);
  // Daily ones without a place are a fault already.
  if (place === null && !deps.options.flag('backup.daily')) {
    warn(`BACKUP_TO is not set, so no daily backups are made. ${latest}`);
  } else if (place !== null && !deps.options.flag('backup.daily')) {
    warn(`Daily backups are off (Settings, Backups: backup.daily). ${latest}`);
  }
  if (isOnDiskOfDatabase(config)) {
    warn(`${place} is on the same disk as the database: a broken disk takes both. Choose another one for BACKUP_TO.`);
  }
  if (findings.length === 0) findings.push({ check: 'backups', level: 'ok', message: `${latest}, in ${place}` });
  return findings;
}

function describeLatest(done: BackupRun | undefined, clock: Clock): string {
  if (done === undefined) return 'No backup was made yet';
  const hours = Math.max(0, Math.floor((clock.unix() - done.startedAt) / 3600));
  if (hours === 0) return 'The latest good backup is less than an hour old';
  const age = hours < 48 ? pluralize(hours, 'hour') : pluralize(Math.floor(hours / 24), 'day');
  return `The latest good backup is ${age} old`;
}

/** False where it cannot be known: PostgreSQL, a bucket, a folder that cannot be looked at. */
function isOnDiskOfDatabase({ databaseUrl, dataDir, backupTo }: BackupConfig): boolean {
  if (databaseUrl !== '' || backupTo.kind !== 'folder' || backupTo.path === '') return false;
  try {
    return statSync(backupTo.path).dev === statSync(dataDir).dev;
  } catch {
    return false;
  }
}
