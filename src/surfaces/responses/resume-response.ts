import { deadlineSignal, userOwner } from '../../kernel/index.ts';
import { type Caller, type ClientRequest, observeTask } from '../../tasks/index.ts';
import { pluginAway, protocolContext } from '../../vendors/index.ts';
import { surfaceErrors } from '../errors.ts';
import type { SurfaceDeps } from '../types.ts';
import { streamResponse } from './follow-response.ts';
import { findResponseRenderer } from './render-response.ts';
import { ownResponse, requireKept } from './retrieve-response.ts';
import type { ResponseEvent } from './write-response-events.ts';

type Resumption = { id: string; startingAfter: number | undefined; request: ClientRequest };

/**
 * `GET /v1/responses/:id?stream=true`: the stream of the user's own response, or what follows the
 * event with the number `startingAfter`. It is rendered anew, on any node.
 * @throws tasks.not_found, tasks.response_form_unsupported, tasks.rate_limit_exceeded,
 * tasks.plugin_unavailable while the plugin is away
 */
export async function resumeResponse(
  deps: SurfaceDeps,
  { user, key }: Pick<Caller, 'user' | 'key'>,
  { id, startingAfter, request }: Resumption,
): Promise<AsyncIterable<ResponseEvent>> {
  const created = await ownResponse(deps, user.id, id);
  requireKept(created);
  const observer = { pluginKey: created.platform, userId: user.id, keyId: key?.id ?? null };
  const observation = observeTask(deps.node.observations, observer);
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
    throw pluginAway();
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
