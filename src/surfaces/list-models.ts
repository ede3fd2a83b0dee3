import { mapModel, RELAY_TYPE, serves } from '../channels/index.ts';
import {
  chooseRange,
  type FactRange,
  findDriver,
  findUsage,
  type Generation,
  type LoadedPlugin,
  type LocalizedText,
  type Manifest,
  NUMBER_LIMITS,
  type ProtocolName,
  type RequestInput,
  type UsageField,
} from '../plugins/index.ts';
import { RELAY_PLUGIN_KEY } from '../relay/index.ts';
import { type ChannelRecord, ROLE, STATUS } from '../store/ports/index.ts';
import { type Caller, findProtocolOwners } from '../tasks/index.ts';
import { billsLength, mayMakeImages } from './find-artifact-plugin.ts';
import type { SurfaceDeps } from './types.ts';

/** A model that a user may request, with everything that a form for it needs. */
export type CallableModel = {
  plugin: LoadedPlugin;
  model: string;
  /** Actions that the plugin's native routes declare for it. */
  actions: string[];
  protoVideo: boolean;
  /** It claims the image API of the host: generations, and edits where it knows them. */
  protoImage: boolean;
  /** It takes requests for images: it claims them, or its artifacts may be images. */
  takesImages: boolean;
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

function listEndpoints(model: CallableModel): string[] {
  const { plugin, protoVideo, protoImage, takesImages, responseModes } = model;
  const { hasArtifacts, usageSchema } = plugin.manifest;
  // What has a length and is not counted in images is rather sound.
  const isSound = !takesImages || (billsLength(usageSchema) && !protoImage && !Object.hasOwn(usageSchema, 'images'));
  const others = hasArtifacts ? [isSound ? 'audio' : 'image-generation'] : [];
  const files = protoVideo ? ['openai-video'] : others;
  const images = protoImage && !files.includes('image-generation') ? ['image-generation'] : [];
  return [...files, ...images, ...(responseModes ? ['openai-response'] : []), 'task'];
}

/** A relay takes what its vendor takes; name and price say what that is. */
function relayEndpoints(model: string, expression = ''): string[] {
  if (/embed/i.test(model)) return ['embeddings'];
  if (/whisper|transcri|tts|speech/i.test(model)) return ['audio'];
  if (/gpt-image|dall-e/i.test(model)) return ['image-generation'];
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
  const protoImage = claim('proto_image') !== undefined;
  return {
    plugin,
    model,
    actions: [...new Set(routes.flatMap(({ action }) => action ?? []))],
    protoVideo,
    protoImage,
    takesImages: protoImage || mayMakeImages(manifest, { model, upstreamModel }),
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

/** One field of a request in JSON Schema; members that begin with `x-` are our extensions. */
type SchemaField = {
  type: 'string' | 'number' | 'boolean';
  const?: string;
  enum?: string[] | number[];
  pattern?: string;
  minimum?: number;
  maximum?: number;
  multipleOf?: number;
  /** `plugin`: the range is the plugin's own, not that of every plugin. */
  'x-range'?: 'plugin';
  'x-unit'?: 'second' | 'count';
  /** What a count counts, such as `image`. */
  'x-unit-label'?: LocalizedText;
  /** A field that is not a fact: a text, or a file as a URL or data URL. */
  'x-input'?: RequestInput['type'];
  'x-example'?: string;
  'x-description'?: LocalizedText;
  'x-enum-labels'?: Record<string, LocalizedText>;
};
type RequestSchema = { type: 'object'; required: string[]; properties: Record<string, SchemaField> };

type RequestedModel = {
  model: string;
  /** What the channel maps it to: the name that the plugin knows. */
  upstreamModel: string;
  protoVideo: boolean;
};

/**
 * The fields that a form can offer. A manifest describes billed facts, not requests. So the schema
 * has the prompt, the plugin's `inputs`, the facts that plugins read from request fields of the
 * same name, and the size for video protocols. The plugin's `ranges` say what it takes of a fact,
 * and which facts no request states. Plugins take more fields, and report what is missing or wrong.
 */
function describeRequest(
  { usageSchema, vendor }: Pick<Manifest, 'usageSchema' | 'vendor'>,
  { model, upstreamModel, protoVideo }: RequestedModel,
): RequestSchema {
  const names = [upstreamModel, model];
  const inputs = Object.entries(vendor?.inputs ?? {}).filter(
    ([name, { models }]) => !RESERVED.has(name) && (!models || names.some((each) => models.includes(each))),
  );
  const properties: RequestSchema['properties'] = {
    model: { type: 'string', const: model },
    prompt: { type: 'string' },
    ...Object.fromEntries(inputs.map(([name, input]) => [name, inputField(input)])),
    ...(protoVideo && !Object.hasOwn(usageSchema, 'size') ? { size: SIZE } : {}),
  };
  for (const [name, field] of Object.entries(usageSchema)) {
    const range = chooseRange(vendor?.ranges?.[name], names);
    const schema = range === null ? undefined : describeField(field, range);
    if (schema && !Object.hasOwn(properties, name)) properties[name] = schema;
  }
  const required = inputs.flatMap(([name, input]) => (input.required ? [name] : []));
  return { type: 'object', required: ['model', ...required], properties };
}

const RESERVED: ReadonlySet<string> = new Set(['model', 'prompt']);

const inputField = ({ type, description, example }: RequestInput): SchemaField => ({
  type: 'string',
  'x-input': type,
  ...(description && { 'x-description': description }),
  ...(example !== undefined && { 'x-example': example }),
});

const SIZE: SchemaField = { type: 'string', pattern: '^[0-9]+x[0-9]+$' };

/** The field's schema; undefined for quantities that only a vendor can count. */
function describeField(field: UsageField, range: FactRange): SchemaField | undefined {
  const text = field.description ? { 'x-description': field.description } : {};
  if (field.kind === 'boolean') return { type: 'boolean', ...text };
  if (field.kind === 'enum') {
    const taken = range.kind === 'values' ? field.values.filter((value) => range.values.includes(value)) : [];
    const values = taken.length === 0 ? field.values : taken;
    return { type: 'string', enum: values, 'x-enum-labels': field.enumLabels, ...text };
  }
  const { unit, unitLabel } = field;
  if (unit !== 'second' && unit !== 'count') return undefined;
  const counted = unitLabel ? { 'x-unit-label': unitLabel } : {};
  return { type: 'number', ...describeLimits(range, NUMBER_LIMITS[unit]), 'x-unit': unit, ...counted, ...text };
}

function describeLimits(range: FactRange, limit: number): Partial<SchemaField> {
  if (range.kind === 'any') return { minimum: 0, maximum: limit };
  if (range.kind === 'numbers') {
    const { minimum, maximum, whole } = range;
    return { minimum, maximum, ...(whole ? { multipleOf: 1 } : {}), 'x-range': 'plugin' };
  }
  const values = range.values.filter((value) => typeof value === 'number').toSorted((a, b) => a - b);
  if (values.length === 0) return { minimum: 0, maximum: limit };
  return { minimum: Math.min(...values), maximum: Math.max(...values), enum: values, 'x-range': 'plugin' };
}
