import { type JsonObject, userOwner } from '../../kernel/index.ts';
import { taskErrors } from '../errors.ts';
import { deadlineSignal } from '../observation/deadline-signal.ts';
import { hasEnded } from '../state/describe-task.ts';
import type { ClientRequest, TaskDeps } from '../types.ts';
import { protocolContext } from '../vendor/build-contexts.ts';
import { renderEnded } from './render-response.ts';
import { failedResponse, NOT_OBSERVED, pendingResponse, taskIdOf } from './response-objects.ts';

/** How long a client that reads a response waits for a busy host. */
const PATIENCE_MS = 10_000;

/**
 * A user's own response as it is now: `GET /v1/responses/:id`. A task that was created as a
 * response has an answer always, also when its plugin is gone; the plugin that serves now renders,
 * not the one of the submission.
 * @throws tasks.not_found, tasks.plugin_busy_for_you
 */
export async function retrieveResponse(
  deps: TaskDeps,
  userId: number,
  id: string,
  request: ClientRequest,
): Promise<JsonObject> {
  const taskId = taskIdOf(id);
  const task = taskId === undefined ? undefined : await deps.store.tasks.byUser(userId, taskId);
  if (task?.execution.surface !== 'proto_responses') {
    throw taskErrors.not_found({ message: `There is no response with the id "${id.slice(0, 60)}".` });
  }
  if (!hasEnded(task)) return pendingResponse(task);
  const pin = deps.pin();
  const patience = deadlineSignal(deps.clock, PATIENCE_MS, request.signal);
  try {
    const plugin = pin.generation.plugins.get(task.platform);
    const model = task.properties.originModelName;
    const context = protocolContext(plugin?.manifest, 'proto_responses', request, { operation: 'retrieve', model });
    const ended = await renderEnded(
      deps,
      { plugin, context, owner: userOwner(userId), isRetrieval: true, signal: patience.signal },
      task,
    );
    return ended ?? failedResponse(task, NOT_OBSERVED);
  } finally {
    patience.end();
    pin.release();
  }
}
