import type { CallableModel, ModelCard } from '../../api/types.ts';
import { findMedium } from './find-medium.ts';
import { isFileInput } from './schema-fields.ts';

/** A first request: what is called, with what, and the member of the answer to print. */
export type Sample = { path: string; follow: string | null; result: 'id' | 'data'; body: Record<string, unknown> };

type SampleInput = {
  offers: readonly CallableModel[];
  /** The models of the catalogue, for their success rates. */
  cards: readonly Pick<ModelCard, 'plugin_key' | 'model' | 'success_rate'>[];
  /** Models that the key may use; empty: all. */
  allowed: readonly string[];
  prompt: string;
};

const needsFile = ({ schema }: CallableModel): boolean =>
  schema.required.some((name) => {
    const field = schema.properties[name];
    return field !== undefined && isFileInput(field);
  });

/**
 * The request that is most likely to succeed as it stands: of a model that the key may use, that
 * needs no file, has a price, has made something recently, and is called as with OpenAI's
 * libraries. null: the key can use no model that needs no file.
 */
export function chooseSample({ offers, cards, allowed, prompt }: SampleInput): Sample | null {
  const rates = new Map(cards.map((card) => [`${card.plugin_key}\n${card.model}`, card.success_rate ?? 0]));
  const points = (offer: CallableModel): number =>
    (rates.get(`${offer.plugin_key}\n${offer.model}`) ? 4 : 0) +
    (offer.price.priced ? 2 : 0) +
    (openAiSurface(offer) ? 1 : 0);
  const [best] = offers
    .filter((offer) => offer.blocked === null && !needsFile(offer))
    .filter(({ model }) => allowed.length === 0 || allowed.includes(model))
    .sort((one, other) => points(other) - points(one));
  if (best === undefined) return null;
  const body = sampleBody(best, prompt);
  return { ...(openAiSurface(best) ?? surfaceFor(best, body)), body };
}

/** A request for the model with what it requires. */
export function sampleBody({ model, schema }: CallableModel, prompt: string): Sample['body'] {
  const others = schema.required.filter((name) => name !== 'model' && name !== 'prompt');
  const values = others.map((name) => [name, schema.properties[name]?.['x-example'] ?? '-']);
  return { model, prompt, ...Object.fromEntries(values) };
}

/** Until there is a model to call: the names are those of the demo vendor. */
export const placeholderSample = (model = 'demo-video', prompt: string): Sample => ({
  ...{ path: '/v1/videos', follow: '/v1/videos/{task_id}', result: 'id' },
  body: { model, prompt },
});

/** The API of OpenAI where the model has one, else the gateway's own. */
export const surfaceFor = (offer: CallableModel, body: Sample['body']): Omit<Sample, 'body'> =>
  (Object.keys(body).every((name) => openAiFields.has(name)) ? openAiSurface(offer) : null) ?? {
    ...{ path: offer.surfaces.generic, follow: '/v1/tasks/{task_id}', result: 'id' },
  };

/** Other fields may have other names there. */
const openAiFields: ReadonlySet<string> = new Set(['model', 'prompt', 'size', 'seconds']);

function openAiSurface(offer: CallableModel): Omit<Sample, 'body'> | null {
  const { proto_video: videos, images } = offer.surfaces;
  if (videos !== null) return { path: videos, follow: `${videos}/{task_id}`, result: 'id' };
  return images !== null && findMedium(offer) === 'image' ? { path: images, follow: null, result: 'data' } : null;
}
