import type { AccessWatch, ApiPrincipal, Auth } from '../../auth/index.ts';
import { AppError } from '../../kernel/index.ts';
import type { Follow, Relay, RelayAnswer, RelayCall } from '../../relay/index.ts';
import { type ClientRequest, requestedModel } from '../../tasks/index.ts';
import { readAddress } from '../bodies/read-client-request.ts';
import { REPLAYED } from '../responses/response-headers.ts';
import { endStreamWithAccess, openStream } from '../responses/send-events.ts';
import { toCaller } from './route-dependencies.ts';
import { type ContentUse, contentResponse, readContentHeaders } from './send-content.ts';

export type RelayedKind = Parameters<Relay['takes']>[1];
type Creation = {
  kind: RelayedKind;
  request: Request;
  api: ApiPrincipal;
  requestId: string;
  client: ClientRequest;
  /** Ends a streamed answer with its client's access; stopped when the answer has ended. */
  access?: AccessWatch;
  /** Called when a streamed answer has ended: restores the idle timeout of its connection. */
  onEnd?: () => void;
  remix?: Awaited<ReturnType<Relay['remixSource']>>;
  follow?: Follow;
};
type ForwardScope = {
  request: Request;
  api: ApiPrincipal;
  keepOpen: () => () => void;
  /** Only for a call that asks for a stream, which ends with its client's access. */
  watchAccess?: Auth['watchAccess'] | undefined;
};
type ForwardCall = Pick<RelayCall, 'operation' | 'headersOnly'> & {
  kind: Parameters<Relay['forward']>[0]['kind'];
  id: string;
};

/** Forwards a creation whose model a relay channel serves, and returns the vendor's answer. */
export async function forwardCreation(
  relay: Relay,
  { kind, request, api, requestId, client, access, onEnd, remix, follow }: Creation,
): Promise<Response> {
  const headers = Object.fromEntries(request.headers);
  const answer = await relay.create(toCaller(api), {
    kind,
    requestId,
    client,
    headers,
    ...(remix ? { remix } : {}),
    ...(follow ? { follow } : {}),
  });
  return relayedResponse(answer, 'api', access && { access, isResponse: kind === 'response', onEnd });
}

/** Forwards it if a relay channel serves the model; otherwise undefined. */
export const forwardIfRelayed = async (relay: Relay, creation: Creation): Promise<Response | undefined> =>
  relay.takes(toCaller(creation.api), creation.kind, requestedModel(creation.client))
    ? forwardCreation(relay, creation)
    : undefined;

/** Forwards a call on one of the caller's own objects to its vendor. @throws tasks.not_found */
export async function forwardObjectCall(
  relay: Relay,
  { request, api, keepOpen, watchAccess }: ForwardScope,
  { kind, id, ...call }: ForwardCall,
): Promise<Response> {
  // A download keeps its idle timeout: a client that does not read must free its slot.
  const onEnd = call.operation === 'content' ? undefined : keepOpen();
  // The vendor must read this flag as the gateway does.
  const { stream: _, ...others } = readAddress(request).query;
  const query = watchAccess ? { ...others, stream: ['true'] } : others;
  const headers = readContentHeaders(request, call);
  const use = call.operation === 'content' ? 'key' : 'api';
  const forward = (signal: AbortSignal) =>
    relay.forward({ userId: api.user.id, kind, id }, { ...call, query, headers, signal });
  if (!watchAccess) return relayedResponse(await forward(request.signal), use);
  const access = watchAccess(api, request.signal);
  return relayedResponse(await openStream(access, forward), use, { access, isResponse: kind === 'response', onEnd });
}

const NOT_FOUND = ['tasks.task_not_found', 'tasks.not_found', 'http.not_found'];

/** Serves a plugin's object, or if there is none, one that the relay created. */
export async function findOrRelay<T>(own: () => Promise<T>, relayed: () => Promise<Response>): Promise<T | Response> {
  try {
    return await own();
  } catch (error) {
    if (error instanceof AppError && NOT_FOUND.includes(error.code)) return relayed();
    throw error;
  }
}

type Streamed = Parameters<typeof endStreamWithAccess>[1];

/** A vendor's bytes on our own origin get the same protective headers as artifacts. */
export function relayedResponse(answer: RelayAnswer, use: ContentUse, streamed?: Streamed): Response {
  const isEvents = answer.headers['content-type']?.startsWith('text/event-stream') ?? false;
  const isWatched = streamed && isEvents && answer.body instanceof ReadableStream;
  if (!isWatched) streamed?.access.stop();
  const body = isWatched ? endStreamWithAccess(answer.body as ReadableStream<Uint8Array>, streamed) : answer.body;
  const response = contentResponse({ ...answer, body }, use);
  if (isEvents) {
    // Proxies must not buffer the events; nginx does by default.
    response.headers.set('x-accel-buffering', 'no');
    // The stream may be silent for as long as the vendor works, so its connection has no idle
    // timeout. Where nobody restores it, the connection must end with the stream.
    if (!isWatched || !streamed.onEnd) response.headers.set('connection', 'close');
  }
  if (answer.replayed) response.headers.set(REPLAYED, 'true');
  return response;
}
