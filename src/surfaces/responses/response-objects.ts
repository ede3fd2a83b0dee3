import { isObject, type Json, type JsonObject } from '../../kernel/index.ts';
import type { RenderedFinal } from '../../plugins/index.ts';
import type { TaskRecord, TaskStatus } from '../../store/ports/index.ts';
import { isCancelled, showRequestedModel } from '../../tasks/index.ts';
import { MAX_METADATA, validMetadata } from './read-response-request.ts';

export type ResponseStatus = 'queued' | 'in_progress' | 'completed' | 'failed' | 'cancelled' | 'incomplete';

const TASK_PREFIX = 'task_';
const RESPONSE_ID = /^resp_([A-Za-z0-9]{32})$/;

export const responseId = (taskId: string): string => `resp_${taskId.slice(TASK_PREFIX.length)}`;

/** The task id in a response's id; undefined for any other text. */
export function readTaskId(id: string): string | undefined {
  const bare = RESPONSE_ID.exec(id)?.[1];
  return bare === undefined ? undefined : TASK_PREFIX + bare;
}

const STATUS: Record<TaskStatus, ResponseStatus> = {
  NOT_START: 'queued',
  SUBMITTED: 'queued',
  QUEUED: 'queued',
  IN_PROGRESS: 'in_progress',
  SUCCESS: 'completed',
  FAILURE: 'failed',
};

/**
 * The tokens that the vendor reported as usage facts. Where it counts something else they are 0:
 * clients that check answers take no null, and would fail after the purchase.
 */
function readUsage({ billing }: TaskRecord): JsonObject {
  const facts: JsonObject = { ...billing.submissionFacts, ...billing.completionFacts };
  const count = (name: string): number => {
    const value = facts[name];
    return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : 0;
  };
  const [input, output] = [count('input_tokens'), count('output_tokens')];
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: count('cached_tokens') },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: count('reasoning_tokens') },
    total_tokens: input + output,
  };
}

const hostMetadata = (task: TaskRecord, status = STATUS[task.status]): Record<string, string> => ({
  task_id: task.taskId,
  task_status: status,
  retrieval_path: `/v1/responses/${responseId(task.taskId)}`,
});

type ResponseDetails = {
  output?: Json[];
  error?: string;
  /** The response has ended, so its usage is final. */
  ended?: boolean;
  taskStatus?: ResponseStatus;
  metadata?: Record<string, string>;
};

/** The gateway's response object, with all members that OpenAI's clients expect. */
export function responseObject(task: TaskRecord, status: ResponseStatus, details: ResponseDetails = {}): JsonObject {
  const { metadata, instructions, user } = task.execution.response ?? {};
  return {
    id: responseId(task.taskId),
    object: 'response',
    created_at: task.createdAt || task.submitTime,
    status,
    error: details.error === undefined ? null : { type: 'server_error', code: 'server_error', message: details.error },
    incomplete_details: null,
    instructions: instructions ?? null,
    model: task.properties.originModelName,
    ...showRequestedModel(task),
    output: details.output ?? [],
    parallel_tool_calls: true,
    temperature: 1,
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    metadata: withHostMetadata(task, { ...metadata, ...details.metadata }, details.taskStatus),
    usage: details.ended ? readUsage(task) : null,
    ...(user === undefined ? {} : { user }),
  };
}

/** An unfinished response, for background requests and retrieval. No hook is called. */
export function pendingResponse(task: TaskRecord): JsonObject {
  const status = STATUS[task.status] === 'queued' ? 'queued' : 'in_progress';
  return {
    ...responseObject(task, status, { taskStatus: status }),
    background: task.execution.background ?? false,
    completed_at: null,
  };
}

/** The error of a failed task. The vendor's own message is in the task object only. */
export const TASK_FAILED = 'The task failed.';
/** The error when the plugin could not render. The task itself is not affected. */
export const NOT_OBSERVED = 'The task could not be observed.';

export const failedResponse = (task: TaskRecord, message: string, details: ResponseDetails = {}): JsonObject =>
  isCancelled(task)
    ? responseObject(task, 'cancelled', { ...details, ended: true })
    : responseObject(task, 'failed', { ...details, error: message, ended: true });

export const completedResponse = (task: TaskRecord, details: ResponseDetails): JsonObject => ({
  ...responseObject(task, 'completed', { ...details, ended: true }),
  completed_at: task.finishTime,
});

/**
 * The plugin's answer inside the gateway's response object. Identity, status, usage, and the ids of
 * items and parts are the gateway's.
 */
export function renderedResponse(task: TaskRecord, { output, members }: RenderedFinal): JsonObject {
  const { sequence_number: _, ...given } = members;
  const own = completedResponse(task, { output: output.map((message, index) => withIds(task, message, index)) });
  const defaulted = ['instructions', 'parallel_tool_calls', 'temperature', 'tool_choice', 'tools', 'top_p'];
  const chosen = defaulted.flatMap((name) =>
    given[name] === undefined || given[name] === null ? [] : [[name, given[name]]],
  );
  return { ...given, ...own, ...Object.fromEntries(chosen), metadata: mergeMetadata(task, given.metadata ?? null) };
}

function withIds(task: TaskRecord, message: RenderedFinal['output'][number], index: number): JsonObject {
  const content = message.content.map((part, at) => ({ ...part, id: `content_${task.taskId}_${index}_${at}` }));
  return { ...message, id: `item_${task.taskId}_${index}`, status: 'completed', content };
}

/** The plugin's metadata goes before the client's where both name a key. */
const mergeMetadata = (task: TaskRecord, given: Json): JsonObject =>
  withHostMetadata(task, { ...task.execution.response?.metadata, ...(isObject(given) ? (given as JsonObject) : {}) });

/** OpenAI's limits apply to all metadata together; entries beyond them are left out. */
function withHostMetadata(task: TaskRecord, given: JsonObject, status?: ResponseStatus): JsonObject {
  const own = hostMetadata(task, status);
  const others = Object.fromEntries(Object.entries(given).filter(([key]) => !Object.hasOwn(own, key)));
  return { ...validMetadata(others, MAX_METADATA - Object.keys(own).length), ...own };
}
