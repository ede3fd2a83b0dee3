import { type JsonObject, userOwner } from '../../kernel/index.ts';
import { decodeProtocolRequest, type Generation, type ProtocolContext } from '../../plugins/index.ts';
import type { TaskRecord } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import { submitOnce } from '../idempotency/submit-once.ts';
import { deadlineSignal } from '../observation/deadline-signal.ts';
import { traceEvent } from '../state/trace-event.ts';
import { findOwner, type Owner } from '../submission/find-owner.ts';
import { hookError } from '../submission/prepare-submission.ts';
import { resolveOriginTasks } from '../submission/resolve-origin-tasks.ts';
import { submitTask } from '../submission/submit-task.ts';
import type { Caller, ClientRequest, Idempotency, TaskDeps } from '../types.ts';
import { protocolContext } from '../vendor/build-contexts.ts';
import { awaitResponse, streamResponse } from './follow-response.ts';
import { assertFormSupported, type ResponseRequest, readResponseRequest } from './read-response-request.ts';
import { pendingResponse } from './response-objects.ts';
import type { ResponseEvent } from './write-response-events.ts';

/**
 * The answer to `POST /v1/responses`. `replayed`: of an earlier request with the same
 * Idempotency-Key.
 */
export type ResponseAnswer = { replayed: boolean } & (
  | { kind: 'object'; response: JsonObject }
  | { kind: 'stream'; events: AsyncIterable<ResponseEvent> }
);

/** A request whose plugin is found and takes it. */
type Accepted = ResponseRequest & { owner: Owner; generation: Generation; context: ProtocolContext };

/**
 * Submits, and answers in the form that the client asked for. When the client leaves, the
 * submission goes on and what it waits for ends.
 * @throws tasks.model_not_found where no plugin claims the model, tasks.rate_limit_exceeded before
 * anything is submitted, and what `readResponseRequest`, `assertFormSupported`, `submitOnce` and
 * `submitTask` throw
 */
export async function createResponse(
  deps: TaskDeps,
  caller: Caller,
  requestId: string,
  client: ClientRequest,
): Promise<ResponseAnswer> {
  const asked = readResponseRequest(client);
  const pin = deps.pin();
  const held = [() => pin.release()];
  const letGo = (): void => {
    for (const release of held.splice(0)) release();
  };
  try {
    const accepted = accept(deps, pin.generation, asked);
    const { key: pluginKey } = accepted.owner.plugin;
    held.push(deps.observations.enter({ pluginKey, userId: caller.user.id, keyId: caller.key?.id ?? null }));
    const task = await submitOnce(deps, caller, client, (idempotency) =>
      submit(deps, caller, requestId, accepted, idempotency),
    );
    const { replayed } = task;
    const { stream, background } = asked.form;
    if (background && !stream) {
      letGo();
      return { kind: 'object', replayed, response: pendingResponse(task) };
    }
    const told = { task_id: task.taskId, plugin: task.platform, stream };
    traceEvent(deps.logger, 'observation_start', requestId, told);
    held.push(() => traceEvent(deps.logger, 'observation_end', requestId, told));
    const patience = deadlineSignal(deps.clock, deps.limits.submitTimeoutMs, client.signal);
    // Whatever ends the wait gives the place back, also where nobody reads what is left to be told.
    if (patience.signal.aborted) letGo();
    else patience.signal.addEventListener('abort', letGo, { once: true });
    // By the task: a repeat may be answered with one of another plugin, which served the model
    // then.
    const plugin = pin.generation.plugins.get(task.platform);
    const owner = userOwner(caller.user.id);
    const rendering = { plugin, context: accepted.context, owner, signal: patience.signal };
    if (stream)
      return { kind: 'stream', replayed, events: endingWith(streamResponse(deps, rendering, task), patience.end) };
    const response = await awaitResponse(deps, rendering, task).finally(patience.end);
    return { kind: 'object', replayed, response };
  } catch (error) {
    letGo();
    throw error;
  }
}

/** Before any hook, and before anything is reserved. */
function accept(deps: TaskDeps, generation: Generation, asked: ResponseRequest): Accepted {
  const { model, form, request } = asked;
  const owner = findOwner(deps, generation, 'proto_responses', model);
  if (!owner) {
    throw taskErrors.model_not_found({
      message: `No plugin serves the model "${model.slice(0, 120)}" on this route.`,
      param: 'model',
    });
  }
  const { plugin, claim, upstreamModel } = owner;
  assertFormSupported(claim.supports, form, model);
  const context = protocolContext(plugin.manifest, 'proto_responses', request, {
    operation: 'create',
    model,
    stream: form.stream,
    ...(upstreamModel === undefined ? {} : { upstreamModel }),
  });
  return { ...asked, owner, generation, context };
}

async function submit(
  deps: TaskDeps,
  caller: Caller,
  requestId: string,
  { owner: { plugin }, generation, context, model, form, request }: Accepted,
  idempotency: Idempotency | undefined,
): Promise<TaskRecord> {
  const decoded = await decodeProtocolRequest(
    plugin,
    { protocol: 'proto_responses', ctx: context },
    {
      owner: userOwner(caller.user.id),
    },
  );
  if (!decoded.ok) throw hookError(decoded.error);
  const { action = '', requestBody, originTaskIds } = decoded.value;
  return submitTask(deps, {
    surface: 'proto_responses',
    originTasks: await resolveOriginTasks(deps, caller, plugin, originTaskIds),
    caller,
    requestId,
    plugin,
    generation: generation.number,
    request,
    intent: { model, action, requestBody },
    idempotency,
    background: form.background,
  });
}

async function* endingWith<T>(items: AsyncIterable<T>, end: () => void): AsyncGenerator<T, void, undefined> {
  try {
    yield* items;
  } finally {
    end();
  }
}
