import { Database as SqliteFile } from 'bun:sqlite';
import { join } from 'node:path';
import { SQL } from 'bun';

/** A test's own access to a database, below the store. */
export type Raw = {
  run(text: string): Promise<void>;
  rows(text: string): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
};

/** PostgreSQL when `databaseUrl` names it, otherwise the SQLite file in `dataDir`. */
export function openRaw({ databaseUrl, dataDir }: { databaseUrl: string; dataDir: string }): Raw {
  if (databaseUrl) {
    const sql = new SQL({ url: databaseUrl, max: 1 });
    return {
      run: async (text) => void (await sql.unsafe(text)),
      rows: async (text) => [...((await sql.unsafe(text)) as Record<string, unknown>[])],
      close: () => sql.close(),
    };
  }
  const file = new SqliteFile(join(dataDir, 'taskgate.db'), { create: true });
  file.run('pragma busy_timeout = 5000');
  return {
    async run(text) {
      file.run(text);
      // The store sees commits of others from the next turn of the event loop on.
      await new Promise((resolve) => setImmediate(resolve));
    },
    rows: async (text) => file.query(text).all() as Record<string, unknown>[],
    close: async () => file.close(),
  };
}

/** Runs one statement below the store. */
export async function runRaw(opened: { databaseUrl: string; dataDir: string }, text: string): Promise<void> {
  const raw = openRaw(opened);
  try {
    await raw.run(text);
  } finally {
    await raw.close();
  }
}

/** Marks a user as deleted. */
export const deleteUser = (opened: { databaseUrl: string; dataDir: string }, id: number): Promise<void> =>
  runRaw(opened, `update users set deleted_at = 5000 where id = ${id}`);
