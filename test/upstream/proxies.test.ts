/** Requests that leave through a proxy of each kind. */
import { afterEach, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { connect, Socket } from 'node:net';
import { alternateFamilies, connectFirst } from '../../src/upstream/happy-eyeballs.ts';
import {
  type NetworkStep,
  parseDirectHosts,
  parseProxy,
  type UpstreamOptions,
  type UpstreamRequest,
} from '../../src/upstream/index.ts';
import { startProxy, type TestProxy } from '../support/outbound-proxy.ts';
import { quietMs } from '../support/quiet-time.ts';
import {
  get,
  loopback,
  post,
  type RawServer,
  reply,
  startRawServer,
  testUpstream,
  trustedCertificates,
} from './harness.ts';

const KEYS = {
  key: readFileSync(new URL('./certificates/server-key.pem', import.meta.url), 'utf8'),
  cert: readFileSync(new URL('./certificates/server-cert.pem', import.meta.url), 'utf8'),
};
const LOGIN = { user: 'gate way', password: 'pa:ss@w/örd-of-the-proxy' };
const unknown = () => Promise.reject(Object.assign(new Error('unknown'), { code: 'ENOTFOUND' }));
const known = { isKnownHost: () => true };

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function readProxy(options: Parameters<typeof startProxy>[0]): Promise<TestProxy> {
  const proxy = await startProxy({ tls: KEYS, ...options });
  closers.push(() => proxy.stop());
  return proxy;
}

async function readVendor(...options: Parameters<typeof startRawServer>): Promise<RawServer> {
  const server = await startRawServer(...options);
  closers.push(() => server.stop());
  return server;
}

type Through = Partial<UpstreamOptions> & { direct?: string; proxyResolves?: boolean };

function through(url: string, { direct = '', proxyResolves = false, ...options }: Through = {}) {
  const proxy = parseProxy(url);
  const hosts = parseDirectHosts(direct);
  if (!proxy.ok || !hosts.ok) throw new Error('wrong proxy');
  const network = { proxy: proxy.value, isDirect: hosts.value, proxyResolves, authorities: trustedCertificates };
  const upstream = testUpstream({ resolve: unknown, network, ...options });
  closers.push(() => upstream.close());
  return upstream;
}

async function readText(upstream: ReturnType<typeof through>, request: UpstreamRequest): Promise<string> {
  const answer = await upstream.request(request);
  if (!answer.ok) return answer.error.message;
  const text = await answer.value.text();
  return text.ok ? text.value : text.error.message;
}

const SCHEMES = ['http', 'https', 'socks5', 'socks5h'] as const;

describe.each(SCHEMES)('a proxy with %s', (scheme) => {
  const resolve = scheme === 'socks5' ? loopback : unknown;

  test('carries http and https, with user and password, and keeps the connection', async () => {
    const proxy = await readProxy({ scheme, login: LOGIN });
    for (const secure of [false, true]) {
      const vendor = await readVendor(({ socket, body }) => void socket.write(reply(`got ${body}`)), { secure });
      const upstream = through(proxy.url, { resolve });
      const before = proxy.logins;
      const request = post(`${secure ? 'https' : 'http'}://vendor.test:${vendor.port}/x`, 'hello', known);
      expect(await readText(upstream, request)).toBe('got hello');
      expect(await readText(upstream, request)).toBe('got hello');
      expect(proxy.logins - before).toBe(1);
      expect(proxy.asked.at(-1)).toBe(`${scheme === 'socks5' ? '127.0.0.1' : 'vendor.test'}:${vendor.port}`);
      expect(vendor.exchanges.every(({ head }) => !/proxy/i.test(head))).toBe(true);
    }
  });

  test('large answers arrive whole', async () => {
    const proxy = await readProxy({ scheme });
    const body = Buffer.alloc(900_000, 'abcdefghij');
    const vendor = await readVendor(({ socket }) => void socket.write(reply(body)), { secure: true });
    const upstream = through(proxy.url, { resolve });
    const answer = await upstream.request(get(`https://vendor.test:${vendor.port}/`, known));
    const bytes = answer.ok ? await answer.value.bytes() : answer;
    expect(bytes.ok && Buffer.compare(Buffer.from(bytes.value), body)).toBe(0);
  });

  test.each([
    ['a wrong password', { login: LOGIN }, 'The proxy rejected the username or password.'],
    ['a refusal', { fault: 'refuses' }, /^The proxy did not connect to the vendor \((HTTP 502|ECONNREFUSED)\)\.$/],
    ['a close', { fault: 'breaks' }, /^The proxy closed the connection or doesn't support/],
    ['silence', { fault: 'is silent' }, 'No connection to the vendor within 300 ms.'],
  ] as const)('provably unsent: %s', async (_, options, message) => {
    const proxy = await readProxy({ scheme, ...options });
    const vendor = await readVendor(({ socket }) => void socket.write(reply('ok')));
    const url = proxy.url.replace(/\/\/.*@/, '//gate:wrong-password@');
    const upstream = through(url, { resolve });
    const request = post(`http://vendor.test:${vendor.port}/`, 'x', { ...known, connectTimeoutMs: 300 });
    const failed = await upstream.request(request);
    expect(failed).toMatchObject({ ok: false, error: { notSent: true, message: expect.stringMatching(message) } });
    expect(JSON.stringify(failed)).not.toContain('wrong-password');
    expect(vendor.exchanges).toEqual([]);
  });

  test('provably unsent: a proxy that is dead', async () => {
    const proxy = await readProxy({ scheme });
    await proxy.stop();
    closers.pop();
    const upstream = through(proxy.url, { resolve });
    expect(await upstream.request(post('https://vendor.test/', 'x', known))).toMatchObject({
      ok: false,
      error: { kind: 'connect', notSent: true, message: 'No connection to the proxy could be made (ECONNREFUSED).' },
    });
  });

  test('in doubt: a proxy that breaks once the vendor has the request', async () => {
    const proxy = await readProxy({ scheme });
    const vendor = await readVendor(() => proxy.cut(), { secure: true });
    const upstream = through(proxy.url, { resolve });
    const failed = await upstream.request(post(`https://vendor.test:${vendor.port}/`, 'buy', known));
    expect(failed).toMatchObject({ ok: false, error: { kind: 'broken', notSent: false } });
    expect(vendor.exchanges.length).toBe(1);
  });

  test('man in the middle: the certificate is still checked for the vendor', async () => {
    const proxy = await readProxy({ scheme });
    const vendor = await readVendor(({ socket }) => void socket.write(reply('ok')), { secure: true });
    const upstream = through(proxy.url, { resolve });
    const failed = await upstream.request(get(`https://another.test:${vendor.port}/`, known));
    expect(failed).toMatchObject({ ok: false, error: { kind: 'tls', notSent: true } });
  });

  test('response splitting: an answer that the proxy sends before the request is discarded', async () => {
    const proxy = await readProxy({ scheme, fault: 'talks' });
    const vendor = await readVendor(({ socket }) => void socket.write(reply('true')));
    const upstream = through(proxy.url, { resolve });
    const answer = await readText(upstream, get(`http://vendor.test:${vendor.port}/`, known));
    expect(answer).not.toContain('forged');
  });

  describe('the address filter', () => {
    test.each([
      '127.0.0.1',
      '[::1]',
      '10.0.0.1',
      '169.254.169.254',
      '[::ffff:169.254.169.254]',
      '[64:ff9b::127.0.0.1]',
      '[2002:a9fe:a9fe::]',
      '2130706433',
      '0x7f.1',
    ])('SSRF: the literal address %s is not passed to the proxy', async (host) => {
      const proxy = await readProxy({ scheme });
      const upstream = through(proxy.url, { resolve, proxyResolves: true });
      // A channel's own proxy is used whatever OUTBOUND_NO_PROXY says.
      const own = parseProxy(proxy.url);
      const request = get(`http://${host}/`, { privateHosts: [], ...(own.ok ? { proxy: own.value } : {}) });
      expect(await upstream.request(request)).toMatchObject({ ok: false, error: { kind: 'refused', notSent: true } });
      expect(proxy.asked).toEqual([]);
    });

    test('SSRF: a name that leads to a forbidden address, even one that an administrator wrote', async () => {
      const proxy = await readProxy({ scheme });
      const upstream = through(proxy.url, { resolve: async () => [{ address: '169.254.169.254', family: 4 }] });
      for (const isKnown of [true, false]) {
        const request = get('http://inside.test/', { isKnownHost: () => isKnown });
        expect(await upstream.request(request)).toMatchObject({ ok: false, error: { kind: 'refused' } });
      }
      expect(proxy.asked).toEqual([]);
    });

    test('DNS rebinding: for a stranger’s name the proxy gets the address that was checked', async () => {
      const proxy = await readProxy({ scheme, fault: 'refuses' });
      const upstream = through(proxy.url, { resolve: async () => [{ address: '93.184.216.34', family: 4 }] });
      await upstream.request(get('https://stranger.test/', { privateHosts: [] }));
      expect(proxy.asked).toEqual(['93.184.216.34:443']);
    });

    test('SSRF: a stranger’s name that does not resolve here goes to the proxy on request only, and never a local one', async () => {
      const proxy = await readProxy({ scheme, names: {} });
      for (const proxyResolves of [false, true]) {
        const upstream = through(proxy.url, { proxyResolves });
        for (const host of ['stranger.test', 'intranet', 'db.internal', 'printer.local', 'box.lan', 'printer.local.'])
          expect(await upstream.request(get(`http://${host}/`, { privateHosts: [] }))).toMatchObject({ ok: false });
      }
      expect(proxy.asked).toEqual(scheme === 'socks5' ? [] : ['stranger.test:80']);
    });

    test('SSRF: a name longer than names can be does not become a shorter one at the proxy', async () => {
      const proxy = await readProxy({ scheme, names: {} });
      const upstream = through(proxy.url, { proxyResolves: true });
      const inside = 'metadata.google.internal';
      const host = `${inside}ab${'.x'.repeat(127)}`;
      expect(host.length % 256).toBe(inside.length);
      for (const isKnown of [true, false]) {
        const request = get(`http://${host}/`, { isKnownHost: () => isKnown, privateHosts: [] });
        expect(await upstream.request(request)).toMatchObject({ ok: false, error: { notSent: true } });
      }
      expect(proxy.asked).toEqual([]);
    });

    test('a connection that was opened by name is not lent to a stranger’s request', async () => {
      const proxy = await readProxy({ scheme });
      const vendor = await readVendor(({ socket }) => void socket.write(reply('ok')));
      const upstream = through(proxy.url, { resolve: loopback });
      const url = `http://vendor.test:${vendor.port}/`;
      expect(await readText(upstream, get(url, known))).toBe('ok');
      expect(await upstream.request(get(url, { privateHosts: [] }))).toMatchObject({ error: { kind: 'refused' } });
    });
  });
});

test('each step of the way is told: the proxy without its password, the authority, the end of the certificate', async () => {
  const proxy = await readProxy({ scheme: 'https', login: LOGIN });
  const vendor = await readVendor(({ socket }) => void socket.write(reply('ok')), { secure: true });
  const upstream = through(proxy.url);
  const steps: NetworkStep[] = [];
  const onStep = (step: NetworkStep) => void steps.push(step);
  await readText(upstream, get(`https://vendor.test:${vendor.port}/`, { ...known, onStep }));
  expect(steps).toEqual([
    { at: 'begin', proxy: `https://127.0.0.1:${proxy.port}` },
    { at: 'name', host: 'vendor.test', addresses: [] },
    { at: 'proxy' },
    { at: 'connected' },
    { at: 'tls', authority: 'vendor.test', until: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) },
  ]);
  steps.length = 0;
  await readText(upstream, get(`https://127.0.0.1:${vendor.port}/`, { ...known, onStep }));
  expect(steps.map(({ at }) => at)).toEqual(['begin', 'connected', 'tls']);
});

describe('which way', () => {
  test('hosts of OUTBOUND_NO_PROXY and this machine are reached directly; a request may name its own proxy, or none', async () => {
    const proxy = await readProxy({ scheme: 'http' });
    const other = await readProxy({ scheme: 'socks5h' });
    const vendor = await readVendor(({ socket }) => void socket.write(reply('ok')));
    const upstream = through(proxy.url, { direct: 'corp.test, 10.0.0.0/8', resolve: loopback });
    const own = parseProxy(other.url);
    const ask = (host: string, changes: Partial<UpstreamRequest> = {}) =>
      readText(upstream, get(`http://${host}:${vendor.port}/`, { ...known, ...changes }));
    for (const host of ['127.0.0.1', 'localhost', 'corp.test', 'api.corp.test']) expect(await ask(host)).toBe('ok');
    expect(await ask('vendor.test', { proxy: null })).toBe('ok');
    expect([proxy.asked, other.asked]).toEqual([[], []]);
    expect(await ask('vendor.test')).toBe('ok');
    expect(await ask('notcorp.test')).toBe('ok');
    expect(await ask('corp.test', own.ok ? { proxy: own.value } : {})).toBe('ok');
    expect(proxy.asked).toEqual([`vendor.test:${vendor.port}`, `notcorp.test:${vendor.port}`]);
    expect(other.asked).toEqual([`corp.test:${vendor.port}`]);
  });

  test('a proxy that takes names is not kept waiting by a resolver that is silent', async () => {
    const proxy = await readProxy({ scheme: 'http' });
    const vendor = await readVendor(({ socket }) => void socket.write(reply('ok')));
    const upstream = through(proxy.url, { resolve: () => new Promise(() => {}) });
    expect(await readText(upstream, get(`http://vendor.test:${vendor.port}/`, known))).toBe('ok');
  });

  test('a proxy at an address of an instance metadata service is not connected to', async () => {
    const upstream = through('http://169.254.169.254:3128');
    expect(await readText(upstream, get('http://vendor.test/', known))).toContain('reserved address');
  });
});

test.each([
  ['http://proxy.lan:3128', { scheme: 'http', host: 'proxy.lan', port: 3128, user: '', password: '' }],
  ['HTTPS://Proxy.lan', { scheme: 'https', host: 'proxy.lan', port: 443, user: '', password: '' }],
  ['socks5h://us%40er:p%3Ass@[::1]/', { scheme: 'socks5h', host: '::1', port: 1080, user: 'us@er', password: 'p:ss' }],
  ['socks5://h:443', { scheme: 'socks5', host: 'h', port: 443, user: '', password: '' }],
] as const)('a proxy is read: %s', (text, proxy) => {
  expect(parseProxy(text)).toEqual({ ok: true, value: proxy });
});

test.each([
  '',
  'proxy.lan:3128',
  'ftp://proxy.lan',
  'http://',
  'http://u:p%0A@h',
  'http://h/path',
  'http://:p@h',
  'http://u%3A:p@h',
  'http://u:%ff@h',
  'socks5://h:70000',
])('a proxy is refused, without a word of it: %s', (text) => {
  const parsed = parseProxy(text);
  expect(parsed.ok).toBe(false);
});

test.each(['corp..lan/', 'a b', '10.0.0.0/33', 'http://corp.lan', '*.*'])('no host: %s', (text) => {
  expect(parseDirectHosts(`ok.lan, ${text}`)).toEqual({ ok: false, error: text });
});

test.each(['fd00::1', '[fd00::1]', 'fd00::/8'])('a direct IPv6 address, as it stands in addresses too: %s', (text) => {
  const hosts = parseDirectHosts(text);
  expect([hosts.ok && hosts.value('[fd00::1]'), hosts.ok && hosts.value('[2001:db8::1]')]).toEqual([true, false]);
});

describe('names with several addresses (RFC 8305)', () => {
  const dial = async (open: (address: string) => Socket, ...addresses: string[]) => {
    const socket = await connectFirst(addresses, open, new AbortController().signal);
    socket.destroy();
  };

  test('a first address that is silent costs less than 300 ms, one that refuses nothing', async () => {
    const vendor = await readVendor(() => {});
    const silent: Socket[] = [];
    const open = (address: string) => {
      if (address !== 'silent') return connect({ host: '127.0.0.1', port: address === 'live' ? vendor.port : 1 });
      const socket = new Socket();
      silent.push(socket);
      return socket;
    };
    expect(await quietMs(() => dial(open, 'silent', 'live'), { limitMs: 300 })).toBeLessThan(300);
    expect(silent.every(({ destroyed }) => destroyed)).toBe(true);
    expect(await quietMs(() => dial(open, 'refusing', 'live'), { limitMs: 150 })).toBeLessThan(150);
    await expect(dial(open, 'refusing', 'refusing')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  test('the families take turns, beginning with that of the first address', () => {
    const resolved = ['2001:db8::1', '2001:db8::2', '192.0.2.1'].map((address) => ({
      address,
      family: address.includes(':') ? 6 : 4,
    }));
    expect(alternateFamilies(resolved)).toEqual(['2001:db8::1', '192.0.2.1', '2001:db8::2']);
  });
});
