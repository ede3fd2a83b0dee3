/** Databases of new-api: a copy of the sample that new-api itself has made, as it is or changed. */
import { Database } from 'bun:sqlite';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SQL } from 'bun';
import { TABLES } from '../../src/importing/new-api-mapping.ts';
import { temporaryFolder } from './temporary-folder.ts';

const SAMPLE = new URL('../fixtures/new-api-sample.db.gz', import.meta.url);

/** Passwords of the sample's accounts, and keys as people write them. */
export const SAMPLE_PASSWORDS = { root: 'Root-pass-0001', alice: 'Alice-pass-0001', frank: 'Frank-pass-0001' };
export const SAMPLE_KEYS = {
  alice: 'sk-p6dh4hQgqW43j5TY9eCU1RXg0hY6aQlIMtQbYY8yVdL2LqbH',
  expired: 'sk-cUBhEby2rB9EwgyDNDKmemmgEzZMcFwfzKZGcg218THncp1v',
  dave: 'sk-R6zuhFzhGh5MSXIivWGtviXUXH37ncjSeLqtYsCD2GZlErtI',
};
export const FRANKS_SECRET = 'U6U3O3GQNBEK3XLNBMOMQJBVLFAJUJT6';

/** The path of a fresh copy, after `statements`. */
export function sampleFile(...statements: string[]): string {
  const path = join(temporaryFolder(), 'one-api.db');
  writeFileSync(path, Bun.gunzipSync(readFileSync(SAMPLE)));
  const file = new Database(path);
  for (const statement of statements) file.run(statement);
  file.close();
  return path;
}

/**
 * Copies the tables that are read to a server, with the types that new-api's models have there:
 * JSON, times, truth values and padded texts as that database keeps them.
 */
export async function copySample(server: SQL, kind: 'postgres' | 'mysql', path = sampleFile()): Promise<void> {
  const quote = (name: string) => (kind === 'postgres' ? `"${name}"` : `\`${name}\``);
  const file = new Database(path, { readonly: true });
  for (const table of [
    ...Object.keys(TABLES),
    'tasks',
    'logs',
    'redemptions',
    'top_ups',
    'midjourneys',
    'user_subscriptions',
  ]) {
    const columns = file.query('select name, lower(type) as type from pragma_table_info(?)').all(table) as {
      name: string;
      type: string;
    }[];
    if (columns.length === 0) continue;
    const defined = columns.map(({ name, type }) => `${quote(name)} ${readType(kind, name, type)}`);
    await server.unsafe(`create table ${quote(table)} (${defined.join(', ')})`);
    const rows = file.query(`select * from "${table}"`).all() as Record<string, unknown>[];
    for (const row of rows) {
      const values = columns.map(({ name, type }) => literal(kind, row[name], type));
      await server.unsafe(`insert into ${quote(table)} values (${values.join(', ')})`);
    }
  }
  file.close();
}

function readType(kind: 'postgres' | 'mysql', name: string, type: string): string {
  if (name === 'access_token') return 'char(32)';
  if (type === 'integer' || type === 'bigint') return 'bigint';
  if (type === 'real') return kind === 'postgres' ? 'decimal' : 'double';
  if (type === 'numeric') return kind === 'postgres' ? 'boolean' : 'tinyint(1)';
  if (type === 'datetime') return kind === 'postgres' ? 'timestamptz' : 'datetime(3)';
  if (type === 'json') return 'json';
  return kind === 'postgres' ? 'text' : 'longtext';
}

function literal(kind: 'postgres' | 'mysql', value: unknown, type: string): string {
  if (value === null || value === undefined) return 'null';
  if (type === 'numeric')
    return kind === 'postgres' ? String(Number(value) === 1) : String(Number(value) === 1 ? 1 : 0);
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  const text = value instanceof Uint8Array ? Buffer.from(value).toString() : String(value);
  const time = type === 'datetime' && kind === 'mysql' ? text.slice(0, 19) : text;
  return `'${(kind === 'mysql' ? time.replaceAll('\\', '\\\\') : time).replaceAll("'", "''")}'`;
}
