/** Decides which of the other gateway's channels and keys an import creates. */
import {
  checkBaseUrl,
  checkKey,
  checkMapping,
  checkName,
  checkNames,
  MAX_CREDENTIALS,
  MAX_SCRIPT_BYTES,
  RELAY_TYPE,
  shortenKey,
} from '../channels/index.ts';
import { AppError, hasHiddenCharacters, isObject, type JsonObject, parseJson, pluralize } from '../kernel/index.ts';
import { OFFICIAL_KEYS } from '../plugins/index.ts';
import type { SourceRow } from '../store/index.ts';
import { type NewChannel, type NewCredential, STATUS } from '../store/ports/index.ts';
import { CHANNEL_TYPES, type ChannelRule, GATEWAY_KEY_TYPES, UNKNOWN_TYPE } from './new-api-mapping.ts';
import { planNetwork } from './plan-channel-network.ts';
import { type PlanContext, readObject, splitList } from './plan-context.ts';
import { findFault, readNumber, readText } from './read-source.ts';
import { isObjectOrNone, unsupportedColumns } from './unsupported-columns.ts';

/** A channel and its keys. `sourceId`: `10`. */
export type PlannedChannel = {
  sourceId: string;
  channel: NewChannel;
  credentials: Omit<NewCredential, 'channelId' | 'createdAt' | 'updatedAt'>[];
};

/** The plugin key of relayed models and their prices. */
export const EVERYWHERE = '*';

const VERTEX = 41;
/** As `/api/channel` takes them. */
const MAX_NAME = 64;
const MAX_MODEL = 191;
const MAX_GROUP = 64;
const MAX_MAPPED = 1000;
const MAX_RANK = 1_000_000;
/** All channels together: one transaction writes them, and a gateway beside it waits for that. */
const MAX_KEYS = 5000;

/** What the imported channels offer, those of earlier runs included. */
export type ListedModels = {
  models: ReadonlyMap<string, ReadonlySet<string>>;
  /** The keys of the source's plugins, which are or will be stored here. */
  pluginKeys: ReadonlySet<string>;
};

/** All channels: there are tens. */
export async function planChannels(context: PlanContext): Promise<ListedModels & { planned: PlannedChannel[] }> {
  const pluginKeys = new Set((await context.source.all('task_plugins')).map((row) => readText(row, 'key')));
  const rows = await context.source.all('channels');
  const present = await context.store.imports.targets(
    context.sourceKey,
    'channel',
    rows.map((row) => readText(row, 'id')),
  );
  const planned: PlannedChannel[] = [];
  let keys = 0;
  const models = new Map<string, Set<string>>();
  const seen = new Set<string>();
  for (const row of rows) {
    const id = readText(row, 'id');
    const isPresent = present.has(id);
    const isTwice = seen.has(id);
    seen.add(id);
    if (isPresent) context.report.skip('channel');
    const own = isPresent ? [] : planChannel(context, row, { isTwice, room: MAX_KEYS - keys, pluginKeys });
    planned.push(...own);
    keys += own.reduce((sum, { credentials }) => sum + credentials.length, 0);
    const rule = ruleOfChannel(row);
    if (rule === undefined || (own.length === 0 && !isPresent)) continue;
    const bound = boundPlugins(pluginKeys, row);
    const isOwn = ownModels(row, rule);
    for (const model of splitList(readText(row, 'models'))) {
      const served = rule.plugin !== undefined && isOwn(model) ? [rule.plugin] : [];
      const isRelayed = rule.relay && (rule.plugin === undefined || !isOwn(model));
      const known = models.get(model) ?? new Set();
      for (const plugin of [...served, ...bound, ...(isRelayed ? [EVERYWHERE] : [])]) known.add(plugin);
      models.set(model, known);
    }
  }
  return { planned, models, pluginKeys };
}

/** Where a channel of the source leads; `undefined` for one that stays there. */
const ruleOfChannel = (row: SourceRow): ChannelRule | undefined => {
  const type = readNumber(row, 'type') ?? 0;
  return Object.hasOwn(CHANNEL_TYPES, type) ? CHANNEL_TYPES[type] : undefined;
};

/**
 * The plugins that a channel names, by the keys that they have here: a plugin of the official
 * marketplace ships with this gateway under another key, unless it was installed there.
 */
function boundPlugins(pluginKeys: ReadonlySet<string>, row: SourceRow): string[] {
  if (!ruleOfChannel(row)?.bound) return [];
  const { task_plugin_key: first, task_extend_plugin_keys: more } = readObject(readText(row, 'setting'));
  const named = [first, ...(Array.isArray(more) ? more : [])].filter(
    (key): key is string => typeof key === 'string' && key !== '',
  );
  return [...new Set(named.map((key) => (pluginKeys.has(key) ? key : (OFFICIAL_KEYS[key] ?? key))))];
}

/** Whether the type's plugin serves a model of the channel, by its name or that of the vendor. */
function ownModels(row: SourceRow, { own }: ChannelRule): (model: string) => boolean {
  if (own === undefined) return () => true;
  const mapping = readObject(readText(row, 'model_mapping'));
  return (model) => own.test(model) || (Object.hasOwn(mapping, model) && own.test(String(mapping[model])));
}

function planChannel(
  context: PlanContext,
  row: SourceRow,
  { isTwice, room, pluginKeys }: { isTwice: boolean; room: number; pluginKeys: ReadonlySet<string> },
): PlannedChannel[] {
  const id = readText(row, 'id');
  const given = cut(readText(row, 'name').trim(), MAX_NAME);
  const isHidden = hasHiddenCharacters(given);
  const name = given === '' || isHidden ? `channel ${id.slice(0, 20)}` : given;
  const remark = (effect: 'left' | 'changed' | 'note', code: string, message: string) => {
    context.report.remark({ kind: 'channel', id, name, effect, code, message });
  };
  const rule = ruleOfChannel(row);
  const fault = findChannelFault(row, isTwice);
  const keys = fault === undefined ? splitKeys(row) : [];
  const refusal = fault ?? (rule === undefined ? `${UNKNOWN_TYPE} (${readText(row, 'type')})` : undefined);
  if (refusal !== undefined || rule === undefined) {
    remark('left', fault === undefined ? 'unknown_type' : 'unreadable', refusal ?? UNKNOWN_TYPE);
    return [];
  }
  if (keys.length > Math.min(room, MAX_CREDENTIALS)) {
    const own = pluralize(keys.length, 'key');
    const why =
      keys.length > room ? `there would be more than ${MAX_KEYS}` : `a channel has at most ${MAX_CREDENTIALS}`;
    remark('left', 'too_many', `it has ${own}: ${why}`);
    return [];
  }
  if (keys.length === 0) {
    remark('left', 'no_key', 'it has no key');
    return [];
  }
  const { unsupported, ...network } = planNetwork(
    context,
    row,
    keys.map(({ key }) => key),
  );
  const off = [...unsupportedColumns(row), ...gatewayKeys(row, keys), ...unsupported];
  if (off.length > 0) {
    remark(
      'changed',
      'disabled',
      `it is disabled until you review it: it has ${off.join(', ')}, which channels here do not support`,
    );
  }
  if (isHidden) remark('changed', 'renamed', 'its name has characters that are not shown');
  const [priority, weight] = [readNumber(row, 'priority') ?? 0, Math.max(0, readNumber(row, 'weight') ?? 0)];
  if (Math.abs(priority) > MAX_RANK || weight > MAX_RANK) {
    remark('changed', 'rank', `its priority or weight is beyond ${MAX_RANK}, the most here`);
  }
  try {
    const bound = boundPlugins(pluginKeys, row);
    if (rule.bound && !rule.relay && bound.length === 0) {
      remark('left', 'no_plugin', 'it names no plugin');
      return [];
    }
    const shared = sharedFields(context, row, { ...rule, plugins: bound });
    const isOwn = rule.own && ownModels(row, rule);
    const ofPlugin = isOwn ? shared.models.filter(isOwn) : [];
    const hasPlugin = bound.length > 0 || ofPlugin.length > 0;
    const others = shared.models.filter((model) => !ofPlugin.includes(model));
    const isOn = readNumber(row, 'status') === STATUS.enabled && off.length === 0;
    const planned: PlannedChannel = {
      sourceId: id,
      channel: {
        ...shared,
        ...network,
        type: rule.relay && !hasPlugin ? RELAY_TYPE : (readNumber(row, 'type') ?? 0),
        models: ofPlugin.length > 0 ? ofPlugin : shared.models,
        name: checkName(name),
        weight: Math.min(weight, MAX_RANK),
        status: isOn ? STATUS.enabled : STATUS.disabled,
      },
      credentials: keys.map(({ key, enabled }) => ({
        ...keyFields(context, key),
        status: enabled ? STATUS.enabled : STATUS.disabled,
      })),
    };
    // What its plugins do not serve it serves by OpenAI's API.
    const relayed = rule.relay && hasPlugin && others.length > 0 ? [toRelay(planned, others)] : [];
    if (relayed.length > 0)
      remark('changed', 'relay', 'it became two channels: one for its plugins, one that relays all else');
    if (planned.channel.settings.balance_script !== undefined)
      remark(
        'note',
        'balance_script',
        'it has a balance_script, code that gets its keys: read it before you rely on it',
      );
    context.report.take('channel', 1 + relayed.length);
    return [planned, ...relayed];
  } catch (error) {
    // What the channels' own rules refuse.
    if (!(error instanceof AppError)) throw error;
    remark('left', 'refused', error.message);
    return [];
  }
}

/** Why it cannot be taken as it was written. */
function findChannelFault(row: SourceRow, isTwice: boolean): string | undefined {
  if (readNumber(row, 'id') === undefined) return 'its id is not a whole number';
  if (isTwice) return 'another channel has its id';
  const fault = findFault(row, ['key', 'models', 'group', 'model_mapping', 'base_url', 'channel_info', 'other']);
  if (fault !== undefined) return fault;
  if (!isObjectOrNone(readText(row, 'channel_info')))
    return 'its channel_info cannot be read, which tells its keys apart';
  const mapping = readObject(readText(row, 'model_mapping'));
  const names = [...splitList(readText(row, 'models')), ...Object.entries(mapping).flat()];
  if (names.some((name) => typeof name === 'string' && name.length > MAX_MODEL)) {
    return `the name of a model has more than ${MAX_MODEL} characters`;
  }
  if (Object.keys(mapping).length > MAX_MAPPED) return `its model_mapping has more than ${MAX_MAPPED} names`;
  if (splitList(readText(row, 'group')).some((name) => name.length > MAX_GROUP)) {
    return `the name of a group has more than ${MAX_GROUP} characters`;
  }
  return undefined;
}

const cut = (text: string, longest: number): string => [...text].slice(0, longest).join('');

function keyFields({ secretBox }: PlanContext, text: string) {
  const key = checkKey(text);
  return { keySealed: secretBox.seal(key), keyHint: shortenKey(key) };
}

const toRelay = ({ sourceId, channel, credentials }: PlannedChannel, models: string[]): PlannedChannel => ({
  credentials,
  sourceId: `${sourceId}/relay`,
  channel: {
    ...channel,
    name: `${cut(channel.name, 56)} (relay)`,
    type: RELAY_TYPE,
    models,
    taskPluginKey: null,
    settings: {},
  },
});

type BoundRule = ChannelRule & { plugins: readonly string[] };

function sharedFields({ now }: PlanContext, row: SourceRow, rule: BoundRule) {
  const [first = null, ...others] = rule.plugins;
  const address = readText(row, 'base_url').trim() || rule.address;
  const groups = splitList(readText(row, 'group'));
  return {
    taskPluginKey: first,
    baseUrl: checkBaseUrl(address),
    models: checkNames('models', splitList(readText(row, 'models'))),
    groups: checkNames('groups', groups.length > 0 ? groups : ['default']),
    modelMapping: checkMapping(readMapping(readText(row, 'model_mapping'))),
    priority: Math.max(-MAX_RANK, Math.min(readNumber(row, 'priority') ?? 0, MAX_RANK)),
    settings: { ...readSettings(row), ...(others.length > 0 ? { task_extend_plugin_keys: others } : {}) },
    createdAt: readNumber(row, 'created_time') || now,
    updatedAt: now,
  };
}

/** Names that are not text break the mapping, and then the channel is refused. */
function readMapping(text: string): Record<string, string> {
  if (text.trim() === '') return {};
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { '': '' };
  return value as Record<string, string>;
}

/** Vertex's region, for all models or by model, has the same form here. */
function readSettings(row: SourceRow): JsonObject {
  const region = readText(row, 'other').trim();
  const script = readBalanceScript(row);
  if (readNumber(row, 'type') !== VERTEX || region === '') return script;
  const byModel = readObject(region);
  return { ...script, region: Object.keys(byModel).length > 0 ? byModel : region };
}

/** The module that reads what is left at the vendor; one that is too large for both is left out. */
function readBalanceScript(row: SourceRow): JsonObject {
  const { balance_script: script } = readObject(readText(row, 'settings'));
  const isScript = typeof script === 'string' && script.trim() !== '' && Buffer.byteLength(script) <= MAX_SCRIPT_BYTES;
  return isScript ? { balance_script: script } : {};
}

type VendorKey = { key: string; enabled: boolean };

/** One key, or several where the channel says so: a JSON list, or one a line. */
function splitKeys(row: SourceRow): VendorKey[] {
  const text = readText(row, 'key');
  const info = readObject(readText(row, 'channel_info'));
  if (info.is_multi_key !== true) return text.trim() === '' ? [] : [{ key: text, enabled: true }];
  const list = text.trimStart().startsWith('[') ? parseJson(text) : undefined;
  const keys = Array.isArray(list)
    ? list.map((item) => (typeof item === 'string' ? item : JSON.stringify(item)))
    : // There they are numbered from the first that is not empty.
      text.replace(/^\n+/, '').split('\n');
  const given = info.multi_key_status_list ?? {};
  const statuses = isObject(given) ? given : undefined;
  return keys.flatMap((key, index) => {
    if (key.trim() === '') return [];
    // If it is unknown which of them are switched off, all are.
    const status = statuses === undefined ? STATUS.disabled : statuses[String(index)];
    return [{ key, enabled: status === undefined || status === STATUS.enabled }];
  });
}

/** The keys of types where such a key calls another gateway instead of the vendor. */
const gatewayKeys = (row: SourceRow, keys: readonly VendorKey[]): string[] =>
  GATEWAY_KEY_TYPES.includes(readNumber(row, 'type') ?? 0) && keys.some(({ key }) => key.trim().startsWith('sk-'))
    ? ['the key of another gateway, whose address it needs']
    : [];
