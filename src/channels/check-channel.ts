import { HIDDEN_CHARACTERS_RULE, hasHiddenCharacters, type JsonObject, trimTrailing } from '../kernel/index.ts';
import type { EnabledStatus } from '../store/ports/index.ts';
import { channelErrors } from './errors.ts';

/** A channel bound to a plugin by `task_plugin_key` (specification, "Channels"). */
export const TASK_PLUGIN_TYPE = 61;
/** The OpenAI-compatible relay. */
export const RELAY_TYPE = 1;

export type ChannelInput = {
  name: string;
  type: number;
  key: string;
  baseUrl?: string;
  models: string[];
  groups?: string[];
  priority?: number;
  weight?: number;
  modelMapping?: Record<string, string>;
  taskPluginKey?: string;
  settings?: JsonObject;
  status?: EnabledStatus;
};

/** What the plugin room knows that a channel must agree with. */
export type PluginFacts = {
  /** undefined: no such plugin is installed. */
  plugin(key: string): { baseUrl?: string } | undefined;
  /** The plugin that declares a legacy channel type. */
  byChannelType(type: number): { key: string; baseUrl?: string } | undefined;
};

const MAX_NAME = 64;
const MAX_KEY = 16 * 1024;
const MAX_MODELS = 1000;
/**
 * `baseUrl` of a manifest is at most 191 characters; a channel's own address obeys the same rule.
 */
const MAX_BASE_URL = 191;
/**
 * Longest base URL as it is typed: an escaped path and trailing slashes make it shorter or longer
 * than it is stored.
 */
export const MAX_TYPED_BASE_URL = 1000;

const invalid = (param: string, message: string) => channelErrors.invalid({ param, message });

/** `former`: the name that is stored, which may stay. */
export function checkName(name: string, former?: string): string {
  const trimmed = name.trim();
  if (trimmed === '' || [...trimmed].length > MAX_NAME) {
    throw invalid('name', `name must have 1 to ${MAX_NAME} characters.`);
  }
  rejectHiddenCharacters('name', trimmed, [former]);
  return trimmed;
}

function rejectHiddenCharacters(param: string, name: string, former: readonly (string | undefined)[]): void {
  if (hasHiddenCharacters(name) && !former.includes(name)) throw invalid(param, `${param}: ${HIDDEN_CHARACTERS_RULE}`);
}

export function checkKey(key: string): string {
  if (key.trim() === '' || key.length > MAX_KEY) {
    throw invalid('key', `key must have 1 to ${MAX_KEY} characters: it is the vendor's credential.`);
  }
  return key.trim();
}

/**
 * Lower-case host, no credentials, query or fragment, no trailing slash. Private and plain-http
 * addresses are allowed.
 */
export function checkBaseUrl(baseUrl: string): string {
  if (baseUrl.length > MAX_TYPED_BASE_URL)
    throw invalid('base_url', `base_url must have at most ${MAX_BASE_URL} characters.`);
  let url: URL;
  try {
    url = new URL(baseUrl.trim());
  } catch {
    throw invalid('base_url', 'base_url must be an absolute address such as https://api.example.com.');
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw invalid('base_url', 'base_url must begin with http:// or https://.');
  if (url.username || url.password)
    throw invalid('base_url', 'base_url must not contain credentials; put them into key.');
  if (url.search || url.hash) throw invalid('base_url', 'base_url must not contain a query or a fragment.');
  const normal = `${url.origin}${trimTrailing(url.pathname, '/')}`;
  if (normal.length > MAX_BASE_URL) throw invalid('base_url', `base_url must have at most ${MAX_BASE_URL} characters.`);
  return normal;
}

/** `former`: the names that are stored, which may stay. */
export function checkNames(param: 'models' | 'groups', values: string[], former: readonly string[] = []): string[] {
  const trimmed = values.map((value) => value.trim());
  if (trimmed.length === 0) throw invalid(param, `${param} must name at least one entry.`);
  if (trimmed.length > MAX_MODELS) throw invalid(param, `${param} may have at most ${MAX_MODELS} entries.`);
  if (trimmed.some((value) => value === '')) throw invalid(param, `${param} must not contain an empty entry.`);
  if (new Set(trimmed).size !== trimmed.length) throw invalid(param, `${param} names an entry twice.`);
  for (const name of trimmed) rejectHiddenCharacters(param, name, former);
  return trimmed;
}

export function checkMapping(mapping: Record<string, string>): Record<string, string> {
  for (const [from, to] of Object.entries(mapping)) {
    if (from.trim() === '' || typeof to !== 'string' || to.trim() === '') {
      throw invalid('model_mapping', 'model_mapping must map model names to model names.');
    }
  }
  refuseCircles(mapping);
  return mapping;
}

/** Each name is followed once: a long chain costs no square of its length. */
function refuseCircles(mapping: Record<string, string>): void {
  const ended = new Set<string>();
  for (const from of Object.keys(mapping)) {
    const walk = new Set<string>();
    let name = from;
    while (Object.hasOwn(mapping, name) && !ended.has(name)) {
      walk.add(name);
      const next = mapping[name] as string;
      if (next === name) break;
      if (walk.has(next)) throw circleAt(next);
      name = next;
    }
    for (const each of walk) ended.add(each);
  }
}

const circleAt = (name: string) => invalid('model_mapping', `model_mapping goes round in a circle at "${name}".`);

/** Follows a mapping to its end, so that a → b → c gives c. A circle is refused. */
export function mapModel(mapping: Record<string, string>, model: string): string {
  const seen = new Set<string>();
  let name = model;
  while (Object.hasOwn(mapping, name)) {
    const next = mapping[name] as string;
    if (next === name) break;
    if (seen.has(name)) throw circleAt(name);
    seen.add(name);
    name = next;
  }
  return name;
}

/**
 * Type, plugin binding and base address together; gives the address to store and where it came
 * from.
 */
export function checkBinding(
  facts: PluginFacts,
  input: { type: number; taskPluginKey: string | null; baseUrl: string },
): { taskPluginKey: string | null; baseUrl: string; baseUrlSource: 'given' | 'plugin_default' } {
  const given = input.baseUrl.trim();
  let fallback: string | undefined;
  let taskPluginKey: string | null = null;
  if (input.type === TASK_PLUGIN_TYPE) {
    if (!input.taskPluginKey) throw invalid('task_plugin_key', 'A channel of type 61 needs task_plugin_key.');
    const plugin = facts.plugin(input.taskPluginKey);
    if (!plugin) throw invalid('task_plugin_key', `No plugin with the key "${input.taskPluginKey}" is installed.`);
    taskPluginKey = input.taskPluginKey;
    fallback = plugin.baseUrl;
  } else {
    if (input.taskPluginKey) throw invalid('task_plugin_key', 'task_plugin_key belongs to channels of type 61 only.');
    const declared = facts.byChannelType(input.type);
    if (!declared && input.type !== RELAY_TYPE) {
      throw invalid(
        'type',
        `No plugin declares the channel type ${input.type}. Use 61 with task_plugin_key, or 1 for a relay.`,
      );
    }
    fallback = declared?.baseUrl;
  }
  if (given !== '') return { taskPluginKey, baseUrl: checkBaseUrl(given), baseUrlSource: 'given' };
  if (!fallback) throw invalid('base_url', 'base_url is needed: the plugin has no default address.');
  return { taskPluginKey, baseUrl: fallback, baseUrlSource: 'plugin_default' };
}
