import { and, type Column, eq, inArray, isNotNull, sql, type Table } from 'drizzle-orm';
import { storeErrors } from '../../drivers/errors.ts';
import type { Existing, ImportStore } from '../../ports/index.ts';
import type { Context } from '../context.ts';

/** Rows of one statement: with the columns of a user, far below SQLite's 32,766 values. */
const ROWS_AT_ONCE = 200;

type Search = { values: readonly string[]; ignoresCase?: boolean };

export function createImportStore({ db, dialect, tables, statement, fold }: Context): ImportStore {
  const {
    importedRows,
    users,
    wallets,
    apiKeys,
    ledgerEntries,
    passkeys,
    twoFactor,
    externalIdentityClaims: claims,
  } = tables;

  /** The texts of `column` that are among `values`. */
  async function found(table: Table, column: Column, { values, ignoresCase = false }: Search): Promise<Set<string>> {
    const result = new Set<string>();
    const field = ignoresCase ? sql<string>`${fold(column)}` : sql<string>`${column}`;
    for (const some of chunks(values)) {
      const rows = await db
        .select({ value: field })
        .from(table as typeof users)
        .where(and(inArray(field, some), isNotNull(column)));
      for (const { value } of rows) result.add(value);
    }
    return result;
  }

  /** All rows or none: a row that is left out breaks the transaction. */
  async function insertAll<T extends object>(table: Table, rows: readonly T[], what: string): Promise<void> {
    for (const some of chunks(rows)) {
      const written = await db
        .insert(table as typeof users)
        .values(some as never)
        .onConflictDoNothing()
        .returning({ one: sql<number>`1` });
      if (written.length !== some.length) throw conflict(what);
    }
  }

  return {
    async targets(source, kind, ids) {
      const result = new Map<string, number>();
      for (const some of chunks(ids)) {
        const rows = await db
          .select({ sourceId: importedRows.sourceId, targetId: importedRows.targetId })
          .from(importedRows)
          .where(
            and(eq(importedRows.source, source), eq(importedRows.kind, kind), inArray(importedRows.sourceId, some)),
          );
        for (const { sourceId, targetId } of rows) result.set(sourceId, targetId);
      }
      return result;
    },

    remember: (source, kind, rows) =>
      insertAll(
        importedRows,
        rows.map((row) => ({ source, kind, ...row })),
        'a row was imported',
      ),

    async existing(values: Existing) {
      const identities = new Set<string>();
      for (const [provider, own] of Map.groupBy(values.identities, (identity) => identity.provider)) {
        for (const some of chunks(own.map(({ subject }) => subject))) {
          const rows = await db
            .select({ subject: claims.subject })
            .from(claims)
            .where(and(eq(claims.provider, provider), inArray(claims.subject, some)));
          for (const { subject } of rows) identities.add(`${provider}\n${subject}`);
        }
      }
      return {
        usernames: await found(users, users.username, { values: values.usernames, ignoresCase: true }),
        emails: await found(users, users.email, { values: values.emails, ignoresCase: true }),
        affCodes: await found(users, users.affCode, { values: values.affCodes }),
        keyHashes: await found(apiKeys, apiKeys.keyHash, { values: values.keyHashes }),
        credentialIds: await found(passkeys, passkeys.credentialId, { values: values.credentialIds }),
        identities,
      };
    },

    async lastUserId() {
      const query =
        dialect === 'sqlite'
          ? sql`select coalesce(max(seq), 0) from sqlite_sequence where name = 'users'`
          : sql`select coalesce(max(id), 0) from users`;
      return Number((await statement(query))[0]?.[0] ?? 0);
    },

    async reserveUserIds(last) {
      if (dialect === 'postgres') {
        await statement(
          sql`select setval(pg_get_serial_sequence('users', 'id'), greatest(${last}::bigint, (select coalesce(max(id), 1) from users)))`,
        );
        return;
      }
      await statement(sql`update sqlite_sequence set seq = max(seq, ${last}) where name = 'users'`);
      await statement(
        sql`insert into sqlite_sequence (name, seq) select 'users', ${last} where not exists (select 1 from sqlite_sequence where name = 'users')`,
      );
    },

    async addUsers(rows) {
      const ids = new Map<string, { userId: number; walletId: number }>();
      for (const some of chunks(rows)) {
        const written = await db
          .insert(users)
          .values(some.map(({ quota: _q, usedQuota: _u, requestCount: _r, ...user }) => user))
          .onConflictDoNothing()
          .returning({ id: users.id, username: users.username });
        if (written.length !== some.length) throw conflict('a username, affiliate code or id was taken');
        const userIds = new Map(written.map(({ id, username }) => [username, id]));
        const owned = some.map(({ username, quota, usedQuota, requestCount, createdAt }) => ({
          ...{ userId: userIds.get(username), quota, usedQuota, requestCount, createdAt },
        }));
        const walletIds = new Map(
          (await db.insert(wallets).values(owned).returning({ id: wallets.id, userId: wallets.userId })).map(
            ({ id, userId }) => [userId, id],
          ),
        );
        for (const { id, username } of written) ids.set(username, { userId: id, walletId: walletIds.get(id) ?? 0 });
      }
      return ids;
    },

    addLines: (lines) =>
      insertAll(
        ledgerEntries,
        lines.map((line) => ({
          ...line,
          apiKeyId: null,
          taskId: null,
          kind: line.amount < 0 ? 'adjust' : 'grant',
          attempt: 0,
        })),
        'a balance was imported',
      ),
    addKeys: (rows) => insertAll(apiKeys, rows, 'an API key was added'),
    addIdentities: (rows) => insertAll(claims, rows, 'an identity was bound'),
    addFactors: (rows) =>
      insertAll(
        twoFactor,
        rows.map((row) => ({ ...row, enabled: true })),
        'a second factor was set up',
      ),
    addPasskeys: (rows) => insertAll(passkeys, rows, 'a passkey was added'),

    async setInviters(rows) {
      for (const { userId, inviterId } of rows) await db.update(users).set({ inviterId }).where(eq(users.id, userId));
    },
  };
}

const conflict = (what: string) =>
  storeErrors.broken_invariant({
    message: `While the import ran, ${what} by somebody else. Nothing of this step is written: run it again.`,
  });

function* chunks<T>(rows: readonly T[]): Generator<T[]> {
  for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) yield rows.slice(from, from + ROWS_AT_ONCE);
}
