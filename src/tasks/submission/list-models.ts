import { mapModel, RELAY_TYPE, serves } from '../../channels/index.ts';
import type { Generation, LoadedPlugin } from '../../plugins/index.ts';
import { type ChannelRecord, ROLE } from '../../store/ports/index.ts';
import { RELAY_PLUGIN_KEY } from '../relay/relay-billing.ts';
import type { Caller, TaskDeps } from '../types.ts';
import { describeRequest, type RequestSchema } from './describe-request.ts';
import { findProtocolOwner } from './find-protocol-owner.ts';
import { findServedModel } from './find-served-model.ts';

/** A model that a user may request, with everything that a form for it needs. */
export type CallableModel = {
  plugin: LoadedPlugin;
  model: string;
  /** Actions that the plugin's native routes declare for it. */
  actions: string[];
  protoVideo: boolean;
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
export function listModels(deps: TaskDeps, caller: Caller): CallableModel[] {
  const pin = deps.pin();
  try {
    const { generation } = pin;
    return [...generation.plugins.values()]
      .sort((a, b) => b.manifest.sortPriority - a.manifest.sortPriority || (a.key < b.key ? -1 : 1))
      .flatMap((plugin) => modelsOf(deps, { caller, generation, plugin }));
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
};

/** The models that requests with the caller's key may name, once each, sorted by name. */
export function listNamedModels(deps: TaskDeps, caller: Caller): NamedModel[] {
  const isListed = (model: string) => (caller.key?.models ?? []).length === 0 || caller.key?.models.includes(model);
  const named = new Map<string, NamedModel>();
  const add = (id: string, ownedBy: string, createdAt: number): void => {
    const known = named.get(id);
    if (isListed(id))
      named.set(id, { id, ownedBy, ...known, createdAt: Math.min(createdAt, known?.createdAt ?? createdAt) });
  };
  for (const { plugin, model, blocked, since } of listModels(deps, caller)) {
    if (blocked !== 'no_price') add(model, plugin.manifest.name, since);
  }
  const relayed = { pluginKey: RELAY_PLUGIN_KEY, channelTypes: [RELAY_TYPE], group: caller.group, except: [] };
  const takesUnpriced = deps.billing.takesUnpriced(caller.user.role >= ROLE.admin);
  for (const channel of deps.channels.known()) {
    for (const model of channel.models) {
      if (!serves(channel, { ...relayed, model })) continue;
      const price = deps.billing.prices.find(RELAY_PLUGIN_KEY, model, mapModel(channel.modelMapping, model));
      if (price || takesUnpriced) add(model, 'relay', channel.createdAt);
    }
  }
  return [...named.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

type PluginListing = { caller: Caller; generation: Generation; plugin: LoadedPlugin };

function modelsOf(deps: TaskDeps, listing: PluginListing): CallableModel[] {
  const { caller, plugin } = listing;
  const { channelTypes } = plugin.manifest;
  const serving = new Map<string, ChannelRecord[]>();
  for (const channel of deps.channels.known()) {
    for (const model of channel.models) {
      const request = { pluginKey: plugin.key, channelTypes, model, group: caller.group, except: [] };
      if (serves(channel, request)) serving.set(model, [...(serving.get(model) ?? []), channel]);
    }
  }
  return [...serving]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([model, channels]) => describeModel(deps, { ...listing, model, channels }));
}

function describeModel(
  deps: TaskDeps,
  {
    caller,
    generation,
    plugin,
    model,
    channels,
  }: PluginListing & { model: string; channels: readonly ChannelRecord[] },
): CallableModel {
  const { manifest } = plugin;
  const { user } = caller;
  const claim = (protocol: 'proto_video' | 'proto_responses') => {
    // Checked first: finding the owner of an unclaimed name searches all channels.
    if (!manifest.protocols.some(({ name }) => name === protocol)) return undefined;
    const owner = findProtocolOwner(deps, { generation, protocol, model });
    return owner?.plugin.key === plugin.key ? owner.claim : undefined;
  };
  const served = findServedModel(deps, { plugin, caller, model });
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
    responseModes: claim('proto_responses')?.supports,
    native: routes.map(({ method, path }) => ({ method, path })),
    schema: describeRequest(manifest, { model, upstreamModel, protoVideo }),
    price,
    groupRatio: deps.billing.groupRatio(caller.group),
    blocked: plugin.suspended() ? 'plugin_suspended' : mayUse ? undefined : 'no_price',
    channels: channels.length,
    since: Math.min(...channels.map(({ createdAt }) => createdAt)),
  };
}
