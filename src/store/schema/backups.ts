import type { BackupStatus, BackupTrigger } from '../ports/index.ts';
import type { Kit } from './kits.ts';

/** Runs of backups. Times are Unix seconds where the property's name does not end in `Ms`. */
export const defineBackups = (kit: Kit) => ({
  backupRuns: kit.table('backup_runs', {
    id: kit.text('id').primaryKey(),
    trigger: kit.text('trigger_kind').$type<BackupTrigger>().notNull(),
    status: kit.text('status').$type<BackupStatus>().notNull(),
    backup: kit.text('backup').notNull().default(''),
    place: kit.text('place').notNull(),
    owner: kit.text('owner').notNull(),
    leaseUntilMs: kit.big('lease_until').notNull(),
    startedAt: kit.big('started_at').notNull(),
    endedAt: kit.big('ended_at').notNull().default(0),
    bytes: kit.big('bytes').notNull().default(0),
    message: kit.text('message').notNull().default(''),
  }),
});
