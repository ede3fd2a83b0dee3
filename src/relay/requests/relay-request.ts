import { type Capacity, mapModel, RELAY_TYPE, type Scope, type VendorAccount } from '../../channels/index.ts';
import {
  AppError,
  holdSlotUntilSent,
  quoted,
  type Sentence,
  sentence,
  toSentence,
  userOwner,
} from '../../kernel/index.ts';
import { refuseCallback } from '../../notifications/index.ts';
import type { RelayRecord } from '../../store/ports/index.ts';
import {
  type Caller,
  createRefusalLog,
  forbidUnsafeRetry,
  type Idempotency,
  limitReached,
  listOwnerLimits,
  MAX_ATTEMPTS,
  readConcurrencyLimits,
  runIdempotently,
  type SubmissionState,
  skipUnreadableChannel,
  taskErrors,
} from '../../tasks/index.ts';
import type { UpstreamResponse } from '../../upstream/index.ts';
import { adviseRetry, classifyFailure, classifyStatus } from '../../vendors/index.ts';
import { checkAnswer } from '../answers/check-answer.ts';
import { MAX_ANSWER_BYTES, refusalAnswer, sendFailure } from '../answers/filter-answer.ts';
import { buildRelayBody, buildRelayRequest, pickHeaders, RELAYED_HEADERS } from '../bodies/build-relay-request.ts';
import { addDefaults, readRelayRequest } from '../bodies/read-relay-request.ts';
import { ENDPOINTS } from '../endpoints.ts';
import { findSources } from '../objects/find-sources.ts';
import type { Creation, OpenRelay, RelayAnswer, RelayDeps, RelayedRequest } from '../types.ts';
import { asksForUsage, USAGE_QUESTION } from '../usage/ask-for-usage.ts';
import { refundRelay } from '../usage/refund-relay.ts';
import { moveRelay, openRelay, RELAY_PLUGIN_KEY, releaseRelay } from '../usage/reserve-and-bill.ts';
import { deliverAnswer } from './deliver-answer.ts';
import { mayFollow, repeatFollowed, startFollowed } from './follow-request.ts';
import { storeFailure } from './kept-answers.ts';
import { quoteRelayRequest } from './quote-relay-request.ts';
import { replayAnswer } from './replay-answer.ts';

/** The outcome of a request on one channel. */
type Attempt =
  | { kind: 'accepted'; response: UpstreamResponse }
  /**
   * `mayBeDone`: the vendor may have done the work. `mayTryAnother`: the vendor certainly did
   * nothing, or its channel accepts that risk.
   */
  | {
      kind: 'refused';
      outcome: RelayAnswer | AppError;
      httpStatus: number;
      reason: Sentence;
      mayTryAnother: boolean;
      mayBeDone: boolean;
    };
type Refused = Extract<Attempt, { kind: 'refused' }>;

/** Retry-After for clients when every slot stayed taken, in seconds. */
const FULL_SECONDS = 5;

type FirstCreation = Creation & {
  idempotency: Idempotency | undefined;
  /** Called once the money is reserved. */
  onOpen: (relay: RelayRecord) => void;
  onStreamEnd: () => void;
  state: SubmissionState;
};

/**
 * Reserves → sends to the vendor → bills a 2xx answer, at once or by its usage at its end →
 * forwards the answer unchanged. Any other outcome is refunded. Until the answer begins nothing
 * stops the request: a client that leaves may have bought something. A stream that has begun ends
 * with its client.
 * @throws errors of the gateway's own; the vendor's errors are returned as answers
 */
export async function relayRequest(deps: RelayDeps, caller: Caller, given: RelayedRequest): Promise<RelayAnswer> {
  let request = given;
  let intent = readRelayRequest(request);
  refuseCallback(request.client);
  if (intent.isFollowed && !(await mayFollow(deps))) {
    // The client waits for this request, as for any other.
    const { follow: _, ...awaited } = request;
    request = awaited;
    intent = readRelayRequest(request);
  }
  const creation = { caller, request, intent };
  return intent.isFollowed
    ? startFollowed(deps, creation, (onOpen) => runRelayed(deps, { ...creation, onOpen }))
    : runRelayed(deps, { ...creation, onOpen: () => {} });
}

function runRelayed(deps: RelayDeps, creation: Creation & Pick<FirstCreation, 'onOpen'>): Promise<RelayAnswer> {
  const { caller, request, intent } = creation;
  const takesSlot = intent.stream || intent.isFollowed;
  const release = takesSlot ? deps.vendors.downloads.acquire(caller.user.id, 'stream') : () => {};
  return holdSlotUntilSent(release, (onStreamEnd) =>
    runIdempotently(
      deps,
      { caller, request: request.client },
      {
        first: async (idempotency) => {
          const leave = await enterOwn(deps, creation);
          return holdSlotUntilSent(leave, (end) =>
            forbidUnsafeRetry((state) =>
              relayFirst(deps, {
                ...{ ...creation, idempotency, state },
                onStreamEnd() {
                  end();
                  onStreamEnd();
                },
              }),
            ),
          );
        },
        repeat: (relayId) =>
          intent.isFollowed ? repeatFollowed(deps, creation, relayId) : replayAnswer(deps, { ...creation, relayId }),
      },
    ),
  );
}

async function relayFirst(deps: RelayDeps, creation: FirstCreation): Promise<RelayAnswer> {
  const { caller, idempotency, onStreamEnd, state, request: given } = creation;
  const sources = await findSources(deps, caller, creation.intent);
  const tried: number[] = [];
  let relay: OpenRelay | undefined;
  let lease: { stop(): void } | undefined;
  /** The end of the stream releases it. */
  let isReleasedLater = false;
  /** Releases the slot at the vendor's account. */
  let leave = () => {};
  let isFull = false;
  const waitsUntilMs = deps.clock.monotonicMs() + deps.limits.relayWaitMs;
  const release = async () => {
    lease?.stop();
    if (relay && (idempotency || creation.intent.isFollowed)) await releaseRelay(deps, relay);
  };
  let last: Refused | undefined;
  /** The status of the answer that was accepted; 0: none was. */
  let answered = 0;
  let unreadable: AppError | undefined;
  const refusals = createRefusalLog(deps.logger, 'vendor did not accept a relayed request');
  try {
    while (tried.length < MAX_ATTEMPTS) {
      // One that would have to wait serves only where all would.
      const chosen = { except: tried, only: sources.account };
      const account = pick(deps, creation, { ...chosen, free: true }) ?? pick(deps, creation, chosen);
      if (!account) break;
      const { channel } = account;
      tried.push(account.credential.id);
      let key: string;
      try {
        key = deps.vendors.channels.key(account);
      } catch (error) {
        unreadable = skipUnreadableChannel(deps, channel, error);
        if (!unreadable) throw error;
        continue;
      }
      // Nothing waits once money is reserved.
      const waitMs = relay ? 0 : waitsUntilMs - deps.clock.monotonicMs();
      const releaseSlot = await enter(deps, creation, { account, waitMs });
      if (!releaseSlot) {
        isFull = true;
        continue;
      }
      leave = releaseSlot;
      const completed = addDefaults(creation, channel);
      const { request, intent } = completed;
      const quote = await quoteRelayRequest(deps, completed, { channel, sources, asked: creation.intent });
      relay = relay
        ? await moveRelay(deps, relay, { account, quote, attempt: tried.length })
        : await openRelay(deps, { caller, requestId: given.requestId, intent, idempotency, account, quote });
      creation.onOpen(relay);
      const { relayId, leaseOwner } = relay;
      // Renewed until the bill is written and the answer read: repeats wait for both.
      if (!relay.hold)
        lease ??= deps.node.leases.hold(relayId, (forMs) => deps.store.relays.renew(relayId, leaseOwner, forMs));
      const mightHaveJob = state.vendorMayHaveJob;
      state.vendorMayHaveJob = true;
      const hidesUsage = intent.hidesUsage && asksForUsage(deps, quote, channel);
      const attempt = await send(deps, completed, { account, key, hidesUsage });
      if (attempt.kind === 'accepted') {
        const { response } = attempt;
        answered = response.status;
        const endStream = () => {
          leave();
          onStreamEnd();
        };
        const ends = { onStreamEnd: endStream, release };
        const delivery = { caller, request, intent, account, relay, response, hidesUsage, ...ends };
        const answer = await deliverAnswer(deps, delivery);
        isReleasedLater = answer.body instanceof ReadableStream;
        return answer;
      }
      leave();
      state.vendorMayHaveJob = mightHaveJob || attempt.mayBeDone;
      last = attempt;
      const logFields = { relay_id: relayId, channel_id: channel.id, channel: channel.name };
      refusals.note({ ...logFields, status: last.httpStatus, reason: last.reason.message });
      if (!last.mayTryAnother) break;
    }
  } catch (error) {
    // Refunds nothing once the request is billed: then its row is no longer open.
    const words = error instanceof Error ? error.message : 'unknown';
    const reason = error instanceof AppError ? toSentence(error) : quoted(words);
    const refund = { reason, httpStatus: answered, mayBeDone: state.vendorMayHaveJob };
    if (relay)
      await refundRelay(deps, relay, { ...refund, kept: await storeFailure(deps, { ...creation, relay }, error) });
    throw error;
  } finally {
    refusals.write(last && !isOfClient(last.httpStatus) ? 'warn' : 'info');
    if (!isReleasedLater) {
      leave();
      await release();
    }
  }
  if (!last && isFull) {
    const message = 'No account that serves this model became free in time. Nothing was sent or billed.';
    throw taskErrors.queue_full({ message, retryAfterSeconds: FULL_SECONDS });
  }
  if (!relay || !last) {
    const message = `No channel that is enabled for your group relays the model "${creation.intent.model.slice(0, 100)}".`;
    throw unreadable ?? taskErrors.no_available_channel({ message, param: 'model' });
  }
  const mayBeDone = state.vendorMayHaveJob;
  const kept = await storeFailure(deps, { ...creation, relay }, last.outcome);
  await refundRelay(deps, relay, { reason: last.reason, httpStatus: last.httpStatus, mayBeDone, kept });
  if (last.outcome instanceof Error) {
    last.outcome.isLogged = true;
    throw last.outcome;
  }
  return mayBeDone
    ? { ...last.outcome, headers: { ...last.outcome.headers, 'x-should-retry': 'false' } }
    : last.outcome;
}

/** A request that the vendor refuses its client, or that comes too often, is nobody's warning. */
const isOfClient = (status: number): boolean => status >= 400 && status < 500 && ![401, 402, 403].includes(status);

/**
 * Waits until fewer requests of the caller are open than its own limits allow.
 * @throws tasks.concurrency_limit, tasks.client_left
 */
async function enterOwn(deps: RelayDeps, { caller, request }: Creation): Promise<() => void> {
  const most = readConcurrencyLimits(deps, caller);
  if (!most) return () => {};
  const owner = { userId: caller.user.id, apiKeyId: caller.key?.id ?? null, group: caller.group };
  const limits = listOwnerLimits(owner, most);
  const { signal } = request.client;
  const shares = limits.map((limit) => ({ ...limit, most: () => deps.node.capacity.nodeShare(limit.most) }));
  const leave = await deps.shared.ownerLimits.enter(shares, { waitMs: deps.limits.relayWaitMs, signal });
  if (leave) return leave;
  if (signal?.aborted) throw taskErrors.client_left();
  throw limitReached(limits.toSorted((a, b) => a.most - b.most)[0]?.scope ?? 'user', most);
}

/**
 * Takes a slot at the account. `undefined`: none became free.
 * @throws tasks.client_left
 */
async function enter(
  { shared, node }: RelayDeps,
  { caller, request, intent }: Creation,
  { account, waitMs }: { account: VendorAccount; waitMs: number },
): Promise<(() => void) | undefined> {
  const { signal } = request.client;
  const scope = toScope(node.capacity, account, intent.model);
  const leave = await shared.accountLimits.enter({ owner: userOwner(caller.user.id), scope }, { waitMs, signal });
  if (!leave && signal?.aborted) throw taskErrors.client_left();
  return leave;
}

const pick = (
  deps: RelayDeps,
  { caller: { group }, intent: { model } }: Creation,
  { except, only, free = false }: { except: number[]; only: VendorAccount | undefined; free?: boolean },
): VendorAccount | undefined => {
  const { capacity } = deps.node;
  return deps.vendors.channels.pick({
    // No plugin has this key, so channels of plugins are left out.
    pluginKey: RELAY_PLUGIN_KEY,
    channelTypes: [RELAY_TYPE],
    model,
    group,
    except,
    ...(free
      ? { hasFreeSlot: (one: VendorAccount) => capacity.freeRelaySlots(toScope(capacity, one, model)) > 0 }
      : {}),
    running: capacity.running,
    only: only && { channelId: only.channel.id, credentialId: only.credential.id },
  });
};

const toScope = (capacity: Capacity, account: VendorAccount, model: string): Scope =>
  capacity.scope(account, mapModel(account.channel.modelMapping, model));

async function send(
  deps: RelayDeps,
  { request: { client, headers, remix }, intent: { kind, stream, model, ownMembers } }: Creation,
  { account, key, hidesUsage }: { account: VendorAccount; key: string; hidesUsage: boolean },
): Promise<Attempt> {
  const { channel } = account;
  const { submitTimeoutMs } = deps.limits;
  const { answers } = ENDPOINTS[kind];
  const accept = answers ? '*/*' : stream ? 'text/event-stream' : 'application/json';
  const own = { ...pickHeaders(headers, RELAYED_HEADERS), accept };
  const changes = {
    ...Object.fromEntries(ownMembers.map((name) => [name, undefined])),
    ...(hidesUsage ? USAGE_QUESTION : {}),
  };
  const request = buildRelayRequest(
    { channel, key, kind },
    {
      method: 'POST',
      path: remix ? `/${encodeURIComponent(remix.id)}/remix` : '',
      // A form's type is added with its boundary.
      headers: client.body.kind === 'json' ? { ...own, 'content-type': 'application/json' } : own,
      // A remix has the model of its video, which the vendor knows.
      body: buildRelayBody(client, remix ? undefined : mapModel(channel.modelMapping, model), changes),
      headersTimeoutMs: submitTimeoutMs,
      idleTimeoutMs: submitTimeoutMs,
      maxResponseBytes: stream ? Number.POSITIVE_INFINITY : MAX_ANSWER_BYTES,
    },
  );
  const sent = await deps.vendors.send(channel, request);
  const acceptsRisk = channel.settings.retry_on_5xx === true;
  if (!sent.ok) {
    const { kind: failure, notSent } = sent.error;
    const known = classifyFailure(sent.error);
    const mayTryAnother = failure !== 'refused' && (notSent || acceptsRisk);
    const mayBeDone = known === 'in_doubt';
    const outcome = sendFailure(sent.error, adviseRetry(known));
    return { kind: 'refused', outcome, httpStatus: 0, reason: toSentence(sent.error), mayTryAnother, mayBeDone };
  }
  const { status } = sent.value;
  const reason = () => sentence('relay.vendor_answered', { status });
  if (status >= 200 && status < 300) {
    const response = await checkAnswer(kind, sent.value);
    if (response) return { kind: 'accepted', response };
    sent.value.discard();
    const message = 'What answers at the address of the channel is not this API.';
    const outcome = taskErrors.vendor_failed({ message });
    return { kind: 'refused', outcome, httpStatus: status, reason: reason(), mayTryAnother: false, mayBeDone: true };
  }
  const outcome = await refusalAnswer(deps.clock, sent.value, deps.vendors.channels.secrets(account)).catch(
    (error: AppError) => error,
  );
  const mayBeDone = classifyStatus(status) === 'in_doubt';
  // A vendor that refuses the key or the balance has done nothing.
  const mayTryAnother = [401, 402, 429].includes(status) || (status >= 500 && acceptsRisk);
  return { kind: 'refused', outcome, httpStatus: status, reason: reason(), mayTryAnother, mayBeDone };
}
