/**
 * A TCP proxy in front of a vendor that can stop the conversation at an exact point: before a byte of the request is passed on,
 * or after the vendor's answer has arrived and before a byte of it is passed back.
 */
import { connect, createServer, type Socket } from 'node:net';

export type HoldingProxy = {
  url: string;
  /** From now on: `pass` everything, `hold_requests` (the vendor sees nothing) or `hold_answers` (the client sees nothing). */
  mode: 'pass' | 'hold_requests' | 'hold_answers';
  /** Only conversations whose first request line contains this are held. */
  match: string;
  /** Conversations held so far. */
  held(): number;
  /** Passes on what is held, and everything after it. */
  release(): void;
  /** Cuts all connections. */
  cut(): void;
  stop(): Promise<void>;
};

export async function startHoldingProxy(target: { host: string; port: number }): Promise<HoldingProxy> {
  const sockets = new Set<Socket>();
  const releases = new Set<() => void>();
  let held = 0;
  const proxy: HoldingProxy = {
    url: '',
    mode: 'pass',
    match: '',
    held: () => held,
    release() {
      proxy.mode = 'pass';
      for (const release of releases) release();
      releases.clear();
    },
    cut() {
      releases.clear();
      for (const socket of sockets) socket.destroy();
    },
    stop() {
      proxy.cut();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  const server = createServer((client) => {
    const vendor = connect(target.port, target.host);
    for (const socket of [client, vendor]) {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
      socket.on('error', () => {});
    }
    let holdAnswer = false;
    client.on('data', (chunk) => {
      const matches = chunk.toString('latin1').includes(proxy.match);
      if (matches && proxy.mode === 'hold_requests') {
        held += 1;
        releases.add(() => vendor.write(chunk));
        return;
      }
      if (matches && proxy.mode === 'hold_answers') holdAnswer = true;
      vendor.write(chunk);
    });
    vendor.on('data', (chunk) => {
      if (!holdAnswer) {
        client.write(chunk);
        return;
      }
      held += 1;
      releases.add(() => {
        holdAnswer = false;
        client.write(chunk);
      });
    });
    client.on('close', () => vendor.destroy());
    vendor.on('close', () => {
      if (!holdAnswer) client.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  proxy.url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  return proxy;
}
