import type { UpstreamFailure } from '../../upstream/index.ts';

/**
 * What is known after an attempt that failed. `not_sent`: nothing left the gateway. `forbidden`:
 * its own rules kept the request from the vendor. `turned_away`: the vendor did not look at the
 * request (a wrong credential, another address). `throttled`: it takes no request now. `refused`:
 * it does not take this one. `in_doubt`: it may have the job.
 */
export type VendorOutcome = 'not_sent' | 'forbidden' | 'turned_away' | 'throttled' | 'refused' | 'in_doubt';

/** The outcome of a request without an answer. */
export function classifyFailure({ kind, notSent }: UpstreamFailure): VendorOutcome {
  if (!notSent) return 'in_doubt';
  return kind === 'refused' ? 'forbidden' : 'not_sent';
}

/** 408: a proxy may have waited too long for the vendor. 409: it may already have this very job. */
const IN_DOUBT = [408, 409];
/** 307 and 308 send the request elsewhere; other redirects may lead to a job that was made. */
const TURNED_AWAY = [307, 308, 401, 403];

/** The outcome of an answer that is not a success, and of a success that cannot be used. */
export function classifyStatus(status: number): VendorOutcome {
  if (status === 429) return 'throttled';
  if (TURNED_AWAY.includes(status)) return 'turned_away';
  return status >= 400 && status < 500 && !IN_DOUBT.includes(status) ? 'refused' : 'in_doubt';
}

/**
 * The advice in `x-should-retry`, for every surface and the relay. SDKs repeat 408, 409, 429, 5xx
 * and broken connections by themselves. Undefined leaves it to them: a repeat buys nothing twice.
 */
export function adviseRetry(outcome: VendorOutcome): boolean | undefined {
  if (outcome === 'in_doubt') return false;
  return outcome === 'not_sent' ? true : undefined;
}

/** Whether the same request may succeed later and buys nothing twice then. */
export const isRepeatable = (outcome: VendorOutcome): boolean => outcome !== 'in_doubt' && outcome !== 'refused';
