import { Elysia, t } from 'elysia';
import { type Billing, findProblem, findUnpriced, type OfferedModel } from '../../../billing/index.ts';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
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

/** Prices of models. The plugin key `*` means every plugin. */
export function priceRoutes(
  kit: Kit,
  { billing, offeredModels, audit }: { billing: Billing; offeredModels: () => OfferedModel[]; audit: RecordAudit },
) {
  const { prices } = billing;
  const describeWithProblem = (price: Price, models: readonly OfferedModel[]) => ({
    ...describePrice(price),
    problem: findProblem(price, prices, models) ?? null,
  });
  const find = (pluginKey: string, model: string) =>
    prices.all().find((price) => price.pluginKey === pluginKey && price.model === model);

  return new Elysia({ normalize: false, tags: ['Prices'] })
    .use(kit)
    .get(
      '/api/price',
      ({ query }) => {
        const models = offeredModels();
        const page = slicePage(readPage(query), [...prices.all()].sort(byKey));
        return ok({ ...page, items: page.items.map((price) => describeWithProblem(price, models)) });
      },
      {
        root: true,
        query: strictObject(pageQuery),
        detail: {
          summary: 'Prices',
          description:
            'problem is null, or says why a price is unused or fails: code (unreadable, plugin_gone, model_gone, facts_gone), message, and the facts that no plugin declares.',
        },
      },
    )
    .get(
      '/api/price/missing',
      () =>
        ok(findUnpriced(prices, offeredModels()).map(({ pluginKey, models }) => ({ plugin_key: pluginKey, models }))),
      {
        root: true,
        detail: {
          summary: 'Models without a price, by plugin',
          description:
            'offered: an enabled channel lists the model, so clients can request it. The option billing.unpriced decides who may use it without a price.',
        },
      },
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
        bodyLimit: 'configuration',
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
    );
}
