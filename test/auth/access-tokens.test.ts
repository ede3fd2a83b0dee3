import { describe, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import { exportJWK, exportSPKI, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import type { SessionPrincipal } from '../../src/auth/principals.ts';
import { createSecurityProofs } from '../../src/auth/proofs/security-proofs.ts';
import { createAccessTokens, createVerifiedTokenCache } from '../../src/auth/tokens/access-tokens.ts';
import { claimsToBeOurs } from '../../src/auth/tokens/panel-jwt.ts';
import { deriveSessionKeys } from '../../src/auth/tokens/session-keys.ts';
import { type Clock, newUuid } from '../../src/kernel/index.ts';
import { refusal } from './refusal.ts';
import { createTestClock } from './test-clock.ts';

const SECRET = 'the current secret';
const keys = deriveSessionKeys([SECRET]);
const subject = { userId: 7, sid: newUuid(), userAuthVersion: 3, sessionVersion: 2 };
/** The subject of the tests' tokens. */
const PRINCIPAL: SessionPrincipal = {
  kind: 'session',
  sid: subject.sid,
  sessionVersion: subject.sessionVersion,
  user: {
    id: subject.userId,
    username: 'ada',
    displayName: 'ada',
    passwordHash: null,
    role: 1,
    status: 1,
    email: null,
    group: 'default',
    quota: 0,
    usedQuota: 0,
    walletId: 1,
    budget: null,
    requestsPerMinute: null,
    maxRunning: null,
    requestCount: 0,
    language: 'en',
    authVersion: subject.userAuthVersion,
    linkVersion: 0,
    createdAt: 0,
    lastLoginAt: 0,
  },
};

type Verify = (token: string) => Promise<unknown>;
const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function arrange() {
  const clock = createTestClock();
  const tokens = createAccessTokens(keys.access, clock);
  const now = clock.unix();
  /** A token like ours, with the changes of a test. */
  const forge = (
    claims: JWTPayload = {},
    {
      alg = 'HS256',
      key = keys.access[0],
      header = {},
    }: { alg?: string; key?: Uint8Array | CryptoKey; header?: object } = {},
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
  test('expire after 15 minutes and contain versions, not roles', async () => {
    const { clock, tokens, now } = arrange();
    const { token, expiresAt } = await tokens.sign(subject, now + 10_000);
    expect(expiresAt).toBe(now + 900);
    expect(await tokens.verify(token)).toEqual({ ...subject, issuedAt: now, expiresAt });
    clock.advance(904);
    expect((await tokens.verify(token)).userId).toBe(7);
    clock.advance(1);
    await refusal(tokens.verify(token), 'auth.token_expired');
  });

  test('never expire later than their session', async () => {
    const { tokens, now } = arrange();
    expect((await tokens.sign(subject, now + 60)).expiresAt).toBe(now + 60);
  });

  test('the token that the other tests forge is accepted when nothing is changed', async () => {
    const { tokens, forge } = arrange();
    expect((await tokens.verify(await forge())).sid).toBe(subject.sid);
  });

  test('signed with a previous secret are accepted, and never issued', async () => {
    const { clock, tokens, now } = arrange();
    const { token } = await tokens.sign(subject, now + 900);
    const rotated = createAccessTokens(deriveSessionKeys(['a new secret', SECRET]).access, clock);
    expect((await rotated.verify(token)).userId).toBe(7);
    await refusal(tokens.verify((await rotated.sign(subject, now + 900)).token), 'auth.unauthorized');
    const forgotten = createAccessTokens(deriveSessionKeys(['a new secret']).access, clock);
    await refusal(forgotten.verify(token), 'auth.unauthorized');
  });

  test('an expired token signed with a previous secret is expired, not unknown', async () => {
    const { clock, forge, now } = arrange();
    const rotated = createAccessTokens(deriveSessionKeys(['a new secret', SECRET]).access, clock);
    await refusal(rotated.verify(await forge({ exp: now - 6 })), 'auth.token_expired');
  });
});

/** Both kinds of panel JWT; every attack is tried on both. */
const kinds = [
  {
    kind: 'access token',
    use: 'access',
    other: 'security_proof',
    keys: keys.access,
    otherKeys: keys.proof,
    refused: 'auth.unauthorized',
    expired: 'auth.token_expired',
    createVerify(clock: Clock): Verify {
      const tokens = createAccessTokens(keys.access, clock);
      return (token) => tokens.verify(token);
    },
  },
  {
    kind: 'security proof',
    use: 'security_proof',
    other: 'access',
    keys: keys.proof,
    otherKeys: keys.access,
    refused: 'security_proof.invalid',
    expired: 'security_proof.expired',
    createVerify(clock: Clock): Verify {
      const proofs = createSecurityProofs(keys.proof, clock, () => Promise.resolve(['password']));
      return (token) => proofs.require(PRINCIPAL, token, 'channel.key.read');
    },
  },
] as const;

for (const { kind, use, other, keys: ownKeys, otherKeys, refused, expired, createVerify } of kinds) {
  const arrangeKind = () => {
    const { clock, now, forge } = arrange();
    const own = { token_use: use, method: 'password', scopes: ['channel.key.read'] };
    return {
      now,
      verify: createVerify(clock),
      /** A valid token of this kind, with the changes of a test. */
      forge: (claims: JWTPayload = {}, change: Parameters<typeof forge>[1] = {}) =>
        forge({ ...own, ...claims }, { key: ownKeys[0], ...change }),
    };
  };

  describe(`attacks on a JWT: ${kind}`, () => {
    test('the token that the other tests forge is accepted when nothing is changed', async () => {
      const { verify, forge } = arrangeKind();
      await verify(await forge());
    });

    for (const header of [{ alg: 'none' }, { alg: 'None' }, { alg: 'NONE' }, { alg: '' }, {}]) {
      test(`alg none: ${JSON.stringify(header)}, with and without the old signature`, async () => {
        const { verify, forge } = arrangeKind();
        const [, payload = '', signature = ''] = (await forge()).split('.');
        for (const attack of [`${encode(header)}.${payload}.`, `${encode(header)}.${payload}.${signature}`]) {
          expect(claimsToBeOurs(attack)).toBe(true);
          await refusal(verify(attack), refused);
        }
      });
    }

    test('signature stripped or tampered with', async () => {
      const { verify, forge } = arrangeKind();
      const [header, payload, signature = ''] = (await forge()).split('.');
      const flipped = `${signature[0] === 'A' ? 'B' : 'A'}${signature.slice(1)}`;
      for (const attack of [`${header}.${payload}.`, `${header}.${payload}`, `${header}.${payload}.${flipped}`]) {
        await refusal(verify(attack), refused);
      }
    });

    test('claims changed under the old signature', async () => {
      const { verify, forge } = arrangeKind();
      const [header, , signature] = (await forge()).split('.');
      const [, payload] = (await forge({ sub: '1' })).split('.');
      await refusal(verify(`${header}.${payload}.${signature}`), refused);
    });

    for (const [alg, bytes] of [
      ['HS384', 48],
      ['HS512', 64],
    ] as const) {
      test(`another algorithm of the same key: ${alg}`, async () => {
        const { verify, forge } = arrangeKind();
        const key = new Uint8Array(bytes);
        key.set(ownKeys[0]);
        await refusal(verify(await forge({}, { alg, key })), refused);
      });
    }

    for (const alg of ['RS256', 'PS256', 'ES256', 'EdDSA']) {
      test(`key confusion: ${alg} with its public key brought along, and that public key as the secret of HS256`, async () => {
        const { verify, forge } = arrangeKind();
        const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
        const jwk = await exportJWK(publicKey);
        await refusal(verify(await forge({}, { alg, key: privateKey, header: { jwk } })), refused);
        const secret = new TextEncoder().encode(await exportSPKI(publicKey));
        await refusal(verify(await forge({}, { key: secret, header: { jwk } })), refused);
      });
    }

    test('a key brought along in jwk, jku, x5u, x5c or kid', async () => {
      const { verify, forge } = arrangeKind();
      const key = new Uint8Array(32).fill(7);
      const jwk = { kty: 'oct', k: Buffer.from(key).toString('base64url'), kid: 'mine', alg: 'HS256' };
      const asked: string[] = [];
      const server = Bun.serve({
        port: 0,
        fetch(request) {
          asked.push(request.url);
          return Response.json({ keys: [jwk] });
        },
      });
      try {
        const url = `http://127.0.0.1:${server.port}/keys`;
        const headers = [
          { jwk },
          { jku: url, kid: 'mine' },
          { x5u: url },
          { x5c: [Buffer.from(key).toString('base64')] },
          { kid: '../../dev/null' },
          { kid: "x' union select 'AAAA" },
        ];
        for (const header of headers) {
          await refusal(verify(await forge({}, { key, header })), refused);
          await refusal(verify(await forge({}, { key: new Uint8Array(32), header })), refused);
          // With the right key the same header changes nothing.
          await verify(await forge({}, { header }));
        }
        expect(asked).toEqual([]);
      } finally {
        await server.stop(true);
      }
    });

    test('an unknown critical extension, an unencoded payload, a compressed one', async () => {
      const { verify, forge } = arrangeKind();
      const [, payload = '', signature] = (await forge()).split('.');
      const plain = Buffer.from(payload, 'base64url').toString();
      for (const [header, body] of [
        [{ alg: 'HS256', crit: ['x-role'], 'x-role': 100 }, payload],
        [{ alg: 'HS256', crit: ['b64'], b64: false }, plain],
        [{ alg: 'HS256', zip: 'DEF' }, payload],
      ] as const) {
        await refusal(verify(`${encode(header)}.${body}.${signature}`), refused);
      }
    });

    const now = createTestClock().unix();
    const wrongClaims: [attack: string, claims: JWTPayload, code?: string][] = [
      ['expired', { exp: now - 6 }, expired],
      ['expired a long time ago', { exp: 1 }, expired],
      ['not yet valid', { nbf: now + 120 }],
      ['issued in the future', { iat: now + 120 }],
      ['another issuer', { iss: 'new-api' }],
      ['no issuer', { iss: undefined }],
      ['another audience', { aud: 'taskgate-v1' }],
      ['no audience', { aud: undefined }],
      ['ours among several audiences', { aud: ['taskgate-panel', 'elsewhere'] }],
      ['the other kind of token under the right key', { token_use: other }],
      ['an unknown kind of token', { token_use: 'personal_access_token' }],
      ['no token type', { token_use: undefined }],
      ['no expiry', { exp: undefined }],
      ['no start', { nbf: undefined }],
      ['no issue time', { iat: undefined }],
      ['no token id', { jti: undefined }],
      ['no subject', { sub: undefined }],
      ['no session', { sid: undefined }],
      ['a subject that is not a user id', { sub: '7 or 1=1' }],
      ['a negative subject', { sub: '-7' }],
      ['versions as text', { uv: '3', sv: '2' }],
      ['versions that are not whole numbers', { uv: 3.5, sv: 2 }],
      ['no versions', { uv: undefined, sv: undefined }],
    ];
    for (const [attack, claims, code = refused] of wrongClaims) {
      test(`wrong claims: ${attack}`, async () => {
        const { verify, forge } = arrangeKind();
        await refusal(verify(await forge(claims)), code);
      });
    }

    test('a token of the other kind, as issued', async () => {
      const { verify, forge } = arrangeKind();
      await refusal(verify(await forge({ token_use: other }, { key: otherKeys[0] })), refused);
    });

    test('its own claims signed with a key for another purpose', async () => {
      const { verify, forge } = arrangeKind();
      const others = [otherKeys[0], keys.refreshDigest[0], keys.refreshSuccessor[0], keys.flow[0]];
      for (const key of [...others, Buffer.from(SECRET), new Uint8Array(32)]) {
        await refusal(verify(await forge({}, { key })), refused);
      }
    });

    test('duplicated claims: the last one counts for every reader', async () => {
      const { verify, forge, now } = arrangeKind();
      const [header, payload = ''] = (await forge()).split('.');
      const json = Buffer.from(payload, 'base64url').toString();
      const sign = (text: string) => {
        const signed = `${header}.${Buffer.from(text).toString('base64url')}`;
        return `${signed}.${createHmac('sha256', ownKeys[0]).update(signed).digest('base64url')}`;
      };
      const before = (claim: string) => sign(`{${claim},${json.slice(1)}`);
      const after = (claim: string) => sign(`${json.slice(0, -1)},${claim}}`);
      for (const [name, value] of [
        ['exp', String(now - 100)],
        ['aud', '"elsewhere"'],
        ['iss', '"someone"'],
        ['token_use', `"${other}"`],
        ['sub', '"x"'],
      ] as const) {
        await verify(before(`"${name}":${value}`));
        await refusal(verify(after(`"${name}":${value}`)), name === 'exp' ? expired : refused);
      }
      expect(claimsToBeOurs(before('"iss":"someone"'))).toBe(true);
      expect(claimsToBeOurs(after('"iss":"someone"'))).toBe(false);
      // Added to our token without re-signing, none of this is read.
      const [, longer] = before('"exp":99999999999').split('.');
      await refusal(verify(`${header}.${longer}.${(await forge()).split('.')[2]}`), refused);
    });

    test('huge, deeply nested and malformed tokens are refused', async () => {
      const { verify, forge } = arrangeKind();
      const good = await forge();
      const [header, payload, signature] = good.split('.');
      const attacks = [
        'A'.repeat(4_000_000),
        `${header}.${'A'.repeat(4_000_000)}.${signature}`,
        `${header}.${payload}.${'A'.repeat(4_000_000)}`,
        `${encode({ alg: 'HS256', kid: 'x'.repeat(1_000_000) })}.${payload}.${signature}`,
        `${header}.${Buffer.from(`${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}`).toString('base64url')}.${signature}`,
        '.'.repeat(1_000_000),
        `${good}.${good}`,
        ` ${good}`,
        `${header}.${payload}\0.${signature}`,
        '',
        '..',
        'null.null.null',
        `${encode(null)}.${encode(null)}.`,
        `${encode([])}.${encode([])}.${signature}`,
      ];
      for (const attack of attacks) {
        claimsToBeOurs(attack);
        await refusal(verify(attack), attack === '' && use === 'security_proof' ? 'security_proof.required' : refused);
      }
      await verify(good);
    });
  });
}

test('a refused token is refused again, and a cached one is not confused with a longer one', async () => {
  const { tokens, forge } = arrange();
  const good = await forge();
  await tokens.verify(good);
  await refusal(tokens.verify(`${good}A`), 'auth.unauthorized');
  await refusal(tokens.verify(`${good}A`), 'auth.unauthorized');
  await tokens.verify(good);
});

test('a string counts as our token by issuer, audience and type, valid or not', async () => {
  const { forge } = arrange();
  expect(claimsToBeOurs(await forge({ exp: 1 }))).toBe(true);
  expect(claimsToBeOurs(await forge({ token_use: 'security_proof' }))).toBe(true);
  expect(claimsToBeOurs(await forge({ aud: ['taskgate-panel', 'x'] }))).toBe(true);
  expect(claimsToBeOurs(await forge({ iss: 'someone' }))).toBe(false);
  expect(claimsToBeOurs(await forge({ token_use: 'other' }))).toBe(false);
  for (const text of ['', 'a', 'a.b.c', 'tgp_abc.def', 'sk-abc']) expect(claimsToBeOurs(text)).toBe(false);
});

test('the cache of verified tokens is bounded and evicts the least recently used', () => {
  const memory = createVerifiedTokenCache(2);
  const claims = { ...subject, issuedAt: 1, expiresAt: 2 };
  memory.put('a', claims);
  memory.put('b', claims);
  expect(memory.get('a')).toEqual(claims);
  memory.put('c', claims);
  expect(memory.get('b')).toBeUndefined();
  expect(memory.get('a')).toEqual(claims);
  expect(memory.get('c')).toEqual(claims);
});
