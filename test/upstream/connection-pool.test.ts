/** Which request gets a connection when the pool is full. */
import { afterEach, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { systemClock } from '../../src/kernel/index.ts';
import type { Connection, DialHost } from '../../src/upstream/connection.ts';
import { createConnectionPool } from '../../src/upstream/connection-pool.ts';
import { until } from '../support/until.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

function startServer(): URL {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('ok') });
  closers.push(() => server.stop(true));
  return server.url;
}

/** Connects without any check. */
const dialTo =
  ({ port }: URL): DialHost =>
  () =>
    new Promise((resolve) => {
      const socket = connect(Number(port), '127.0.0.1', () => resolve(socket));
    });

/** Asks once, and calls `ended` before the connection goes back to the pool. */
function ask(connection: Connection, { host }: URL, ended: () => void): void {
  connection.use({
    onReady: () => connection.begin('GET', Buffer.from(`GET / HTTP/1.1\r\nhost: ${host}\r\n\r\n`)),
    onHead: () => {},
    onBody: () => {},
    onEnd: () => {
      ended();
      return true;
    },
    onFailure: () => {},
  });
}

test.each(['closes', 'is free again'])(
  'a host that always has requests takes no place from others: one %s',
  async (how) => {
    const pool = createConnectionPool({
      ...{ clock: systemClock, maxPerHost: 8, maxTotal: 4, maxIdlePerHost: 8, idleMs: 4000 },
    });
    closers.unshift(() => pool.close());
    const [busy, other] = [startServer(), startServer()];
    const got: string[] = [];
    const held: Connection[] = [];
    const acquire = (url: URL, name: string) =>
      pool.acquire(
        { name: url.host, dial: dialTo(url) },
        {
          onConnection(connection) {
            got.push(name);
            held.push(connection);
          },
          onClosed: () => {},
        },
      );
    for (let i = 0; i < 12; i += 1) acquire(busy, 'busy');
    expect(got).toEqual(['busy', 'busy', 'busy', 'busy']);
    // The first of a host that has none never waits for the requests of others.
    acquire(other, 'other');
    acquire(other, 'other');
    expect(got.slice(4)).toEqual(['other']);
    const [first, second, third] = held as [Connection, Connection, Connection];
    const end = (connection: Connection) => (how === 'closes' ? connection.destroy() : ask(connection, busy, () => {}));
    end(first);
    end(second);
    await until(() => got.length === 6);
    end(third);
    await until(() => got.length === 7);
    expect(got.slice(5)).toEqual(['other', 'busy']);
  },
);
