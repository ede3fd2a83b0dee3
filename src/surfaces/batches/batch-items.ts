import type { Quote } from '../../billing/index.ts';
import { AppError, type JsonObject } from '../../kernel/index.ts';
import { type BatchItem, isStoreUnavailable, type TaskRecord } from '../../store/ports/index.ts';
import { type Caller, taskErrors } from '../../tasks/index.ts';
import { createImages, quoteImages } from '../images/create-images.ts';
import { jsonRequest } from '../json-request.ts';
import { quoteSubmission, quoteTask } from '../quote-task.ts';
import { submitGeneric } from '../tasks/submit-generic.ts';
import type { SurfaceDeps } from '../types.ts';
import { decodeVideo, submitVideo } from '../videos/submit-video.ts';
import { readPlugin } from './read-batch.ts';

/** An item is submitted for `caller`, and logged under `requestId`. */
type ItemScope = { caller: Caller; requestId: string };

type Sent = Pick<BatchItem, 'batchId' | 'position' | 'path' | 'body'>;

/** The Idempotency-Key of an item, by which it becomes one task whatever dies in between. */
export const itemKey = ({ batchId, position }: Pick<BatchItem, 'batchId' | 'position'>): string =>
  `${batchId}/${position}`;

/** Submits an item as its path does. The task that it became before is not made again. */
export async function submitItem(deps: SurfaceDeps, scope: ItemScope, item: Sent): Promise<TaskRecord> {
  const request = await jsonRequest(item.path, item.body, { idempotencyKey: itemKey(item) });
  // The batch has one webhook; its tasks have none.
  const caller = { ...scope.caller, key: scope.caller.key && { ...scope.caller.key, webhookUrl: null } };
  const client = { caller, requestId: scope.requestId, request };
  const pluginKey = readPlugin(item.path);
  if (pluginKey !== undefined) return submitGeneric(deps, { ...client, pluginKey });
  if (item.path === '/v1/videos') return submitVideo(deps, client);
  const created = await createImages(deps, { ...client, operation: 'generate', isAsync: true });
  if (created.kind !== 'task') throw new Error('Images of a batch were not made in the background.');
  return created.task;
}

/** What an item would reserve. @throws what it would be refused with */
export async function quoteItem(deps: SurfaceDeps, scope: ItemScope, item: Sent): Promise<Quote> {
  const pluginKey = readPlugin(item.path);
  const body = item.body as JsonObject;
  if (pluginKey !== undefined)
    return quoteTask(deps, { ...scope, pluginKey, model: String(body.model), action: '', request: body });
  const request = await jsonRequest(item.path, body);
  if (item.path !== '/v1/videos') return quoteImages(deps, { ...scope, request });
  return decodeVideo(deps, { ...scope, request }, (submission) => quoteSubmission(deps, submission));
}

/** Nobody knows when these are over, and a request that comes alone is refused at once. */
const FINAL = new Set([taskErrors.no_available_channel().code]);
const IN_PROGRESS = taskErrors.idempotency_in_progress().code;
/** A pause where the refusal names none. */
const PAUSE_SECONDS = 5;

/** After how many seconds to try again what was refused for now; undefined: it is refused. */
export function retryAfterSeconds(error: unknown): number | undefined {
  if (isStoreUnavailable(error)) return PAUSE_SECONDS;
  if (!(error instanceof AppError) || FINAL.has(error.code)) return undefined;
  const isForNow = error.kind === 'unavailable' || error.kind === 'rate_limited' || error.code === IN_PROGRESS;
  if (!isForNow || (error.shouldRetry === false && error.code !== IN_PROGRESS)) return undefined;
  return Math.max(1, error.retryAfterSeconds ?? PAUSE_SECONDS);
}
