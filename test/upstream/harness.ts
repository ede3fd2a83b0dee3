import { readFileSync } from 'node:fs';
import net from 'node:net';
import tls from 'node:tls';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import { createUpstream, type Upstream, type UpstreamOptions, type UpstreamRequest } from '../../src/upstream/index.ts';
import { FAR_MS } from '../support/far-limits.ts';

export { until } from '../support/until.ts';

const certificate = (name: string) => readFileSync(new URL(`./certificates/${name}.pem`, import.meta.url), 'utf8');
export const trustedCertificates = [certificate('server-cert')];

/** What one connection asked; `reply` writes raw bytes. */
export type Exchange = {
  path: string;
  head: string;
  body: Buffer;
  socket: net.Socket;
  nth: number;
  connection: number;
};

export type RawServer = {
  port: number;
  url: string;
  connections: number;
  exchanges: Exchange[];
  /** Sockets that are open at the moment. */
  open: Set<net.Socket>;
  /** Accepts no more connections; those that are open stay. */
  refuse(): void;
  stop(): Promise<void>;
};

/**
 * A TCP (or TLS) server that hands every complete request to `answer`, which writes what it likes,
 * well-formed or not.
 */
export async function startRawServer(
  answer: (exchange: Exchange) => void | Promise<void>,
  options: { secure?: boolean; host?: string; onConnection?: (socket: net.Socket) => void } = {},
): Promise<RawServer> {
  const server: RawServer = {
    port: 0,
    url: '',
    connections: 0,
    exchanges: [],
    open: new Set(),
    refuse: () => void listener.close(),
    stop: async () => {},
  };
  const accept = (socket: net.Socket) => {
    server.connections += 1;
    const connection = server.connections;
    server.open.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => server.open.delete(socket));
    options.onConnection?.(socket);
    let pending: Buffer = Buffer.alloc(0);
    let nth = 0;
    socket.on('data', (data) => {
      pending = Buffer.concat([pending, Buffer.from(data)]);
      for (;;) {
        const end = pending.indexOf('\r\n\r\n');
        if (end < 0) return;
        const head = pending.subarray(0, end).toString('latin1');
        const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
        if (pending.length < end + 4 + length) return;
        const body = Buffer.from(pending.subarray(end + 4, end + 4 + length));
        pending = pending.subarray(end + 4 + length);
        const exchange = { path: head.split(' ')[1] ?? '', head, body, socket, nth, connection };
        nth += 1;
        server.exchanges.push(exchange);
        void answer(exchange);
      }
    });
  };
  const listener = options.secure
    ? tls.createServer({ key: certificate('server-key'), cert: certificate('server-cert') }, accept)
    : net.createServer(accept);
  listener.on('tlsClientError', () => {});
  const host = options.host ?? '127.0.0.1';
  await new Promise<void>((resolve) => listener.listen(0, host, resolve));
  server.port = (listener.address() as net.AddressInfo).port;
  server.url = `${options.secure ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${server.port}`;
  server.stop = async () => {
    for (const socket of server.open) socket.destroy();
    if (listener.listening) await new Promise<void>((resolve) => listener.close(() => resolve()));
  };
  return server;
}

/** A complete answer with a length. */
export const reply = (body: string | Uint8Array, headers = '', status = '200 OK'): Buffer =>
  Buffer.concat([
    Buffer.from(`HTTP/1.1 ${status}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${headers}\r\n`),
    typeof body === 'string' ? Buffer.from(body) : body,
  ]);

export const loopback = async () => [{ address: '127.0.0.1', family: 4 }];

export const testUpstream = (options: Partial<UpstreamOptions> = {}): Upstream =>
  createUpstream({ allowPrivate: false, clock: systemClock, logger: silentLogger, ...options });

/** A GET with generous limits whose own host may be private. */
export function get(url: string, changes: Partial<UpstreamRequest> = {}): UpstreamRequest {
  return {
    url,
    method: 'GET',
    headers: {},
    body: { kind: 'none' },
    privateHosts: URL.canParse(url) ? [new URL(url).host] : [],
    maxRedirects: 0,
    connectTimeoutMs: FAR_MS,
    headersTimeoutMs: FAR_MS,
    idleTimeoutMs: FAR_MS,
    maxResponseBytes: 1024 * 1024,
    ...changes,
  };
}

export const post = (url: string, text: string, changes: Partial<UpstreamRequest> = {}): UpstreamRequest =>
  get(url, { method: 'POST', body: { kind: 'text', text }, ...changes });
