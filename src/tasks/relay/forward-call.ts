import { RELAY_TYPE } from '../../channels/index.ts';
import { holdSlotUntilSent } from '../../kernel/index.ts';
import type { ChannelRecord, RelayKind, RelayObject } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import type { TaskDeps } from '../types.ts';
import { buildRelayRequest, CONTENT_HEADERS, pickHeaders, RELAYED_HEADERS, vendorOf } from './build-relay-request.ts';
import {
  mediaTypeOf,
  passOn,
  type RelayAnswer,
  refusalAnswer,
  sendFailure,
  vendorHeaders,
  withoutKey,
} from './relay-answers.ts';
import { OBJECT_ID } from './remember-names.ts';

/** What a client wants of an object that a vendor made for him. */
export type RelayCall = {
  operation: 'retrieve' | 'content' | 'cancel' | 'delete';
  /** GET becomes HEAD. */
  headersOnly?: boolean;
  query: Record<string, string[]>;
  /** Lower-case names; only the safe ones are used. */
  headers: Record<string, string>;
  signal: AbortSignal;
};

const OPERATIONS = {
  retrieve: { method: 'GET', path: '' },
  content: { method: 'GET', path: '/content' },
  cancel: { method: 'POST', path: '/cancel' },
  delete: { method: 'DELETE', path: '' },
} as const;

/** Until the vendor's headers, and between two chunks of its body. */
const TIMEOUT_MS = 60_000;
/**
 * Up to here a body of announced length is read before it is answered: the listener sends streams
 * chunked, without their length.
 */
const WHOLE_BODY_BYTES = 1024 * 1024;

/**
 * Asks the vendor for what a user's own request has made there. Nobody can tell somebody else's
 * object from one that does not exist.
 * @throws tasks.not_found, tasks.relay_object_gone, tasks.vendor_*
 */
export async function forwardCall(
  deps: TaskDeps,
  userId: number,
  kind: RelayKind,
  id: string,
  call: RelayCall,
): Promise<RelayAnswer> {
  const object = await findOwnObject(deps, userId, kind, id);
  if (!object) throw taskErrors.not_found({ message: `There is no ${kind} with the id "${id.slice(0, 60)}".` });
  return forwardTo(deps, object, call);
}

export const findOwnObject = async (
  { store }: TaskDeps,
  userId: number,
  kind: RelayKind,
  id: string,
): Promise<RelayObject | undefined> => (OBJECT_ID.test(id) ? store.relays.ownObject(userId, kind, id) : undefined);

/**
 * The channel that made an object, while it leads to the same vendor; undefined when the object is
 * out of reach.
 */
export async function channelOf(
  deps: TaskDeps,
  object: Pick<RelayObject, 'channelId' | 'vendor'>,
): Promise<ChannelRecord | undefined> {
  const channel = deps.channels.find(object.channelId) ?? (await deps.store.channels.byId(object.channelId));
  return channel?.type === RELAY_TYPE && vendorOf(channel) === object.vendor ? channel : undefined;
}

/**
 * @throws tasks.relay_object_gone, tasks.vendor_*, and where too many stream or download at once
 * what their gates throw
 */
export const forwardTo = async (deps: TaskDeps, object: RelayObject, call: RelayCall): Promise<RelayAnswer> =>
  holdSlotUntilSent(takePlace(deps, object, call), (onStreamEnd) => ask(deps, object, call, onStreamEnd));

function takePlace({ downloads }: TaskDeps, { userId }: RelayObject, { operation, query }: RelayCall): () => void {
  if (operation === 'content') return downloads.enter(userId, 'download');
  if (query.stream) return downloads.enter(userId, 'stream');
  return () => {};
}

async function ask(
  deps: TaskDeps,
  object: RelayObject,
  call: RelayCall,
  onStreamEnd: () => void,
): Promise<RelayAnswer> {
  const channel = await channelOf(deps, object);
  if (!channel) throw taskErrors.relay_object_gone();
  const { operation, query, signal } = call;
  const { path, method: usual } = OPERATIONS[operation];
  const method = usual === 'GET' && call.headersOnly ? 'HEAD' : usual;
  const key = deps.channels.credential(channel);
  const names = operation === 'content' ? [...RELAYED_HEADERS, ...CONTENT_HEADERS] : RELAYED_HEADERS;
  const sent = await deps.upstream.request(
    buildRelayRequest(channel, key, object.kind, {
      method,
      path: `/${encodeURIComponent(object.objectId)}${path}`,
      query,
      headers: pickHeaders(call.headers, names),
      headersTimeoutMs: TIMEOUT_MS,
      // A stream is silent for as long as the vendor thinks.
      idleTimeoutMs: query.stream ? deps.limits.submitTimeoutMs : TIMEOUT_MS,
      maxResponseBytes: Number.POSITIVE_INFINITY,
      // What does something goes on when the client has left.
      ...(usual === 'GET' ? { signal } : {}),
    }),
  );
  if (!sent.ok) throw sendFailure(sent.error);
  const { status } = sent.value;
  const isUnchanged = status === 304 || (operation === 'content' && status === 416);
  if ((status < 200 || status >= 300) && !isUnchanged) return refusalAnswer(deps.clock, sent.value, key);
  if (method === 'HEAD' || status === 304 || status === 204) {
    sent.value.discard();
    return { status, headers: vendorHeaders(sent.value, { whole: method !== 'HEAD' }), body: null, replayed: false };
  }
  const length = Number(sent.value.headers['content-length']?.[0] ?? Number.POSITIVE_INFINITY);
  if (length <= WHOLE_BODY_BYTES && mediaTypeOf(sent.value) !== 'text/event-stream') {
    const body = await sent.value.bytes();
    if (!body.ok) throw taskErrors.vendor_failed({ message: body.error.message });
    // Bytes of a video are what they are.
    const clean = operation === 'content' ? body.value : withoutKey(body.value, key);
    return { status, headers: vendorHeaders(sent.value, { whole: true }), body: clean, replayed: false };
  }
  const body = passOn(sent.value.stream(), signal, onStreamEnd);
  return { status, headers: vendorHeaders(sent.value, { whole: false }), body, replayed: false };
}
