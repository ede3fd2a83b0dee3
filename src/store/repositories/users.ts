import { and, asc, eq, isNotNull, or, sql } from 'drizzle-orm';
import type { UserStore } from '../ports/index.ts';
import type { Tables } from '../schema/index.ts';
import { type Context, countAll, lazy, paged } from './context.ts';

/** The columns of a user record: credentials of other kinds stay in the table. */
export const userColumns = ({ users }: Tables) => ({
  id: users.id,
  username: users.username,
  displayName: users.displayName,
  passwordHash: users.passwordHash,
  role: users.role,
  status: users.status,
  email: users.email,
  group: users.group,
  quota: users.quota,
  usedQuota: users.usedQuota,
  requestCount: users.requestCount,
  language: users.language,
  authVersion: users.authVersion,
  createdAt: users.createdAt,
  lastLoginAt: users.lastLoginAt,
});

export function createUserStore({ db, tables }: Context): UserStore {
  const { users } = tables;
  const columns = userColumns(tables);
  // A deleted user's row stays for the ledger and is nobody to everything here.
  const isPresent = eq(users.deletedAt, 0);
  const byId = lazy(() =>
    db
      .select(columns)
      .from(users)
      .where(and(eq(users.id, sql.placeholder('id')), isPresent))
      .prepare(),
  );
  const byAccessToken = lazy(() =>
    db
      .select(columns)
      .from(users)
      .where(and(eq(users.accessToken, sql.placeholder('hash')), isPresent))
      .prepare(),
  );

  return {
    async insert(user) {
      const [row] = await db.insert(users).values(user).onConflictDoNothing().returning(columns);
      return row;
    },

    async byId(id) {
      const [row] = await byId().execute({ id });
      return row;
    },

    async byLogin(login) {
      const isName = sql`lower(${users.username}) = lower(${login})`;
      const [row] = await db
        .select(columns)
        .from(users)
        .where(and(or(isName, sql`lower(${users.email}) = lower(${login})`), isPresent))
        // A name wins over another user's address; the earlier of two users with one address.
        .orderBy(sql`case when ${isName} then 0 else 1 end`, asc(users.id))
        .limit(1);
      return row;
    },

    async countByRole(role) {
      const [row] = await db
        .select({ total: countAll() })
        .from(users)
        .where(and(sql`${users.role} = ${role}`, isPresent));
      return row?.total ?? 0;
    },

    async setPassword(id, passwordHash, expectedAuthVersion) {
      const changed = await db
        .update(users)
        .set({ passwordHash, authVersion: sql`${users.authVersion} + 1` })
        .where(and(eq(users.id, id), eq(users.authVersion, expectedAuthVersion), isPresent))
        .returning({ id: users.id });
      return changed.length === 1;
    },

    async moveAuthVersion(id, expectedAuthVersion) {
      const moved = await db
        .update(users)
        .set({ authVersion: sql`${users.authVersion} + 1` })
        .where(and(eq(users.id, id), eq(users.authVersion, expectedAuthVersion), isPresent))
        .returning({ id: users.id });
      return moved.length === 1;
    },

    async touchLogin(id, at) {
      await db.update(users).set({ lastLoginAt: at }).where(eq(users.id, id));
    },

    async byAccessToken(hash) {
      const [row] = await byAccessToken().execute({ hash });
      return row;
    },

    async setAccessToken(id, token) {
      const changed = await db
        .update(users)
        .set({
          accessToken: token?.hash ?? null,
          accessTokenPrefix: token?.prefix ?? '',
          accessTokenCreatedAt: token?.createdAt ?? 0,
        })
        .where(and(eq(users.id, id), isPresent))
        .returning({ id: users.id });
      return changed.length === 1;
    },

    async accessTokenOf(id) {
      const [row] = await db
        .select({ prefix: users.accessTokenPrefix, createdAt: users.accessTokenCreatedAt })
        .from(users)
        .where(and(eq(users.id, id), isNotNull(users.accessToken), isPresent));
      return row;
    },

    list(page, query) {
      const pattern = query ? `%${escapeLike(query.toLowerCase())}%` : undefined;
      const matches = pattern
        ? sql`(lower(${users.username}) like ${pattern} escape '!' or lower(${users.displayName}) like ${pattern} escape '!' or lower(${users.email}) like ${pattern} escape '!')`
        : undefined;
      const filter = and(matches, isPresent);
      return paged(page, db.select({ total: countAll() }).from(users).where(filter), (limit, offset) =>
        db.select(columns).from(users).where(filter).orderBy(asc(users.id)).limit(limit).offset(offset),
      );
    },
  };
}

/** `text` for a `like … escape '!'` pattern that finds it literally. */
export const escapeLike = (text: string): string => text.replace(/[!%_]/g, '!$&');
