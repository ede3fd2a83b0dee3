import type { RefusalKind, RestReason } from './types.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The first and the longest rest in a row; each is twice the one before. */
const REST_MS: Readonly<Record<RestReason, { first: number; longest: number }>> = {
  capacity: { first: 5 * SECOND, longest: 5 * SECOND },
  rate: { first: 5 * SECOND, longest: 15 * MINUTE },
  vendor_busy: { first: 5 * SECOND, longest: 15 * MINUTE },
  outage: { first: 30 * SECOND, longest: 10 * MINUTE },
  credential: { first: 10 * MINUTE, longest: 6 * HOUR },
  balance: { first: 30 * MINUTE, longest: 6 * HOUR },
};

/** A pause in which nothing is sent, and which ends with one task as its trial. */
export type Rest = {
  /** Empty: nothing rests. */
  reason: RestReason | '';
  /** When the rest ends, on the monotonic clock. */
  untilMs: number;
  /** When the first of its reason in a row began, in Unix seconds. */
  since: number;
  /** How many rests of this reason came in a row. */
  step: number;
  /** Grows with each rest, so that answers to requests from before it are recognised. */
  generation: number;
  /** The task that is the trial of this node. */
  trialTaskId: string | undefined;
  /** No trial is claimed before this time: another node has it. */
  nextTrialMs: number;
};

export const NO_REST: Rest = {
  ...{ reason: '', untilMs: 0, since: 0, step: 0, generation: 0 },
  ...{ trialTaskId: undefined, nextTrialMs: 0 },
};

/** `resting`: nothing may be sent. `trial`: one task may. */
export function restPhase(rest: Rest, nowMs: number): 'none' | 'resting' | 'trial' {
  if (rest.reason === '') return 'none';
  const waits = rest.untilMs > nowMs || rest.trialTaskId !== undefined || rest.nextTrialMs > nowMs;
  return waits ? 'resting' : 'trial';
}

/** The reason of the rest that a refusal begins; `undefined`: the refusal begins none. */
export function restReason(
  kind: RefusalKind,
  { rest, runningOthers }: { rest: Rest; runningOthers: number },
): RestReason | undefined {
  if (kind === 'content' || kind === 'forbidden' || kind === 'request' || kind === 'in_doubt') return undefined;
  // An account that runs nothing is not full, and a rest for fullness has just been kept.
  if (kind === 'capacity' && (rest.reason !== '' || runningOthers < 1)) return 'rate';
  return kind;
}

/** `share`: a random 0.1 at most, by which it lasts longer than `Retry-After` or its step. */
export function nextRest(
  before: Rest,
  { reason, retryAfterMs = 0, share }: { reason: RestReason; retryAfterMs?: number; share: number },
): Pick<Rest, 'reason' | 'step' | 'generation'> & { forMs: number } {
  const step = before.reason === reason ? before.step + 1 : 1;
  const { first, longest } = REST_MS[reason];
  const ownMs = Math.min(first * 2 ** (step - 1), longest);
  const forMs = Math.round((retryAfterMs > 0 ? retryAfterMs : ownMs) * (1 + share));
  return { reason, step, generation: before.generation + 1, forMs };
}
