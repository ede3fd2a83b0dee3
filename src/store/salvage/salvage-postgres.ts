import type { SQL } from 'bun';
import { storeErrors, toStoreError } from '../drivers/errors.ts';
import { READ_HISTORY } from '../migrate/pending-migrations.ts';
import { connectPostgres, READER_DEADLINES } from '../postgres/open-postgres.ts';
import { movedTables, readPostgresLastIds } from '../snapshot/move-endpoint.ts';
import { quoteName } from '../snapshot/remove-foreign-schema.ts';
import { createFolder, openTarget, requireSameLayout, type SalvagedRow, type SalvagedTable } from './salvage-target.ts';

/** Blocks that are read at a time, while all goes well. */
const BLOCKS = 64;
/** No block of 8 KiB has more rows. */
const ROWS_OF_BLOCK = 291;
/** Older servers cannot read a range of blocks without a scan of the whole table. */
const OLDEST_SERVER = 140_000;

/**
 * Reads what can be read of a damaged PostgreSQL database, past its indexes, and writes it as
 * `salvageSqlite` does. Nothing of the database is changed.
 * @throws `store.not_usable` where `to` is not empty, the server is too old, or the database is of
 *   another version
 */
export async function salvagePostgres({
  databaseUrl,
  to,
  now,
}: {
  databaseUrl: string;
  to: string;
  now: number;
}): Promise<SalvagedTable[]> {
  const sql = connectPostgres(databaseUrl, 1, READER_DEADLINES);
  try {
    const [server] = await sql`select current_setting('server_version_num')::int as version`;
    if (server.version < OLDEST_SERVER)
      throw storeErrors.not_usable({
        message: 'Salvage reads PostgreSQL from version 14 on: read each table with pg_dump.',
      });
    const history = await sql
      .unsafe(READ_HISTORY)
      .values()
      .catch(() => []);
    requireSameLayout((history as unknown[][]).map(([number]) => Number(number)));
    createFolder(to);
    const target = openTarget(to, now);
    try {
      const salvaged: SalvagedTable[] = [];
      for (const { name, columns } of movedTables()) {
        const [there] = await sql`select to_regclass(${quoteName(name)})::text as name`;
        if (there.name === null) continue;
        const table = target.openTable(name);
        try {
          for await (const rows of readBlocks(sql, name)) {
            if (rows === 'gap') table.skip();
            else table.take(rows.map((row) => toSqlite(row, columns)));
          }
        } finally {
          salvaged.push(table.close());
        }
      }
      target.finish(
        await readPostgresLastIds(async (text) => (await sql.unsafe(text).values()) as unknown[][]).catch(
          () => new Map(),
        ),
      );
      return salvaged;
    } finally {
      target.close();
    }
  } catch (error) {
    throw toStoreError(error);
  } finally {
    await sql.close();
  }
}

/** Rows in the order in which they lie, and a mark for each block or row that cannot be read. */
async function* readBlocks(sql: SQL, table: string): AsyncGenerator<SalvagedRow[] | 'gap'> {
  const read = async (from: string, end: string): Promise<SalvagedRow[] | undefined> => {
    try {
      return await sql.unsafe(`select * from ${quoteName(table)} where ctid >= '${from}' and ctid < '${end}'`);
    } catch (error) {
      // An error that ends the connection is reported; any other one refuses this block alone.
      await sql`select 1`.catch(() => Promise.reject(error));
      return undefined;
    }
  };
  const [size] = await sql`select (pg_relation_size(to_regclass(${quoteName(table)})) /
    current_setting('block_size')::int)::int as blocks`;
  for (let block = 0, count = BLOCKS; block < size.blocks; ) {
    const rows = await read(`(${block},0)`, `(${block + count},0)`);
    if (rows === undefined && count > 1) {
      count = Math.ceil(count / 4);
      continue;
    }
    if (rows) yield rows;
    else yield* readRows(block, read);
    block += count;
    count = BLOCKS;
  }
}

/** One block, row by row: its page may be intact while long values of a row are lost. */
async function* readRows(
  block: number,
  read: (from: string, end: string) => Promise<SalvagedRow[] | undefined>,
): AsyncGenerator<SalvagedRow[] | 'gap'> {
  let isGap = false;
  for (let number = 1; number <= ROWS_OF_BLOCK; number += 1) {
    const rows = await read(`(${block},${number})`, `(${block},${number + 1})`);
    if (rows === undefined && !isGap) yield 'gap';
    isGap = rows === undefined;
    if (rows && rows.length > 0) yield rows;
  }
}

/** Booleans are numbers there. */
const toSqlite = (row: SalvagedRow, columns: readonly string[]): SalvagedRow =>
  Object.fromEntries(
    columns
      .filter((name) => Object.hasOwn(row, name))
      .map((name) => [name, typeof row[name] === 'boolean' ? Number(row[name]) : row[name]]),
  );
