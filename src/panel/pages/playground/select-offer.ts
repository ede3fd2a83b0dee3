import type { CallableModel } from '../../api/types.ts';

/** The model that an address or a task names; of any plugin where it names none. */
export type Wish = { model: string; plugin: string | null };

/** `missing` names what was wished for where the offer is another one, at another price perhaps. */
export type Choice = { offer: CallableModel; missing: string | null };

/** Names an offer among all: the same model may be offered by several plugins. */
export const offerKey = ({ plugin_key, model }: Pick<CallableModel, 'plugin_key' | 'model'>): string =>
  `${plugin_key}/${model}`;

export const isSameWish = (one: Wish | null, other: Wish | null): boolean =>
  one?.model === other?.model && one?.plugin === other?.plugin;

export function readWish(params: URLSearchParams): Wish | null {
  const model = params.get('model');
  return model === null ? null : { model, plugin: params.get('plugin') };
}

/**
 * What was wished for, else the model of another plugin, else `otherwise`, else the first that can
 * be used. There is always one.
 */
export function chooseOffer(offers: readonly CallableModel[], wish: Wish | null, otherwise?: CallableModel): Choice {
  const alike = offers.filter(({ model }) => model === wish?.model);
  const met = wish?.plugin == null ? alike[0] : alike.find(({ plugin_key }) => plugin_key === wish.plugin);
  const offer = met ?? alike[0] ?? otherwise ?? offers.find(({ blocked }) => blocked === null) ?? offers[0];
  return { offer: offer as CallableModel, missing: wish === null || met !== undefined ? null : nameWish(wish) };
}

const nameWish = ({ model, plugin }: Wish): string => (plugin === null ? model : `${model} (${plugin})`);
