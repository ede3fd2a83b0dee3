import { and, desc, eq } from 'drizzle-orm';
import type { LogStore } from '../ports/index.ts';
import { type Context, countAll, paged } from './context.ts';

export function createLogStore({ db, tables: { usageLogs, auditLogs } }: Context): LogStore {
  return {
    async addUsage(row) {
      await db.insert(usageLogs).values(row);
    },

    listUsage({ userId, apiKeyId }, page) {
      const filter = and(
        userId === undefined ? undefined : eq(usageLogs.userId, userId),
        apiKeyId === undefined ? undefined : eq(usageLogs.apiKeyId, apiKeyId),
      );
      return paged(page, db.select({ total: countAll() }).from(usageLogs).where(filter), (limit, offset) =>
        db.select().from(usageLogs).where(filter).orderBy(desc(usageLogs.id)).limit(limit).offset(offset),
      );
    },

    async addAudit(row) {
      await db.insert(auditLogs).values(row);
    },

    listAudit: (page) =>
      paged(page, db.select({ total: countAll() }).from(auditLogs), (limit, offset) =>
        db.select().from(auditLogs).orderBy(desc(auditLogs.id)).limit(limit).offset(offset),
      ),
  };
}
