import type { JsonObject } from '../../kernel/index.ts';
import type { RenderedEvents } from '../../plugins/index.ts';
import { hasEnded, type TaskRecord } from '../../store/ports/index.ts';
import { type Observation, watchTask } from '../../tasks/index.ts';
import type { SurfaceDeps } from '../types.ts';
import { type Rendering, renderEnded, renderStep, reportUnrendered } from './render-response.ts';
import { responseObject } from './response-objects.ts';
import { createEventWriter, type OutputStart, type ResponseEvent } from './write-response-events.ts';

/**
 * `startingAfter`: the number of the last event that the client of an earlier stream has; -1: none.
 * Undefined for the first stream of a new task.
 */
type Stream = { created: TaskRecord; observation: Observation; startingAfter?: number | undefined };

/**
 * Yields the events of a stream, from its creation or from `startingAfter` to its end;
 * `rendering.signal` ends it early. A failure affects only the stream: the task runs and is billed
 * as without observers.
 */
export async function* streamResponse(
  deps: SurfaceDeps,
  rendering: Rendering,
  stream: Stream,
): AsyncGenerator<ResponseEvent, void, undefined> {
  const { startingAfter = -1 } = stream;
  for await (const event of readEvents(deps, rendering, stream)) if (event.sequence_number > startingAfter) yield event;
}

async function* readEvents(
  deps: SurfaceDeps,
  rendering: Rendering,
  { created, observation, startingAfter }: Stream,
): AsyncGenerator<ResponseEvent, void, undefined> {
  const { taskId } = created;
  const isResumed = startingAfter !== undefined;
  const outputsAfter = isResumed ? await deps.store.tasks.streamedOutputsAfter(taskId) : undefined;
  const outputStart = shareOutputStart(deps, taskId);
  const writer = createEventWriter(created, { outputStart, outputsAfter, ...(isResumed ? { startingAfter } : {}) });
  let latest = created;
  // The state of this stream only: another stream of the same task starts over.
  let state: RenderedEvents['state'];
  try {
    yield writer.created();
    for await (const task of watchTask(deps.node, taskId, { signal: rendering.signal })) {
      latest = task;
      if (!hasRoom(observation, task)) break;
      if (task.status === 'FAILURE') return yield await writer.failed(task);
      const rendered = await renderStep(deps, rendering, { task, previous: state });
      if (!rendered) break;
      if (!rendered.ok) {
        reportUnrendered(deps, task, rendered.error);
        return yield await writer.unobserved(task);
      }
      state = rendered.value.state ?? state;
      const step = await writer.rendered(task, rendered.value);
      if (step.error !== undefined) reportUnrendered(deps, task, step.error);
      yield* step.events;
      if (step.over) return;
    }
  } catch (error) {
    deps.logger.error({ err: error, task_id: taskId }, 'response stream failed; its task continues');
    return yield await writer.unobserved(latest);
  }
  yield await writer.incomplete(latest);
}

/** Whether the stream may go on of a task that waits no longer. */
function hasRoom(observation: Observation, task: TaskRecord): boolean {
  try {
    observation.see(task);
    return true;
  } catch {
    return false;
  }
}

/**
 * A stream goes on when its numbers cannot be stored: only who resumes it may get an event twice.
 */
function shareOutputStart({ store, logger }: SurfaceDeps, taskId: string): OutputStart {
  const report = (error: unknown) =>
    logger.warn({ err: error, task_id: taskId }, 'the numbers of a response stream could not be stored');
  return {
    keep: (after) =>
      store.tasks.keepStreamedOutputs(taskId, after).catch((error) => {
        report(error);
        return after;
      }),
    shift: () => store.tasks.shiftStreamedOutputs(taskId).catch(report),
  };
}

/** Waits for the whole answer. At the deadline it returns the response's current state instead. */
export async function awaitResponse(deps: SurfaceDeps, rendering: Rendering, created: TaskRecord): Promise<JsonObject> {
  let latest = created;
  for await (const task of watchTask(deps.node, created.taskId, { signal: rendering.signal })) latest = task;
  const ended = hasEnded(latest) ? await renderEnded(deps, rendering, latest) : undefined;
  return ended ?? responseObject(latest, 'queued');
}
