import { createSecretBox, systemClock } from '../../kernel/index.ts';
import { type OptionValues, readOptions } from '../../settings/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { readSecrets } from '../secrets/load-secrets.ts';
import { describeNotPruned, notePruning } from './backup-notes.ts';
import { findInstallation } from './installation.ts';
import { lastDue } from './last-due.ts';
import { type Keep, pruneBackups } from './prune-backups.ts';
import { type BackupRequest, describeFailure, runBackup } from './run-backup.ts';
import type { BackupPlace, CreatedBackup } from './types.ts';

/** Rows of runs stay for a year. */
const RUN_SECONDS = 366 * 86_400;
const BATCH = 500;

/**
 * Makes the backup of the day, unless it was made, and removes those that need not stay.
 * Undefined: none is due, or one is under way.
 */
export function runScheduledBackup(
  request: Pick<BackupRequest, 'config' | 'version' | 'to' | 'acceptFolder' | 'seal' | 'signal'>,
): Promise<CreatedBackup | undefined> {
  const box = createSecretBox(readSecrets(request.config).crypto);
  const optionsOf = async (store: Store) => readOptions(await store.options.all(), box);
  return runBackup({
    ...request,
    trigger: 'schedule',
    run: async (store) => lastDue(systemClock.unix(), (await optionsOf(store)).number('backup.hour')),
    async afterwards({ place, store }) {
      const fault = await removeOld({ place, store, options: await optionsOf(store) }).then(
        () => '',
        (error) => describeFailure(error, request.signal),
      );
      await notePruning(store.options, fault);
      return fault === '' ? [] : [describeNotPruned(fault)];
    },
  });
}

async function removeOld(deps: { place: BackupPlace; store: Store; options: OptionValues }): Promise<void> {
  const { place, store, options } = deps;
  const now = systemClock.unix();
  await store.backups.deleteOld(now - RUN_SECONDS, BATCH);
  const keep: Keep = {
    daily: options.number('backup.keep_daily'),
    weekly: options.number('backup.keep_weekly'),
    monthly: options.number('backup.keep_monthly'),
  };
  await pruneBackups(place, { keep, installation: await findInstallation(store), now });
}
