import { OperatorError, silentLogger } from '../../kernel/index.ts';
import { openStore } from '../../store/index.ts';
import type { InvalidatedState, Store } from '../../store/ports/index.ts';
import {
  adoptRestoredSchema,
  beginPostgresRestore,
  endPostgresRestore,
  withPostgresSnapshot,
} from '../../store/snapshot/postgres-snapshot.ts';
import { requireConsistent, sameCounts } from './check-copy.ts';
import { schemaOfDump } from './dump-postgres.ts';
import { databaseName, runPostgresProgram } from './postgres-programs.ts';
import { openPart, requirePart } from './read-parts.ts';
import type { BackupDeps, Manifest } from './types.ts';

export type RestoredPostgres = {
  invalidated: InvalidatedState;
  /** Ends the restore. Until then no gateway starts on the database. */
  end(): Promise<void>;
  /** What was left out, by name: it runs on its own, and does not belong to taskgate. */
  foreign: string[];
  /** An earlier run was interrupted. */
  resumed: boolean;
};

/**
 * Loads the dump into an empty database in one transaction, migrates it and runs `invalidateState`
 * there. A table marks the database until `end`, so that an interrupted run can be repeated.
 */
export async function restorePostgres(
  deps: BackupDeps,
  manifest: Manifest,
  invalidateState: (store: Store) => Promise<InvalidatedState>,
): Promise<RestoredPostgres> {
  const { config, clock, location } = deps;
  const { databaseUrl } = config;
  const { id, database } = manifest;
  await requirePart(location, id, database);
  const schema = await schemaOfDump(deps, manifest);
  const { loaded, toMove, resumed } = await beginPostgresRestore(databaseUrl, { backup: id, schema });
  if (!loaded && !toMove) {
    // The schema itself is there: a dump would create it once more.
    const args = ['--no-owner', '--no-privileges', '--exit-on-error', '--single-transaction', `--schema=${schema}`];
    const loading = runPostgresProgram(deps, {
      program: 'pg_restore',
      args: [...args, `--dbname=${databaseName(databaseUrl)}`],
      input: await openPart(location, id, database),
    });
    await loading.ended();
  }
  // Runs again if an earlier run got this far, and then has nothing to do.
  const foreign = await adoptRestoredSchema(databaseUrl, { schema, migration: database.migration });
  const store = await openStore({
    databaseUrl,
    dataDir: config.dataDir,
    synchronous: 'FULL',
    clock,
    logger: silentLogger,
    restoring: true,
  });
  try {
    // Each statement reads whole tables: those of a serving gateway end after 30 seconds.
    await withPostgresSnapshot({ databaseUrl, clock }, async ({ reading }) => {
      if (!sameCounts(await reading.backups.measure(), manifest.counts)) {
        throw new OperatorError(`the backup ${id} does not hold what its manifest says`);
      }
      await requireConsistent(reading);
    });
    const invalidated = await invalidateState(store);
    return { invalidated, end: () => endPostgresRestore(databaseUrl), foreign, resumed };
  } finally {
    await store.close();
  }
}
