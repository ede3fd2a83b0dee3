import { Elysia, t } from 'elysia';
import { RELAY_PLUGIN_KEY } from '../../relay/index.ts';
import type { NamedModel } from '../../surfaces/index.ts';
import { taskErrors } from '../../tasks/index.ts';
import type { Kit } from '../pipeline/route-kit.ts';
import { describePrice, describeUse, FIGURE_DAYS, indexFigures } from '../responses/describe-price.ts';
import { answers, answersModels } from './answer-schemas.ts';
import { toCaller, type V1Deps } from './route-dependencies.ts';

const modelObject = ({ id, ownedBy, createdAt, endpoints }: NamedModel) => ({
  id,
  object: 'model' as const,
  created: createdAt,
  owned_by: ownedBy,
  supported_endpoint_types: endpoints,
});

/** Programs add parameters of their own, such as their version, which OpenAI's list ignores. */
const detailQuery = t.Object(
  {
    detail: t.Optional(
      t.Union([t.Literal('true'), t.Literal('false')], { description: 'true: also inputs, price and usual time.' }),
    ),
  },
  { additionalProperties: true },
);
type ModelScope = { api: Parameters<typeof toCaller>[0]; query: typeof detailQuery.static };

/** OpenAI's list of models: those that the API key may name on any surface. */
export function modelRoutes(kit: Kit, { surfaces, prices: { reports, groupRatio } }: V1Deps) {
  async function list({ api, query }: ModelScope) {
    const caller = toCaller(api);
    const named = surfaces.namedModels(caller);
    if (query.detail !== 'true') return named.map(modelObject);
    const figures = indexFigures((await reports.figures({ days: FIGURE_DAYS })).models);
    return named.map((model) => describeModel(model, { figures, ratio: groupRatio(caller.group) }));
  }
  async function find(scope: ModelScope, id: string) {
    const found = (await list(scope)).find((model) => model.id === id);
    if (found) return found;
    const message = `The model ${id} does not exist, or this API key may not use it.`;
    throw taskErrors.model_not_found({ message, param: 'model' });
  }
  const summary = 'Get a model; ?detail=true adds its inputs, price and usual time';
  const detail = { summary, ...answers('The model', 'Model') };
  const reading = { apiKey: true, query: detailQuery, detail } as const;
  const routes = new Elysia({ normalize: false, tags: ['Models'] })
    .use(kit)
    .get('/v1/models', async (scope) => ({ object: 'list' as const, data: await list(scope) }), {
      apiKey: true,
      query: detailQuery,
      detail: { operationId: 'listModels', summary: 'List models', ...answersModels },
    })
    .get('/v1/models/:model', (scope) => find(scope, scope.params.model), {
      ...reading,
      detail: { operationId: 'retrieveModel', ...detail },
    })
    // Names may hold slashes, and not every client escapes them.
    .get('/v1/models/:model/:part', (scope) => find(scope, `${scope.params.model}/${scope.params.part}`), reading)
    .get(
      '/v1/models/:model/:part/:rest',
      (scope) => find(scope, `${scope.params.model}/${scope.params.part}/${scope.params.rest}`),
      reading,
    );
  for (let more = 1; more <= MORE_PARTS; more += 1) {
    const names = ['model', 'part', 'rest', ...Array.from({ length: more }, (_, at) => `rest${at + 1}`)];
    const path: string = `/v1/models/${names.map((name) => `:${name}`).join('/')}`;
    const read = (scope: ModelScope & { params: Record<string, string> }) =>
      find(scope, names.map((name) => scope.params[name] ?? '').join('/'));
    routes.get(path, read, { apiKey: true, query: detailQuery, detail: { hide: true } });
  }
  return routes;
}

/** Parts of a name beyond three: `fal-ai/kling-video/v2.6/pro/text-to-video` has two of them. */
const MORE_PARTS = 4;

type Described = { figures: ReturnType<typeof indexFigures>; ratio: number };

/** Adds what a form, a budget and a progress bar need. */
function describeModel(model: NamedModel, { figures, ratio }: Described) {
  const { id, price: expression, callable } = model;
  const { key = RELAY_PLUGIN_KEY, manifest } = callable?.plugin ?? {};
  const examples = manifest?.usageExamples ?? [];
  return {
    ...modelObject(model),
    plugin: callable ? key : null,
    description: manifest?.description ?? null,
    inputs: callable?.schema ?? null,
    price: { currency: 'USD' as const, ...describePrice({ model: id, expression, ratio, examples }) },
    ...describeUse(figures.get(`${key}\n${id}`)),
  };
}
