import { Elysia, t } from 'elysia';
import type { Billing } from '../../billing/index.ts';
import type { JsonObject } from '../../kernel/index.ts';
import { type Kit, ok, strictObject } from '../kit.ts';
import { pageQuery, readPage, slicePage } from '../paging.ts';
import type { RecordAudit } from '../record-audit.ts';

type Price = ReturnType<Billing['prices']['all']>[number];

const describePrice = (price: Price) => ({
  plugin_key: price.pluginKey,
  model: price.model,
  expression: price.expression,
  updated_at: price.updatedAt,
});

const byKey = (a: Price, b: Price): number =>
  a.pluginKey < b.pluginKey || (a.pluginKey === b.pluginKey && a.model < b.model) ? -1 : 1;

/** What models cost. `*` as plugin key stands for every plugin. */
export function priceRoutes(kit: Kit, { billing, audit }: { billing: Billing; audit: RecordAudit }) {
  const { prices } = billing;
  const find = (pluginKey: string, model: string) =>
    prices.all().find((price) => price.pluginKey === pluginKey && price.model === model);

  return new Elysia({ normalize: false, tags: ['Prices'] })
    .use(kit)
    .get(
      '/api/price',
      ({ query }) => ok(slicePage(readPage(query), [...prices.all()].sort(byKey).map(describePrice))),
      { root: true, query: strictObject(pageQuery), detail: { summary: 'Prices' } },
    )
    .put(
      '/api/price',
      async ({ body, panel, origin }) => {
        const pluginKey = body.plugin_key ?? '*';
        const before = find(pluginKey, body.model);
        const after = describePrice(await prices.save({ pluginKey, model: body.model, expression: body.expression }));
        await audit(
          { panel, origin },
          {
            action: 'price.save',
            target: `price:${pluginKey}/${body.model}`,
            detail: { before: before ? describePrice(before) : null, after },
          },
        );
        return ok(after);
      },
      {
        root: true,
        body: strictObject({
          plugin_key: t.Optional(t.String({ minLength: 1, maxLength: 30 })),
          model: t.String({ minLength: 1, maxLength: 191 }),
          expression: t.String({
            minLength: 1,
            maxLength: 10_000,
            description: 'USD as one expression over u("field"), model and action, for instance 0.05 * u("seconds").',
          }),
        }),
        detail: { summary: 'Set the price of a model' },
      },
    )
    .delete(
      '/api/price',
      async ({ query, panel, origin }) => {
        const pluginKey = query.plugin_key ?? '*';
        const before = find(pluginKey, query.model);
        await prices.delete(pluginKey, query.model);
        await audit(
          { panel, origin },
          {
            action: 'price.delete',
            target: `price:${pluginKey}/${query.model}`,
            detail: { before: before ? describePrice(before) : null },
          },
        );
        return ok(null);
      },
      {
        root: true,
        query: strictObject({ plugin_key: t.Optional(t.String()), model: t.String() }),
        detail: { summary: 'Remove a price' },
      },
    )
    .post(
      '/api/price/quote',
      ({ body, panel }) => {
        const { usd, quota } = billing.quote({
          pluginKey: body.plugin_key ?? '*',
          model: body.model,
          upstreamModel: body.model,
          action: body.action ?? '',
          facts: body.facts as JsonObject,
          group: panel.user.group,
          isAdmin: true,
        });
        return ok({ usd, quota });
      },
      {
        root: true,
        body: strictObject({
          plugin_key: t.Optional(t.String()),
          model: t.String(),
          action: t.Optional(t.String()),
          facts: t.Record(t.String(), t.Unknown()),
        }),
        detail: { summary: 'What a task with these usage facts would cost' },
      },
    );
}
