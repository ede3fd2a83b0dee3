import type { SQL } from 'bun';
import { toStoreError } from '../drivers/errors.ts';

/** The prefix keeps these names apart from those that transactions lock. */
const KEY = `hashtextextended('exclusively ' || $1, 0)`;

export type ExclusiveLock = {
  /** Used for this lock only. It is closed at the end. */
  connection: SQL;
  /** Rejects when the answer is late: a connection may be cut without notice. */
  withinDeadline: <R>(answer: Promise<R>) => Promise<R>;
  name: string;
};

/**
 * Runs `work` while `connection` holds the advisory lock of `name`. Resolves with `undefined` when
 * another session of the database holds it. If the connection breaks during the work, the server
 * frees the lock early and the work continues.
 */
export async function runExclusively<T>(
  { connection, withinDeadline, name }: ExclusiveLock,
  work: () => Promise<T>,
): Promise<T | undefined> {
  const callLock = async (lockFunction: string): Promise<boolean> => {
    const rows: unknown[][] = await withinDeadline(
      connection.unsafe(`select ${lockFunction}(${KEY})`, [name]).values(),
    );
    return rows[0]?.[0] === true;
  };
  try {
    const held = await callLock('pg_try_advisory_lock').catch((error: unknown) => Promise.reject(toStoreError(error)));
    if (!held) return undefined;
    try {
      return await work();
    } finally {
      // Closing frees it as well, but a moment after the work has ended.
      await callLock('pg_advisory_unlock').catch(() => undefined);
    }
  } finally {
    await connection.close({ timeout: 0 });
  }
}
