import { Elysia, t } from 'elysia';
import type { Reports } from '../../../reports/index.ts';
import { integerSchema, type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';

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
        after: t.Optional(t.String({ maxLength: 40, description: 'next of the slice before.' })),
      }),
      detail: {
        summary: 'Replay the bills of the last days with other prices',
        description:
          'Nothing is saved or charged. Each answer is a slice of at most 2,000 bills, the newest first, with sums of that slice alone: send its next as after until it is null, and add them up. tasks, before and after are of the bills that change; refused of those that the price cannot be computed for, whose request would have been refused. balance is what users who pay more have today.',
      },
    },
  );
}
