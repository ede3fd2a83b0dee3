import { afterEach, describe, expect, test } from 'bun:test';
import type { Upstream } from '../../src/upstream/index.ts';
import {
  type Exchange,
  get,
  post,
  type RawServer,
  reply,
  startRawServer,
  testUpstream,
  trustedCertificates,
  until,
} from './harness.ts';

let server: RawServer | undefined;
let upstream: Upstream = testUpstream();

async function start(answer: (exchange: Exchange) => void, options: Parameters<typeof startRawServer>[1] = {}) {
  server = await startRawServer(answer, options);
  upstream = testUpstream({ trustedCertificates });
  return server;
}
afterEach(async () => {
  await upstream.close();
  await server?.stop();
  server = undefined;
});

describe('nothing can have been sent', () => {
  test('connection refused', async () => {
    upstream = testUpstream();
    // Nobody has this port, while one that was just let go may be somebody else's by now.
    expect(await upstream.request(post('http://127.0.0.1:1/', 'x'))).toMatchObject({
      ok: false,
      error: { kind: 'connect', notSent: true },
    });
  });

  test('a name that does not resolve', async () => {
    upstream = testUpstream({
      resolve: async () => {
        throw Object.assign(new Error('queryA ENOTFOUND secret-host'), { code: 'ENOTFOUND' });
      },
    });
    const result = await upstream.request(post('http://nowhere.test/', 'x'));
    expect(result).toMatchObject({ ok: false, error: { kind: 'dns', notSent: true } });
    expect(JSON.stringify(result)).not.toContain('secret-host');
  });

  test('a name without addresses', async () => {
    upstream = testUpstream({ resolve: async () => [] });
    expect(await upstream.request(post('http://empty.test/', 'x'))).toMatchObject({
      ok: false,
      error: { kind: 'dns', notSent: true },
    });
  });

  test('man in the middle: a certificate that nobody signed', async () => {
    const { url } = await start(() => {}, { secure: true });
    const suspicious = testUpstream();
    expect(await suspicious.request(post(url, 'x'))).toMatchObject({
      ok: false,
      error: { kind: 'tls', notSent: true },
    });
    expect(server?.exchanges.length).toBe(0);
    await suspicious.close();
  });

  test('man in the middle: a certificate for another name', async () => {
    const { port } = await start(() => {}, { secure: true });
    const resolving = testUpstream({ trustedCertificates, resolve: async () => [{ address: '127.0.0.1', family: 4 }] });
    expect(await resolving.request(post(`https://bank.test:${port}/`, 'x'))).toMatchObject({
      ok: false,
      error: { kind: 'tls', notSent: true },
    });
    expect(server?.exchanges.length).toBe(0);
    await resolving.close();
  });

  test('the connection ends during the TLS handshake', async () => {
    const { port } = await start(() => {}, { onConnection: (socket) => socket.destroy() });
    expect(await upstream.request(post(`https://127.0.0.1:${port}/`, 'x'))).toMatchObject({
      ok: false,
      error: { kind: 'tls', notSent: true },
    });
  });

  test('TLS handshake that never ends', async () => {
    const { port } = await start(() => {});
    const result = await upstream.request(post(`https://127.0.0.1:${port}/`, 'x', { connectTimeoutMs: 40 }));
    expect(result).toMatchObject({ ok: false, error: { kind: 'timeout', notSent: true } });
    await until('the socket is closed', () => server?.open.size === 0);
  });

  test('cancelled before it began, and while the name was looked up', async () => {
    const { url } = await start(() => {});
    const gone = post(url, 'x', { signal: AbortSignal.abort() });
    expect(await upstream.request(gone)).toMatchObject({ ok: false, error: { kind: 'aborted', notSent: true } });
    const slow = testUpstream({ resolve: () => new Promise(() => {}) });
    const cancel = new AbortController();
    const pending = slow.request(post('http://slow.test/', 'x', { signal: cancel.signal }));
    cancel.abort();
    expect(await pending).toMatchObject({ ok: false, error: { kind: 'aborted', notSent: true } });
    expect(server?.exchanges.length).toBe(0);
    await slow.close();
  });

  test('after close', async () => {
    const { url } = await start(() => {});
    await upstream.close();
    expect(await upstream.request(post(url, 'x'))).toMatchObject({
      ok: false,
      error: { kind: 'aborted', notSent: true },
    });
  });
});

describe('the vendor may have seen the request', () => {
  const afterRequest: [string, (exchange: Exchange) => void][] = [
    ['reset after the request', ({ socket }) => socket.resetAndDestroy()],
    ['end after the request', ({ socket }) => void socket.end()],
    ['end in the middle of the headers', ({ socket }) => void socket.end('HTTP/1.1 200 OK\r\nContent-Le')],
    ['an answer that is not HTTP', ({ socket }) => void socket.write('SSH-2.0-OpenSSH_9\r\n\r\n')],
    [
      'request smuggling: length and chunks at once',
      ({ socket }) =>
        void socket.write(
          'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
        ),
    ],
    ['a header of a megabyte', ({ socket }) => void socket.write(reply('ok', `X-A: ${'a'.repeat(1024 * 1024)}\r\n`))],
    [
      'an upgrade that nobody asked for',
      ({ socket }) =>
        void socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
    ],
  ];
  for (const secure of [false, true]) {
    for (const [name, answer] of afterRequest) {
      test(`${name}${secure ? ', TLS' : ''}`, async () => {
        const { url } = await start(answer, { secure });
        const result = await upstream.request(post(url, 'x'));
        expect(result).toMatchObject({ ok: false, error: { kind: 'broken', notSent: false } });
        expect(server?.exchanges.length).toBe(1);
        expect(JSON.stringify(result)).not.toContain('127.0.0.1');
      });
    }
  }

  test('slowloris headers: a byte now and then', async () => {
    const { url } = await start(({ socket }) => {
      let n = 0;
      const timer = setInterval(() => socket.write(n++ === 0 ? 'HTTP/1.1 200 OK\r\n' : 'X: 1\r\n'), 10);
      socket.on('close', () => clearInterval(timer));
    });
    const result = await upstream.request(post(url, 'x', { headersTimeoutMs: 80 }));
    expect(result).toMatchObject({ ok: false, error: { kind: 'timeout', notSent: false } });
    await until('the socket is closed', () => server?.open.size === 0);
  });

  test('closing ends what is under way', async () => {
    const { url } = await start(() => {});
    const pending = upstream.request(get(url));
    await until('the request has arrived', () => server?.exchanges.length === 1);
    await upstream.close();
    expect(await pending).toMatchObject({ ok: false, error: { kind: 'broken', notSent: false } });
  });

  test('after closing, a redirect is not followed', async () => {
    const { url } = await start(({ socket }) => {
      socket.write('HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /next\r\n\r\n');
    });
    const allowRedirect = () => {
      void upstream.close();
      return true;
    };
    const asked = await upstream.request(get(url, { maxRedirects: 5, allowRedirect }));
    expect(asked).toMatchObject({ ok: false, error: { kind: 'aborted', notSent: false } });
    expect(server?.exchanges.length).toBe(1);
  });

  test('cancelled while the vendor thinks', async () => {
    const cancel = new AbortController();
    const { url } = await start(() => cancel.abort());
    const result = await upstream.request(post(url, 'x', { signal: cancel.signal }));
    expect(result).toMatchObject({ ok: false, error: { kind: 'aborted', notSent: false } });
    await until('the socket is closed', () => server?.open.size === 0);
  });
});

describe('stale keep-alive socket', () => {
  /**
   * Answers the first request of each connection in `alive` and drops the connection at the next.
   */
  const dropSecond = ({ socket, nth }: Exchange) => {
    if (nth === 0) socket.write(reply('ok'));
    else socket.resetAndDestroy();
  };

  test('a poll is asked again once on a fresh connection', async () => {
    const { url } = await start(dropSecond);
    for (let i = 0; i < 2; i += 1) {
      const result = await upstream.request(get(url));
      expect(result.ok && (await result.value.text())).toEqual({ ok: true, value: 'ok' });
    }
    expect(server?.connections).toBe(2);
    expect(server?.exchanges.length).toBe(3);
  });

  test('a submission is never sent twice', async () => {
    const { url } = await start(dropSecond);
    const first = await upstream.request(post(url, 'x'));
    if (first.ok) await first.value.text();
    const second = await upstream.request(post(url, 'x'));
    expect(second).toMatchObject({ ok: false, error: { kind: 'broken', notSent: false } });
    expect(server?.exchanges.length).toBe(2);
  });

  test('a submission is never sent twice, not even as GET', async () => {
    const { url } = await start(dropSecond);
    const first = await upstream.request(get(url, { mayRepeat: false }));
    if (first.ok) await first.value.text();
    const second = await upstream.request(get(url, { mayRepeat: false }));
    expect(second).toMatchObject({ ok: false, error: { kind: 'broken', notSent: false } });
    expect(server?.exchanges.length).toBe(2);
  });

  test('a poll whose repetition finds no vendor counts as sent', async () => {
    const { url } = await start((exchange) => {
      if (exchange.nth > 0) server?.refuse();
      dropSecond(exchange);
    });
    const first = await upstream.request(get(url));
    if (first.ok) await first.value.text();
    expect(await upstream.request(get(url))).toMatchObject({ ok: false, error: { kind: 'connect', notSent: false } });
  });

  test('a poll that fails on a fresh connection is not repeated', async () => {
    const { url } = await start(({ socket }) => socket.resetAndDestroy());
    expect(await upstream.request(get(url))).toMatchObject({ ok: false, error: { kind: 'broken', notSent: false } });
    expect(server?.exchanges.length).toBe(1);
  });

  test('a poll that breaks after its headers is not repeated', async () => {
    const { url } = await start(({ socket, nth }) => {
      if (nth === 0) socket.write(reply('ok'));
      else socket.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf');
    });
    const first = await upstream.request(get(url));
    if (first.ok) await first.value.text();
    const second = await upstream.request(get(url));
    expect(second.ok && (await second.value.text())).toMatchObject({ ok: false, error: { kind: 'broken' } });
    expect(server?.exchanges.length).toBe(2);
  });

  test('a connection that the vendor closed while it was idle is not used', async () => {
    const { url } = await start(({ socket }) => void socket.end(reply('ok')));
    for (let i = 0; i < 3; i += 1) {
      const result = await upstream.request(post(url, 'x'));
      expect(result.ok && (await result.value.text())).toEqual({ ok: true, value: 'ok' });
      await until('the socket is closed', () => server?.open.size === 0);
    }
    expect(server?.connections).toBe(3);
  });

  test('the idle limit of connections does not cut off an answer that takes longer', async () => {
    const { url } = await start(
      ({ socket, nth }) => void setTimeout(() => socket.write(reply('ok')), nth === 0 ? 0 : 1300),
    );
    for (let i = 0; i < 2; i += 1) {
      const result = await upstream.request(post(url, 'x'));
      expect(result.ok && (await result.value.text())).toEqual({ ok: true, value: 'ok' });
    }
    expect(server?.connections).toBe(1);
  });

  test('connections are reused and let go when idle', async () => {
    const { url } = await start(({ socket }) => void socket.write(reply('ok')));
    for (let i = 0; i < 20; i += 1) {
      const result = await upstream.request(post(url, 'x'));
      if (result.ok) await result.value.text();
    }
    expect(server?.connections).toBe(1);
    await until('the idle socket is closed', () => server?.open.size === 0);
  });
});

describe('response splitting: what follows an answer is never taken for the next one', () => {
  const forged = reply('forged');

  for (const [name, answer] of [
    ['in the same packet', (socket: Exchange['socket']) => void socket.write(Buffer.concat([reply('ok'), forged]))],
    ['behind the last chunk', (socket: Exchange['socket']) => void socket.write(CHUNKED + forged)],
    ['behind an answer without a body', (socket: Exchange['socket']) => void socket.write(EMPTY + forged)],
  ] as const) {
    test(name, async () => {
      const { url } = await start(({ socket }) => answer(socket));
      for (let i = 0; i < 3; i += 1) {
        const result = await upstream.request(post(url, 'x'));
        const text = result.ok ? await result.value.text() : undefined;
        expect(text?.ok && text.value).not.toBe('forged');
        expect(result.ok).toBe(true);
      }
      expect(server?.connections).toBe(3);
    });
  }

  test('an answer that nobody asked for, on an idle connection', async () => {
    const { url } = await start(({ socket, nth }) => void socket.write(nth === 0 ? reply('ok') : reply('second')));
    const first = await upstream.request(post(url, 'x'));
    if (first.ok) await first.value.text();
    server?.exchanges[0]?.socket.write(forged);
    await until('the socket is closed', () => server?.open.size === 0);
    const second = await upstream.request(post(url, 'x'));
    expect(second.ok && (await second.value.text())).toEqual({ ok: true, value: 'ok' });
    expect(server?.connections).toBe(2);
  });

  test('interim answers come before the real one', async () => {
    const { url } = await start(
      ({ socket }) => void socket.write(`HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${reply('ok')}`),
    );
    const result = await upstream.request(post(url, 'x'));
    expect(result.ok && result.value.status).toBe(200);
    expect(result.ok && (await result.value.text())).toEqual({ ok: true, value: 'ok' });
  });
});

const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n';
const EMPTY = 'HTTP/1.1 204 No Content\r\n\r\n';

describe('connections of one host', () => {
  test('a vendor that says how long it keeps connections is not asked on one it may be closing', async () => {
    const { url } = await start(({ socket }) => void socket.write(reply('ok', 'Keep-Alive: timeout=1\r\n')));
    for (let i = 0; i < 2; i += 1) {
      const result = await upstream.request(get(url));
      if (result.ok) await result.value.text();
    }
    expect(server?.connections).toBe(2);
  });

  test('who finds all connections in use waits for one, or gives up without having sent anything', async () => {
    const held: Exchange[] = [];
    const { url } = await start((exchange) => void held.push(exchange));
    const limit = 256;
    const asked = Array.from({ length: limit }, () => upstream.request(post(url, 'x')));
    await until('all connections are in use', () => held.length === limit);
    const late = upstream.request(post(url, 'late', { connectTimeoutMs: 40 }));
    expect(await late).toMatchObject({ ok: false, error: { kind: 'timeout', notSent: true } });
    const cancel = new AbortController();
    const cancelled = upstream.request(post(url, 'cancelled', { signal: cancel.signal }));
    cancel.abort();
    expect(await cancelled).toMatchObject({ ok: false, error: { kind: 'aborted', notSent: true } });
    const waiting = upstream.request(post(url, 'waited'));
    held[0]?.socket.write(reply('first'));
    await until('the next one got the connection', () => held.length === limit + 1);
    expect(held[limit]?.body.toString()).toBe('waited');
    expect(server?.connections).toBe(limit);
    for (const { socket } of held) socket.write(reply('ok'));
    expect((await Promise.all([...asked, waiting])).every(({ ok }) => ok)).toBe(true);
  });

  test('a request that still waits for a connection when the client closes was not sent', async () => {
    const held: Exchange[] = [];
    const { url } = await start((exchange) => void held.push(exchange));
    const asked = Array.from({ length: 256 }, () => upstream.request(get(url)));
    await until('all connections are in use', () => held.length === 256);
    const waiting = upstream.request(get(url));
    await upstream.close();
    expect(await waiting).toMatchObject({ ok: false, error: { kind: 'aborted', notSent: true } });
    await Promise.all(asked);
  });
});
