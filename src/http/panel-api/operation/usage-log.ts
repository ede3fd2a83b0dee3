import { Elysia, t } from 'elysia';
import type { PanelPrincipal } from '../../../auth/index.ts';
import type { AccountStatements, BillExplanation } from '../../../billing/index.ts';
import type { JsonObject, StoredSentence } from '../../../kernel/index.ts';
import { isAdmin } from '../../pipeline/admit-request.ts';
import {
  LATEST_TIME,
  type Page,
  type Paged,
  paged,
  pageQuery,
  readIdFilter,
  readInteger,
  readPage,
} from '../../pipeline/paging.ts';
import { integerText, type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import { httpErrors } from '../../responses/errors.ts';

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
  reasonSentence: StoredSentence | null;
  createdAt: number;
  /** Null where it was deleted. */
  username: string | null;
  apiKeyName: string | null;
};

export type UsageFilter = {
  userId?: number;
  apiKeyId?: number;
  channelId?: number;
  pluginKey?: string;
  model?: string;
  since?: number;
  until?: number;
};

const filter = (description: string) => t.Optional(t.String({ maxLength: 200, description }));
const time = t.Optional(integerText({ minimum: 0, description: 'Unix seconds.' }));

/** All are texts, because they come from a query. */
export const usageQuery = {
  scope: t.Optional(
    t.Union([t.Literal('own'), t.Literal('all')], {
      description: 'For administrators, who see all users by default.',
    }),
  ),
  user_id: t.Optional(integerText({ minimum: 1, description: 'Administrators.' })),
  channel_id: t.Optional(integerText({ minimum: 1, description: 'Administrators.' })),
  api_key_id: t.Optional(integerText({ minimum: 1, description: 'The id of an API key.' })),
  user: t.Optional(integerText({ minimum: 1, description: 'The former name of user_id.' })),
  channel: t.Optional(integerText({ minimum: 1, description: 'The former name of channel_id.' })),
  plugin: filter('The exact key of a plugin.'),
  api_key: t.Optional(integerText({ minimum: 1, description: 'The former name of api_key_id.' })),
  model: filter('The exact model.'),
  since: time,
  until: time,
};

export type UsageLog = {
  listUsage(filter: UsageFilter, page: Page): Promise<Paged<UsageRow>>;
  /** The latest first, those before the row `before`; for exports. */
  readUsage(filter: UsageFilter, part: { before?: number; limit: number }): Promise<UsageRow[]>;
};

type UsageLogDeps = { records: UsageLog; statements: Pick<AccountStatements, 'prompts'> };

/** `GET /api/log`: what each ended task cost, and why. */
export function usageLogRoutes(kit: Kit, { records, statements }: UsageLogDeps) {
  return new Elysia({ normalize: false, tags: ['Records'] }).use(kit).get(
    '/api/log',
    async ({ panel, query }) => {
      const page = readPage(query);
      const found = await records.listUsage(readUsageFilter(panel, query), page);
      const prompts = await statements.prompts(found.items.map(({ taskId }) => taskId));
      const items = found.items.map((row) => ({
        ...describeUsage(row, isAdmin(panel)),
        /** How the prompt of its task begins; empty without one. */
        prompt: prompts.get(row.taskId) ?? '',
      }));
      return ok(paged(page, { ...found, items }));
    },
    {
      user: true,
      query: strictObject({ ...pageQuery, ...usageQuery }),
      detail: {
        summary: "List usage: your own, or everyone's as an administrator",
        description:
          'One row per ended task. bill: expression, group, group_ratio, quota_per_usd; facts (of the request), submission_facts and completion_facts (of the vendor); estimate, usd, reserved, settled, difference; steps (the expression with its values filled in), summary (one line), kept_reservation (why the reservation was kept), reason (of a refund). A text has NAME_sentence beside it: reason and params, by which the panel says it in other languages; null where nobody can.',
      },
    },
  );
}

/**
 * All users for administrators, unless they ask for their own rows. An empty text is not a filter.
 * @throws http.validation_failed
 */
export function readUsageFilter(
  panel: PanelPrincipal,
  query: Partial<Record<keyof typeof usageQuery, string>>,
): UsageFilter {
  const { scope, plugin, model, since, until } = query;
  const concernsOthers = query.user_id || query.user || query.channel_id || query.channel;
  if (concernsOthers && !isAdmin(panel)) throw httpErrors.insufficient_privilege();
  const userId = readIdFilter(query, ['user_id', 'user']);
  const apiKeyId = readIdFilter(query, ['api_key_id', 'api_key']);
  const channelId = readIdFilter(query, ['channel_id', 'channel']);
  const own = isAdmin(panel) && scope !== 'own' ? {} : { userId: panel.user.id };
  return {
    ...(userId ? { userId } : own),
    ...(apiKeyId ? { apiKeyId } : {}),
    ...(channelId ? { channelId } : {}),
    ...(plugin ? { pluginKey: plugin } : {}),
    ...(model ? { model } : {}),
    ...(since ? { since: readInteger('since', since, { min: 0, max: LATEST_TIME }) } : {}),
    ...(until ? { until: readInteger('until', until, { min: 0, max: LATEST_TIME }) } : {}),
  };
}

/** The bill as billing wrote it, with the reason of a refund. */
type UsageBill = BillExplanation & { reason?: string; reason_sentence: StoredSentence | null };

/**
 * Only administrators see channel and price: the price may contain the vendor's name of the model.
 * Nobody sees what only replays of bills read.
 */
export const describeUsage = (
  { detail: { price = null, action: _action, refunded: _refunded, ...bill }, ...row }: UsageRow,
  forAdmin: boolean,
) => ({
  id: row.id,
  user_id: row.userId,
  api_key_id: row.apiKeyId,
  /** Null without a key, and where it was deleted. */
  api_key_name: row.apiKeyName,
  task_id: row.taskId,
  plugin_key: row.pluginKey,
  model: row.model,
  kind: row.kind,
  quota: row.quota,
  bill: { ...bill, reason_sentence: row.reasonSentence } as UsageBill,
  created_at: row.createdAt,
  ...(forAdmin ? { channel_id: row.channelId, username: row.username, price } : {}),
});
