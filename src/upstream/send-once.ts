import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { err, ok, type Result } from '../kernel/index.ts';
import { abortedFailure, brokenFailure, connectFailure, failure, refused } from './failures.ts';
import { freeReadMemory } from './free-read-memory.ts';
import type { Connections, Route } from './open-connections.ts';
import type { UpstreamFailure, UpstreamRequest } from './types.ts';
import type { Deadline, Deadlines } from './watch-deadlines.ts';
import type { PreparedBody } from './write-body.ts';

/** One request to one target: an `UpstreamRequest` without its redirects. */
export type Hop = {
  url: URL;
  method: string;
  headers: Record<string, string>;
  body: PreparedBody;
  limits: Pick<UpstreamRequest, 'connectTimeoutMs' | 'headersTimeoutMs'>;
  signal: AbortSignal | undefined;
};

export type Answer = { incoming: IncomingMessage; request: ClientRequest };
/** `stale`: the vendor had closed the kept-alive connection; no byte of an answer was seen. */
export type HopFailure = UpstreamFailure & { stale: boolean };

const MAX_RESPONSE_HEADER_BYTES = 64 * 1024;

/**
 * Sends one request and resolves when the answer's headers have arrived. The caller owns the body
 * that follows.
 */
export function sendOnce(
  { connections, deadlines }: { connections: Connections; deadlines: Deadlines },
  route: Route,
  hop: Hop,
): Promise<Result<Answer, HopFailure>> {
  const { promise, resolve } = Promise.withResolvers<Result<Answer, HopFailure>>();
  let deadline: Deadline | undefined;
  let settled = false;
  let request: ClientRequest;
  let socket: Socket | undefined;
  let isBodySent = false;

  const settle = (result: Result<Answer, HopFailure>) => {
    if (settled) return;
    settled = true;
    deadline?.stop();
    hop.signal?.removeEventListener('abort', onAbort);
    resolve(result);
  };
  const fail = (reason: UpstreamFailure, stale = false) => {
    if (settled) return;
    settle(err({ ...reason, stale }));
    request.destroy();
  };
  /** From then on it cannot be proven that the vendor saw nothing. */
  const mayBeSent = () => request.reusedSocket || (socket !== undefined && connections.isReady(socket));
  const onAbort = () => fail(abortedFailure(!mayBeSent()));

  try {
    request = (route.secure ? https : http).request({
      hostname: hop.url.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: hop.url.port || (route.secure ? 443 : 80),
      path: hop.url.pathname + hop.url.search,
      method: hop.method,
      headers: hop.headers,
      agent: connections.agent(route),
      maxHeaderSize: MAX_RESPONSE_HEADER_BYTES,
    });
  } catch {
    return Promise.resolve(err({ ...refused('The request is not valid HTTP.'), stale: false }));
  }

  const awaitAnswer = () => {
    if (settled) return;
    deadline?.stop();
    const ms = hop.limits.headersTimeoutMs;
    deadline = deadlines.watch(ms, () => fail(failure('timeout', false, `The vendor did not answer within ${ms} ms.`)));
  };

  request.on('error', (error) => {
    if (mayBeSent()) fail(brokenFailure(error), request.reusedSocket);
    else fail(connectFailure(error, socket !== undefined && connections.isConnected(socket)));
  });
  request.on('close', () => fail(brokenFailure()));
  request.on('response', (incoming) => {
    if (settled) incoming.destroy();
    // Until there is a reader, nobody handles errors.
    incoming.on('error', () => {});
    // After a complete answer the rest of the request body is not needed. Otherwise a vendor that
    // stops reading would hold the connection.
    incoming.once('end', () => {
      if (!isBodySent) request.destroy();
    });
    settle(ok({ incoming, request }));
  });
  request.on('socket', (assigned: Socket) => {
    socket = assigned;
    freeReadMemory(request, assigned);
    if (request.reusedSocket || connections.isReady(socket)) awaitAnswer();
    else socket.once(route.secure ? 'secureConnect' : 'connect', awaitAnswer);
  });

  const connectMs = hop.limits.connectTimeoutMs;
  deadline = deadlines.watch(connectMs, () =>
    fail(failure('timeout', true, `No connection to the vendor within ${connectMs} ms.`)),
  );
  if (hop.signal?.aborted) onAbort();
  else {
    hop.signal?.addEventListener('abort', onAbort, { once: true });
    hop.body
      .write(request, () => deadline?.extend())
      .then(() => {
        isBodySent = true;
      })
      .catch(() => {
        // An answer that came before the end of the body is valid (a vendor may refuse an upload
        // early).
        if (!settled) fail(failure('broken', !mayBeSent(), 'The body of the request could not be sent.'));
      });
  }
  return promise;
}
