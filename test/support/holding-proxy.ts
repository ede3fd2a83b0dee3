/**
 * A TCP proxy in front of a vendor that can stop the conversation at an exact point: before a byte
 * of the request is passed on, or after the vendor's answer has arrived and before a byte of it is
 * passed back.
 */
import { connect, createServer, type Socket } from 'node:net';

export type HoldingProxy = {
  url: string;
  /**
   * From now on: `pass` everything, `hold_requests` (the vendor sees nothing) or `hold_answers`
   * (the client sees nothing).
   */
  mode: 'pass' | 'hold_requests' | 'hold_answers';
  /** Only conversations whose first request line contains this are held. */
  match: string;
  /** Conversations held so far. */
  held(): number;
  /**
   * Passes on what is held, or of it the last conversation alone, and everything that comes after
   * it.
   */
  release(which?: 'all' | 'last'): void;
  /** Cuts all connections. */
  cut(): void;
  stop(): Promise<void>;
};

export async function startHoldingProxy(target: { host: string; port: number }): Promise<HoldingProxy> {
  const sockets = new Set<Socket>();
  /**
   * What to do to pass on what is held, by its connection to the client: the last one was held
   * last.
   */
  const releases = new Map<Socket, (() => void)[]>();
  let held = 0;
  /**
   * How often all was released: what had to be held before that is not held any more, also when it
   * comes later.
   */
  let releasedAll = 0;
  const hold = (client: Socket, passOn: () => void): void => {
    const before = releases.get(client);
    if (before) before.push(passOn);
    else {
      held += 1;
      releases.set(client, [passOn]);
    }
  };
  const proxy: HoldingProxy = {
    url: '',
    mode: 'pass',
    match: '',
    held: () => held,
    release(which = 'all') {
      proxy.mode = 'pass';
      if (which === 'all') releasedAll += 1;
      for (const [client, steps] of [...releases].slice(which === 'last' ? -1 : 0)) {
        for (const passOn of steps) passOn();
        releases.delete(client);
      }
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
    let since = 0;
    client.on('data', (chunk) => {
      const matches = chunk.toString('latin1').includes(proxy.match);
      if (matches && proxy.mode === 'hold_requests') {
        hold(client, () => vendor.write(chunk));
        return;
      }
      if (matches && proxy.mode === 'hold_answers') {
        holdAnswer = true;
        since = releasedAll;
      }
      vendor.write(chunk);
    });
    vendor.on('data', (chunk) => {
      if (!holdAnswer || since !== releasedAll) {
        holdAnswer = false;
        client.write(chunk);
        return;
      }
      hold(client, () => {
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
