import type { TFunction } from 'i18next';
import { isObject } from '../../../kernel/json.ts';
import { type AuditEntry, accountStatus, keyStatus, type PriceSummary } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { roleTextKey } from '../../session/roles.ts';
import { tokensPerPrice } from '../../ui/display/use-price-words.ts';
import { budgetPeriods } from '../../ui/form/spending-limit.tsx';
import { moneyOptions } from '../settings/option-units.ts';

const limits = { requests_per_minute: 'limit.perMinute', max_running: 'limit.running' } as const;

/** What the panel's pages call the fields of an entry, by the area of its action. */
const fieldTexts: Readonly<Record<string, Readonly<Record<string, TextKey>>>> = {
  user: {
    username: 'setup.username',
    display_name: 'users.displayName',
    email: 'users.email',
    group: 'users.group',
    role: 'users.role',
    status: 'users.status',
    quota: 'users.balance',
    remark: 'users.remark',
    budget: 'limit.label',
    ...limits,
    mode: 'users.balanceHow',
    value: 'users.amount',
    reason: 'users.balance.reason',
    note: 'users.balance.note',
  },
  api_key: {
    name: 'keys.name',
    unlimited_quota: 'keys.budget',
    quota: 'keys.budget',
    budget: 'keys.recurring',
    ...limits,
    models: 'keys.models',
    allow_ips: 'keys.ips',
    expires_at: 'keys.expires',
    group: 'keys.group',
    keep_results: 'keys.keepResults',
    webhook_url: 'keys.webhookUrl',
    status: 'keys.status',
    user_id: 'tasks.column.user',
  },
  task: {
    model: 'tasks.model',
    quota: 'task.ledger.reserve',
    plugin_key: 'tasks.plugin',
    user_id: 'tasks.column.user',
    from: 'audit.field.from',
  },
  auth: { reason: 'channels.reason', user_agent: 'audit.field.user_agent' },
  channel: {
    name: 'channels.name',
    status: 'channels.service',
    models: 'channels.models',
    groups: 'channels.groups',
    priority: 'channels.priority',
    weight: 'channels.weight',
    base_url: 'channels.address',
    model_mapping: 'channels.mapping',
    proxy: 'channels.proxy',
    label: 'channels.keyLabel',
    pool: 'channels.keyPool',
  },
  plugin: {
    version: 'plugins.version',
    active: 'plugins.serves',
    enabled: 'plugins.switch',
    remark: 'plugins.upload.remark',
    has_icon: 'plugins.upload.icon',
    narrowed_models: 'plugins.narrow.label',
  },
  price: { plugin_key: 'prices.appliesTo', model: 'prices.model', expression: 'prices.expression' },
  oauth_provider: { name: 'providers.name', slug: 'providers.slug', enabled: 'providers.enabled' },
};

/** Values of fields that the panel says in words, by the area, the field and the value. */
const valueTexts: Readonly<Record<string, TextKey>> = {
  'user.mode.add': 'users.balance.add',
  'user.mode.subtract': 'users.balance.subtract',
  'user.mode.override': 'users.balance.set',
  'user.reason.topup': 'ledger.kind.topup',
  'user.reason.refund': 'ledger.kind.refund',
  'user.reason.correction': 'ledger.kind.correction',
  'user.reason.other': 'ledger.kind.other',
  [`user.status.${accountStatus.enabled}`]: 'users.enabled',
  [`user.status.${accountStatus.disabled}`]: 'users.disabled',
  'api_key.unlimited_quota.true': 'keys.budget.account',
  'api_key.unlimited_quota.false': 'keys.budget.own',
  'auth.reason.invalid_credentials': 'error.credentials',
  'auth.reason.password_invalid': 'audit.reason.password_invalid',
  'auth.reason.code_invalid': 'audit.reason.code_invalid',
  'auth.reason.passkey_invalid': 'audit.reason.passkey_invalid',
  'auth.reason.user_disabled': 'audit.reason.user_disabled',
  [`api_key.status.${keyStatus.active}`]: 'keys.status.active',
  [`api_key.status.${keyStatus.disabled}`]: 'keys.status.disabled',
  [`api_key.status.${keyStatus.expired}`]: 'keys.status.expired',
  [`api_key.status.${keyStatus.spent}`]: 'keys.status.spent',
  'plugin.active.true': 'plugins.serves',
  'plugin.active.false': 'audit.notActivated',
  'channel.ok.true': 'trial.stepPassed',
  'channel.ok.false': 'trial.stepFailed',
  'oauth_provider.ok.true': 'trial.stepPassed',
  'oauth_provider.ok.false': 'trial.stepFailed',
  'option.ok.true': 'trial.stepPassed',
  'option.ok.false': 'trial.stepFailed',
  'channel.status.1': 'channels.keyOn',
  'channel.status.2': 'channels.keyOff',
};

/** The fields that a reader looks for first, by the area of an action. */
const leadFields: Readonly<Record<string, readonly string[]>> = {
  api_key: ['quota', 'unlimited_quota', 'budget'],
  auth: ['reason', 'user_agent'],
  channel: ['status', 'models', 'base_url'],
  plugin: ['active', 'enabled'],
  price: ['expression'],
  task: ['model', 'quota', 'user_id'],
  user: ['quota', 'reason', 'note', 'role', 'email'],
};

/** A field that is not among the first comes after them. */
export function rankField({ action }: Pick<AuditEntry, 'action'>, field: string): number {
  const lead = leadFields[readArea(action)] ?? [];
  const place = lead.indexOf(field);
  return place < 0 ? lead.length : place;
}

/**
 * A price as the panel writes it, an amount or a table of amounts times a fact; null for any other
 * formula.
 */
export function readPlainPrice(expression: string): { summary: PriceSummary; units: Record<string, string> } | null {
  const [, factor = '', fact, million] = /^(.+?)(?: \* u\("(\w+)"\)( \/ 1000000)?)?$/.exec(expression) ?? [];
  const rates = factor
    .replace(/^\((.*)\)$/, '$1')
    .split(' : ')
    .map((part) => part.split(' ? ').at(-1) ?? '')
    .map((amount) => (/^\d+(\.\d+)?$/.test(amount) ? Number(amount) / (million ? tokensPerPrice : 1) : null))
    .map((usd, index) => (usd === null ? null : { value: String(index), usd }));
  if (!rates.every((rate) => rate !== null)) return null;
  const units = fact === undefined ? {} : { [fact]: million ? 'token' : fact === 'seconds' ? 'second' : 'count' };
  return { summary: { kind: 'table', by: '', rates, per: Object.keys(units) }, units };
}

const moneyFields: readonly string[] = ['user.quota', 'user.value', 'api_key.quota', 'task.quota'];

const readArea = (action: string): string => action.split('.', 1)[0] ?? '';

/** The reader's word for a field; null: only its English name is known. */
export function nameField({ action }: Pick<AuditEntry, 'action'>, field: string, t: TFunction): string | null {
  const text = fieldTexts[readArea(action)]?.[field];
  return text === undefined ? null : t(text);
}

/** Fields whose values programs read. */
const codeFields: ReadonlySet<string> = new Set([
  ...['id', 'session', 'prefix', 'source_hash', 'plugin_key', 'key', 'slug', 'version', 'expression', 'user_agent'],
  ...['model', 'models', 'model_mapping', 'narrowed_models', 'allow_ips', 'base_url', 'proxy', 'webhook_url'],
]);

/** Whether a value is code: an identifier, an address, JSON. Words and amounts are not. */
export const isCode = (field: string, value = ''): boolean => codeFields.has(field) || /^[[{]/.test(value);

export type DescribeValue = (field: string, value: unknown) => string | undefined;

/** `names`: what ids of accounts stand for. */
type DescribeInput = { t: TFunction; money(quota: number): string; names?: ReadonlyMap<unknown, string> };

/** Says the values that pages of the panel show as words or as money; undefined for all others. */
export function describeValues(
  { action, target }: Pick<AuditEntry, 'action' | 'target'>,
  { t, money, names }: DescribeInput,
): DescribeValue {
  const area = readArea(action);
  const isMoneyOption = area === 'option' && moneyOptions.includes(target.replace(/^option:/, ''));
  return (field, value) => {
    const text = valueTexts[`${area}.${field}.${value}`];
    if (text !== undefined) return t(text);
    if (field === 'user_id') return names?.get(value) ?? `#${value}`;
    if (field === 'budget') return formatBudget(value, { t, money });
    if (area === 'user' && field === 'role' && typeof value === 'number') return t(roleTextKey(value));
    // An option's value is always a text.
    const isSwitch = typeof value === 'boolean' || (area === 'option' && (value === 'true' || value === 'false'));
    if (isSwitch) return t(String(value) === 'true' ? 'app.yes' : 'app.no');
    const isAmount = (isMoneyOption && /^\d+$/.test(String(value))) || typeof value === 'number';
    return isAmount && (isMoneyOption || moneyFields.includes(`${area}.${field}`)) ? money(Number(value)) : undefined;
  };
}

/** Older entries have it as text: `500000 a month`. */
function formatBudget(value: unknown, { t, money }: DescribeInput): string | undefined {
  const [, amount, period] =
    typeof value === 'string'
      ? (/^(\d+) a (\w+)$/.exec(value) ?? [])
      : isObject(value)
        ? ['', value.amount, value.period]
        : [];
  const known = budgetPeriods.find((each) => each.value === period);
  return known && `${money(Number(amount))} · ${t(known.label)}`;
}
