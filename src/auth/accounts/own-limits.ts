import { sentence } from '../../kernel/index.ts';
import type { OwnLimits } from '../../store/ports/index.ts';
import { invalidField } from '../errors.ts';

/** As the API has them; null: no such limit. */
export type OwnLimitsView = { requests_per_minute: number | null; max_running: number | null };

/** Far above what one owner can use. */
export const MAX_OWN_LIMIT = 1_000_000;

/**
 * The given limits as the store takes them.
 * @throws `auth.validation_failed`
 */
export function validateOwnLimits(fields: Partial<OwnLimitsView>): Partial<OwnLimits> {
  const { requests_per_minute: requestsPerMinute, max_running: maxRunning } = fields;
  return {
    ...(requestsPerMinute === undefined
      ? {}
      : { requestsPerMinute: validateLimit('requests_per_minute', requestsPerMinute) }),
    ...(maxRunning === undefined ? {} : { maxRunning: validateLimit('max_running', maxRunning) }),
  };
}

function validateLimit(field: keyof OwnLimitsView, limit: number | null): number | null {
  if (limit !== null && (!Number.isInteger(limit) || limit < 1 || limit > MAX_OWN_LIMIT)) {
    throw invalidField(field, sentence('auth.own_limit', { max: MAX_OWN_LIMIT }));
  }
  return limit;
}

export const describeOwnLimits = ({ requestsPerMinute, maxRunning }: OwnLimits): OwnLimitsView => ({
  requests_per_minute: requestsPerMinute,
  max_running: maxRunning,
});
