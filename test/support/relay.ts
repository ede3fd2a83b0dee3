import { createServer, connect as openSocket, type Socket } from 'node:net';
import { freePort } from './free-port.ts';

/**
 * A way to a server that a test can cut and restore, as if the server had been killed and started
 * again.
 */
export type Relay = { url: string; cut(): Promise<void>; mend(): Promise<void>; stop(): Promise<void> };

const DEFAULT_PORTS: Record<string, number> = { 'redis:': 6379, 'postgres:': 5432, 'postgresql:': 5432 };

/** `waitMs`: how long it lets nobody through. */
export async function startRelay(targetUrl: string, { waitMs = 0 } = {}): Promise<Relay> {
  const target = new URL(targetUrl);
  const open = new Set<Socket>();
  const server = createServer(async (client) => {
    if (waitMs > 0) await Bun.sleep(waitMs);
    const upstream = openSocket(Number(target.port || DEFAULT_PORTS[target.protocol]), target.hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(from);
      from.on('data', (chunk) => to.write(chunk));
      from.on('close', () => to.destroy());
      from.on('error', () => to.destroy());
    }
  });
  const listen = (port: number) =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
  // One that nobody else takes while the relay is cut.
  const port = await freePort();
  await listen(port);
  const url = new URL(targetUrl);
  url.hostname = '127.0.0.1';
  url.port = String(port);

  const cut = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const socket of open) socket.destroy();
      open.clear();
    });
  return { url: url.href, cut, mend: () => listen(port), stop: cut };
}
