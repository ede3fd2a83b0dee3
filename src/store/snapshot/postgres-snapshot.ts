import type { SQL } from 'bun';
import type { Clock } from '../../kernel/index.ts';
import { storeErrors } from '../drivers/errors.ts';
import type { Repositories } from '../ports/index.ts';
import { READER_DEADLINES, withConnection } from '../postgres/open-postgres.ts';
import { createRepositories } from '../repositories/index.ts';
import { tablesFor } from '../schema/index.ts';
import { notOfExtension, quoteName, renewOwnSchema } from './remove-foreign-schema.ts';

/** Says that a restore was begun in this database; its row names the backup. */
const MARKER = 'taskgate_restoring';

/** How often to check, ten times a second, whether an earlier load has ended. */
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
      const reading = createRepositories({ dialect: 'postgres', tables: tablesFor('postgres'), clock, run });
      return work({ snapshot: String(row?.[0]), reading });
    }) as Promise<T>;
  return withConnection(databaseUrl, read, READER_DEADLINES);
}

export type BegunRestore = {
  /** The tables of the dump are where they belong. */
  loaded: boolean;
  /** They are in the schema that the dump names, and have to be moved. */
  toMove: boolean;
  /** An earlier run was interrupted. */
  resumed: boolean;
};

/**
 * Marks an empty database as one that `backup` is being restored into, whose tables the dump puts
 * into `schema`. They end in the current schema, whatever its name.
 * @throws `store.in_use` when the database has other tables there, or those of another backup, or
 * is
 *   being loaded by another process
 */
export function beginPostgresRestore(
  databaseUrl: string,
  { backup, schema }: { backup: string; schema: string },
): Promise<BegunRestore> {
  return withConnection(databaseUrl, async (sql) => {
    await waitForEarlierLoad(sql);
    return sql.begin(async (tx) => {
      const current = await currentSchema(tx);
      const marker = `${quoteName(current)}.${MARKER}`;
      const [found] = (await tx.unsafe('select to_regclass($1) is not null', [marker]).values()) as unknown[][];
      const resumed = found?.[0] === true;
      if (resumed) await tx.unsafe(`alter table ${marker} add column if not exists schema text not null default ''`);
      else await tx.unsafe(`create table ${marker} (backup text not null, schema text not null)`);
      const [row] = (await tx.unsafe(`select backup, schema from ${marker}`).values()) as unknown[][];
      const isSame = row?.[0] === backup;
      const loaded = await holdsTables(tx, current);
      if (loaded && !isSame) {
        throw notEmpty(row ? `holds the unfinished restore of the backup ${String(row[0])}` : 'is not empty');
      }
      const isElsewhere = schema !== current;
      const hasOther = isElsewhere && !loaded && (await holdsTables(tx, schema));
      const toMove = hasOther && isSame && row?.[1] === schema;
      if (hasOther && !toMove) {
        throw notEmpty(`has tables in the schema ${schema}, where those of the backup are loaded first`);
      }
      const [place] = (await tx
        .unsafe('select to_regnamespace(quote_ident($1)) is null', [schema])
        .values()) as unknown[][];
      if (!loaded && place?.[0] === true) await tx.unsafe(`create schema ${quoteName(schema)}`);
      await tx.unsafe(`delete from ${marker}`);
      await tx.unsafe(`insert into ${marker} (backup, schema) values ($1, $2)`, [backup, schema]);
      return { loaded, toMove, resumed };
    });
  });
}

/**
 * Moves what was loaded into `schema` to the current one, and leaves nothing there that acts by
 * itself but what this program makes, in one transaction. Returns the names of what went.
 */
export function adoptRestoredSchema(
  databaseUrl: string,
  { schema, migration }: { schema: string; migration: number },
): Promise<string[]> {
  return withConnection(databaseUrl, (sql) =>
    sql.begin(async (tx) => {
      const current = await currentSchema(tx);
      if (current !== schema) await moveFrom(tx, { schema, current });
      return renewOwnSchema(tx, migration);
    }),
  );
}

async function moveFrom(tx: SQL, { schema, current }: { schema: string; current: string }): Promise<void> {
  const moves = (await tx.unsafe(MOVES, [schema]).values()) as unknown[][];
  for (const [kind, name] of moves) await tx.unsafe(`alter ${kind} ${name} set schema ${quoteName(current)}`);
  // The schema stays if somebody keeps something else there.
  if (schema !== 'public') {
    await tx.unsafe(`do $$ begin drop schema ${quoteName(schema)}; exception when others then null; end $$`);
  }
}

/** Sequences and indexes go with their tables. */
const MOVES = `
  select case relkind when 'v' then 'view' when 'm' then 'materialized view' when 'S' then 'sequence' else 'table' end,
      oid::regclass::text
    from pg_class where relnamespace = to_regnamespace(quote_ident($1)) and relkind in ('r', 'p', 'v', 'm', 'S')
      and not exists (select 1 from pg_depend where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype in ('a', 'i')
        and refclassid = 'pg_class'::regclass)
      and ${notOfExtension('pg_class')}
  union all
  select 'routine', oid::regprocedure::text from pg_proc where pronamespace = to_regnamespace(quote_ident($1))
    and ${notOfExtension('pg_proc')}`;

/** @throws `store.unavailable` where the search path leads to no schema */
async function currentSchema(sql: SQL): Promise<string> {
  const [row] = (await sql.unsafe('select current_schema(), current_user').values()) as unknown[][];
  if (typeof row?.[0] === 'string') return row[0];
  throw storeErrors.unavailable({
    message: `The search_path of the user ${String(row?.[1])} contains no schema that it may use. Create the schema, or correct search_path.`,
  });
}

async function holdsTables(sql: SQL, schema: string): Promise<boolean> {
  const found = (await sql
    .unsafe(
      `select 1 from pg_class where relnamespace = to_regnamespace(quote_ident($1)) and relkind in ('r', 'p', 'v', 'm', 'S')
         and relname <> '${MARKER}' and ${notOfExtension('pg_class')} limit 1`,
      [schema],
    )
    .values()) as unknown[][];
  return found.length > 0;
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
