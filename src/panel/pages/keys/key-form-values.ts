import type { TFunction } from 'i18next';
import type { ApiKey, ApiKeyFields } from '../../api/types.ts';
import { dollarsOf, quotaOf } from '../../ui/form/decimal.ts';

/** The form values of an API key. */
export type KeyValues = {
  name: string;
  budget: 'account' | 'own';
  /** US dollars left in the key's own budget. */
  usd: string;
  models: string[];
  allow_ips: string[];
  /** The last valid day as `YYYY-MM-DD`; empty means never. */
  expires: string;
  group: string;
  keep_results: boolean;
  webhook_url: string;
};

export const emptyKey: KeyValues = {
  name: '',
  budget: 'account',
  usd: '',
  models: [],
  allow_ips: [],
  expires: '',
  group: '',
  keep_results: false,
  webhook_url: '',
};

export const toFormValues = (key: ApiKey): KeyValues => ({
  name: key.name,
  budget: key.unlimited_quota ? 'account' : 'own',
  usd: key.unlimited_quota ? '' : dollarsOf(key.quota),
  models: key.models,
  allow_ips: key.allow_ips,
  expires: key.expires_at === 0 ? '' : dayOf(key.expires_at),
  group: key.group ?? '',
  keep_results: key.keep_results,
  webhook_url: key.webhook_url ?? '',
});

/** The body for the API: all fields of a new key, otherwise those that changed. */
export function toKeyBody(values: KeyValues, before: KeyValues = emptyKey): ApiKeyFields {
  const differs = (field: keyof KeyValues): boolean => JSON.stringify(values[field]) !== JSON.stringify(before[field]);
  const isNew = before === emptyKey;
  return {
    ...(isNew || differs('name') ? { name: values.name.trim() } : {}),
    ...(isNew || differs('budget') ? { unlimited_quota: values.budget === 'account' } : {}),
    ...(values.budget === 'own' && (isNew || differs('usd') || differs('budget'))
      ? { quota: quotaOf(values.usd) ?? 0 }
      : {}),
    ...(differs('models') ? { models: values.models } : {}),
    ...(differs('allow_ips') ? { allow_ips: values.allow_ips } : {}),
    ...(differs('expires') ? { expires_at: values.expires === '' ? 0 : endOfDay(values.expires) } : {}),
    ...(differs('group') ? { group: values.group.trim() || null } : {}),
    ...(differs('keep_results') ? { keep_results: values.keep_results } : {}),
    ...(differs('webhook_url') ? { webhook_url: values.webhook_url.trim() || null } : {}),
  };
}

export const validateKey = (values: KeyValues, t: TFunction) => ({
  name:
    values.name.trim() === '' ? t('keys.nameMissing') : [...values.name.trim()].length > 50 ? t('keys.nameLong') : null,
  usd: values.budget === 'own' && quotaOf(values.usd) === null ? t('keys.budgetMissing') : null,
  webhook_url: values.webhook_url.trim() === '' || isWebAddress(values.webhook_url) ? null : t('keys.webhookInvalid'),
});

const isWebAddress = (text: string): boolean => URL.canParse(text.trim()) && /^https?:/i.test(text.trim());

/** The local date of a time in Unix seconds. */
function dayOf(seconds: number): string {
  const at = new Date(seconds * 1000);
  const twoDigits = (value: number): string => String(value).padStart(2, '0');
  return `${at.getFullYear()}-${twoDigits(at.getMonth() + 1)}-${twoDigits(at.getDate())}`;
}

/** The last second of a local day, in Unix seconds. */
const endOfDay = (day: string): number => Math.floor(new Date(`${day}T23:59:59`).getTime() / 1000);
