import { BUDGET_PERIODS, isBudget, isObject, isTimeZone, MAX_QUOTA, parseJson } from '../../kernel/index.ts';
import { DEFAULT_MARKET_SOURCES, parseMarketSources, writeMarketSources } from './market-sources.ts';
import { boolean, choice, integer, json, type OptionRules, text } from './option-rule.ts';

/** The ceiling of every count below: the limit stores one timestamp for each success. */
const MAX_MODEL_REQUESTS = 1_000_000;
const MINUTES_OF_A_DAY = 1440;
const MAX_GROUPS = 1000;
const GROUP_NAME = /^[\w.-]{1,64}$/;

const isModelLimit = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.length === 2 &&
  value.every((count, i) => Number.isInteger(count) && count >= i && count <= MAX_MODEL_REQUESTS);

const OWN_LIMITS = ['requests_per_minute', 'max_running'];

const isOwnLimits = (value: unknown): boolean =>
  isObject(value) &&
  Object.entries(value).every(
    ([name, limit]) =>
      OWN_LIMITS.includes(name) && Number.isInteger(limit) && Number(limit) >= 1 && Number(limit) <= MAX_MODEL_REQUESTS,
  );

export const limitOptions = {
  /** Whether submissions are limited for each user. */
  ModelRequestRateLimitEnabled: { proof: 'none', ...boolean(false) },
  ModelRequestRateLimitDurationMinutes: { proof: 'none', ...integer(1, 1, MINUTES_OF_A_DAY) },
  /** Submissions of a user within that time, failed ones included; 0: no limit. */
  ModelRequestRateLimitCount: { proof: 'none', ...integer(0, 0, MAX_MODEL_REQUESTS) },
  /** Successful submissions of a user within that time. */
  ModelRequestRateLimitSuccessCount: { proof: 'none', ...integer(1000, 1, MAX_MODEL_REQUESTS) },
  /** Limits of single groups: name to [all, successful]. */
  ModelRequestRateLimitGroup: {
    proof: 'none',
    ...json('{}', (value) => {
      const groups = parseJson(value);
      const valid =
        isObject(groups) && Object.keys(groups).length <= MAX_GROUPS && Object.values(groups).every(isModelLimit);
      return valid
        ? undefined
        : `a JSON object of at most ${MAX_GROUPS} group names to [all, successful], whole numbers up to ${MAX_MODEL_REQUESTS}, the first at least 0, the second at least 1`;
    }),
  },
  /** Group name to limits of each of its users. */
  'limits.groups': {
    proof: 'none',
    ...json('{}', (value) => {
      const groups = parseJson(value);
      const valid =
        isObject(groups) &&
        Object.keys(groups).length <= MAX_GROUPS &&
        Object.entries(groups).every(([name, limits]) => GROUP_NAME.test(name) && isOwnLimits(limits));
      return valid
        ? undefined
        : `a JSON object of at most ${MAX_GROUPS} group names to objects of ${OWN_LIMITS.join(', ')}, whole numbers from 1 to ${MAX_MODEL_REQUESTS}`;
    }),
  },
} satisfies OptionRules;

/** 1,000 USD. */
const MAX_MEMORY_HOLD = 500_000_000;

const isRatio = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(value) && value >= 0;

export const billingOptions = {
  /** Who may use models without a price. */
  'billing.unpriced': { proof: 'none', ...choice(['admins', 'everyone', 'nobody'], 'admins, everyone or nobody') },
  /** The time zone whose days, weeks and months budgets have, and whose hours the retention. */
  'billing.timezone': {
    proof: 'none',
    ...text('UTC', isTimeZone, 'the name of a time zone, such as UTC or Europe/Berlin'),
  },
  /** Group name to what each of its users may spend in each period. */
  'billing.group_budgets': {
    proof: 'none',
    ...json('{}', (value) => {
      const budgets = parseJson(value);
      const valid =
        isObject(budgets) &&
        Object.keys(budgets).length <= MAX_GROUPS &&
        Object.entries(budgets).every(([name, budget]) => GROUP_NAME.test(name) && isBudget(budget));
      return valid
        ? undefined
        : `a JSON object of at most ${MAX_GROUPS} group names to {"amount", "period"}: a whole number of quota from 1 to ${MAX_QUOTA}, and ${BUDGET_PERIODS.join(', ')}`;
    }),
  },
  /**
   * What each node may hold in memory for relayed requests, of which the first byte then waits for
   * no write: so much a crash may leave unbilled. 0: nothing.
   */
  'billing.memory_hold_quota': { proof: 'none', ...integer(0, 0, MAX_MEMORY_HOLD) },
  /** Group name to price ratio. */
  groups: {
    proof: 'none',
    ...json('{"default":1}', (value) => {
      const groups = parseJson(value);
      const valid =
        isObject(groups) && Object.entries(groups).every(([name, ratio]) => GROUP_NAME.test(name) && isRatio(ratio));
      return valid ? undefined : 'a JSON object of group names (letters, digits, . _ -) to ratios of at least 0';
    }),
  },
} satisfies OptionRules;

export const pluginOptions = {
  /** Goes back from a version that fails clearly more often than the one before it. */
  'task_plugin.auto_rollback': { proof: 'none', ...boolean(false) },
  /** The marketplaces that the panel lists. */
  'task_plugin.marketplace_sources': {
    proof: 'settings.security',
    ...json(writeMarketSources(DEFAULT_MARKET_SOURCES), (value) => {
      const sources = parseMarketSources(parseJson(value));
      return sources.ok
        ? undefined
        : `a JSON array of {"name", "index_url", "public_key"?}. ${sources.error.message.replace(/\.$/, '')}`;
    }),
  },
} satisfies OptionRules;
