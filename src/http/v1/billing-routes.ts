import { Elysia, t } from 'elysia';
import type { ApiPrincipal } from '../../auth/index.ts';
import { createZoneClock, QUOTA_PER_USD, sentence } from '../../kernel/index.ts';
import type { UsageReport } from '../../reports/index.ts';
import { fieldError } from '../bodies/validation-errors.ts';
import { readDay } from '../pipeline/paging.ts';
import { type Kit, strictObject } from '../pipeline/route-kit.ts';
import { describePrice } from '../responses/describe-price.ts';
import { answersUsage } from './answer-schemas.ts';
import { toCaller, type V1Deps } from './route-dependencies.ts';

const toUsd = (quota: number): number => quota / QUOTA_PER_USD;

/** The days that are shown if no dates are given, today included. */
const DEFAULT_DAYS = 30;
const MAX_DAYS = 3660;
/** Keys without a limit show this one: no client of this form takes "no limit". */
const UNLIMITED_USD = 100_000_000;

const date = (description: string) => t.Optional(t.String({ maxLength: 10, description }));
const periodQuery = strictObject({
  from: date('The first day in UTC, such as 2026-11-26. Default: 30 days ago.'),
  to: date('The last day, included. Default: today.'),
});
const dashboardQuery = strictObject({
  start_date: date('The first day in UTC, such as 2026-11-26.'),
  end_date: date('The day after the last one.'),
});

type DashboardScope = { api: ApiPrincipal; query: { start_date?: string; end_date?: string } };

const subscription = {
  apiKey: true,
  detail: { summary: "Get this API key's spending limit (OpenAI dashboard format)" },
} as const;
const dashboardUsage = {
  apiKey: true,
  query: dashboardQuery,
  detail: { summary: "Get this API key's spend in US cents (OpenAI dashboard format)" },
} as const;
/** Chat apps ask below their base URL, which has no `/v1` in their settings. */
const formerly = <T extends { detail: { summary: string } }>(options: T) => ({
  ...options,
  detail: { ...options.detail, hide: true },
});

function describeSubscription({ unlimitedQuota, quota, usedQuota, expiresAt }: ApiPrincipal['key']) {
  const limit = unlimitedQuota ? UNLIMITED_USD : toUsd(quota + usedQuota);
  return {
    object: 'billing_subscription' as const,
    has_payment_method: true,
    soft_limit_usd: limit,
    hard_limit_usd: limit,
    system_hard_limit_usd: limit,
    /** Unix seconds; 0: never. */
    access_until: expiresAt,
  };
}

/** What an API key spends, also in the forms of other gateways and of OpenAI's former dashboard. */
export function billingRoutes(kit: Kit, { surfaces, prices: { reports, groupRatio, clock } }: V1Deps) {
  const today = (): number => createZoneClock('UTC').toDay(clock.unix());

  /** What was used with the key itself. `from`: the field that names the first day. */
  function readUsage(
    api: Parameters<typeof toCaller>[0],
    { fromDay, toDay, from }: { fromDay: number; toDay: number; from: 'from' | 'start_date' },
  ): Promise<UsageReport> {
    if (fromDay > toDay) throw fieldError(from, 'wrong_value', sentence('http.from_to'));
    if (toDay - fromDay >= MAX_DAYS) throw fieldError(from, 'wrong_value', sentence('http.period', { max: MAX_DAYS }));
    return reports.usage({
      period: { fromDay, toDay, zone: 'UTC' },
      by: 'model',
      only: { userId: api.user.id, apiKeyId: api.key.id },
    });
  }

  const sumUsage = async ({ api, query: { start_date: start, end_date: end } }: DashboardScope) => {
    const object = 'list' as const;
    // In US cents.
    if (!start && !end) return { object, total_usage: 100 * toUsd(api.key.usedQuota) };
    const toDay = end ? readDay('end_date', end) - 1 : today();
    const fromDay = start ? readDay('start_date', start) : toDay - DEFAULT_DAYS + 1;
    const days = { fromDay, toDay: Math.max(fromDay, toDay), from: 'start_date' as const };
    const { totals } = await readUsage(api, days);
    return { object, total_usage: 100 * toUsd(totals.spend) };
  };

  return new Elysia({ normalize: false, tags: ['Usage'] })
    .use(kit)
    .get(
      '/v1/usage',
      async ({ api, query: { from, to } }) => {
        const toDay = to ? readDay('to', to) : today();
        const fromDay = from ? readDay('from', from) : toDay - DEFAULT_DAYS + 1;
        return describeUsage(await readUsage(api, { fromDay, toDay, from: 'from' }));
      },
      {
        apiKey: true,
        query: periodQuery,
        detail: {
          operationId: 'readUsage',
          summary: "Get this API key's spend by day and model",
          ...answersUsage,
        },
      },
    )
    .get('/v1/dashboard/billing/subscription', ({ api: { key } }) => describeSubscription(key), subscription)
    .get('/dashboard/billing/subscription', ({ api: { key } }) => describeSubscription(key), formerly(subscription))
    .get('/v1/dashboard/billing/usage', sumUsage, dashboardUsage)
    .get('/dashboard/billing/usage', sumUsage, formerly(dashboardUsage))
    .get(
      '/api/pricing',
      ({ api }) => {
        const { group } = toCaller(api);
        const ratio = groupRatio(group);
        return {
          success: true,
          data: surfaces.namedModels(toCaller(api)).map(({ id, ownedBy, price, endpoints, callable }) => {
            const examples = callable?.plugin.manifest.usageExamples ?? [];
            const described = describePrice({ model: id, expression: price, ratio: 1, examples });
            return {
              model_name: id,
              owner_by: ownedBy,
              ...describePricing(described),
              price: described,
              enable_groups: [group],
              supported_endpoint_types: endpoints,
            };
          }),
          group_ratio: { [group]: ratio },
          usable_group: { [group]: group },
          supported_endpoint: ENDPOINTS,
          vendors: [],
          auto_groups: [],
        };
      },
      {
        apiKey: true,
        detail: {
          summary: 'List models and prices of the API key in use (New API format)',
          description:
            'quota_type 0: model_ratio is the price of tokens, where 1 is 2 USD for a million. quota_type 1: model_price is USD for a request, of the first example where the price is more than an amount. price says it in parts.',
        },
      },
    );
}

const ENDPOINTS = {
  openai: { path: '/v1/chat/completions', method: 'POST' },
  'openai-response': { path: '/v1/responses', method: 'POST' },
  embeddings: { path: '/v1/embeddings', method: 'POST' },
  'image-generation': { path: '/v1/images/generations', method: 'POST' },
  'openai-video': { path: '/v1/videos', method: 'POST' },
  audio: { path: '/v1/audio/speech', method: 'POST' },
} as const;

/** A model ratio of 1 is 2 USD for a million tokens. */
const USD_PER_TOKEN = 2 / 1_000_000;

function describePricing({ summary, examples }: ReturnType<typeof describePrice>) {
  const isOfTokens = summary?.kind === 'amount' && summary.per.some((fact) => fact.endsWith('tokens'));
  if (isOfTokens)
    return { quota_type: 0, model_ratio: summary.usd / USD_PER_TOKEN, completion_ratio: 1, model_price: 0 };
  const amount = summary?.kind === 'amount' ? summary.usd : (summary?.rates[0]?.usd ?? examples[0]?.usd ?? 0);
  return { quota_type: 1, model_ratio: 0, completion_ratio: 0, model_price: amount };
}

type Sum = { spend: number; succeeded: number; failed: number };
const describeSum = ({ spend, succeeded, failed }: Sum) => ({ usd: toUsd(spend), succeeded, failed });

const describeUsage = ({ from, until, totals, points, daysPerPoint, shares, others }: UsageReport) => ({
  object: 'usage' as const,
  from,
  until,
  currency: 'USD' as const,
  ...describeSum(totals),
  days_per_point: daysPerPoint,
  points: points.map(({ at, ...sum }) => ({ at, ...describeSum(sum) })),
  models: shares.map(({ pluginKey, model, ...sum }) => ({ plugin: pluginKey, model, ...describeSum(sum) })),
  others: describeSum(others),
});
