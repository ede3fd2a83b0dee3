import type { CallableModel } from '../../api/types.ts';

/** The model that a URL or a task names; `plugin` is null if any plugin will do. */
export type RequestedModel = { model: string; plugin: string | null };

/**
 * `unavailable` names the requested model if another one was selected, possibly at another price.
 */
export type OfferSelection = { offer: CallableModel; unavailable: string | null };

/** The key of an offer: several plugins may offer the same model. */
export const offerKey = ({ plugin_key, model }: Pick<CallableModel, 'plugin_key' | 'model'>): string =>
  `${plugin_key}/${model}`;

export const isSameModel = (one: RequestedModel | null, other: RequestedModel | null): boolean =>
  one?.model === other?.model && one?.plugin === other?.plugin;

export function readRequestedModel(params: URLSearchParams): RequestedModel | null {
  const model = params.get('model');
  return model === null ? null : { model, plugin: params.get('plugin') };
}

/**
 * Selects the requested model, else the same model of another plugin, else `fallback`, else the
 * first available offer. `offers` must not be empty.
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
