import { type Migration, type MigrationCheck, migrations } from '../../../migrations/index.ts';
import { AppError, isObject, isoTime, parseJson } from '../../kernel/index.ts';
import { storeErrors } from '../drivers/errors.ts';
import type { OptionStore } from '../ports/index.ts';

export const CREATE_HISTORY =
  'create table if not exists schema_migrations (number integer primary key not null, name text not null, applied_at bigint not null)';
/** Migrations that were taken back; what they made is still there. */
export const CREATE_REVERTED =
  'create table if not exists left_migrations (number integer primary key not null, name text not null)';
export const READ_REVERTED = 'select number, name from left_migrations';
export const READ_HISTORY = 'select number from schema_migrations order by number';

/** The number of the latest migration that this program knows: a database is at it once open. */
export const LATEST_MIGRATION = findLatest(migrations);

function findLatest(known: readonly Migration[]): number {
  return known.at(-1)?.number ?? 0;
}

/**
 * The pending migrations.
 * @throws `store.schema_newer` when the database has one that this program does not know
 */
export function pendingMigrations(known: readonly Migration[], applied: readonly number[]): Migration[] {
  const latestApplied = Math.max(0, ...applied);
  const latestKnown = findLatest(known);
  if (latestApplied > latestKnown) {
    throw storeErrors.schema_newer({
      message: `The database is at version ${latestApplied}, but this program knows versions up to ${latestKnown}. Run the newer program, or restore the copy that was made before the migration.`,
    });
  }
  return known.filter((migration) => !applied.includes(migration.number));
}

/** @throws `store.migration_refused` when a check of the migration has found something */
export function refuseFindings(migration: Migration, { refusal }: MigrationCheck, found: readonly unknown[][]): void {
  if (found.length > 0) throw refused(migration, refusal(found.map(([text]) => String(text))));
}

/**
 * Whether what the migration makes was left in the database when it was taken back.
 * @throws `store.migration_refused` when a migration of another program has this number there
 */
export function wasReverted({ number, name }: Migration, left: readonly unknown[][]): boolean {
  const found = left.find((row) => Number(row[0]) === number);
  if (found && found[1] !== name) {
    throw storeErrors.migration_refused({
      message: `The database has had ${String(found[1])}, which this program does not know. Run the program that made it.`,
    });
  }
  return found !== undefined;
}

/**
 * Runs the checks of all pending migrations without running these. A check that needs what an
 * earlier pending migration creates cannot run yet and is skipped. A database without our history
 * must have no tables of its own.
 * @throws `store.migration_refused`
 */
export async function checkPending(
  pending: readonly Migration[],
  isForeign: boolean,
  find: (query: string) => unknown[][] | Promise<unknown[][]>,
): Promise<void> {
  const [first] = pending;
  if (first && isForeign) throw refused(first, FOREIGN);
  for (const migration of pending) {
    try {
      for (const check of migration.checks) refuseFindings(migration, check, await find(check.query));
    } catch (error) {
      if (migration === first || error instanceof AppError) throw error;
    }
  }
}

const FOREIGN = 'The database holds tables of another program: give the gateway an empty one.';

const refused = (migration: Migration, reason: string) =>
  storeErrors.migration_refused({
    message: `Migration ${migration.name} was not run and nothing was changed. ${reason}`,
  });

const closed = (name: string, why: string) =>
  storeErrors.irreversible({
    message: `The database cannot go back beyond ${name}: restore the backup from before. ${why}`,
  });

/** @throws `store.irreversible` when one of the migrations can never be taken back */
export function refuseIrreversible(steps: readonly Migration[]): void {
  for (const { name, back } of steps) if ('never' in back) throw closed(name, back.never);
}

/** @throws `store.irreversible` when what the database holds closes the way back */
export async function requireReversible(
  { name, back }: Migration,
  find: (query: string) => unknown[][] | Promise<unknown[][]>,
): Promise<void> {
  if ('never' in back) throw closed(name, back.never);
  for (const { query, refusal } of back.unless) {
    const found = await find(query);
    if (found.length > 0) throw closed(name, refusal(found.map(([text]) => String(text))));
  }
}

/** A node whose heartbeat is older is gone; one further ahead was written by a wrong clock. */
const ALIVE_SECONDS = 60;

/**
 * Nodes that run would go on writing what the other database, or the earlier version, does not
 * know. PostgreSQL alone: a SQLite file is locked.
 * @throws `store.in_use`
 */
export async function requireNoNode(find: (query: string) => Promise<unknown[][]>): Promise<void> {
  const [node] = await find(`select id from nodes
    where abs(heartbeat_at - extract(epoch from clock_timestamp())) < ${ALIVE_SECONDS}`);
  if (node)
    throw storeErrors.in_use({
      message: `The node ${node[0]} runs on the PostgreSQL database: stop all nodes first. One that was killed counts as running for ${ALIVE_SECONDS} seconds.`,
    });
}

const NOTHING = { back: 'select 1', again: 'select 1' };

/** What the way back and the next upgrade move for the program that runs then. */
export const findMoves = ({ back }: Migration): { back: string; again: string } =>
  ('moved' in back && back.moved) || NOTHING;

/** Stored as an option that the catalogue does not list. */
export const MOVE_NOTE = 'database.move';

/**
 * A database that was moved away must never serve again, nor one that has a part of another.
 * @throws `store.moved`
 */
export async function requireNotMoved(options: Pick<OptionStore, 'get'>): Promise<void> {
  const text = await options.get(MOVE_NOTE);
  if (text === undefined) return;
  const note = parseJson(text);
  const at = isObject(note) ? isoTime(Number(note.at) * 1000).slice(0, 16) : '';
  throw storeErrors.moved({
    message:
      isObject(note) && note.state === 'gone'
        ? `This database was moved into another one at ${at} and is closed for good: set DATABASE_URL, or --data-dir, to the new one.`
        : `A move into this database was begun at ${at} and has not ended: run "taskgate move-database" again.`,
  });
}
