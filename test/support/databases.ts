export const DATABASES = ['sqlite', 'postgres'] as const;
export type DatabaseKind = (typeof DATABASES)[number];

/** `npm run test:full`: every test on every database, and more rounds. */
export const IS_FULL_RUN = process.env.TASKGATE_FULL_TESTS === '1';

/**
 * For rules above the store: SQLite, and in the full run PostgreSQL too. What concerns the database
 * itself (contracts, migrations, races, several nodes, crash points) runs on `DATABASES` always.
 */
export const RULE_DATABASES: readonly DatabaseKind[] = IS_FULL_RUN ? DATABASES : ['sqlite'];
