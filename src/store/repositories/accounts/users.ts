import { and, asc, eq, getTableColumns, inArray, isNotNull, or, sql } from 'drizzle-orm';
import { STATUS, type UserStore } from '../../ports/index.ts';
import { atomic, type Context, isEmpty, lazy } from '../context.ts';
import { columnPlaceholder, columnPlaceholders, countAll, lazyByShape } from '../prepare-by-shape.ts';
import { createUserAdministration, isOwnWallet, userColumns } from './user-administration.ts';

export function createUserStore(context: Context): UserStore {
  const { db, tables, lockName, prepare, fold, lookUp } = context;
  const { users, wallets, externalIdentityClaims: claims } = tables;
  const columns = userColumns(tables);
  // A deleted user's row stays for the ledger; every method here ignores it.
  const isPresent = eq(users.deletedAt, 0);
  // Serializes claims of the same name: a unique index that refuses would abort the transaction.
  const lockUsername = (username: string) => lockName(`user name ${username.toLowerCase()}`);
  const byId = lazy(() =>
    db
      .select(columns)
      .from(users)
      .innerJoin(wallets, isOwnWallet(tables))
      .where(and(eq(users.id, sql.placeholder('id')), isPresent))
      .prepare(),
  );
  const at = sql.placeholder;
  const byNameOrAddress = lazy(() => {
    const isName = sql`${fold(users.username)} = ${fold(at('login'))}`;
    const ownsAddress = sql`exists (select 1 from ${claims} where ${claims.provider} = 'email' and ${claims.subject} = ${fold(at('login'))} and ${claims.userId} = ${users.id})`;
    const isAddress = and(sql`${fold(users.email)} = ${fold(at('login'))}`, isNotNull(users.email));
    return (
      db
        .select(columns)
        .from(users)
        .innerJoin(wallets, isOwnWallet(tables))
        .where(and(or(isName, isAddress), isPresent))
        // A name takes precedence over another user's address. In an old database two users may
        // share an address: then its owner.
        .orderBy(sql`case when ${isName} then 0 when ${ownsAddress} then 1 else 2 end`, asc(users.id))
        .limit(1)
        .prepare()
    );
  });
  const recordSignIn = lazy(() =>
    db
      .update(users)
      .set({ lastLoginAt: columnPlaceholder('at', users.lastLoginAt) })
      .where(eq(users.id, at('id')))
      .prepare(),
  );
  const signInMethods = lookUp((isSought) => {
    const isOwn = isSought(sql`user_id`);
    const find = prepare(sql`
      select user_id, 'two_factor', '', '' from two_factor where ${isOwn} and enabled
      union all select user_id, 'passkey', '', '' from passkeys where ${isOwn}
      union all select user_id, 'identity', provider, subject from external_identity_claims where ${isOwn}`);
    return {
      execute: async (values) =>
        (await find(values)).map(([sought, kind, provider, subject]) => ({
          ...{ sought: Number(sought), kind: String(kind) },
          ...{ provider: String(provider), subject: String(subject) },
        })),
    };
  }, 'bigint');
  const byAccessToken = lazy(() =>
    db
      .select(columns)
      .from(users)
      .innerJoin(wallets, isOwnWallet(tables))
      .where(and(eq(users.accessToken, sql.placeholder('hash')), isPresent))
      .prepare(),
  );

  const update = lazyByShape((change: Parameters<UserStore['update']>[1]) => {
    const isNameFree =
      change.username === undefined
        ? undefined
        : sql`not exists (select 1 from ${users} as other where ${fold(sql`other.username`)} = ${fold(at('username'))} and other.id <> ${at('ownId')})`;
    return db
      .update(users)
      .set(columnPlaceholders(getTableColumns(users), change))
      .where(and(eq(users.id, at('ownId')), isNameFree, isPresent))
      .returning({ id: users.id })
      .prepare();
  });
  const isVersion = and(eq(users.id, at('id')), eq(users.authVersion, at('expectedAuthVersion')), isPresent);
  const setPassword = lazy(() =>
    db
      .update(users)
      .set({
        passwordHash: columnPlaceholder('passwordHash', users.passwordHash),
        authVersion: sql`${users.authVersion} + 1`,
      })
      .where(isVersion)
      .returning({ id: users.id })
      .prepare(),
  );
  const moveAuthVersion = lazy(() =>
    db
      .update(users)
      .set({ authVersion: sql`${users.authVersion} + 1` })
      .where(isVersion)
      .returning({ id: users.id })
      .prepare(),
  );
  const countByRole = lazy(() =>
    db
      .select({ total: countAll() })
      .from(users)
      .where(and(sql`${users.role} = ${at('role')}`, isPresent))
      .prepare(),
  );
  const selectAccessToken = lazy(() =>
    db
      .select({ prefix: users.accessTokenPrefix, createdAt: users.accessTokenCreatedAt })
      .from(users)
      .where(and(eq(users.id, at('id')), isNotNull(users.accessToken), isPresent))
      .prepare(),
  );

  return {
    ...createUserAdministration(context),

    insert: atomic(async (user) => {
      await lockUsername(user.username);
      if (user.affCode !== undefined) await lockName(`affiliate code ${user.affCode}`);
      const [row] = await db.insert(users).values(user).onConflictDoNothing().returning({ id: users.id });
      if (!row) return undefined;
      await db.insert(wallets).values({ userId: row.id, createdAt: user.createdAt });
      return (await byId().execute({ id: row.id }))[0];
    }),

    async byId(id) {
      const [row] = await byId().execute({ id });
      return row;
    },

    async byNameOrAddress(login) {
      const [row] = await byNameOrAddress().execute({ login });
      return row;
    },

    async signInMethods(id) {
      const rows = await signInMethods(id);
      return {
        twoFactor: rows.some(({ kind }) => kind === 'two_factor'),
        passkeys: rows.filter(({ kind }) => kind === 'passkey').length,
        identities: rows
          .flatMap(({ kind, provider, subject }) => (kind === 'identity' ? [{ provider, subject }] : []))
          .sort((a, b) => (a.provider < b.provider ? -1 : 1)),
      };
    },

    async countByRole(role) {
      const [row] = await countByRole().execute({ role });
      return row?.total ?? 0;
    },

    update: atomic(async (id, change) => {
      const { username } = change;
      if (username !== undefined) await lockUsername(username);
      const [changed] = isEmpty(change) ? [] : await update(change).execute({ ...change, ownId: id });
      const [user] = await byId().execute({ id });
      return user && !changed && !isEmpty(change) ? 'name_taken' : user;
    }),

    async setPassword(id, passwordHash, expectedAuthVersion) {
      return (await setPassword().execute({ id, passwordHash, expectedAuthVersion })).length === 1;
    },

    async replaceHash(id, before, after) {
      const replaced = await db
        .update(users)
        .set({ passwordHash: after })
        .where(and(eq(users.id, id), eq(users.passwordHash, before), isPresent))
        .returning({ id: users.id });
      return replaced.length === 1;
    },

    async moveAuthVersion(id, expectedAuthVersion) {
      return (await moveAuthVersion().execute({ id, expectedAuthVersion })).length === 1;
    },

    async moveLinkVersion(id) {
      const moved = await db
        .update(users)
        .set({ linkVersion: sql`${users.linkVersion} + 1` })
        .where(and(eq(users.id, id), isPresent))
        .returning({ id: users.id });
      return moved.length === 1;
    },

    async recordSignIn(id, time) {
      await recordSignIn().execute({ id, at: time });
    },

    async usableTokens(hashes) {
      const rows = await db
        .select({ hash: users.accessToken, role: users.role })
        .from(users)
        .where(and(inArray(users.accessToken, [...hashes]), eq(users.status, STATUS.enabled), isPresent));
      return rows.flatMap(({ hash, role }) => (hash === null ? [] : { hash, role }));
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

    async findAccessToken(id) {
      const [row] = await selectAccessToken().execute({ id });
      return row;
    },

    async byAffCode(affCode) {
      const [row] = await db
        .select(columns)
        .from(users)
        .innerJoin(wallets, isOwnWallet(tables))
        .where(and(eq(users.affCode, affCode), isPresent));
      return row;
    },

    ensureAffCode: atomic(async (id, affCode) => {
      await lockName(`affiliate code ${affCode}`);
      const isFree = sql`not exists (select 1 from ${users} as other where other.aff_code = ${affCode})`;
      const [row] = await db
        .update(users)
        .set({ affCode: sql`coalesce(${users.affCode}, ${affCode})` })
        .where(and(eq(users.id, id), or(isNotNull(users.affCode), isFree), isPresent))
        .returning({ affCode: users.affCode });
      return row?.affCode ?? undefined;
    }),

    async countInvited(id) {
      const [row] = await db
        .select({ total: countAll() })
        .from(users)
        // Repeats the condition of the partial index, which holds invited users only.
        .where(and(eq(users.inviterId, id), sql`${users.inviterId} <> 0`));
      return row?.total ?? 0;
    },
  };
}
