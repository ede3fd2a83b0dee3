import { deadlineSignal, type JsonObject, userOwner } from '../../kernel/index.ts';
import { relayErrors } from '../../relay/index.ts';
import { hasEnded, type TaskRecord } from '../../store/ports/index.ts';
import type { ClientRequest } from '../../tasks/index.ts';
import { pluginAway, protocolContext } from '../../vendors/index.ts';
import { surfaceErrors } from '../errors.ts';
import type { SurfaceDeps } from '../types.ts';
import { findResponseRenderer, renderEnded } from './render-response.ts';
import { pendingResponse, readTaskId } from './response-objects.ts';

/** How long a retrieval waits for a busy sandbox. */
const DEADLINE_MS = 10_000;

/**
 * `GET /v1/responses/:id`: the user's own response as it is now. The version that began it renders
 * it, where that can. If no version is left that could, it is the stored outcome, without output.
 * @throws tasks.not_found, tasks.plugin_busy_for_you, tasks.plugin_unavailable while the plugin of
 * a successful task is away
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
    if (!plugin && task.status === 'SUCCESS' && pin.generation.mayReturn(task)) throw pluginAway();
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
    throw pluginAway();
  } finally {
    deadline.end();
    pin.release();
  }
}

/** @throws tasks.response_gone for a response whose content is no longer kept */
export function requireKept({ status, properties }: TaskRecord): void {
  if (status === 'SUCCESS' && properties.expired) throw surfaceErrors.response_gone();
}

/** The task of the user's own response. @throws tasks.not_found */
export async function ownResponse(deps: SurfaceDeps, userId: number, id: string): Promise<TaskRecord> {
  const taskId = readTaskId(id);
  const task = taskId === undefined ? undefined : await deps.store.tasks.byUser(userId, taskId);
  if (task?.execution.surface === 'proto_responses') return task;
  throw relayErrors.not_found({ message: `There is no response with the id "${id.slice(0, 60)}".` });
}
