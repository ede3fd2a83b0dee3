import http from 'node:http';
import { nextTurn } from '../../kernel/index.ts';
import { MAX_ADDRESS_CHARS } from './request-path.ts';
import type { RequestHandler } from './types.ts';

export type ListenOptions = {
  host: string;
  port: number;
  /** PEM texts. With them the listener speaks HTTPS. */
  tls?: { cert: string; key: string };
  /** It serves results alone. */
  resultsOnly?: boolean;
  /** Default: `IDLE_SECONDS`. */
  idleSeconds?: number;
};

export type Listening = {
  port: number;
  /** `http://127.0.0.1:3000` */
  url: string;
  /**
   * Serves new connections with this certificate; those that are open go on. The runtime cannot
   * change it in place, so the socket is opened again.
   * @throws what opening it throws; then the former certificate is served
   */
  renew(tls: { cert: string; key: string }): void;
  /**
   * Stops accepting connections and waits for the requests in flight, for at most `drainMs`
   * milliseconds; then it closes what is left.
   */
  stop(drainMs: number): Promise<void>;
};

/**
 * Seconds without a byte in either direction before a connection is closed: long enough for a
 * stalled download to recover, short enough that idle connections do not pile up. A handler that
 * takes longer removes the timeout with `keepOpen`; it is restored when the response is ready.
 * Clients keep connections for their next request: without the timeout, a connection whose client
 * is gone would stay open forever.
 */
const IDLE_SECONDS = 120;

/**
 * Bytes of the request line and all headers, the runtime's default for both doubled: so a long
 * address gets an answer with a body. Beyond it the runtime itself answers 431, without one.
 */
const MAX_HEAD_BYTES = MAX_ADDRESS_CHARS + 16 * 1024;

/**
 * Requests of one connection that are answered in one turn of the event loop. The runtime reads
 * half a megabyte of them at once and lets nothing else run in between. With the next answer the
 * connection is closed, and a client repeats what it has sent behind it (RFC 9112, section 9.3.2).
 */
const MAX_PIPELINED = 16;

/** The option of a `Connection` header that ends it after the answer (RFC 9112, section 9.6). */
const CLOSES = /(?:^|,)\s*close\s*(?:,|$)/i;

/** Counts events by their source until the event loop's next turn. */
function createTurnCounter(): (source: string) => number {
  const counts = new Map<string, number>();
  return (source) => {
    if (counts.size === 0) setImmediate(() => counts.clear());
    const count = (counts.get(source) ?? 0) + 1;
    counts.set(source, count);
    return count;
  };
}

/** @throws the platform's error, for instance `EADDRINUSE` */
export function listen(handle: RequestHandler, options: ListenOptions): Listening {
  const { idleSeconds = IDLE_SECONDS, resultsOnly = false } = options;
  const countOfTurn = createTurnCounter();
  // The runtime has one limit for all listeners of the process, and only this way to set it.
  Object.assign(http, { maxHeaderSize: MAX_HEAD_BYTES });
  const open = (port: number, tls: ListenOptions['tls']) =>
    Bun.serve({
      hostname: options.host,
      port,
      idleTimeout: idleSeconds,
      // The body readers (`readBody`) enforce the limits, so that the refusal has the gateway's own
      // format. A body that no handler reads is not buffered.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      ...(tls ? { tls } : {}),
      // Only a fault of the listener itself gets here. In development mode it would show a stack.
      development: false,
      // Otherwise, outside development mode, the runtime would share the port with another gateway
      // instead of failing.
      reusePort: false,
      error: () => new Response(null, { status: 500 }),
      fetch: async (request, bunServer) => {
        const peer = bunServer.requestIP(request);
        const isBeyondTurn = peer !== null && countOfTurn(`${peer.address} ${peer.port}`) > MAX_PIPELINED;
        let isKeptOpen = false;
        const restoreTimeout = () => bunServer.timeout(request, idleSeconds);
        const response = await handle(request, {
          address: peer?.address ?? '',
          onResultsListener: resultsOnly,
          keepOpen() {
            isKeptOpen = true;
            bunServer.timeout(request, 0);
            return restoreTimeout;
          },
        });
        if (isKeptOpen && !isEventStream(response)) restoreTimeout();
        // Where the client asks for it, the runtime closes the connection and does not say so: a
        // proxy that keeps connections would send its next request into the closing one.
        if (isBeyondTurn || CLOSES.test(request.headers.get('connection') ?? '')) {
          response.headers.set('connection', 'close');
        }
        return response;
      },
    });
  let { tls } = options;
  let server = open(options.port, tls);
  const port = server.port ?? options.port;
  /** Sockets that are closed for new connections, with requests that have not ended. */
  const former = new Set<typeof server>();

  /** Closes the socket at once; the requests on it go on. */
  function release(): void {
    const ending = server;
    former.add(ending);
    void end(ending).finally(() => former.delete(ending));
  }

  async function end(ending: typeof server, drainMs?: number): Promise<void> {
    const timer = drainMs === undefined ? undefined : setTimeout(() => void ending.stop(true), drainMs);
    await ending.stop(false);
    clearTimeout(timer);
  }

  return {
    port,
    url: `${tls ? 'https' : 'http'}://${options.host.includes(':') ? `[${options.host}]` : options.host}:${port}`,
    renew(renewed) {
      // A connection that comes before the socket is opened again is refused.
      release();
      try {
        server = open(port, renewed);
        tls = renewed;
      } catch (error) {
        server = open(port, tls);
        throw error;
      }
    },
    async stop(drainMs) {
      // Closing the socket resets connections that have arrived but are not accepted yet. Two turns
      // of the event loop accept them.
      await nextTurn();
      await nextTurn();
      await Promise.all([server, ...former].map((each) => end(each, drainMs)));
    },
  };
}

/** Events may be far apart, so the sender of the stream restores the timeout at its end. */
const isEventStream = ({ headers }: Response): boolean =>
  headers.get('content-type')?.startsWith('text/event-stream') === true;
