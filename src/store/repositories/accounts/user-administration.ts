import { and, asc, desc, eq, gt, inArray, lt, ne, or, type SQL, sql } from 'drizzle-orm';
import { DELETED, ROLE, STATUS, type UserFilter, type UserStore } from '../../ports/index.ts';
import type { Tables } from '../../schema/index.ts';
import { type Context, containsText } from '../context.ts';
import { createPages } from '../prepare-by-shape.ts';

type Administration = Pick<UserStore, 'lock' | 'administer' | 'softDelete' | 'adminById' | 'search'>;

/** Changes that administrators make to users, and reads that include deleted ones. */
export function createUserAdministration(context: Context): Administration {
  const { db, tables, statement, lockRows, fold } = context;
  const { users, wallets } = tables;
  const columns = adminColumns(tables);
  const isTheirs = isOwnWallet(tables);
  const isPresent = eq(users.deletedAt, 0);
  const isUnchanged = (id: number, expectedAuthVersion: number) =>
    and(eq(users.id, id), eq(users.authVersion, expectedAuthVersion), isPresent);
  // Checked in the statement, whatever its callers have read before: root keeps role and status.
  const isNotRoot = ne(users.role, ROLE.root);
  const nextVersion = sql`${users.authVersion} + 1`;

  return {
    async lock(ids) {
      const among = inArray(users.id, [...ids]);
      // Always in the same order, so that two transactions cannot deadlock.
      await statement(sql`select id from ${users} where ${among} order by id ${lockRows}`);
      return db
        .select(userColumns(tables))
        .from(users)
        .innerJoin(wallets, isTheirs)
        .where(and(among, isPresent))
        .orderBy(asc(users.id));
    },

    async administer(id, { role, status, passwordHash }, expectedAuthVersion) {
      const sparesRoot = role !== undefined || status === STATUS.disabled ? isNotRoot : undefined;
      const changed = await db
        .update(users)
        .set({ role, status, passwordHash, authVersion: nextVersion })
        .where(and(isUnchanged(id, expectedAuthVersion), sparesRoot))
        .returning({ id: users.id });
      return changed.length === 1;
    },

    async softDelete(id, expectedAuthVersion, at) {
      const deleted = await db
        .update(users)
        .set({
          username: `deleted:${id}`,
          displayName: '',
          remark: '',
          language: '',
          email: null,
          passwordHash: null,
          accessToken: null,
          accessTokenPrefix: '',
          accessTokenCreatedAt: 0,
          affCode: null,
          telegramId: null,
          githubId: null,
          discordId: null,
          oidcId: null,
          linuxDoId: null,
          wechatId: null,
          status: STATUS.disabled,
          deletedAt: at,
          authVersion: nextVersion,
        })
        .where(and(isUnchanged(id, expectedAuthVersion), isNotRoot))
        .returning({ id: users.id });
      return deleted.length === 1;
    },

    async adminById(id) {
      const [row] = await db.select(columns).from(users).innerJoin(wallets, isTheirs).where(eq(users.id, id));
      return row;
    },

    search: (filter, page) => createPages(context, selectUsers)(filter, page),
  };

  /** The keyword stands in the text itself, since the number of its spellings differs. */
  function selectUsers({ keyword = '', status, sortBy = 'id', order = 'asc', group, role, beyondId }: UserFilter) {
    const isBeyond = order === 'asc' ? gt : lt;
    const matches = and(
      keyword === '' ? undefined : containsKeyword(keyword),
      group === undefined ? undefined : eq(users.group, group),
      role === undefined ? undefined : eq(users.role, role),
      ofStatus(status),
      beyondId === undefined ? undefined : isBeyond(users.id, beyondId),
    );
    const direction = order === 'asc' ? asc : desc;
    const sorting = sortBy === 'username' ? fold(users.username) : sortBy === 'quota' ? wallets.quota : users[sortBy];
    return {
      from: users,
      where: matches,
      items: db
        .select(columns)
        .from(users)
        .innerJoin(wallets, isTheirs)
        .where(matches)
        .orderBy(direction(sorting), direction(users.id)),
    };
  }

  function ofStatus(status: UserFilter['status']): SQL | undefined {
    if (status === undefined) return undefined;
    return status === DELETED ? ne(users.deletedAt, 0) : and(eq(users.status, status), isPresent);
  }

  function containsKeyword(keyword: string): SQL | undefined {
    return or(
      /^\d{1,15}$/.test(keyword) ? eq(users.id, Number(keyword)) : undefined,
      ...[users.username, users.displayName, users.email].map((column) => containsText(context, column, keyword)),
    );
  }
}

/**
 * The columns of a user record, without credentials of other kinds. Join `wallets` by
 * `isOwnWallet`.
 */
export const userColumns = ({ users, wallets }: Tables) => ({
  id: users.id,
  username: users.username,
  displayName: users.displayName,
  passwordHash: users.passwordHash,
  role: users.role,
  status: users.status,
  email: users.email,
  group: users.group,
  walletId: wallets.id,
  quota: wallets.quota,
  usedQuota: wallets.usedQuota,
  requestCount: wallets.requestCount,
  language: users.language,
  authVersion: users.authVersion,
  linkVersion: users.linkVersion,
  budget: users.budget,
  requestsPerMinute: users.requestsPerMinute,
  maxRunning: users.maxRunning,
  createdAt: users.createdAt,
  lastLoginAt: users.lastLoginAt,
});

/** A condition: the wallet is the user's own. */
export const isOwnWallet = ({ users, wallets }: Tables): SQL => eq(wallets.userId, users.id);

/** The columns of the record that administrators see. */
const adminColumns = (tables: Tables) => ({
  ...userColumns(tables),
  remark: tables.users.remark,
  inviterId: tables.users.inviterId,
  hasAccessToken: sql<boolean>`${tables.users.accessToken} is not null`.mapWith(Boolean),
  deletedAt: tables.users.deletedAt,
});
