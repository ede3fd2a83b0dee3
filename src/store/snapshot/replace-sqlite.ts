/**
 * `taskgate restore-copy`: puts a copy of a SQLite database into the place of the one that
 * is there.
 */
import { Database as SqliteFile } from 'bun:sqlite';
import {
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { migrations } from '../../../migrations/index.ts';
import { isObject, isoTime, parseJson } from '../../kernel/index.ts';
import { storeErrors, toStoreError } from '../drivers/errors.ts';
import { pendingMigrations } from '../migrate/pending-migrations.ts';
import { ORPHANS_STAY, ORPHANS_STAY_SECONDS } from '../ports/index.ts';
import { invalidationStatements } from '../repositories/gateway/invalidate-restored-state.ts';
import { newMark, readMark } from '../sqlite/database-mark.ts';
import { flushFile, flushFolder, writeFlushed } from '../sqlite/flush.ts';
import { lockBackups, lockDataDir, requireFreeDataDir } from '../sqlite/lock-data-dir.ts';
import { sqlitePath } from '../sqlite/open-sqlite.ts';
import { forgetOwner, hasForeignLog, INTENT_FILE } from '../sqlite/refuse-foreign-log.ts';
import { checkSqliteDatabase } from './sqlite-snapshot.ts';

/** In the data directory: the copy while it is prepared. */
const WORK_FOLDER = 'taskgate.copy';
/** What belongs to a database beside its file, and is replayed into it. */
const LOGS = ['-wal', '-journal'];
/** The log of another file is kept under a name by which SQLite does not replay it. */
const FOREIGN = '.foreign-wal';
const DRAFT_FILE = `${INTENT_FILE}.draft`;
const INTENT_BYTES = 2000;

type Intent = { mark: number; kept: string };

/**
 * Puts a copy of a database into the place of the one in `dataDir`, which is kept under another
 * name with its log. The process may die at any line: the next start goes on with one of the two,
 * whole. Returns where the former database is; undefined: there was none.
 * @throws `store.in_use` beside a gateway or a backup, `store.not_usable` for a file that is not a
 * whole database of Taskgate, `store.schema_newer`
 */
export function replaceSqlite({
  dataDir,
  file,
  now,
}: {
  dataDir: string;
  file: string;
  now: number;
}): string | undefined {
  const unlock = lockDataDir(dataDir);
  const unlockBackups = lockBackups(dataDir);
  try {
    if (!unlockBackups) throw storeErrors.in_use({ message: 'A backup is being made. Try again when it has ended.' });
    finishReplacement(dataDir);
    const mark = prepareCopy(dataDir, resolve(file), now);
    const kept = existsSync(sqlitePath(dataDir)) ? keptPath(dataDir, now) : undefined;
    for (const step of replacementSteps(dataDir, { mark, kept: kept ?? '' })) step();
    return kept;
  } finally {
    rmSync(join(dataDir, WORK_FOLDER), { recursive: true, force: true });
    unlockBackups?.();
    unlock();
  }
}

/** The steps in their order; after each of them the process may die. */
export function replacementSteps(dataDir: string, intent: Intent): (() => void)[] {
  const path = sqlitePath(dataDir);
  const prepared = sqlitePath(join(dataDir, WORK_FOLDER));
  const draft = join(dataDir, DRAFT_FILE);
  const { kept } = intent;
  const isForeign = hasForeignLog(dataDir);
  const keep = ['', ...LOGS]
    .filter((ending) => kept !== '' && existsSync(`${path}${ending}`))
    .map(
      (ending) => () => linkOrCopy(`${path}${ending}`, `${kept}${isForeign && ending === '-wal' ? FOREIGN : ending}`),
    );
  return [
    () => writeFlushed(draft, JSON.stringify(intent)),
    () => renameSync(draft, join(dataDir, INTENT_FILE)),
    () => flushFolder(dataDir),
    ...keep,
    () => flushFolder(dataDir),
    () => renameSync(prepared, path),
    () => flushFolder(dataDir),
    () => finishReplacement(dataDir),
  ];
}

/**
 * Ends what `replaceSqlite` has begun. Once the copy has its place, the former log goes; it is kept
 * under its other name. Before that, the former database is still in its place. Call it with the
 * data directory locked.
 */
export function finishReplacement(dataDir: string): void {
  const path = sqlitePath(dataDir);
  const intentPath = join(dataDir, INTENT_FILE);
  for (const left of [WORK_FOLDER, DRAFT_FILE]) rmSync(join(dataDir, left), { recursive: true, force: true });
  const intent = readIntent(intentPath);
  if (intent && readMark(path) === intent.mark) {
    for (const ending of [...LOGS, '-shm']) rmSync(`${path}${ending}`, { force: true });
    forgetOwner(dataDir);
    flushFolder(dataDir);
  } else if (intent && intent.kept !== '' && isSameFile(path, intent.kept)) {
    // A second name of a database in use would get a log of its own.
    for (const ending of ['', ...LOGS, FOREIGN]) rmSync(`${intent.kept}${ending}`, { force: true });
  }
  if (!existsSync(intentPath)) return;
  rmSync(intentPath, { force: true });
  flushFolder(dataDir);
}

/** Copies the file into the work folder, makes one file of it and its log, and checks it. */
function prepareCopy(dataDir: string, file: string, now: number): number {
  const folder = join(dataDir, WORK_FOLDER);
  const path = sqlitePath(folder);
  requireFile(dataDir, file);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { mode: 0o700 });
  for (const ending of ['', ...LOGS]) {
    if (existsSync(`${file}${ending}`))
      copyFileSync(`${file}${ending}`, `${path}${ending}`, constants.COPYFILE_FICLONE);
  }
  const faults = checkSqliteDatabase(folder);
  if (faults.length > 0) throw unusable(file, `it is not a whole database of SQLite: ${faults.slice(0, 3).join('; ')}`);
  const mark = newMark();
  const copy = new SqliteFile(path, { readwrite: true });
  try {
    requireOwnHistory(copy, file);
    // An earlier version has fewer tables.
    const hasTable = copy.query("select 1 from sqlite_master where type = 'table' and name = ?");
    for (const [table, text] of Object.entries(invalidationStatements(now)))
      if (hasTable.values(table).length > 0) copy.run(text);
    const stays = 'insert into options (key, value) values (?1, ?2) on conflict (key) do update set value = ?2';
    copy.query(stays).run(ORPHANS_STAY, String(now + ORPHANS_STAY_SECONDS));
    copy.run(`pragma application_id = ${mark}`);
    copy.query('pragma wal_checkpoint(truncate)').values();
  } catch (error) {
    throw toStoreError(error);
  } finally {
    copy.close();
  }
  flushFile(path);
  flushFolder(folder);
  if (readMark(path) !== mark) throw unusable(file, 'its log cannot be written into it');
  return mark;
}

function requireFile(dataDir: string, file: string): void {
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found) throw unusable(file, 'there is no such file');
  if (!found.isFile()) throw unusable(file, 'it is not a file');
  if (isSameFile(file, sqlitePath(dataDir))) throw unusable(file, 'it is the database itself');
  // The file of another gateway: its log grows while it is copied.
  if (basename(file) === 'taskgate.db') requireFreeDataDir(dirname(file));
}

/** A copy is one of this program, or of an earlier version. */
function requireOwnHistory(copy: SqliteFile, file: string): void {
  const hasHistory = copy.query("select 1 from sqlite_master where name = 'schema_migrations'").values().length > 0;
  const history = hasHistory ? copy.query('select number, name from schema_migrations').values() : [];
  pendingMigrations(
    migrations,
    history.map(([number]) => Number(number)),
  );
  const isOwn = history.every(([number, name]) => migrations[Number(number) - 1]?.name === name);
  if (history.length === 0 || !isOwn) throw unusable(file, 'it is not a database of Taskgate');
}

const unusable = (file: string, why: string) =>
  storeErrors.not_usable({ message: `${file} cannot take the place of the database: ${why}. Nothing was changed.` });

function isSameFile(one: string, other: string): boolean {
  const [first, second] = [one, other].map((path) => statSync(path, { throwIfNoEntry: false }));
  return first !== undefined && first.ino === second?.ino && first.dev === second.dev;
}

function keptPath(dataDir: string, now: number): string {
  const path = `${sqlitePath(dataDir)}.replaced-${isoTime(now * 1000).replace(/[-:]|\.\d+/g, '')}`;
  for (let count = 1; ; count += 1) {
    const free = count === 1 ? path : `${path}-${count}`;
    if (!existsSync(free)) return free;
  }
}

function linkOrCopy(from: string, to: string): void {
  rmSync(to, { force: true });
  try {
    linkSync(from, to);
  } catch {
    // A file system without hard links.
    copyFileSync(from, to);
    flushFile(to);
  }
}

function readIntent(path: string): Intent | undefined {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const value = size > 0 && size <= INTENT_BYTES ? parseJson(readFileSync(path, 'utf8')) : undefined;
  if (!isObject(value) || typeof value.mark !== 'number' || typeof value.kept !== 'string') return undefined;
  return { mark: value.mark, kept: value.kept };
}
