import { Database as SqliteFile } from 'bun:sqlite';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { migrations } from '../../migrations/index.ts';
import { sha256Hex, silentLogger, systemClock } from '../../src/kernel/index.ts';
import type { openStore } from '../../src/store/index.ts';
import { testDatabaseUrl } from '../support/postgres.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

export type Setup = Parameters<typeof openStore>[0];

/** ConcurrencyLimit for databases, and a function that takes them away. */
export function createConcurrencyLimit() {
  const folders: string[] = [];
  return {
    async setUp(dialect: 'sqlite' | 'postgres'): Promise<Setup> {
      const dataDir = temporaryFolder();
      folders.push(dataDir);
      const databaseUrl = dialect === 'postgres' ? await testDatabaseUrl() : '';
      return { databaseUrl, dataDir, synchronous: 'NORMAL', clock: systemClock, logger: silentLogger };
    },
    clear(): void {
      for (const folder of folders) rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * The layout of the first `upTo` migrations with `extra` done to it, as an older program left it.
 */
export async function anOldDatabase({ databaseUrl, dataDir }: Setup, upTo: number, extra: string[]): Promise<void> {
  const dialect = databaseUrl ? 'postgres' : 'sqlite';
  const applied = migrations.slice(0, upTo);
  const texts = [
    ...applied.map(({ sql }) => sql[dialect]),
    'create table schema_migrations (number integer primary key not null, name text not null, applied_at bigint not null)',
    ...applied.map(({ number, name }) => `insert into schema_migrations values (${number}, '${name}', 1)`),
    ...extra,
  ];
  if (databaseUrl) {
    const sql = new SQL({ url: databaseUrl, max: 1 });
    for (const text of texts) await sql.unsafe(text);
    await sql.close();
    return;
  }
  const file = new SqliteFile(join(dataDir, 'taskgate.db'), { create: true });
  file.function('sha256_hex', (text: unknown) => sha256Hex(String(text)));
  for (const text of texts) file.run(text);
  file.close();
}

/** A row of `users` in the layout of `0001`, active and made at 77. */
export function addOldUser(name: string, more: Record<string, string> = {}): string {
  const columns = ['username', 'role', 'status', 'created_at', ...Object.keys(more)].join(', ');
  const values = [`'${name}'`, '1', '1', '77', ...Object.values(more).map((value) => `'${value}'`)].join(', ');
  return `insert into users (${columns}) values (${values})`;
}
