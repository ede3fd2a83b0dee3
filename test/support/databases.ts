import { IS_FULL_RUN } from './full-run.ts';

export const DATABASES = ['sqlite', 'postgres'] as const;
export type DatabaseKind = (typeof DATABASES)[number];

/**
 * For rules above the store: SQLite, and in the full run PostgreSQL too. What concerns the database
 * itself (contracts, migrations, races, several nodes, crash points) runs on `DATABASES` always.
 */
export const RULE_DATABASES: readonly DatabaseKind[] = IS_FULL_RUN ? DATABASES : ['sqlite'];

/** `RULE_DATABASES` as tests of the executable name them. */
export const RULE_DATABASE_NAMES = RULE_DATABASES.map((kind) => (kind === 'sqlite' ? 'SQLite' : 'PostgreSQL'));
