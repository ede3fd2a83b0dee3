import { isDeepStrictEqual } from 'node:util';
import type { VendorAccount } from '../../channels/index.ts';
import {
  createRedactor,
  type Json,
  mapSentence,
  quoted,
  redactJsonWith,
  type Secrets,
  type Sentence,
  SYSTEM_OWNER,
  sanitizeMessage,
  sentence,
} from '../../kernel/index.ts';
import {
  buildBatchQueryRequest,
  buildQueryRequest,
  type HookFailure,
  isHostFailure,
  type LoadedPlugin,
  type ParsedBatchItem,
  type ParsedTask,
  parseBatchResult,
  parseTaskResult,
  type TaskQueryContext,
} from '../../plugins/index.ts';
import { type ChannelRecord, hasEnded, type TaskRecord } from '../../store/ports/index.ts';
import { retryAfterMs, type UpstreamRequest } from '../../upstream/index.ts';
import {
  batchContext,
  buildUpstreamRequest,
  type Credential,
  queryContext,
  readReportedFields,
  readVendorAnswer,
  resolveCredential,
  responseInfo,
  unreadAnswer,
  type VendorAnswer,
} from '../../vendors/index.ts';
import { type CollectedUsage, usageOnComplete } from '../state/collect-usage.ts';
import {
  MAX_SNAPSHOT_BYTES,
  snapshotBytes,
  storedResult,
  trimSnapshot,
  UNUSABLE,
  UNUSABLE_RESULT,
  vendorFailure,
} from '../state/stored-result.ts';
import type { TaskDeps } from '../types.ts';
import type { RepeatedAnswers } from './repeated-answers.ts';
import type { AnswerChange, FailureClass, Verdict } from './types.ts';

type PollFailure = Extract<Verdict, { kind: 'poll_failed' }>;

/** Hook options of a poll, with the secrets to redact from what it stores. */
type HookSecrets = { owner: string } & Pick<Credential, 'secrets' | 'certainSecrets' | 'redactCertain'>;

const hookOptions = ({ secrets, certainSecrets, redactCertain }: Credential): HookSecrets => ({
  owner: SYSTEM_OWNER,
  secrets,
  certainSecrets,
  redactCertain,
});

/** `onAnswer` is called when the vendor's part is done. */
type Poll = { plugin: LoadedPlugin; account: VendorAccount; onAnswer: () => void };

/**
 * Polls one task with one request. An answer in `repeatedAnswers` is not parsed again.
 */
export async function pollVendor(
  deps: TaskDeps,
  { plugin, account, task, onAnswer, repeatedAnswers }: Poll & { task: TaskRecord; repeatedAnswers: RepeatedAnswers },
): Promise<Verdict> {
  const { channel } = account;
  const credential = await resolveCredential(deps.vendors, plugin.manifest, account);
  if (credential.failure) return pollFailed('auth', credential.failure);
  const context = queryContext(task, { plugin, channel, credential });
  const options = hookOptions(credential);
  // A task that waits is asked about with the same arguments every time.
  const descriptor = await buildQueryRequest(plugin, context, { ...options, reuse: true });
  if (!descriptor.ok) return hookVerdict(descriptor.error);
  credential.addSecretsFrom(descriptor.value);
  const request = buildUpstreamRequest(plugin, { channel, described: descriptor.value });
  if (!request.ok) return pollFailed('hook_error', request.error);
  const answer = await exchange(deps, request.value, { tasks: 1, channel, secrets: options.secrets });
  onAnswer();
  if ('kind' in answer) return answer;
  if (answer.status === 401) credential.onUnauthorized();
  const early = verdictForStatus(deps, answer, isMissingForNow(deps, { task, channel }));
  if (early) return early;
  const poll = { plugin, channel, task, answer };
  const repeated = repeatedAnswers.find(poll);
  if (repeated) return { ...repeated, retryAfterMs: readRetryAfter(deps, answer) };
  let isRepeatable = true;
  const parsing = {
    ...options,
    onVarying: () => {
      isRepeatable = false;
    },
  };
  const parsed = await parseTaskResult(
    plugin,
    { ctx: context, body: answer.body, response: responseInfo(answer) },
    parsing,
  );
  if (!parsed.ok) return hookVerdict(parsed.error, answer);
  const data = answer.text.length > 16_384 ? trimSnapshot(answer.body) : answer.body;
  const read = { plugin, options: parsing, answer };
  const verdict = await resultVerdict(deps, read, { context, task, result: parsed.value, data });
  repeatedAnswers.remember(poll, { verdict, isRepeatable });
  return verdict;
}

/** Polls many tasks of an account with one request. Returns a verdict for each task, in order. */
export async function pollVendorBatch(
  deps: TaskDeps,
  { plugin, account, tasks, onAnswer }: Poll & { tasks: readonly TaskRecord[] },
): Promise<Verdict[]> {
  const all = (verdict: Verdict): Verdict[] => tasks.map(() => verdict);
  const { channel } = account;
  const credential = await resolveCredential(deps.vendors, plugin.manifest, account);
  if (credential.failure) return all(pollFailed('auth', credential.failure));
  const resolved = { plugin, channel, credential };
  const contexts = tasks.map((task) => queryContext(task, resolved));
  const context = batchContext(resolved, contexts);
  const options = hookOptions(credential);
  const descriptor = await buildBatchQueryRequest(plugin, context, options);
  if (!descriptor.ok) return all(hookVerdict(descriptor.error));
  credential.addSecretsFrom(descriptor.value);
  const request = buildUpstreamRequest(plugin, { channel, described: descriptor.value });
  if (!request.ok) return all(pollFailed('hook_error', request.error));
  const answer = await exchange(deps, request.value, { tasks: tasks.length, channel, secrets: options.secrets });
  onAnswer();
  if ('kind' in answer) return all(answer);
  if (answer.status === 401) credential.onUnauthorized();
  // A batch that is not found says nothing about a single task: one failure for each.
  if (answer.status === 404 || answer.status === 410)
    return all(pollFailed('not_found', sentence('tasks.batch_lost'), { httpStatus: answer.status }));
  const early = verdictForStatus(deps, answer);
  if (early) return all(early);
  const parsed = await parseBatchResult(
    plugin,
    { ctx: context, body: answer.body, response: responseInfo(answer) },
    options,
  );
  if (!parsed.ok) return all(hookVerdict(parsed.error, answer));
  const asked = new Set(contexts.map(({ taskId }) => taskId));
  const unknown = [...parsed.value.keys()].filter((id) => !asked.has(id)).length;
  if (unknown > 0)
    deps.logger.warn(
      { channel_id: channel.id, items: unknown },
      'a batch answer has items of tasks that nobody asked for',
    );
  return Promise.all(
    contexts.map((own, index) => {
      const task = tasks[index] as TaskRecord;
      const result = parsed.value.get(own.taskId);
      if (!result) {
        return pollFailed('unrecognized', sentence('tasks.batch_lacks_task'), { httpStatus: answer.status });
      }
      const data = result.data === undefined ? undefined : trimSnapshot(result.data);
      return resultVerdict(deps, { plugin, options, answer }, { context: own, task, result, data });
    }),
  );
}

async function exchange(
  deps: TaskDeps,
  request: UpstreamRequest,
  { tasks, channel, secrets }: { tasks: number; channel: ChannelRecord; secrets: Secrets },
): Promise<VendorAnswer | Verdict> {
  const startedMs = deps.clock.monotonicMs();
  const sent = await deps.vendors.send(channel, request);
  const ms = deps.clock.monotonicMs() - startedMs;
  const status = sent.ok ? sent.value.status : sent.error.kind;
  deps.telemetry.meter?.answered({ channelId: channel.id, call: 'poll', status, ms });
  if (!sent.ok)
    return sent.error.kind === 'aborted'
      ? postponed('the gateway is stopping')
      : pollFailed('transport_error', mapSentence(sent.error, createRedactor(secrets)));
  const read = await readVendorAnswer(sent.value, { tasks });
  if (read.ok) return read.value;
  const unread = unreadAnswer(sent.value);
  // Where the status alone decides, it does not matter that the body cannot be read.
  if (verdictForStatus(deps, unread)) return unread;
  return pollFailed('transport_error', read.error, { httpStatus: sent.value.status });
}

const readRetryAfter = ({ clock }: TaskDeps, { headers }: VendorAnswer): number =>
  retryAfterMs(headers['retry-after']?.[0], clock.nowMs());

/**
 * Whether a task that the vendor does not find yet may still appear there, for as long as its
 * channel says. A clock that another node has set differently counts as far as it is away.
 */
function isMissingForNow(
  { clock }: TaskDeps,
  { task, channel }: { task: TaskRecord; channel: ChannelRecord },
): boolean {
  const graceSeconds = channel.settings.not_found_grace_seconds;
  return typeof graceSeconds === 'number' && Math.abs(clock.unix() - task.submitTime) < graceSeconds;
}

/** The verdict when the HTTP status alone decides. */
function verdictForStatus(deps: TaskDeps, answer: VendorAnswer, missingForNow = false): Verdict | undefined {
  const { status } = answer;
  const about = {
    httpStatus: status,
    retryAfterMs: readRetryAfter(deps, answer),
  };
  if (status === 404 || status === 410) {
    if (missingForNow) return pollFailed('not_found', sentence('tasks.poll_not_yet'), about);
    const reason = sentence('tasks.vendor_lost', { status });
    const ending = { status: 'FAILURE' as const, reason, class: 'not_found', httpStatus: status };
    return { kind: 'ended', ending, change: {} };
  }
  if (status === 401 || status === 403) return pollFailed('auth', sentence('tasks.poll_credential'), about);
  if (status === 429) return pollFailed('transient', sentence('tasks.poll_throttled'), about);
  if (status >= 500) return pollFailed('transient', sentence('tasks.poll_vendor_failed'), about);
  if (status < 200 || (status >= 300 && status < 400))
    return pollFailed('transient', sentence('tasks.poll_status'), about);
  return undefined;
}

type AnsweredPoll = { plugin: LoadedPlugin; options: HookSecrets; answer: VendorAnswer };
/** `data`: what to store of the answer; undefined keeps the stored value. */
type TaskResult = {
  context: TaskQueryContext;
  task: TaskRecord;
  result: ParsedTask | ParsedBatchItem;
  data: Json | undefined;
};

async function resultVerdict(
  deps: TaskDeps,
  { plugin, options, answer }: AnsweredPoll,
  { context, task, result, data }: TaskResult,
): Promise<Verdict> {
  const httpStatus = answer.status;
  if (result.status === 'UNKNOWN') {
    const detail = result.reason === '' ? sentence('tasks.poll_unrecognized') : quoted(result.reason);
    return pollFailed('unrecognized', detail, { httpStatus });
  }
  const redacted = data === undefined ? undefined : redactJsonWith(options.redactCertain, data);
  const change: AnswerChange = {
    ...snapshotWithinLimits(deps, task, { data: redacted, state: result.state }),
    ...readReportedFields(task, result, deps.clock.unix()),
  };
  const body = 'raw' in result ? (result.data ?? result.raw) : answer.body;
  const isEnd = hasEnded(result);
  const { billing, trouble }: CollectedUsage =
    isEnd || data === undefined || !isUnchanged(task, body)
      ? await usageOnComplete(deps, { plugin, options }, { context, task, result, body })
      : {};
  if (billing) change.billing = billing;
  if (isEnd && data === undefined)
    deps.logger.warn({ task_id: task.taskId }, 'a batch item ended its task without data; the stored data stay');
  if (result.status === 'FAILURE') {
    const reason = vendorFailure(result.reason);
    return { kind: 'ended', ending: { status: 'FAILURE', reason, class: '', httpStatus }, change };
  }
  // The bill is final, and the facts of an answer are read only once. So when the failure to read
  // them is ours, the task is polled again.
  if (trouble?.host) return postponed(trouble.said.message);
  if (result.status === 'SUCCESS') {
    const stored = storedResult(plugin, result, { secrets: options.certainSecrets, isCut: answer.uncut !== undefined });
    if (stored === UNUSABLE)
      return { kind: 'ended', ending: { status: 'FAILURE', reason: UNUSABLE_RESULT, class: '', httpStatus }, change };
    return { kind: 'ended', ending: { status: 'SUCCESS', usageTrouble: trouble?.said, result: stored }, change };
  }
  return {
    kind: 'running',
    status: result.status === 'NOT_START' ? 'SUBMITTED' : result.status,
    progress: result.progress ?? '',
    change,
    retryAfterMs: readRetryAfter(deps, answer),
  };
}

/** The previous poll got the same answer, so its facts have already been read. */
const isUnchanged = (task: TaskRecord, body: Json): boolean =>
  task.polls > 0 && task.pollFailures === 0 && isDeepStrictEqual(body, task.data);

/** Oversized data or state is dropped with a warning, and the stored value stays. */
function snapshotWithinLimits(
  deps: TaskDeps,
  task: TaskRecord,
  { data, state }: { data: Json | undefined; state: ParsedTask['state'] },
): AnswerChange {
  const change: AnswerChange = {};
  const warnTooLarge = (what: string) =>
    deps.logger.warn({ task_id: task.taskId, what }, `${what} not stored: larger than 1 MiB`);
  if (data !== undefined) {
    if (snapshotBytes(data) <= MAX_SNAPSHOT_BYTES) change.data = data;
    else warnTooLarge('data');
  }
  if (state.kind === 'set') change.state = state.value;
  else if (state.kind === 'too_large') warnTooLarge('state');
  return change;
}

function hookVerdict(failure: HookFailure, answer?: VendorAnswer): Verdict {
  if (isHostFailure(failure)) return postponed(failure.message);
  const failed = pollFailed('hook_error', failure, { httpStatus: answer?.status ?? 0 });
  return { ...failed, hook: failure.hook };
}

const postponed = (why: string): Verdict => ({ kind: 'postponed', why });
const pollFailed = (
  failureClass: FailureClass,
  detail: Sentence,
  { httpStatus = 0, retryAfterMs = 0 }: { httpStatus?: number; retryAfterMs?: number } = {},
): PollFailure => ({
  kind: 'poll_failed',
  class: failureClass,
  httpStatus,
  detail: mapSentence(detail, sanitizeMessage),
  retryAfterMs,
});
