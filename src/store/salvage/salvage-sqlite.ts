import { Database as SqliteFile } from 'bun:sqlite';
import { constants, copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { storeErrors } from '../drivers/errors.ts';
import { READ_HISTORY } from '../migrate/pending-migrations.ts';
import { readLastIds } from '../snapshot/move-endpoint.ts';
import { quoteName } from '../snapshot/remove-foreign-schema.ts';
import { sqlitePath } from '../sqlite/open-sqlite.ts';
import { hasForeignLog } from '../sqlite/refuse-foreign-log.ts';
import {
  createFolder,
  openTarget,
  requireSameLayout,
  type SalvagedRow,
  type SalvagedTable,
  type SalvageTarget,
} from './salvage-target.ts';

/** Rows that are read at a time, while all goes well. */
const PAGE = 500;
/** In the target folder: the copy that is read, so that the damaged file stays as it is. */
const WORK_FOLDER = 'taskgate.salvage';
const LOGS = ['-wal', '-journal'];

/**
 * Reads what can be read of the database in `dataDir`, and writes it into the folder `to`: each
 * table as TABLE.jsonl, one row a line, and all of them into a new database `taskgate.db`. Neither
 * the database nor its log is changed.
 * @throws `store.not_usable` where there is no database, it is of another version, or `to` is not
 *   empty
 */
export function salvageSqlite({ dataDir, to, now }: { dataDir: string; to: string; now: number }): SalvagedTable[] {
  if (!existsSync(sqlitePath(dataDir)))
    throw storeErrors.not_usable({ message: `There is no database in ${dataDir}: nothing can be salvaged.` });
  createFolder(to);
  const work = join(to, WORK_FOLDER);
  mkdirSync(work, { mode: 0o700 });
  try {
    // SQLite would replay the log of another file into this one.
    for (const ending of ['', ...(hasForeignLog(dataDir) ? [] : LOGS)]) {
      const from = `${sqlitePath(dataDir)}${ending}`;
      if (existsSync(from)) copyFileSync(from, `${sqlitePath(work)}${ending}`, constants.COPYFILE_FICLONE);
    }
    const from = openDamaged(work);
    try {
      requireSameLayout(readHistory(from));
      return copyTables(from, openTarget(to, now));
    } finally {
      from.close();
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** A log whose beginning is broken would hide what the file itself has. */
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

/** Empty where the damage is there. */
function readHistory(file: SqliteFile): number[] {
  try {
    return file
      .query(READ_HISTORY)
      .values()
      .map(([number]) => Number(number));
  } catch {
    return [];
  }
}

function copyTables(from: SqliteFile, target: SalvageTarget): SalvagedTable[] {
  try {
    const tables = from
      .query("select name from sqlite_master where type = 'table' and name not like 'sqlite\\_%' escape '\\'")
      .values()
      .map(([name]) => String(name));
    const salvaged = tables.sort().map((name) => {
      const table = target.openTable(name);
      for (const page of readPages(from, name)) {
        if (page === 'gap') table.skip();
        else table.take(page);
      }
      return table.close();
    });
    target.finish(readLastIds(from));
    return salvaged;
  } finally {
    target.close();
  }
}

/** The name under which the row's own number is read; no column of ours has it. */
const KEY = 'salvage rowid';

/** Pages of rows in their order, and a mark for each stretch that cannot be read. */
function* readPages(file: SqliteFile, table: string): Generator<SalvagedRow[] | 'gap'> {
  const last = findLast(file, table);
  if (last === undefined) {
    // A table without numbers: all of it, or what comes before the first fault.
    yield* readUnnumbered(file, table);
    return;
  }
  const read = (after: number, limit: number): SalvagedRow[] | undefined => {
    try {
      return file
        .query(`select rowid as "${KEY}", * from ${quoteName(table)} where rowid > ? order by rowid limit ?`)
        .all(after, limit) as SalvagedRow[];
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
    const [row] = file.query(`select max(rowid) from ${quoteName(table)}`).values();
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

function* readUnnumbered(file: SqliteFile, table: string): Generator<SalvagedRow[] | 'gap'> {
  const rows = file.query(`select * from ${quoteName(table)}`).iterate() as Iterator<SalvagedRow>;
  let page: SalvagedRow[] = [];
  for (let isWhole = true; isWhole; ) {
    let isDone = true;
    try {
      const { done, value } = rows.next();
      isDone = done === true;
      if (!isDone) page.push(value as SalvagedRow);
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
