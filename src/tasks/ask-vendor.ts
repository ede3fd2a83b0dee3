import { type Json, type JsonObject, parseJson, sanitizeMessage } from '../kernel/index.ts';
import {
  buildBatchQueryRequest,
  buildQueryRequest,
  extractUsageOnComplete,
  type HookFailure,
  type LoadedPlugin,
  parseBatchResult,
  parseTaskResult,
  type TaskResult,
} from '../plugins/index.ts';
import type { ChannelRecord, TaskRecord, TaskStatus } from '../store/ports/index.ts';
import type { UpstreamRequest } from '../upstream/index.ts';
import { batchContext, credentialContext, queryContext } from './build-contexts.ts';
import { buildUpstreamRequest } from './build-upstream-request.ts';
import { retryAfterMs } from './poll-schedule.ts';
import { MAX_SNAPSHOT_BYTES, snapshotBytes, trimSnapshot } from './trim-data.ts';
import type { TaskDeps } from './types.ts';

export type FailureClass = 'not_found' | 'auth' | 'transient' | 'unrecognized' | 'hook_error' | 'transport_error';

/** What one answer of the vendor means for one task. */
export type Verdict =
  | { kind: 'running'; status: TaskStatus; progress: string; snapshot: Snapshot; retryAfterMs: number }
  | { kind: 'succeeded'; snapshot: Snapshot; facts: JsonObject }
  | { kind: 'failed'; reason: string; snapshot: Snapshot; class: FailureClass | ''; httpStatus: number }
  | { kind: 'counted'; class: FailureClass; httpStatus: number; detail: string; retryAfterMs: number }
  /** Neither the vendor's nor the plugin's fault: asked again later, nothing is counted. */
  | { kind: 'uncounted'; why: string };

/** What a valid answer leaves behind; absent members keep what is stored. */
export type Snapshot = { data?: Json; state?: Json };

/** Failures that say nothing about the task (design section 5): the sandbox is busy, stopping, or refuses the plugin. */
const UNCOUNTED = new Set<HookFailure['kind']>(['overloaded', 'suspended', 'closed']);

type Answer = { status: number; headers: Record<string, string[]>; body: Json; bodyLength: number };

export async function askVendor(
  deps: TaskDeps,
  plugin: LoadedPlugin,
  channel: ChannelRecord,
  task: TaskRecord,
): Promise<Verdict> {
  const key = deps.channels.credential(channel);
  const credential = credentialContext(plugin.manifest, key);
  const context = queryContext(task, channel, credential);
  const secrets = [key];
  const descriptor = await buildQueryRequest(plugin, context, { secrets });
  if (!descriptor.ok) return hookVerdict(descriptor.error);
  const request = await buildUpstreamRequest(plugin, channel, descriptor.value, { kind: 'query' });
  if (!request.ok) return counted('hook_error', 0, request.error.message);
  const answer = await exchange(deps, request.value);
  if ('kind' in answer) return answer;
  const early = classifyStatus(deps, answer);
  if (early) return early;
  const parsed = await parseTaskResult(plugin, context, answer.body, responseInfo(answer), { secrets });
  if (!parsed.ok) return hookVerdict(parsed.error, answer);
  const data = answer.bodyLength > 16_384 ? trimSnapshot(answer.body) : answer.body;
  return resultVerdict(deps, plugin, context, task, parsed.value, data, answer, secrets);
}

/** One request for many tasks of a channel; gives a verdict for each, in order. */
export async function askVendorInBatch(
  deps: TaskDeps,
  plugin: LoadedPlugin,
  channel: ChannelRecord,
  tasks: readonly TaskRecord[],
): Promise<Verdict[]> {
  const all = (verdict: Verdict): Verdict[] => tasks.map(() => verdict);
  const key = deps.channels.credential(channel);
  const credential = credentialContext(plugin.manifest, key);
  const contexts = tasks.map((task) => queryContext(task, channel, credential));
  const context = batchContext(channel, credential, contexts);
  const secrets = [key];
  const descriptor = await buildBatchQueryRequest(plugin, context, contexts, { secrets });
  if (!descriptor.ok) return all(hookVerdict(descriptor.error));
  const request = await buildUpstreamRequest(plugin, channel, descriptor.value, { kind: 'query' });
  if (!request.ok) return all(counted('hook_error', 0, request.error.message));
  const answer = await exchange(deps, request.value);
  if ('kind' in answer) return all(answer);
  // A batch that is not found says nothing about a single task: one failure each (design section 5).
  if (answer.status === 404 || answer.status === 410)
    return all(counted('not_found', answer.status, 'the batch was not found'));
  const early = classifyStatus(deps, answer);
  if (early) return all(early);
  const parsed = await parseBatchResult(plugin, context, answer.body, responseInfo(answer), { secrets });
  if (!parsed.ok) return all(hookVerdict(parsed.error, answer));
  const byId = new Map(parsed.value.map((item) => [item.taskId, item]));
  return Promise.all(
    tasks.map((task, index) => {
      const item = byId.get(task.upstreamTaskId || task.taskId);
      if (!item) return counted('unrecognized', answer.status, 'the answer does not contain this task');
      const data = item.data === undefined ? undefined : trimSnapshot(item.data);
      return resultVerdict(deps, plugin, contexts[index] ?? {}, task, item, data, answer, secrets);
    }),
  );
}

async function exchange(deps: TaskDeps, request: UpstreamRequest): Promise<Answer | Verdict> {
  const sent = await deps.upstream.request(request);
  if (!sent.ok)
    return sent.error.kind === 'aborted'
      ? uncounted('the gateway is stopping')
      : counted('transport_error', 0, sent.error.message);
  const text = await sent.value.text();
  if (!text.ok) return counted('transport_error', sent.value.status, text.error.message);
  const { status, headers } = sent.value;
  return { status, headers, body: parseJson(text.value) ?? text.value, bodyLength: text.value.length };
}

/** The rows of the specification's polling table that depend on the HTTP status alone. */
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
  context: JsonObject,
  task: TaskRecord,
  result: TaskResult,
  data: Json | undefined,
  answer: Answer,
  secrets: readonly string[],
): Promise<Verdict> {
  const snapshot = checkedSnapshot(deps, task, data, result.state);
  switch (result.status) {
    case 'SUCCESS': {
      const facts = await completionFacts(deps, plugin, context, task, result, answer.body, secrets);
      return { kind: 'succeeded', snapshot, facts };
    }
    case 'FAILURE': {
      const reason = sanitizeMessage(result.reason || 'the vendor reported a failure');
      return { kind: 'failed', reason, snapshot, class: '', httpStatus: answer.status };
    }
    case 'NOT_START':
    case 'SUBMITTED':
    case 'QUEUED':
    case 'IN_PROGRESS': {
      const wait = retryAfterMs(answer.headers['retry-after']?.[0], deps.clock.nowMs());
      const status = result.status === 'NOT_START' ? 'SUBMITTED' : result.status;
      return { kind: 'running', status, progress: result.progress ?? '', snapshot, retryAfterMs: wait };
    }
    default:
      return counted(
        'unrecognized',
        answer.status,
        `the plugin does not recognise the answer (status "${sanitizeMessage(result.status, 40)}")`,
      );
  }
}

/** Facts of a finished task, from the plugin's hook; any trouble keeps the estimate. */
async function completionFacts(
  deps: TaskDeps,
  plugin: LoadedPlugin,
  context: JsonObject,
  task: TaskRecord,
  result: TaskResult,
  body: Json,
  secrets: readonly string[],
): Promise<JsonObject> {
  if (task.billing.expression === null || !plugin.has('extractUsageOnComplete')) return {};
  const facts = await extractUsageOnComplete(plugin, context, result, body, { secrets });
  if (facts.ok) return facts.value ?? {};
  deps.logger.warn(
    { task_id: task.taskId, reason: facts.error.message },
    'usage facts of a finished task were not usable; the estimate stands',
  );
  return {};
}

/** Oversized data or state is refused with a warning and the stored value stays. */
function checkedSnapshot(deps: TaskDeps, task: TaskRecord, data: Json | undefined, state: Json | undefined): Snapshot {
  const snapshot: Snapshot = {};
  for (const [name, value] of [
    ['data', data],
    ['state', state],
  ] as const) {
    if (value === undefined) continue;
    if (snapshotBytes(value) <= MAX_SNAPSHOT_BYTES) snapshot[name] = value;
    else deps.logger.warn({ task_id: task.taskId, what: name }, `${name} is larger than 1 MiB and was not stored`);
  }
  return snapshot;
}

export function hookVerdict(failure: HookFailure, answer?: Answer): Verdict {
  if (UNCOUNTED.has(failure.kind)) return uncounted(failure.message);
  return counted('hook_error', answer?.status ?? 0, `${failure.hook}: ${failure.message}`);
}

const uncounted = (why: string): Verdict => ({ kind: 'uncounted', why });
const counted = (cls: FailureClass, httpStatus: number, detail: string, wait = 0): Verdict => ({
  kind: 'counted',
  class: cls,
  httpStatus,
  detail: sanitizeMessage(detail),
  retryAfterMs: wait,
});

const responseInfo = (answer: Answer): JsonObject => ({
  status: answer.status,
  headers: Object.fromEntries(Object.entries(answer.headers).map(([name, values]) => [name, values[0] ?? ''])),
});
