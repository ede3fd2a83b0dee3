import { and, desc, eq, getTableColumns, gte, lt, lte, sql } from 'drizzle-orm';
import { type AuditFilter, countTo, type LogStore, type UsageFilter } from '../../ports/index.ts';
import { type Context, containsText, escapeLike, lazy } from '../context.ts';
import { columnPlaceholders, createPages, lazyByShape, whereGiven } from '../prepare-by-shape.ts';
import { buildUsageTime } from '../usage/figures.ts';
import { createAuditChains } from './audit-chains.ts';

export function createLogStore(context: Context): LogStore {
  const { db, tables, fold } = context;
  const { usageLogs, auditLogs, users, apiKeys } = tables;
  const matches = (filter: UsageFilter & { before?: number }) =>
    whereGiven(filter, {
      userId: (value) => eq(usageLogs.userId, value),
      apiKeyId: (value) => eq(usageLogs.apiKeyId, value),
      channelId: (value) => eq(usageLogs.channelId, value),
      pluginKey: (value) => eq(usageLogs.pluginKey, value),
      model: (value) => eq(usageLogs.model, value),
      since: (value) => gte(usageLogs.createdAt, value),
      until: (value) => lte(usageLogs.createdAt, value),
      before: (value) => lt(usageLogs.id, value),
    });
  /** `user` stands in the text itself, since the number of its spellings differs. */
  const matchesAudit = ({ user, ...filter }: AuditFilter & { before?: number }) =>
    and(
      user === undefined ? undefined : containsText(context, auditLogs.username, user),
      whereGiven(filter, {
        action: (value) => sql`${fold(auditLogs.action)} like ${fold(value)} escape '!'`,
        target: (value) => eq(auditLogs.target, value),
        since: (value) => gte(auditLogs.createdAt, value),
        until: (value) => lte(auditLogs.createdAt, value),
        before: (value) => lt(auditLogs.id, value),
      }),
    );
  const toAuditValues = <Filter extends AuditFilter>(filter: Filter): Filter =>
    filter.action === undefined ? filter : { ...filter, action: `${escapeLike(filter.action)}%` };
  const { id: _, ...usageColumns } = getTableColumns(usageLogs);
  const selectUsage = () =>
    db
      .select({ ...getTableColumns(usageLogs), username: users.username, apiKeyName: apiKeys.name })
      .from(usageLogs)
      .leftJoin(users, eq(users.id, usageLogs.userId))
      .leftJoin(apiKeys, eq(apiKeys.id, usageLogs.apiKeyId));
  const usagePages = createPages(
    context,
    (filter: UsageFilter) => ({
      from: usageLogs,
      where: matches(filter),
      items: selectUsage().where(matches(filter)).orderBy(desc(usageLogs.id)),
    }),
    countTo,
  );
  const usagePart = lazyByShape((filter: UsageFilter & { before?: number }) =>
    selectUsage().where(matches(filter)).orderBy(desc(usageLogs.id)).limit(sql.placeholder('limit')).prepare(),
  );
  const selectAudit = (filter: AuditFilter & { before?: number }) =>
    db.select().from(auditLogs).where(matchesAudit(filter)).orderBy(desc(auditLogs.id));
  const buildAuditPages = () =>
    createPages(
      context,
      (filter: AuditFilter) => ({
        from: auditLogs,
        where: matchesAudit(filter),
        items: selectAudit(filter),
      }),
      countTo,
    );
  const auditPages = buildAuditPages();
  const selectAuditPart = (filter: AuditFilter & { before?: number }) =>
    selectAudit(filter).limit(sql.placeholder('limit')).prepare();
  const auditPart = lazyByShape(selectAuditPart);
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

    listUsage: usagePages,
    readUsage: (wanted, { before, limit }) => {
      const sought = { ...wanted, ...(before !== undefined && { before }) };
      return usagePart(sought).execute({ ...sought, limit });
    },

    ...createAuditChains(context),

    listAudit: (wanted, page) =>
      (wanted.user === undefined ? auditPages : buildAuditPages())(toAuditValues(wanted), page),
    readAudit: (wanted, { before, limit }) => {
      const sought = { ...wanted, ...(before !== undefined && { before }) };
      return (wanted.user === undefined ? auditPart : selectAuditPart)(sought).execute({
        ...toAuditValues(sought),
        limit,
      });
    },
  };
}
