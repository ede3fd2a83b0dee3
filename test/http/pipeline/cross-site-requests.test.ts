import { describe, expect, test } from 'bun:test';
import { call, openKit } from '../kit-harness.ts';

describe('origin guard of refresh and logout', () => {
  const TRUSTED = ['https://panel.example.com', 'https://other.example.com:8443'];
  const rows: [name: string, headers: Record<string, string>, status: number][] = [
    ['its own origin', { origin: 'http://gateway.local' }, 200],
    ['a trusted origin', { origin: 'https://panel.example.com' }, 200],
    ['a trusted origin with a port', { origin: 'https://other.example.com:8443' }, 200],
    ['a trusted origin in capitals', { origin: 'https://PANEL.example.com' }, 200],
    ['neither header: cross-site POST without Origin', {}, 403],
    ['another site', { origin: 'https://evil.example' }, 403],
    ['the trusted name as a prefix', { origin: 'https://panel.example.com.evil.example' }, 403],
    ['the trusted name as a suffix', { origin: 'https://evilpanel.example.com' }, 403],
    ['a subdomain', { origin: 'https://sub.panel.example.com' }, 403],
    ['the wrong port', { origin: 'https://panel.example.com:8443' }, 403],
    ['plain http of a trusted name', { origin: 'http://panel.example.com' }, 403],
    [
      'https claimed for the own host, TLS not ours',
      { origin: 'https://gateway.local', 'x-forwarded-proto': 'https' },
      403,
    ],
    ['an opaque origin', { origin: 'null' }, 403],
    ['an empty origin', { origin: '' }, 403],
    ['no URL', { origin: 'panel.example.com' }, 403],
    ['an origin with a path', { origin: 'https://panel.example.com/' }, 403],
    ['user info', { origin: 'https://panel.example.com@evil.example' }, 403],
    ['two origins', { origin: 'https://panel.example.com, https://evil.example' }, 403],
    ['an extension', { origin: 'chrome-extension://abcdef' }, 403],
    [
      'a bad origin beside a good referer',
      { origin: 'https://evil.example', referer: 'https://panel.example.com/' },
      403,
    ],
    ['a good referer alone', { referer: 'https://panel.example.com/sign-in?x=1' }, 200],
    ['its own referer alone', { referer: 'http://gateway.local/' }, 200],
    ['a foreign referer', { referer: 'https://evil.example/?https://panel.example.com/' }, 403],
    ['a referer with user info', { referer: 'https://panel.example.com:x@evil.example/' }, 403],
    ['two referers', { referer: 'https://panel.example.com/, https://evil.example/' }, 403],
    ['two referers, the second no address', { referer: 'https://panel.example.com/, about:blank' }, 403],
    ['two referers, the first no address', { referer: 'about:blank, https://panel.example.com/' }, 403],
    ['an empty referer', { referer: '' }, 403],
    [
      'a referer that hides a second behind a bare comma',
      { referer: 'https://panel.example.com/,https://x.example' },
      403,
    ],
    ['an empty origin beside a good referer', { origin: '', referer: 'https://panel.example.com/' }, 403],
    ['an opaque origin beside a good referer', { origin: 'null', referer: 'https://panel.example.com/' }, 403],
    ['two equal origins', { origin: 'https://panel.example.com, https://panel.example.com' }, 403],
    ['a trailing comma', { origin: 'https://panel.example.com,' }, 403],
    ['the default port written out', { origin: 'https://panel.example.com:443' }, 403],
    ['a trailing dot', { origin: 'https://panel.example.com.' }, 403],
    ['user info that looks like the trusted name', { origin: 'https://panel.example.com:443@evil.example' }, 403],
    ['an escaped name', { origin: 'https://panel%2eexample.com' }, 403],
    ['a fetch header that only claims the same origin', { 'sec-fetch-site': 'same-origin' }, 403],
    ['a referer that is not a URL', { referer: 'about:blank' }, 403],
  ];
  test.each(rows)('%s', async (_name, headers, status) => {
    const app = openKit({ config: { secureCookies: true, trustedOrigins: TRUSTED } });
    const answer = await call(app, { method: 'POST', path: '/api/refresh', headers });
    expect(answer.status).toBe(status);
    if (status === 403) expect(answer.json.code).toBe('AUTH_ORIGIN_FORBIDDEN');
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
  });

  test('is off without secure cookies', async () => {
    const answer = await call(openKit(), {
      method: 'POST',
      path: '/api/refresh',
      headers: { origin: 'https://evil.example' },
    });
    expect(answer.status).toBe(200);
  });

  test.each([
    ['x-forwarded-proto', 'https'],
    ['x-forwarded-host', 'evil.example'],
    ['forwarded', 'host=evil.example;proto=https'],
    ['x-forwarded-ssl', 'on'],
    ['front-end-https', 'on'],
  ])('forged forwarding: %s does not move the own origin, even from a trusted proxy', async (name, value) => {
    const app = openKit({ config: { secureCookies: true, trustedProxies: ['10.0.0.0/8'] } });
    const send = (origin: string) =>
      call(app, { method: 'POST', path: '/api/refresh', peer: '10.0.0.2', headers: { origin, [name]: value } });
    for (const origin of ['https://gateway.local', 'https://evil.example', 'http://evil.example']) {
      expect((await send(origin)).status).toBe(403);
    }
    expect((await send('http://gateway.local')).status).toBe(200);
  });

  test('without trusted URLs only the exact own origin passes', async () => {
    const app = openKit({ config: { secureCookies: true } });
    const send = (host: string, origin: string) =>
      call(app, { method: 'POST', path: '/api/refresh', headers: { host, origin } });
    expect((await send('gateway.local:3000', 'http://gateway.local:3000')).status).toBe(200);
    expect((await send('gateway.local:3000', 'http://gateway.local')).status).toBe(403);
    expect((await send('gateway.local:80', 'http://gateway.local')).status).toBe(200);
    expect((await send('gateway.local', 'https://gateway.local')).status).toBe(403);
    expect((await send('GATEWAY.local', 'http://gateway.local')).status).toBe(200);
    expect((await send('x@gateway.local', 'http://gateway.local')).status).toBe(403);
    expect((await send('', 'http://')).status).toBe(403);
  });

  test('accepts the own https origin when the listener itself speaks TLS', async () => {
    const app = openKit({ config: { secureCookies: true, tls: true } });
    const send = (origin: string) => call(app, { method: 'POST', path: '/api/refresh', headers: { origin } });
    expect((await send('https://gateway.local')).status).toBe(200);
    expect((await send('http://gateway.local')).status).toBe(403);
  });
});

describe('session cookies', () => {
  const write = async (secure: boolean, path: string) => {
    const app = openKit({ config: { secureCookies: secure } });
    return (await call(app, { method: 'POST', path })).headers.getSetCookie();
  };
  /** Sorts the attributes, because their order does not matter. */
  const parse = (cookie: string) => {
    const [pair = '', ...attributes] = cookie.split('; ');
    return { pair, attributes: attributes.sort() };
  };

  test('over plain http', async () => {
    expect((await write(false, '/api/cookies/write')).map(parse)).toEqual([
      {
        pair: 'svc_refresh=sid.secret',
        attributes: [
          'Expires=Mon, 12 Jan 1970 13:47:40 GMT',
          'HttpOnly',
          'Max-Age=60',
          'Path=/api/user/auth',
          'SameSite=Strict',
        ],
      },
      {
        pair: 'svc_has_session=1',
        attributes: ['Expires=Mon, 12 Jan 1970 13:47:40 GMT', 'Max-Age=60', 'Path=/', 'SameSite=Strict'],
      },
    ]);
  });

  test('in secure mode', async () => {
    expect((await write(true, '/api/cookies/write')).map(parse)).toEqual([
      {
        pair: '__Secure-svc_refresh=sid.secret',
        attributes: [
          'Expires=Mon, 12 Jan 1970 13:47:40 GMT',
          'HttpOnly',
          'Max-Age=60',
          'Path=/api/user/auth',
          'SameSite=Strict',
          'Secure',
        ],
      },
      {
        pair: 'svc_has_session=1',
        attributes: ['Expires=Mon, 12 Jan 1970 13:47:40 GMT', 'Max-Age=60', 'Path=/', 'SameSite=Strict', 'Secure'],
      },
    ]);
  });

  test('are cleared by a refusal on their own paths, even if the request carried none', async () => {
    const cookies = (await write(false, '/api/cookies/refuse')).map(parse);
    expect(cookies.map(({ pair }) => pair)).toEqual(['svc_refresh=', 'svc_has_session=']);
    expect(cookies.map(({ attributes }) => attributes.includes('Max-Age=0'))).toEqual([true, true]);
    expect(cookies.map(({ attributes }) => attributes.find((attribute) => attribute.startsWith('Path=')))).toEqual([
      'Path=/api/user/auth',
      'Path=/',
    ]);
  });

  test.each([
    ['nothing', '', null],
    ['a token', 'svc_refresh=abc.def', 'abc.def'],
    ['an empty value', 'svc_refresh=', null],
    ['JSON in a cookie', 'svc_refresh={"a":1}', 'malformed'],
    ['a number', 'svc_refresh=17', '17'],
    ['another cookie', 'svc_has_session=1', null],
    ['the secure name in plain mode', '__Secure-svc_refresh=abc.def', null],
  ])('reads %s', async (_name, cookie, read) => {
    const answer = await call(openKit(), { path: '/api/cookies/read', headers: { cookie } });
    expect(answer.json.data).toBe(read);
  });
});

describe('pages of other sites', () => {
  const app = openKit();
  const rows: [path: string, as: string, open: boolean][] = [
    ['/v1/things/7', 'sk-good', true],
    ['/v1/things/7', '', true],
    ['/v1/files/7', '', true],
    ['/v1/none', '', true],
    ['/v1/crash', 'sk-good', true],
    ['/api/open', '', false],
    ['/api/self', 'user', false],
    ['/api/none', '', false],
    ['/livez', '', false],
    ['/metrics', '', false],
    ['/', '', false],
  ];
  test.each(rows)('%s as "%s" may be read: %p', async (path, as, open) => {
    const answer = await call(app, { path, as, headers: { origin: 'https://evil.example' } });
    expect(answer.headers.get('access-control-allow-origin')).toBe(open ? '*' : null);
    expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
  });

  test('a preflight is answered on API-key routes', async () => {
    const answer = await call(app, {
      method: 'OPTIONS',
      path: '/v1/things',
      headers: {
        origin: 'https://app.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type,x-stainless-os',
      },
    });
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
    expect(answer.headers.get('access-control-allow-methods')).toBe('POST');
    expect(answer.headers.get('access-control-allow-headers')).toBe('authorization,content-type,x-stainless-os');
  });

  test('a preflight does not allow a malformed header list', async () => {
    const answer = await call(app, {
      method: 'OPTIONS',
      path: '/v1/things',
      headers: { 'access-control-request-headers': 'a: b' },
    });
    expect(answer.headers.get('access-control-allow-headers')).toBe('authorization, content-type');
  });

  test.each(['/api/self', '/api/refresh', '/api/thing', '/livez'])('a preflight on %s is refused', async (path) => {
    const answer = await call(app, { method: 'OPTIONS', path, headers: { origin: 'https://evil.example' } });
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([405, null]);
  });
});

describe('headers of every response', () => {
  const app = openKit();
  test.each(['/api/open', '/api/none', '/api/crash', '/v1/none', '/livez', '/metrics', '/nowhere'])(
    '%s',
    async (path) => {
      const { headers } = await call(app, { path });
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
      expect(headers.get('cache-control')).toBe(/^\/(?:api|v1)\//.test(path) ? 'no-store' : null);
      expect(headers.get('x-powered-by')).toBeNull();
      expect(headers.get('strict-transport-security')).toBeNull();
    },
  );

  test('a listener with TLS sends Strict-Transport-Security', async () => {
    const { headers } = await call(openKit({ config: { tls: true } }), { path: '/api/open' });
    expect(headers.get('strict-transport-security')).toBe('max-age=31536000');
  });
});
