import type { CallableModel } from '../../api/types.ts';

/** The model that an address or a task names; of any plugin where it names none. */
export type RequestedModel = { model: string; plugin: string | null };

/** `unavailable` names what was wished for where the offer is another one, at another price perhaps. */
export type OfferSelection = { offer: CallableModel; unavailable: string | null };

/** Names an offer among all: the same model may be offered by several plugins. */
export const offerKey = ({ plugin_key, model }: Pick<CallableModel, 'plugin_key' | 'model'>): string =>
  `${plugin_key}/${model}`;

export const isSameModel = (one: RequestedModel | null, other: RequestedModel | null): boolean =>
  one?.model === other?.model && one?.plugin === other?.plugin;

export function readRequestedModel(params: URLSearchParams): RequestedModel | null {
  const model = params.get('model');
  return model === null ? null : { model, plugin: params.get('plugin') };
}

/**
 * What was wished for, else the model of another plugin, else `otherwise`, else the first that can
 * be used. There is always one.
 */
export function selectOffer(
  offers: readonly CallableModel[],
  requested: RequestedModel | null,
  fallback?: CallableModel,
): OfferSelection {
  const sameModel = offers.filter(({ model }) => model === requested?.model);
  const exactMatch =
    requested?.plugin == null ? sameModel[0] : sameModel.find(({ plugin_key }) => plugin_key === requested.plugin);
  const offer = exactMatch ?? sameModel[0] ?? fallback ?? offers.find(({ blocked }) => blocked === null) ?? offers[0];
  return {
    offer: offer as CallableModel,
    unavailable: requested === null || exactMatch !== undefined ? null : modelLabel(requested),
  };
}

const modelLabel = ({ model, plugin }: RequestedModel): string => (plugin === null ? model : `${model} (${plugin})`);
