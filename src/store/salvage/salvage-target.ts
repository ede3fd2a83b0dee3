import { type SQLQueryBindings, Database as SqliteFile } from 'bun:sqlite';
import { closeSync, mkdirSync, openSync, readdirSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { storeErrors } from '../drivers/errors.ts';
import { fillDatabase } from '../migrate/migrate-sqlite.ts';
import { LATEST_MIGRATION } from '../migrate/pending-migrations.ts';
import { keepLastIds, type LastIds } from '../snapshot/move-endpoint.ts';
import { quoteName } from '../snapshot/remove-foreign-schema.ts';
import { sqlitePath } from '../sqlite/open-sqlite.ts';

export type SalvagedRow = Record<string, unknown>;

/** `gaps`: stretches of rows that could not be read. `put`: rows in the new database. */
export type SalvagedTable = { table: string; rows: number; gaps: number; put: number };

/** Where salvaged rows go: each table as TABLE.jsonl, and all into a new database. */
export type SalvageTarget = {
  openTable(table: string): {
    take(rows: readonly SalvagedRow[]): void;
    skip(): void;
    close(): SalvagedTable;
  };
  finish(lastIds: LastIds): void;
  close(): void;
};

/** @throws `store.not_usable` where the folder is not empty */
export function createFolder(to: string): void {
  mkdirSync(to, { recursive: true, mode: 0o700 });
  // A new disk has the latter.
  if (readdirSync(to).some((name) => name !== 'lost+found'))
    throw storeErrors.not_usable({ message: `The folder ${to} is not empty: name a new one for what is salvaged.` });
}

/**
 * The new database has the layout of this version: what migrations would have moved would get lost.
 * `history`: the numbers of those that the database has had; empty where they cannot be read.
 * @throws `store.not_usable` for a database of another version
 */
export function requireSameLayout(history: readonly number[]): void {
  const last = Math.max(...history);
  if (history.length === 0 || last === LATEST_MIGRATION) return;
  throw storeErrors.not_usable({
    message: `The database is at version ${last}, and this program salvages version ${LATEST_MIGRATION}. Run the program that last served it.`,
  });
}

export function openTarget(to: string, now: number): SalvageTarget {
  closeSync(openSync(sqlitePath(to), 'wx', 0o600));
  const file = new SqliteFile(sqlitePath(to), { readwrite: true });
  // Nothing relies on it before it takes the place of the damaged one, which flushes it.
  file.run('pragma synchronous = off');
  file.transaction(() => fillDatabase(file, now))();
  // Rows come as they were: what triggers made of them is among the rows of other tables.
  const triggers = file.query("select name, sql from sqlite_master where type = 'trigger'").values() as string[][];
  for (const [name] of triggers) file.run(`drop trigger ${quoteName(String(name))}`);
  return {
    openTable(table) {
      const lines = openSync(join(to, `${table}.jsonl`), 'wx', 0o600);
      const put = createPut(file, table);
      const result = { table, rows: 0, gaps: 0, put: 0 };
      return {
        take(rows) {
          result.rows += rows.length;
          writeSync(lines, rows.map((row) => `${JSON.stringify(row, asText)}\n`).join(''));
          result.put += file.transaction(() => rows.filter(put).length)();
        },
        skip() {
          result.gaps += 1;
        },
        close() {
          closeSync(lines);
          return result;
        },
      };
    },
    finish(lastIds) {
      for (const [, sql] of triggers) file.run(String(sql));
      keepLastIds(file, lastIds);
      file.run('vacuum');
    },
    close: () => file.close(),
  };
}

const asText = (_key: string, value: unknown): unknown => {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  return typeof value === 'bigint' ? value.toString() : value;
};

/** Puts a row into the table of that name; false: the new layout has no place for it. */
function createPut(target: SqliteFile, table: string): (row: SalvagedRow) => boolean {
  const columns = new Set(
    target
      .query('select name from pragma_table_info(?)')
      .values(table)
      .map(([name]) => String(name)),
  );
  return (row) => {
    const names = Object.keys(row).filter((name) => columns.has(name));
    if (names.length === 0) return false;
    const places = names.map(() => '?').join(', ');
    try {
      target
        .query(`insert or replace into ${quoteName(table)} (${names.map(quoteName).join(', ')}) values (${places})`)
        .run(...names.map((name) => row[name] as SQLQueryBindings));
      return true;
    } catch {
      return false;
    }
  };
}
