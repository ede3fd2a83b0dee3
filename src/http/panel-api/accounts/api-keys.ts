import { isDeepStrictEqual } from 'node:util';
import { Elysia, t } from 'elysia';
import {
  type ApiKeyView,
  type ApiPrincipal,
  type Auth,
  describeOwnerLimits,
  type OwnerLimitsView,
} from '../../../auth/index.ts';
import type { JsonObject } from '../../../kernel/index.ts';
import { shownUrl } from '../../../notifications/index.ts';
import { paged, pageQuery, readId, readPage } from '../../pipeline/paging.ts';
import { integerSchema, type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import type { AnswerOnce } from '../idempotent-answers.ts';
import { describeUsage, type UsageLog } from '../operation/usage-log.ts';
import type { RecordAudit } from '../record-audit.ts';
import { budgetSchema, ownerLimitFields } from './budget-schema.ts';

const fields = {
  unlimited_quota: t.Optional(
    t.Boolean({ description: 'The key spends from the account without a budget of its own.' }),
  ),
  quota: t.Optional(integerSchema({ minimum: 0, description: 'The budget; 500,000 = 1 USD.' })),
  budget: budgetSchema('What the key may spend in each period; null: no such limit.'),
  ...ownerLimitFields,
  models: t.Optional(t.Array(t.String({ maxLength: 191 }), { maxItems: 500, description: 'Empty: every model.' })),
  allow_ips: t.Optional(
    t.Array(t.String({ maxLength: 64 }), { maxItems: 500, description: 'Addresses or CIDRs; empty: every address.' }),
  ),
  expires_at: t.Optional(integerSchema({ minimum: 0, description: 'Unix seconds; 0: never.' })),
  group: t.Optional(t.Union([t.String({ maxLength: 200 }), t.Null()])),
  keep_results: t.Optional(
    t.Boolean({
      description:
        'Whether results of its tasks are kept where results.keep is "asked"; X-Keep-Result of a submission overrides it.',
    }),
  ),
  store: t.Optional(
    t.Boolean({
      description:
        'False: prompts and requests of its tasks are not stored, and what the vendor answered is erased an hour after their end.',
    }),
  ),
  webhook_url: t.Optional(
    t.Union([t.String({ maxLength: 8192 }), t.Null()], {
      description: 'Where webhooks go for tasks without an X-Callback-Url of their own; null: nowhere.',
    }),
  ),
};

/** The caller's own API keys. */
export function apiKeyRoutes(kit: Kit, { auth, audit, once }: { auth: Auth; audit: RecordAudit; once: AnswerOnce }) {
  return new Elysia({ normalize: false, tags: ['API keys'] })
    .use(kit)
    .get(
      '/api/token',
      async ({ panel, query }) => {
        const page = readPage(query);
        return ok(paged(page, await auth.apiKeys.list(panel, page)));
      },
      { user: true, query: strictObject(pageQuery), detail: { summary: 'List your API keys' } },
    )
    .post(
      '/api/token',
      ({ panel, origin, body, request, set }) =>
        once({ panel, request, body, set }, async () => {
          const created = await auth.apiKeys.create(panel, body);
          // The prefix, never the key.
          const after = { ...auditFields(body), prefix: created.prefix };
          await audit(
            { panel, origin },
            { action: 'api_key.create', target: `api_key:${created.id}`, detail: { after } },
          );
          return ok(created);
        }),
      {
        user: true,
        body: strictObject({ name: t.String({ maxLength: 500 }), ...fields }),
        detail: {
          summary: 'Create an API key; only this response contains it and, with a webhook_url, its webhook secret',
        },
      },
    )
    .get('/api/token/:id', async ({ panel, params }) => ok(await auth.apiKeys.read(panel, readId(params.id))), {
      user: true,
      detail: { summary: 'Get one of your API keys' },
    })
    .put(
      '/api/token/:id',
      async ({ panel, origin, params, body }) => {
        const id = readId(params.id);
        const before = await auth.apiKeys.read(panel, id);
        const changed = await auth.apiKeys.update(panel, id, body);
        const detail = compareKeys(before, changed, Object.keys(body));
        if (Object.keys(detail.after).length > 0)
          await audit({ panel, origin }, { action: 'api_key.update', target: `api_key:${id}`, detail });
        return ok(changed);
      },
      {
        user: true,
        body: strictObject({
          name: t.Optional(t.String({ maxLength: 500 })),
          ...fields,
          status: t.Optional(integerSchema({ minimum: 1, maximum: 2 })),
        }),
        detail: { summary: 'Update an API key' },
      },
    )
    .post(
      '/api/token/:id/rotate',
      ({ panel, origin, params, body, request, set }) =>
        once({ panel, request, body, set }, async () => {
          const id = readId(params.id);
          const { keep_seconds: keepSeconds, prefix, keep } = body;
          const rotated = await auth.apiKeys.rotate(panel, id, { keepSeconds, prefix, keep });
          // The prefixes, never the keys.
          const detail = { after: { prefix: rotated.prefix, former_key: rotated.former_key } };
          await audit({ panel, origin }, { action: 'api_key.rotate', target: `api_key:${id}`, detail });
          return ok(rotated);
        }),
      {
        user: true,
        body: strictObject({
          keep_seconds: t.Optional(
            integerSchema({
              minimum: 0,
              maximum: 2_592_000,
              description: 'How long the previous key keeps working; a day by default.',
            }),
          ),
          prefix: t.Optional(
            t.String({
              maxLength: 40,
              description: 'The prefix of the key as you know it. 409 if the key has been rotated since.',
            }),
          ),
          keep: t.Optional(
            t.Union([t.Literal('present'), t.Literal('former')], {
              description:
                'former: the replaced key, which still works, is kept; the present one stops. For a new key that never arrived.',
            }),
          ),
        }),
        detail: {
          summary: 'Rotate an API key; only this response contains the new one',
          description: 'A key that was replaced earlier stops working immediately.',
        },
      },
    )
    .delete(
      '/api/token/:id/former-key',
      async ({ panel, origin, params, query }) => {
        const id = readId(params.id);
        const changed = await auth.apiKeys.endFormer(panel, id, query.prefix);
        await audit({ panel, origin }, { action: 'api_key.end_former', target: `api_key:${id}`, detail: {} });
        return ok(changed);
      },
      {
        user: true,
        query: strictObject({
          prefix: t.Optional(
            t.String({ maxLength: 40, description: 'End only this one; 409 where another was replaced since.' }),
          ),
        }),
        detail: { summary: 'Stop a replaced API key now' },
      },
    )
    .post(
      '/api/token/:id/webhook-secret',
      async ({ panel, origin, params }) => {
        const id = readId(params.id);
        const created = await auth.apiKeys.rotateWebhookSecret(panel, id);
        const detail = { former_until: created.former_until };
        await audit({ panel, origin }, { action: 'api_key.webhook_secret', target: `api_key:${id}`, detail });
        return ok(created);
      },
      {
        user: true,
        detail: {
          summary: "Create or rotate an API key's webhook secret",
          description:
            'Only this response shows it. The previous secret stays valid for 24 hours: until then each webhook carries two signatures.',
        },
      },
    )
    .delete(
      '/api/token/:id',
      async ({ panel, origin, params }) => {
        const id = readId(params.id);
        const { name, prefix } = await auth.apiKeys.read(panel, id);
        await auth.apiKeys.delete(panel, id);
        const detail = { before: { name, prefix } };
        await audit({ panel, origin }, { action: 'api_key.delete', target: `api_key:${id}`, detail });
        return ok(null);
      },
      { user: true, detail: { summary: 'Delete an API key' } },
    );
}

/** The fields for the audit log. The query of a receiver's address may contain secrets. */
const auditFields = <T extends { webhook_url?: unknown }>(body: T): T =>
  typeof body.webhook_url === 'string' ? { ...body, webhook_url: shownUrl(body.webhook_url) } : body;

/**
 * What of the asked fields is another now. Compares the stored values: two addresses that differ
 * in the query look alike in the log.
 */
function compareKeys(before: ApiKeyView, after: ApiKeyView, asked: readonly string[]) {
  const [was, is] = [editableFields(before), editableFields(after)];
  const changed = asked.filter((field) => !isDeepStrictEqual(was[field], is[field]));
  const pick = (from: JsonObject): JsonObject =>
    auditFields(Object.fromEntries(changed.map((field) => [field, from[field] ?? null])));
  return { before: pick(was), after: pick(is) };
}

const editableFields = ({ budget, ...key }: ApiKeyView): JsonObject => ({
  ...key,
  budget: budget && { amount: budget.amount, period: budget.period },
});

/** The most rows in one response: the newest ones. */
const MAX_ROWS = 1000;

/**
 * What you can read with nothing but an API key: its budget and what it paid for. Paths and fields
 * are those of new-api. Some of its clients check `success`, others `code`, so both are sent.
 */
export function keyUsageRoutes(
  kit: Kit,
  { auth, records, groupLimits }: { auth: Auth; records: Pick<UsageLog, 'listUsage'>; groupLimits: GroupLimits },
) {
  return new Elysia({ normalize: false, tags: ['API keys'] })
    .use(kit)
    .get(
      '/api/usage/token',
      async ({ api }) =>
        envelope('ok', {
          ...describeKey(api.key),
          limits: findStrictest([describeOwnerLimits(api.key), describeOwnerLimits(api.user), groupLimits(api.group)]),
          budget: await auth.apiKeys.budget(api.key),
        }),
      {
        apiKey: true,
        critical: true,
        detail: {
          summary: 'Get the budget and allowed models of the API key in use',
          description:
            "total_granted, total_used and total_available are of what the key may spend in total; budget is what it may spend in each period, with what is spent in the present one, and null where there is no such limit. requests_per_minute and max_running are the key's own; limits has the strictest of its own, its account's and its group's.",
        },
      },
    )
    .get(
      '/api/log/token',
      async ({ api }) => {
        const { items } = await records.listUsage({ apiKeyId: api.key.id }, { page: 1, pageSize: MAX_ROWS });
        return envelope(
          '',
          items.map((row) => describeUsage(row, false)),
        );
      },
      {
        apiKey: true,
        critical: true,
        detail: { summary: `Get the latest usage of the API key in use (up to ${MAX_ROWS} rows)` },
      },
    );
}

/** What administrators let each user of a group do. */
export type GroupLimits = (group: string) => Partial<OwnerLimitsView>;

function findStrictest(all: readonly Partial<OwnerLimitsView>[]): OwnerLimitsView {
  const least = (field: keyof OwnerLimitsView): number | null => {
    const given = all.flatMap((limits) => limits[field] ?? []);
    return given.length === 0 ? null : Math.min(...given);
  };
  return { requests_per_minute: least('requests_per_minute'), max_running: least('max_running') };
}

const envelope = <T>(message: string, data: T) => ({ success: true, code: true, message, data });

/**
 * Quota is an integer; 500,000 are one US dollar. For an unlimited key the budget has no meaning.
 */
const describeKey = (key: ApiPrincipal['key']) => ({
  object: 'token_usage',
  name: key.name,
  total_granted: key.quota + key.usedQuota,
  total_used: key.usedQuota,
  total_available: key.quota,
  unlimited_quota: key.unlimitedQuota,
  ...describeOwnerLimits(key),
  model_limits: Object.fromEntries(key.models.map((model) => [model, true])),
  model_limits_enabled: key.models.length > 0,
  /** Unix seconds; 0: never. */
  expires_at: key.expiresAt,
});
