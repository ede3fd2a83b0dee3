import { type SQLQueryBindings, Database as SqliteFile } from 'bun:sqlite';
import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { storeErrors } from '../drivers/errors.ts';
import { fillDatabase } from '../migrate/migrate-sqlite.ts';
import { sqlitePath } from '../sqlite/open-sqlite.ts';

/** Rows that are read at a time, while all goes well. */
const PAGE = 500;
/** In the target folder: the copy that is read, so that the damaged file stays as it is. */
const WORK_FOLDER = 'taskgate.salvage';
const LOGS = ['-wal', '-journal'];

/** `gaps`: stretches of rows that could not be read. `put`: rows in the new database. */
export type SalvagedTable = { table: string; rows: number; gaps: number; put: number };

/**
 * Reads what can be read of the database in `dataDir`, and writes it into the folder `to`: each
 * table as TABLE.jsonl, one row a line, and all of them into a new database `taskgate.db`. Neither
 * the database nor its log is changed.
 * @throws `store.not_usable` where there is no database, or `to` is not empty
 */
export function salvageSqlite({ dataDir, to, now }: { dataDir: string; to: string; now: number }): SalvagedTable[] {
  if (!existsSync(sqlitePath(dataDir)))
    throw storeErrors.not_usable({ message: `There is no database in ${dataDir}: nothing can be salvaged.` });
  mkdirSync(to, { recursive: true, mode: 0o700 });
  if (readdirSync(to).length > 0)
    throw storeErrors.not_usable({ message: `The folder ${to} is not empty: name a new one for what is salvaged.` });
  const work = join(to, WORK_FOLDER);
  mkdirSync(work, { mode: 0o700 });
  try {
    for (const ending of ['', ...LOGS]) {
      const from = `${sqlitePath(dataDir)}${ending}`;
      if (existsSync(from)) copyFileSync(from, `${sqlitePath(work)}${ending}`, constants.COPYFILE_FICLONE);
    }
    return copyTables(openDamaged(work), openTarget(to, now), to);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** A log of another file, or one whose beginning is broken, would hide what the file itself has. */
function openDamaged(work: string): SqliteFile {
  for (const withLog of [true, false]) {
    if (!withLog) for (const ending of [...LOGS, '-shm']) rmSync(`${sqlitePath(work)}${ending}`, { force: true });
    const file = new SqliteFile(sqlitePath(work), { readwrite: true });
    try {
      file.query('select count(*) from sqlite_master').values();
      return file;
    } catch {
      file.close();
    }
  }
  throw storeErrors.not_usable({
    message: 'The first page of the database is lost, and with it where each table stands: restore a backup or a copy.',
  });
}

function openTarget(to: string, now: number): SqliteFile {
  closeSync(openSync(sqlitePath(to), 'wx', 0o600));
  const file = new SqliteFile(sqlitePath(to), { readwrite: true });
  // Nothing relies on it before `restore-copy`, which flushes what it takes.
  file.run('pragma synchronous = off');
  file.transaction(() => fillDatabase(file, now))();
  return file;
}

function copyTables(from: SqliteFile, target: SqliteFile, to: string): SalvagedTable[] {
  try {
    // Rows come as they were: what triggers made of them is among the rows of other tables.
    const triggers = target.query("select name, sql from sqlite_master where type = 'trigger'").values() as string[][];
    for (const [name] of triggers) target.run(`drop trigger ${quote(String(name))}`);
    const tables = from
      .query("select name from sqlite_master where type = 'table' and name not like 'sqlite\\_%' escape '\\'")
      .values()
      .map(([name]) => String(name));
    const salvaged = tables.sort().map((table) => copyTable({ from, target, to }, table));
    for (const [, sql] of triggers) target.run(String(sql));
    target.run('vacuum');
    return salvaged;
  } finally {
    from.close();
    target.close();
  }
}

type Files = { from: SqliteFile; target: SqliteFile; to: string };

function copyTable({ from, target, to }: Files, table: string): SalvagedTable {
  const lines = openSync(join(to, `${table}.jsonl`), 'wx', 0o600);
  const put = createPut(target, table);
  const result = { table, rows: 0, gaps: 0, put: 0 };
  try {
    for (const page of readPages(from, table)) {
      if (page === 'gap') {
        result.gaps += 1;
        continue;
      }
      result.rows += page.length;
      writeSync(lines, page.map((row) => `${JSON.stringify(row, asText)}\n`).join(''));
      result.put += target.transaction(() => page.filter(put).length)();
    }
  } finally {
    closeSync(lines);
  }
  return result;
}

type Row = Record<string, unknown>;

const asText = (_key: string, value: unknown): unknown =>
  value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value;

/** Puts a row into the table of that name; false: the new layout has no place for it. */
function createPut(target: SqliteFile, table: string): (row: Row) => boolean {
  const columns = new Set(
    target
      .query('select name from pragma_table_info(?)')
      .values(table)
      .map(([name]) => String(name)),
  );
  return (row) => {
    const names = Object.keys(row).filter((name) => name !== KEY && columns.has(name));
    if (names.length === 0) return false;
    const places = names.map(() => '?').join(', ');
    try {
      target
        .query(`insert or replace into ${quote(table)} (${names.map(quote).join(', ')}) values (${places})`)
        .run(...names.map((name) => row[name] as SQLQueryBindings));
      return true;
    } catch {
      return false;
    }
  };
}

/** The name under which the row's own number is read; no column of ours has it. */
const KEY = 'salvage rowid';

/** Pages of rows in their order, and a mark for each stretch that cannot be read. */
function* readPages(file: SqliteFile, table: string): Generator<Row[] | 'gap'> {
  const last = findLast(file, table);
  if (last === undefined) {
    // A table without numbers: all of it, or what comes before the first fault.
    yield* readUnnumbered(file, table);
    return;
  }
  const read = (after: number, limit: number): Row[] | undefined => {
    try {
      return file
        .query(`select rowid as "${KEY}", * from ${quote(table)} where rowid > ? order by rowid limit ?`)
        .all(after, limit) as Row[];
    } catch {
      return undefined;
    }
  };
  let after = Number.MIN_SAFE_INTEGER;
  for (let limit = PAGE; ; ) {
    const rows = read(after, limit);
    if (rows?.length === 0) return;
    if (rows) {
      after = Number(rows.at(-1)?.[KEY]);
      yield rows.map(({ [KEY]: _key, ...row }) => row);
      limit = PAGE;
    } else if (limit > 1) limit = Math.ceil(limit / 4);
    else {
      yield 'gap';
      const next = skipGap(after, last, (from) => read(from, 1) !== undefined);
      if (next === undefined) return;
      after = next;
    }
  }
}

/** The number of the last row, or the highest that there can be. Undefined: the table has none. */
function findLast(file: SqliteFile, table: string): number | undefined {
  try {
    const [row] = file.query(`select max(rowid) from ${quote(table)}`).values();
    return Number(row?.[0] ?? 0);
  } catch (error) {
    return error instanceof Error && error.message.includes('no such column') ? undefined : Number.MAX_SAFE_INTEGER;
  }
}

/** The least number, as far as can be found by halving, behind which rows can be read again. */
function skipGap(after: number, last: number, canRead: (after: number) => boolean): number | undefined {
  const from = Math.max(after, 0);
  let step = 1;
  while (from + step <= last && !canRead(from + step)) step *= 2;
  if (from + step > last) return undefined;
  let [bad, good] = [from + Math.floor(step / 2), from + step];
  while (good - bad > 1) {
    const middle = Math.floor((bad + good) / 2);
    if (canRead(middle)) good = middle;
    else bad = middle;
  }
  return good;
}

function* readUnnumbered(file: SqliteFile, table: string): Generator<Row[] | 'gap'> {
  const rows = file.query(`select * from ${quote(table)}`).iterate() as Iterator<Row>;
  let page: Row[] = [];
  for (let isWhole = true; isWhole; ) {
    let isDone = true;
    try {
      const { done, value } = rows.next();
      isDone = done === true;
      if (!isDone) page.push(value as Row);
    } catch {
      isWhole = false;
    }
    if (page.length > 0 && (isDone || page.length === PAGE)) {
      yield page;
      page = [];
    }
    if (!isWhole) yield 'gap';
    else if (isDone) return;
  }
}

const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;
