import { Elysia } from 'elysia';
import { type Billing, type OfferedModel, summarizePrice } from '../../../billing/index.ts';
import type { Manifest, PluginService } from '../../../plugins/index.ts';
import { pluginErrors } from '../../../plugins/index.ts';
import { type Kit, ok } from '../../pipeline/route-kit.ts';

type PluginPricesDeps = { billing: Billing; plugins: PluginService; offeredModels: () => OfferedModel[] };

/** What a table of prices for all models of a plugin needs. */
export function pluginPriceRoutes(kit: Kit, { billing, plugins, offeredModels }: PluginPricesDeps) {
  return new Elysia({ normalize: false, tags: ['Prices'] }).use(kit).get(
    '/api/price/plugin/:key',
    ({ params }) => {
      const manifest = plugins.current().plugins.get(params.key)?.manifest;
      if (!manifest) throw pluginErrors.not_found();
      const models = Map.groupBy(
        offeredModels().filter(({ pluginKey }) => pluginKey === params.key),
        ({ model }) => model,
      );
      const { listPrices } = manifest.vendor ?? {};
      return ok({
        plugin_key: params.key,
        plugin_name: manifest.name,
        facts: describeFacts(manifest),
        list_prices: listPrices ? { url: listPrices.url ?? null, as_of: listPrices.asOf ?? null } : null,
        models: [...models]
          .map(([model, offers]) => ({
            model,
            offered: offers.some(({ offered }) => offered),
            price: describePrice(findPrice(billing, params.key, offers)),
            list_price: describePrice(ownEntry(listPrices?.models, offers[0]?.upstreamModel ?? model)),
          }))
          .sort((a, b) => Number(b.offered) - Number(a.offered) || (a.model < b.model ? -1 : 1)),
      });
    },
    {
      root: true,
      detail: {
        summary: 'The prices of all models of a plugin, beside those of its vendor',
        description:
          'facts are what a price can depend on. price and list_price have the expression and, where it is an amount or a table of amounts times facts, a summary. list_price is what the plugin tells of the vendor; nothing is charged by it. offered: an enabled channel lists the model.',
      },
    },
  );
}

const findPrice = ({ prices }: Billing, pluginKey: string, offers: readonly OfferedModel[]): string | undefined =>
  offers.map(({ model, upstreamModel }) => prices.find(pluginKey, model, upstreamModel)).find((found) => found)?.row
    .expression;

const describePrice = (expression: string | undefined) =>
  expression === undefined ? null : { expression, summary: summarizePrice(expression) };

const ownEntry = (entries: Record<string, string> | undefined, name: string): string | undefined =>
  entries && Object.hasOwn(entries, name) ? entries[name] : undefined;

/** The facts in their order: `unit` of numbers, `values` of what a table can list. */
const describeFacts = ({ usageSchema }: Manifest) =>
  Object.entries(usageSchema).map(([name, field]) => ({
    name,
    description: field.description ?? null,
    unit: field.kind === 'number' ? field.unit : null,
    values: field.kind === 'enum' ? field.values : field.kind === 'boolean' ? ['true', 'false'] : [],
  }));
