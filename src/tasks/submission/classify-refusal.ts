import type { Refusal as CapacityRefusal, RefusalKind } from '../../channels/index.ts';
import { type AppError, quoted, type Sentence, sentence, toSentence, userOwner } from '../../kernel/index.ts';
import { type ParsedSubmission, parseSubmitError, type SubmitError } from '../../plugins/index.ts';
import { adviseRetry, type VendorAnswer, type VendorOutcome } from '../../vendors/index.ts';
import { taskErrors } from '../errors.ts';
import type { TaskDeps } from '../types.ts';
import type { PreparedSubmission } from './prepare-submission.ts';

type Refusal = { answer: VendorAnswer; plain: FailedAttempt };

/** Classes that another channel's account may not meet. */
const OF_THE_CHANNEL: ReadonlySet<SubmitError['class']> = new Set(['quota', 'busy', 'credential']);

/**
 * A job may stand behind these whatever their body says: somebody between gave up waiting, or the
 * vendor has the job already.
 */
const ALWAYS_IN_DOUBT: ReadonlySet<number> = new Set([408, 409, 504, 524]);

/**
 * Lets the plugin say what an answer means that accepts nothing: 4xx, 5xx, and a 2xx in which the
 * plugin found no job. `plain` is what its status alone says: it stands where the plugin says
 * nothing, and the plugin never permits another channel at once that it does not. A `kind` states
 * that the vendor has no job, so that the task may wait; a class states it for 4xx alone.
 */
export async function classifyRefusal(
  deps: TaskDeps,
  { plugin, caller, channel, context, credential }: PreparedSubmission,
  { answer, plain }: Refusal,
): Promise<FailedAttempt> {
  const { status, headers, body } = answer;
  if ((status >= 300 && status < 400) || !plugin.has('parseSubmitError')) return plain;
  const parsed = await parseSubmitError(
    plugin,
    { ctx: context, response: { statusCode: status, headers, body } },
    { owner: userOwner(caller.user.id), alreadyAdmitted: true, secrets: credential.secrets },
  );
  if (!parsed.ok) {
    const logFields = { task_id: context.publicTaskId, channel_id: channel.id, plugin: plugin.key };
    deps.logger.warn({ ...logFields, reason: parsed.error.message }, 'parseSubmitError failed; the status counts');
    return plain;
  }
  const error = parsed.value;
  const isOf4xx = status >= 400 && status < 500;
  if (!error || !(isOf4xx || error.provesNoJob)) return plain;
  const isProof = error.provesNoJob && !ALWAYS_IN_DOUBT.has(status);
  const outcome = plain.outcome === 'in_doubt' && !isProof ? plain.outcome : OUTCOMES[error.class];
  const { retryAfterSeconds } = error;
  const waitMs = retryAfterSeconds === undefined ? plain.refusal.retryAfterMs : retryAfterSeconds * 1000;
  return {
    kind: 'failed',
    error: clientError(error, { plain, outcome }),
    mayTryAnother: plain.mayTryAnother && OF_THE_CHANNEL.has(error.class),
    outcome,
    said: { status, words: error.message ?? '' },
    refusal: {
      kind: outcome === 'in_doubt' ? 'in_doubt' : error.kind,
      ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
    },
  };
}

/** Classifies a refusal by its status, if neither vendor nor plugin says more. */
export function refusalForStatus(status: number): RefusalKind {
  if (status === 429) return 'capacity';
  if (status === 402) return 'balance';
  if (status === 401) return 'credential';
  if (status === 503 || status === 529) return 'vendor_busy';
  if (status === 403) return 'forbidden';
  return status >= 400 && status < 500 ? 'request' : 'in_doubt';
}

/** Without a token nothing was sent: its server refuses the key, or does not serve just now. */
export function refuseWithoutToken({ reason, params }: Sentence): CapacityRefusal {
  const isAway = reason === 'upstream.token_silent' || /^(429|5)/.test(String(params.words ?? ''));
  return { kind: isAway ? 'vendor_busy' : 'credential' };
}

const OUTCOMES: Readonly<Record<SubmitError['class'], VendorOutcome>> = {
  quota: 'throttled',
  busy: 'throttled',
  credential: 'turned_away',
  bad_input: 'refused',
  content_policy: 'refused',
};

type Known = { plain: FailedAttempt; outcome: VendorOutcome };

function clientError({ class: found, message, param, retryAfterSeconds }: SubmitError, { plain, outcome }: Known) {
  const shouldRetry = adviseRetry(outcome);
  const wait = retryAfterSeconds ?? plain.error.retryAfterSeconds;
  const later = { shouldRetry, ...(wait === undefined ? {} : { retryAfterSeconds: wait }) };
  const words = message === undefined ? {} : { message: quoted(message) };
  const about = { shouldRetry, ...(param === undefined ? {} : { param }) };
  switch (found) {
    case 'bad_input':
      return taskErrors.vendor_rejected({ message: toSentence(plain.error), ...words, ...about });
    case 'content_policy':
      return taskErrors.content_policy_violation({ ...words, ...about });
    case 'busy':
      return taskErrors.vendor_busy({ ...words, ...later });
    case 'quota':
      return taskErrors.vendor_quota_exhausted(later);
    default:
      return taskErrors.vendor_failed({ message: sentence('tasks.credential_refused'), shouldRetry });
  }
}

/**
 * `mayTryAnother`: the vendor certainly has no job from this attempt, or the channel accepts that
 * risk.
 */
export type FailedAttempt = {
  kind: 'failed';
  error: AppError;
  mayTryAnother: boolean;
  outcome: VendorOutcome;
  /** The vendor's answer for the log: clients are not told what concerns the operator's account. */
  said?: { status: number; words: string };
  /** What it says of the account. */
  refusal: CapacityRefusal;
};

/** `isCut`: media were cut out of the answer that the plugin saw. */
export type SendOutcome = { kind: 'accepted'; result: ParsedSubmission; isCut: boolean } | FailedAttempt;
