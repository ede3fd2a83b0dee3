import { areInPlace, restoreStoredBody, type StoredBody, storeBody } from '../../files/index.ts';
import { deadlineSignal, isObject, type Json, type JsonObject } from '../../kernel/index.ts';
import type { LoadedPlugin } from '../../plugins/index.ts';
import {
  FILES_NODE,
  heldKey,
  type KeyOwner,
  type Repositories,
  type TaskRecord,
  type WaitingRecord,
} from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import { findOriginAccount } from '../state/find-own-tasks.ts';
import type { Caller, ClientRequest, Submission, TaskDeps } from '../types.ts';

/** A submission as it is stored until it is sent. */
type StoredRequest = Pick<ClientRequest, 'method' | 'path' | 'params' | 'query' | 'contentType' | 'accept'> & {
  surface: Submission['surface'];
  requestId: string;
  generation: number;
  background: boolean;
  retainResult?: false;
  body: StoredBody;
  model: string;
  action: string;
  /** Absent where it is the body's own value. */
  requestBody?: Json;
  /** The earlier tasks that it builds on. */
  origin?: string[];
};

export type WaitingRequest = Pick<WaitingRecord, 'request' | 'bytes' | 'node'> & {
  /** Counts its files as needed, where the task begins to wait. False: one is gone. */
  hold(tx: Repositories, task: Pick<TaskRecord, 'taskId' | 'userId'>): Promise<boolean>;
};

/**
 * Stores the files of a submission and everything else that a later dispatch needs.
 * @throws tasks.queue_full if its files cannot be stored
 */
export async function storeRequest(deps: TaskDeps, submission: Submission): Promise<WaitingRequest> {
  const { request, intent, originTasks, surface, requestId, generation } = submission;
  const deadline = deadlineSignal(deps.clock, deps.limits.submitTimeoutMs);
  const held = await storeBody(deps, request.body, deadline.signal).finally(deadline.end);
  if (!held.ok) {
    deps.logger.warn(
      { request_id: requestId, reason: held.error },
      'the files of a task that should wait were not stored',
    );
    throw taskErrors.queue_full({ retryAfterSeconds: 30 });
  }
  const { method, path, params, query, contentType, accept, body } = request;
  const isBody = body.kind === 'json' && body.value === intent.requestBody;
  const stored: StoredRequest = {
    ...{ method, path, params, query, contentType, accept, surface, requestId, generation },
    background: submission.background === true,
    ...(submission.retainResult === false ? { retainResult: false } : {}),
    body: held.value,
    model: intent.model,
    action: intent.action,
    ...(isBody ? {} : { requestBody: intent.requestBody ?? null }),
    ...(originTasks ? { origin: originTasks.tasks.map(({ taskId }) => taskId) } : {}),
  };
  const { files } = held.value;
  const text = JSON.stringify(stored);
  return {
    request: stored as unknown as JsonObject,
    node: files.length > 0 ? FILES_NODE : '',
    bytes: text.length + files.reduce((sum, { size }) => sum + size, 0),
    async hold(tx, { taskId, userId }) {
      if (files.length === 0) return true;
      const rows = files.map(({ sha256, size }, index) => ({ artifactKey: heldKey(index), bytes: size, sha256 }));
      return tx.results.keepFiles({ taskId, userId, keptAt: deps.clock.unix(), keptUntil: 0, files: rows });
    },
  };
}

/** A stored request as one of another model. */
export function storeIntent(
  request: JsonObject,
  { model, action, requestBody = null }: Submission['intent'],
): JsonObject {
  const stored = request as unknown as StoredRequest;
  const body = nameOtherModel(stored.body, model);
  return { ...stored, body, model, action, requestBody } as unknown as JsonObject;
}

/** A body with another model where it names one. */
export function nameOtherModel<B extends object>(body: B, model: string): B {
  const named = { ...body } as { value?: Json; requestBody?: Json; fields?: Record<string, string[]> };
  if (isObject(named.value)) named.value = { ...named.value, model };
  if (isObject(named.requestBody)) named.requestBody = { ...named.requestBody, model };
  if (named.fields) named.fields = { ...named.fields, model: [model] };
  return named as B;
}

/** The task holds its slot during the look. */
const FILES_LOOK_MS = 5000;

/**
 * Looks whether the files of a request can be read. Once its vendor has got the first byte, a file
 * that cannot be read leaves it unknown whether the vendor has a job.
 */
export async function findFiles(
  { storage: { files }, clock, logger }: TaskDeps,
  { taskId, request }: Pick<WaitingRecord, 'taskId' | 'request'>,
): Promise<'in place' | 'gone' | 'unavailable'> {
  const stored = (request as unknown as StoredRequest).body.files;
  if (stored.length === 0) return 'in place';
  const looked = new AbortController();
  try {
    const late = clock.sleep(FILES_LOOK_MS, looked.signal).then(() => undefined);
    const found = await Promise.race([areInPlace(files, stored), late]);
    if (found) return 'in place';
    // A folder whose mount vanished looks like an empty one.
    if (found === false && (await files.findFault()) === undefined) return 'gone';
    logger.warn({ task_id: taskId }, 'a task waits again, for the storage of its files is unavailable');
  } catch (error) {
    logger.warn({ err: error, task_id: taskId }, 'a task waits again, for its files could not be read');
  } finally {
    looked.abort();
  }
  return 'unavailable';
}

type Restored = { task: TaskRecord; request: JsonObject; plugin: LoadedPlugin; caller: Caller };

/**
 * The submission of a task that waited, as its client made it.
 * @throws tasks.origin_task_not_found, tasks.origin_task_channel_disabled
 */
export async function restoreSubmission(
  deps: TaskDeps,
  { task, request, plugin, caller }: Restored,
): Promise<Submission> {
  const stored = request as unknown as StoredRequest;
  const { method, path, params, query, contentType, accept, surface, requestId, generation, body, model, action } =
    stored;
  const value = body.value ?? null;
  return {
    ...{ surface, requestId, generation, plugin, caller },
    request: {
      ...{ method, path, params, query, contentType, accept },
      body: restoreStoredBody(deps.storage.files, body),
      release: async () => {},
    },
    intent: { model, action, requestBody: 'requestBody' in stored ? stored.requestBody : value },
    ...(stored.background ? { background: true } : {}),
    ...(stored.retainResult === false ? { retainResult: false } : {}),
    ...(stored.origin ? { originTasks: await findOrigin(deps, caller.user, stored.origin) } : {}),
    ...(task.execution.repeats === undefined ? {} : { repeats: task.execution.repeats }),
  };
}

async function findOrigin(deps: TaskDeps, user: KeyOwner, ids: readonly string[]) {
  const tasks = await Promise.all(ids.map((id) => deps.store.tasks.byUser(user.id, id)));
  const found = tasks.filter((task) => task !== undefined);
  if (found.length < ids.length) throw taskErrors.origin_task_not_found();
  const { channel, credential } = await findOriginAccount(deps, found);
  return { tasks: found, channelId: channel.id, credentialId: credential.id };
}
