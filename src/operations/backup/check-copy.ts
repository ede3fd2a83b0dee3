import { OperatorError, sentence, silentLogger } from '../../kernel/index.ts';
import { checkSqliteDatabase, closeSqliteLog, openStore } from '../../store/index.ts';
import type { DatabaseCounts, Store } from '../../store/ports/index.ts';
import { MAX_LISTED } from '../watches/check-ledger.ts';
import type { BackupDeps } from './types.ts';

/**
 * Checks a copy of a SQLite database that nobody else uses: its pages and indexes, and as `doctor`
 * does its ledger and its audit log. Migrates it if an older version has made it. Then runs `work`.
 * @throws `OperatorError` with what is wrong
 */
export async function withCheckedCopy<T>(
  { clock }: Pick<BackupDeps, 'clock'>,
  folder: string,
  work: (store: Store, counts: DatabaseCounts) => Promise<T>,
): Promise<T> {
  const faults = checkSqliteDatabase(folder);
  if (faults.length > 0) throw new OperatorError(sentence('backup.database_damaged', { words: faults.join('; ') }));
  const store = await openStore({
    databaseUrl: '',
    dataDir: folder,
    synchronous: 'NORMAL',
    clock,
    logger: silentLogger,
    restoring: true,
  });
  let value: T;
  try {
    await requireConsistent(store);
    value = await work(store, await store.backups.measure());
  } finally {
    await store.close();
  }
  closeSqliteLog(folder);
  return value;
}

/** @throws `OperatorError` when balances or the audit log are not as they were written */
export async function requireConsistent(store: Pick<Store, 'ledger' | 'logs'>): Promise<void> {
  const { wallets, tasks } = await store.ledger.imbalances(MAX_LISTED);
  if (wallets.length + tasks.length > 0) {
    throw new OperatorError(sentence('backup.balances', { count: wallets.length + tasks.length }));
  }
  const { faults } = await store.logs.verifyAudit();
  if (faults.length > 0) throw new OperatorError(sentence('backup.audit'));
}

export const sameCounts = (
  found: DatabaseCounts,
  {
    users,
    tasks,
    ledger_entries,
    ledger_sum,
  }: { users: number; tasks: number; ledger_entries: number; ledger_sum: string },
): boolean =>
  found.users === users &&
  found.tasks === tasks &&
  found.ledgerEntries === ledger_entries &&
  found.ledgerSum === ledger_sum;
