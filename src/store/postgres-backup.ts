/** The entrance to what only backups of PostgreSQL need; loaded only for them. */
export {
  adoptRestoredSchema,
  beginPostgresRestore,
  endPostgresRestore,
  withPostgresSnapshot,
} from './snapshot/postgres-snapshot.ts';
