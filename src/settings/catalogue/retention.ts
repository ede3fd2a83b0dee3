/** What is kept and for how long: `retention.`, `results.` (kept results) and `backup.`. */
import { isGroupName, isObject, parseJson } from '../../kernel/index.ts';
import { boolean, choice, integer, json, type OptionKind, type OptionRules } from './option-rule.ts';

/** A hundred years. */
const MAX_DAYS = 36_500;
/** Less than this is too little for an administrator who looks for a fault. */
const RECORD_DAYS = 30;

/** Days for which something is kept; 0: without end. Any number from `least` on, or 0. */
function days(initial: number, least = 1): OptionKind<'integer'> {
  const kind = integer(initial, 0, MAX_DAYS);
  return {
    ...kind,
    check(value) {
      const isAllowed = kind.check(value) === undefined && (Number(value) === 0 || Number(value) >= least);
      return isAllowed ? undefined : `0 (forever), or a whole number of days from ${least} to ${MAX_DAYS}`;
    },
  };
}

export const retentionOptions = {
  /**
   * Whether old rows are removed at all. An upgrade sets it to false where the gateway was in use,
   * so that an administrator decides.
   */
  'retention.enabled': { proof: 'none', ...boolean(true) },
  /** Prompts of ended tasks. */
  'retention.prompt_days': { proof: 'none', ...days(90) },
  /** Stored requests of ended tasks; never longer than their prompts. */
  'retention.request_days': { proof: 'none', ...days(90) },
  /** What vendors answered to ended tasks. Kept results are not touched. */
  'retention.answer_days': { proof: 'none', ...days(90) },
  /** The timeline of ended tasks. */
  'retention.event_days': { proof: 'none', ...days(0) },
  /** Ended tasks as a whole. */
  'retention.task_days': { proof: 'none', ...days(0) },
  /** Usage rows; the figures by day stay. */
  'retention.usage_days': { proof: 'none', ...days(0, RECORD_DAYS) },
  /** Single ledger lines; their sum by user and month stays. */
  'retention.ledger_days': { proof: 'none', ...days(0, RECORD_DAYS) },
  /** Webhook notices that were delivered or given up. */
  'retention.webhook_days': { proof: 'none', ...days(7) },
  /** What people changed, in the audit log. Sign-ins: `AUDIT_SIGN_IN_DAYS`. */
  'retention.audit_days': { proof: 'settings.security', ...days(0, RECORD_DAYS) },
  /** The hour of the day, in `billing.timezone`, at which rows begin to be removed. */
  'retention.start_hour': { proof: 'none', ...integer(2, 0, 23) },
  /** For how many hours from then on; 24: all day. */
  'retention.hours': { proof: 'none', ...integer(4, 1, 24) },
} satisfies OptionRules;

const MAX_GROUPS = 1000;
const MAX_GB = 1_000_000;

/** A JSON object of groups to numbers; `default` is for every group that is not named. */
const byGroup = (initial: string, allows: (value: number) => boolean, wanted: string) =>
  json(initial, (value) => {
    const groups = parseJson(value);
    const valid =
      isObject(groups) &&
      Object.keys(groups).length <= MAX_GROUPS &&
      Object.entries(groups).every(
        ([name, number]) => isGroupName(name) && typeof number === 'number' && allows(number),
      );
    return valid ? undefined : `a JSON object of group names, or default, to ${wanted}`;
  });

export const resultOptions = {
  /** Which results the gateway keeps: none, those that a request or API key asks for, or all. */
  'results.keep': { proof: 'none', ...choice(['off', 'asked', 'all'], 'off, asked or all') },
  /** Whether files of requests are kept, with the limits of results, to run their tasks again. */
  'results.keep_inputs': { proof: 'none', ...boolean(false) },
  /** Days for which results are kept, by group; 0: without end. */
  'results.days': {
    proof: 'none',
    ...byGroup(
      '{"default":0}',
      (days) => Number.isInteger(days) && days >= 0 && days <= MAX_DAYS,
      `whole days from 0 (forever) to ${MAX_DAYS}`,
    ),
  },
  /** GB (10^9 bytes) that a user may keep, by group; 0: no limit. */
  'results.quota_gb': {
    proof: 'none',
    ...byGroup('{"default":0}', (gb) => gb >= 0 && gb <= MAX_GB, `GB from 0 (no limit) to ${MAX_GB}`),
  },
  /** USD for a kept GB (10^9 bytes) and day, by group; 0: free. */
  'results.price_gb_day': {
    proof: 'none',
    ...byGroup('{"default":0}', (usd) => usd >= 0 && usd <= 1000, 'USD from 0 to 1000'),
  },
  /** MB (10^6 bytes) that the previews of all users may take together; 0: there are none. */
  'results.previews_mb': { proof: 'none', ...integer(256, 0, 1_000_000) },
  /** Whether downloads are redirected to the bucket, where results are kept in one. */
  'results.s3_redirect': { proof: 'settings.security', ...boolean(false) },
} satisfies OptionRules;

export const backupOptions = {
  /** Whether a backup is made each day, at the location that BACKUP_TO names. */
  'backup.daily': { proof: 'none', ...boolean(false) },
  /** The hour of the day, in UTC: no day has one twice. */
  'backup.hour': { proof: 'none', ...integer(3, 0, 23) },
  /** The newest scheduled backup of each of this many days, weeks and months stays. */
  'backup.keep_daily': { proof: 'none', ...integer(7, 1, 366) },
  'backup.keep_weekly': { proof: 'none', ...integer(4, 0, 520) },
  'backup.keep_monthly': { proof: 'none', ...integer(6, 0, 600) },
} satisfies OptionRules;
