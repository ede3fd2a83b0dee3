import type { JsonObject } from '../../kernel/index.ts';
import type { RenderedEvents } from '../../plugins/index.ts';
import type { TaskRecord } from '../../store/ports/index.ts';
import { watchTask } from '../observation/watch-task.ts';
import { hasEnded } from '../state/describe-task.ts';
import type { TaskDeps } from '../types.ts';
import { type Rendering, renderEnded, renderStep, reportUnrendered } from './render-response.ts';
import { responseObject } from './response-objects.ts';
import { createEventWriter, type ResponseEvent } from './write-response-events.ts';

/**
 * The events of a stream, from its creation to its end; what ends it early is `rendering.signal`.
 * Whatever goes wrong with it goes wrong with the stream alone: the task runs and is billed as if
 * nobody looked on.
 */
export async function* streamResponse(
  deps: TaskDeps,
  rendering: Rendering,
  created: TaskRecord,
): AsyncGenerator<ResponseEvent, void, undefined> {
  const writer = createEventWriter(created);
  let latest = created;
  // Only this stream knows it: another one of the same task begins anew.
  let state: RenderedEvents['state'];
  try {
    yield writer.created();
    for await (const task of watchTask(deps, created.taskId, { signal: rendering.signal })) {
      latest = task;
      if (task.status === 'FAILURE') return yield writer.failed(task);
      const rendered = await renderStep(deps, rendering, task, state);
      if (!rendered) break;
      if (!rendered.ok) {
        reportUnrendered(deps, task, rendered.error);
        return yield writer.unobserved(task);
      }
      state = rendered.value.state ?? state;
      const step = writer.rendered(task, rendered.value);
      if (step.fault !== undefined) reportUnrendered(deps, task, step.fault);
      yield* step.events;
      if (step.over) return;
    }
  } catch (error) {
    deps.logger.error({ err: error, task_id: created.taskId }, 'the observation of a response broke');
    return yield writer.unobserved(latest);
  }
  yield writer.incomplete(latest);
}

/**
 * The whole answer once the task has ended; where it takes too long, how far it is, to be asked for
 * later.
 */
export async function awaitResponse(deps: TaskDeps, rendering: Rendering, created: TaskRecord): Promise<JsonObject> {
  let latest = created;
  for await (const task of watchTask(deps, created.taskId, { signal: rendering.signal })) latest = task;
  const ended = hasEnded(latest) ? await renderEnded(deps, rendering, latest) : undefined;
  return ended ?? responseObject(latest, 'queued');
}
