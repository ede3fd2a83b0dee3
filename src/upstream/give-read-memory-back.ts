import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import { giveBack } from '../kernel/index.ts';

/**
 * What a connection reads comes in chunks of half a mebibyte, and the HTTP parser copies out of them what it hands on, so that a chunk is of no use
 * once the parser has seen it: its memory is given back then. Called when a request gets its connection, behind the parser's own listener.
 */
export function giveReadMemoryBack(request: ClientRequest, socket: Socket): void {
  const onData = (chunk: Uint8Array) => {
    // Whoever listens behind us has not seen it yet.
    if (socket.listeners('data').at(-1) === onData) giveBack(chunk);
  };
  socket.on('data', onData);
  // Before the connection goes to its next request, whose parser listens anew.
  request.once('close', () => socket.off('data', onData));
}
