import { and, desc, eq, getTableColumns, gte, lt, lte, sql } from 'drizzle-orm';
import {
  AUDIT_ACTIONS,
  type AuditFilter,
  countingLimit,
  type LogStore,
  type NewUsageRow,
  type UsageFilter,
} from '../../ports/index.ts';
import {
  atomic,
  type Context,
  containsText,
  escapeLike,
  lazy,
  type RecordColumns,
  toJsonSafeText,
} from '../context.ts';
import { createPages, lazyByShape, whereGiven } from '../prepare-by-shape.ts';
import { buildUsageTime } from '../usage/figures.ts';
import { createAuditChains } from './audit-chains.ts';

const USAGE = {
  user_id: 'bigint',
  wallet_id: 'bigint',
  api_key_id: 'bigint',
  task_id: 'text',
  channel_id: 'bigint',
  plugin_key: 'text',
  model: 'text',
  kind: 'text',
  quota: 'bigint',
  detail: 'text',
  reason_sentence: 'text',
  created_at: 'bigint',
  seconds: 'bigint',
} as const satisfies RecordColumns;

export function createLogStore(context: Context): LogStore {
  const { db, tables, fold, lists } = context;
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
    filter.action === undefined ? filter : { ...filter, action: toActionPattern(filter.action) };
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
    countingLimit,
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
      countingLimit,
    );
  const auditPages = buildAuditPages();
  const selectAuditPart = (filter: AuditFilter & { before?: number }) =>
    selectAudit(filter).limit(sql.placeholder('limit')).prepare();
  const auditPart = lazyByShape(selectAuditPart);
  const insertUsage = lazy(() => {
    const columns = Object.keys(USAGE).map((name) => sql.raw(name));
    const values = Object.keys(USAGE).map((name) =>
      name === 'created_at' ? buildUsageTime(sql`given.created_at`) : sql.raw(`given.${name}`),
    );
    return lists.prepareRecords(
      { name: 'given', columns: USAGE },
      (records) => sql`insert into usage_logs (${sql.join(columns, sql`, `)})
        select ${sql.join(values, sql`, `)} from ${records}`,
    );
  });
  const addUsageRows: LogStore['addUsageRows'] = async (rows) => {
    if (rows.length > 0) await insertUsage()(rows.map(encodeUsage));
  };

  return {
    addUsage: (row) => addUsageRows([row]),
    addUsageRows: atomic(addUsageRows),

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

/** A whole action finds itself alone, not those that begin with it. */
const toActionPattern = (action: string): string =>
  (AUDIT_ACTIONS as readonly string[]).includes(action) ? escapeLike(action) : `${escapeLike(action)}%`;

const encodeUsage = (row: NewUsageRow): Record<keyof typeof USAGE, string | number | null> => ({
  user_id: row.userId,
  wallet_id: row.walletId,
  api_key_id: row.apiKeyId,
  task_id: row.taskId,
  channel_id: row.channelId,
  plugin_key: row.pluginKey,
  model: toJsonSafeText(row.model),
  kind: row.kind,
  quota: row.quota,
  detail: JSON.stringify(row.detail),
  reason_sentence: row.reasonSentence ? JSON.stringify(row.reasonSentence) : null,
  created_at: row.createdAt,
  seconds: row.seconds ?? -1,
});
