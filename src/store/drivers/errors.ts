import { DrizzleQueryError } from 'drizzle-orm';
import { AppError, defineErrors, type Sentence, SentenceError, sentence, toSentence } from '../../kernel/index.ts';
import { describePostgres, isStatementFault, isTlsFault, type PostgresFault } from './postgres-reasons.ts';

export const storeErrors = defineErrors('store', {
  unavailable: ['unavailable', 'The database is not responding. Try again later.'],
  /** The connection was lost after the commit was sent and before its result came. */
  outcome_unknown: [
    'unavailable',
    'The connection to the database was lost while saving. Check whether your change was made before you repeat it.',
  ],
  /** Another transaction holds a row for longer than any of ours should. */
  locked: ['unavailable', 'Another change holds what you want to change. Try again later.'],
  broken_invariant: ['internal', 'The database refused a statement that breaks a rule of the data model.'],
  misused: ['internal', 'The store was used in a way that its contract forbids.'],
  results_unavailable: ['unavailable', 'The storage for kept results is not responding. Try again later.'],
  backups_unavailable: ['unavailable', 'The storage for backups is not responding. Try again later.'],
  irreversible: ['conflict', 'A migration of the database cannot be taken back.'],
  in_use: ['conflict', 'Another process is using the data directory.'],
  schema_newer: ['internal', 'The database is newer than this program.'],
  schema_outdated: ['internal', 'The database is older than this program.'],
  restore_unfinished: ['internal', 'A restore was begun here and has not ended.'],
  foreign_log: ['internal', 'The write-ahead log belongs to another database file.'],
  moved: ['internal', 'The database was moved into another one.'],
  not_usable: ['invalid', 'The file is not a database that can be used.'],
  migration_refused: ['internal', 'The database cannot be migrated.'],
});

/** `reason` is for the log; clients learn when to try again. */
export const resultsUnavailable = (reason: string | Sentence, retryAfterSeconds = 5): AppError =>
  storeErrors.results_unavailable({
    cause: typeof reason === 'string' ? new Error(reason) : new SentenceError(reason),
    retryAfterSeconds,
  });

/**
 * Advice for administrators, by a prefix of SQLite's result code. Without an entry the general
 * message is used.
 */
const SQLITE_ADVICE = [
  ['SQLITE_FULL', 'store.disk_full'],
  ['SQLITE_READONLY', 'store.read_only'],
  ['SQLITE_CANTOPEN', 'store.cannot_open'],
  ['SQLITE_PERM', 'store.permissions'],
  ['SQLITE_IOERR', 'store.disk_failed'],
  ['SQLITE_CORRUPT', 'store.damaged'],
  ['SQLITE_NOTADB', 'store.no_database'],
  ['SQLITE_BUSY', 'store.busy'],
] as const;

/**
 * SQLite's result codes for faults of the statement or its data. Every other code is a problem of
 * the file or the machine.
 */
const SQLITE_OUR_FAULT = /^SQLITE_(CONSTRAINT|ERROR|MISMATCH|RANGE|MISUSE|TOOBIG)/;
/** The SQLSTATE of what PostgreSQL refused, else empty. */
export const readSqlState = (thrown: unknown): string => textField(driverError(thrown), 'errno');

/**
 * Translates what a driver threw into an error of the store; returns anything else unchanged. The
 * message never holds SQL or data. The cause is reduced to codes and names, because drivers put
 * statements, parameters and row values into their messages.
 */
export function toStoreError(thrown: unknown): unknown {
  const error = driverError(thrown);
  const code = textField(error, 'code');
  if (code.startsWith('SQLITE_')) {
    const reason = SQLITE_ADVICE.find(([prefix]) => code.startsWith(prefix))?.[1];
    return translate({ isOurFault: SQLITE_OUR_FAULT.test(code), advice: reason && sentence(reason) }, code);
  }
  // TLS fails with the codes of Node.js; Bun's client gives these errors a number too.
  if (!code.startsWith('ERR_POSTGRES') && !(isTlsFault(code) && Reflect.get(error as object, 'errno') === 0))
    return error;
  const fault: PostgresFault = {
    code,
    sqlState: textField(error, 'errno'),
    message: textField(error, 'message'),
    routine: textField(error, 'routine'),
  };
  if (fault.sqlState === '55P03') return storeErrors.locked({ cause: new Error('55P03'), retryAfterSeconds: 5 });
  const advice = describePostgres(fault)?.replaceAll('DATABASE_URL', textField(error, ADDRESS) || 'DATABASE_URL');
  const names = [textField(error, 'table'), textField(error, 'constraint')];
  return translate({ isOurFault: isStatementFault(fault), advice }, fault.sqlState || code, names);
}

/** The variable that a failed connection was made by, in its error: sentences name it. */
const ADDRESS = 'taskgateAddress';

/** Marks what a connection of another address than DATABASE_URL threw. */
export function nameAddress(thrown: unknown, variable: string): unknown {
  const error = driverError(thrown);
  if (typeof error === 'object' && error !== null) Reflect.set(error, ADDRESS, variable);
  return thrown;
}

/** The operating system could not bring a commit to the disk; the commit itself stands. */
export function toFlushError(thrown: unknown): Error {
  const cause = new Error(`FLUSH_${textField(thrown, 'code') || 'FAILED'}`);
  return storeErrors.outcome_unknown({ cause, message: sentence('store.flush_failed') });
}

/** SQLite's codes for a file that cannot be written, and ours for one that is not flushed. */
const UNWRITABLE = /^(?:FLUSH_|SQLITE_(?:FULL|READONLY|IOERR|CANTOPEN|PERM))/;

/** What to do about a file that cannot be written, if that is why a statement failed. */
export function findWriteFault(thrown: unknown): Sentence | undefined {
  const error = toStoreError(thrown);
  const cause = error instanceof AppError ? error.cause : undefined;
  return error instanceof AppError && cause instanceof Error && UNWRITABLE.test(cause.message)
    ? toSentence(error)
    : undefined;
}

function translate(
  { isOurFault, advice }: { isOurFault: boolean; advice: string | Sentence | undefined },
  code: string,
  names: readonly string[] = [],
): Error {
  const known = names.filter((name) => name !== '');
  const cause = new Error(known.length > 0 ? `${code} (${known.join(', ')})` : code);
  if (isOurFault) return storeErrors.broken_invariant({ cause });
  return storeErrors.unavailable({ cause, retryAfterSeconds: 5, ...(advice === undefined ? {} : { message: advice }) });
}

/**
 * Whether PostgreSQL aborted a transaction that may succeed when it is retried: serialization
 * failure or deadlock.
 */
export function isRetryable(thrown: unknown): boolean {
  const state = textField(driverError(thrown), 'errno');
  return state === '40001' || state === '40P01';
}

/**
 * drizzle wraps what a driver throws in an error whose message holds the statement and its
 * parameters.
 */
const driverError = (thrown: unknown): unknown => (thrown instanceof DrizzleQueryError ? thrown.cause : thrown);

function textField(error: unknown, field: string): string {
  if (typeof error !== 'object' || error === null) return '';
  const value: unknown = Reflect.get(error, field);
  return typeof value === 'string' ? value : '';
}
