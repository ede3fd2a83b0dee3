import { Database } from 'bun:sqlite';
import type { SourceDatabase, SourceDialect } from './read-rows.ts';
import { createSource } from './read-rows.ts';

const DIALECT: SourceDialect = {
  kind: 'sqlite',
  quote: (name) => `"${name}"`,
  asText: (column) => `cast(${column} as text)`,
  measureBytes: (column) => `length(cast(${column} as blob))`,
};

/** Opens a file for reading. A program that is using it may go on writing. */
export async function openSqliteSource(path: string): Promise<SourceDatabase> {
  const file = new Database(path, { readonly: true });
  try {
    file.run('pragma query_only = on');
    file.run('pragma busy_timeout = 5000');
    // What the file's schema holds besides tables calls no function of this process.
    file.run('pragma trusted_schema = off');
    // The first read fixes the state that all later ones see.
    file.run('begin');
    file.query('select count(*) from sqlite_master').get();
  } catch (error) {
    file.close();
    throw error;
  }
  return createSource(DIALECT, {
    run: async (text) => file.prepare(text).all() as Record<string, unknown>[],
    columnsOf: async (table) =>
      (
        file
          .query(
            // No view and no virtual table: reading one runs what the file's author wrote.
            `select info.name from pragma_table_list as list, pragma_table_info(list.name) as info
              where list.schema = 'main' and list.type = 'table' and list.name = ?`,
          )
          .all(table) as { name: string }[]
      ).map(({ name }) => name),
    close: async () => file.close(),
  });
}
