import { AppError, isObject, type Json, type JsonObject } from '../kernel/index.ts';
import type { WebhookRecord } from '../store/ports/index.ts';
import type { NotificationDeps } from './types.ts';

/** A list that takes longer, or more bytes of JSON, is left out. */
export const LONGEST_LIST_MS = 4000;
const MAX_BYTES = 128 * 1024;
/**
 * A list fails while plugins come up after a start: it is requested this often, with these pauses.
 */
const TRIES = 4;
const PAUSE_MS = 500;

/** What a notice has beside its stored payload at one attempt. */
export type AttachArtifacts = (notice: WebhookRecord, signal: AbortSignal) => Promise<JsonObject>;

/**
 * Lists the artifacts of a task that succeeded, as clients read them. Each attempt lists again:
 * links may have ended or been revoked since the last one, and they are not stored. A list that
 * fails costs only the list: the notice says how the task ended in any case.
 */
export function createAttachArtifacts(
  deps: Pick<NotificationDeps, 'store' | 'clock' | 'logger' | 'listArtifacts'>,
): AttachArtifacts {
  const { store, clock, logger } = deps;

  async function list(taskId: string): Promise<JsonObject> {
    const task = await store.tasks.byTaskId(taskId);
    if (task?.status !== 'SUCCESS' || task.hiddenAt !== 0) return {};
    const listed = await deps.listArtifacts(task);
    const json = JSON.stringify(listed);
    if (Buffer.byteLength(json) <= MAX_BYTES) return JSON.parse(json);
    logger.debug({ task_id: taskId }, 'the artifacts of a task are too many for its webhook notice');
    return {};
  }

  async function listSoon(taskId: string, signal: AbortSignal): Promise<JsonObject> {
    for (let left = TRIES - 1; ; left -= 1) {
      try {
        return await list(taskId);
      } catch (error) {
        const isForNow = error instanceof AppError && error.kind === 'unavailable';
        if (left === 0 || !isForNow || signal.aborted) throw error;
        await clock.sleep(PAUSE_MS, signal);
      }
    }
  }

  return async ({ event, taskId, payload }, signal) => {
    if (event === 'task.updated' || !isSuccess(payload.data)) return {};
    const listed = new AbortController();
    const late = clock.sleep(LONGEST_LIST_MS, AbortSignal.any([signal, listed.signal])).then(() => ({}));
    try {
      return await Promise.race([listSoon(taskId, AbortSignal.any([signal, listed.signal])), late]);
    } catch (error) {
      logger.debug({ err: error, task_id: taskId }, 'a webhook notice is sent without artifacts');
      return {};
    } finally {
      listed.abort();
    }
  };
}

const isSuccess = (data: Json | undefined): boolean => isObject(data) && data.status === 'SUCCESS';
