import { type Clock, isoTime, type Logger, sha256Hex } from '../kernel/index.ts';
import { storeErrors, toStoreError } from './drivers/errors.ts';
import { MOVE_NOTE, requireNoNode } from './migrate/pending-migrations.ts';
import { migrateStore, openStore } from './open-store.ts';
import {
  type MovedRow,
  type MovedTable,
  type MoveEndpoint,
  movedTables,
  openMoveEndpoint,
} from './snapshot/move-endpoint.ts';
import { lockDataDir } from './sqlite/lock-data-dir.ts';
import { prepareDataDir } from './sqlite/open-sqlite.ts';

type Place = { databaseUrl: string; dataDir: string };

/** Rows that are held in memory at once. */
const PAGE = 1000;

export type MoveReport = {
  /** Whether an earlier run was ended, and this one went on. */
  resumed: boolean;
  tables: { table: string; rows: number }[];
};

type MoveOptions = {
  from: Place;
  to: Place;
  clock: Clock;
  logger: Logger;
  onTable?: (table: string, rows: number) => void;
};

/**
 * Moves everything from one database into another, empty one, of either kind. The process may die
 * at any line: the same call goes on. Counts, sums and digests of both are compared before the
 * source is closed for good, and only then the other one is opened.
 * @throws `store.in_use` while a gateway runs on one of them, `store.not_usable` where the target
 *   has data of its own, or the two differ in the end
 */
export async function moveDatabase({ from, to, clock, logger, onTable = () => {} }: MoveOptions): Promise<MoveReport> {
  const unlock = [lock(from), lock(to)];
  try {
    await migrateBoth(from, to, { clock, logger });
    const source = await openMoveEndpoint(from);
    const target = await openMoveEndpoint(to);
    try {
      return await move({ source, target, clock, onTable });
    } finally {
      await Promise.all([source.close(), target.close()]);
    }
  } catch (error) {
    throw toStoreError(error);
  } finally {
    for (const release of unlock.reverse()) release();
  }
}

/** Whether an earlier run has moved `from` into `to` to its end. */
export async function hasMoved({ from, to }: Pick<MoveOptions, 'from' | 'to'>): Promise<boolean> {
  const source = await openMoveEndpoint(from);
  const target = await openMoveEndpoint(to);
  const installation = async ({ run }: MoveEndpoint) =>
    (await run("select value from options where key = 'installation.id'"))[0]?.[0];
  try {
    if ((await readNote(source))?.state !== 'gone' || (await readNote(target)) !== undefined) return false;
    return (await installation(source)) === (await installation(target));
  } catch (error) {
    throw toStoreError(error);
  } finally {
    await Promise.all([source.close(), target.close()]);
  }
}

function lock({ databaseUrl, dataDir }: Place): () => void {
  if (databaseUrl !== '') return () => {};
  prepareDataDir(dataDir);
  return lockDataDir(dataDir);
}

/** The target gets the layout; the source must have the same one. */
async function migrateBoth(from: Place, to: Place, deps: { clock: Clock; logger: Logger }): Promise<void> {
  const options = { ...deps, synchronous: 'FULL' as const, moving: true };
  // Refuses a source that is newer or older than this program, without migrating it.
  await (await openStore({ ...options, ...from, migrate: false })).close();
  if (to.databaseUrl === '') await (await openStore({ ...options, ...to })).close();
  else await migrateStore({ ...options, ...to });
}

type Move = {
  source: MoveEndpoint;
  target: MoveEndpoint;
  clock: Clock;
  onTable: (table: string, rows: number) => void;
};

async function move({ source, target, clock, onTable }: Move): Promise<MoveReport> {
  for (const { dialect, run } of [source, target]) if (dialect === 'postgres') await requireNoNode(run);
  const [sourceNote, targetNote] = [await readNote(source), await readNote(target)];
  const resumed = targetNote?.state === 'coming';
  if (sourceNote && !(sourceNote.state === 'gone' && resumed))
    throw storeErrors.not_usable({ message: describeNote(sourceNote) });
  if (targetNote && !resumed) throw storeErrors.not_usable({ message: describeNote(targetNote) });
  const tables = movedTables();
  if (sourceNote?.state !== 'gone') {
    if (targetNote?.isPrepared !== true) await prepareTarget(target, clock, { resumed });
    // A run that ended late has let them act again.
    await target.stopTriggers();
    for (const table of tables) await copyTable({ source, target }, table);
  }
  const report: MoveReport['tables'] = [];
  for (const table of tables) {
    const [was, is] = [await digestTable(source, table), await digestTable(target, table)];
    if (was.digest !== is.digest || was.rows !== is.rows)
      throw storeErrors.not_usable({
        message: `The table ${table.name} has ${was.rows} rows here and ${is.rows} there, or other values: nothing was switched over. Empty the target and run the command again.`,
      });
    report.push({ table: table.name, rows: was.rows });
    onTable(table.name, was.rows);
  }
  await compareLedger(source, target);
  // One that was started since has written what the target lacks.
  if (source.dialect === 'postgres') await requireNoNode(source.run);
  await target.finish(await source.lastIds());
  // From here on the source serves nobody, and the next run continues one that ends here.
  await writeNote(source, { state: 'gone', at: clock.unix() });
  await writeNote(target, undefined);
  return { resumed, tables: report };
}

/**
 * Prepares it for the rows of another database; the next run begins with this until it is complete.
 */
async function prepareTarget(target: MoveEndpoint, clock: Clock, { resumed }: { resumed: boolean }): Promise<void> {
  const [[users], [tasks]] = (await Promise.all([
    target.run('select count(*) from users'),
    target.run('select count(*) from tasks'),
  ])) as [unknown[][], unknown[][]];
  if (!resumed && Number(users?.[0]) + Number(tasks?.[0]) > 0)
    throw storeErrors.not_usable({ message: 'The target has users or tasks of its own: name an empty database.' });
  await writeNote(target, { state: 'coming', at: clock.unix() });
  await target.stopTriggers();
  // The rows that a new database begins with come from the source too.
  for (const { name } of movedTables().reverse()) if (name !== 'options') await target.run(`delete from "${name}"`);
  await writeNote(target, { state: 'coming', at: clock.unix(), isPrepared: true });
}

async function copyTable({ source, target }: Pick<Move, 'source' | 'target'>, table: MovedTable): Promise<void> {
  let after: MovedRow | undefined;
  // Rows with numbers came in their order: what is there need not be read again.
  if (table.columns.includes('id') && table.name !== 'options') {
    const [last] = await target.run(`select max(id) from "${table.name}"`);
    if (typeof last?.[0] === 'number' || typeof last?.[0] === 'bigint' || /^\d+$/.test(String(last?.[0])))
      after = table.columns.map((name) => (name === 'id' ? Number(last?.[0]) : null));
  }
  for (;;) {
    const rows = await source.read(table, { after, limit: PAGE });
    const moved = table.name === 'options' ? rows.filter(([key]) => key !== MOVE_NOTE) : rows;
    if (moved.length > 0)
      await target.write(
        table,
        moved.map((row) => convert(row, table, target.dialect)),
      );
    after = rows.at(-1);
    if (rows.length < PAGE) return;
  }
}

const convert = (row: MovedRow, { columns, booleans }: MovedTable, to: MoveEndpoint['dialect']): MovedRow =>
  row.map((value, at) => {
    if (value === null || !booleans.has(columns[at] ?? '')) return value;
    return to === 'postgres' ? Boolean(value) : Number(value);
  });

/** Does not depend on the order of the rows, since collations differ. */
async function digestTable(endpoint: MoveEndpoint, table: MovedTable): Promise<{ rows: number; digest: string }> {
  let [rows, sum] = [0, 0n];
  let after: MovedRow | undefined;
  for (;;) {
    const page = await endpoint.read(table, { after, limit: PAGE });
    for (const row of page) {
      if (table.name === 'options' && row[table.columns.indexOf('key')] === MOVE_NOTE) continue;
      const plain = convert(row, table, 'sqlite').map((value) => (value === null ? null : String(value)));
      sum = (sum + BigInt(`0x${sha256Hex(JSON.stringify(plain))}`)) & MASK;
      rows += 1;
    }
    after = page.at(-1);
    if (page.length < PAGE) return { rows, digest: sum.toString(16) };
  }
}

const MASK = (1n << 256n) - 1n;

/** Money is compared once more, by what it means. */
async function compareLedger(source: MoveEndpoint, target: MoveEndpoint): Promise<void> {
  const sums = async (endpoint: MoveEndpoint) => {
    const found = await endpoint.run(
      'select wallets.id, wallets.quota, coalesce(sum(amount), 0) from wallets left join ledger_entries on wallet_id = wallets.id group by wallets.id, wallets.quota',
    );
    return found.map((row) => row.map(String).join(':')).sort();
  };
  const [was, is] = [await sums(source), await sums(target)];
  const differing = was.filter((wallet, at) => wallet !== is[at]);
  if (differing.length > 0)
    throw storeErrors.not_usable({
      message: `The sums of ${differing.length} wallets differ: nothing was switched over.`,
    });
}

/** `coming`: rows are on their way into this database. `gone`: they are in another one. */
type Note = { state: 'coming' | 'gone'; at: number; isPrepared?: boolean };

async function readNote(endpoint: MoveEndpoint): Promise<Note | undefined> {
  const [row] = await endpoint.run(`select value from options where key = '${MOVE_NOTE}'`);
  return row ? (JSON.parse(String(row[0])) as Note) : undefined;
}

/** One statement: a note that is lost would open half of a database. */
async function writeNote(endpoint: MoveEndpoint, note: Note | undefined): Promise<void> {
  if (note === undefined) await endpoint.run(`delete from options where key = '${MOVE_NOTE}'`);
  else
    await endpoint.run(
      `insert into options (key, value) values ('${MOVE_NOTE}', '${JSON.stringify(note)}')
      on conflict (key) do update set value = excluded.value`,
    );
}

const describeNote = ({ state, at }: Note): string =>
  state === 'gone'
    ? `This database was moved into another one at ${isoTime(at * 1000)} and is closed for good.`
    : `A move into this database was begun at ${isoTime(at * 1000)} and has not ended: run the same command again, or empty it.`;
