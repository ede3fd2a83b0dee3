import type { AccessWatch, ApiPrincipal, Auth } from '../../auth/index.ts';
import { AppError } from '../../kernel/index.ts';
import type { ClientRequest, RelayAnswer, RelayCall, Tasks } from '../../tasks/index.ts';
import { readAddress, requestedModel } from '../bodies/read-client-request.ts';
import { REPLAYED } from '../pipeline/response-headers.ts';
import type { ContentUse } from './content-headers.ts';
import { endWithAccess } from './end-stream-with-access.ts';
import { contentResponse } from './send-content.ts';
import { openStream } from './send-events.ts';
import { callerOf } from './task-routes.ts';

type Kind = Parameters<Tasks['relay']['takes']>[0];
/** `access`: what a stream ends with; it is stopped with the answer. */
type Creation = { request: Request; api: ApiPrincipal; requestId: string; access?: AccessWatch };
type Asked = { request: Request; api: ApiPrincipal; keepOpen: () => void; watchAccess?: Auth['watchAccess'] };

/**
 * A creation that is the relay's, answered by the vendor; undefined: it is a plugin's, or nobody's.
 */
export async function createRelayed(
  tasks: Tasks,
  kind: Kind,
  { request, api, requestId, access }: Creation,
  client: ClientRequest,
): Promise<Response | undefined> {
  if (!tasks.relay.takes(kind, requestedModel(client))) return undefined;
  const headers = Object.fromEntries(request.headers);
  const answer = await tasks.relay.create(callerOf(api), { kind, requestId, client, headers });
  return relayedResponse(answer, 'api', access);
}

/** Asks the vendor for an object of the caller's own. Throws `tasks.not_found`. */
export async function forwardRelayed(
  tasks: Tasks,
  kind: Kind,
  { request, api, keepOpen, watchAccess }: Asked,
  id: string,
  call: Pick<RelayCall, 'operation' | 'headersOnly'>,
): Promise<Response> {
  // A download is never still for long, and the place of a client who does not read it is given to
  // others.
  if (call.operation !== 'content') keepOpen();
  const { query } = readAddress(request);
  const headers = Object.fromEntries(request.headers);
  const use = call.operation === 'content' ? 'key' : 'api';
  const ask = (signal: AbortSignal) => tasks.relay.forward(api.user.id, kind, id, { ...call, query, headers, signal });
  if (!watchAccess || !query.stream) return relayedResponse(await ask(request.signal), use);
  const access = watchAccess(api, request.signal);
  return relayedResponse(await openStream(access, ask), use, access);
}

const NOT_FOUND = ['tasks.task_not_found', 'tasks.not_found', 'http.not_found'];

/** What a plugin made, else what the relay did. */
export async function findOrRelay<T>(own: () => Promise<T>, relayed: () => Promise<Response>): Promise<T | Response> {
  try {
    return await own();
  } catch (error) {
    if (error instanceof AppError && NOT_FOUND.includes(error.code)) return relayed();
    throw error;
  }
}

/** A vendor's bytes on our own origin are held down as those of artifacts are. */
function relayedResponse(answer: RelayAnswer, use: ContentUse, access?: AccessWatch): Response {
  const isEvents = answer.headers['content-type']?.startsWith('text/event-stream') ?? false;
  const ends = access && isEvents && answer.body instanceof ReadableStream;
  if (!ends) access?.stop();
  const body = ends ? endWithAccess(answer.body as ReadableStream<Uint8Array>, access) : answer.body;
  const response = contentResponse({ ...answer, body }, use);
  if (isEvents) {
    // Nothing in between may gather the events (nginx does unless told).
    response.headers.set('x-accel-buffering', 'no');
    // It may be silent for as long as the vendor thinks, and its connection has no limit of idle
    // time that could end it later.
    response.headers.set('connection', 'close');
  }
  if (answer.replayed) response.headers.set(REPLAYED, 'true');
  return response;
}
