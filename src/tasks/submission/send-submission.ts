import {
  createRedactor,
  mapSentence,
  redactSecrets,
  sanitizeMessage,
  sentence,
  toSentence,
  userOwner,
} from '../../kernel/index.ts';
import { parseSubmitResponse } from '../../plugins/index.ts';
import { retryAfterMs } from '../../upstream/index.ts';
import {
  adviseRetry,
  classifyFailure,
  classifyStatus,
  hookCause,
  readVendorAnswer,
  type VendorAnswer,
  vendorErrors,
} from '../../vendors/index.ts';
import { taskErrors } from '../errors.ts';
import { traceEvent } from '../state/trace-event.ts';
import type { TaskDeps } from '../types.ts';
import type { FailedAttempt, SendOutcome } from './classify-refusal.ts';
import { classifyRefusal, refusalOfStatus } from './classify-refusal.ts';
import type { PreparedSubmission } from './prepare-submission.ts';

/** Characters of a vendor's message that are searched for secrets; the client gets 512 of them. */
const MAX_MESSAGE = 16 * 1024;

/** Makes the one upstream request of an attempt and lets the plugin parse the answer. */
export async function sendSubmission(deps: TaskDeps, submission: PreparedSubmission): Promise<SendOutcome> {
  const { channel, context, plugin } = submission;
  const { secrets } = submission.credential;
  const logFields = { request_id: submission.requestId, task_id: context.publicTaskId, channel_id: channel.id };
  traceEvent(deps.logger, 'submit_start', logFields);
  const startedMs = deps.clock.monotonicMs();
  const sent = await deps.vendors.send(channel, submission.vendorRequest);
  const ms = Math.round(deps.clock.monotonicMs() - startedMs);
  const status = sent.ok ? sent.value.status : sent.error.kind;
  deps.telemetry.meter?.answered({ channelId: channel.id, call: 'submit', status, ms });
  const result = sent.ok ? { status: sent.value.status } : { failure: sent.error.kind };
  traceEvent(deps.logger, 'submit_end', { ...logFields, ...result, ms });
  if (!sent.ok) {
    const { kind, notSent } = sent.error;
    const outcome = classifyFailure(sent.error);
    const message = mapSentence(sent.error, createRedactor(secrets));
    const shouldRetry = adviseRetry(outcome);
    if (kind === 'refused') {
      const error = vendorErrors.plugin_request_invalid({ message, shouldRetry });
      return { kind: 'failed', error, mayTryAnother: false, outcome, refusal: { kind: 'request' } };
    }
    const make = kind === 'timeout' ? taskErrors.vendor_timeout : taskErrors.vendor_unreachable;
    const mayTryAnother = notSent || channel.settings.retry_on_5xx === true;
    const refusal = { kind: notSent ? ('vendor_busy' as const) : ('in_doubt' as const) };
    return { kind: 'failed', error: make({ message, shouldRetry }), mayTryAnother, outcome, refusal };
  }
  const accepted = sent.value.status >= 200 && sent.value.status < 300;
  const read = await readVendorAnswer(sent.value, { tasks: 1, media: accepted });
  if (!read.ok) {
    const error = taskErrors.vendor_failed({ message: read.error, shouldRetry: adviseRetry('in_doubt') });
    const mayTryAnother = !accepted && channel.settings.retry_on_5xx === true;
    return { kind: 'failed', error, mayTryAnother, outcome: 'in_doubt', refusal: { kind: 'in_doubt' } };
  }
  if (!accepted) {
    const plain = classifyPlainly(deps, submission, read.value);
    return classifyRefusal(deps, submission, { answer: read.value, plain });
  }
  const { headers, body, uncut, base64 } = read.value;
  const response = { statusCode: sent.value.status, headers, body, ...(base64 === undefined ? {} : { base64 }) };
  const parsed = await parseSubmitResponse(
    plugin,
    { ctx: context, response },
    { owner: userOwner(submission.caller.user.id), alreadyAdmitted: true, secrets },
  );
  traceEvent(deps.logger, 'parse', { ...logFields, ok: parsed.ok });
  if (parsed.ok) return { kind: 'accepted', result: parsed.value, isCut: uncut !== undefined };
  // The vendor may be working on the job: not sent again, unless the plugin reads a refusal in it.
  const make =
    parsed.error.kind === 'thrown'
      ? taskErrors.plugin_submit_response_failed
      : taskErrors.plugin_submit_response_invalid;
  const shouldRetry = adviseRetry('in_doubt');
  const error = make({ message: toSentence(parsed.error), shouldRetry, cause: hookCause(parsed.error) });
  const refusal = { kind: 'in_doubt' as const };
  const plain: FailedAttempt = { kind: 'failed', error, mayTryAnother: false, outcome: 'in_doubt', refusal };
  const wasRead = parsed.error.kind === 'thrown';
  return wasRead ? classifyRefusal(deps, submission, { answer: read.value, plain }) : plain;
}

/** What the status of an answer says. */
function classifyPlainly(
  deps: TaskDeps,
  { channel, credential, requestId }: PreparedSubmission,
  answer: VendorAnswer,
): FailedAttempt {
  const { status, headers } = answer;
  const { secrets } = credential;
  const words = sanitizeMessage(redactSecrets(vendorMessage(answer).slice(0, MAX_MESSAGE), secrets));
  const message =
    words === '' ? sentence('tasks.vendor_answered', { status }) : sentence('tasks.vendor_said', { status, words });
  const outcome = classifyStatus(status);
  const shouldRetry = adviseRetry(outcome);
  const waitMs = retryAfterMs(headers['retry-after']?.[0], deps.clock.nowMs());
  const refusal = { kind: refusalOfStatus(status), ...(waitMs > 0 ? { retryAfterMs: waitMs } : {}) };
  if (status === 429) {
    const wait = Math.ceil(waitMs / 1000);
    return {
      kind: 'failed',
      error: taskErrors.vendor_busy({ message, shouldRetry, ...(wait > 0 ? { retryAfterSeconds: wait } : {}) }),
      mayTryAnother: true,
      outcome,
      refusal,
    };
  }
  if (status === 401 || status === 403) {
    if (status === 401) credential.onUnauthorized();
    const refused = { request_id: requestId, channel_id: channel.id, status };
    deps.logger.warn(refused, "vendor refused the channel's key; check the key");
    return {
      kind: 'failed',
      error: taskErrors.vendor_failed({ message: sentence('tasks.credential_refused'), shouldRetry }),
      mayTryAnother: false,
      outcome,
      refusal,
    };
  }
  if (status >= 400 && status < 500) {
    const error = taskErrors.vendor_rejected({ message, shouldRetry });
    return { kind: 'failed', error, mayTryAnother: false, outcome, refusal };
  }
  return {
    kind: 'failed',
    error: taskErrors.vendor_failed({ message, shouldRetry }),
    mayTryAnother: channel.settings.retry_on_5xx === true,
    outcome,
    refusal,
  };
}

/** The message in a vendor's error body, in the shapes that vendors commonly use. */
function vendorMessage({ body, text }: VendorAnswer): string {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return text;
  const { error, message, msg, reason } = body;
  const inner = typeof error === 'object' && error !== null && !Array.isArray(error) ? error.message : error;
  const found = [inner, message, msg, reason].find((value) => typeof value === 'string' && value !== '');
  return typeof found === 'string' ? found : text;
}
