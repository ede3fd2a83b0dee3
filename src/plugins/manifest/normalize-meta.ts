import type {
  Meta,
  Route,
  UsageExample,
  UsageProfile,
  UsageField as WrittenField,
  LocalizedText as WrittenText,
} from '../../../contracts/v1.d.ts';
import schema from '../../../contracts/v1.schema.json' with { type: 'json' };
import { isObject, type Json } from '../../kernel/index.ts';
import type { LocalizedText, Manifest, ProtocolClaim, ResponsesMode, UsageDeclaration, UsageField } from '../types.ts';
import { normalizeAllowedHost, normalizeBaseUrl } from './addresses.ts';
import { pointer } from './faults.ts';
import { toTextMap } from './localized-text.ts';
import { canonicalProtocol } from './protocol-aliases.ts';

const MODE_ORDER: readonly ResponsesMode[] = ['stream', 'sync', 'background'];

const trimmed = (names: readonly string[]): string[] => names.map((name) => name.trim());

const toDescription = (text: WrittenText | undefined): { description?: LocalizedText } =>
  text === undefined ? {} : { description: toTextMap(text) };

/** The internal form of a usage field that passed the schema. */
export function toUsageField(field: WrittenField): UsageField {
  const description = toDescription(field.description);
  if ('enum' in field) {
    const labels = Object.entries(field.enumLabels ?? {}).map(([value, label]) => [value, toTextMap(label)] as const);
    return { kind: 'enum', values: [...field.enum], enumLabels: Object.fromEntries(labels), ...description };
  }
  return field.type === 'number'
    ? {
        kind: 'number',
        unit: field.unit,
        ...(field.unitLabel === undefined ? {} : { unitLabel: toTextMap(field.unitLabel) }),
        ...description,
      }
    : { kind: 'boolean', ...description };
}

/** `Object.fromEntries` keeps a field called `__proto__` a field. */
const toUsageFields = (schema: Meta['usageSchema']): Record<string, UsageField> =>
  Object.fromEntries(Object.entries(schema ?? {}).map(([name, field]) => [name, toUsageField(field)]));

const toUsage = (schema: Meta['usageSchema'], examples: Meta['usageExamples']): UsageDeclaration => ({
  usageSchema: toUsageFields(schema),
  usageExamples: (examples ?? []).map(({ label, facts }) => ({ label: label.trim(), facts })),
});

const toHost = (entry: string): string => {
  const host = normalizeAllowedHost(entry);
  return host.ok ? host.value : entry;
};

const toBaseUrl = (text: string): string => {
  const url = normalizeBaseUrl(text);
  return url.ok ? url.value : text;
};

/** `writtenAs`: the protocol's name as the plugin spelled it. */
function toClaim(entry: NonNullable<Meta['protocols']>[number], writtenAs: string, models: string[]): ProtocolClaim {
  if (typeof entry === 'string') return { name: entry, writtenAs, supports: [], models };
  const supports = entry.name === 'proto_responses' ? entry.supports : [];
  return {
    name: entry.name,
    writtenAs,
    supports: MODE_ORDER.filter((mode) => supports.includes(mode)),
    models: entry.models ? trimmed(entry.models) : models,
  };
}

/**
 * The manifest of a checked `meta` whose protocol aliases are translated. `written`: the names of
 * the protocols as the plugin spelled them, by position.
 */
export function toManifest(meta: Meta, written: readonly string[], hasArtifacts: boolean): Manifest {
  const models = trimmed(meta.models);
  return {
    apiVersion: 1,
    key: meta.key,
    name: meta.name.trim(),
    version: meta.version,
    author: { name: meta.author.name.trim(), ...(meta.author.url === undefined ? {} : { url: meta.author.url }) },
    models,
    fetchMode: meta.fetchMode,
    ...(meta.icon ? { icon: meta.icon } : {}),
    ...toDescription(meta.description),
    sortPriority: meta.sortPriority ?? 0,
    ...(meta.website ? { website: meta.website } : {}),
    ...(meta.baseUrl === undefined ? {} : { baseUrl: toBaseUrl(meta.baseUrl) }),
    allowedHosts: (meta.allowedHosts ?? []).map(toHost),
    channelTypes: [...(meta.channelTypes ?? [])],
    protocols: (meta.protocols ?? []).map((entry, index) => toClaim(entry, written[index] ?? '', models)),
    routes: (meta.routes ?? []).map((route) => ({
      ...route,
      retainResult: route.type === 'query' || route.retainResult !== false,
      taskIdParam: (route.type === 'query' && route.taskIdParam) || 'task_id',
      ...('models' in route && route.models ? { models: trimmed(route.models) } : {}),
    })),
    ...toUsage(meta.usageSchema, meta.usageExamples),
    usageProfiles: (meta.usageProfiles ?? []).map((profile) => ({
      models: trimmed(profile.models),
      ...toUsage(profile.schema, profile.examples),
    })),
    addressesGateways: meta.upstreams?.includes('new_api') ?? false,
    submitResponseTypes: meta.submitResponseTypes ?? ['json'],
    requiredCapabilities: [...(meta.requiredCapabilities ?? [])],
    auth: meta.auth as Json | undefined,
    hasArtifacts,
    newerNames: findNewerNames(meta),
  };
}

/**
 * A manifest in the contract's form, with every text as a map, for the API. Checking it again gives
 * the same manifest.
 */
export function publishMeta(manifest: Manifest): Meta {
  const { protocols, routes, usageSchema, usageExamples, usageProfiles, ...others } = manifest;
  const { auth, hasArtifacts: _, newerNames: _newer, vendor: _vendor, addressesGateways, ...rest } = others;
  const published = publishUsage({ usageSchema, usageExamples });
  return {
    ...rest,
    protocols: protocols.map(({ name, supports, models }) =>
      name === 'proto_responses' ? { name, supports, models } : { name, models },
    ),
    routes: routes.map(({ taskIdParam, retainResult, ...route }) =>
      route.type === 'query' ? { ...route, taskIdParam } : { ...route, ...(retainResult ? {} : { retainResult }) },
    ) as Route[],
    usageSchema: published.schema,
    usageExamples: published.examples,
    usageProfiles: usageProfiles.map(({ models, ...usage }) => ({ models, ...publishUsage(usage) })),
    submitResponseTypes: [...manifest.submitResponseTypes],
    upstreams: addressesGateways ? ['vendor', 'new_api'] : ['vendor'],
    requiredCapabilities: manifest.requiredCapabilities as NonNullable<Meta['requiredCapabilities']>,
    ...(auth === undefined ? {} : { auth }),
  };
}

function publishUsage({ usageSchema, usageExamples }: UsageDeclaration): Omit<Required<UsageProfile>, 'models'> {
  const fields = Object.entries(usageSchema).map(([name, field]): [string, WrittenField] => {
    const { kind, ...members } = field;
    if (field.kind === 'enum') {
      const { values, enumLabels, description } = field;
      return [name, { enum: values, enumLabels, ...(description ? { description } : {}) }];
    }
    return [name, { type: kind, ...members } as WrittenField];
  });
  return { schema: Object.fromEntries(fields), examples: usageExamples as UsageExample[] };
}

type Properties = Readonly<Record<string, object>>;

const namesSince = (properties: Properties): string[] =>
  Object.entries(properties).flatMap(([name, property]) => ('x-since' in property ? [name] : []));

const META_NAMES = namesSince(schema.properties as Properties);
const ROUTE_NAMES = namesSince(schema.$defs.Route.properties as Properties);
const FIELD_NAMES = namesSince(schema.$defs.UsageField.properties as Properties);

/**
 * Pointers to what a manifest has that the first version of the contract did not: hosts that know
 * only that version refuse the plugin for it.
 */
function findNewerNames(meta: Meta): string[] {
  const within = (value: unknown, names: readonly string[], at: string): string[] =>
    isObject(value) ? names.filter((name) => Object.hasOwn(value, name)).map((name) => at + pointer(name)) : [];
  return [
    ...within(meta, META_NAMES, ''),
    ...Object.entries(meta.usageSchema ?? {}).flatMap(([name, field]) =>
      within(field, FIELD_NAMES, pointer('usageSchema', name)),
    ),
    ...(meta.routes ?? []).flatMap((route, index) => within(route, ROUTE_NAMES, pointer('routes', index))),
    ...(meta.protocols ?? []).flatMap((entry, index) =>
      canonicalProtocol(typeof entry === 'string' ? entry : entry.name) === 'proto_image'
        ? [pointer('protocols', index)]
        : [],
    ),
  ];
}
