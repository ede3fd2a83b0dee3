import type { SQL } from 'bun';
import { toStoreError } from '../errors.ts';

/** Away from the names that transactions lock. */
const KEY = `hashtextextended('exclusively ' || $1, 0)`;

/**
 * Runs `work` while `connection`, which is its own and is closed at the end, holds the advisory
 * lock of `name`; `undefined` when another session of the database holds it. Should the connection
 * break during the work, the server frees the lock early and the work goes on. `inTime` rejects
 * what is not answered soon: a connection may be cut without a word.
 */
export async function runExclusively<T>(
  connection: SQL,
  inTime: <R>(answer: Promise<R>) => Promise<R>,
  name: string,
  work: () => Promise<T>,
): Promise<T | undefined> {
  const ask = async (question: string): Promise<boolean> => {
    const rows: unknown[][] = await inTime(connection.unsafe(`select ${question}(${KEY})`, [name]).values());
    return rows[0]?.[0] === true;
  };
  try {
    const held = await ask('pg_try_advisory_lock').catch((error: unknown) => Promise.reject(toStoreError(error)));
    if (!held) return undefined;
    try {
      return await work();
    } finally {
      // Closing frees it as well, but a moment after the work has ended.
      await ask('pg_advisory_unlock').catch(() => undefined);
    }
  } finally {
    await connection.close({ timeout: 0 });
  }
}
