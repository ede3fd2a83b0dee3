/**
 * The gateway's database behind its back: what an administrator could not do over HTTP, or cannot
 * yet.
 */
import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { SQL } from 'bun';
import { LONGEST_LEASE_MS } from '../../src/store/ports/tasks.ts';
import { cheapHash, PASSWORD } from './cheap-hash.ts';
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

/** The statement that inserts a user with `PASSWORD` and gives their id. */
export const insertUserSql = (username: string, role = 1): string =>
  `insert into users (username, display_name, password_hash, role, status, language, created_at)
   values ('${username}', '${username}', '${cheapHash(PASSWORD)}', ${role}, 1, 'en', ${Math.floor(Date.now() / 1000)})
   returning id`;

/** The statement that gives a wallet to users who were inserted without one. */
export const GIVE_WALLETS = `insert into wallets (user_id, created_at) select id, created_at from users
  where id not in (select user_id from wallets where user_id is not null)`;

/**
 * A `lease_until` that keeps the loops of a gateway away from a task for long; a lease further
 * ahead counts as over.
 */
export const farLeaseMs = (): number => Date.now() + LONGEST_LEASE_MS - 60_000;

/** Inserts a user with `PASSWORD`; gives their id. */
export async function insertUser(db: Backdoor, username: string): Promise<number> {
  const [row] = await db.run(insertUserSql(username));
  await db.run(GIVE_WALLETS);
  return Number(row?.id);
}
