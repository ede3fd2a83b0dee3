import { Elysia, t } from 'elysia';
import type { PanelPrincipal } from '../../../auth/index.ts';
import type { Billing } from '../../../billing/index.ts';
import { type JsonObject, sentence } from '../../../kernel/index.ts';
import type { Reports } from '../../../reports/index.ts';
import type { RequestOptions, Surfaces } from '../../../surfaces/index.ts';
import { fieldError } from '../../bodies/validation-errors.ts';
import { isAdmin, isRoot } from '../../pipeline/admit-request.ts';
import { integerSchema, type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import { httpErrors } from '../../responses/errors.ts';

const quoteBody = strictObject({
  plugin_key: t.Optional(
    t.String({ minLength: 1, maxLength: 30, description: 'Default *: the price of every plugin.' }),
  ),
  model: t.String({ minLength: 1, maxLength: 191 }),
  action: t.Optional(t.String({ maxLength: 40 })),
  facts: t.Optional(
    t.Record(t.String(), t.Unknown(), { maxProperties: 100, description: 'Usage facts as the plugin declares them.' }),
  ),
  request: t.Optional(
    t.Record(t.String(), t.Unknown(), {
      maxProperties: 1000,
      description: 'Instead of facts: a body as for POST /v1/tasks/{plugin_key}; the plugin reads the facts from it.',
    }),
  ),
  expression: t.Optional(
    t.String({
      minLength: 1,
      maxLength: 10_000,
      description: 'Root only: evaluated with facts, in place of the saved price.',
    }),
  ),
  group: t.Optional(t.String({ minLength: 1, maxLength: 64, description: 'Administrators only. Default: your own.' })),
});
type QuoteBody = typeof quoteBody.static;
type QuoteRequest = { requestId: string; body: QuoteBody; files: RequestOptions['files'] };

/** What a task would cost, for any signed-in user: nothing is sent, written or charged. */
export function priceQuoteRoutes(kit: Kit, { billing, surfaces }: { billing: Billing; surfaces: Surfaces }) {
  function chooseGroup(panel: PanelPrincipal, group = panel.user.group): string {
    if (group !== panel.user.group && !isAdmin(panel)) throw httpErrors.insufficient_privilege();
    return group;
  }

  function quoteFacts(panel: PanelPrincipal, body: QuoteBody, group: string) {
    return billing.quote({
      pluginKey: body.plugin_key ?? '*',
      model: body.model,
      upstreamModel: body.model,
      action: body.action ?? '',
      facts: (body.facts ?? {}) as JsonObject,
      group,
      isAdmin: isAdmin(panel),
      expression: body.expression,
    });
  }

  async function quote(panel: PanelPrincipal, { requestId, body, files }: QuoteRequest) {
    const group = chooseGroup(panel, body.group);
    if (body.expression !== undefined && !isRoot(panel)) throw httpErrors.insufficient_privilege();
    const { request, plugin_key: pluginKey, model, action = '' } = body;
    if (request === undefined) return quoteFacts(panel, body, group);
    if (body.facts) throw fieldError('facts', 'wrong_value', sentence('http.facts_or_request'));
    if (body.expression !== undefined) throw fieldError('expression', 'wrong_value', sentence('http.expression_facts'));
    if (pluginKey === undefined) throw fieldError('plugin_key', 'required', sentence('http.plugin_key_request'));
    const caller = { user: panel.user, key: null, walletId: panel.user.walletId, group };
    return surfaces.quote(caller, requestId, {
      pluginKey,
      model,
      action,
      request: request as JsonObject,
      files,
    });
  }

  return new Elysia({ normalize: false, tags: ['Prices'] }).use(kit).post(
    '/api/price/quote',
    async ({ body, panel, requestId, scope }) => {
      const files = scope.body?.extracted;
      const { usd, quota, steps, snapshot } = await quote(panel, { requestId, body, files });
      const { expression, groupRatio, facts } = snapshot;
      return ok({ usd, quota, group_ratio: groupRatio, expression, facts, steps });
    },
    {
      user: true,
      perUser: 'quote',
      bodyLimit: 'request',
      body: quoteBody,
      detail: {
        summary: 'Quote a task',
        description:
          'usd is before the group ratio; quota is the amount to reserve, 500,000 are one USD; steps is the expression with its values filled in. expression is null for a model without a price that you may still use. With request, the hooks of the plugin run as for a submission, and refuse what they would refuse there. Nothing is sent to a vendor, stored or charged. BILLING_MODEL_PRICE_ERROR (400): no price, or a usage fact is missing (details name it).',
      },
    },
  );
}

const MAX_PRICES = 200;
const MAX_GROUPS = 200;
const MAX_DAYS = 92;

/** What bills of the last days would have been under other prices. */
export function priceReplayRoutes(kit: Kit, { reports }: { reports: Pick<Reports, 'replayBills'> }) {
  return new Elysia({ normalize: false, tags: ['Prices'] }).use(kit).post(
    '/api/price/replay',
    async ({ body }) => {
      const found = await reports.replayBills({
        prices: (body.prices ?? []).map(({ plugin_key = '*', ...price }) => ({ pluginKey: plugin_key, ...price })),
        groupRatios: body.group_ratios ?? {},
        days: body.days ?? 30,
        after: body.after,
      });
      const { models, ...slice } = found;
      return ok({ ...slice, models: models.map(({ pluginKey, ...each }) => ({ plugin_key: pluginKey, ...each })) });
    },
    {
      root: true,
      bodyLimit: 'configuration',
      body: strictObject({
        prices: t.Optional(
          t.Array(
            strictObject({
              plugin_key: t.Optional(t.String({ minLength: 1, maxLength: 30 })),
              model: t.String({ minLength: 1, maxLength: 191 }),
              expression: t.String({ minLength: 1, maxLength: 10_000 }),
            }),
            { maxItems: MAX_PRICES },
          ),
        ),
        group_ratios: t.Optional(t.Record(t.String(), t.Number({ minimum: 0 }), { maxProperties: MAX_GROUPS })),
        days: t.Optional(integerSchema({ minimum: 1, maximum: MAX_DAYS, default: 30 })),
        after: t.Optional(t.String({ maxLength: 40, description: 'next of the previous slice.' })),
      }),
      detail: {
        summary: 'Replay recent bills with other prices',
        description:
          'Nothing is saved or charged. Each answer is a slice of at most 2,000 bills, the newest first, with sums of that slice alone: send its next as after until it is null, and add them up. tasks, before and after are of the bills that change; refused of those that the price cannot be computed for, whose request would have been refused. balance is what users who pay more have today.',
      },
    },
  );
}
