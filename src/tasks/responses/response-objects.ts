import type { Json, JsonObject } from '../../kernel/index.ts';
import type { RenderedFinal } from '../../plugins/index.ts';
import type { TaskRecord, TaskStatus } from '../../store/ports/index.ts';

export type ResponseStatus = 'queued' | 'in_progress' | 'completed' | 'failed' | 'incomplete';

const TASK_PREFIX = 'task_';
const RESPONSE_ID = /^resp_([A-Za-z0-9]{32})$/;

export const responseId = (taskId: string): string => `resp_${taskId.slice(TASK_PREFIX.length)}`;

/** The task id in a response's id; undefined for any other text. */
export function taskIdOf(id: string): string | undefined {
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

/** OpenAI's clients expect token counts. Plugins report usage for the bill instead. */
const NO_USAGE: JsonObject = {
  input_tokens: 0,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 0,
};

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
  return {
    id: responseId(task.taskId),
    object: 'response',
    created_at: task.createdAt || task.submitTime,
    status,
    error: details.error === undefined ? null : { code: 'server_error', message: details.error },
    incomplete_details: null,
    instructions: null,
    model: task.properties.originModelName,
    output: details.output ?? [],
    parallel_tool_calls: true,
    temperature: 1,
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    metadata: { ...details.metadata, ...hostMetadata(task, details.taskStatus) },
    usage: details.ended ? NO_USAGE : null,
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
  responseObject(task, 'failed', { ...details, error: message, ended: true });

export const completedResponse = (task: TaskRecord, details: ResponseDetails): JsonObject => ({
  ...responseObject(task, 'completed', { ...details, ended: true }),
  completed_at: task.finishTime,
});

const MAX_METADATA = 16;
const MAX_METADATA_KEY = 64;
const MAX_METADATA_VALUE = 512;

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

/** OpenAI's limits apply to the plugin's metadata; entries beyond them are left out. */
function mergeMetadata(task: TaskRecord, given: Json): JsonObject {
  const own = hostMetadata(task);
  const entries = Object.entries(given ?? {}).filter(
    ([key, value]) =>
      typeof value === 'string' &&
      !Object.hasOwn(own, key) &&
      key.length <= MAX_METADATA_KEY &&
      value.length <= MAX_METADATA_VALUE,
  );
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return { ...Object.fromEntries(entries.slice(0, MAX_METADATA - Object.keys(own).length)), ...own };
}
