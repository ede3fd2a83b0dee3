import type { Quote } from '../../billing/index.ts';
import { mapModel, RELAY_TYPE } from '../../channels/index.ts';
import type { AppError } from '../../kernel/index.ts';
import {
  type ChannelRecord,
  type RelayKind,
  type RelayObject,
  type RelayRecord,
  ROLE,
} from '../../store/ports/index.ts';
import type { UpstreamResponse } from '../../upstream/index.ts';
import { taskErrors } from '../errors.ts';
import { readIdempotency } from '../idempotency/submit-once.ts';
import { keepLease } from '../keep-lease.ts';
import { MAX_CHANNELS } from '../submit-task.ts';
import type { Caller, ClientRequest, TaskDeps } from '../types.ts';
import { refuseCallback } from '../webhooks/choose-callback.ts';
import { buildRelayBody, buildRelayRequest, pickHeaders, RELAYED_HEADERS } from './build-relay-request.ts';
import { channelOf, findOwnObject, forwardTo } from './forward-call.ts';
import { type RelayIntent, readRelayRequest } from './read-relay-request.ts';
import { mediaTypeOf, passOn, type RelayAnswer, refusalAnswer, sendFailure, vendorHeaders } from './relay-answers.ts';
import { billRelay, moveRelay, NO_PLUGIN, openRelay, refundRelay } from './relay-money.ts';
import { createObjectFinder, objectIdOf, rememberObject } from './remember-object.ts';

/** Of an answer that is read whole; a stream has no end that we know. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** A request on its way. `headers`: the client's, in lower case. */
export type RelayedRequest = {
  kind: RelayKind;
  requestId: string;
  client: ClientRequest;
  headers: Record<string, string>;
};

/** How one channel took it. */
type Attempt =
  | { kind: 'accepted'; response: UpstreamResponse }
  /** `mayTryAnother`: the vendor provably did nothing, or its channel accepts the risk. */
  | { kind: 'refused'; outcome: RelayAnswer | AppError; httpStatus: number; reason: string; mayTryAnother: boolean };

/**
 * Reservation → the vendor → the bill, as soon as its answer begins with 2xx → the answer, unchanged. Everything else is given back. Until the
 * answer begins nothing stops the request: a client that leaves may have bought something. A stream that has begun ends with its client.
 * @throws what the vendor did not say itself
 */
export async function createRelayed(deps: TaskDeps, caller: Caller, request: RelayedRequest): Promise<RelayAnswer> {
  const { client, kind, requestId } = request;
  const intent = readRelayRequest(kind, client);
  refuseCallback(client);
  const idempotency = readIdempotency(client);
  if (idempotency) {
    const earlier = await deps.store.idempotency.find(caller.user.id, idempotency.key, deps.clock.unix());
    if (earlier) {
      if (earlier.requestHash !== idempotency.requestHash) throw taskErrors.idempotency_key_reused();
      return replay(deps, request, intent, earlier.taskId);
    }
  }
  const only = await pinnedChannel(deps, caller, intent);
  const tried: number[] = [];
  let relay: RelayRecord | undefined;
  let last: Extract<Attempt, { kind: 'refused' }> | undefined;
  while (tried.length < MAX_CHANNELS) {
    const channel = pick(deps, caller, intent, tried, only);
    if (!channel) break;
    tried.push(channel.id);
    try {
      const key = deps.channels.credential(channel);
      const quote = quoteFor(deps, caller, intent, channel);
      relay = relay
        ? await moveRelay(deps, relay, channel, quote, tried.length)
        : await openRelay(deps, { caller, requestId, intent, idempotency }, channel, quote);
      const attempt = await send(deps, request, intent, channel, key, relay);
      if (attempt.kind === 'accepted') {
        return await deliver(deps, request, channel, relay, attempt.response);
      }
      last = attempt;
    } catch (error) {
      // Of a request that was billed nothing is given back: then it is not open any more.
      if (relay) await refundRelay(deps, relay, error instanceof Error ? error.message : 'unknown', 0);
      throw error;
    }
    deps.logger.info(
      { relay_id: relay.relayId, channel_id: channel.id, status: last.httpStatus, reason: last.reason },
      'a relayed request was not accepted',
    );
    if (!last.mayTryAnother) break;
  }
  if (!relay || !last) throw taskErrors.no_available_channel({ param: 'model' });
  await refundRelay(deps, relay, last.reason, last.httpStatus);
  if (last.outcome instanceof Error) throw last.outcome;
  return last.outcome;
}

const pick = (
  deps: TaskDeps,
  { group }: Caller,
  { model }: RelayIntent,
  except: number[],
  only: number | undefined,
): ChannelRecord | undefined =>
  deps.channels.pick({
    // No plugin has this key, so channels of plugins are left out.
    pluginKey: NO_PLUGIN,
    channelTypes: [RELAY_TYPE],
    model,
    group,
    except,
    ...(only === undefined ? {} : { only }),
  });

/** The one channel of all objects that the request builds on, each of which is the caller's own or does not exist for him. */
async function pinnedChannel(
  deps: TaskDeps,
  { user }: Caller,
  { kind, references }: RelayIntent,
): Promise<number | undefined> {
  let only: number | undefined;
  for (const { param, objectId } of references) {
    const object = await findOwnObject(deps, user.id, kind, objectId);
    const channel = object && (await channelOf(deps, object));
    if (!channel || (only !== undefined && only !== channel.id)) {
      const make = kind === 'response' ? taskErrors.previous_response_not_found : taskErrors.referenced_video_not_found;
      throw make({ param });
    }
    only = channel.id;
  }
  return only;
}

function quoteFor(deps: TaskDeps, { user, group }: Caller, intent: RelayIntent, channel: ChannelRecord): Quote {
  const { model, kind: action, facts } = intent;
  return deps.billing.quote({
    pluginKey: NO_PLUGIN,
    model,
    upstreamModel: mapModel(channel.modelMapping, model),
    action,
    facts,
    group,
    isAdmin: user.role >= ROLE.admin,
  });
}

async function send(
  deps: TaskDeps,
  { client, headers }: RelayedRequest,
  { kind, stream, model }: RelayIntent,
  channel: ChannelRecord,
  key: string,
  relay: RelayRecord,
): Promise<Attempt> {
  const { submitTimeoutMs } = deps.limits;
  const own = { ...pickHeaders(headers, RELAYED_HEADERS), accept: stream ? 'text/event-stream' : 'application/json' };
  const request = buildRelayRequest(channel, key, kind, {
    method: 'POST',
    path: '',
    // A form's type is written with its boundary.
    headers: client.body.kind === 'json' ? { ...own, 'content-type': 'application/json' } : own,
    body: buildRelayBody(client, mapModel(channel.modelMapping, model)),
    headersTimeoutMs: submitTimeoutMs,
    idleTimeoutMs: submitTimeoutMs,
    maxResponseBytes: stream ? Number.POSITIVE_INFINITY : MAX_ANSWER_BYTES,
  });
  const lease = keepLease(deps, relay.relayId, (forMs) =>
    deps.store.relays.renew(relay.relayId, relay.leaseOwner, forMs),
  );
  try {
    const sent = await deps.upstream.request(request);
    const risks = channel.settings.retry_on_5xx === true;
    if (!sent.ok) {
      const { kind: failure, notSent, message } = sent.error;
      const mayTryAnother = failure !== 'refused' && (notSent || risks);
      return { kind: 'refused', outcome: sendFailure(sent.error), httpStatus: 0, reason: message, mayTryAnother };
    }
    const { status } = sent.value;
    const reason = `the vendor answered ${status}`;
    if (status >= 200 && status < 300) {
      if (isAnswer(sent.value)) return { kind: 'accepted', response: sent.value };
      sent.value.discard();
      const message = 'What answers at the address of the channel is not this API.';
      const outcome = taskErrors.vendor_failed({ message, doNotRetry: true });
      return { kind: 'refused', outcome, httpStatus: status, reason, mayTryAnother: false };
    }
    if (status === 401 || status === 403) {
      deps.logger.warn({ channel_id: channel.id, status }, 'a vendor refuses the key of a channel');
    }
    const outcome = await refusalAnswer(sent.value, key).catch((error: AppError) => error);
    const mayTryAnother = status === 429 || (status >= 500 && risks);
    return { kind: 'refused', outcome, httpStatus: status, reason, mayTryAnother };
  } finally {
    lease.stop();
  }
}

/** A web page, which a wrong address may lead to, is not worth money. */
function isAnswer(response: UpstreamResponse): boolean {
  const type = mediaTypeOf(response);
  return type === '' || type === 'text/event-stream' || type === 'application/json' || type.endsWith('+json');
}

async function deliver(
  deps: TaskDeps,
  { client: { signal } }: RelayedRequest,
  channel: ChannelRecord,
  relay: RelayRecord,
  response: UpstreamResponse,
): Promise<RelayAnswer> {
  const { status } = response;
  try {
    await billRelay(deps, relay, status);
  } catch (error) {
    response.discard();
    throw error;
  }
  if (mediaTypeOf(response) === 'text/event-stream') {
    const find = createObjectFinder();
    const body = passOn(response.stream(), signal, async (chunk) => {
      const objectId = find(chunk);
      if (objectId !== undefined) await rememberObject(deps, relay, channel, objectId);
    });
    return { status, headers: vendorHeaders(response, { whole: false }), body, replayed: false };
  }
  const body = await response.bytes();
  if (!body.ok) throw taskErrors.vendor_failed({ message: body.error.message, doNotRetry: true });
  await rememberObject(deps, relay, channel, objectIdOf(new TextDecoder().decode(body.value)));
  return { status, headers: vendorHeaders(response, { whole: true }), body: body.value, replayed: false };
}

/** A repeat gets the object that its first request was billed for, as it is now. */
async function replay(
  deps: TaskDeps,
  { client, headers }: RelayedRequest,
  { stream }: RelayIntent,
  relayId: string,
): Promise<RelayAnswer> {
  const relay = await deps.store.relays.byRelayId(relayId);
  if (relay && relay.status !== 'BILLED') throw taskErrors.idempotency_in_progress({ retryAfterSeconds: 5 });
  const object: RelayObject | undefined = stream ? undefined : await deps.store.relays.objectOf(relayId);
  if (!object) throw taskErrors.idempotency_not_replayable({ doNotRetry: true });
  const signal = client.signal ?? new AbortController().signal;
  return { ...(await forwardTo(deps, object, { operation: 'retrieve', query: {}, headers, signal })), replayed: true };
}
