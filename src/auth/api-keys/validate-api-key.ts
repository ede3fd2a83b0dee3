import ipaddr from 'ipaddr.js';
import { MAX_QUOTA, sentence } from '../../kernel/index.ts';
import { type ApiKeyChange, type EnabledStatus, ROLE, STATUS, type UserRecord } from '../../store/ports/index.ts';
import { rejectHiddenCharacters } from '../accounts/validate-account.ts';
import {
  type BudgetFields,
  type OwnerLimitsView,
  validateBudget,
  validateOwnerLimits,
} from '../accounts/validate-budgets.ts';
import type { AuthConfig } from '../config.ts';
import { authErrors, invalidField } from '../errors.ts';

/** The fields of `POST /api/token`, where `name` is required; `PUT` takes any of them. */
export type ApiKeyFields = Partial<OwnerLimitsView> & {
  name?: string;
  unlimited_quota?: boolean;
  quota?: number;
  models?: string[];
  /** What it may spend in each period; `null`: no such limit. */
  budget?: BudgetFields | null;
  /** Addresses or CIDRs. */
  allow_ips?: string[];
  /** Unix seconds; 0: never. */
  expires_at?: number;
  /** `null` or left out: the user's group. */
  group?: string | null;
  /** Receives webhook notices of the key's tasks; `null`: none are sent. */
  webhook_url?: string | null;
  /** Whether results of the key's tasks are kept, where the operator allows it. */
  keep_results?: boolean;
  /** Whether prompts and requests of the key's tasks are stored. */
  store?: boolean;
  status?: number;
};

const NAME_MAX = 50;
const LIST_MAX = 500;
const MODEL_MAX = 191;
/** The year 9999. */
const TIME_MAX = 253_402_300_799;

/**
 * Gives the fields as the store takes them. `formerName` is the stored name, which always passes
 * the check for hidden characters.
 *
 * @throws `auth.validation_failed`, or `auth.api_key_group_not_allowed` when a user who is not an
 * administrator names a group other than their own: a group decides what a task costs.
 */
export function validateApiKeyFields(
  fields: ApiKeyFields,
  owner: UserRecord,
  { checkWebhookUrl, formerName }: Pick<AuthConfig, 'checkWebhookUrl'> & { formerName?: string | undefined },
): ApiKeyChange {
  const change: ApiKeyChange = validateOwnerLimits(fields);
  if (fields.name !== undefined) change.name = validateName(fields.name, formerName);
  if (fields.status !== undefined) change.status = validateStatus(fields.status);
  if (fields.unlimited_quota !== undefined) change.unlimitedQuota = fields.unlimited_quota;
  if (fields.quota !== undefined) change.quota = validateInteger('quota', fields.quota, MAX_QUOTA);
  if (fields.budget !== undefined) change.budget = validateBudget(fields.budget);
  if (fields.models !== undefined) change.models = validateModels(fields.models);
  if (fields.allow_ips !== undefined) change.allowIps = validateAddresses(fields.allow_ips);
  if (fields.expires_at !== undefined) change.expiresAt = validateInteger('expires_at', fields.expires_at, TIME_MAX);
  if (fields.group !== undefined) change.group = validateGroup(fields.group, owner);
  if (fields.webhook_url !== undefined) {
    change.webhookUrl = fields.webhook_url === null ? null : validateWebhookUrl(fields.webhook_url, checkWebhookUrl);
  }
  if (fields.keep_results !== undefined) change.keepResults = fields.keep_results;
  if (fields.store !== undefined) change.storeRequests = fields.store;
  return change;
}

/** @throws `auth.validation_failed` for an address that may not be called. */
export function validateWebhookUrl(value: string, check: AuthConfig['checkWebhookUrl']): string {
  const checked = check(value);
  if (!checked.ok) throw invalidField('webhook_url', sentence('auth.webhook_address', { fault: checked.error }));
  return checked.value.href;
}

function validateName(value: string, former: string | undefined): string {
  const name = value.trim();
  const length = [...name].length;
  if (length < 1 || length > NAME_MAX) throw invalidField('name', sentence('auth.characters_to', { max: NAME_MAX }));
  return rejectHiddenCharacters('name', name, former);
}

function validateStatus(value: number): EnabledStatus {
  if (value !== STATUS.enabled && value !== STATUS.disabled)
    throw invalidField('status', sentence('auth.enabled_status'));
  return value;
}

function validateInteger(param: string, value: number, max: number): number {
  if (!Number.isSafeInteger(value) || value < 0 || value > max) {
    throw invalidField(param, sentence('auth.integer_range', { max }));
  }
  return value;
}

function validateModels(values: string[]): string[] {
  const models = [...new Set(values.map((value) => value.trim()))];
  if (models.length > LIST_MAX || models.some((model) => model === '' || model.length > MODEL_MAX)) {
    throw invalidField('models', sentence('auth.model_names', { max: LIST_MAX, length: MODEL_MAX }));
  }
  return models;
}

function validateAddresses(values: string[]): string[] {
  const addresses = [...new Set(values.map((value) => value.trim()))];
  const wrong = addresses.find((address) => !isAddressOrRange(address));
  if (addresses.length > LIST_MAX || wrong !== undefined) {
    throw invalidField('allow_ips', sentence('auth.addresses', { max: LIST_MAX }));
  }
  return addresses;
}

/** The length of an IPv6 address with a dotted end and a prefix length. */
const ADDRESS_MAX = 49;

function isAddressOrRange(value: string): boolean {
  // Parsing a text of megabytes takes a second.
  if (value.length > ADDRESS_MAX) return false;
  // Only the four-part form: programs disagree about what "10.1" or a plain number means.
  return value.includes('/')
    ? ipaddr.IPv4.isValidCIDRFourPartDecimal(value) || ipaddr.IPv6.isValidCIDR(value)
    : ipaddr.IPv4.isValidFourPartDecimal(value) || ipaddr.IPv6.isValid(value);
}

function validateGroup(value: string | null, owner: UserRecord): string | null {
  if (value === null) return null;
  const group = value.trim();
  if (group === '' || group.length > 64) throw invalidField('group', sentence('auth.group_characters'));
  if (group !== owner.group && owner.role < ROLE.admin) throw authErrors.api_key_group_not_allowed({ param: 'group' });
  return group;
}
