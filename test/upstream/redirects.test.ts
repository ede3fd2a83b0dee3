import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import type { Upstream } from '../../src/upstream/index.ts';
import {
  type Exchange,
  get,
  loopback,
  post,
  type RawServer,
  reply,
  startRawServer,
  testUpstream,
  trustedCertificates,
} from './harness.ts';

let plain: RawServer;
let other: RawServer;
let secure: RawServer;
let upstream: Upstream;

const redirect = (status: number, location: string) => reply('moved', `Location: ${location}\r\n`, `${status} Moved`);

/** `/to/<status>/<encoded location>` redirects; everything else answers. */
function answer({ path, socket }: Exchange) {
  const match = /^\/to\/(\d+)\/(.+)$/.exec(path);
  socket.write(match ? redirect(Number(match[1]), decodeURIComponent(match[2] ?? '')) : reply(`answered ${path}`));
}

beforeAll(async () => {
  plain = await startRawServer(answer);
  other = await startRawServer(answer);
  secure = await startRawServer(answer, { secure: true });
});
afterEach(() => upstream.close());
afterAll(() => Promise.all([plain.stop(), other.stop(), secure.stop()]));

const redirecting = (server: RawServer, location: string, status = 302) =>
  `${server.url}/to/${status}/${encodeURIComponent(location)}`;

async function refusedAfterRedirect(url: string, changes: Parameters<typeof get>[1]) {
  const counts = [plain, other, secure].map((server) => server.exchanges.length);
  const result = await upstream.request(get(url, { maxRedirects: 5, allowRedirect: () => true, ...changes }));
  expect(result).toMatchObject({ ok: false, error: { kind: 'refused', notSent: false } });
  const after = [plain, other, secure].map((server) => server.exchanges.length);
  expect(after.reduce((a, b) => a + b) - counts.reduce((a, b) => a + b)).toBe(1);
}

describe('redirects as an attack', () => {
  for (const target of [
    'http://169.254.169.254/latest/meta-data/',
    'http://[::ffff:169.254.169.254]/',
    'http://2852039166/', // 169.254.169.254 as a decimal number
    'http://100.100.100.200/',
  ]) {
    test(`redirect to metadata: ${target}`, () => {
      upstream = testUpstream();
      return refusedAfterRedirect(redirecting(plain, target), {});
    });
  }

  test('redirect to metadata with the lab switch on', () => {
    upstream = testUpstream({ allowPrivate: true });
    return refusedAfterRedirect(redirecting(plain, 'http://169.254.169.254/'), {});
  });

  test('redirect to a name that resolves to metadata', () => {
    upstream = testUpstream({ resolve: async () => [{ address: '169.254.169.254', family: 4 }] });
    return refusedAfterRedirect(redirecting(plain, 'http://innocent.test/'), {});
  });

  test("redirect to another private host: the permission is the base host's alone", () => {
    upstream = testUpstream();
    return refusedAfterRedirect(redirecting(plain, other.url), {});
  });

  test('redirect from https to http (downgrade)', () => {
    upstream = testUpstream({ trustedCertificates });
    return refusedAfterRedirect(redirecting(secure, plain.url), {
      privateHosts: [new URL(secure.url).host, new URL(plain.url).host],
    });
  });

  for (const target of [
    'file:///etc/passwd',
    'javascript:alert(1)',
    'http://user:pass@vendor.test/',
    'http://',
    'ftp://vendor.test/',
  ]) {
    test(`redirect to ${target}`, () => {
      upstream = testUpstream();
      return refusedAfterRedirect(redirecting(plain, target), {});
    });
  }

  test('redirect to a host that the caller does not allow', () => {
    upstream = testUpstream({ allowPrivate: true });
    return refusedAfterRedirect(redirecting(plain, other.url), {
      allowRedirect: (url) => url.host === new URL(plain.url).host,
    });
  });

  test('redirect to another origin without a rule of the caller', () => {
    upstream = testUpstream({ allowPrivate: true });
    return refusedAfterRedirect(redirecting(plain, other.url), { allowRedirect: undefined });
  });

  test('redirect loop', async () => {
    upstream = testUpstream();
    const server = await startRawServer(({ socket }) => void socket.write(redirect(302, '/again')));
    const result = await upstream.request(get(server.url, { maxRedirects: 5 }));
    expect(result).toMatchObject({ ok: false, error: { kind: 'refused', notSent: false } });
    expect(server.exchanges.length).toBe(6);
    await server.stop();
  });

  test('stolen credentials: no header of the request reaches another origin', async () => {
    upstream = testUpstream({ allowPrivate: true });
    const headers = { authorization: 'Bearer secret', cookie: 'a=b', 'x-api-key': 'secret', range: 'bytes=0-1' };
    const result = await upstream.request(
      get(redirecting(plain, `${other.url}/file`), { headers, maxRedirects: 5, allowRedirect: () => true }),
    );
    expect(result.ok && (await result.value.text())).toEqual({ ok: true, value: 'answered /file' });
    expect(result.ok && result.value.url).toBe(`${other.url}/file`);
    const head = other.exchanges.at(-1)?.head.toLowerCase() ?? '';
    expect(head).not.toContain('secret');
    expect(head).not.toContain('cookie');
    expect(
      head
        .split('\r\n')
        .slice(1)
        .map((line) => line.split(':')[0])
        .sort(),
    ).toEqual(['accept', 'accept-encoding', 'connection', 'host', 'user-agent']);
  });

  test('stolen credentials: they do not come back when the other origin redirects home', async () => {
    upstream = testUpstream({ allowPrivate: true });
    const back = redirecting(other, `${plain.url}/home`);
    const result = await upstream.request(
      get(redirecting(plain, back), {
        headers: { authorization: 'secret' },
        maxRedirects: 5,
        allowRedirect: () => true,
      }),
    );
    expect(result.ok && (await result.value.text())).toEqual({ ok: true, value: 'answered /home' });
    expect(plain.exchanges.at(-1)?.head).not.toContain('secret');
  });

  test('stolen body: 307 and 308 to another origin do not carry it', async () => {
    upstream = testUpstream({ allowPrivate: true });
    for (const status of [307, 308]) {
      await refusedAfterRedirect(redirecting(plain, other.url, status), {
        method: 'POST',
        body: { kind: 'text', text: 'secret' },
      });
    }
  });
});

describe('redirects as RFC 9110 has them', () => {
  test('none are followed when none are allowed', async () => {
    upstream = testUpstream();
    const result = await upstream.request(get(redirecting(plain, '/next')));
    expect(result.ok && result.value.status).toBe(302);
    expect(result.ok && result.value.headers.location).toEqual(['/next']);
    if (result.ok) result.value.discard();
  });

  test('relative and absolute targets on the same origin keep headers; fragments are dropped', async () => {
    upstream = testUpstream();
    for (const target of ['/a?b=c#d', `${plain.url}/a?b=c`]) {
      const result = await upstream.request(
        get(redirecting(plain, target), { headers: { 'x-a': '1' }, maxRedirects: 1 }),
      );
      expect(result.ok && (await result.value.text())).toEqual({ ok: true, value: 'answered /a?b=c' });
      expect(plain.exchanges.at(-1)?.head).toContain('x-a: 1');
    }
  });

  const cases: [status: number, method: string, then: string][] = [
    [301, 'POST', 'GET'],
    [302, 'POST', 'GET'],
    [303, 'POST', 'GET'],
    [307, 'POST', 'POST'],
    [308, 'POST', 'POST'],
    [301, 'PUT', 'PUT'],
    [303, 'PUT', 'GET'],
    [302, 'HEAD', 'HEAD'],
    [303, 'HEAD', 'HEAD'],
  ];
  for (const [status, method, then] of cases) {
    test(`${method} ${status} goes on as ${then}`, async () => {
      upstream = testUpstream();
      const request = method === 'HEAD' ? get : (url: string, changes: object) => post(url, 'body', changes);
      const result = await upstream.request(
        request(redirecting(plain, '/next', status), {
          method,
          maxRedirects: 1,
          headers: { 'content-type': 'text/plain' },
        }),
      );
      expect(result.ok).toBe(true);
      if (result.ok) result.value.discard();
      const last = plain.exchanges.at(-1);
      expect(last?.head).toStartWith(`${then} /next `);
      const keepsBody = then === method && method !== 'HEAD';
      expect(last?.body.toString()).toBe(keepsBody ? 'body' : '');
      if (then === 'GET') expect(last?.head.toLowerCase()).not.toContain('content-');
    });
  }

  test('a failure after a redirect is not called unsent', async () => {
    upstream = testUpstream({ resolve: loopback });
    // Nobody has this port.
    const closed = '127.0.0.1:1';
    const result = await upstream.request(
      get(redirecting(plain, `http://${closed}/`), {
        maxRedirects: 5,
        allowRedirect: () => true,
        privateHosts: [new URL(plain.url).host, closed],
      }),
    );
    expect(result).toMatchObject({ ok: false, error: { kind: 'connect', notSent: false } });
  });
});
