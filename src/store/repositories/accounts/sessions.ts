import { and, desc, eq, getTableColumns, gt, inArray, lt, lte, ne, or, type SQL, sql } from 'drizzle-orm';
import { type SessionRecord, type SessionStore, STATUS } from '../../ports/index.ts';
import { type Context, encodeTexts, isAheadSince, lazy } from '../context.ts';
import { columnPlaceholder, columnPlaceholders, countAll } from '../prepare-by-shape.ts';
import { isOwnWallet, userColumns } from './user-administration.ts';

export function createSessionStore({
  db,
  tables,
  lookUp,
  now,
  lists: { amongRows, amongTexts },
}: Context): SessionStore {
  const { userSessions: sessions, users, wallets } = tables;
  const at = sql.placeholder;
  const isActive = eq(sessions.status, sql.raw(`'active'`));
  const isAhead = isAheadSince(sessions.expiresAt, sessions.createdAt);
  const isUsed = gt(sessions.lastActiveAt, at('usedAfter'));
  // The plus excludes the index of creation times: nearly all sessions are older.
  const notIssuedAfter = (time: number) => sql`+${sessions.createdAt} <= ${time}`;
  const isRevoked = eq(sessions.status, sql.raw(`'revoked'`));

  const bySid = lookUp((isSought) =>
    db
      .select({ sought: sessions.sid, row: getTableColumns(sessions) })
      .from(sessions)
      .where(isSought(sessions.sid))
      .prepare(),
  );
  const withUser = lookUp((isSought) =>
    db
      .select({ sought: sessions.sid, session: getTableColumns(sessions), user: userColumns(tables) })
      .from(sessions)
      .innerJoin(users, and(eq(users.id, sessions.userId), eq(users.deletedAt, 0)))
      .innerJoin(wallets, isOwnWallet(tables))
      .where(isSought(sessions.sid))
      .prepare(),
  );
  const insert = lazy(() =>
    db
      .insert(sessions)
      .values(columnPlaceholders(getTableColumns(sessions)))
      .prepare(),
  );
  const countActive = lazy(() =>
    db
      .select({ total: countAll() })
      .from(sessions)
      .where(and(eq(sessions.userId, at('userId')), isActive, isAhead, isUsed))
      .prepare(),
  );
  const countIssued = lazy(() =>
    db
      .select({ total: countAll() })
      .from(sessions)
      .where(
        and(
          eq(sessions.userId, at('userId')),
          gt(sessions.createdAt, at('since')),
          lte(sessions.createdAt, at('until')),
        ),
      )
      .prepare(),
  );
  const touch = lazy(() =>
    db
      .update(sessions)
      .set({ lastActiveAt: columnPlaceholder('now', sessions.lastActiveAt) })
      .where(and(eq(sessions.sid, at('sid')), isActive, lt(sessions.lastActiveAt, at('now'))))
      .prepare(),
  );
  const revoke = lazy(() =>
    db
      .update(sessions)
      .set({
        status: sql`'revoked'`,
        revokedAt: columnPlaceholder('now', sessions.revokedAt),
        revokedReason: columnPlaceholder('reason', sessions.revokedReason),
      })
      .where(and(eq(sessions.sid, at('sid')), isActive))
      .returning({ sid: sessions.sid })
      .prepare(),
  );
  const ofAddress = lazy(() =>
    db
      .select({
        sid: sessions.sid,
        ip: sessions.ip,
        addressKey: sessions.addressKey,
        userAgent: sessions.userAgent,
      })
      .from(sessions)
      .where(and(eq(sessions.userId, at('userId')), inArray(sessions.addressKey, [at('addressKey'), ''])))
      .orderBy(desc(sessions.createdAt))
      .limit(at('limit'))
      .prepare(),
  );
  const active = lazy(() =>
    db
      .select({ sid: sessions.sid, expiresAt: sessions.expiresAt })
      .from(sessions)
      .where(and(eq(sessions.userId, at('userId')), isActive, isAhead))
      .prepare(),
  );
  const list = lazy(() =>
    db
      .select()
      .from(sessions)
      .where(
        and(
          eq(sessions.userId, at('userId')),
          ...[isActive, isAhead, isUsed, eq(sessions.userAuthVersion, at('authVersion'))],
        ),
      )
      .orderBy(desc(sessions.lastActiveAt), desc(sessions.createdAt), sessions.sid)
      .limit(at('limit'))
      .prepare(),
  );
  const rotate = lazy(() =>
    db
      .update(sessions)
      .set({
        previousRefreshHash: sql`${sessions.refreshHash}`,
        refreshHash: columnPlaceholder('newHash', sessions.refreshHash),
        previousValidUntil: columnPlaceholder('previousValidUntil', sessions.previousValidUntil),
        lastActiveAt: columnPlaceholder('now', sessions.lastActiveAt),
        ip: columnPlaceholder('ip', sessions.ip),
        addressKey: columnPlaceholder('addressKey', sessions.addressKey),
        userAgent: columnPlaceholder('userAgent', sessions.userAgent),
      })
      .where(
        and(
          ...[eq(sessions.sid, at('sid')), isActive, isAhead],
          eq(sessions.refreshHash, at('expectedHash')),
          eq(sessions.version, at('expectedVersion')),
          eq(sessions.userAuthVersion, at('expectedUserAuthVersion')),
        ),
      )
      .returning({ sid: sessions.sid })
      .prepare(),
  );

  const advance = lazy(() =>
    db
      .update(sessions)
      .set({
        version: sql`${sessions.version} + 1`,
        userAuthVersion: columnPlaceholder('userAuthVersion', sessions.userAuthVersion),
        lastActiveAt: columnPlaceholder('now', sessions.lastActiveAt),
      })
      .where(
        and(
          eq(sessions.sid, at('sid')),
          isActive,
          // Its caller has just been checked by this session.
          gt(sessions.expiresAt, at('now')),
          eq(sessions.version, at('expectedVersion')),
          eq(sessions.userAuthVersion, at('expectedUserAuthVersion')),
        ),
      )
      .returning({ sid: sessions.sid })
      .prepare(),
  );
  const revokeAll = lazy(() =>
    db
      .update(sessions)
      .set({
        status: sql`'revoked'`,
        revokedAt: columnPlaceholder('now', sessions.revokedAt),
        revokedReason: columnPlaceholder('reason', sessions.revokedReason),
      })
      .where(and(eq(sessions.userId, at('userId')), isActive, ne(sessions.sid, at('exceptSid'))))
      .returning({ sid: sessions.sid })
      .prepare(),
  );
  const usable = lazy(() =>
    db
      .select({ sid: sessions.sid })
      .from(sessions)
      .innerJoin(users, and(eq(users.id, sessions.userId), eq(users.deletedAt, 0), eq(users.status, STATUS.enabled)))
      .where(and(amongTexts(sessions.sid, 'sids'), isActive, isAhead, eq(sessions.userAuthVersion, users.authVersion)))
      .prepare(),
  );

  // In an earlier schema the column was char(64), which pads with blanks.
  const trimmed = (row: SessionRecord): SessionRecord => ({
    ...row,
    previousRefreshHash: row.previousRefreshHash?.trimEnd() ?? null,
  });

  /**
   * Selects the rows and checks them again in one statement: a row that changed in between stays.
   */
  async function deleteBatch(condition: SQL | undefined, limit: number): Promise<number> {
    const rows = sql`select ${sessions.sid} from ${sessions} where ${condition} limit ${limit}`;
    const deleted = await db
      .delete(sessions)
      .where(and(amongRows(sessions.sid, rows), condition))
      .returning({ sid: sessions.sid });
    return deleted.length;
  }

  return {
    async usable(sids, now) {
      const rows = await usable().execute({ sids: encodeTexts(sids), now });
      return rows.map(({ sid }) => sid);
    },

    async insert(session) {
      await insert().execute(session);
    },

    async bySid(sid) {
      const [found] = await bySid(sid);
      return found && trimmed(found.row);
    },

    async withUser(sid) {
      const [row] = await withUser(sid);
      return row && { session: trimmed(row.session), user: row.user };
    },

    async countActive(userId, now, usedAfter = 0) {
      const [row] = await countActive().execute({ userId, now, usedAfter });
      return row?.total ?? 0;
    },

    async countIssued(userId, since, until = Number.MAX_SAFE_INTEGER) {
      const [row] = await countIssued().execute({ userId, since, until });
      return row?.total ?? 0;
    },

    async rotate(change) {
      // The deadlines move with the clock before another one is written.
      return (await rotate().execute({ ...now(), ...change })).length === 1;
    },

    async advance(change) {
      return (await advance().execute(change)).length === 1;
    },

    async touch(sid, now) {
      await touch().execute({ sid, now });
    },

    async revoke(sid, reason, now) {
      const revoked = await revoke().execute({ sid, reason, now });
      return revoked.length === 1;
    },

    async revokeAll({ userId, exceptSid, reason, now }) {
      // No session has an empty id.
      const revoked = await revokeAll().execute({ userId, exceptSid: exceptSid ?? '', reason, now });
      return revoked.map(({ sid }) => sid);
    },

    list: async ({ usedAfter = 0, ...wanted }) => (await list().execute({ ...wanted, usedAfter })).map(trimmed),
    ofAddress: (userId, addressKey, limit) => ofAddress().execute({ userId, addressKey, limit }),
    active: (userId, now) => active().execute({ userId, now }),

    async countAllIssued(since) {
      const [row] = await db.select({ total: countAll() }).from(sessions).where(gt(sessions.createdAt, since));
      return row?.total ?? 0;
    },

    deleteExpired: ({ now, createdAfter, revokedAfter, limit }) =>
      deleteBatch(
        and(
          lte(sessions.expiresAt, now),
          notIssuedAfter(createdAfter),
          or(isActive, lte(sessions.revokedAt, revokedAfter)),
        ),
        limit,
      ),

    deleteRevoked: ({ revokedUntil, createdAfter, limit }) =>
      deleteBatch(and(isRevoked, lte(sessions.revokedAt, revokedUntil), notIssuedAfter(createdAfter)), limit),
  };
}
