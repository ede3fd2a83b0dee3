import { fileErrors } from '../../files/index.ts';
import { deadlineSignal, isObject, type Json, type JsonObject, userOwner } from '../../kernel/index.ts';
import { relayErrors } from '../../relay/index.ts';
import { hasEnded, type TaskRecord } from '../../store/ports/index.ts';
import { type Caller, type ClientRequest, observeTask, taskErrors } from '../../tasks/index.ts';
import { pluginUnavailable, protocolContext } from '../../vendors/index.ts';
import { surfaceErrors } from '../errors.ts';
import type { SurfaceDeps } from '../types.ts';
import { streamResponse } from './follow-response.ts';
import { findResponseRenderer, renderEnded } from './render-response.ts';
import { pendingResponse, readTaskId } from './response-objects.ts';
import type { ResponseEvent } from './write-response-events.ts';

/** How long a retrieval waits for a busy sandbox. */
const DEADLINE_MS = 10_000;

/**
 * `GET /v1/responses/:id`: the user's own response as it is now. The version that began it renders
 * it, where that can. If no version is left that could, it is the stored outcome, without output.
 * @throws tasks.not_found, tasks.plugin_busy_for_you, tasks.plugin_unavailable while the plugin of
 * a successful task is unavailable
 */
export async function retrieveResponse(
  deps: SurfaceDeps,
  { userId, id, request }: { userId: number; id: string; request: ClientRequest },
): Promise<JsonObject> {
  const task = await ownResponse(deps, userId, id);
  if (!hasEnded(task)) return pendingResponse(task);
  requireKept(task);
  const pin = deps.pin();
  const deadline = deadlineSignal(deps.clock, DEADLINE_MS, request.signal);
  try {
    const plugin = await findResponseRenderer(pin.generation, task);
    if (!plugin && task.status === 'SUCCESS' && pin.generation.mayReturn(task)) throw pluginUnavailable();
    const model = task.properties.originModelName;
    const context = protocolContext(request, {
      manifest: plugin?.manifest,
      protocol: 'proto_responses',
      operation: 'retrieve',
      model,
    });
    const ended = await renderEnded(
      deps,
      { plugin, context, owner: userOwner(userId), isRetrieval: true, signal: deadline.signal },
      task,
    );
    if (ended) return ended;
    throw pluginUnavailable();
  } finally {
    deadline.end();
    pin.release();
  }
}

/** @throws tasks.response_gone for a response whose content is no longer kept */
function requireKept({ status, properties }: TaskRecord): void {
  if (status === 'SUCCESS' && properties.expired) throw surfaceErrors.response_gone();
}

/** The task of the user's own response. @throws tasks.not_found */
export async function ownResponse(deps: SurfaceDeps, userId: number, id: string): Promise<TaskRecord> {
  const taskId = readTaskId(id);
  const task = taskId === undefined ? undefined : await deps.store.tasks.byUser(userId, taskId);
  if (task?.execution.surface === 'proto_responses') return task;
  throw relayErrors.not_found({ message: `There is no response with the id "${id.slice(0, 60)}".` });
}

type Resumption = { id: string; startingAfter: number | undefined; request: ClientRequest };

/**
 * `GET /v1/responses/:id?stream=true`: the stream of the user's own response, or what follows the
 * event with the number `startingAfter`. It is rendered again, on any node.
 * @throws tasks.not_found, tasks.response_form_unsupported, tasks.rate_limit_exceeded,
 * tasks.plugin_unavailable while the plugin is unavailable
 */
export async function resumeResponse(
  deps: SurfaceDeps,
  { user, key }: Pick<Caller, 'user' | 'key'>,
  { id, startingAfter, request }: Resumption,
): Promise<AsyncIterable<ResponseEvent>> {
  const created = await ownResponse(deps, user.id, id);
  requireKept(created);
  const observer = { pluginKey: created.platform, userId: user.id, keyId: key?.id ?? null };
  const observation = observeTask(deps.node.limiters.observations, observer);
  observation.see(created);
  const pin = deps.pin();
  const deadline = deadlineSignal(deps.clock, deps.limits.submitTimeoutMs, request.signal);
  let isReleased = false;
  const releaseAll = (): void => {
    if (isReleased) return;
    isReleased = true;
    deadline.end();
    pin.release();
    observation.end();
  };
  const plugin = await findResponseRenderer(pin.generation, created, true);
  if (!plugin && created.status !== 'FAILURE' && pin.generation.mayReturn(created)) {
    releaseAll();
    throw pluginUnavailable();
  }
  if (plugin && !plugin.has('protocols.proto_responses.renderEvents')) {
    releaseAll();
    const message = 'This response cannot be streamed: read it without "stream".';
    throw surfaceErrors.response_form_unsupported({ message, param: 'stream' });
  }
  // The end of the wait releases everything, even if the client reads no more events.
  if (deadline.signal.aborted) releaseAll();
  else deadline.signal.addEventListener('abort', releaseAll, { once: true });
  const context = protocolContext(request, {
    manifest: plugin?.manifest,
    protocol: 'proto_responses',
    operation: 'retrieve',
    model: created.properties.originModelName,
    stream: true,
  });
  const rendering = { plugin, context, owner: userOwner(user.id), signal: deadline.signal };
  return thenRelease(
    streamResponse(deps, rendering, { created, observation, startingAfter: startingAfter ?? -1 }),
    releaseAll,
  );
}

async function* thenRelease<T>(items: AsyncIterable<T>, release: () => void): AsyncGenerator<T, void, undefined> {
  try {
    yield* items;
  } finally {
    release();
  }
}

export type ItemPage = { after?: string | undefined; limit?: number | undefined; order?: 'asc' | 'desc' | undefined };

const DEFAULT_LIMIT = 20;

/**
 * The input of a response as a list of items, the latest first unless `order` is `asc`. Items
 * without an id get one.
 * @throws tasks.request_not_kept for an input that was too large to be stored, tasks.page_not_found
 */
export function listInputItems({ taskId, execution }: TaskRecord, page: ItemPage): JsonObject {
  const input = execution.response?.input;
  if (input === undefined)
    throw fileErrors.request_not_kept({
      message: 'The input of this response is not kept: it was too large, or was deleted after its retention period.',
    });
  const items = toItems(input).map((item, index): JsonObject => ({ id: `msg_${taskId}_input_${index}`, ...item }));
  const ordered = page.order === 'asc' ? items : items.toReversed();
  const from = page.after === undefined ? 0 : ordered.findIndex(({ id }) => id === page.after) + 1;
  if (page.after !== undefined && from === 0) throw taskErrors.page_not_found({ param: 'after' });
  const limit = page.limit ?? DEFAULT_LIMIT;
  const data = ordered.slice(from, from + limit);
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: from + limit < ordered.length,
  };
}

/** OpenAI's clients may send a text, or messages without a type and with a text as content. */
function toItems(input: Json): JsonObject[] {
  const items = Array.isArray(input) ? input : [{ role: 'user', content: input }];
  return items.map((item): JsonObject => {
    if (!isObject(item))
      return { type: 'message', role: 'user', content: [{ type: 'input_text', text: String(item) }] };
    const { type = 'message', content, ...rest } = item as JsonObject;
    const parts = typeof content === 'string' ? [{ type: 'input_text', text: content }] : content;
    return { ...rest, type, ...(parts === undefined ? {} : { content: parts }) };
  });
}
