import type { JsonObject } from '../../kernel/index.ts';
import type { RenderedEvents } from '../../plugins/index.ts';
import type { TaskRecord } from '../../store/ports/index.ts';
import { watchTask } from '../observation/watch-task.ts';
import { hasEnded } from '../state/describe-task.ts';
import type { TaskDeps } from '../types.ts';
import { type Rendering, renderEnded, renderStep, reportUnrendered } from './render-response.ts';
import { responseObject } from './response-objects.ts';
import { createEventWriter, type ResponseEvent } from './write-response-events.ts';

/** `startingAfter`: the number of the last event that the client has. */
type Stream = { created: TaskRecord; startingAfter?: number | undefined };

/**
 * Yields the events of a stream, from its creation or from `startingAfter` to its end;
 * `rendering.signal` ends it early. A failure affects only the stream: the task runs and is billed
 * as without observers.
 */
export async function* streamResponse(
  deps: TaskDeps,
  rendering: Rendering,
  { created, startingAfter = -1 }: Stream,
): AsyncGenerator<ResponseEvent, void, undefined> {
  // The last event says how the stream ended, whatever the client has.
  for await (const event of eventsOf(deps, rendering, { created, startingAfter }))
    if (event.sequence_number > startingAfter || ENDS.has(event.type)) yield event;
}

const ENDS: ReadonlySet<string> = new Set(['completed', 'failed', 'incomplete'].map((type) => `response.${type}`));

async function* eventsOf(
  deps: TaskDeps,
  rendering: Rendering,
  { created, startingAfter }: Required<Stream>,
): AsyncGenerator<ResponseEvent, void, undefined> {
  const writer = createEventWriter(created, Math.max(0, startingAfter ?? 0));
  let latest = created;
  // The state of this stream only: another stream of the same task begins anew.
  let state: RenderedEvents['state'];
  try {
    yield writer.created();
    for await (const task of watchTask(deps, created.taskId, { signal: rendering.signal })) {
      latest = task;
      if (task.status === 'FAILURE') return yield writer.failed(task);
      const rendered = await renderStep(deps, rendering, { task, previous: state });
      if (!rendered) break;
      if (!rendered.ok) {
        reportUnrendered(deps, task, rendered.error);
        return yield writer.unobserved(task);
      }
      state = rendered.value.state ?? state;
      const step = writer.rendered(task, rendered.value);
      if (step.error !== undefined) reportUnrendered(deps, task, step.error);
      yield* step.events;
      if (step.over) return;
    }
  } catch (error) {
    deps.logger.error({ err: error, task_id: created.taskId }, 'response stream failed; its task continues');
    return yield writer.unobserved(latest);
  }
  yield writer.incomplete(latest);
}

/** Waits for the whole answer. At the deadline it returns the response's current state instead. */
export async function awaitResponse(deps: TaskDeps, rendering: Rendering, created: TaskRecord): Promise<JsonObject> {
  let latest = created;
  for await (const task of watchTask(deps, created.taskId, { signal: rendering.signal })) latest = task;
  const ended = hasEnded(latest) ? await renderEnded(deps, rendering, latest) : undefined;
  return ended ?? responseObject(latest, 'queued');
}
