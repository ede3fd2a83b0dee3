import type { Quote } from '../../billing/index.ts';
import { mapModel, RELAY_TYPE } from '../../channels/index.ts';
import type { AppError } from '../../kernel/index.ts';
import { holdSlotUntilSent } from '../../kernel/index.ts';
import { type ChannelRecord, type RelayKind, type RelayRecord, ROLE } from '../../store/ports/index.ts';
import type { UpstreamResponse } from '../../upstream/index.ts';
import { taskErrors } from '../errors.ts';
import { runIdempotently } from '../idempotency/run-idempotently.ts';
import { renewLease } from '../submission/renew-lease.ts';
import { skipUnreadableChannel } from '../submission/skip-unreadable-channel.ts';
import { MAX_CHANNELS } from '../submission/submit-task.ts';
import type { Caller, ClientRequest, Idempotency, TaskDeps } from '../types.ts';
import { refuseCallback } from '../webhooks/choose-callback.ts';
import { buildRelayBody, buildRelayRequest, pickHeaders, RELAYED_HEADERS } from './build-relay-request.ts';
import { pinnedChannel } from './find-references.ts';
import { type RelayIntent, readRelayRequest } from './read-relay-request.ts';
import {
  mediaTypeOf,
  passOn,
  type RelayAnswer,
  refusalAnswer,
  sendFailure,
  vendorHeaders,
  withoutKey,
} from './relay-answers.ts';
import { billRelay, moveRelay, NO_PLUGIN, openRelay, refundRelay, releaseRelay } from './relay-money.ts';
import { createVendorIdFinder, namesOf, storeVendorIds } from './remember-names.ts';
import { replayRelayed } from './replay-relayed.ts';

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
  /**
   * `mayBeDone`: nobody knows what the vendor did. `mayTryAnother`: it provably did nothing, or its
   * channel accepts the risk.
   */
  | {
      kind: 'refused';
      outcome: RelayAnswer | AppError;
      httpStatus: number;
      reason: string;
      mayTryAnother: boolean;
      mayBeDone: boolean;
    };

/**
 * Reservation → the vendor → the bill, as soon as its answer begins with 2xx → the answer,
 * unchanged. Everything else is given back. Until the answer begins nothing stops the request: a
 * client that leaves may have bought something. A stream that has begun ends with its client.
 * @throws what the vendor did not say itself
 */
export async function createRelayed(deps: TaskDeps, caller: Caller, request: RelayedRequest): Promise<RelayAnswer> {
  const intent = readRelayRequest(request.kind, request.client);
  refuseCallback(request.client);
  const leave = intent.stream ? deps.downloads.enter(caller.user.id, 'stream') : () => {};
  return holdSlotUntilSent(leave, (onStreamEnd) =>
    runIdempotently(deps, caller, request.client, {
      first: (idempotency) => relayFirst(deps, caller, request, intent, idempotency, onStreamEnd),
      repeat: (relayId) => replayRelayed(deps, caller, request, intent, relayId),
    }),
  );
}

async function relayFirst(
  deps: TaskDeps,
  caller: Caller,
  request: RelayedRequest,
  intent: RelayIntent,
  idempotency: Idempotency | undefined,
  onStreamEnd: () => void,
): Promise<RelayAnswer> {
  const { requestId } = request;
  const only = await pinnedChannel(deps, caller, intent);
  const tried: number[] = [];
  let relay: RelayRecord | undefined;
  let lease: { stop(): void } | undefined;
  /** The vendor of an attempt may have done what was asked for, and nothing came of it here. */
  let mayBeDone = false;
  let last: Extract<Attempt, { kind: 'refused' }> | undefined;
  let unreadable: AppError | undefined;
  try {
    while (tried.length < MAX_CHANNELS) {
      const channel = pick(deps, caller, intent, tried, only);
      if (!channel) break;
      tried.push(channel.id);
      let key: string;
      try {
        key = deps.channels.credential(channel);
      } catch (error) {
        unreadable = skipUnreadableChannel(deps, channel, error);
        if (!unreadable) throw error;
        continue;
      }
      const quote = quoteFor(deps, caller, intent, channel);
      relay = relay
        ? await moveRelay(deps, relay, channel, quote, tried.length)
        : await openRelay(deps, { caller, requestId, intent, idempotency }, channel, quote);
      const { relayId, leaseOwner } = relay;
      // Until the bill is written and its answer read: repeats wait for both.
      lease ??= renewLease(deps, relayId, (forMs) => deps.store.relays.renew(relayId, leaseOwner, forMs));
      const wasInDoubt: boolean = mayBeDone;
      mayBeDone = true;
      const attempt = await send(deps, request, intent, channel, key);
      if (attempt.kind === 'accepted') {
        return await deliver(deps, request, channel, relay, attempt.response, onStreamEnd);
      }
      mayBeDone = wasInDoubt || attempt.mayBeDone;
      last = attempt;
      deps.logger.info(
        { relay_id: relayId, channel_id: channel.id, status: last.httpStatus, reason: last.reason },
        'a relayed request was not accepted',
      );
      if (!last.mayTryAnother) break;
    }
  } catch (error) {
    // Of a request that was billed nothing is given back: then it is not open any more.
    const reason = error instanceof Error ? error.message : 'unknown';
    if (relay) await refundRelay(deps, relay, { reason, httpStatus: 0, mayBeDone });
    throw error;
  } finally {
    lease?.stop();
    if (relay && idempotency) await releaseRelay(deps, relay);
  }
  if (!relay || !last) throw unreadable ?? taskErrors.no_available_channel({ param: 'model' });
  await refundRelay(deps, relay, { reason: last.reason, httpStatus: last.httpStatus, mayBeDone });
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
  const sent = await deps.upstream.request(request);
  const risks = channel.settings.retry_on_5xx === true;
  if (!sent.ok) {
    const { kind: failure, notSent, message } = sent.error;
    const mayTryAnother = failure !== 'refused' && (notSent || risks);
    const mayBeDone = failure !== 'refused' && !notSent;
    return {
      kind: 'refused',
      outcome: sendFailure(sent.error),
      httpStatus: 0,
      reason: message,
      mayTryAnother,
      mayBeDone,
    };
  }
  const { status } = sent.value;
  const reason = `the vendor answered ${status}`;
  if (status >= 200 && status < 300) {
    if (isAnswer(sent.value)) return { kind: 'accepted', response: sent.value };
    sent.value.discard();
    const message = 'What answers at the address of the channel is not this API.';
    const outcome = taskErrors.vendor_failed({ message, doNotRetry: true });
    return { kind: 'refused', outcome, httpStatus: status, reason, mayTryAnother: false, mayBeDone: true };
  }
  if (status === 401 || status === 403) {
    deps.logger.warn({ channel_id: channel.id, status }, 'a vendor refuses the key of a channel');
  }
  const outcome = await refusalAnswer(deps.clock, sent.value, key).catch((error: AppError) => error);
  const mayBeDone = status >= 500;
  return {
    kind: 'refused',
    outcome,
    httpStatus: status,
    reason,
    mayTryAnother: status === 429 || (mayBeDone && risks),
    mayBeDone,
  };
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
  onStreamEnd: () => void,
): Promise<RelayAnswer> {
  const { status } = response;
  try {
    await billRelay(deps, relay, status);
  } catch (error) {
    response.discard();
    throw error;
  }
  if (mediaTypeOf(response) === 'text/event-stream') {
    const find = createVendorIdFinder(relay.kind);
    const remember = (chunk: Uint8Array) => storeVendorIds(deps, relay, channel, find(chunk));
    const body = passOn(response.stream(), signal, onStreamEnd, remember);
    return { status, headers: vendorHeaders(response, { whole: false }), body, replayed: false };
  }
  const body = await response.bytes();
  if (!body.ok) throw taskErrors.vendor_failed({ message: body.error.message, doNotRetry: true });
  const names = await namesOf(relay.kind, body.value);
  if (!names.some(({ kind }) => kind === relay.kind)) {
    const log = { relay_id: relay.relayId, channel_id: channel.id };
    deps.logger.warn(log, 'the answer of a vendor names no object: it cannot be read again');
  }
  await storeVendorIds(deps, relay, channel, names);
  const clean = withoutKey(body.value, deps.channels.credential(channel));
  return { status, headers: vendorHeaders(response, { whole: true }), body: clean, replayed: false };
}
