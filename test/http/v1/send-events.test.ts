/** An event stream on the wire, over a real listener and real sockets. */
import { afterAll, describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import type { AccessWatch } from '../../../src/auth/index.ts';
import { type ServerEvent, sendEvents } from '../../../src/http/responses/send-events.ts';
import { until } from '../../support/until.ts';

type Case = {
  events: (signal: AbortSignal) => AsyncIterable<ServerEvent>;
  heartbeatMs: number;
  failures: unknown[];
  aborted: boolean;
};
/** The heartbeat interval of the tests about heartbeats; the others use one that never fires. */
const HEARTBEAT_MS = 40;

const withAccess = (signal: AbortSignal): AccessWatch => ({ signal, hasEnded: () => false, stop: () => {} });

const cases = new Map<string, Case>();
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 5,
  development: false,
  error: () => new Response(null, { status: 500 }),
  fetch(request, bunServer) {
    bunServer.timeout(request, 0);
    const found = cases.get(new URL(request.url).pathname);
    if (!found) return new Response(null, { status: 404 });
    request.signal.addEventListener('abort', () => {
      found.aborted = true;
    });
    return sendEvents(withAccess(request.signal), found.events(request.signal), {
      heartbeatMs: found.heartbeatMs,
      onFailure: (error) => found.failures.push(error),
      onEnd: () => {},
      lastEvent: () => ({ event: 'error', data: { code: 'access_ended' } }),
    });
  },
});
afterAll(() => server.stop(true));

function serve(events: Case['events'], heartbeatMs = 3_600_000): { url: string } & Case {
  const path = `/${cases.size}`;
  const entry: Case = { events, heartbeatMs, failures: [], aborted: false };
  cases.set(path, entry);
  return Object.assign(entry, { url: new URL(path, server.url).href });
}

const numbered = (count: number) =>
  async function* () {
    for (let i = 0; i < count; i += 1) yield { event: 'step', data: { i, text: 'one\ntwo' } };
  };

describe('a stream of events', () => {
  test('has its headers and one frame per event', async () => {
    const { url } = serve(numbered(2));
    const response = await fetch(url);
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      connection: 'keep-alive',
      'x-accel-buffering': 'no',
    });
    expect(await response.text()).toBe(
      [0, 1].map((i) => `event: step\ndata: {"i":${i},"text":"one\\ntwo"}\n\n`).join(''),
    );
  });

  test('sends heartbeats while nothing happens, and ends when asked', async () => {
    const rest = Promise.withResolvers<void>();
    const { url } = serve(async function* () {
      yield { event: 'first', data: 1 };
      await rest.promise;
      yield { event: 'last', data: 2 };
    }, HEARTBEAT_MS);
    const response = await fetch(url);
    let text = '';
    if (!response.body) throw new Error('the stream has no body');
    for await (const chunk of response.body) {
      text += new TextDecoder().decode(chunk);
      if (text.split(': PING\n\n').length > 3) rest.resolve();
    }
    expect(text).toMatch(/^event: first\ndata: 1\n\n(: PING\n\n){3,}event: last\ndata: 2\n\n$/);
  });

  test('ends without a further event when its source fails', async () => {
    const failing = serve(async function* () {
      yield { event: 'first', data: 1 };
      throw new Error('the source broke');
    });
    expect(await (await fetch(failing.url)).text()).toBe('event: first\ndata: 1\n\n');
    expect(failing.failures).toEqual([new Error('the source broke')]);
  });

  test('a client that leaves ends the source, even while it waits', async () => {
    let ended = 0;
    const waiting = serve(async function* (signal) {
      try {
        yield { event: 'first', data: 1 };
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        yield { event: 'never', data: 2 };
      } finally {
        ended += 1;
      }
    });
    const client = new AbortController();
    const response = await fetch(waiting.url, { signal: client.signal });
    const reader = response.body?.getReader();
    await reader?.read();
    client.abort();
    await until(() => ended === 1);
    expect(waiting.aborted).toBeTrue();
    expect(waiting.failures).toEqual([]);
  });

  test('a client that reads nothing gets no more than the buffers hold, and is disconnected', async () => {
    let produced = 0;
    let ended = false;
    const fill = 'x'.repeat(64 * 1024);
    const flood = serve(async function* () {
      try {
        for (;;) {
          produced += 1;
          yield { event: 'flood', data: fill };
        }
      } finally {
        ended = true;
      }
    }, HEARTBEAT_MS);
    const { port, pathname } = new URL(flood.url);
    const socket = connect(Number(port), '127.0.0.1');
    socket.pause();
    let cut = false;
    socket.on('close', () => {
      cut = true;
    });
    socket.on('error', () => {});
    socket.write(`GET ${pathname} HTTP/1.1\r\nHost: gateway\r\n\r\n`);
    // After eight heartbeats that did not fit into the buffer.
    await until(() => ended);
    expect(produced * fill.length).toBeLessThan(32 * 1024 * 1024);
    socket.resume();
    await until(() => cut);
    expect(flood.failures).toEqual([]);
  });
});
