import { Elysia, t } from 'elysia';
import type { PanelPrincipal } from '../../../auth/index.ts';
import type { BillExplanation } from '../../../billing/index.ts';
import type { JsonObject } from '../../../kernel/index.ts';
import { isAdmin } from '../../pipeline/authorize-request.ts';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import { paged, pageQuery, readPage, readWhole } from '../paging.ts';
import type { AuditRow } from '../record-audit.ts';

type Page = { page: number; pageSize: number };
type Paged<T> = { total: number; items: T[] };

type UsageRow = {
  id: number;
  userId: number;
  apiKeyId: number | null;
  taskId: string;
  channelId: number;
  pluginKey: string;
  model: string;
  kind: 'settle' | 'refund';
  quota: number;
  detail: JsonObject;
  createdAt: number;
};

type UsageFilter = { userId?: number; apiKeyId?: number; model?: string; since?: number; until?: number };
type AuditFilter = { user?: string; action?: string; target?: string; since?: number; until?: number };

const part = (description: string) => t.Optional(t.String({ maxLength: 200, description }));
/** Texts, since they come from an address. */
const usageQuery = {
  scope: t.Optional(
    t.Union([t.Literal('own'), t.Literal('all')], {
      description: "For administrators, who see everybody's unless told.",
    }),
  ),
  api_key: part('The id of an API key.'),
  model: part('Exactly.'),
  since: part('Unix seconds.'),
  until: part('Unix seconds.'),
};

const auditQuery = {
  user: part('A part of the name that the actor had then.'),
  action: part('An action or its beginning: channel, user.delete.'),
  target: part('Exactly, such as channel:3.'),
  since: part('Unix seconds.'),
  until: part('Unix seconds.'),
};

/** What is kept of the past: usage and administration. */
export type RecordsSource = {
  listUsage(filter: UsageFilter, page: Page): Promise<Paged<UsageRow>>;
  listAudit(filter: AuditFilter, page: Page): Promise<Paged<AuditRow & { id: number }>>;
};

export function recordRoutes(kit: Kit, { records }: { records: RecordsSource }) {
  return new Elysia({ normalize: false, tags: ['Records'] })
    .use(kit)
    .get(
      '/api/log',
      async ({ panel, query }) => {
        const page = readPage(query);
        const { total, items } = await records.listUsage(readUsageFilter(panel, query), page);
        return ok(paged(page, { total, items: items.map((row) => describeUsage(row, isAdmin(panel))) }));
      },
      {
        user: true,
        query: strictObject({ ...pageQuery, ...usageQuery }),
        detail: {
          summary: "Usage: one's own, everybody's for administrators",
          description:
            'One row for each task that has ended. bill: expression, group, group_ratio, quota_per_usd; facts (of the request), submission_facts and completion_facts (of the vendor); estimate, usd, reserved, settled, difference; steps (the expression with the values put in), summary (one line), kept_reservation (why the reservation stands), reason (of a refund).',
        },
      },
    )
    .get(
      '/api/audit',
      async ({ query }) => {
        const page = readPage(query);
        const { total, items } = await records.listAudit(readAuditFilter(query), page);
        return ok(paged(page, { total, items: items.map(describeAudit) }));
      },
      {
        root: true,
        query: strictObject({ ...pageQuery, ...auditQuery }),
        detail: { summary: 'Who changed what, from where', description: 'The latest first.' },
      },
    );
}

/** The last second of the year 9999. */
const LATEST = 253_402_300_799;

/** An empty text asks for nothing, as a form sends it. @throws http.validation_failed */
function readAuditFilter(query: { [Field in keyof typeof auditQuery]?: string }): AuditFilter {
  const { user, action, target, since, until } = query;
  return {
    ...(user ? { user } : {}),
    ...(action ? { action } : {}),
    ...(target ? { target } : {}),
    ...(since ? { since: readWhole('since', since, 0, LATEST) } : {}),
    ...(until ? { until: readWhole('until', until, 0, LATEST) } : {}),
  };
}

/**
 * Everybody's for an administrator who has not asked for his own. An empty text asks for nothing.
 * @throws http.validation_failed
 */
function readUsageFilter(
  panel: PanelPrincipal,
  { scope, api_key: apiKey, model, since, until }: Partial<Record<keyof typeof usageQuery, string>>,
): UsageFilter {
  return {
    ...(isAdmin(panel) && scope !== 'own' ? {} : { userId: panel.user.id }),
    ...(apiKey ? { apiKeyId: readWhole('api_key', apiKey, 1, Number.MAX_SAFE_INTEGER) } : {}),
    ...(model ? { model } : {}),
    ...(since ? { since: readWhole('since', since, 0, LATEST) } : {}),
    ...(until ? { until: readWhole('until', until, 0, LATEST) } : {}),
  };
}

/** As billing has written it, with the reason of a refund. */
type UsageBill = BillExplanation & { reason?: string };

/**
 * Which price it was may tell the vendor's name of the model, and is for administrators, as the
 * channel is.
 */
export const describeUsage = ({ detail: { price = null, ...bill }, ...row }: UsageRow, forAdmin: boolean) => ({
  id: row.id,
  user_id: row.userId,
  api_key_id: row.apiKeyId,
  task_id: row.taskId,
  plugin_key: row.pluginKey,
  model: row.model,
  kind: row.kind,
  quota: row.quota,
  bill: bill as UsageBill,
  created_at: row.createdAt,
  ...(forAdmin ? { channel_id: row.channelId, price } : {}),
});

const describeAudit = (row: AuditRow & { id: number }) => ({
  id: row.id,
  user_id: row.userId,
  username: row.username,
  auth_method: row.authMethod,
  ip: row.ip,
  action: row.action,
  target: row.target,
  detail: row.detail,
  created_at: row.createdAt,
});
