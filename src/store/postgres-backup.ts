/** The entrance to what only backups of PostgreSQL need; loaded only for them. */
export {
  beginPostgresRestore,
  endPostgresRestore,
  settleRestored,
  withPostgresSnapshot,
} from './snapshot/postgres-snapshot.ts';
