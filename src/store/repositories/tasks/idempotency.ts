import { and, eq, gt, lte, not, or, type SQLWrapper, sql } from 'drizzle-orm';
import type { IdempotencyStore } from '../../ports/index.ts';
import { type Context, lazy } from '../context.ts';
import { columnPlaceholders } from '../prepare-by-shape.ts';

/**
 * A key that was taken by a clock this many seconds ahead is free again. A day and not a minute:
 * the clock may be right only since then, and a key that is freed too early lets a repeat be
 * charged twice.
 */
const FUTURE = sql.raw(String(24 * 3600));

export function createIdempotencyStore({ db, tables, lists: { amongRows } }: Context): IdempotencyStore {
  const { idempotencyKeys: keys } = tables;
  const { userId, key, requestHash, taskId, createdAt, expiresAt } = keys;
  const at = sql.placeholder;
  const isFromFuture = (now: SQLWrapper) => sql`${createdAt} - ${FUTURE} > ${now}`;
  const take = lazy(() => {
    const given = columnPlaceholders({ userId, key, requestHash, taskId, createdAt, expiresAt });
    const { userId: _user, key: _key, ...replaced } = given;
    return db
      .insert(keys)
      .values(given)
      .onConflictDoUpdate({
        target: [userId, key],
        set: replaced,
        setWhere: or(lte(expiresAt, given.createdAt), isFromFuture(sql`excluded.created_at`)),
      })
      .returning({ key })
      .prepare();
  });
  const find = lazy(() =>
    db
      .select({ userId, key, requestHash, taskId, expiresAt })
      .from(keys)
      .where(and(eq(userId, at('ownerId')), eq(key, at('name')), gt(expiresAt, at('at')), not(isFromFuture(at('at')))))
      .prepare(),
  );
  const free = lazy(() =>
    db
      .delete(keys)
      .where(and(eq(userId, at('ownerId')), eq(taskId, at('ofTask'))))
      .prepare(),
  );

  return {
    async take({ at: now, ...record }) {
      const taken = await take().execute({ ...record, createdAt: now });
      return taken.length === 1;
    },

    async find(ownerId, name, now) {
      const [row] = await find().execute({ ownerId, name, at: now });
      return row && { ...row, taskId: row.taskId ?? '' };
    },

    async free(ownerId, ofTask) {
      await free().execute({ ownerId, ofTask });
    },

    async deleteExpired(until, limit) {
      const isExpired = lte(expiresAt, until);
      // By expiry time, which is indexed. Records that expired in the same second are deleted
      // together.
      const rows = sql`select ${expiresAt} from ${keys} where ${isExpired} order by ${expiresAt} limit ${limit}`;
      const deleted = await db
        .delete(keys)
        .where(and(amongRows(expiresAt, rows), isExpired))
        .returning({ key });
      return deleted.length;
    },
  };
}
