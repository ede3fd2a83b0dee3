import { mapModel, serves } from '../../channels/index.ts';
import {
  type Generation,
  type LoadedPlugin,
  type LocalizedText,
  NUMBER_LIMITS,
  type UsageField,
} from '../../plugins/index.ts';
import { type ChannelRecord, ROLE } from '../../store/ports/index.ts';
import type { Caller, TaskDeps } from '../types.ts';
import { findOwner } from './find-owner.ts';

/** One field of a request as JSON Schema has it; members that begin with `x-` are ours. */
export type SchemaField = {
  type: 'string' | 'number' | 'boolean';
  const?: string;
  enum?: string[];
  pattern?: string;
  minimum?: number;
  maximum?: number;
  'x-unit'?: 'second' | 'count';
  'x-description'?: LocalizedText;
  'x-enum-labels'?: Record<string, LocalizedText>;
};
export type RequestSchema = { type: 'object'; required: string[]; properties: Record<string, SchemaField> };

/** A model that a user may ask for, with all that a form for it can be made of. */
export type CallableModel = {
  plugin: LoadedPlugin;
  model: string;
  /** What native routes say that they do with it. */
  actions: string[];
  protoVideo: boolean;
  /** The forms of POST /v1/responses that the plugin answers; undefined: none. */
  responseModes: string[] | undefined;
  native: { method: string; path: string }[];
  schema: RequestSchema;
  /** The price expression; undefined without a price. */
  price: string | undefined;
  /** Why a submission would be refused now, whatever it asks for. */
  blocked: 'no_price' | 'plugin_suspended' | undefined;
  /** Enabled channels of the caller's group that serve it. */
  channels: number;
};

/** Every model that `caller` may ask a plugin for, by plugin and name. */
export function listModels(deps: TaskDeps, caller: Caller): CallableModel[] {
  const pin = deps.pin();
  try {
    const { generation } = pin;
    return [...generation.plugins.values()]
      .sort((a, b) => b.manifest.sortPriority - a.manifest.sortPriority || (a.key < b.key ? -1 : 1))
      .flatMap((plugin) => modelsOf(deps, caller, generation, plugin));
  } finally {
    pin.release();
  }
}

function modelsOf(deps: TaskDeps, caller: Caller, generation: Generation, plugin: LoadedPlugin): CallableModel[] {
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
    .map(([model, channels]) => describe(deps, caller, generation, plugin, model, channels));
}

function describe(
  deps: TaskDeps,
  { user }: Caller,
  generation: Generation,
  plugin: LoadedPlugin,
  model: string,
  channels: readonly ChannelRecord[],
): CallableModel {
  const { manifest } = plugin;
  const claim = (protocol: 'proto_video' | 'proto_responses') => {
    // Who owns a name that nobody claims is looked for in all channels.
    if (!manifest.protocols.some(({ name }) => name === protocol)) return undefined;
    const owner = findOwner(deps, generation, protocol, model);
    return owner?.plugin.key === plugin.key ? owner.claim : undefined;
  };
  const routes = manifest.routes.filter(
    ({ type, models }) => type !== 'query' && manifest.models.includes(model) && models?.includes(model) !== false,
  );
  // The first channel is as good as another: mappings of one name that lead to prices of their own
  // are told by the quote.
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
    schema: schemaOf(model, manifest.usageSchema, protoVideo),
    price,
    blocked: plugin.suspended() ? 'plugin_suspended' : mayUse ? undefined : 'no_price',
    channels: channels.length,
  };
}

/**
 * What a form can ask for. A manifest describes the facts that are billed and no request: the
 * prompt, those facts that plugins read from requests of the same field, and of a video protocol
 * the size. Plugins take more fields, and say what is missing or wrong.
 */
function schemaOf(model: string, usage: Record<string, UsageField>, protoVideo: boolean): RequestSchema {
  const properties: RequestSchema['properties'] = {
    model: { type: 'string', const: model },
    prompt: { type: 'string' },
    ...(protoVideo ? { size: { type: 'string', pattern: '^[0-9]+x[0-9]+$' } } : {}),
  };
  for (const [name, field] of Object.entries(usage)) {
    const schema = fieldOf(field);
    if (schema && !Object.hasOwn(properties, name)) properties[name] = schema;
  }
  return { type: 'object', required: ['model'], properties };
}

/** Undefined for what only a vendor can count. */
function fieldOf(field: UsageField): SchemaField | undefined {
  const text = field.description ? { 'x-description': field.description } : {};
  if (field.kind === 'boolean') return { type: 'boolean', ...text };
  if (field.kind === 'enum') return { type: 'string', enum: field.values, 'x-enum-labels': field.enumLabels, ...text };
  const { unit } = field;
  if (unit !== 'second' && unit !== 'count') return undefined;
  return { type: 'number', minimum: 0, maximum: NUMBER_LIMITS[unit], 'x-unit': unit, ...text };
}
