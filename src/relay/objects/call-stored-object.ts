import { RELAY_TYPE, type VendorAccount } from '../../channels/index.ts';
import { deadlineSignal, holdSlotUntilSent, isJsonType } from '../../kernel/index.ts';
import type { ChannelRecord, RelayObject, RelayObjectKind } from '../../store/ports/index.ts';
import { type TaskDeps, taskErrors } from '../../tasks/index.ts';
import {
  CONTENT_HEADERS,
  type ContentRequest,
  createRedirectPolicy,
  mayBeSignedForGet,
  pointsToSelf,
  type VendorContent,
} from '../../vendors/index.ts';
import {
  MAX_ANSWER_BYTES,
  readMediaEssence,
  redactKey,
  refusalAnswer,
  sendFailure,
  vendorHeaders,
} from '../answers/filter-answer.ts';
import { readEvents } from '../answers/read-events.ts';
import { type ReadOn, streamThrough, type Transfer } from '../answers/stream-through.ts';
import { watchForFailure } from '../answers/watch-for-failure.ts';
import { buildRelayRequest, pickHeaders, RELAYED_HEADERS, vendorHost } from '../bodies/build-relay-request.ts';
import { relayErrors } from '../errors.ts';
import type { RelayAnswer, RelayCall, RelayDeps } from '../types.ts';
import { createUsageReader } from '../usage/read-usage.ts';
import { awaitsUsage, rebillByReportedUsage } from '../usage/rebill-relay.ts';
import { refundFailedJob } from '../usage/refund-relay.ts';
import { completeVideo } from './complete-video.ts';
import { describeVideo } from './describe-relay.ts';
import { isObjectId } from './vendor-ids.ts';

/** Content often lies at a store of the vendor, which is any public host and gets no credential. */
function contentRedirects(deps: TaskDeps, { baseUrl }: ChannelRecord) {
  const [own, vendor] = [deps.vendors.ownAddresses(), new URL(baseUrl)];
  return createRedirectPolicy({
    url: vendor,
    vendor,
    credentialless: true,
    isAllowed: (hop) => !pointsToSelf(own, hop),
  });
}

const OPERATIONS = {
  retrieve: { method: 'GET', path: '' },
  content: { method: 'GET', path: '/content' },
  cancel: { method: 'POST', path: '/cancel' },
  input_items: { method: 'GET', path: '/input_items' },
  delete: { method: 'DELETE', path: '' },
} as const;

/** Timeout for the vendor's headers, and between two chunks of its body. */
const TIMEOUT_MS = 60_000;
/**
 * Bodies up to this announced length are read into memory, to keep their Content-Length: the HTTP
 * server sends streams chunked, without a length.
 */
const WHOLE_BODY_BYTES = 1024 * 1024;
/** How long a response is read after its reader has left, for the usage that comes at its end. */
const READ_ON_MS = 5000;
/** How long if its usage is not known yet. The response holds the reader's slot until then. */
export const READ_TO_END_MS = 3_600_000;

export type ObjectName = { userId: number; kind: RelayObjectKind; id: string };

/**
 * Forwards a call on an object that the user's own request created. For the caller, another user's
 * object does not exist.
 * @throws tasks.not_found, tasks.relay_object_gone, tasks.vendor_*
 */
export async function callStoredObject(
  deps: RelayDeps,
  { userId, kind, id }: ObjectName,
  call: RelayCall,
): Promise<RelayAnswer> {
  const object = await findOwnObject(deps, { userId, kind, id });
  if (!object) throw noSuchObject({ kind, id });
  // Nobody could read afterwards what it has used.
  if (call.operation === 'delete') await learnUsage(deps, object.relayId, ['retrieve', 'cancel']);
  return callVendorObject(deps, object, call);
}

/**
 * Asks the vendor what a response has used that was charged as reserved: a client that builds on it
 * or deletes it, and never reads it, would pay less than it cost.
 */
export async function learnUsage(
  deps: RelayDeps,
  relayId: string,
  operations: readonly ('retrieve' | 'cancel')[],
): Promise<void> {
  for (const operation of operations) {
    const relay = await deps.store.relays.byRelayId(relayId);
    const object = relay && awaitsUsage(relay) ? await deps.store.relays.findObject(relayId) : undefined;
    if (object?.kind !== 'response') return;
    try {
      const { signal } = new AbortController();
      const answer = await callVendorObject(deps, object, { operation, query: {}, headers: {}, signal });
      if (answer.body instanceof ReadableStream) await answer.body.pipeTo(new WritableStream());
    } catch (error) {
      const logFields = { err: error, relay_id: relayId, operation };
      deps.logger.warn(logFields, 'usage of a relayed response could not be read; it stays charged as reserved');
    }
  }
}

export const noSuchObject = ({ kind, id }: Pick<ObjectName, 'kind' | 'id'>) =>
  relayErrors.not_found({ message: `There is no ${kind} with the id "${id.slice(0, 60)}".` });

export const findOwnObject = async (
  { store }: TaskDeps,
  { userId, kind, id }: ObjectName,
): Promise<RelayObject | undefined> => (isObjectId(id) ? store.relays.ownObject(userId, kind, id) : undefined);

/**
 * The account that made an object; undefined when its channel was deleted or now points to another
 * vendor.
 */
export async function findMaker(
  { vendors: { channels } }: TaskDeps,
  object: Pick<RelayObject, 'channelId' | 'credentialId' | 'vendor'>,
): Promise<VendorAccount | undefined> {
  const account = await channels.findBegun(object);
  return account?.channel.type === RELAY_TYPE && vendorHost(account.channel) === object.vendor ? account : undefined;
}

/**
 * Forwards a call on an object, holding a slot for downloads and streams.
 * @throws tasks.relay_object_gone, tasks.vendor_*, and what `DownloadLimit` throws
 */
export const callVendorObject = async (deps: RelayDeps, object: RelayObject, call: RelayCall): Promise<RelayAnswer> =>
  holdSlotUntilSent(acquireSlot(deps, object, call), (onStreamEnd) => send(deps, { object, call, onStreamEnd }));

/** A relayed video that a link opens. */
export type LinkedVideo = Pick<RelayObject, 'userId' | 'createdAt'> & {
  /**
   * Downloads it from its vendor; the slots of links are the caller's to take.
   * @throws tasks.relay_object_gone, tasks.vendor_*
   */
  open(request: ContentRequest): Promise<VendorContent>;
};

/** The video that a request has made. */
export async function findLinkedVideo(deps: RelayDeps, relayId: string): Promise<LinkedVideo | undefined> {
  const object = await deps.store.relays.findObject(relayId);
  if (object?.kind !== 'video') return undefined;
  const { userId, createdAt } = object;
  return {
    ...{ userId, createdAt },
    open({ method, headers, signal, onStreamEnd = () => {} }) {
      const call = { operation: 'content', headersOnly: method === 'HEAD', query: {}, headers, signal } as const;
      return send(deps, { object, call, onStreamEnd });
    },
  };
}

function acquireSlot(
  { vendors: { downloads } }: TaskDeps,
  { userId }: RelayObject,
  { operation, query }: RelayCall,
): () => void {
  if (operation === 'content') return downloads.acquire(userId, 'download');
  if (query.stream) return downloads.acquire(userId, 'stream');
  return () => {};
}

async function send(
  deps: RelayDeps,
  { object, call, onStreamEnd }: { object: RelayObject; call: RelayCall; onStreamEnd: () => void },
): Promise<RelayAnswer> {
  const account = await findMaker(deps, object);
  if (!account) throw relayErrors.relay_object_gone();
  const { channel } = account;
  const { operation, query, signal } = call;
  const { path, method: defaultMethod } = OPERATIONS[operation];
  const method = defaultMethod === 'GET' && call.headersOnly ? 'HEAD' : defaultMethod;
  const key = deps.vendors.channels.key(account);
  const tellsUsage = object.kind === 'response' && (operation === 'retrieve' || operation === 'cancel');
  const made = tellsUsage && query.stream ? await deps.store.relays.byRelayId(object.relayId) : undefined;
  const readOnMs = made && awaitsUsage(made) ? READ_TO_END_MS : READ_ON_MS;
  const names = operation === 'content' ? [...RELAYED_HEADERS, ...CONTENT_HEADERS] : RELAYED_HEADERS;
  const request = (verb: typeof method) =>
    buildRelayRequest(
      { channel, key, kind: object.kind },
      {
        method: verb,
        path: `/${encodeURIComponent(object.objectId)}${path}`,
        query,
        headers: pickHeaders(call.headers, names),
        headersTimeoutMs: TIMEOUT_MS,
        // A stream is silent while the model thinks.
        idleTimeoutMs: query.stream ? deps.limits.submitTimeoutMs : TIMEOUT_MS,
        maxResponseBytes: Number.POSITIVE_INFINITY,
        // Calls that change something, or tell a usage, continue when the client leaves.
        ...(defaultMethod === 'GET' && !tellsUsage ? { signal } : {}),
        ...(operation === 'content' ? { redirects: contentRedirects(deps, channel) } : {}),
      },
    );
  let sent = await deps.vendors.send(channel, request(method));
  if (sent.ok && method === 'HEAD' && mayBeSignedForGet(sent.value)) {
    sent.value.discard();
    sent = await deps.vendors.send(channel, request('GET'));
  }
  if (!sent.ok) {
    if (operation === 'content' && sent.error.kind === 'refused')
      throw taskErrors.vendor_failed({ message: sent.error.message });
    throw sendFailure(sent.error);
  }
  const { status } = sent.value;
  const isUnchanged = status === 304 || (operation === 'content' && status === 416);
  if ((status < 200 || status >= 300) && !isUnchanged)
    return refusalAnswer(deps.clock, sent.value, deps.vendors.channels.secrets(account));
  if (method === 'HEAD' || status === 304 || status === 204) {
    sent.value.discard();
    return { status, headers: vendorHeaders(sent.value, { whole: method !== 'HEAD' }), body: null, replayed: false };
  }
  const isEvents = readMediaEssence(sent.value) === 'text/event-stream';
  const outcome = operation === 'retrieve' || operation === 'cancel' ? watchOutcome(deps, object, isEvents) : undefined;
  const length = Number(sent.value.headers['content-length']?.[0] ?? Number.POSITIVE_INFINITY);
  // An encoded body is decoded, so that it can be read.
  const isEncoded = outcome !== undefined && sent.value.headers['content-encoding'] !== undefined;
  const isVideo = operation === 'retrieve' && object.kind === 'video' && isJsonType(readMediaEssence(sent.value));
  const hasNoLength = length === Number.POSITIVE_INFINITY;
  if (!isEvents && (length <= WHOLE_BODY_BYTES || isEncoded || (isVideo && hasNoLength))) {
    const body = await sent.value.bytes(MAX_ANSWER_BYTES);
    if (!body.ok) throw taskErrors.vendor_failed({ message: body.error.message });
    if (outcome) await outcome.push(body.value);
    await outcome?.end();
    // A video's bytes are never searched for the key.
    const redacted =
      operation === 'content' ? body.value : redactKey(body.value, deps.vendors.channels.secrets(account));
    const whole = isVideo ? completeVideo(redacted, await describeVideo(deps, object)) : redacted;
    return { status, headers: vendorHeaders(sent.value, { whole: true }), body: whole, replayed: false };
  }
  const body = streamThrough(sent.value.stream(), {
    signal,
    onStop: onStreamEnd,
    transfer: outcome,
    readOn: tellsUsage ? () => readOnFor(deps, readOnMs) : undefined,
    track: deps.shared.settlements.track,
  });
  return { status, headers: vendorHeaders(sent.value, { whole: false }), body, replayed: false };
}

/**
 * Reads on after the client has left: a client that leaves before the usage comes would otherwise
 * pay less than the response cost.
 */
function readOnFor({ clock, shared: { stopping } }: RelayDeps, forMs: number): ReadOn | undefined {
  if (stopping.aborted) return undefined;
  const last = deadlineSignal(clock, forMs, stopping);
  let bytes = 0;
  return {
    until: last.signal,
    wantsMore(read) {
      bytes += read;
      return bytes <= MAX_ANSWER_BYTES;
    },
    end: last.end,
  };
}

/**
 * Reads the status of an object while it passes, and the usage of a response. A job that failed
 * after it was charged is refunded, and one whose usage was not known is charged by it, before its
 * reader has the whole answer.
 */
function watchOutcome(deps: TaskDeps, { relayId, kind }: RelayObject, isEvents: boolean): Transfer {
  const watch = watchForFailure({ isEvents });
  const usageReader = kind === 'response' ? createUsageReader(kind, { isEvents, needed: [] }) : undefined;
  const events = isEvents ? readEvents(usageReader ? [watch.events, usageReader.events] : [watch.events]) : undefined;
  return {
    async push(chunk) {
      if (events) events.push(chunk);
      else for (const reader of [watch, usageReader]) reader?.push(chunk);
      return chunk;
    },
    async end() {
      events?.end();
      const used = usageReader?.end('ended');
      if (watch.hasFailed()) await refundFailedJob(deps, relayId);
      else if (used?.isFinal) await rebillByReportedUsage(deps, relayId, used.facts);
      return undefined;
    },
  };
}
