import { describe, expect, test } from 'bun:test';
import { type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import { deriveSessionKeys } from '../../src/auth/derive-keys.ts';
import { createAccessTokens } from '../../src/auth/tokens/access-tokens.ts';
import { claimsToBeOurs } from '../../src/auth/tokens/panel-jwt.ts';
import { createVerifiedMemory } from '../../src/auth/tokens/remember-verified.ts';
import { newUuid } from '../../src/kernel/index.ts';
import { refusal } from './refusal.ts';
import { createTestClock } from './test-clock.ts';

const SECRET = 'the current secret';
const keys = deriveSessionKeys([SECRET]);
const subject = { userId: 7, sid: newUuid(), userAuthVersion: 3, sessionVersion: 2 };

function arrange() {
  const clock = createTestClock();
  const tokens = createAccessTokens(keys.access, clock);
  const now = clock.unix();
  /** A token as ours, changed where a test says. */
  const forge = (
    claims: JWTPayload = {},
    { alg = 'HS256', key = keys.access[0], header = {} }: { alg?: string; key?: Uint8Array; header?: object } = {},
  ) =>
    new SignJWT({
      token_use: 'access',
      sid: subject.sid,
      uv: 3,
      sv: 2,
      iss: 'taskgate',
      aud: 'taskgate-panel',
      sub: '7',
      iat: now,
      nbf: now - 5,
      exp: now + 900,
      jti: newUuid(),
      ...claims,
    })
      .setProtectedHeader({ alg, typ: 'JWT', ...header })
      .sign(key);
  return { clock, tokens, now, forge };
}

describe('access tokens', () => {
  test('live 15 minutes and carry versions, not roles', async () => {
    const { clock, tokens, now } = arrange();
    const { token, expiresAt } = await tokens.sign(subject, now + 10_000);
    expect(expiresAt).toBe(now + 900);
    expect(await tokens.verify(token)).toEqual({ ...subject, issuedAt: now, expiresAt });
    clock.advance(904);
    expect((await tokens.verify(token)).userId).toBe(7);
    clock.advance(1);
    await refusal(tokens.verify(token), 'auth.token_expired');
  });

  test('never outlive their session', async () => {
    const { tokens, now } = arrange();
    expect((await tokens.sign(subject, now + 60)).expiresAt).toBe(now + 60);
  });

  test('the forged token of the other tests is right where nothing is changed', async () => {
    const { tokens, forge } = arrange();
    expect((await tokens.verify(await forge())).sid).toBe(subject.sid);
  });

  test('of a previous secret are recognised, and never made', async () => {
    const { clock, tokens, now } = arrange();
    const { token } = await tokens.sign(subject, now + 900);
    const rotated = createAccessTokens(deriveSessionKeys(['a new secret', SECRET]).access, clock);
    expect((await rotated.verify(token)).userId).toBe(7);
    await refusal(tokens.verify((await rotated.sign(subject, now + 900)).token), 'auth.unauthorized');
    const forgotten = createAccessTokens(deriveSessionKeys(['a new secret']).access, clock);
    await refusal(forgotten.verify(token), 'auth.unauthorized');
  });

  test('an expired token of a previous secret is expired, not unknown', async () => {
    const { clock, forge, now } = arrange();
    const rotated = createAccessTokens(deriveSessionKeys(['a new secret', SECRET]).access, clock);
    await refusal(rotated.verify(await forge({ exp: now - 6 })), 'auth.token_expired');
  });
});

describe('attacks on access tokens', () => {
  test('alg none', async () => {
    const { tokens, now } = arrange();
    const unsigned = new UnsecuredJWT({ token_use: 'access', sid: subject.sid, uv: 3, sv: 2, jti: newUuid() })
      .setIssuer('taskgate')
      .setAudience('taskgate-panel')
      .setSubject('7')
      .setIssuedAt(now)
      .setNotBefore(now)
      .setExpirationTime(now + 900)
      .encode();
    expect(claimsToBeOurs(unsigned)).toBe(true);
    await refusal(tokens.verify(unsigned), 'auth.unauthorized');
  });

  test('signature stripped or tampered with', async () => {
    const { tokens, forge } = arrange();
    const token = await forge();
    const [header, payload, signature] = token.split('.') as [string, string, string];
    const flipped = `${signature[0] === 'A' ? 'B' : 'A'}${signature.slice(1)}`;
    for (const attack of [`${header}.${payload}.`, `${header}.${payload}`, `${header}.${payload}.${flipped}`]) {
      await refusal(tokens.verify(attack), 'auth.unauthorized');
    }
  });

  for (const alg of ['HS384', 'HS512']) {
    test(`another algorithm of the same key: ${alg}`, async () => {
      const { tokens, forge } = arrange();
      const key = new Uint8Array(64);
      key.set(keys.access[0]);
      await refusal(tokens.verify(await forge({}, { alg, key })), 'auth.unauthorized');
    });
  }

  test('an asymmetric algorithm', async () => {
    const { tokens, now } = arrange();
    const { privateKey } = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, [
      'sign',
      'verify',
    ]);
    const token = await new SignJWT({ token_use: 'access', sid: subject.sid, uv: 3, sv: 2, exp: now + 900 })
      .setProtectedHeader({ alg: 'ES256' })
      .sign(privateKey);
    await refusal(tokens.verify(token), 'auth.unauthorized');
  });

  test('a key brought along in jwk, jku, x5u or kid', async () => {
    const { tokens, forge } = arrange();
    const key = new Uint8Array(32).fill(7);
    const asked: string[] = [];
    const server = Bun.serve({
      port: 0,
      fetch(request) {
        asked.push(request.url);
        return Response.json({ keys: [{ kty: 'oct', k: Buffer.from(key).toString('base64url'), kid: 'mine' }] });
      },
    });
    const url = `http://127.0.0.1:${server.port}/keys`;
    const headers = [
      { jwk: { kty: 'oct', k: Buffer.from(key).toString('base64url') } },
      { jku: url, kid: 'mine' },
      { x5u: url },
      { kid: '../../dev/null' },
    ];
    for (const header of headers) {
      await refusal(tokens.verify(await forge({}, { key, header })), 'auth.unauthorized');
      // With the right key the same header changes nothing.
      expect((await tokens.verify(await forge({}, { header }))).userId).toBe(7);
    }
    expect(asked).toEqual([]);
    await server.stop(true);
  });

  test('a critical extension that is not understood', async () => {
    const { tokens, forge } = arrange();
    const token = await forge({}, { header: { crit: ['b64'], b64: true } });
    const [, payload, signature] = token.split('.') as [string, string, string];
    const header = Buffer.from(JSON.stringify({ alg: 'HS256', crit: ['x-role'], 'x-role': 100 })).toString('base64url');
    await refusal(tokens.verify(`${header}.${payload}.${signature}`), 'auth.unauthorized');
  });

  const now = createTestClock().unix();
  const wrongClaims: [attack: string, claims: JWTPayload, code?: string][] = [
    ['expired', { exp: now - 6 }, 'auth.token_expired'],
    ['not yet valid', { nbf: now + 120 }],
    ['issued in the future', { iat: now + 120 }],
    ['another issuer', { iss: 'new-api' }],
    ['another audience', { aud: 'taskgate-v1' }],
    ['ours among several audiences', { aud: ['taskgate-panel', 'elsewhere'] }],
    ['a security proof used as access token', { token_use: 'security_proof' }],
    ['no token type', { token_use: undefined }],
    ['no expiry', { exp: undefined }],
    ['no start', { nbf: undefined }],
    ['no issue time', { iat: undefined }],
    ['no token id', { jti: undefined }],
    ['no subject', { sub: undefined }],
    ['no session', { sid: undefined }],
    ['a subject that is no user id', { sub: '7 or 1=1' }],
    ['a negative subject', { sub: '-7' }],
    ['versions as text', { uv: '3', sv: '2' }],
    ['no versions', { uv: undefined, sv: undefined }],
  ];
  for (const [attack, claims, code = 'auth.unauthorized'] of wrongClaims) {
    test(`wrong claims: ${attack}`, async () => {
      const { tokens, forge } = arrange();
      await refusal(tokens.verify(await forge(claims)), code);
    });
  }

  test('a key of another purpose', async () => {
    const { tokens, forge } = arrange();
    for (const key of [keys.refreshDigest[0], keys.refreshSuccessor[0], Buffer.from(SECRET)]) {
      await refusal(tokens.verify(await forge({}, { key })), 'auth.unauthorized');
    }
  });

  test('a refused token is refused again, and a remembered one is not confused with a longer one', async () => {
    const { tokens, forge } = arrange();
    const good = await forge();
    await tokens.verify(good);
    await refusal(tokens.verify(`${good}A`), 'auth.unauthorized');
    await refusal(tokens.verify(`${good}A`), 'auth.unauthorized');
    await tokens.verify(good);
  });
});

test('a string is one of our tokens by issuer, audience and type, valid or not', async () => {
  const { forge } = arrange();
  expect(claimsToBeOurs(await forge({ exp: 1 }))).toBe(true);
  expect(claimsToBeOurs(await forge({ token_use: 'security_proof' }))).toBe(true);
  expect(claimsToBeOurs(await forge({ aud: ['taskgate-panel', 'x'] }))).toBe(true);
  expect(claimsToBeOurs(await forge({ iss: 'someone' }))).toBe(false);
  expect(claimsToBeOurs(await forge({ token_use: 'other' }))).toBe(false);
  for (const text of ['', 'a', 'a.b.c', 'tgp_abc.def', 'sk-abc']) expect(claimsToBeOurs(text)).toBe(false);
});

test('the memory of verified tokens is bounded and drops the least recently used', () => {
  const memory = createVerifiedMemory(2);
  const claims = { ...subject, issuedAt: 1, expiresAt: 2 };
  memory.put('a', claims);
  memory.put('b', claims);
  expect(memory.get('a')).toEqual(claims);
  memory.put('c', claims);
  expect(memory.get('b')).toBeUndefined();
  expect(memory.get('a')).toEqual(claims);
  expect(memory.get('c')).toEqual(claims);
});
