import { keyHintOf } from '../../channels/channels.ts';
import {
  checkBaseUrl,
  checkKey,
  checkMapping,
  checkName,
  checkNames,
  RELAY_TYPE,
} from '../../channels/check-channel.ts';
import { AppError, type JsonObject, parseJson } from '../../kernel/index.ts';
import type { SourceRow } from '../../store/index.ts';
import { type EnabledStatus, type NewChannel, STATUS } from '../../store/ports/index.ts';
import { CHANNEL_TYPES, type ChannelRule, GATEWAY_KEY_TYPES, UNKNOWN_TYPE } from './new-api-mapping.ts';
import { listOf, objectOf, type PlanContext } from './plan-context.ts';
import { faultOf, numberOf, textOf } from './read-source.ts';

/** One channel here for each of its keys. `sourceId`: `10`, or `10/2` for the second of several. */
export type PlannedChannel = { sourceId: string; channel: NewChannel };

const CUSTOM = 8;
const VERTEX = 41;

/** What a channel of new-api may say and a channel here cannot. */
const FOREIGN: readonly (readonly [column: string, isSet: (text: string) => boolean, what: string])[] = [
  ['param_override', isFilled, 'param_override'],
  ['header_override', isFilled, 'header_override'],
  ['status_code_mapping', isFilled, 'status_code_mapping'],
  ['open_ai_organization', (text) => text.trim() !== '', 'an organization'],
];
/** Members of its settings that change what is sent, or which way. */
const FOREIGN_SETTINGS = ['proxy', 'system_prompt', 'force_format', 'thinking_to_content', 'pass_through_body_enabled'];

function isFilled(text: string): boolean {
  const value = parseJson(text);
  return text.trim() !== '' && !(typeof value === 'object' && value !== null && Object.keys(value).length === 0);
}

/** All channels: there are tens. */
export async function planChannels(context: PlanContext): Promise<PlannedChannel[]> {
  const rows = await context.source.all('channels');
  const present = await context.store.imports.targets(
    context.sourceKey,
    'channel',
    rows.map((row) => textOf(row, 'id')),
  );
  return rows.flatMap((row) => {
    if (!present.has(textOf(row, 'id'))) return planChannel(context, row);
    context.report.skip('channel');
    return [];
  });
}

/** Where a channel of the source leads; `undefined` for one that stays there. */
export const ruleOfChannel = (row: SourceRow): ChannelRule | undefined => {
  const type = numberOf(row, 'type') ?? 0;
  return Object.hasOwn(CHANNEL_TYPES, type) ? CHANNEL_TYPES[type] : undefined;
};

function planChannel(context: PlanContext, row: SourceRow): PlannedChannel[] {
  const id = textOf(row, 'id');
  const name = textOf(row, 'name').trim().slice(0, 64) || `channel ${id}`;
  const remark = (effect: 'left' | 'changed' | 'note', code: string, message: string) => {
    context.report.remark({ kind: 'channel', id, name, effect, code, message });
  };
  const rule = ruleOfChannel(row);
  const fault = faultOf(row, ['key', 'models', 'group', 'model_mapping', 'base_url']);
  const keys = fault === undefined ? splitKeys(row) : [];
  const refusal = fault ?? (rule === undefined ? `${UNKNOWN_TYPE} (${textOf(row, 'type')})` : undefined);
  if (refusal !== undefined || rule === undefined) {
    remark('left', fault === undefined ? 'unknown_type' : 'unreadable', refusal ?? UNKNOWN_TYPE);
    return [];
  }
  if (keys.length === 0) {
    remark('left', 'no_key', 'it has no key');
    return [];
  }
  const off = [...foreignParts(row), ...gatewayKeys(row, keys)];
  if (off.length > 0) {
    remark(
      'changed',
      'disabled',
      `it is disabled until you have looked at it, because it has ${off.join(', ')}, and channels here have not`,
    );
  }
  if (keys.length > 1)
    remark('changed', 'split', `its ${keys.length} keys became ${keys.length} channels, which share its weight`);
  try {
    const shared = sharedFields(context, row, rule);
    const isOn = numberOf(row, 'status') === STATUS.enabled && off.length === 0;
    const planned = keys.map(({ key, enabled }, index) => ({
      sourceId: keys.length === 1 ? id : `${id}/${index + 1}`,
      channel: {
        ...shared,
        ...keyFields(context, key),
        name: checkName(keys.length === 1 ? name : `${name.slice(0, 56)} (${index + 1})`),
        weight: Math.ceil(Math.max(0, numberOf(row, 'weight') ?? 0) / keys.length),
        status: (isOn && enabled ? STATUS.enabled : STATUS.disabled) as EnabledStatus,
      },
    }));
    context.report.take('channel', planned.length);
    return planned;
  } catch (error) {
    // What the channels' own rules refuse.
    if (!(error instanceof AppError)) throw error;
    remark('left', 'refused', error.message);
    return [];
  }
}

function keyFields({ secretBox }: PlanContext, text: string) {
  const key = checkKey(text);
  return { keySealed: secretBox.seal(key), keyHint: keyHintOf(key) };
}

function sharedFields({ now }: PlanContext, row: SourceRow, rule: ChannelRule) {
  const address = textOf(row, 'base_url').trim() || rule.address;
  const groups = listOf(textOf(row, 'group'));
  return {
    type: 'relay' in rule ? RELAY_TYPE : (numberOf(row, 'type') ?? 0),
    taskPluginKey: null,
    baseUrl: checkBaseUrl(address),
    models: checkNames('models', listOf(textOf(row, 'models'))),
    groups: checkNames('groups', groups.length > 0 ? groups : ['default']),
    modelMapping: checkMapping(mappingOf(textOf(row, 'model_mapping'))),
    priority: numberOf(row, 'priority') ?? 0,
    settings: settingsOf(row),
    createdAt: numberOf(row, 'created_time') || now,
    updatedAt: now,
  };
}

/** Names that are no text break the mapping, and then the channel is refused. */
function mappingOf(text: string): Record<string, string> {
  if (text.trim() === '') return {};
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { '': '' };
  return value as Record<string, string>;
}

type VendorKey = { key: string; enabled: boolean };

/** One key, or several where the channel says so: a JSON list, or one a line. */
function splitKeys(row: SourceRow): VendorKey[] {
  const text = textOf(row, 'key');
  const info = objectOf(textOf(row, 'channel_info'));
  if (info.is_multi_key !== true) return text.trim() === '' ? [] : [{ key: text, enabled: true }];
  const list = text.trimStart().startsWith('[') ? parseJson(text) : undefined;
  const keys = Array.isArray(list)
    ? list.map((item) => (typeof item === 'string' ? item : JSON.stringify(item)))
    : text.split('\n');
  const statuses = (info.multi_key_status_list ?? {}) as JsonObject;
  return keys.flatMap((key, index) => {
    if (key.trim() === '') return [];
    const status = statuses[String(index)];
    return [{ key, enabled: status === undefined || status === STATUS.enabled }];
  });
}

function foreignParts(row: SourceRow): string[] {
  const setting = objectOf(textOf(row, 'setting'));
  return [
    ...FOREIGN.flatMap(([column, isSet, what]) => (isSet(textOf(row, column)) ? [what] : [])),
    // Its address names one endpoint, to which nothing is appended there.
    ...(numberOf(row, 'type') === CUSTOM ? ['the address of a single endpoint'] : []),
    ...FOREIGN_SETTINGS.filter(
      (name) => setting[name] !== undefined && setting[name] !== '' && setting[name] !== false,
    ),
  ];
}

/** Vertex's region, for all models or by model, has the same form here. */
function settingsOf(row: SourceRow): JsonObject {
  const region = textOf(row, 'other').trim();
  if (numberOf(row, 'type') !== VERTEX || region === '') return {};
  const byModel = objectOf(region);
  return { region: Object.keys(byModel).length > 0 ? byModel : region };
}

const gatewayKeys = (row: SourceRow, keys: readonly VendorKey[]): string[] =>
  GATEWAY_KEY_TYPES.includes(numberOf(row, 'type') ?? 0) && keys.some(({ key }) => key.trim().startsWith('sk-'))
    ? ['the key of another gateway, whose address it needs']
    : [];
