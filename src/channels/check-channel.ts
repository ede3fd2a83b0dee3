import {
  hasHiddenCharacters,
  isObject,
  type JsonObject,
  parseJson,
  type Sentence,
  sentence,
  trimTrailing,
} from '../kernel/index.ts';
import {
  boundPluginKeys,
  type DeclaredLimit,
  type DeclaredLimits,
  type EnabledStatus,
  GATEWAY_TYPE,
  MAX_BASE_URL,
  RELAY_TYPE,
} from '../store/ports/index.ts';
import { channelErrors } from './errors.ts';

/** A channel bound to a plugin by `task_plugin_key` (specification, "Channels"). */
export const TASK_PLUGIN_TYPE = 61;

export type CredentialInput = {
  key: string;
  label?: string | undefined;
  /** Empty: it shares the limit of its channel. */
  pool?: string | undefined;
  status?: EnabledStatus | undefined;
  /** Unix seconds; 0: it does not end. */
  expiresAt?: number | undefined;
};

export type ChannelInput = {
  name: string;
  type: number;
  /** Its only key; several are `credentials`. */
  key?: string | undefined;
  credentials?: CredentialInput[] | undefined;
  baseUrl?: string;
  models: string[];
  groups?: string[];
  priority?: number;
  weight?: number;
  modelMapping?: Record<string, string>;
  taskPluginKey?: string;
  settings?: JsonObject;
  status?: EnabledStatus;
  /** A proxy with its credentials, `direct` for none, or empty for the gateway's. */
  proxy?: string;
  /** A value of null stays as it was. */
  headers?: Record<string, string | null>;
  bodyDefaults?: JsonObject | null;
  /** null: nothing is declared. */
  limits?: DeclaredLimits | null;
  /** Empty: it shares its limit with no other channel. */
  pool?: string;
  /** Whether channels of a lower priority serve while it has no room. */
  spill?: boolean;
};

/** `keyFormat`: how the vendor's keys usually look. */
type ChannelPlugin = { key: string; baseUrl?: string; keyFormat?: string; addressesGateways?: boolean };

/** What the plugin room knows about plugins that channels depend on. */
export type PluginLookup = {
  /** `undefined`: no such plugin is installed. */
  plugin(key: string): ChannelPlugin | undefined;
  /** The plugin that declares a legacy channel type. */
  byChannelType(type: number): ChannelPlugin | undefined;
};

/** The plugin that serves channels of this binding. */
export const boundPlugin = (
  lookup: PluginLookup,
  { type, taskPluginKey }: { type: number; taskPluginKey?: string | null | undefined },
): ChannelPlugin | undefined => {
  // The key is the gateway's, whatever those of the plugin's vendor look like.
  if (type === GATEWAY_TYPE) return undefined;
  return taskPluginKey ? lookup.plugin(taskPluginKey) : lookup.byChannelType(type);
};

const MAX_NAME = 64;
const MAX_KEY = 16 * 1024;
const MAX_MODELS = 1000;
/**
 * The longest base URL that is parsed. Normalising changes its length: escapes in the path make it
 * longer, removed trailing slashes shorter.
 */
export const MAX_TYPED_BASE_URL = 1000;

const invalid = (param: string, message: Sentence) => channelErrors.invalid({ param, message });

/** `former`: the stored name, which may stay as it is. */
export function checkName(name: string, former?: string): string {
  const trimmed = name.trim();
  if (trimmed === '' || [...trimmed].length > MAX_NAME) {
    throw invalid('name', sentence('channels.name_length', { max: MAX_NAME }));
  }
  rejectHiddenCharacters('name', trimmed, [former]);
  return trimmed;
}

const MAX_LABEL = 64;

export function checkLabel(label: string): string {
  const trimmed = label.trim();
  if ([...trimmed].length > MAX_LABEL || hasHiddenCharacters(trimmed))
    throw invalid('label', sentence('channels.label_length', { max: MAX_LABEL }));
  return trimmed;
}

function rejectHiddenCharacters(param: string, name: string, former: readonly (string | undefined)[]): void {
  if (hasHiddenCharacters(name) && !former.includes(name))
    throw invalid(param, sentence('channels.hidden_characters', { field: param }));
}

/** `format`: how keys of the vendor look, for the refusal. The vendor alone checks a key's form. */
export function checkKey(key: string, format?: string): string {
  if (key.trim() === '' || key.length > MAX_KEY) {
    const max = MAX_KEY;
    const rule =
      format === undefined
        ? sentence('channels.key_length', { max })
        : sentence('channels.key_length_of', { max, format });
    throw invalid('key', rule);
  }
  return key.trim();
}

/** RFC 9110 5.5, and within Latin-1: what a header can carry. */
const NO_HEADER_CHARACTER = /[^\t\x20-\x7e\xa0-\xff]/;

/**
 * A key as it is entered: one that no header can carry was damaged when it was copied. A service
 * account's key is JSON.
 */
export function checkEnteredKey(key: string, format?: string): string {
  const checked = checkKey(key, format);
  if (NO_HEADER_CHARACTER.test(checked) && !isObject(parseJson(checked)))
    throw invalid('key', sentence('channels.key_characters'));
  return checked;
}

/** Ends of addresses that people copy from examples: each is one call, and nothing follows it. */
const CALL =
  /\/(?:(?:chat\/)?completions|responses|embeddings|moderations|messages|models|rerank|videos|images\/(?:generations|edits|variations)|audio\/(?:speech|transcriptions|translations))$/;

/**
 * Where a vendor's OpenAI-compatible API begins: the address itself if it names a version
 * (`/api/v3`, `/v1beta/openai`), else `/v1` below it. Administrators enter both.
 */
export const findApiAddress = (baseUrl: string): string =>
  new URL(baseUrl).pathname.split('/').some((segment) => /^v\d+(?:\.\d+)?(?:(?:alpha|beta)\d*)?$/.test(segment))
    ? baseUrl
    : `${baseUrl}/v1`;

/**
 * Normalises a base URL: lower-case host, no credentials, query or fragment, no trailing slash.
 * Private and plain-http addresses are allowed.
 * @throws `channels.invalid`
 */
export function checkBaseUrl(baseUrl: string): string {
  if (baseUrl.length > MAX_TYPED_BASE_URL)
    throw invalid('base_url', sentence('channels.address_length', { max: MAX_BASE_URL }));
  let url: URL;
  try {
    url = new URL(baseUrl.trim());
  } catch {
    throw invalid('base_url', sentence('channels.address_absolute'));
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw invalid('base_url', sentence('channels.address_scheme'));
  if (url.username || url.password) throw invalid('base_url', sentence('channels.address_credentials'));
  if (url.search || url.hash) throw invalid('base_url', sentence('channels.address_query'));
  const normal = `${url.origin}${trimTrailing(url.pathname, '/')}`;
  if (normal.length > MAX_BASE_URL)
    throw invalid('base_url', sentence('channels.address_length', { max: MAX_BASE_URL }));
  return normal;
}

/** The longest time that a vendor may take to find a new task. */
const MAX_GRACE_SECONDS = 86_400;

/** As other hosts of the plugin contract have it. */
export const MAX_SCRIPT_BYTES = 32 * 1024;
const MAX_ALERT_USD = 1_000_000_000;

/** Checks the members that the gateway reads itself; the plugin reads all others. */
export function checkSettings(settings: JsonObject): JsonObject {
  const { not_found_grace_seconds: grace, task_extend_plugin_keys: keys } = settings;
  const { balance_script: script = '', balance_alert_usd: alert = 0 } = settings;
  if (typeof script !== 'string' || Buffer.byteLength(script) > MAX_SCRIPT_BYTES)
    throw invalid('settings.balance_script', sentence('channels.balance_script', { max: MAX_SCRIPT_BYTES }));
  if (typeof alert !== 'number' || !(alert >= 0 && alert <= MAX_ALERT_USD))
    throw invalid('settings.balance_alert_usd', sentence('channels.balance_alert', { max: MAX_ALERT_USD }));
  if (keys !== undefined && !(Array.isArray(keys) && keys.every((key) => typeof key === 'string')))
    throw invalid('settings.task_extend_plugin_keys', sentence('channels.plugin_keys'));
  const isFit = Number.isInteger(grace) && Number(grace) >= 0 && Number(grace) <= MAX_GRACE_SECONDS;
  if (grace !== undefined && !isFit)
    throw invalid('settings.not_found_grace_seconds', sentence('channels.grace_range', { max: MAX_GRACE_SECONDS }));
  return settings;
}

/** `former`: the stored names, which may stay as they are. */
export function checkNames(param: 'models' | 'groups', values: string[], former: readonly string[] = []): string[] {
  const trimmed = values.map((value) => value.trim());
  if (trimmed.length === 0) throw invalid(param, sentence('channels.list_empty', { field: param }));
  if (trimmed.length > MAX_MODELS)
    throw invalid(param, sentence('channels.list_max', { field: param, max: MAX_MODELS }));
  if (trimmed.some((value) => value === ''))
    throw invalid(param, sentence('channels.list_empty_entry', { field: param }));
  if (new Set(trimmed).size !== trimmed.length) throw invalid(param, sentence('channels.list_twice', { field: param }));
  for (const name of trimmed) rejectHiddenCharacters(param, name, former);
  return trimmed;
}

/** `former`: the stored mapping, whose names may stay as they are. */
export function checkMapping(
  mapping: Record<string, string>,
  former: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const known = Object.entries(former).flat();
  for (const [from, to] of Object.entries(mapping)) {
    if (from.trim() === '' || typeof to !== 'string' || to.trim() === '') {
      throw invalid('model_mapping', sentence('channels.mapping_names'));
    }
    for (const name of [from, to]) rejectHiddenCharacters('model_mapping', name, known);
  }
  refuseCycles(mapping);
  return mapping;
}

/** Each name is followed once, so that a long chain costs linear time. */
function refuseCycles(mapping: Record<string, string>): void {
  const ended = new Set<string>();
  for (const from of Object.keys(mapping)) {
    const walk = new Set<string>();
    let name = from;
    while (Object.hasOwn(mapping, name) && !ended.has(name)) {
      walk.add(name);
      const next = mapping[name] as string;
      if (next === name) break;
      if (walk.has(next)) throw cycleAt(next);
      name = next;
    }
    for (const each of walk) ended.add(each);
  }
}

const cycleAt = (name: string) => invalid('model_mapping', sentence('channels.mapping_cycle', { model: name }));

/**
 * Follows a mapping to its end, so that a → b → c gives c.
 * @throws `channels.invalid` for a cycle
 */
export function mapModel(mapping: Record<string, string>, model: string): string {
  const seen = new Set<string>();
  let name = model;
  while (Object.hasOwn(mapping, name)) {
    const next = mapping[name] as string;
    if (next === name) break;
    if (seen.has(name)) throw cycleAt(name);
    seen.add(name);
    name = next;
  }
  return name;
}

/**
 * Checks type, plugin binding and base URL together. Returns the URL to store and where it came
 * from.
 * @throws `channels.invalid`
 */
export function checkBinding(
  lookup: PluginLookup,
  input: { type: number; taskPluginKey: string | null; baseUrl: string; settings: JsonObject },
): { taskPluginKey: string | null; baseUrl: string; baseUrlSource: 'given' | 'plugin_default' } {
  const given = input.baseUrl.trim();
  let fallback: string | undefined;
  let taskPluginKey: string | null = null;
  if (input.type === TASK_PLUGIN_TYPE) {
    if (!input.taskPluginKey) throw invalid('task_plugin_key', sentence('channels.plugin_needed'));
    const plugin = lookup.plugin(input.taskPluginKey);
    if (!plugin) throw invalid('task_plugin_key', sentence('channels.plugin_missing', { plugin: input.taskPluginKey }));
    taskPluginKey = input.taskPluginKey;
    fallback = plugin.baseUrl;
  } else if (input.type === GATEWAY_TYPE) {
    const keys = boundPluginKeys(input);
    if (keys.length === 0) throw invalid('task_plugin_key', sentence('channels.plugin_needed'));
    for (const key of keys) {
      const plugin = lookup.plugin(key);
      const param = key === input.taskPluginKey ? 'task_plugin_key' : 'settings.task_extend_plugin_keys';
      if (!plugin) throw invalid(param, sentence('channels.plugin_missing', { plugin: key }));
      if (!plugin.addressesGateways) throw invalid(param, sentence('channels.plugin_of_vendor', { plugin: key }));
    }
    taskPluginKey = input.taskPluginKey;
  } else {
    if (input.taskPluginKey) throw invalid('task_plugin_key', sentence('channels.plugin_unwanted'));
    const declared = lookup.byChannelType(input.type);
    if (!declared && input.type !== RELAY_TYPE) {
      throw invalid('type', sentence('channels.type_unknown', { type: input.type }));
    }
    fallback = declared?.baseUrl;
  }
  if (given !== '') {
    const baseUrl = checkBaseUrl(given);
    const call = CALL.exec(baseUrl)?.[0];
    if (call !== undefined) throw invalid('base_url', sentence('channels.address_call', { call }));
    return { taskPluginKey, baseUrl, baseUrlSource: 'given' };
  }
  if (!fallback) throw invalid('base_url', sentence('channels.address_needed'));
  return { taskPluginKey, baseUrl: fallback, baseUrlSource: 'plugin_default' };
}

const MAX_POOL = 64;
const HIGHEST_LIMIT = 1_000_000;

/**
 * What an account may run, as the operator says.
 * @throws `channels.invalid`
 */
export function checkLimits(limits: DeclaredLimits | null): DeclaredLimits | null {
  if (limits === null) return null;
  const { models = {}, ...whole } = limits;
  const names = Object.keys(models);
  if (names.length > MAX_MODELS)
    throw invalid('limits.models', sentence('channels.list_max', { field: 'limits.models', max: MAX_MODELS }));
  const checked = names.map((name) => {
    if (name.trim() === '')
      throw invalid('limits.models', sentence('channels.list_empty_entry', { field: 'limits.models' }));
    return [name, checkLimit(models[name] ?? {}, `limits.models.${name}`)] as const;
  });
  const given = checked.filter(([, limit]) => Object.keys(limit).length > 0);
  const limit: DeclaredLimits = checkLimit(whole, 'limits');
  if (given.length > 0) limit.models = Object.fromEntries(given);
  return Object.keys(limit).length === 0 ? null : limit;
}

function checkLimit({ maxRunning, maxPerMinute, burst }: DeclaredLimit, param: string): DeclaredLimit {
  const fields = { max_running: maxRunning, max_per_minute: maxPerMinute, burst };
  for (const [field, value] of Object.entries(fields)) {
    const isFit = value === undefined || (Number.isInteger(value) && value >= 1 && value <= HIGHEST_LIMIT);
    if (!isFit)
      throw invalid(
        `${param}.${field}`,
        sentence('channels.limit_range', { field: `${param}.${field}`, max: HIGHEST_LIMIT }),
      );
  }
  if (burst !== undefined && (maxPerMinute === undefined || burst > maxPerMinute)) {
    throw invalid(`${param}.burst`, sentence('channels.limit_burst', { field: `${param}.burst` }));
  }
  return {
    ...(maxRunning === undefined ? {} : { maxRunning }),
    ...(maxPerMinute === undefined ? {} : { maxPerMinute }),
    ...(burst === undefined ? {} : { burst }),
  };
}

/** @throws `channels.invalid` */
export function checkPool(pool: string): string {
  const name = pool.trim();
  if (name.length > MAX_POOL || name.startsWith('#') || hasHiddenCharacters(name))
    throw invalid('pool', sentence('channels.pool_name', { max: MAX_POOL }));
  return name;
}
