import { Elysia, t } from 'elysia';
import { type Billing, findProblem, findUnpriced, type OfferedModel, summarizePrice } from '../../../billing/index.ts';
import { type Manifest, type PluginService, pluginErrors } from '../../../plugins/index.ts';
import type { Reports } from '../../../reports/index.ts';
import { pageQuery, readPage, slicePage } from '../../pipeline/paging.ts';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import type { RecordAudit } from '../record-audit.ts';

type Price = ReturnType<Billing['prices']['all']>[number];

const describePrice = (price: Price) => ({
  plugin_key: price.pluginKey,
  model: price.model,
  expression: price.expression,
  updated_at: price.updatedAt,
});

type PriceDeps = {
  billing: Billing;
  plugins: PluginService;
  offeredModels: () => OfferedModel[];
  audit: RecordAudit;
};
type Fact = ReturnType<typeof describeFacts>[number];

const byKey = (a: Price, b: Price): number =>
  a.pluginKey < b.pluginKey || (a.pluginKey === b.pluginKey && a.model < b.model) ? -1 : 1;

/** Prices of models. The plugin key `*` means every plugin. */
export function priceRoutes(kit: Kit, { billing, plugins, offeredModels, audit }: PriceDeps) {
  const { prices } = billing;
  /** Facts of the plugin that the price is for, or of the first one that serves its model. */
  const findFacts = ({ pluginKey, model }: Price, models: readonly OfferedModel[]): Fact[] => {
    const key = pluginKey === '*' ? models.find((each) => each.model === model)?.pluginKey : pluginKey;
    const manifest = plugins.current().plugins.get(key ?? '')?.manifest;
    return manifest ? describeFacts(manifest) : [];
  };
  const describeInFull = (price: Price, models: readonly OfferedModel[]) => {
    const summary = summarizePrice(price.expression);
    const used = summary === null ? [] : [...summary.per, ...(summary.kind === 'table' ? [summary.by] : [])];
    return {
      ...describePrice(price),
      summary,
      facts: findFacts(price, models).filter(({ name }) => used.includes(name)),
      problem: findProblem(price, prices, models) ?? null,
    };
  };
  const find = (pluginKey: string, model: string) =>
    prices.all().find((price) => price.pluginKey === pluginKey && price.model === model);

  return new Elysia({ normalize: false, tags: ['Prices'] })
    .use(kit)
    .get(
      '/api/price',
      ({ query }) => {
        const models = offeredModels();
        const page = slicePage(readPage(query), [...prices.all()].sort(byKey));
        return ok({ ...page, items: page.items.map((price) => describeInFull(price, models)) });
      },
      {
        root: true,
        query: strictObject(pageQuery),
        detail: {
          summary: 'List prices',
          description:
            'summary: the amount, or table of amounts, times facts, or null; facts: those that it names. problem is null, or says why a price is unused or fails: code (unreadable, plugin_gone, model_gone, facts_gone), message, and the facts that no plugin declares.',
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
          summary: 'List models without a price, by plugin',
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
            description: 'USD as one expression over u("field"), model and action, for example 0.05 * u("seconds").',
          }),
        }),
        detail: { summary: "Set a model's price" },
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
        detail: { summary: 'Delete a price' },
      },
    );
}

type PluginPricesDeps = {
  billing: Billing;
  plugins: PluginService;
  offeredModels: () => OfferedModel[];
  reports: Pick<Reports, 'figures'>;
};

/** The days whose revenue stands beside a price. */
const REVENUE_DAYS = 30;

/** What a table of prices for all models of a plugin needs. */
export function pluginPriceRoutes(kit: Kit, { billing, plugins, offeredModels, reports }: PluginPricesDeps) {
  const describePlugin = (key: string, manifest: Manifest, every: ReadonlyMap<string, OfferedModel[]>) => {
    const { listPrices } = manifest.vendor ?? {};
    return {
      plugin_key: key,
      plugin_name: manifest.name,
      facts: describeFacts(manifest),
      list_prices: listPrices ? { url: listPrices.url ?? null, as_of: listPrices.asOf ?? null } : null,
      models: [...every]
        .map(([model, all]) => ({ model, all, offers: all.filter(({ pluginKey }) => pluginKey === key) }))
        .filter(({ offers }) => offers.length > 0)
        .map(({ model, all, offers }) => ({
          model,
          offered: offers.some(({ offered }) => offered),
          price: describeExpression(findPrice(billing, key, offers)),
          list_price: describeExpression(ownEntry(listPrices?.models, offers[0]?.upstreamModel ?? model)),
          others: listOtherPrices(billing, key, all),
        }))
        .sort((a, b) => Number(b.offered) - Number(a.offered) || (a.model < b.model ? -1 : 1)),
    };
  };
  const byModel = () => Map.groupBy(offeredModels(), ({ model }) => model);

  return new Elysia({ normalize: false, tags: ['Prices'] })
    .use(kit)
    .get(
      '/api/price/sheet',
      async () => {
        const { models: figures } = await reports.figures({ days: REVENUE_DAYS });
        const revenue = new Map(figures.map(({ pluginKey, model, spend }) => [`${pluginKey}\n${model}`, spend]));
        const every = byModel();
        return ok(
          [...plugins.current().plugins]
            .map(([key, { manifest }]) => describePlugin(key, manifest, every))
            .filter(({ models }) => models.length > 0)
            .map(({ models, ...plugin }) => ({
              ...plugin,
              models: models.map((each) => ({
                ...each,
                revenue: revenue.get(`${plugin.plugin_key}\n${each.model}`) ?? 0,
              })),
            })),
        );
      },
      {
        root: true,
        detail: {
          summary: "Get all plugins' prices, list prices and revenue",
          description: `As GET /api/price/plugin/{key} for each plugin that serves models. revenue: quota that was charged in the last ${REVENUE_DAYS} days.`,
        },
      },
    )
    .get(
      '/api/price/plugin/:key',
      ({ params }) => {
        const manifest = plugins.current().plugins.get(params.key)?.manifest;
        if (!manifest) throw pluginErrors.not_found();
        return ok(describePlugin(params.key, manifest, byModel()));
      },
      {
        root: true,
        detail: {
          summary: "Get a plugin's model prices and the vendor's list prices",
          description:
            'facts are what a price can depend on. price and list_price have the expression and, where it is an amount or a table of amounts times facts, a summary. list_price is what the plugin tells of the vendor; nothing is charged by it. others: the prices of the other plugins that serve the model. offered: an enabled channel lists the model.',
        },
      },
    );
}

const findPrice = ({ prices }: Billing, pluginKey: string, offers: readonly OfferedModel[]): string | undefined =>
  offers.map(({ model, upstreamModel }) => prices.find(pluginKey, model, upstreamModel)).find((found) => found)?.row
    .expression;

/** What the other plugins that serve a model charge for it. */
const listOtherPrices = (billing: Billing, pluginKey: string, offers: readonly OfferedModel[]) =>
  [...Map.groupBy(offers, (offer) => offer.pluginKey)].flatMap(([key, own]) =>
    key === null || key === pluginKey
      ? []
      : [{ plugin_key: key, price: describeExpression(findPrice(billing, key, own)) }],
  );

const describeExpression = (expression: string | undefined) =>
  expression === undefined ? null : { expression, summary: summarizePrice(expression) };

const ownEntry = (entries: Record<string, string> | undefined, name: string): string | undefined =>
  entries && Object.hasOwn(entries, name) ? entries[name] : undefined;

/** The facts of all models in their order: `unit` of numbers, `values` of what a table can list. */
const describeFacts = ({ usageSchema, usageProfiles, vendor }: Manifest) =>
  Object.entries(
    Object.assign({}, ...usageProfiles.map((usage) => usage.usageSchema), usageSchema) as typeof usageSchema,
  ).map(([name, field]) => ({
    name,
    label: vendor?.labels?.[name] ?? null,
    description: field.description ?? null,
    unit: field.kind === 'number' ? field.unit : null,
    unit_label: (field.kind === 'number' && field.unitLabel) || null,
    values: field.kind === 'enum' ? field.values : field.kind === 'boolean' ? ['true', 'false'] : [],
  }));
