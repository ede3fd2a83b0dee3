import { mapModel, RELAY_TYPE, serves } from '../../channels/index.ts';
import { findDriver, findUsage, type Generation, type LoadedPlugin, type ProtocolName } from '../../plugins/index.ts';
import { RELAY_PLUGIN_KEY } from '../../relay/index.ts';
import { type ChannelRecord, ROLE, STATUS } from '../../store/ports/index.ts';
import { type Caller, findProtocolOwners } from '../../tasks/index.ts';
import type { SurfaceDeps } from '../types.ts';
import { describeRequest, type RequestSchema } from './describe-request.ts';

/** A model that a user may request, with everything that a form for it needs. */
export type CallableModel = {
  plugin: LoadedPlugin;
  model: string;
  /** Actions that the plugin's native routes declare for it. */
  actions: string[];
  protoVideo: boolean;
  /** It claims the image API of the host: generations, and edits where it knows them. */
  protoImage: boolean;
  /** Forms of POST /v1/responses that the plugin supports; undefined: none. */
  responseModes: string[] | undefined;
  native: { method: string; path: string }[];
  schema: RequestSchema;
  /** The price expression; undefined without a price. */
  price: string | undefined;
  /** What the caller's group pays, times the price. */
  groupRatio: number;
  /** Why any submission would be refused now. */
  blocked: 'no_price' | 'plugin_suspended' | undefined;
  /** Number of enabled channels in the caller's group that serve it. */
  channels: number;
  /** Unix seconds at which the first of them was created. */
  since: number;
};

/** All models that `caller` may request of plugins, sorted by plugin and name. */
export function listModels(deps: SurfaceDeps, caller: Caller): CallableModel[] {
  const pin = deps.pin();
  try {
    const { generation } = pin;
    const listing = new Map<string, ChannelRecord[]>();
    for (const channel of deps.vendors.channels.known()) {
      if (channel.status !== STATUS.enabled || !channel.groups.includes(caller.group)) continue;
      for (const model of channel.models) listing.set(model, [...(listing.get(model) ?? []), channel]);
    }
    return [...generation.plugins.values()]
      .sort((a, b) => b.manifest.sortPriority - a.manifest.sortPriority || (a.key < b.key ? -1 : 1))
      .flatMap((plugin) => listPluginModels(deps, { caller, generation, plugin, listing }));
  } finally {
    pin.release();
  }
}

/** A model that requests may name: a plugin's, or a relayed one. */
export type NamedModel = {
  id: string;
  /** The plugin's name; `relay` for models that are passed on to a vendor. */
  ownedBy: string;
  /** Unix seconds at which the first channel that serves it was created. */
  createdAt: number;
  /** The price expression; undefined without a price. */
  price: string | undefined;
  /** What it takes, in the words of the API that most model lists speak. */
  endpoints: string[];
  /** Everything that a form needs; for models of plugins. */
  callable?: CallableModel;
};

/** The models that requests with the caller's key may name, once each, sorted by name. */
export function listNamedModels(deps: SurfaceDeps, caller: Caller): NamedModel[] {
  const isListed = (model: string) => (caller.key?.models ?? []).length === 0 || caller.key?.models.includes(model);
  const named = new Map<string, NamedModel>();
  const add = (model: NamedModel): void => {
    const known = named.get(model.id);
    const createdAt = Math.min(model.createdAt, known?.createdAt ?? model.createdAt);
    if (isListed(model.id)) named.set(model.id, { ...(known ?? model), createdAt });
  };
  for (const callable of listModels(deps, caller)) {
    const { plugin, model: id, blocked, since: createdAt, price } = callable;
    const endpoints = listEndpoints(callable);
    if (!blocked) add({ id, ownedBy: plugin.manifest.name, createdAt, price, endpoints, callable });
  }
  const relayed = { pluginKey: RELAY_PLUGIN_KEY, channelTypes: [RELAY_TYPE], group: caller.group, except: [] };
  const takesUnpriced = deps.billing.takesUnpriced(caller.user.role >= ROLE.admin);
  for (const channel of deps.vendors.channels.known()) {
    for (const model of channel.models) {
      if (!serves(channel, { ...relayed, model })) continue;
      const price = deps.billing.prices.find(RELAY_PLUGIN_KEY, model, mapModel(channel.modelMapping, model));
      if (!price && !takesUnpriced) continue;
      const expression = price?.row.expression;
      const endpoints = relayEndpoints(model, expression);
      add({ id: model, ownedBy: 'relay', createdAt: channel.createdAt, price: expression, endpoints });
    }
  }
  return [...named.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

function listEndpoints({ plugin: { manifest }, protoVideo, protoImage, responseModes }: CallableModel): string[] {
  const hasSound = Object.entries(manifest.usageSchema).some(
    ([name, field]) => name === 'characters' || (field.kind === 'number' && field.unit === 'second'),
  );
  const files = protoVideo ? ['openai-video'] : manifest.hasArtifacts ? [hasSound ? 'audio' : 'image-generation'] : [];
  const images = protoImage && !files.includes('image-generation') ? ['image-generation'] : [];
  return [...files, ...images, ...(responseModes ? ['openai-response'] : []), 'task'];
}

/** A relay takes what its vendor takes; name and price say what that is. */
function relayEndpoints(model: string, expression = ''): string[] {
  if (/embed/i.test(model)) return ['embeddings'];
  if (/u\("images"\)/.test(expression)) return ['image-generation'];
  if (/u\("seconds"\)/.test(expression)) return ['openai-video'];
  return ['openai', 'openai-response'];
}

type PluginListing = {
  caller: Caller;
  generation: Generation;
  plugin: LoadedPlugin;
  /** The channels that the caller may use, by each model that they list. */
  listing: ReadonlyMap<string, readonly ChannelRecord[]>;
};

function listPluginModels(deps: SurfaceDeps, listing: PluginListing): CallableModel[] {
  const { generation, plugin } = listing;
  return [...listing.listing]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([model, listed]) => {
      const channels = listed.filter(
        (channel) => findDriver(generation, channel, mapModel(channel.modelMapping, model)) === plugin,
      );
      return channels.length === 0 ? [] : [describeModel(deps, { ...listing, model, channels })];
    });
}

function describeModel(
  deps: SurfaceDeps,
  {
    caller,
    generation,
    plugin,
    listing,
    model,
    channels,
  }: PluginListing & { model: string; channels: readonly ChannelRecord[] },
): CallableModel {
  const { manifest } = plugin;
  const { user } = caller;
  const claim = (protocol: ProtocolName) => {
    const known = () => listing.get(model) ?? [];
    const wanted = { generation, protocol, model, group: caller.group };
    return findProtocolOwners({ channels: { known } }, wanted).find((owner) => owner.plugin.key === plugin.key)?.claim;
  };
  const served = findServedModel(deps.vendors, { plugin, caller, model });
  const routes = manifest.routes.filter(
    ({ type, models }) => type !== 'query' && manifest.models.includes(served) && models?.includes(served) !== false,
  );
  // Any channel will do here. Where channels map the name to models with different prices, the
  // quote shows the right one.
  const upstreamModel = mapModel(channels[0]?.modelMapping ?? {}, model);
  const price = deps.billing.prices.find(plugin.key, model, upstreamModel)?.row.expression;
  const mayUse = price !== undefined || deps.billing.takesUnpriced(user.role >= ROLE.admin);
  const protoVideo = claim('proto_video') !== undefined;
  return {
    plugin,
    model,
    actions: [...new Set(routes.flatMap(({ action }) => action ?? []))],
    protoVideo,
    protoImage: claim('proto_image') !== undefined,
    responseModes: claim('proto_responses')?.supports,
    native: routes.map(({ method, path }) => ({ method, path })),
    schema: describeRequest(
      { ...manifest, ...findUsage(manifest, { model, upstreamModel }) },
      { model, upstreamModel, protoVideo },
    ),
    price,
    groupRatio: deps.billing.groupRatio(caller.group),
    blocked: plugin.suspended() ? 'plugin_suspended' : mayUse ? undefined : 'no_price',
    channels: channels.length,
    since: Math.min(...channels.map(({ createdAt }) => createdAt)),
  };
}

/**
 * The plugin's model behind a client's name: the name itself, or what a channel of the plugin that
 * the caller may use maps it to. Without either it is the name, which the plugin does not serve.
 */
export function findServedModel(
  { channels }: Pick<SurfaceDeps['vendors'], 'channels'>,
  { plugin, caller, model }: { plugin: LoadedPlugin; caller: Caller; model: string },
): string {
  const { models, channelTypes } = plugin.manifest;
  if (models.includes(model)) return model;
  const request = { pluginKey: plugin.key, channelTypes, model, group: caller.group, except: [] };
  for (const channel of channels.known()) {
    const mapped = serves(channel, request) ? mapModel(channel.modelMapping, model) : model;
    if (models.includes(mapped)) return mapped;
  }
  return model;
}
