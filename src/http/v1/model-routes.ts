import { Elysia } from 'elysia';
import { taskErrors } from '../../tasks/index.ts';
import type { Kit } from '../pipeline/route-kit.ts';
import { answers, answersModels } from './answer-schemas.ts';
import { toCaller, type V1Deps } from './caller.ts';

type NamedModel = ReturnType<V1Deps['surfaces']['namedModels']>[number];

const modelObject = ({ id, ownedBy, createdAt }: NamedModel) => ({
  id,
  object: 'model' as const,
  created: createdAt,
  owned_by: ownedBy,
});

/** OpenAI's list of models: those that the API key may name on any surface. */
export function modelRoutes(kit: Kit, { surfaces }: V1Deps) {
  const find = (models: readonly NamedModel[], id: string) => {
    const found = models.find((model) => model.id === id);
    if (found) return modelObject(found);
    const message = `The model ${id} does not exist, or this API key may not use it.`;
    throw taskErrors.model_not_found({ message, param: 'model' });
  };
  const detail = { summary: 'Read a model', ...answers('The model', 'Model') };
  return new Elysia({ normalize: false, tags: ['Models'] })
    .use(kit)
    .get(
      '/v1/models',
      ({ api }) => ({ object: 'list' as const, data: surfaces.namedModels(toCaller(api)).map(modelObject) }),
      {
        apiKey: true,
        detail: { operationId: 'listModels', summary: 'List the models that the key may use', ...answersModels },
      },
    )
    .get('/v1/models/:model', ({ api, params }) => find(surfaces.namedModels(toCaller(api)), params.model), {
      apiKey: true,
      detail: { operationId: 'retrieveModel', ...detail },
    })
    .get(
      // Names may hold a slash or two, and not every client escapes it.
      '/v1/models/:model/:part',
      ({ api, params: { model, part } }) => find(surfaces.namedModels(toCaller(api)), `${model}/${part}`),
      { apiKey: true, detail },
    )
    .get(
      '/v1/models/:model/:part/:rest',
      ({ api, params: { model, part, rest } }) => find(surfaces.namedModels(toCaller(api)), `${model}/${part}/${rest}`),
      { apiKey: true, detail },
    );
}
