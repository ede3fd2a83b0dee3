import { type ReservedSQL, SQL } from 'bun';
import { readDatabaseName } from '../postgres/postgres-address.ts';
import type { SourceDatabase, SourceDialect } from './read-rows.ts';
import { createSource } from './read-rows.ts';

const CONNECT_TIMEOUT_S = 10;

const POSTGRES: SourceDialect = {
  kind: 'postgres',
  quote: (name) => `"${name}"`,
  asText: (column) => `${column}::text`,
  measureBytes: (column) => `octet_length(${column}::text)`,
};

const MYSQL: SourceDialect = {
  kind: 'mysql',
  quote: (name) => `\`${name}\``,
  asText: (column) => `cast(${column} as char)`,
  measureBytes: (column) => `octet_length(${column})`,
};

/** One read-only transaction of one connection. */
const BEGIN = {
  postgres: ['begin isolation level repeatable read read only'],
  mysql: [
    'set session transaction isolation level repeatable read',
    'start transaction with consistent snapshot, read only',
  ],
};

/** Opens a database of a PostgreSQL or MySQL server, read-only, at one moment. */
export async function openServerSource(url: string, kind: 'postgres' | 'mysql'): Promise<SourceDatabase> {
  const dialect = kind === 'postgres' ? POSTGRES : MYSQL;
  const server = new SQL({
    url,
    database: readDatabaseName(url),
    adapter: kind,
    max: 1,
    connectionTimeout: CONNECT_TIMEOUT_S,
  });
  let connection: ReservedSQL | undefined;
  const close = async () => {
    connection?.release();
    await server.close({ timeout: 1 });
  };
  try {
    connection = await server.reserve();
    const reserved = connection;
    for (const statement of BEGIN[kind]) await reserved.unsafe(statement);
    const schema = kind === 'postgres' ? 'current_schema()' : 'database()';
    return createSource(dialect, {
      run: async (text) => [...((await reserved.unsafe(text)) as Record<string, unknown>[])],
      async listColumns(table) {
        const names = (await reserved.unsafe(
          `select column_name as name from information_schema.columns where table_schema = ${schema} and table_name = '${table}'`,
        )) as { name: string }[];
        return names.map(({ name }) => name);
      },
      close,
    });
  } catch (error) {
    await close();
    throw error;
  }
}
