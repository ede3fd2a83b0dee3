import { Database as SqliteFile } from 'bun:sqlite';
import type { SQL } from 'bun';
import { migrations, newSqliteDatabase } from '../../../migrations/index.ts';
import { storeErrors, toStoreError } from '../drivers/errors.ts';
import { fillDatabase } from '../migrate/migrate-sqlite.ts';
import { sqlitePath } from '../sqlite/open-sqlite.ts';

type Item = { type: string; name: string; table: string; sql: string };
type Column = { name: string; definition: string };

/** Objects that act on their own, within the statements of the gateway that opens the database. */
const SQLITE_ACTING = ['trigger', 'view'];
const VIRTUAL = /^create virtual table/;

/**
 * Leaves in a database that somebody else may have written only what may act in one of this
 * program: its own triggers. Others, views and virtual tables go; their names are returned. Call it
 * before anything is written to the database.
 */
export function removeForeignSchema(dataDir: string): string[] {
  return withFile(dataDir, (file) => {
    const own = normalize([newSqliteDatabase, ...migrations.map(({ sql }) => sql.sqlite)].join('\n'));
    const isForeign = ({ type, sql }: Item) =>
      (SQLITE_ACTING.includes(type) && !own.includes(normalize(sql))) || VIRTUAL.test(normalize(sql));
    const foreign = readItems(file).filter(isForeign);
    // Triggers first: a view takes its own with it.
    for (const { type, name } of foreign.sort((a, b) => a.type.localeCompare(b.type))) {
      file.run(`drop ${type} ${quoteName(name)}`);
    }
    return foreign.map(({ type, name }) => `${type} ${name.slice(0, 100)}`);
  });
}

/**
 * Compares a migrated database with one that this program makes: its own triggers are all there,
 * and columns mean what they mean here. Indexes that are not ours go. A program that was taken back
 * may have left tables and plain columns of a later version.
 * @throws `store.not_usable` for a table with another layout
 */
export function requireOwnSchema(dataDir: string): void {
  withFile(dataDir, (file) => {
    const model = new SqliteFile(':memory:');
    try {
      fillDatabase(model, 0);
      const own = readItems(model);
      for (const { name } of own.filter(({ type }) => type === 'table')) requireOwnTable(file, model, name);
      const isLeft = file.query("select 1 from sqlite_master where name = 'left_migrations'").values().length > 0;
      const found = readItems(file);
      const sameAs =
        ({ type, name, sql }: Item) =>
        (each: Item) =>
          each.type === type && each.name === name && normalize(each.sql) === normalize(sql);
      for (const item of found.filter(({ type }) => type === 'trigger' || type === 'index')) {
        const isOwn = own.some(sameAs(item));
        // An index of a later version is left as it is; one of ours under its name is not.
        const isOfLater = isLeft && item.type === 'index' && !own.some(({ name }) => name === item.name);
        if (!isOwn && !isOfLater) file.run(`drop ${item.type} ${quoteName(item.name)}`);
      }
      const present = readItems(file);
      for (const item of own.filter(({ type }) => type === 'trigger' || type === 'index')) {
        if (!present.some(sameAs(item))) file.run(item.sql);
      }
    } finally {
      model.close();
    }
  });
}

function requireOwnTable(file: SqliteFile, model: SqliteFile, name: string): void {
  const found = new Map(readColumns(file, name).map((column) => [column.name, column]));
  const wrong = readColumns(model, name).find((column) => found.get(column.name)?.definition !== column.definition);
  const countChecks = (database: SqliteFile) => normalize(readSql(database, name)).split(/\bcheck\b/).length;
  // What a column is computed by, and a check, are expressions that run with each statement.
  const isComputed = [...found.values()].some(({ definition }) => !definition.endsWith(' 0'));
  if (!wrong && !isComputed && countChecks(file) <= countChecks(model)) return;
  throw storeErrors.not_usable({
    message: `The table ${name} of the backup has another layout than this version makes${wrong ? `: its column ${wrong.name}` : ''}. It was not restored.`,
  });
}

const readColumns = (file: SqliteFile, table: string): Column[] =>
  file
    .query('select name, lower(type), "notnull", coalesce(dflt_value, \'\'), pk, hidden from pragma_table_xinfo(?)')
    .values(table)
    .map(([column, ...definition]) => ({ name: String(column), definition: definition.join(' ') }));

const readItems = (file: SqliteFile): Item[] =>
  file
    .query(
      "select type, name, tbl_name, sql from sqlite_master where sql is not null and name not like 'sqlite!_%' escape '!'",
    )
    .values()
    .map(([type, name, table, sql]) => ({ type: `${type}`, name: `${name}`, table: `${table}`, sql: `${sql}` }));

const readSql = (file: SqliteFile, name: string): string =>
  readItems(file).find((item) => item.name === name)?.sql ?? '';

/** Gives the same text for the same statement, whatever its blanks, comments and case. */
const normalize = (sql: string): string =>
  sql
    .replaceAll(/--[^\n]*/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .toLowerCase();

function withFile<T>(dataDir: string, work: (file: SqliteFile) => T): T {
  const file = new SqliteFile(sqlitePath(dataDir), { readwrite: true });
  try {
    // What the schema of the file calls is not a function of this process.
    file.run('pragma trusted_schema = off');
    return work(file);
  } catch (error) {
    throw toStoreError(error);
  } finally {
    file.close();
  }
}

/**
 * A condition: no extension of the server has made the row's object. A dump holds none, and the
 * target may have some before it is restored into.
 */
export function notOfExtension(catalogue: 'pg_class' | 'pg_proc'): string {
  return `not exists (select 1 from pg_depend where classid = '${catalogue}'::regclass and objid = ${catalogue}.oid
    and deptype = 'e')`;
}

/** Finds what acts by itself in the current schema, and the statement that removes it. */
const POSTGRES_ACTING = `
  select 'rule ' || rulename, format('drop rule %I on %s', rulename, ev_class::regclass)
    from pg_rewrite join pg_class on pg_class.oid = ev_class
    where relnamespace = quote_ident(current_schema())::regnamespace and relkind in ('r', 'p')
  union all
  select 'policy ' || polname, format('drop policy %I on %s', polname, polrelid::regclass)
    from pg_policy join pg_class on pg_class.oid = polrelid where relnamespace = quote_ident(current_schema())::regnamespace
  union all
  select 'row security of ' || relname, format('alter table %s disable row level security, no force row level security', oid::regclass)
    from pg_class where relnamespace = quote_ident(current_schema())::regnamespace and (relrowsecurity or relforcerowsecurity)
  union all
  select 'trigger ' || tgname, format('drop trigger %I on %s', tgname, tgrelid::regclass)
    from pg_trigger join pg_class on pg_class.oid = tgrelid
    where relnamespace = quote_ident(current_schema())::regnamespace and not tgisinternal
  union all
  select 'view ' || relname, format('drop %s if exists %s cascade', case relkind when 'm' then 'materialized view' else 'view' end, oid::regclass)
    from pg_class where relnamespace = quote_ident(current_schema())::regnamespace and relkind in ('v', 'm')
      and ${notOfExtension('pg_class')}
  union all
  select 'function ' || proname, format('drop routine if exists %s cascade', oid::regprocedure)
    from pg_proc where pronamespace = quote_ident(current_schema())::regnamespace and ${notOfExtension('pg_proc')}`;

const OWN = /^(?:create (?:or replace )?function|create trigger|drop function|drop trigger) (?:if exists )?(\w+)/;

/**
 * Removes from a database that was just loaded all that acts by itself, and makes this program's
 * own functions and triggers again, as of the migration `until` or a later one that it has had:
 * those of the backup may do anything. Returns the names of the others. Call it in a transaction.
 */
export async function renewOwnSchema(tx: SQL, until: number): Promise<string[]> {
  const found = (await tx.unsafe(POSTGRES_ACTING).values()) as unknown[][];
  for (const [, statement] of found) await tx.unsafe(String(statement));
  // An interrupted run may have migrated it. Nothing acts when its history is read now.
  const [last] = (await tx.unsafe('select max(number) from schema_migrations').values()) as unknown[][];
  const had = Math.max(until, Number(last?.[0]));
  const own = migrations.filter(({ number }) => number <= had).flatMap(({ sql }) => actingIn(sql.postgres));
  const names = new Set(own.map((statement) => OWN.exec(statement)?.[1]));
  for (const statement of own) await tx.unsafe(statement);
  return found
    .map(([name]) => String(name).slice(0, 100))
    .filter((name) => !names.has(name.slice(name.indexOf(' ') + 1)));
}

/** The statements of a migration that make or remove functions and triggers, in their order. */
function actingIn(text: string): string[] {
  const statements = [''];
  for (const [at, part] of text
    .replaceAll(/--[^\n]*/g, '')
    .split('$$')
    .entries()) {
    // Every other part is the body of a function.
    const pieces = at % 2 === 1 ? [`$$${part}$$`] : part.split(';');
    statements.push(`${statements.pop()}${pieces[0]}`, ...pieces.slice(1));
  }
  return statements.map((statement) => statement.trim()).filter((statement) => OWN.test(statement));
}

export const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`;
