import { Elysia } from 'elysia';
import type { Billing } from '../../../billing/index.ts';
import { findUsage } from '../../../plugins/index.ts';
import { RELAY_PLUGIN_KEY } from '../../../relay/index.ts';
import type { Reports } from '../../../reports/index.ts';
import type { CallableModel, Surfaces } from '../../../surfaces/index.ts';
import { isAdmin } from '../../pipeline/admit-request.ts';
import { type Kit, ok } from '../../pipeline/route-kit.ts';
import { describePrice, describeUse, FIGURE_DAYS, indexFigures } from '../../responses/describe-price.ts';
import { toPanelCaller } from './playground.ts';

type UsageExamples = CallableModel['plugin']['manifest']['usageExamples'];

const SAMPLE_FILE = 'https://example.com/file';
/** The most models that are listed; `total` counts all. */
const MAX_MODELS = 1000;

/** What a request must have besides `model` and `prompt`. */
const makeSample = ({ required, properties }: CallableModel['schema']): Record<string, string> =>
  Object.fromEntries(
    required.filter((name) => name !== 'model').map((name) => [name, properties[name]?.['x-example'] ?? SAMPLE_FILE]),
  );

/** The models that the caller may use, as cards: each with its price, time and success rate. */
export function modelCatalogRoutes(
  kit: Kit,
  { reports, surfaces, billing }: { reports: Reports; surfaces: Surfaces; billing: Billing },
) {
  return new Elysia({ normalize: false, tags: ['Tasks in the panel'] }).use(kit).get(
    '/api/model/catalog',
    async ({ panel }) => {
      const caller = toPanelCaller(panel);
      const { models: figures } = await reports.figures({ days: FIGURE_DAYS });
      const figuresByModel = indexFigures(figures);
      const ratio = billing.groupRatio(caller.group);
      const showsExpressions = isAdmin(panel);
      const estimatePrice = (expression: string | undefined, model: string, examples: UsageExamples = []) => {
        const { priced, ...price } = describePrice({ model, expression, ratio, examples });
        return { priced, expression: showsExpressions ? (expression ?? null) : null, ...price };
      };
      const describeFigures = (pluginKey: string, model: string) => {
        const found = figuresByModel.get(`${pluginKey}\n${model}`);
        return { ...describeUse(found), slow_seconds: found?.p95Seconds ?? null };
      };

      const offers = surfaces.models(caller).filter(({ blocked }) => blocked !== 'no_price');
      const own = offers.map(({ plugin, model, price, blocked, schema }) => ({
        model,
        plugin_key: plugin.key,
        plugin_name: plugin.manifest.name,
        description: plugin.manifest.description ?? null,
        icon: plugin.manifest.icon ?? null,
        /** Units of the facts that a price may count. */
        units: Object.fromEntries(
          Object.entries(findUsage(plugin.manifest, { model }).usageSchema).flatMap(([name, field]) =>
            field.kind === 'number' ? [[name, field.unit] as const] : [],
          ),
        ),
        labels: plugin.manifest.vendor?.labels ?? {},
        sample: makeSample(schema),
        price: estimatePrice(price, model, findUsage(plugin.manifest, { model }).usageExamples),
        ...describeFigures(plugin.key, model),
        suspended: blocked === 'plugin_suspended',
      }));
      const known = new Set(own.map(({ model }) => model));
      const relayed = surfaces
        .namedModels(caller)
        .filter(({ id, ownedBy }) => ownedBy === 'relay' && !known.has(id))
        .map(({ id, price }) => ({
          model: id,
          plugin_key: null,
          plugin_name: null,
          description: null,
          icon: null,
          units: {},
          labels: {},
          sample: {},
          price: estimatePrice(price, id),
          ...describeFigures(RELAY_PLUGIN_KEY, id),
          suspended: false,
        }));
      const all = [...own, ...relayed];
      return ok({ total: all.length, items: all.slice(0, MAX_MODELS) });
    },
    {
      user: true,
      detail: {
        summary: 'List your models with price, usual time and success rate',
        description: `Those of GET /v1/models for your group, at most ${MAX_MODELS}. plugin_key is null for a model that is passed on to a vendor. sample has the fields that a request must have besides model and prompt, with values for an example. price.priced is false for a model without a price: its calls cost nothing. price.expression is for administrators, null for others; price.summary is the price of your group in parts, null where it is more than an amount or a table of amounts, times facts; price.examples says then what the plugin's examples cost you; units has the units of those facts, labels their short names by locale. usual_seconds (the median), slow_seconds (the 95th percentile) and success_rate are of everybody, over ${FIGURE_DAYS} days; null where no task ended.`,
      },
    },
  );
}
