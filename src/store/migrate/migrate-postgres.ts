import type { SQL } from 'bun';
import { getTableName } from 'drizzle-orm';
import { type Migration, migrations } from '../../../migrations/index.ts';
import type { Clock } from '../../kernel/index.ts';
import { storeErrors } from '../drivers/errors.ts';
import { withConnection } from '../postgres/open-postgres.ts';
import { tablesFor } from '../schema/index.ts';
import {
  CREATE_HISTORY,
  CREATE_REVERTED,
  checkPending,
  findMoves,
  pendingMigrations,
  READ_HISTORY,
  READ_REVERTED,
  refuseFindings,
  requireNoNode,
  requireNotMoved,
  requireReversible,
  wasReverted,
} from './pending-migrations.ts';

/**
 * An arbitrary lock number: the ASCII codes of `taskgate`. Nodes that start together migrate one
 * after the other.
 */
const LOCK = 'select pg_advisory_xact_lock(8386109827411731557)';

/**
 * Names of the pending migrations; changes nothing. `dryRun`: rejects if one of them would be
 * refused, or the database is one that serves no more.
 */
export const pendingPostgres = (databaseUrl: string, dryRun = false): Promise<string[]> =>
  withConnection(databaseUrl, async (sql) => {
    const applied = await history(sql);
    const pending = pendingMigrations(migrations, applied);
    if (dryRun) {
      await checkPending(pending, applied.length === 0 && (await hasUsers(sql)), (query) => values(sql, query));
      await checkRights(sql, pending.length > 0);
      if (applied.length > 0) await requireNotMoved({ get: (key) => readOption(sql, key) });
    }
    return pending.map(({ name }) => name);
  });

/**
 * Runs the pending migrations, each in a transaction under an advisory lock. Returns the names of
 * those run.
 */
export const migratePostgres = (options: { databaseUrl: string; clock: Clock }): Promise<string[]> =>
  withConnection(options.databaseUrl, async (sql) => {
    const run: string[] = [];
    for (const migration of pendingMigrations(migrations, await history(sql))) {
      if (await runOne(sql, migration, options.clock.unix())) run.push(migration.name);
    }
    return run;
  });

/** The numbers of the migrations that the database has had. */
export const postgresHistory = (databaseUrl: string): Promise<number[]> => withConnection(databaseUrl, history);

/** Takes these migrations back, in this order, in one transaction. */
export const revertPostgres = (databaseUrl: string, steps: readonly Migration[]): Promise<void> =>
  withConnection(databaseUrl, (sql) =>
    sql.begin(async (tx) => {
      await tx.unsafe(LOCK);
      await tx.unsafe('set local statement_timeout = 0');
      await requireNoNode((query) => values(tx, query));
      await tx.unsafe(CREATE_REVERTED);
      for (const step of steps) {
        await requireReversible(step, (query) => values(tx, query));
        await tx.unsafe(findMoves(step).back);
        await tx.unsafe('insert into left_migrations (number, name) values ($1, $2)', [step.number, step.name]);
        await tx.unsafe('delete from schema_migrations where number = $1', [step.number]);
      }
    }),
  );

/**
 * What the user of the address may not do, although migrations and the gateway need it.
 * @throws `store.migration_refused`
 */
async function checkRights(sql: SQL, migrates: boolean): Promise<void> {
  const [row = []] = await values(
    sql,
    `select current_user, current_schema(), pg_is_in_recovery() or current_setting('default_transaction_read_only')::boolean,
       has_schema_privilege(current_schema(), 'create')`,
  );
  const [user, schema, isReadOnly, mayCreate] = row;
  const refuse = (message: string) => storeErrors.migration_refused({ message });
  if (isReadOnly === true) throw refuse('PostgreSQL is read-only. DATABASE_URL must name the primary server.');
  if (schema === null) {
    throw refuse(
      `The search_path of the user ${user} contains no schema that it may use. Create the schema, or correct search_path.`,
    );
  }
  if (migrates && mayCreate !== true) {
    throw refuse(
      `The user ${user} may not create tables in the schema ${schema}. Grant it: grant create on schema "${schema}" to "${user}".`,
    );
  }
  const rights = migrates
    ? "pg_has_role(relowner, 'usage')"
    : "has_table_privilege(oid, 'select,insert,update,delete')";
  const denied = await values(
    sql,
    `select relname from pg_class where relnamespace = quote_ident(current_schema())::regnamespace and relkind in ('r', 'p')
       and relname in (${OWN_TABLES}) and not ${rights} order by relname limit 5`,
  );
  if (denied.length === 0) return;
  const names = denied.map(([name]) => name).join(', ');
  throw refuse(
    migrates
      ? `The user ${user} does not own the tables ${names}, which migrations change. Run: alter table NAME owner to "${user}".`
      : `The user ${user} may not read and write the tables ${names}. Run: grant select, insert, update, delete on all tables in schema "${schema}" to "${user}".`,
  );
}

async function leftIn(sql: SQL): Promise<unknown[][]> {
  const exists = await values(sql, "select to_regclass('left_migrations') is not null");
  return exists[0]?.[0] === true ? values(sql, READ_REVERTED) : [];
}

async function history(sql: SQL): Promise<number[]> {
  const exists = await values(sql, "select to_regclass('schema_migrations') is not null");
  return exists[0]?.[0] === true ? (await values(sql, READ_HISTORY)).map(([number]) => Number(number)) : [];
}

async function readOption(sql: SQL, key: string): Promise<string | undefined> {
  const [row] = (await sql.unsafe('select value from options where key = $1', [key]).values()) as unknown[][];
  return row === undefined ? undefined : String(row[0]);
}

const hasUsers = async (sql: SQL): Promise<boolean> =>
  (await values(sql, "select to_regclass('users') is not null"))[0]?.[0] === true;

const runOne = (sql: SQL, migration: Migration, now: number): Promise<boolean> =>
  sql.begin(async (tx) => {
    await tx.unsafe(LOCK);
    // A migration may rewrite a large table, so it has no time limit.
    await tx.unsafe('set local statement_timeout = 0');
    await tx.unsafe(CREATE_HISTORY);
    // Another node may have run it while this one waited for the lock.
    if ((await history(tx)).includes(migration.number)) return false;
    for (const check of migration.checks) refuseFindings(migration, check, await values(tx, check.query));
    if (wasReverted(migration, await leftIn(tx))) {
      await tx.unsafe('delete from left_migrations where number = $1', [migration.number]);
      await tx.unsafe(findMoves(migration).again);
    } else await tx.unsafe(migration.sql.postgres);
    await tx.unsafe('insert into schema_migrations (number, name, applied_at) values ($1, $2, $3)', [
      migration.number,
      migration.name,
      now,
    ]);
    return true;
  });

/** A schema may hold tables of others, too. */
const OWN_TABLES = Object.values(tablesFor('postgres'))
  .map((table) => `'${getTableName(table)}'`)
  .join(', ');

const values = async (sql: SQL, text: string): Promise<unknown[][]> => (await sql.unsafe(text).values()) as unknown[][];
