import type { TFunction } from 'i18next';
import { isObject } from '../../../kernel/json.ts';
import type { Channel, ChannelChoices, SavedChannel } from '../../api/types.ts';
import { toNumber } from '../../ui/form/decimal.ts';

export type PluginChoice = ChannelChoices['plugins'][number];
type MappingRow = { from: string; to: string };
/** `isStored`: its value is kept while the field is empty. */
type HeaderRow = { name: string; value: string; isStored: boolean };
type LimitRow = { model: string; max_running: string; max_per_minute: string };

/** The form's values. Field names are the API's, so that server errors map to them. */
export type ChannelValues = {
  name: string;
  /**
   * A plugin's key, `relay`, `gateway:KEY` for a plugin of another gateway, or `type:50` for a
   * channel of a declared type.
   */
  task_plugin_key: string;
  base_url: string;
  /** Empty keeps the stored key. */
  key: string;
  models: string[];
  groups: string[];
  model_mapping: MappingRow[];
  priority: string;
  weight: string;
  /** Members of the settings with fields of their own; empty: none. */
  not_found_grace_seconds: string;
  stream_usage: boolean;
  balance_script: string;
  balance_alert_usd: string;
  /** JSON text. */
  settings: string;
  /** What the account may run; empty: it is learned. */
  'limits.max_running': string;
  'limits.max_per_minute': string;
  'limits.burst': string;
  'limits.models': LimitRow[];
  pool: string;
  spill: boolean;
  /** As the API shows it, without user and password: it is kept while it stays so. */
  proxy: string;
  headers: HeaderRow[];
  /** JSON text. */
  body_defaults: string;
};

/**
 * The API's channel types for the OpenAI-compatible relay, for another gateway, and for channels
 * bound by a plugin's key.
 */
export const relayType = 1;
const gatewayType = 60;
const pluginType = 61;

export const emptyChannel: ChannelValues = {
  name: '',
  task_plugin_key: '',
  base_url: '',
  key: '',
  models: [],
  groups: ['default'],
  model_mapping: [],
  priority: '0',
  weight: '1',
  not_found_grace_seconds: '',
  stream_usage: true,
  balance_script: '',
  balance_alert_usd: '',
  settings: '{}',
  'limits.max_running': '',
  'limits.max_per_minute': '',
  'limits.burst': '',
  'limits.models': [],
  pool: '',
  spill: true,
  proxy: '',
  headers: [],
  body_defaults: '',
};

export const readSource = ({ type, task_plugin_key: key }: Pick<Channel, 'type' | 'task_plugin_key'>): string => {
  if (type === gatewayType) return `gateway:${key ?? ''}`;
  if (key !== null) return key;
  return type === relayType ? 'relay' : `type:${type}`;
};

export const toFormValues = (channel: SavedChannel): ChannelValues => ({
  name: channel.name,
  task_plugin_key: readSource(channel),
  base_url: channel.base_url,
  key: '',
  models: channel.models,
  groups: channel.groups,
  model_mapping: Object.entries(channel.model_mapping).map(([from, to]) => ({ from, to })),
  priority: String(channel.priority),
  weight: String(channel.weight),
  ...toSettingFields(channel.settings),
  ...toLimitFields(channel.limits),
  pool: channel.pool,
  spill: channel.spill,
  proxy: channel.proxy,
  headers: channel.header_names.map((name) => ({ name, value: '', isStored: true })),
  body_defaults: channel.body_defaults === null ? '' : JSON.stringify(channel.body_defaults, null, 2),
});

const toText = (limit: number | undefined): string => (limit === undefined ? '' : String(limit));

const toLimitFields = (limits: SavedChannel['limits']) => ({
  'limits.max_running': toText(limits?.max_running),
  'limits.max_per_minute': toText(limits?.max_per_minute),
  'limits.burst': toText(limits?.burst),
  'limits.models': Object.entries(limits?.models ?? {}).map(([model, each]) => ({
    model,
    max_running: toText(each.max_running),
    max_per_minute: toText(each.max_per_minute),
  })),
});

const toSettingFields = ({
  not_found_grace_seconds: grace,
  stream_usage: asksForUsage,
  balance_script: script,
  balance_alert_usd: alert,
  ...settings
}: SavedChannel['settings']) => ({
  not_found_grace_seconds: typeof grace === 'number' ? String(grace) : '',
  stream_usage: asksForUsage !== false,
  balance_script: typeof script === 'string' ? script : '',
  balance_alert_usd: typeof alert === 'number' ? String(alert) : '',
  settings: JSON.stringify(settings, null, 2),
});

/**
 * The plugin that serves channels of this source. At another gateway the address and the key are
 * that gateway's, whatever its vendor's are.
 */
export function findPlugin(choices: ChannelChoices, source: string): PluginChoice | undefined {
  const isGateway = source.startsWith('gateway:');
  const name = isGateway ? source.slice('gateway:'.length) : source;
  const found = choices.plugins.find(
    ({ key, channel_types: types }) => key === name || types.some((type) => name === `type:${type}`),
  );
  const foreign = {
    base_url: '',
    credential: 'key',
    key_url: '',
    key_formats: [],
    key_pattern: '',
    key_help: null,
  } as const;
  return found && isGateway ? { ...found, ...foreign, key_formats: [] } : found;
}

/** How the vendor's keys look, by how many parts they have; empty: nothing is told. */
export const listKeyFormats = (plugin: PluginChoice | undefined): { single: string[]; joined: string[] } => {
  const formats = [...(plugin?.key_formats ?? [])];
  return {
    single: formats.filter((format) => !format.includes('|')),
    joined: formats.filter((format) => format.includes('|')),
  };
};

/** No key is shorter; what is being typed is not checked. */
const shortestKey = 8;

/** Whether a typed key has none of the forms that the vendor's keys usually have. */
export function isUnusualKey(plugin: PluginChoice | undefined, key: string): boolean {
  const typed = key.trim();
  const pattern = plugin?.key_pattern ?? '';
  return typed.length >= shortestKey && pattern !== '' && !new RegExp(pattern).test(typed);
}

/** Whether saving would send the stored key to another host or plugin than it was entered for. */
export const sendsKeyElsewhere = (values: ChannelValues, stored: Channel): boolean =>
  values.task_plugin_key !== readSource(stored) || values.base_url.trim() !== stored.base_url;

type ChannelValidation = {
  values: ChannelValues;
  /** null for a new channel. */
  stored: Channel | null;
  plugin: PluginChoice | undefined;
};

/** The text of what is wrong with each field, null for a valid one. */
export function validateChannel(
  t: TFunction,
  { values, stored, plugin }: ChannelValidation,
): Partial<Record<keyof ChannelValues, string | null>> {
  const { name, task_plugin_key: source, key, models, groups, base_url: address, model_mapping: mapping } = values;
  const keyMissing = key.trim() === '' && (stored === null || sendsKeyElsewhere(values, stored));
  return {
    name: name.trim() === '' ? t('channels.nameMissing') : null,
    task_plugin_key: source === '' ? t('channels.pluginMissing') : null,
    base_url: validateAddress(t, address, (plugin?.base_url ?? '') === '' && source !== ''),
    key: keyMissing ? t(stored === null ? 'channels.keyMissing' : 'channels.keyAgain') : null,
    models: models.length === 0 ? t('channels.modelsMissing') : null,
    groups: groups.length === 0 ? t('channels.groupsMissing') : null,
    model_mapping: mapping.some(({ from, to }) => (from.trim() === '') !== (to.trim() === ''))
      ? t('channels.mappingHalf')
      : null,
    priority: isWhole(values.priority) ? null : t('number.wholeInvalid'),
    weight: isWhole(values.weight) ? null : t('number.wholeInvalid'),
    not_found_grace_seconds:
      values.not_found_grace_seconds === '' || isWhole(values.not_found_grace_seconds)
        ? null
        : t('number.wholeInvalid'),
    settings: isJsonObject(values.settings) ? null : t('channels.settingsInvalid'),
    headers: values.headers.some(
      ({ name, value, isStored }) => (name.trim() === '') !== (value.trim() === '') && !isStored,
    )
      ? t('channels.headerHalf')
      : null,
    body_defaults: isJsonObject(values.body_defaults) ? null : t('channels.settingsInvalid'),
    ...validateLimits(t, values),
  };
}

/** A limit is at least 1: an account that may run nothing is disabled. */
const isLimit = (text: string): boolean => text === '' || (isWhole(text) && Number(text) >= 1);

function validateLimits(t: TFunction, values: ChannelValues) {
  const single = (['limits.max_running', 'limits.max_per_minute', 'limits.burst'] as const).map((field) => [
    field,
    isLimit(values[field]) ? null : t('channels.limitInvalid'),
  ]);
  const rows = values['limits.models'];
  const isHalf = rows.some(
    ({ model, ...limits }) => (model.trim() === '') !== Object.values(limits).every((limit) => limit === ''),
  );
  const isValid = rows.every(({ model: _, ...limits }) => Object.values(limits).every(isLimit));
  return {
    ...Object.fromEntries(single),
    'limits.models': isHalf ? t('channels.modelLimitHalf') : isValid ? null : t('channels.limitInvalid'),
  };
}

const isWhole = (decimal: string): boolean => Number.isInteger(toNumber(decimal));

function validateAddress(t: TFunction, address: string, isNeeded: boolean): string | null {
  const text = address.trim();
  if (text === '') return isNeeded ? t('channels.addressMissing') : null;
  return /^https?:\/\/[^\s/]+/i.test(text) && URL.canParse(text) ? null : t('channels.addressInvalid');
}

/**
 * The body for the API. For a stored channel it holds only the fields that changed since the form
 * was opened, so that concurrent changes by others are kept.
 */
export function toChannelBody(values: ChannelValues, original: ChannelValues | null): Record<string, unknown> {
  const { task_plugin_key: source, key } = values;
  const before = original === null ? {} : toFields(original);
  const changed = Object.entries(toFields(values)).filter(
    ([field, value]) => JSON.stringify(value) !== JSON.stringify(before[field]),
  );
  const hasNewBinding = original === null || source !== original.task_plugin_key;
  return {
    ...Object.fromEntries(changed),
    ...(hasNewBinding ? readBinding(source) : {}),
    ...(key.trim() === '' ? {} : { key: key.trim() }),
  };
}

const toFields = (values: ChannelValues): Record<string, unknown> => ({
  name: values.name.trim(),
  base_url: values.base_url.trim(),
  models: values.models,
  groups: values.groups,
  model_mapping: Object.fromEntries(
    values.model_mapping.filter(({ from }) => from.trim() !== '').map(({ from, to }) => [from.trim(), to.trim()]),
  ),
  priority: Number(values.priority),
  weight: Number(values.weight),
  settings: {
    ...JSON.parse(values.settings.trim() === '' ? '{}' : values.settings),
    ...(values.not_found_grace_seconds === ''
      ? {}
      : { not_found_grace_seconds: Number(values.not_found_grace_seconds) }),
    ...(values.stream_usage ? {} : { stream_usage: false }),
    ...(values.balance_script.trim() === '' ? {} : { balance_script: values.balance_script }),
    ...(values.balance_alert_usd === '' ? {} : { balance_alert_usd: toNumber(values.balance_alert_usd) }),
  },
  limits: readLimits(values),
  pool: values.pool.trim(),
  spill: values.spill,
  proxy: values.proxy.trim(),
  headers: Object.fromEntries(
    values.headers
      .filter(({ name }) => name.trim() !== '')
      .map(({ name, value, isStored }) => [name.trim(), isStored && value === '' ? null : value.trim()]),
  ),
  body_defaults: values.body_defaults.trim() === '' ? null : JSON.parse(values.body_defaults),
});

/** null: nothing is declared. */
function readLimits(values: ChannelValues): object | null {
  const given = (limits: Record<string, string>) =>
    Object.fromEntries(Object.entries(limits).flatMap(([name, text]) => (text === '' ? [] : [[name, Number(text)]])));
  const models = Object.fromEntries(
    values['limits.models']
      .filter(({ model }) => model.trim() !== '')
      .map(({ model, ...limits }) => [model.trim(), given(limits)]),
  );
  const limits = {
    ...given({
      max_running: values['limits.max_running'],
      max_per_minute: values['limits.max_per_minute'],
      burst: values['limits.burst'],
    }),
    ...(Object.keys(models).length > 0 && { models }),
  };
  return Object.keys(limits).length === 0 ? null : limits;
}

function readBinding(source: string): Record<string, unknown> {
  if (source === 'relay') return { type: relayType };
  if (source.startsWith('type:')) return { type: Number(source.slice('type:'.length)) };
  if (source.startsWith('gateway:')) return { type: gatewayType, task_plugin_key: source.slice('gateway:'.length) };
  return { type: pluginType, task_plugin_key: source };
}

function isJsonObject(text: string): boolean {
  if (text.trim() === '') return true;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value);
  } catch {
    return false;
  }
}
