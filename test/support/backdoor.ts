/**
 * The gateway's database behind its back: what an administrator could not do over HTTP, or cannot
 * yet.
 */
import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { SQL } from 'bun';
import type { Gateway } from './gateway.ts';

export type Backdoor = {
  /** One statement without parameters; gives its rows. */
  run(statement: string): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
};

export function openBackdoor({ dataDir, databaseUrl }: Pick<Gateway, 'dataDir' | 'databaseUrl'>): Backdoor {
  if (databaseUrl !== '') {
    const sql = new SQL(databaseUrl, { max: 1 });
    return {
      run: async (statement) => [...(await sql.unsafe(statement))] as Record<string, unknown>[],
      close: () => sql.close(),
    };
  }
  const database = new Database(join(dataDir, 'taskgate.db'));
  database.run('PRAGMA busy_timeout = 60000');
  return {
    run: async (statement) => database.query(statement).all() as Record<string, unknown>[],
    close: async () => database.close(),
  };
}
