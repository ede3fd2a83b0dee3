import type { SQL } from 'bun';
import type { Clock } from '../../kernel/index.ts';
import { connectPostgres, READER_DEADLINES } from '../drivers/postgres.ts';
import { storeErrors, toStoreError } from '../errors.ts';
import type { Repositories } from '../ports/index.ts';
import { createRepositories } from '../repositories/index.ts';
import { tablesOf } from '../schema/index.ts';

/** Says that a restore was begun in this database; its row names the backup. */
const MARKER = 'taskgate_restoring';

/** How often it is looked, ten times a second, whether an earlier load has ended. */
const LOOKS = 600;

/**
 * Runs `work` over one consistent state of the database, which another connection can take over by
 * the name `snapshot`. `reading` sees that state.
 */
export async function withPostgresSnapshot<T>(
  { databaseUrl, clock }: { databaseUrl: string; clock: Clock },
  work: (at: { snapshot: string; reading: Repositories }) => Promise<T>,
): Promise<T> {
  const read = (sql: SQL) =>
    sql.begin('isolation level repeatable read read only', async (tx) => {
      const [row] = (await tx.unsafe('select pg_export_snapshot()').values()) as unknown[][];
      const run = async (text: string, params: unknown[]) =>
        (await tx.unsafe(text, params as never).values()) as unknown[][];
      const reading = createRepositories({ dialect: 'postgres', tables: tablesOf('postgres'), clock, run });
      return work({ snapshot: String(row?.[0]), reading });
    }) as Promise<T>;
  return withConnection(databaseUrl, read, READER_DEADLINES);
}

/**
 * Marks an empty database as one that `backup` is being restored into. `resumed`: an
 * earlier run was interrupted; `loaded`: after it had loaded the tables.
 * @throws `store.in_use` when the database has other tables, or those of another backup, or is
 *   being loaded by another process
 */
export function beginPostgresRestore(
  databaseUrl: string,
  backup: string,
): Promise<{ loaded: boolean; resumed: boolean }> {
  return withConnection(databaseUrl, async (sql) => {
    await waitForEarlierLoad(sql);
    return sql.begin(async (tx) => {
      const [found] = (await tx.unsafe(`select to_regclass('${MARKER}') is not null`).values()) as unknown[][];
      const tables = (await tx
        .unsafe(
          `select relname from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p', 'v', 'm', 'S') and relname <> '${MARKER}' limit 1`,
        )
        .values()) as unknown[][];
      const loaded = tables.length > 0;
      if (found?.[0] === true) {
        const [row] = (await tx.unsafe(`select backup from ${MARKER}`).values()) as unknown[][];
        if (!loaded || row?.[0] === backup) {
          await tx.unsafe(`update ${MARKER} set backup = $1`, [backup]);
          return { loaded, resumed: true };
        }
        throw notEmpty(`holds the unfinished restore of the backup ${String(row?.[0])}`);
      }
      if (loaded) throw notEmpty('is not empty');
      await tx.unsafe(`create table ${MARKER} (backup text not null)`);
      await tx.unsafe(`insert into ${MARKER} values ($1)`, [backup]);
      return { loaded: false, resumed: false };
    });
  });
}

/**
 * The program that loads the tables outlives a restore that is killed: it goes on with what it has
 * read by then. Two loads at once would stop each other.
 * @throws `store.in_use` when it has not ended after a minute
 */
async function waitForEarlierLoad(sql: SQL): Promise<void> {
  for (let look = 0; look < LOOKS; look += 1) {
    const loads = (await sql
      .unsafe(
        "select pid from pg_stat_activity where datname = current_database() and application_name = 'pg_restore' limit 1",
      )
      .values()) as unknown[][];
    if (loads.length === 0) return;
    await sql.unsafe('select pg_sleep(0.1)');
  }
  throw storeErrors.in_use({
    message: 'Another process is loading a backup into this database. Wait until it has ended, then try again.',
  });
}

/** The restored database is ready for a gateway. */
export const endPostgresRestore = (databaseUrl: string): Promise<void> =>
  withConnection(databaseUrl, async (sql) => {
    await sql.unsafe(`drop table if exists ${MARKER}`);
  });

/** @throws `store.restore_unfinished` */
export async function requireNoPostgresRestore(databaseUrl: string): Promise<void> {
  const begun = await withConnection(databaseUrl, async (sql) => {
    const [row] = (await sql.unsafe(`select to_regclass('${MARKER}') is not null`).values()) as unknown[][];
    return row?.[0] === true;
  });
  if (begun) {
    throw storeErrors.restore_unfinished({
      message:
        'A restore into this database has not ended. Run "taskgate backup restore" again, or give the gateway another database.',
    });
  }
}

const notEmpty = (what: string) =>
  storeErrors.in_use({ message: `The database ${what}. A backup is restored into an empty one only: create one.` });

async function withConnection<T>(
  databaseUrl: string,
  work: (sql: SQL) => Promise<T>,
  deadlines?: typeof READER_DEADLINES,
): Promise<T> {
  const sql = connectPostgres(databaseUrl, 1, deadlines);
  try {
    return await work(sql);
  } catch (error) {
    throw toStoreError(error);
  } finally {
    await sql.close();
  }
}
