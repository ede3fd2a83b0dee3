import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import type { SQL } from 'bun';
import { readSqlState } from '../drivers/errors.ts';
import { READER_DEADLINES, withConnection } from '../postgres/open-postgres.ts';
import { checkSqliteDatabase, checkSqliteTables } from '../snapshot/sqlite-snapshot.ts';
import { FRAME_HEADER_BYTES, LOG_HEADER_BYTES, PAGE_SIZE_AT } from '../sqlite/count-log-pages.ts';
import { sqlitePath } from '../sqlite/open-sqlite.ts';
import { requireOneFile } from '../sqlite/refuse-foreign-log.ts';

/** Indexes of PostgreSQL that are named at most. */
const LISTED = 20;

/** `unchecked`: what was left out, and what it needs. */
export type DamageReport = { faults: string[]; unchecked?: string };

/** Runs after each slice of a check, so that a busy gateway has the disk for itself in between. */
export type Rest = () => Promise<void>;

/**
 * Reads the whole database and reports broken pages, and indexes that disagree with their tables.
 * It takes seconds a gigabyte; a gateway may go on writing. On SQLite it blocks this process. With
 * `rest` it reads table by table, or index by index: no snapshot then keeps the log from being
 * emptied for long, but pages that belong to no table are left out.
 * @throws `store.foreign_log`, `store.restore_unfinished`
 */
export const findDamage = async (
  place: { databaseUrl: string; dataDir: string },
  rest?: Rest,
): Promise<DamageReport> =>
  place.databaseUrl === '' ? findSqliteDamage(place.dataDir, rest) : findPostgresDamage(place.databaseUrl, rest);

async function findSqliteDamage(dataDir: string, rest: Rest | undefined): Promise<DamageReport> {
  if (!existsSync(sqlitePath(dataDir))) return { faults: [] };
  requireOneFile(dataDir);
  const log = `${sqlitePath(dataDir)}-wal`;
  // The program that closes the database last removes the log, and with it what may be salvaged.
  if (await isLogCut(log))
    return { faults: [`${log} ends within a page: it was cut, and the changes behind that are lost`] };
  return { faults: rest ? await checkSqliteTables(dataDir, rest) : checkSqliteDatabase(dataDir) };
}

const LOOKS = 3;
const LOOK_EVERY_MS = 100;

/** A gateway that writes at this moment may leave half a page, but not for long. */
async function isLogCut(path: string): Promise<boolean> {
  let before = -1;
  for (let look = 1; look <= LOOKS; look += 1) {
    const size = existsSync(path) ? statSync(path).size : 0;
    const frameBytes = size < LOG_HEADER_BYTES ? undefined : FRAME_HEADER_BYTES + readPageSize(path);
    const isWhole = frameBytes === undefined ? size === 0 : (size - LOG_HEADER_BYTES) % frameBytes === 0;
    if (isWhole || (look > 1 && size !== before)) return false;
    before = size;
    await Bun.sleep(LOOK_EVERY_MS);
  }
  return true;
}

function readPageSize(path: string): number {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(4);
    readSync(file, bytes, 0, 4, PAGE_SIZE_AT);
    return bytes.readUInt32BE(0);
  } finally {
    closeSync(file);
  }
}

const findPostgresDamage = (databaseUrl: string, rest: Rest = async () => {}): Promise<DamageReport> =>
  withConnection(
    databaseUrl,
    async (sql) => {
      const faults = [...(await findFailedChecksums(sql)), ...(await findInvalidIndexes(sql))];
      const [amcheck] = await sql`select 1 from pg_extension where extname = 'amcheck'`;
      if (amcheck) {
        const indexes = await checkIndexes(sql, rest);
        return { ...indexes, faults: [...faults, ...indexes.faults] };
      }
      const unchecked = 'its indexes: run "create extension amcheck" in the database as a superuser, and check again';
      return { faults, unchecked };
    },
    READER_DEADLINES,
  );

/** What the server has found in pages that it read, where it was set up with checksums. */
async function findFailedChecksums(sql: SQL): Promise<string[]> {
  const [row] =
    await sql`select checksum_failures as failures from pg_stat_database where datname = current_database()`;
  const failures = Number(row?.failures ?? 0);
  return failures > 0 ? [`the server has read ${failures} pages with a wrong checksum`] : [];
}

async function findInvalidIndexes(sql: SQL): Promise<string[]> {
  const rows = await sql`
    select indexrelid::regclass::text as name from pg_index join pg_class on pg_class.oid = indexrelid
    where relnamespace = current_schema()::regnamespace and not indisvalid limit ${LISTED}`;
  return rows.map(({ name }: { name: string }) => `the index ${name} is not valid: run "reindex index ${name}"`);
}

/** SQLSTATE of a role that may not execute what a superuser has installed. */
const INSUFFICIENT_PRIVILEGE = '42501';
/** SQLSTATE classes of damage: corrupted data or indexes, and errors of the disk. */
const DAMAGE = /^(?:XX|58)/;
/** Installing the extension gives its functions to superusers alone. */
const MISSING_GRANT =
  'its indexes: run "grant execute on function bt_index_check(regclass, boolean) to ROLE", with the role of DATABASE_URL, as a superuser, and check again';

/** Compares each index with its table. */
async function checkIndexes(sql: SQL, rest: Rest): Promise<DamageReport> {
  const indexes = await sql`
    select pg_class.oid::text as id, pg_class.oid::regclass::text as name from pg_class join pg_am on pg_am.oid = relam
    where relkind = 'i' and amname = 'btree' and relnamespace = current_schema()::regnamespace order by name`;
  const faults: string[] = [];
  for (const { id, name } of indexes as { id: string; name: string }[]) {
    try {
      await sql`select bt_index_check(${id}::oid::regclass, true)`;
    } catch (error) {
      const sqlState = readSqlState(error);
      if (sqlState === INSUFFICIENT_PRIVILEGE) return { faults, unchecked: MISSING_GRANT };
      if (!DAMAGE.test(sqlState)) throw error;
      faults.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
      if (faults.length === LISTED) break;
    }
    await rest();
  }
  return { faults };
}
