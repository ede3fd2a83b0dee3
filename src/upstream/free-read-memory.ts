import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import { freeChunk } from '../kernel/index.ts';

/**
 * What a connection reads comes in chunks of half a mebibyte, and the HTTP parser copies out of
 * them what it hands on (that it does is tested for the runtime that the executable is built with).
 * Their memory is given back once everything that was called with them has returned: while the
 * parser works on one chunk it keeps those that come meanwhile, and takes them before it returns.
 * Called when a request gets its connection.
 */
export function freeReadMemory(request: ClientRequest, socket: Socket): void {
  const onData = (chunk: Uint8Array) => queueMicrotask(() => freeChunk(chunk));
  socket.on('data', onData);
  request.once('close', () => socket.off('data', onData));
}
