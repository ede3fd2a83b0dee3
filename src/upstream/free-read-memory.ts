import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import { freeChunk } from '../kernel/index.ts';

/**
 * A connection reads in chunks of half a mebibyte, and the HTTP parser copies out of them what it
 * passes on (a test checks this for the runtime in the executable). This frees each chunk in a
 * microtask, after all handlers have returned: a parser that is busy with one chunk keeps those
 * that arrive meanwhile, and consumes them before it returns. Call it when a request gets its
 * connection.
 */
export function freeReadMemory(request: ClientRequest, socket: Socket): void {
  const onData = (chunk: Uint8Array) => queueMicrotask(() => freeChunk(chunk));
  socket.on('data', onData);
  request.once('close', () => socket.off('data', onData));
}
