import { and, desc, eq, getTableColumns, gte, lt, lte, sql } from 'drizzle-orm';
import type { AuditFilter, LogStore, UsageFilter } from '../../ports/index.ts';
import { type Context, columnPlaceholders, containsText, countAll, escapeLike, lazy, paged } from '../context.ts';
import { buildUsageTime } from '../usage/figures.ts';
import { createAuditChains } from './audit-chains.ts';

export function createLogStore(context: Context): LogStore {
  const { db, tables, fold } = context;
  const { usageLogs, auditLogs, users, apiKeys } = tables;
  const matches = ({ userId, apiKeyId, channelId, pluginKey, model, since, until }: UsageFilter) =>
    and(
      userId === undefined ? undefined : eq(usageLogs.userId, userId),
      apiKeyId === undefined ? undefined : eq(usageLogs.apiKeyId, apiKeyId),
      channelId === undefined ? undefined : eq(usageLogs.channelId, channelId),
      pluginKey === undefined ? undefined : eq(usageLogs.pluginKey, pluginKey),
      model === undefined ? undefined : eq(usageLogs.model, model),
      since === undefined ? undefined : gte(usageLogs.createdAt, since),
      until === undefined ? undefined : lte(usageLogs.createdAt, until),
    );
  const matchesAudit = ({ user, action, target, since, until }: AuditFilter) =>
    and(
      user === undefined ? undefined : containsText(context, auditLogs.username, user),
      action === undefined
        ? undefined
        : sql`${fold(auditLogs.action)} like ${fold(`${escapeLike(action)}%`)} escape '!'`,
      target === undefined ? undefined : eq(auditLogs.target, target),
      since === undefined ? undefined : gte(auditLogs.createdAt, since),
      until === undefined ? undefined : lte(auditLogs.createdAt, until),
    );
  const { id: _, ...usageColumns } = getTableColumns(usageLogs);
  const selectUsage = () =>
    db
      .select({ ...getTableColumns(usageLogs), username: users.username, apiKeyName: apiKeys.name })
      .from(usageLogs)
      .leftJoin(users, eq(users.id, usageLogs.userId))
      .leftJoin(apiKeys, eq(apiKeys.id, usageLogs.apiKeyId));
  const addUsage = lazy(() => {
    const given = columnPlaceholders(usageColumns);
    const createdAt = buildUsageTime(sql`cast(${given.createdAt} as bigint)`);
    return db
      .insert(usageLogs)
      .values({ ...given, createdAt })
      .prepare();
  });

  return {
    async addUsage(row) {
      await addUsage().execute({ seconds: -1, reasonSentence: null, ...row });
    },

    listUsage(wanted, page) {
      const filter = matches(wanted);
      return paged(page, db.select({ total: countAll() }).from(usageLogs).where(filter), (limit, offset) =>
        selectUsage().where(filter).orderBy(desc(usageLogs.id)).limit(limit).offset(offset),
      );
    },

    readUsage: async (wanted, { before, limit }) =>
      selectUsage()
        .where(and(matches(wanted), before === undefined ? undefined : lt(usageLogs.id, before)))
        .orderBy(desc(usageLogs.id))
        .limit(limit),

    ...createAuditChains(context),

    listAudit(wanted, page) {
      const filter = matchesAudit(wanted);
      return paged(page, db.select({ total: countAll() }).from(auditLogs).where(filter), (limit, offset) =>
        db.select().from(auditLogs).where(filter).orderBy(desc(auditLogs.id)).limit(limit).offset(offset),
      );
    },

    readAudit: async (wanted, { before, limit }) =>
      db
        .select()
        .from(auditLogs)
        .where(and(matchesAudit(wanted), before === undefined ? undefined : lt(auditLogs.id, before)))
        .orderBy(desc(auditLogs.id))
        .limit(limit),
  };
}
