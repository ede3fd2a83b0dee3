import { isDeepStrictEqual } from 'node:util';
import { type Json, redactJson, redactSecrets, SYSTEM_OWNER, sanitizeMessage } from '../../kernel/index.ts';
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
  type ResponseInfo,
  type TaskQueryContext,
} from '../../plugins/index.ts';
import type { ChannelRecord, TaskChange, TaskRecord, TaskStatus } from '../../store/ports/index.ts';
import type { UpstreamRequest } from '../../upstream/index.ts';
import { type CollectedUsage, usageOnComplete } from '../state/collect-usage.ts';
import { MAX_SNAPSHOT_BYTES, snapshotBytes, trimSnapshot } from '../state/trim-data.ts';
import type { TaskDeps } from '../types.ts';
import { batchContext, queryContext } from '../vendor/build-contexts.ts';
import { buildUpstreamRequest } from '../vendor/build-upstream-request.ts';
import { retryAfterMs } from '../vendor/poll-schedule.ts';
import { readVendorAccount, type VendorAccount } from '../vendor/read-vendor-account.ts';
import { readVendorAnswer } from '../vendor/read-vendor-answer.ts';
import { type Credential, resolveCredential } from '../vendor/resolve-credential.ts';

export type FailureClass = 'not_found' | 'auth' | 'transient' | 'unrecognized' | 'hook_error' | 'transport_error';

/** What one answer of the vendor means for one task. */
export type Verdict =
  | { kind: 'running'; status: TaskStatus; progress: string; snapshot: Snapshot; retryAfterMs: number }
  /** `usageTrouble`: the facts for the final price could not be had, and why. */
  | { kind: 'succeeded'; snapshot: Snapshot; usageTrouble?: string }
  | { kind: 'failed'; reason: string; snapshot: Snapshot; class: FailureClass | ''; httpStatus: number }
  | { kind: 'counted'; class: FailureClass; httpStatus: number; detail: string; retryAfterMs: number; hook?: string }
  /** Neither the vendor's nor the plugin's fault: asked again later, nothing is counted. */
  | { kind: 'uncounted'; why: string };

type Counted = Extract<Verdict, { kind: 'counted' }>;

/** What a valid answer leaves behind; absent members keep what is stored. */
export type Snapshot = Pick<TaskChange, 'data' | 'state' | 'billing'> & VendorAccount;

export const VENDOR_FAILURE = 'the vendor reported a failure';

/** How hooks are called for a poll, and what is replaced in what it leaves behind. */
type VendorCall = { owner: string } & Pick<Credential, 'secrets' | 'certainSecrets'>;

const pickSecrets = ({ secrets, certainSecrets }: Credential) => ({ secrets, certainSecrets });

type Answer = { status: number; headers: Record<string, string[]>; body: Json; bodyLength: number };

/** One request for one task. `answered`: the vendor has nothing more to do with it. */
export async function pollVendor(
  deps: TaskDeps,
  plugin: LoadedPlugin,
  channel: ChannelRecord,
  task: TaskRecord,
  answered: () => void,
): Promise<Verdict> {
  const credential = await resolveCredential(deps, plugin.manifest, channel);
  const { authError } = credential.context;
  if (authError !== undefined) return counted('auth', 0, authError);
  const context = queryContext(task, channel, credential.context);
  const options: VendorCall = { owner: SYSTEM_OWNER, ...pickSecrets(credential) };
  const descriptor = await buildQueryRequest(plugin, context, options);
  if (!descriptor.ok) return hookVerdict(descriptor.error);
  credential.learn(descriptor.value);
  const request = buildUpstreamRequest(plugin, channel, descriptor.value);
  if (!request.ok) return counted('hook_error', 0, request.error.message);
  const answer = await exchange(deps, request.value, { tasks: 1, secrets: options.secrets });
  answered();
  if ('kind' in answer) return answer;
  if (answer.status === 401) credential.refused();
  const early = classifyStatus(deps, answer);
  if (early) return early;
  const parsed = await parseTaskResult(
    plugin,
    { ctx: context, body: answer.body, response: responseInfo(answer) },
    options,
  );
  if (!parsed.ok) return hookVerdict(parsed.error, answer);
  const data = answer.bodyLength > 16_384 ? trimSnapshot(answer.body) : answer.body;
  return resultVerdict(deps, plugin, context, task, parsed.value, data, answer, options);
}

/**
 * One request for many tasks of a channel; gives a verdict for each, in order. `answered` as above.
 */
export async function pollVendorBatch(
  deps: TaskDeps,
  plugin: LoadedPlugin,
  channel: ChannelRecord,
  tasks: readonly TaskRecord[],
  answered: () => void,
): Promise<Verdict[]> {
  const all = (verdict: Verdict): Verdict[] => tasks.map(() => verdict);
  const credential = await resolveCredential(deps, plugin.manifest, channel);
  const { authError } = credential.context;
  if (authError !== undefined) return all(counted('auth', 0, authError));
  const contexts = tasks.map((task) => queryContext(task, channel, credential.context));
  const context = batchContext(channel, credential.context, contexts);
  const options: VendorCall = { owner: SYSTEM_OWNER, ...pickSecrets(credential) };
  const descriptor = await buildBatchQueryRequest(plugin, context, options);
  if (!descriptor.ok) return all(hookVerdict(descriptor.error));
  credential.learn(descriptor.value);
  const request = buildUpstreamRequest(plugin, channel, descriptor.value);
  if (!request.ok) return all(counted('hook_error', 0, request.error.message));
  const answer = await exchange(deps, request.value, { tasks: tasks.length, secrets: options.secrets });
  answered();
  if ('kind' in answer) return all(answer);
  if (answer.status === 401) credential.refused();
  // A batch that is not found says nothing about a single task: one failure each.
  if (answer.status === 404 || answer.status === 410)
    return all(counted('not_found', answer.status, 'the batch was not found'));
  const early = classifyStatus(deps, answer);
  if (early) return all(early);
  const parsed = await parseBatchResult(
    plugin,
    { ctx: context, body: answer.body, response: responseInfo(answer) },
    options,
  );
  if (!parsed.ok) return all(hookVerdict(parsed.error, answer));
  return Promise.all(
    contexts.map((own, index) => {
      const task = tasks[index] as TaskRecord;
      const item = parsed.value.get(own.taskId);
      if (!item) return counted('unrecognized', answer.status, 'the answer does not contain this task');
      const data = item.data === undefined ? undefined : trimSnapshot(item.data);
      return resultVerdict(deps, plugin, own, task, item, data, answer, options);
    }),
  );
}

async function exchange(
  deps: TaskDeps,
  request: UpstreamRequest,
  { tasks, secrets }: { tasks: number; secrets: readonly string[] },
): Promise<Answer | Verdict> {
  const sent = await deps.upstream.request(request);
  if (!sent.ok)
    return sent.error.kind === 'aborted'
      ? uncounted('the gateway is stopping')
      : counted('transport_error', 0, redactSecrets(sent.error.message, secrets));
  const { status, headers } = sent.value;
  const read = await readVendorAnswer(sent.value, { tasks });
  if (!read.ok) return counted('transport_error', status, read.error.message);
  return { status, headers, body: read.value.body, bodyLength: read.value.text.length };
}

/** What the HTTP status alone decides. */
function classifyStatus(deps: TaskDeps, answer: Answer): Verdict | undefined {
  const { status } = answer;
  const wait = retryAfterMs(answer.headers['retry-after']?.[0], deps.clock.nowMs());
  if (status === 404 || status === 410) {
    const reason = `upstream task not found (HTTP ${status})`;
    return { kind: 'failed', reason, snapshot: {}, class: 'not_found', httpStatus: status };
  }
  if (status === 401 || status === 403)
    return counted('auth', status, 'the vendor refused the credential of the channel', wait);
  if (status === 429) return counted('transient', status, 'the vendor asks for fewer requests', wait);
  if (status >= 500) return counted('transient', status, 'the vendor failed', wait);
  if (status < 200 || (status >= 300 && status < 400))
    return counted('transient', status, 'an unexpected status', wait);
  return undefined;
}

async function resultVerdict(
  deps: TaskDeps,
  plugin: LoadedPlugin,
  context: TaskQueryContext,
  task: TaskRecord,
  result: ParsedTask | ParsedBatchItem,
  data: Json | undefined,
  answer: Answer,
  options: VendorCall,
): Promise<Verdict> {
  if (result.status === 'UNKNOWN')
    return counted('unrecognized', answer.status, result.reason || 'the plugin does not recognise the answer');
  const clean = data === undefined ? undefined : redactJson(data, options.certainSecrets);
  const snapshot: Snapshot = {
    ...readSnapshot(deps, task, clean, result),
    ...readVendorAccount(task, result, deps.clock.unix()),
  };
  const body = 'raw' in result ? (result.data ?? result.raw) : answer.body;
  const isEnd = result.status === 'SUCCESS' || result.status === 'FAILURE';
  const { billing, trouble }: CollectedUsage =
    isEnd || data === undefined || !isKnown(task, body)
      ? await usageOnComplete(deps, { plugin, options }, context, task, result, body)
      : {};
  if (billing) snapshot.billing = billing;
  if (result.status === 'FAILURE') {
    const reason = result.reason || VENDOR_FAILURE;
    return { kind: 'failed', reason, snapshot, class: '', httpStatus: answer.status };
  }
  // The bill is final, and the facts of an answer are read once: what only we could not find out is
  // asked again.
  if (trouble?.host) return uncounted(trouble.message);
  if (result.status === 'SUCCESS')
    return { kind: 'succeeded', snapshot, ...(trouble ? { usageTrouble: trouble.message } : {}) };
  const wait = retryAfterMs(answer.headers['retry-after']?.[0], deps.clock.nowMs());
  const status = result.status === 'NOT_START' ? 'SUBMITTED' : result.status;
  return { kind: 'running', status, progress: result.progress ?? '', snapshot, retryAfterMs: wait };
}

/** The poll before was answered with the very same, and the facts in it were read. */
const isKnown = (task: TaskRecord, body: Json): boolean =>
  task.polls > 0 && task.pollFailures === 0 && isDeepStrictEqual(body, task.data);

/** Oversized data or state is refused with a warning and the stored value stays. */
function readSnapshot(deps: TaskDeps, task: TaskRecord, data: Json | undefined, { state }: ParsedTask): Snapshot {
  const snapshot: Snapshot = {};
  const tooLarge = (what: string) =>
    deps.logger.warn({ task_id: task.taskId, what }, `${what} is larger than 1 MiB and was not stored`);
  if (data !== undefined) {
    if (snapshotBytes(data) <= MAX_SNAPSHOT_BYTES) snapshot.data = data;
    else tooLarge('data');
  }
  if (state.kind === 'set') snapshot.state = state.value;
  else if (state.kind === 'too_large') tooLarge('state');
  return snapshot;
}

function hookVerdict(failure: HookFailure, answer?: Answer): Verdict {
  if (isHostFailure(failure)) return uncounted(failure.message);
  return { ...counted('hook_error', answer?.status ?? 0, failure.message), hook: failure.hook };
}

const uncounted = (why: string): Verdict => ({ kind: 'uncounted', why });
const counted = (cls: FailureClass, httpStatus: number, detail: string, wait = 0): Counted => ({
  kind: 'counted',
  class: cls,
  httpStatus,
  detail: sanitizeMessage(detail),
  retryAfterMs: wait,
});

const responseInfo = (answer: Answer): ResponseInfo => ({
  status: answer.status,
  headers: Object.fromEntries(Object.entries(answer.headers).map(([name, values]) => [name, values[0] ?? ''])),
});
