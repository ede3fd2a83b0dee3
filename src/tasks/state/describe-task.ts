import { type Json, type JsonObject, QUOTA_PER_USD } from '../../kernel/index.ts';
import type { TaskView } from '../../plugins/index.ts';
import {
  hasEnded,
  type ReservedQuota,
  type TaskRecord,
  type TaskShown,
  type TaskStatus,
  type TaskSummary,
} from '../../store/ports/index.ts';

/** What plugins and clients see of a task. */
export type ShownTask = Omit<TaskShown, 'propertiesJson' | 'dataJson' | 'reserved'> &
  CostFacts &
  Pick<TaskRecord, 'properties' | 'data'>;

type CostFacts = Pick<TaskRecord, 'status' | 'quota'> & (ReservedQuota | Pick<TaskRecord, 'billing'>);
/** A task with all of its columns, or read for its status alone. */
export type DescribedTask = Omit<TaskSummary, 'reserved' | 'action'> & CostFacts;

/** Clients see NOT_START as QUEUED. */
export const publicStatus = (status: TaskStatus): TaskStatus => (status === 'NOT_START' ? 'QUEUED' : status);

/** No vendor has it yet, and none is being asked. */
export const isWaiting = ({ status, phase }: Pick<TaskRecord, 'status' | 'phase'>): boolean =>
  status === 'NOT_START' && phase === 'waiting';

/**
 * What a task costs its owner, in US dollars. `charged` is null until the bill is final; `usd` is
 * what is known now: the reservation, then the charge.
 */
export function taskCost(task: CostFacts) {
  const usd = task.quota / QUOTA_PER_USD;
  const reserved = 'billing' in task ? task.billing.outcome?.reserved : task.reserved;
  return {
    reserved: (reserved ?? task.quota) / QUOTA_PER_USD,
    charged: hasEnded(task) ? usd : null,
    currency: 'USD' as const,
    usd,
  };
}

/** Names the model that the client asked for, if another one serves the task. */
export const showRequestedModel = ({ properties }: Pick<TaskRecord, 'properties'>): { requested_model?: string } =>
  properties.requestedModelName === undefined || properties.requestedModelName === properties.originModelName
    ? {}
    : { requested_model: properties.requestedModelName };

/** A task without what it costs. */
export function taskState(task: Omit<TaskSummary, 'quota' | 'reserved' | 'linkVersions' | 'hiddenAt'>) {
  return {
    id: task.taskId,
    task_id: task.taskId,
    object: 'task' as const,
    platform: task.platform,
    model: task.properties.originModelName,
    ...showRequestedModel(task),
    action: task.action,
    status: publicStatus(task.status),
    progress: task.progress,
    fail_reason: task.failReason,
    created_at: task.createdAt,
    finished_at: task.finishTime,
  };
}

/** What API clients see of a task: the answer to `GET /v1/tasks/:id`. */
export const taskObject = (task: DescribedTask & Pick<TaskSummary, 'action'>) => ({
  ...taskState(task),
  cost: taskCost(task),
});

/** The task as webhooks show it. */
export const taskNotice = (task: TaskRecord) => ({
  ...taskObject(task),
  fail_reason_sentence: task.failReasonSentence,
});

/** The answer to a generic submission. */
export const submittedObject = (task: TaskRecord): JsonObject => ({
  id: task.taskId,
  task_id: task.taskId,
  status: 'queued',
  model: task.properties.originModelName,
  created_at: task.createdAt,
  cost: taskCost(task),
});

/** The task as presenters and renderers see it: the public task id replaces the vendor's. */
export function taskView(task: ShownTask): TaskView {
  const { originModelName, upstreamModelName, input } = task.properties;
  return {
    task_id: task.taskId,
    platform: task.platform,
    model: originModelName,
    status: publicStatus(task.status),
    progress: task.progress,
    fail_reason: task.failReason,
    created_at: task.createdAt || task.submitTime,
    updated_at: task.updatedAt,
    finished_at: task.finishTime,
    data: replacePrivateIds(task.data, task.upstreamTaskId, task.taskId),
    properties: { origin_model_name: originModelName, upstream_model_name: upstreamModelName, input },
  };
}

const ID_FIELDS = new Set(['id', 'task_id', 'taskId', 'request_id', 'operation_id']);

/**
 * Replaces the vendor's id, text or number, by the public one in id fields at any depth; other
 * texts stay. What needs no change is not copied.
 */
export function replacePrivateIds(value: Json, privateId: string, publicId: string): Json {
  if (privateId === '' || privateId === publicId || value === null || typeof value !== 'object') return value;
  const isList = Array.isArray(value);
  let changed: [string, Json][] | undefined;
  const members = Object.entries(value);
  for (const [at, [key, child]] of members.entries()) {
    const isPrivate = child === privateId || (typeof child === 'number' && String(child) === privateId);
    const isId = !isList && isPrivate && ID_FIELDS.has(key);
    const replaced = isId ? publicId : replacePrivateIds(child, privateId, publicId);
    if (replaced === child) continue;
    changed ??= [...members];
    changed[at] = [key, replaced];
  }
  if (changed === undefined) return value;
  return isList ? changed.map(([, child]) => child) : Object.fromEntries(changed);
}
