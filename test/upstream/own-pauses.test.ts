/**
 * What a pause of the gateway itself, held still by a busy machine, does to requests that are under
 * way: nothing.
 */
import { afterEach, expect, test } from 'bun:test';
import type { Upstream } from '../../src/upstream/index.ts';
import { get, type RawServer, reply, startRawServer, testUpstream, until } from './harness.ts';

let server: RawServer | undefined;
let upstream: Upstream = testUpstream();
afterEach(async () => {
  await upstream.close();
  await server?.stop();
  server = undefined;
});

const LIMIT_MS = 100;

/** This process does nothing for longer than the time limit. */
function pause(): void {
  const end = performance.now() + 3 * LIMIT_MS;
  while (performance.now() < end);
}

test('an answer that came during a pause of our own is not too late', async () => {
  server = await startRawServer(({ socket }) => {
    socket.write(reply('in time'));
    pause();
  });
  upstream = testUpstream();
  const result = await upstream.request(get(server.url, { headersTimeoutMs: LIMIT_MS }));
  expect(result.ok && (await result.value.text())).toEqual({ ok: true, value: 'in time' });
});

test('the rest of an answer that came during a pause of our own is read', async () => {
  server = await startRawServer(({ socket }) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf'));
  upstream = testUpstream();
  const result = await upstream.request(get(server.url, { idleTimeoutMs: LIMIT_MS }));
  const text = result.ok ? result.value.text() : undefined;
  server.exchanges[0]?.socket.write('half');
  pause();
  expect(await text).toEqual({ ok: true, value: 'halfhalf' });
});

test('a vendor that is silent before and after a pause of our own is given up', async () => {
  server = await startRawServer(() => pause());
  upstream = testUpstream();
  const result = await upstream.request(get(server.url, { headersTimeoutMs: LIMIT_MS }));
  expect(result).toMatchObject({ ok: false, error: { kind: 'timeout', notSent: false } });
  await until('the socket is closed', () => server?.open.size === 0);
});
