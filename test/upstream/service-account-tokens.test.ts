import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { generateKeyPairSync } from 'node:crypto';
import { createLocalJWKSet, exportJWK, importSPKI, jwtVerify } from 'jose';
import { type Clock, silentLogger, systemClock } from '../../src/kernel/index.ts';
import { createServiceAccountTokens, createUpstream } from '../../src/upstream/index.ts';

/** A token server that verifies what it is given, and whose next answers a test can script. */
type Answer = { status?: number; body?: unknown; delayMs?: number };

const { privateKey, publicKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
});
const upstream = createUpstream({ allowPrivate: false, clock: systemClock, logger: silentLogger });
let now = 1_790_000_000_000;
const clock: Clock = { ...systemClock, nowMs: () => now, unix: () => Math.floor(now / 1000) };

let server: ReturnType<typeof Bun.serve>;
let lab = '';
let given = 0;
let script: Answer[] = [];
let assertions: { header: unknown; claims: unknown }[] = [];

beforeAll(async () => {
  const jwk = { ...(await exportJWK(await importSPKI(publicKey, 'RS256'))), kid: 'key-1', alg: 'RS256' };
  const keys = createLocalJWKSet({ keys: [jwk] });
  server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const form = new URLSearchParams(await request.text());
      if (request.method !== 'POST' || form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer')
        return Response.json({ error: 'unsupported_grant_type' }, { status: 400 });
      const { payload, protectedHeader } = await jwtVerify(form.get('assertion') ?? '', keys, {
        audience: `${lab}/token`,
        issuer: 'robot@project.example',
        currentDate: new Date(now),
      });
      assertions.push({ header: protectedHeader, claims: payload });
      given += 1;
      const { status = 200, body, delayMs = 0 } = script.shift() ?? {};
      await Bun.sleep(delayMs);
      return Response.json(body ?? { access_token: `token-${given}`, expires_in: 3600, token_type: 'Bearer' }, {
        status,
      });
    },
  });
  lab = `http://127.0.0.1:${server.port}`;
});
afterAll(async () => {
  await server.stop(true);
  await upstream.close();
});
beforeEach(() => {
  given = 0;
  script = [];
  assertions = [];
});

const keyFile = (change: Record<string, unknown> = {}) =>
  JSON.stringify({
    type: 'service_account',
    project_id: 'project-7',
    private_key_id: 'key-1',
    private_key: privateKey,
    client_email: 'robot@project.example',
    token_uri: `${lab}/token`,
    ...change,
  });
const tokens = () => createServiceAccountTokens({ upstream, clock });
const ok = (token: string) => ({ ok: true as const, value: { token, projectId: 'project-7' } });

describe('service-account tokens', () => {
  test('a signed assertion of an hour is exchanged for a token', async () => {
    expect(await tokens().get(keyFile(), lab)).toEqual(ok('token-1'));
    const seconds = now / 1000;
    expect(assertions).toEqual([
      {
        header: { alg: 'RS256', typ: 'JWT', kid: 'key-1' },
        claims: {
          iss: 'robot@project.example',
          sub: 'robot@project.example',
          aud: `${lab}/token`,
          scope: 'https://www.googleapis.com/auth/cloud-platform',
          iat: seconds,
          exp: seconds + 3600,
        },
      },
    ]);
  });

  test('a token serves until five minutes before its end, then a new one is asked for', async () => {
    const source = tokens();
    await source.get(keyFile(), lab);
    now += 54 * 60_000;
    expect(await source.get(keyFile(), lab)).toEqual(ok('token-1'));
    now += 2 * 60_000;
    expect(await source.get(keyFile(), lab)).toEqual(ok('token-2'));
    expect(given).toBe(2);
  });

  test('fifty callers at once share one exchange', async () => {
    const source = tokens();
    script = [{ delayMs: 50 }];
    const all = await Promise.all(Array.from({ length: 50 }, () => source.get(keyFile(), lab)));
    expect(given).toBe(1);
    expect(new Set(all.map((one) => JSON.stringify(one)))).toEqual(new Set([JSON.stringify(ok('token-1'))]));
  });

  test('another key has a token of its own', async () => {
    const source = tokens();
    await source.get(keyFile(), lab);
    expect(await source.get(keyFile({ project_id: 'other' }), lab)).toMatchObject({
      value: { token: 'token-2', projectId: 'other' },
    });
  });

  test('a token server in trouble costs nothing while the old token lives, and is left in peace for ten seconds', async () => {
    const source = tokens();
    await source.get(keyFile(), lab);
    now += 57 * 60_000;
    script = [
      { status: 503, body: {} },
      { status: 503, body: {} },
    ];
    expect(await source.get(keyFile(), lab)).toEqual(ok('token-1'));
    expect(await source.get(keyFile(), lab)).toEqual(ok('token-1'));
    expect(given).toBe(2);
    now += 4 * 60_000;
    expect(await source.get(keyFile(), lab)).toMatchObject({
      ok: false,
      error: { message: 'The token server responded: 503.' },
    });
    expect(await source.get(keyFile(), lab)).toMatchObject({
      ok: false,
      error: { message: 'The token server responded: 503.' },
    });
    expect(given).toBe(3);
    now += 10_000;
    expect(await source.get(keyFile(), lab)).toEqual(ok('token-4'));
  });

  test('a refused token is replaced, at most once a minute', async () => {
    const source = tokens();
    await source.get(keyFile(), lab);
    source.refused(keyFile(), lab);
    expect(await source.get(keyFile(), lab)).toEqual(ok('token-1'));
    now += 61_000;
    source.refused(keyFile(), lab);
    expect(await source.get(keyFile(), lab)).toEqual(ok('token-2'));
  });

  test.each<[name: string, key: () => string, error: string]>([
    ['no JSON', () => 'sk-123', "The channel's key is not a service account key: enter the vendor's whole JSON file."],
    [
      'no address',
      () => keyFile({ client_email: undefined }),
      "The channel's key is not a service account key: client_email is missing.",
    ],
    [
      'no private key',
      () => keyFile({ private_key: '' }),
      "The channel's key is not a service account key: private_key is missing.",
    ],
    [
      'a private key that is none',
      () => keyFile({ private_key: 'abc' }),
      "The service account's private key cannot be read.",
    ],
    [
      'a token server without TLS elsewhere',
      () => keyFile({ token_uri: 'http://tokens.example/token' }),
      "The channel's key is not a service account key: token_uri must be an https address.",
    ],
    [
      'a token server inside the network',
      () => keyFile({ token_uri: 'https://10.0.0.1/token' }),
      "The token server did not respond: The vendor's address is not allowed: private and reserved networks are closed to this request.",
    ],
  ])('a key that cannot be used: %s', async (_name, key, error) => {
    expect(await tokens().get(key(), lab)).toMatchObject({ ok: false, error: { message: error } });
    expect(given).toBe(0);
  });

  test.each<[name: string, answer: Answer, error: string]>([
    [
      'refused',
      { status: 400, body: { error: 'invalid_grant', error_description: 'Invalid JWT Signature.' } },
      'The token server responded: 400 (invalid_grant: Invalid JWT Signature.).',
    ],
    ['without a token', { body: { expires_in: 3600 } }, "The token server's response has no access token."],
    [
      'a token that would split a header',
      { body: { access_token: 'a\r\nb: c' } },
      "The token server's response has no access token.",
    ],
  ])('an answer that helps nobody: %s', async (_name, answer, error) => {
    script = [answer];
    expect(await tokens().get(keyFile(), lab)).toMatchObject({ ok: false, error: { message: error } });
  });
});
