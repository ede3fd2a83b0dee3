import { Database as SqliteFile } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { type Migration, migrations } from '../../../migrations/index.ts';
import { toStoreError } from '../drivers/errors.ts';
import { lockDataDir } from '../sqlite/lock-data-dir.ts';
import { copySqliteFile, openSqliteFile, sqlitePath } from '../sqlite/open-sqlite.ts';
import { requireOneFile } from '../sqlite/refuse-foreign-log.ts';
import {
  CREATE_REVERTED,
  findMoves,
  READ_HISTORY,
  refuseIrreversible,
  requireReversible,
} from './pending-migrations.ts';

type Place = { databaseUrl: string; dataDir: string };

/** The number of the last migration that the database has had; 0 where there is no database. */
export async function databaseVersion({ databaseUrl, dataDir }: Place): Promise<number> {
  try {
    if (databaseUrl !== '') {
      const { postgresHistory } = await import('./migrate-postgres.ts');
      return Math.max(0, ...(await postgresHistory(databaseUrl)));
    }
    if (!existsSync(sqlitePath(dataDir))) return 0;
    requireOneFile(dataDir);
    const file = new SqliteFile(sqlitePath(dataDir), { readwrite: true });
    try {
      return findLast(file);
    } finally {
      file.close();
    }
  } catch (error) {
    throw toStoreError(error);
  }
}

function findLast(file: SqliteFile): number {
  const hasHistory = file.query("select 1 from sqlite_master where name = 'schema_migrations'").values().length > 0;
  return hasHistory
    ? Math.max(
        0,
        ...file
          .query(READ_HISTORY)
          .values()
          .map(([number]) => Number(number)),
      )
    : 0;
}

/**
 * Takes back every migration after the number `to`, the last first, all or none, and returns their
 * names: the earlier version can then run, and what they made stays. No gateway may be running.
 *
 * @throws `store.irreversible` when one cannot be taken back, `store.in_use`
 */
export async function revertStore(
  place: Place & { to: number },
  known: readonly Migration[] = migrations,
): Promise<string[]> {
  const { databaseUrl, dataDir, to } = place;
  const last = await databaseVersion(place);
  const steps = known.filter(({ number }) => number > to && number <= last).reverse();
  if (steps.length === 0) return [];
  refuseIrreversible(steps);
  try {
    if (databaseUrl === '') await revertSqlite(dataDir, steps);
    else await (await import('./migrate-postgres.ts')).revertPostgres(databaseUrl, steps);
  } catch (error) {
    throw toStoreError(error);
  }
  return steps.map(({ name }) => name);
}

async function revertSqlite(dataDir: string, steps: readonly Migration[]): Promise<void> {
  const release = lockDataDir(dataDir);
  try {
    const file = openSqliteFile(dataDir, 'FULL');
    try {
      // Nobody else writes: the lock of the data directory is held.
      for (const step of steps) await requireReversible(step, (query) => file.query(query).values());
      file.transaction(() => {
        file.run(CREATE_REVERTED);
        for (const step of steps) {
          const { number, name } = step;
          file.run(findMoves(step).back);
          file.query('insert into left_migrations (number, name) values (?, ?)').run(number, name);
          file.query('delete from schema_migrations where number = ?').run(number);
        }
      })();
    } finally {
      file.close();
    }
  } finally {
    release();
  }
}

/** Copies the SQLite database beside a running gateway; false if there is none. */
export function copyDatabase(dataDir: string, target: string): boolean {
  if (!existsSync(sqlitePath(dataDir))) return false;
  requireOneFile(dataDir);
  const file = new SqliteFile(sqlitePath(dataDir), { readwrite: true });
  try {
    file.run('pragma busy_timeout = 5000');
    copySqliteFile(file, target, true);
    return true;
  } catch (error) {
    throw toStoreError(error);
  } finally {
    file.close();
  }
}
