/**
 * OWASP ASVS 5.0, chapters 3, 7 and 9, on the executable: what travels over the wire. Each test
 * name begins with the id of its requirement.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { deriveSessionKeys } from '../../src/auth/tokens/session-keys.ts';
import { newUuid, systemClock } from '../../src/kernel/index.ts';
import { type Answer, ask, type Gateway, ROOT, setUp, startGateway } from '../support/gateway.ts';

const SESSION_SECRET = 'session secret of the wire tests, long enough';
const PANEL_ORIGIN = 'https://panel.example.com';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    env: {
      SESSION_SECRET,
      SESSION_COOKIE_SECURE: 'true',
      SESSION_COOKIE_TRUSTED_URL: PANEL_ORIGIN,
      DEBUG: 'true',
      LOG_LEVEL: 'debug',
    },
  });
  await setUp(gateway);
});
afterAll(() => gateway?.kill());

type SignedIn = { answer: Answer; token: string; sid: string; cookie: string; refreshToken: string };

/** Name and attributes of the cookies that an answer sets. */
const readCookies = ({ headers }: Answer) =>
  headers.getSetCookie().map((line) => {
    const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
    const at = pair.indexOf('=');
    return {
      name: pair.slice(0, at),
      value: pair.slice(at + 1),
      attributes: attributes.map((text) => text.toLowerCase()),
    };
  });

const REFRESH = /^__Secure-svc_refresh_[0-9a-f]{6}$/;

function read(answer: Answer): SignedIn {
  if (answer.status !== 200) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  const { access_token: token, session } = answer.body.data as { access_token: string; session: { sid: string } };
  const { name = '', value: refreshToken = '' } = readCookies(answer).find(({ name }) => REFRESH.test(name)) ?? {};
  return { answer, token, sid: session.sid, refreshToken, cookie: `${name}=${refreshToken}` };
}
const signIn = async () => read(await ask(`${gateway.url}/api/user/login`, { body: ROOT }));
const refresh = (cookie: string, headers: Record<string, string> = { origin: PANEL_ORIGIN }) =>
  ask(`${gateway.url}/api/user/auth/refresh`, { method: 'POST', headers: { cookie, ...headers } });
const readCode = ({ status, body }: Answer) => [status, body.code];

describe('cookies', () => {
  test('ASVS 3.3.1: the refresh cookie is Secure with the prefix __Secure-; its path excludes __Host-', async () => {
    const { answer, cookie } = await signIn();
    for (const set of [answer, await refresh(cookie)]) {
      const cookies = readCookies(set);
      expect(cookies.map(({ name }) => name).sort()).toEqual([expect.stringMatching(REFRESH), 'svc_has_session']);
      for (const { attributes } of cookies) expect(attributes).toContain('secure');
    }
  });

  test('ASVS 3.3.2: both are SameSite=Strict, and the refresh cookie is sent to refresh and logout only', async () => {
    const cookies = readCookies((await signIn()).answer);
    for (const { attributes } of cookies) expect(attributes).toContain('samesite=strict');
    const refreshCookie = cookies.find(({ name }) => REFRESH.test(name));
    expect(refreshCookie?.attributes).toContain('path=/api/user/auth');
    expect(refreshCookie?.attributes.some((attribute) => attribute.startsWith('domain'))).toBe(false);
  });

  test('ASVS 3.3.4: the refresh token is HttpOnly; the cookie that scripts can read holds no credential', async () => {
    const cookies = readCookies((await signIn()).answer);
    expect(cookies.find(({ name }) => REFRESH.test(name))?.attributes).toContain('httponly');
    const hint = cookies.find(({ name }) => name === 'svc_has_session');
    expect([hint?.value, hint?.attributes.includes('httponly')]).toEqual(['1', false]);
  });

  test('ASVS 3.3.4, 14.2.1: the refresh token is only in Set-Cookie, in no body, other header or log line', async () => {
    const answers: Answer[] = [];
    const keep = async (answer: Promise<Answer>) => {
      const kept = await answer;
      answers.push(kept);
      return kept;
    };
    const first = read(await keep(ask(`${gateway.url}/api/user/login`, { body: ROOT })));
    const second = read(await keep(refresh(first.cookie)));
    const third = read(await keep(refresh(second.cookie)));
    const { token } = third;
    await keep(refresh(first.cookie));
    await keep(refresh(third.cookie, { origin: 'https://elsewhere.example' }));
    await keep(refresh(third.cookie, { origin: PANEL_ORIGIN, 'x-auth-session': newUuid() }));
    for (const path of [
      ...['/api/user/self', '/api/user/sessions', '/api/user/1/sessions', '/api/user/2fa/status', '/api/user/token'],
      ...['/api/user/passkey', '/api/audit', '/api/option', '/api/node', '/api/log', '/api/status', '/metrics'],
    ]) {
      const answer = await keep(ask(`${gateway.url}${path}`, { token, headers: { cookie: third.cookie } }));
      expect([path, answer.status]).toEqual([path, 200]);
    }
    await keep(
      ask(`${gateway.url}/api/user/auth/logout`, {
        method: 'POST',
        headers: { cookie: third.cookie, origin: PANEL_ORIGIN },
      }),
    );
    const secrets = [first, second, third].map(({ refreshToken }) => refreshToken.split('.')[1] ?? '');
    expect(new Set(secrets).size).toBe(3);
    const elsewhere = answers.map(({ body, headers }) =>
      JSON.stringify([body, [...headers].filter(([name]) => name !== 'set-cookie')]),
    );
    for (const secret of secrets) {
      expect(secret).toHaveLength(64);
      for (const text of [...elsewhere, gateway.log()]) expect(text.includes(secret)).toBe(false);
    }
  });

  test('ASVS 14.2.1: credentials are read from headers and cookies, never from the URL', async () => {
    const { token, refreshToken } = await signIn();
    for (const name of ['token', 'access_token', 'authorization', 'access', 'key', 'api_key']) {
      expect((await ask(`${gateway.url}/api/user/self?${name}=${token}`)).status).toBe(401);
    }
    const answer = await ask(`${gateway.url}/api/user/auth/refresh?__Secure-svc_refresh=${refreshToken}`, {
      method: 'POST',
      headers: { origin: PANEL_ORIGIN },
    });
    expect(readCode(answer)).toEqual([401, 'AUTH_UNAUTHORIZED']);
    // Logs contain only paths.
    expect(gateway.log().includes(token)).toBe(false);
  });

  test('ASVS 14.3.2: answers of the panel’s API are not cached', async () => {
    const { answer, token } = await signIn();
    for (const sent of [answer, await ask(`${gateway.url}/api/user/self`, { token })]) {
      expect(sent.headers.get('cache-control')).toBe('no-store');
    }
  });
});

describe('cross-site requests', () => {
  test('ASVS 3.5.1: refresh and logout from another origin are refused and end nothing', async () => {
    const { cookie } = await signIn();
    for (const headers of [
      { origin: 'https://elsewhere.example' },
      { origin: 'https://panel.example.com.elsewhere.example' },
      { origin: 'https://sub.panel.example.com' },
      { origin: 'http://panel.example.com' },
      { origin: 'null' },
      { referer: 'https://elsewhere.example/https://panel.example.com/' },
      { 'x-forwarded-proto': 'https' },
      {},
    ] as Record<string, string>[]) {
      for (const step of ['refresh', 'logout']) {
        const answer = await ask(`${gateway.url}/api/user/auth/${step}`, {
          method: 'POST',
          headers: { cookie, ...headers },
        });
        expect([...readCode(answer), readCookies(answer)]).toEqual([403, 'AUTH_ORIGIN_FORBIDDEN', []]);
      }
    }
    expect((await refresh(cookie)).status).toBe(200);
  });

  test('ASVS 3.5.2, 3.5.3, 7.6.2: a session begins only with a JSON body, which no cross-site form can send, and not with GET', async () => {
    const { url } = gateway;
    const form = new FormData();
    for (const [name, value] of Object.entries(ROOT)) form.set(name, value);
    // Another site's `fetch` can send at most bytes without a content type.
    for (const [type, body] of [
      ['text/plain', JSON.stringify(ROOT)],
      ['application/x-www-form-urlencoded', new URLSearchParams(ROOT).toString()],
      ['application/x-www-form-urlencoded', JSON.stringify(ROOT)],
      [undefined, new TextEncoder().encode(JSON.stringify(ROOT))],
      [undefined, form],
    ] as const) {
      const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
      const answer = await fetch(`${url}/api/user/login`, { method: 'POST', headers, body });
      expect([type, answer.status, answer.headers.getSetCookie()]).toEqual([type, 415, []]);
    }
    const query = await ask(`${url}/api/user/login?${new URLSearchParams(ROOT)}`);
    expect([query.status, readCookies(query)]).toEqual([405, []]);
  });

  test('ASVS 3.4.2: scripts of another site cannot read the panel’s API', async () => {
    const { token } = await signIn();
    const answer = await ask(`${gateway.url}/api/user/self`, {
      token,
      headers: { origin: 'https://elsewhere.example' },
    });
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
    const preflight = await fetch(`${gateway.url}/api/user/self`, {
      method: 'OPTIONS',
      headers: { origin: 'https://elsewhere.example', 'access-control-request-headers': 'authorization' },
    });
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([405, null]);
  });
});

describe('self-contained tokens', () => {
  const keys = deriveSessionKeys([SESSION_SECRET]);
  const now = () => systemClock.unix();

  /** An access token like the gateway's own, with the changes of a test. */
  const forge = async (
    sid: string,
    claims: JWTPayload = {},
    {
      alg = 'HS256',
      key = keys.access[0],
      header = {},
    }: { alg?: string; key?: Uint8Array | CryptoKey; header?: object } = {},
  ) =>
    new SignJWT({
      ...{ token_use: 'access', sid, uv: 1, sv: 1, iss: 'taskgate', aud: 'taskgate-panel', sub: '1' },
      ...{ iat: now(), nbf: now() - 5, exp: now() + 900, jti: newUuid() },
      ...claims,
    })
      .setProtectedHeader({ alg, typ: 'JWT', ...header })
      .sign(key);
  const present = async (token: string) => readCode(await ask(`${gateway.url}/api/user/self`, { token }));
  const expectRefused = async (token: string, code = 'AUTH_UNAUTHORIZED') =>
    expect(await present(token)).toEqual([401, code]);

  test('the token that these tests forge is accepted when nothing is changed', async () => {
    expect(await present(await forge((await signIn()).sid))).toEqual([200, undefined]);
  });

  test('ASVS 9.1.1: a token’s signature is checked before its content is used', async () => {
    const { sid, token } = await signIn();
    const [header, payload, signature] = token.split('.');
    const [, other] = (await forge(sid, { sub: '2' })).split('.');
    await expectRefused(`${header}.${other}.${signature}`);
    await expectRefused(`${header}.${payload}.`);
    await expectRefused(await forge(sid, {}, { key: new Uint8Array(32) }));
  });

  test('ASVS 9.1.2: only one algorithm is allowed: not none, not others, not a public key as the secret', async () => {
    const { sid, token } = await signIn();
    const [, payload] = token.split('.');
    for (const alg of ['none', 'None', 'NONE']) {
      await expectRefused(`${Buffer.from(JSON.stringify({ alg, typ: 'JWT' })).toString('base64url')}.${payload}.`);
    }
    for (const alg of ['HS384', 'HS512']) {
      const key = new Uint8Array(64);
      key.set(keys.access[0]);
      await expectRefused(await forge(sid, {}, { alg, key }));
    }
    for (const alg of ['RS256', 'ES256']) {
      const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
      await expectRefused(await forge(sid, {}, { alg, key: privateKey, header: { jwk: await exportJWK(publicKey) } }));
    }
  });

  test('ASVS 9.1.3: keys come from the configuration; jwk, jku, x5u, x5c and kid are ignored', async () => {
    const { sid } = await signIn();
    const key = new Uint8Array(32).fill(7);
    const jwk = { kty: 'oct', k: Buffer.from(key).toString('base64url'), kid: 'mine' };
    const asked: string[] = [];
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch(request) {
        asked.push(request.url);
        return Response.json({ keys: [jwk] });
      },
    });
    try {
      const url = `http://127.0.0.1:${server.port}/keys`;
      for (const header of [
        { jwk },
        { jku: url, kid: 'mine' },
        { x5u: url },
        { x5c: ['AAAA'] },
        { kid: '/dev/null' },
      ]) {
        await expectRefused(await forge(sid, {}, { key, header }));
      }
      expect(asked).toEqual([]);
    } finally {
      await server.stop(true);
    }
  });

  test('ASVS 9.2.1: a token is accepted only while it is valid', async () => {
    const { sid } = await signIn();
    await expectRefused(await forge(sid, { exp: now() - 60 }), 'AUTH_TOKEN_EXPIRED');
    await expectRefused(await forge(sid, { nbf: now() + 60 }));
    await expectRefused(await forge(sid, { iat: now() + 60 }));
    await expectRefused(await forge(sid, { exp: undefined }));
  });

  test('ASVS 9.2.2: a token is accepted only for its purpose: a proof is not an access token, nor the reverse', async () => {
    const { sid, token } = await signIn();
    const asked = await ask(`${gateway.url}/api/verify`, {
      token,
      body: { method: 'password', password: ROOT.password, scope: 'channel.key.read' },
    });
    const { proof_token: proof } = asked.body.data as { proof_token: string };
    await expectRefused(proof);
    await expectRefused(await forge(sid, { token_use: 'security_proof' }));
    await expectRefused(await forge(sid, {}, { key: keys.proof[0] }));
    const begin = await ask(`${gateway.url}/api/channel/1/key`, {
      method: 'POST',
      token,
      headers: { 'x-security-proof': token },
    });
    expect(readCode(begin)).toEqual([403, 'SECURITY_PROOF_INVALID']);
  });

  test('ASVS 9.2.3: a token for another audience is refused', async () => {
    const { sid } = await signIn();
    for (const aud of ['taskgate-v1', undefined, ['taskgate-panel', 'elsewhere']]) {
      await expectRefused(await forge(sid, { aud }));
    }
    await expectRefused(await forge(sid, { iss: 'someone' }));
  });
});
