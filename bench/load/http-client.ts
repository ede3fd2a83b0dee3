import { performance } from 'node:perf_hooks';
import type { Socket } from 'bun';

export type HttpAnswer = { status: number; head: string; body: Buffer };

type State = { client: number; started: number; pending: Buffer | undefined };

export type ConnectionLoad = {
  port: number;
  connections: number;
  /** Ends after this time and this many answers, or after `atMostSeconds`. */
  seconds: number;
  atLeast?: number;
  atMostSeconds?: number;
  /** Milliseconds until a client's next request; default: none. */
  pauseMs?: (client: number) => number;
  /** A client's next request, as it goes over the wire. */
  next: (client: number) => string;
  /** Throws where the answer is not the wanted one. */
  take: (answer: HttpAnswer, client: number) => void;
};

export type Timings = { times: Float64Array; took: number };

/** A request in HTTP/1.1's own form. */
export function formatRequest(
  method: string,
  path: string,
  { headers = {}, body }: { headers?: Record<string, string>; body?: string } = {},
): string {
  const all = {
    host: '127.0.0.1',
    ...headers,
    ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`;
}

/**
 * Kept connections that each send their next request when the last one is answered, over bare
 * sockets: `fetch` costs a multiple of it, and on a machine of two cores that is taken from the
 * gateway. Times are in milliseconds. Rejects with the first answer that `take` refuses, or when
 * the gateway closes a connection.
 */
export async function sendOverConnections(load: ConnectionLoad): Promise<Timings> {
  const times: number[] = [];
  const { promise: failed, reject: fail } = Promise.withResolvers<never>();
  const sockets: Socket<State>[] = [];
  const begun = performance.now();
  const { seconds, atLeast = 0, atMostSeconds = seconds } = load;
  const hasEnded = (now: number) =>
    now >= begun + atMostSeconds * 1000 || (now >= begun + seconds * 1000 && times.length >= atLeast);
  let open = load.connections;
  const { promise: done, resolve: finish } = Promise.withResolvers<void>();

  const send = (socket: Socket<State>) => {
    socket.data.started = performance.now();
    if (hasEnded(socket.data.started)) {
      open -= 1;
      if (open === 0) finish();
      return;
    }
    const text = load.next(socket.data.client);
    if (socket.write(text) < text.length) fail(new Error('a request did not fit into the socket'));
  };
  const socket = {
    data(from: Socket<State>, chunk: Buffer) {
      try {
        const { data } = from;
        const bytes = data.pending ? Buffer.concat([data.pending, chunk]) : chunk;
        const answer = parseAnswer(bytes);
        data.pending = answer ? undefined : Buffer.from(bytes);
        if (!answer) return;
        times.push(performance.now() - data.started);
        load.take(answer, data.client);
        const pauseMs = load.pauseMs?.(data.client) ?? 0;
        if (pauseMs > 0) setTimeout(send, pauseMs, from);
        else send(from);
      } catch (error) {
        fail(error);
      }
    },
    close: () => fail(new Error('the gateway closed a connection')),
    error: (_: Socket<State>, error: Error) => fail(error),
  };
  try {
    for (let client = 0; client < load.connections; client += 1) {
      const data = { client, started: 0, pending: undefined };
      sockets.push(await Bun.connect<State>({ hostname: '127.0.0.1', port: load.port, data, socket }));
    }
    for (const each of sockets) send(each);
    await Promise.race([done, failed]);
    return { times: Float64Array.from(times), took: (performance.now() - begun) / 1000 };
  } finally {
    failed.catch(() => undefined);
    for (const each of sockets) each.terminate();
  }
}

/** `undefined` while the answer is not complete. */
export function parseAnswer(bytes: Buffer): HttpAnswer | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd === -1) return undefined;
  const head = bytes.toString('latin1', 0, headEnd);
  const status = Number(head.slice(9, 12));
  const bodyStart = headEnd + 4;
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  if (length !== undefined) {
    const bodyEnd = bodyStart + Number(length);
    return bytes.length < bodyEnd ? undefined : { status, head, body: bytes.subarray(bodyStart, bodyEnd) };
  }
  if (/\r\ntransfer-encoding: chunked/i.test(head)) {
    const body = joinChunks(bytes, bodyStart);
    return body && { status, head, body };
  }
  return { status, head, body: bytes.subarray(bodyStart, bodyStart) };
}

function joinChunks(bytes: Buffer, start: number): Buffer | undefined {
  const parts: Buffer[] = [];
  for (let at = start; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd === -1) return undefined;
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    const next = lineEnd + 2 + size + 2;
    if (bytes.length < next) return undefined;
    if (size === 0) return Buffer.concat(parts);
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = next;
  }
}
