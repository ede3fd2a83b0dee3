import type { ModelCard as Model } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { guessMedium, type Medium } from '../playground/find-medium.ts';

export const mediumTexts = {
  video: 'models.medium.video',
  image: 'models.medium.image',
  music: 'models.medium.music',
  speech: 'models.medium.speech',
  sound: 'models.medium.sound',
  lyrics: 'models.medium.lyrics',
  text: 'models.medium.text',
} as const satisfies Record<Medium | 'text', TextKey>;
export type ModelMedium = keyof typeof mediumTexts;

/** What a model makes; relayed ones write. */
export function findModelMedium({ model, plugin_key: pluginKey, units }: Model): ModelMedium {
  if (pluginKey === null) return 'text';
  return guessMedium(model, Object.keys(units));
}

/** Several plugins may serve a model of the same name. */
export const modelKey = ({ plugin_key: pluginKey, model }: Pick<Model, 'plugin_key' | 'model'>): string =>
  `${pluginKey}/${model}`;

const orders: Readonly<Record<string, (one: Model, other: Model) => number>> = {
  // What is not known comes last.
  time: (one, other) => (one.usual_seconds ?? Number.MAX_VALUE) - (other.usual_seconds ?? Number.MAX_VALUE),
  success: (one, other) => (other.success_rate ?? -1) - (one.success_rate ?? -1),
};

/** A model that fails often is seen: at least every tenth time, or every other time. */
export const rateColor = (rate: number | null): string | undefined =>
  rate === null || rate >= 0.9 ? undefined : `var(--mantine-color-${rate >= 0.5 ? 'yellow-light-color' : 'error'})`;

/** The quickest first, or those that succeed most often; else as they come. */
export const sortModels = (models: readonly Model[], sort: string): readonly Model[] => {
  const order = orders[sort];
  return order === undefined ? models : models.toSorted(order);
};
