import { deadlineSignal, type JsonObject, userOwner } from '../../kernel/index.ts';
import type { Generation } from '../../plugins/index.ts';
import type { TaskRecord } from '../../store/ports/index.ts';
import {
  type Caller,
  type ClientRequest,
  findProtocolOwners,
  forbidUnsafeRetry,
  type Idempotency,
  observeTask,
  type ProtocolOwner,
  type SubmissionState,
  submitOnce,
  submitTask,
  taskErrors,
  traceEvent,
} from '../../tasks/index.ts';
import { answerBy } from '../await-end.ts';
import { decodeForProtocol, protocolCallContext } from '../decode-for-protocol.ts';
import type { SurfaceDeps } from '../types.ts';
import { awaitResponse, streamResponse } from './follow-response.ts';
import {
  assertFormSupported,
  missingMode,
  type ResponseRequest,
  readResponseRequest,
  refuseDroppedParts,
  responseFields,
} from './read-response-request.ts';
import { findResponseRenderer } from './render-response.ts';
import { pendingResponse } from './response-objects.ts';
import type { ResponseEvent } from './write-response-events.ts';

/**
 * The answer to `POST /v1/responses`. `replayed`: it answers an earlier request with the same
 * Idempotency-Key.
 */
export type ResponseAnswer = { replayed: boolean } & (
  | { kind: 'object'; response: JsonObject }
  | { kind: 'stream'; events: AsyncIterable<ResponseEvent> }
);

/** A request that its plugin supports. */
type Accepted = ResponseRequest & {
  /** At least one. */
  owners: readonly ProtocolOwner[];
  generation: Generation;
  call: { protocol: 'proto_responses'; operation: 'create'; model: string; stream: boolean };
};

/**
 * Submits the request and answers in the form that the client asked for. When the client leaves,
 * the submission continues and the wait ends.
 * @throws tasks.model_not_found when no plugin claims the model, tasks.rate_limit_exceeded before
 * anything is submitted, and what `readResponseRequest`, `assertFormSupported`, `submitOnce` and
 * `submitTask` throw
 */
export const createResponse = (deps: SurfaceDeps, creation: Creation): Promise<ResponseAnswer> =>
  forbidUnsafeRetry((state) => createAndFollow(deps, creation, state));

type Creation = { caller: Caller; requestId: string; request: ClientRequest };

async function createAndFollow(
  deps: SurfaceDeps,
  { caller, requestId, request: client }: Creation,
  state: SubmissionState,
): Promise<ResponseAnswer> {
  const untilMs = answerBy(deps, client);
  const requested = readResponseRequest(client);
  const pin = deps.pin();
  const held = [() => pin.release()];
  const releaseAll = (): void => {
    for (const release of held.splice(0)) release();
  };
  try {
    const accepted = accept(deps, pin.generation, { ...requested, group: caller.group });
    const pluginKey = accepted.owners[0]?.plugin.key ?? '';
    const observer = { pluginKey, userId: caller.user.id, keyId: caller.key?.id ?? null };
    const observation = observeTask(deps.node.limiters.observations, observer);
    held.push(observation.end);
    // Without room for its observation it is not submitted.
    observation.see({ status: 'NOT_START', phase: 'sending' });
    const onWaiting = () => observation.see({ status: 'NOT_START', phase: 'waiting' });
    const attachedUntilMs = requested.form.background ? undefined : untilMs;
    const task = await submitOnce(deps, { caller, request: client, attachedUntilMs }, (idempotency) =>
      submit(deps, { caller, requestId, accepted, idempotency, attachedUntilMs, onWaiting }),
    );
    const { replayed } = task;
    state.vendorMayHaveJob = !replayed;
    const { stream, background } = requested.form;
    if (background && !stream) {
      releaseAll();
      return { kind: 'object', replayed, response: pendingResponse(task) };
    }
    const logFields = { request_id: requestId, task_id: task.taskId, plugin: task.platform, stream };
    traceEvent(deps.logger, 'observation_start', logFields);
    held.push(() => traceEvent(deps.logger, 'observation_end', logFields));
    // The client of a stream has an answer from now on, and waits for as long as a stream lasts.
    const waitMs = stream ? deps.limits.submitTimeoutMs : untilMs - deps.clock.monotonicMs();
    const deadline = deadlineSignal(deps.clock, Math.max(0, waitMs), client.signal);
    // The end of the wait releases everything, even if the client reads no more events.
    if (deadline.signal.aborted) releaseAll();
    else deadline.signal.addEventListener('abort', releaseAll, { once: true });
    // The task's plugin: the task of a repeat may belong to another one, which served the model
    // then, or to an earlier version.
    const plugin = await findResponseRenderer(pin.generation, task, stream);
    const owner = userOwner(caller.user.id);
    const claim = accepted.owners.find((one) => one.plugin.key === plugin?.key) ?? accepted.owners[0];
    if (!claim) throw new Error('no plugin was asked');
    const context = protocolCallContext(claim, { request: accepted.request, ...accepted.call });
    const rendering = { plugin, context, owner, signal: deadline.signal };
    if (stream) {
      const events = thenEnd(streamResponse(deps, rendering, { created: task, observation }), deadline.end);
      return { kind: 'stream', replayed, events };
    }
    const response = await awaitResponse(deps, rendering, task).finally(deadline.end);
    return { kind: 'object', replayed, response };
  } catch (error) {
    releaseAll();
    throw error;
  }
}

/** Checks the request before any hook is called and before anything is reserved. */
function accept(
  deps: SurfaceDeps,
  generation: Generation,
  { group, ...requested }: ResponseRequest & { group: string },
): Accepted {
  const { model, form } = requested;
  const claiming = findProtocolOwners(deps.vendors, { generation, protocol: 'proto_responses', model, group });
  const [owner] = claiming;
  if (!owner) {
    throw taskErrors.model_not_found({
      message: `No plugin serves the model "${model.slice(0, 120)}" on this route.`,
      param: 'model',
    });
  }
  const owners = claiming.filter(({ claim }) => missingMode(claim.supports, form) === undefined);
  if (owners.length === 0) assertFormSupported(owner.claim.supports, form, model);
  const { stream } = form;
  const call = { protocol: 'proto_responses', operation: 'create', model, stream } as const;
  return { ...requested, owners, generation, call };
}

type AcceptedSubmission = {
  caller: Caller;
  requestId: string;
  accepted: Accepted;
  idempotency: Idempotency | undefined;
  attachedUntilMs: number | undefined;
  onWaiting: () => void;
};

async function submit(
  deps: SurfaceDeps,
  { caller, requestId, accepted, idempotency, attachedUntilMs, onWaiting }: AcceptedSubmission,
): Promise<TaskRecord> {
  const { owners, generation, form, request, call } = accepted;
  const check = refuseDroppedParts(request);
  const decoded = await decodeForProtocol(deps, { caller, generation, owners, request, check, ...call });
  return submitTask(deps, {
    ...decoded,
    requestId,
    idempotency,
    attachedUntilMs,
    onWaiting,
    background: form.background,
    shown: { execution: responseFields(request) },
  });
}

async function* thenEnd<T>(items: AsyncIterable<T>, end: () => void): AsyncGenerator<T, void, undefined> {
  try {
    yield* items;
  } finally {
    end();
  }
}
