import { createSecretBox, systemClock } from '../../kernel/index.ts';
import { readOptions } from '../../settings/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { readSecrets } from '../config/read-secrets.ts';
import { findInstallation } from './installation.ts';
import { lastDue } from './last-due.ts';
import { type Keep, pruneBackups } from './prune-backups.ts';
import { type BackupRequest, runBackup } from './run-backup.ts';
import type { CreatedBackup } from './types.ts';

/** Rows of runs stay for a year. */
const RUN_SECONDS = 366 * 86_400;
const BATCH = 500;

/**
 * Makes the backup of the day, unless it was made, and removes those that need not stay.
 * Undefined: none is due, or one is under way.
 */
export function runScheduledBackup(
  request: Pick<BackupRequest, 'config' | 'to' | 'acceptFolder' | 'seal' | 'signal'>,
): Promise<CreatedBackup | undefined> {
  const box = createSecretBox(readSecrets(request.config).crypto);
  const optionsOf = async (store: Store) => readOptions(await store.options.all(), box);
  return runBackup({
    ...request,
    trigger: 'schedule',
    run: async (store) => lastDue(systemClock.unix(), (await optionsOf(store)).number('backup.hour')).id,
    async afterwards({ place, store }) {
      const options = await optionsOf(store);
      const keep: Keep = {
        daily: options.number('backup.keep_daily'),
        weekly: options.number('backup.keep_weekly'),
        monthly: options.number('backup.keep_monthly'),
      };
      const installation = await findInstallation(store);
      await pruneBackups(place, { keep, installation, now: systemClock.unix() });
      await store.backups.deleteOld(systemClock.unix() - RUN_SECONDS, BATCH);
    },
  });
}
