import {
  createRedactor,
  isObject,
  mapSentence,
  redactSecrets,
  type Sentence,
  sanitizeMessage,
  sentence,
  toSentence,
  userOwner,
} from '../../kernel/index.ts';
import { createSubmitStream, type HookFailure, parseSubmitResponse, type SubmitResponse } from '../../plugins/index.ts';
import {
  decodedStream,
  findDecoder,
  readEncodings,
  retryAfterMs,
  type UpstreamResponse,
} from '../../upstream/index.ts';
import {
  adviseRetry,
  classifyFailure,
  classifyStatus,
  EventTooLarge,
  hookCause,
  readSubmitEvents,
  readVendorAnswer,
  unreadAnswer,
  type VendorAnswer,
  vendorErrors,
} from '../../vendors/index.ts';
import { taskErrors } from '../errors.ts';
import { traceEvent } from '../state/trace-event.ts';
import type { TaskDeps } from '../types.ts';
import type { FailedAttempt, SendOutcome } from './classify-refusal.ts';
import { classifyRefusal, refusalForStatus } from './classify-refusal.ts';
import type { PreparedSubmission } from './prepare-submission.ts';

/** Characters of a vendor's message that are searched for secrets; the client gets 512 of them. */
const MAX_MESSAGE = 16 * 1024;

/**
 * Makes the one upstream request of an attempt and lets the plugin parse the answer. If the process
 * dies before that is stored, `end-interrupted.ts` ends the task: it is never sent twice.
 */
export async function sendSubmission(deps: TaskDeps, submission: PreparedSubmission): Promise<SendOutcome> {
  const { channel, context } = submission;
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
  if (accepted && submission.isStream && EVENT_STREAM.test(sent.value.headers['content-type']?.[0] ?? '')) {
    return readStream(deps, submission, sent.value);
  }
  const read = await readVendorAnswer(sent.value, { tasks: 1, media: accepted });
  if (!accepted) {
    const answer = read.ok ? read.value : unreadAnswer(sent.value);
    const plain = classifyPlainly(deps, submission, answer);
    return classifyRefusal(deps, submission, { answer, plain });
  }
  if (!read.ok) {
    const error = taskErrors.vendor_failed({ message: read.error, shouldRetry: adviseRetry('in_doubt') });
    return { kind: 'failed', error, mayTryAnother: false, outcome: 'in_doubt', refusal: { kind: 'in_doubt' } };
  }
  const { headers, body, uncut, base64 } = read.value;
  const response = { statusCode: sent.value.status, headers, body, ...(base64 === undefined ? {} : { base64 }) };
  const parsed = await parseAnswer(deps, submission, { response, isCut: uncut !== undefined });
  if (parsed.kind === 'accepted') return parsed;
  const { wasRead, ...plain } = parsed;
  // The vendor may be working on the job: not sent again, unless the plugin reads a refusal in it.
  return wasRead ? classifyRefusal(deps, submission, { answer: read.value, plain }) : plain;
}

const EVENT_STREAM = /^text\/event-stream(?:\s*;|\s*$)/i;

const parsingOptions = ({ caller, credential: { secrets } }: PreparedSubmission) => ({
  owner: userOwner(caller.user.id),
  alreadyAdmitted: true,
  secrets,
});

type Parsed = Extract<SendOutcome, { kind: 'accepted' }> | (FailedAttempt & { wasRead: boolean });

/** Lets the plugin parse an answer of 2xx. `wasRead`: it read the answer and threw. */
async function parseAnswer(
  deps: TaskDeps,
  submission: PreparedSubmission,
  { response, isCut }: { response: SubmitResponse; isCut: boolean },
): Promise<Parsed> {
  const { plugin, context: ctx, channel, requestId } = submission;
  const parsed = await parseSubmitResponse(plugin, { ctx, response }, parsingOptions(submission));
  const logFields = { request_id: requestId, task_id: ctx.publicTaskId, channel_id: channel.id };
  traceEvent(deps.logger, 'parse', { ...logFields, ok: parsed.ok });
  if (parsed.ok) return { kind: 'accepted', result: parsed.value, isCut };
  return { ...inDoubt(parsed.error), wasRead: parsed.error.kind === 'thrown' };
}

/** An answer that the plugin could not read. The vendor may be working on the job. */
function inDoubt(failure: HookFailure): FailedAttempt {
  const { plugin_submit_response_failed, plugin_submit_response_invalid } = taskErrors;
  const make = failure.kind === 'thrown' ? plugin_submit_response_failed : plugin_submit_response_invalid;
  const shouldRetry = adviseRetry('in_doubt');
  const error = make({ message: toSentence(failure), shouldRetry, cause: hookCause(failure) });
  return { kind: 'failed', error, mayTryAnother: false, outcome: 'in_doubt', refusal: { kind: 'in_doubt' } };
}

/**
 * Reads an answer that is a stream of events, until the plugin has its result. One that breaks
 * before is not sent again: the vendor may have done the work.
 */
async function readStream(
  deps: TaskDeps,
  submission: PreparedSubmission,
  answer: UpstreamResponse,
): Promise<SendOutcome> {
  const { plugin, context } = submission;
  const stream = createSubmitStream(plugin, context, parsingOptions(submission));
  const deadlineMs = deps.clock.monotonicMs() + deps.limits.submitTimeoutMs;
  const isLate = () => deps.clock.monotonicMs() > deadlineMs;
  // No encoding was asked for, but the plugin reads the events.
  const decoder = findDecoder(readEncodings(answer.headers['content-encoding']));
  const source = decoder ? decodedStream(answer.stream(), decoder) : answer.stream();
  const broken = (message: Sentence): FailedAttempt => {
    const error = taskErrors.plugin_submit_response_invalid({ message, shouldRetry: adviseRetry('in_doubt') });
    return { kind: 'failed', error, mayTryAnother: false, outcome: 'in_doubt', refusal: { kind: 'in_doubt' } };
  };
  try {
    for await (const event of readSubmitEvents(endWhenLate(source, isLate))) {
      const taken = await stream.take(event);
      if (!taken.ok) return inDoubt(taken.error);
      if (taken.value.done) {
        const response = { statusCode: answer.status, headers: answer.headers, body: taken.value.body };
        return await parseAnswer(deps, submission, { response, isCut: false });
      }
    }
    return broken(sentence(isLate() ? 'tasks.stream_late' : 'tasks.stream_ended'));
  } catch (error) {
    deps.logger.info({ err: error, task_id: context.publicTaskId }, "a vendor's stream of events broke");
    return broken(sentence(error instanceof EventTooLarge ? 'tasks.stream_event' : 'tasks.stream_broke'));
  }
}

/** A vendor that sends nothing but comments keeps the stream open, but not beyond its time. */
async function* endWhenLate(chunks: AsyncIterable<Uint8Array>, isLate: () => boolean): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    if (isLate()) return;
    yield chunk;
  }
}

/** What the status of an answer says. */
function classifyPlainly(
  deps: TaskDeps,
  { channel, credential }: PreparedSubmission,
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
  const refusal = { kind: refusalForStatus(status), ...(waitMs > 0 ? { retryAfterMs: waitMs } : {}) };
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
    return {
      kind: 'failed',
      error: taskErrors.vendor_failed({ message: sentence('tasks.credential_refused'), shouldRetry }),
      mayTryAnother: false,
      outcome,
      said: { status, words },
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
  if (!isObject(body)) return text;
  const { error, message, msg, reason } = body;
  const inner = isObject(error) ? error.message : error;
  const found = [inner, message, msg, reason].find((value) => typeof value === 'string' && value !== '');
  return typeof found === 'string' ? found : text;
}
