import { and, asc, eq, type SQL, sql } from 'drizzle-orm';
import type { OptionStore, SealedColumn, SealedStore } from '../../ports/index.ts';
import type { Context } from '../context.ts';

export function createOptionStore({ db, tables: { options } }: Context): OptionStore {
  return {
    all: async () => db.select().from(options).orderBy(asc(options.key)),

    async get(key) {
      const [row] = await db.select({ value: options.value }).from(options).where(eq(options.key, key));
      return row?.value;
    },

    async put(key, value) {
      await db.insert(options).values({ key, value }).onConflictDoUpdate({ target: options.key, set: { value } });
    },

    async putIfAbsent(key, value) {
      const written = await db
        .insert(options)
        .values({ key, value })
        .onConflictDoNothing()
        .returning({ key: options.key });
      return written.length === 1;
    },

    async replace(key, before, value) {
      const written = await db
        .update(options)
        .set({ value })
        .where(and(eq(options.key, key), eq(options.value, before)))
        .returning({ key: options.key });
      return written.length === 1;
    },
  };
}

type Location = { table: SQL; key: SQL; column: SQL; isNumber: boolean };

const numbered = (table: string, key: string, column: string): Location => ({
  table: sql.raw(table),
  key: sql.raw(key),
  column: sql.raw(column),
  isNumber: true,
});

const LOCATIONS: Readonly<Record<SealedColumn, Location>> = {
  'credentials.key_sealed': numbered('credentials', 'id', 'key_sealed'),
  'channels.settings': numbered('channels', 'id', 'settings'),
  'channels.proxy_sealed': numbered('channels', 'id', 'proxy_sealed'),
  'channels.headers_sealed': numbered('channels', 'id', 'headers_sealed'),
  'oauth_providers.client_secret_sealed': numbered('oauth_providers', 'id', 'client_secret_sealed'),
  'two_factor.secret_sealed': numbered('two_factor', 'user_id', 'secret_sealed'),
  'api_keys.webhook_secret_sealed': numbered('api_keys', 'id', 'webhook_secret_sealed'),
  'api_keys.webhook_formers': numbered('api_keys', 'id', 'webhook_formers'),
  'balance_alerts.webhook_secret_sealed': numbered('balance_alerts', 'user_id', 'webhook_secret_sealed'),
  'options.value': { table: sql.raw('options'), key: sql.raw('key'), column: sql.raw('value'), isNumber: false },
};

export function createSealedStore({ statement }: Context): SealedStore {
  return {
    async page(name, after, limit) {
      const { table, key, column, isNumber } = LOCATIONS[name];
      const from = isNumber ? sql`${Number(after)}` : sql`${after}`;
      const start = after === '' ? sql`` : sql`and ${key} > ${from}`;
      const rows = await statement(
        sql`select ${key}, ${column} from ${table} where ${column} like '%v1.%' ${start} order by ${key} limit ${limit}`,
      );
      return rows.map(([id, text]) => ({ id: String(id), text: String(text) }));
    },

    async replace(name, { id, text }, before) {
      const { table, key, column, isNumber } = LOCATIONS[name];
      const row = isNumber ? sql`${Number(id)}` : sql`${id}`;
      const written = await statement(
        sql`update ${table} set ${column} = ${text} where ${key} = ${row} and ${column} = ${before} returning 1`,
      );
      return written.length === 1;
    },
  };
}
