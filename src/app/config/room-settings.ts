/**
 * What each room takes of the configuration and of the options. The settings of auth that follow
 * from options: `settings/auth-settings.ts`.
 */
import type { AuthConfig, CleanUpConfig } from '../../auth/index.ts';
import type { BillingSettings } from '../../billing/index.ts';
import type { ResultSettings } from '../../files/index.ts';
import type { Budget, Json } from '../../kernel/index.ts';
import { createCallbackUrls } from '../../notifications/index.ts';
import type { RetentionSettings } from '../../operations/index.ts';
import type { QuietHours } from '../../operations/retention/run-retention.ts';
import type { Secrets } from '../../operations/secrets/load-secrets.ts';
import type { MarketSource } from '../../plugins/index.ts';
import type { LinkLimits } from '../../results/index.ts';
import { findGroupLimits, MARKET_SOURCES, type OptionValues, parseMarketSources } from '../../settings/index.ts';
import type { TaskLimits, WaitingRules } from '../../tasks/index.ts';
import type { Config } from './config-variables.ts';

/** The settings of the billing room that follow from the options. */
export const billingSettings = (options: OptionValues): BillingSettings => ({
  // The catalogue has checked the ratios.
  groupRatios: options.json('groups') as Record<string, number>,
  groupBudgets: options.json('billing.group_budgets') as Record<string, Budget>,
  timezone: options.text('billing.timezone'),
  unpriced: options.choice('billing.unpriced'),
});

/** The configured marketplaces; the catalogue has checked the option. */
export function marketSources(options: OptionValues): MarketSource[] {
  const sources = parseMarketSources(options.json(MARKET_SOURCES));
  return sources.ok ? sources.value : [];
}

/** The host names, in lower case, under which the panel answers besides `localhost`. */
export const panelHostNames = (
  config: Pick<Config, 'trustedHosts' | 'cookieTrustedUrls'>,
  options: OptionValues,
): string[] => [
  ...config.trustedHosts,
  ...[options.text('ServerAddress'), options.text('TaskPublicAddress'), ...config.cookieTrustedUrls]
    .filter((address) => URL.canParse(address))
    .map((address) => new URL(address).hostname),
];

/** What the options say about old rows. */
export const retentionSettings = (options: OptionValues): RetentionSettings => ({
  enabled: options.flag('retention.enabled'),
  promptDays: options.number('retention.prompt_days'),
  requestDays: options.number('retention.request_days'),
  answerDays: options.number('retention.answer_days'),
  taskDays: options.number('retention.task_days'),
  eventDays: options.number('retention.event_days'),
  usageDays: options.number('retention.usage_days'),
  ledgerDays: options.number('retention.ledger_days'),
  webhookDays: options.number('retention.webhook_days'),
});

/**
 * Whether an administrator has chosen what happens to old content. An update switches the retention
 * off where the gateway was in use, and leaves the days as they are for a new one.
 */
export const isRetentionDecided = ({ enabled, promptDays, requestDays, answerDays }: RetentionSettings): boolean =>
  enabled || (promptDays === 0 && requestDays === 0 && answerDays === 0);

const MB = 1_000_000;
const GB = 1_000_000_000;

/** What the options say about kept results. */
export const resultSettings = (options: OptionValues): ResultSettings => ({
  keep: options.choice('results.keep'),
  keepInputs: options.flag('results.keep_inputs'),
  daysFor: (group) => ofGroup(options.json('results.days'), group),
  storageQuotaFor: (group) => ofGroup(options.json('results.quota_gb'), group) * GB || undefined,
  usdPerGbDayFor: (group) => ofGroup(options.json('results.price_gb_day'), group),
  previewBytes: options.number('results.previews_mb') * MB,
  redirects: options.flag('results.s3_redirect'),
});

/** What the options say about tasks that wait, for a group. */
export function waitingRules(options: OptionValues, group: string): WaitingRules {
  const groups = options.json('queue.group_limits') as Record<string, Record<string, number>>;
  const own = Object.hasOwn(groups, group) ? (groups[group] ?? {}) : {};
  const priorities = options.json('queue.group_priorities') as Record<string, number>;
  return {
    maxWaitMs: (own.max_wait_seconds ?? options.number('queue.max_wait_seconds')) * 1000,
    maxWaiting: own.max_waiting ?? options.number('queue.max_waiting'),
    maxWaitingPerUser: own.max_waiting_per_user ?? options.number('queue.max_waiting_per_user'),
    maxWaitingBytes: own.max_waiting_bytes ?? options.number('queue.max_waiting_bytes'),
    own: { maxWaiting: own.max_waiting !== undefined, maxWaitingBytes: own.max_waiting_bytes !== undefined },
    priority: Object.hasOwn(priorities, group) ? (priorities[group] ?? 0) : 0,
    maxRunning: findGroupLimits(options, group).max_running ?? null,
    fallbacks: modelFallbacks(options, group),
  };
}

/** The catalogue has checked the option. */
function modelFallbacks(options: OptionValues, group: string): WaitingRules['fallbacks'] {
  type Written = Record<string, { models: string[]; after_seconds?: number }>;
  const groups = options.json('queue.model_fallbacks') as Record<string, Written>;
  const own = Object.hasOwn(groups, group) ? (groups[group] ?? {}) : {};
  return Object.fromEntries(
    Object.entries(own).map(([model, { models, after_seconds: after }]) => [
      model,
      { models, afterMs: after === undefined ? null : after * 1000 },
    ]),
  );
}

/** The catalogue has checked the objects of groups to numbers. */
function ofGroup(value: Json, group: string): number {
  const byGroup = value as Record<string, number>;
  return (Object.hasOwn(byGroup, group) ? byGroup[group] : byGroup.default) ?? 0;
}

/** When work that can wait is done. */
export const quietHours = (options: OptionValues): QuietHours => ({
  startHour: options.number('retention.start_hour'),
  hours: options.number('retention.hours'),
  zone: options.text('billing.timezone'),
});

/** A refresh token is valid at most 30 days, as in new-api. */
const REFRESH_DAYS = 30;

/** What auth takes of the configuration. */
export const authConfig = (config: Config, secrets: Secrets): AuthConfig => ({
  sessionSecrets: secrets.session,
  cryptoSecrets: secrets.crypto,
  refreshDays: REFRESH_DAYS,
  activeSessionLimit: config.sessionActiveLimit,
  sessionIssuanceLimit: config.sessionIssuanceLimit,
  sessionIssuanceWindowSeconds: config.sessionIssuanceWindow,
  sessionIdleSeconds: config.sessionIdleMinutes * 60,
  criticalLimit: config.criticalLimit,
  criticalLimitSeconds: config.criticalLimitSeconds,
  apiLimit: config.apiLimit,
  apiLimitSeconds: config.apiLimitSeconds,
  checkWebhookUrl: createCallbackUrls(config.webhookAllowedHosts).check,
});

export const cleanUpConfig = (config: Config): CleanUpConfig => ({
  sessionIssuanceWindowSeconds: config.sessionIssuanceWindow,
  revokedRetentionDays: config.sessionRevokedRetentionDays,
  auditSignInDays: config.auditSignInDays,
});

const MIB = 1024 * 1024;
/**
 * How long a node holds claimed tasks; it renews the lease while it works on them. Another node
 * takes over a dead node's tasks after this time at most.
 */
const POLL_LEASE_MS = 30_000;

export const taskLimits = (config: Config): Omit<TaskLimits, 'waiting'> => ({
  pollIntervalMs: config.pollIntervalSeconds * 1000,
  pollChannelConcurrency: config.pollChannelConcurrency,
  pollMaxFailures: config.pollMaxFailures,
  taskTimeoutMinutes: config.taskTimeoutMinutes,
  pollLeaseMs: POLL_LEASE_MS,
  claimLimit: config.taskQueryLimit,
  submitTimeoutMs: config.protocolTimeoutSeconds * 1000,
  submitWaitMs: config.submitWaitSeconds * 1000,
  relayWaitMs: config.relayWaitSeconds * 1000,
  tickMs: config.protocolTickMs,
  tickJitterMs: config.protocolTickJitterMs,
  observations: {
    node: config.protocolGlobalConcurrency,
    plugin: config.protocolPluginConcurrency,
    user: config.protocolUserConcurrency,
    key: config.protocolKeyConcurrency,
  },
  maxFileBytes: config.maxFileMb * MIB,
});

export const linkLimits = (config: Config): LinkLimits => ({
  days: config.artifactLinkDays,
  invalidPerMinute: config.artifactInvalidPerMinute,
  downloads: {
    node: config.artifactGlobalConcurrency,
    address: config.artifactIpConcurrency,
    artifact: config.artifactObjectConcurrency,
  },
});
