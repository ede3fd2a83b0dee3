import { boolean, integer, type OptionKind, type OptionRules } from './option-rule.ts';

/** A hundred years. */
const MAX_DAYS = 36_500;
/** Less than this is too little for an administrator who looks for a fault. */
const RECORD_DAYS = 30;

/** Days for which something is kept; 0: for ever. Any number from `least` on, or 0. */
function days(initial: number, least = 1): OptionKind<'integer'> {
  const kind = integer(initial, 0, MAX_DAYS);
  return {
    ...kind,
    check(value) {
      const isAllowed = kind.check(value) === undefined && (Number(value) === 0 || Number(value) >= least);
      return isAllowed ? undefined : `0 (for ever), or a whole number of days from ${least} to ${MAX_DAYS}`;
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
  /** The hour of the day, in the time zone of the gateway, at which rows begin to be removed. */
  'retention.start_hour': { proof: 'none', ...integer(2, 0, 23) },
  /** For how many hours from then on; 24: all day. */
  'retention.hours': { proof: 'none', ...integer(4, 1, 24) },
} satisfies OptionRules;
