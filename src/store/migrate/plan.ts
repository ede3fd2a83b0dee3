import type { Migration } from '../../../migrations/index.ts';
import { storeErrors } from '../errors.ts';

export const CREATE_HISTORY =
  'create table if not exists schema_migrations (number integer primary key not null, name text not null, applied_at bigint not null)';
export const READ_HISTORY = 'select number from schema_migrations order by number';

/** The migrations that are still to run. Throws `store.schema_newer` when the database knows one that this program does not. */
export function pendingMigrations(known: readonly Migration[], applied: readonly number[]): Migration[] {
  const latestApplied = Math.max(0, ...applied);
  const latestKnown = known.length;
  if (latestApplied > latestKnown) {
    throw storeErrors.schema_newer({
      message: `The database is at version ${latestApplied}, but this program knows versions up to ${latestKnown}. Run the newer program, or restore the copy that was made before the migration.`,
    });
  }
  return known.filter((migration) => !applied.includes(migration.number));
}

export const refused = (migration: Migration, reason: string) =>
  storeErrors.migration_refused({
    message: `Migration ${migration.name} was not run and nothing was changed. ${reason}`,
  });
