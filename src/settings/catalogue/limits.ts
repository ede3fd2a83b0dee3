/** Limits (`ModelRequestRateLimit…`, `limits.`), `billing.`, `task_plugin.` and `queue.`. */
import {
  BUDGET_PERIODS,
  isBudget,
  isGroupName,
  isObject,
  isTimeZone,
  MAX_QUOTA,
  parseJson,
} from '../../kernel/index.ts';
import { DEFAULT_MARKET_SOURCES, parseMarketSources, writeMarketSources } from './market-sources.ts';
import { boolean, choice, integer, json, type OptionRules, text } from './option-rule.ts';

/** The ceiling of every count below: the limit stores one timestamp for each success. */
const MAX_MODEL_REQUESTS = 1_000_000;
const MINUTES_OF_A_DAY = 1440;
const MAX_GROUPS = 1000;

const isModelLimit = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.length === 2 &&
  value.every((count, i) => Number.isInteger(count) && count >= i && count <= MAX_MODEL_REQUESTS);

const OWN_LIMITS = ['requests_per_minute', 'max_running'];

const isOwnerLimits = (value: unknown): boolean =>
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
        Object.entries(groups).every(([name, limits]) => isGroupName(name) && isOwnerLimits(limits));
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
  /** Group name to price ratio. */
  groups: {
    proof: 'none',
    ...json('{"default":1}', (value) => {
      const groups = parseJson(value);
      const valid =
        isObject(groups) && Object.entries(groups).every(([name, ratio]) => isGroupName(name) && isRatio(ratio));
      return valid ? undefined : 'a JSON object of group names (without blanks) to ratios of at least 0';
    }),
  },
  /** Group name to what each of its users may spend in each period. */
  'billing.group_budgets': {
    proof: 'none',
    ...json('{}', (value) => {
      const budgets = parseJson(value);
      const valid =
        isObject(budgets) &&
        Object.keys(budgets).length <= MAX_GROUPS &&
        Object.entries(budgets).every(([name, budget]) => isGroupName(name) && isBudget(budget));
      return valid
        ? undefined
        : `a JSON object of at most ${MAX_GROUPS} group names to {"amount", "period"}: a whole number of quota from 1 to ${MAX_QUOTA}, and ${BUDGET_PERIODS.join(', ')}`;
    }),
  },
  /** Decides who may use models that have no price. */
  'billing.unpriced': { proof: 'none', ...choice(['admins', 'everyone', 'nobody'], 'admins, everyone or nobody') },
  /** The time zone of the days, weeks and months of budgets, and of the hours of the retention. */
  'billing.timezone': {
    proof: 'none',
    ...text('UTC', isTimeZone, 'the name of a time zone, such as UTC or Europe/Berlin'),
  },
  /**
   * What each node may hold in memory for relayed requests, whose first byte then waits for no
   * write; a crash may leave up to this much unbilled. 0: nothing.
   */
  'billing.memory_hold_quota': { proof: 'none', ...integer(0, 0, MAX_MEMORY_HOLD) },
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

const MAX_WAIT_SECONDS = 43_200;
const MAX_TASKS = 1_000_000;
const MAX_BYTES = 10 * 1024 ** 4;
const MAX_PRIORITY = 10;
const MAX_MODEL = 255;
/** Models that one may be replaced by. */
const MAX_FALLBACKS = 8;

/** The bounds, and what each may be at most. */
const BOUNDS: Readonly<Record<string, number>> = {
  max_wait_seconds: MAX_WAIT_SECONDS,
  max_waiting: MAX_TASKS,
  max_waiting_per_user: MAX_TASKS,
  max_waiting_bytes: MAX_BYTES,
};

const isGroups = (value: unknown, isValid: (own: unknown) => boolean): boolean =>
  isObject(value) && Object.keys(value).length <= MAX_GROUPS && Object.values(value).every(isValid);

const isBounds = (value: unknown): boolean =>
  isObject(value) &&
  Object.entries(value).every(
    ([name, bound]) =>
      Object.hasOwn(BOUNDS, name) &&
      Number.isInteger(bound) &&
      Number(bound) >= 0 &&
      Number(bound) <= (BOUNDS[name] ?? 0),
  );

const isPriority = (value: unknown): boolean => Number.isInteger(value) && Math.abs(Number(value)) <= MAX_PRIORITY;

const isName = (value: unknown): value is string =>
  typeof value === 'string' && value.trim() === value && value.length > 0 && value.length <= MAX_MODEL;

const isFallback = (value: unknown): boolean => {
  if (!isObject(value) || Object.keys(value).some((key) => key !== 'models' && key !== 'after_seconds')) return false;
  const { models, after_seconds: after = 0 } = value;
  const seconds = Number.isInteger(after) && Number(after) >= 0 && Number(after) <= MAX_WAIT_SECONDS;
  return (
    Array.isArray(models) && models.length > 0 && models.length <= MAX_FALLBACKS && models.every(isName) && seconds
  );
};

const isFallbacks = (value: unknown): boolean =>
  isObject(value) &&
  Object.keys(value).length <= MAX_GROUPS &&
  Object.entries(value).every(([model, own]) => isName(model) && isFallback(own));

export const queueOptions = {
  /** How long a task waits for an account with a free slot; 0: none waits. */
  'queue.max_wait_seconds': { proof: 'none', ...integer(3600, 0, MAX_WAIT_SECONDS) },
  /** Tasks that may wait together. */
  'queue.max_waiting': { proof: 'none', ...integer(100_000, 1, MAX_TASKS) },
  'queue.max_waiting_per_user': { proof: 'none', ...integer(1000, 1, MAX_TASKS) },
  /** What the requests and files of waiting tasks may take together. */
  'queue.max_waiting_bytes': { proof: 'none', ...integer(10 * 1024 ** 3, 0, MAX_BYTES) },
  /** Group name to bounds of its own. */
  'queue.group_limits': {
    proof: 'none',
    ...json('{}', (value) =>
      isGroups(parseJson(value), isBounds)
        ? undefined
        : `a JSON object of at most ${MAX_GROUPS} group names to objects of ${Object.keys(BOUNDS).join(', ')}, whole numbers`,
    ),
  },
  /** Group name to priority: the highest goes first. */
  'queue.group_priorities': {
    proof: 'none',
    ...json('{}', (value) =>
      isGroups(parseJson(value), isPriority)
        ? undefined
        : `a JSON object of at most ${MAX_GROUPS} group names to whole numbers from -${MAX_PRIORITY} to ${MAX_PRIORITY}`,
    ),
  },
  /** Group name to models, each with those that may serve instead. */
  'queue.model_fallbacks': {
    proof: 'none',
    ...json('{}', (value) =>
      isGroups(parseJson(value), isFallbacks)
        ? undefined
        : `a JSON object of at most ${MAX_GROUPS} group names to objects of model names to {"models": 1 to ${MAX_FALLBACKS} names, "after_seconds": 0 to ${MAX_WAIT_SECONDS}, or absent}`,
    ),
  },
} satisfies OptionRules;
