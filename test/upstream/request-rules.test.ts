import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { canonicalHost, readBaseAddress, type Upstream } from '../../src/upstream/index.ts';
import { get, type RawServer, reply, startRawServer, testUpstream } from './harness.ts';

let server: RawServer;
let upstream: Upstream;
beforeAll(async () => {
  server = await startRawServer(({ socket }) => void socket.write(reply('ok')));
  upstream = testUpstream();
});
afterAll(async () => {
  await upstream.close();
  await server.stop();
});

const SECRET = 'sk-very-secret-value';

async function expectRefused(changes: Parameters<typeof get>[1], url = `${server.url}/`) {
  const before = server.exchanges.length;
  const result = await upstream.request(get(url, changes));
  expect(result).toMatchObject({ ok: false, error: { kind: 'refused', notSent: true } });
  if (!result.ok) {
    expect(result.error.message).not.toContain(SECRET);
    expect(result.error.message).not.toContain('127.0.0.1');
  }
  expect(server.exchanges.length).toBe(before);
}

describe('header smuggling', () => {
  const attacks: [string, Record<string, string>][] = [
    ['CR LF in a value', { 'x-a': `${SECRET}\r\nX-Injected: 1` }],
    ['bare LF in a value', { 'x-a': `${SECRET}\nX-Injected: 1` }],
    ['bare CR in a value', { 'x-a': `${SECRET}\rX` }],
    ['NUL in a value', { 'x-a': `${SECRET}\0` }],
    ['a value beyond Latin-1 that folds to CR LF', { 'x-a': `${SECRET}\u010d\u010a` }],
    ['CR LF in a name', { 'x-a\r\nx-b': SECRET }],
    ['a space in a name', { 'content-length ': '5' }],
    ['a colon in a name', { 'x:y': '1' }],
    ['an empty name', { '': '1' }],
    ['a value of 8193 characters', { 'x-a': 'a'.repeat(8193) }],
    ['65 headers', Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`x-${i}`, '1']))],
  ];
  for (const [name, headers] of attacks) test(name, () => expectRefused({ headers }));

  for (const name of [
    'host',
    'content-length',
    'accept-encoding',
    'connection',
    'proxy-connection',
    'keep-alive',
    'proxy-authorization',
    'te',
    'trailer',
    'transfer-encoding',
    'upgrade',
    'Transfer-Encoding',
    'HOST',
  ]) {
    test(`the header ${name} is the client's own`, () => expectRefused({ headers: { [name]: 'x' } }));
  }

  test('a value of 8192 characters passes', async () => {
    const result = await upstream.request(get(`${server.url}/`, { headers: { 'x-long': 'a'.repeat(8192) } }));
    expect(result.ok).toBe(true);
    if (result.ok) await result.value.text();
  });
});

describe('URLs', () => {
  for (const url of [
    'ftp://127.0.0.1/',
    'file:///etc/passwd',
    'gopher://127.0.0.1/',
    'data:text/plain,x',
    '/relative',
    'not a url',
    '',
    'http://',
    `http://user:${SECRET}@vendor.test/`,
    'http://user@vendor.test/',
    'http://vendor.test/#fragment',
    'http://vendor.test/#',
    ' http://vendor.test/',
    'http://vendor.test/ ',
    'http://vendor.test/a b',
    'http://ven\tdor.test/',
    'http://vendor.test/\r\nX-Injected: 1',
  ]) {
    test(JSON.stringify(url), () => expectRefused({}, url));
  }

  test('methods that open tunnels or echo headers', async () => {
    for (const method of ['CONNECT', 'TRACE', 'get', 'GET / HTTP/1.1\r\nX: ', '']) await expectRefused({ method });
  });

  test('canonical host: lower case, no default port', () => {
    const cases = {
      'https://API.Vendor.TEST/v1': 'api.vendor.test',
      'https://vendor.test:443/': 'vendor.test',
      'http://vendor.test:80/': 'vendor.test',
      'http://vendor.test:443/': 'vendor.test:443',
      'https://vendor.test:8443/': 'vendor.test:8443',
      'http://2130706433:4010/': '127.0.0.1:4010',
      'http://[::1]:80/': '[::1]',
    };
    for (const [url, host] of Object.entries(cases)) expect(canonicalHost(new URL(url))).toBe(host);
  });

  test('a base address says its host and whether it has TLS; a text that is none says nothing', () => {
    const read = ['https://API.Vendor.TEST:443/v1', 'http://vendor.test:8080', 'vendor.test', ''].map(readBaseAddress);
    expect(read).toEqual([
      { isSecure: true, host: 'api.vendor.test' },
      { isSecure: false, host: 'vendor.test:8080' },
      undefined,
      undefined,
    ]);
  });
});

describe('what goes out', () => {
  test('the caller headers, our own, and nothing of the environment proxy', async () => {
    const seen = server.exchanges.length;
    const result = await upstream.request(
      get(`${server.url}/path?q=%20a`, {
        method: 'POST',
        headers: { Authorization: 'Bearer x' },
        body: { kind: 'text', text: '{"ü":1}' },
      }),
    );
    if (result.ok) await result.value.text();
    const exchange = server.exchanges[seen];
    expect(exchange?.head).toStartWith('POST /path?q=%20a HTTP/1.1\r\n');
    expect(exchange?.head.toLowerCase().split('\r\n').slice(1).sort()).toEqual([
      'accept-encoding: identity',
      'accept: */*',
      'authorization: bearer x',
      'connection: keep-alive',
      'content-length: 8',
      `host: 127.0.0.1:${server.port}`,
      'user-agent: taskgate',
    ]);
    expect(exchange?.body.toString()).toBe('{"ü":1}');
  });

  test('proxy variables are not obeyed', async () => {
    const child = Bun.spawn(
      [process.execPath, new URL('./ask-once.ts', import.meta.url).pathname, `${server.url}/through-no-proxy`],
      {
        env: {
          HTTP_PROXY: 'http://127.0.0.1:9',
          http_proxy: 'http://127.0.0.1:9',
          ALL_PROXY: 'http://127.0.0.1:9',
          NODE_USE_ENV_PROXY: '1',
        },
      },
    );
    expect(await new Response(child.stdout).text()).toBe('200');
    expect(server.exchanges.at(-1)?.path).toBe('/through-no-proxy');
  });
});
