import { and, eq, gt, lte, sql } from 'drizzle-orm';
import type { IdempotencyStore } from '../ports/index.ts';
import type { Context } from './context.ts';

export function createIdempotencyStore({ db, tables, amongRows }: Context): IdempotencyStore {
  const { idempotencyKeys: keys } = tables;
  const { userId, key, requestHash, taskId, expiresAt } = keys;
  return {
    async take({ at, ...record }) {
      const taken = await db
        .insert(keys)
        .values({ ...record, createdAt: at })
        .onConflictDoUpdate({
          target: [userId, key],
          set: { requestHash: record.requestHash, taskId: record.taskId, createdAt: at, expiresAt: record.expiresAt },
          setWhere: lte(expiresAt, at),
        })
        .returning({ key });
      return taken.length === 1;
    },

    async find(ownerId, name, at) {
      const [row] = await db
        .select({ userId, key, requestHash, taskId, expiresAt })
        .from(keys)
        .where(and(eq(userId, ownerId), eq(key, name), gt(expiresAt, at)));
      return row && { ...row, taskId: row.taskId ?? '' };
    },

    async free(ownerId, ofTask) {
      await db.delete(keys).where(and(eq(userId, ownerId), eq(taskId, ofTask)));
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
