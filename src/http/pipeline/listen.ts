import type { Peer } from './handle-request.ts';

export type ListenOptions = {
  host: string;
  port: number;
  /** File names; both make the listener HTTPS. */
  tls?: { certFile: string; keyFile: string };
  /** Default: `IDLE_SECONDS`. */
  idleSeconds?: number;
};

export type Listening = {
  port: number;
  /** `http://127.0.0.1:3000` */
  url: string;
  /**
   * Takes no more connections and resolves when the requests in flight are answered, or after
   * `drainMs`, when they are cut.
   */
  stop(drainMs: number): Promise<void>;
};

/**
 * Seconds without a byte in either direction until a connection is closed: long enough for a
 * stalled download to recover, short enough that idle connections do not pile up. Handlers that
 * wait longer take it off with `keepOpen`, until their answer is there: clients keep connections
 * for their next request, and one that is never closed would stay for ever once its client is gone.
 */
const IDLE_SECONDS = 120;

/** @throws the platform's error, for instance `EADDRINUSE` */
export function listen(handle: (request: Request, peer: Peer) => Promise<Response>, options: ListenOptions): Listening {
  const { idleSeconds = IDLE_SECONDS } = options;
  const server = Bun.serve({
    hostname: options.host,
    port: options.port,
    idleTimeout: idleSeconds,
    // The caps are the readers' (`readBody`), which answer in the gateway's own words; what nobody
    // reads is not buffered.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    ...(options.tls ? { tls: { cert: Bun.file(options.tls.certFile), key: Bun.file(options.tls.keyFile) } } : {}),
    // Nothing reaches this but a fault of the listener itself; its own page would show the stack.
    development: false,
    // Outside development the runtime would share the port with another gateway instead of refusing
    // it.
    reusePort: false,
    error: () => new Response(null, { status: 500 }),
    fetch: async (request, bunServer) => {
      let isKept = false;
      const rest = () => bunServer.timeout(request, idleSeconds);
      const response = await handle(request, {
        address: bunServer.requestIP(request)?.address ?? '',
        keepOpen() {
          isKept = true;
          bunServer.timeout(request, 0);
          return rest;
        },
      });
      if (isKept && !isEventStream(response)) rest();
      return response;
    },
  });
  return {
    port: server.port ?? options.port,
    url: `${options.tls ? 'https' : 'http'}://${options.host.includes(':') ? `[${options.host}]` : options.host}:${server.port}`,
    async stop(drainMs) {
      const timer = setTimeout(() => void server.stop(true), drainMs);
      await server.stop(false);
      clearTimeout(timer);
    },
  };
}

/** Events may be as far apart as they like; whoever sends them puts the limit back. */
const isEventStream = ({ headers }: Response): boolean =>
  headers.get('content-type')?.startsWith('text/event-stream') === true;
