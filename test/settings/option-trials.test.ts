/** Tries the options against servers on loopback that answer well, badly or not at all. */
import { afterAll, describe, expect, test } from 'bun:test';
import { tryOidc } from '../../src/auth/index.ts';
import { createSecretBox, quoted, silentLogger, systemClock } from '../../src/kernel/index.ts';
import { createOptionTrials } from '../../src/settings/option-trials.ts';
import { readOptions } from '../../src/settings/read-options.ts';
import type { OptionTrials, TrialResult } from '../../src/settings/types.ts';
import { createUpstream } from '../../src/upstream/index.ts';

const SECRET = 's3cret with space+plus';
const TOKEN = '123456789:AAbbccddeeffgghhiijjkkllmmnnooppqqr';

const upstream = createUpstream({ allowPrivate: false, clock: systemClock, logger: silentLogger });
const stops: (() => unknown)[] = [() => upstream.close()];
afterAll(async () => {
  for (const stop of stops) await stop();
});

function serve(answer: (request: Request, path: string) => Response | Promise<Response>): string {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request) => answer(request, new URL(request.url).pathname),
  });
  stops.push(() => server.stop(true));
  return `http://127.0.0.1:${server.port}`;
}

const secretBox = createSecretBox(['a secret']);
const SEALED = new Set([
  'alerts.webhook_secret',
  'oidc.client_secret',
  'TurnstileSecretKey',
  'WeChatServerToken',
  'TelegramBotToken',
]);

/** What a receiver answers. */
let receiver: Awaited<ReturnType<Parameters<typeof createOptionTrials>[0]['sendTestWebhook']>> = { fault: quoted('') };

async function attempt(what: keyof OptionTrials, values: Record<string, string>, to?: string): Promise<TrialResult> {
  const stored = Object.entries(values).map(([key, value]) => ({
    key,
    value: SEALED.has(key) ? secretBox.seal(value) : value,
  }));
  const tests = createOptionTrials({
    options: readOptions(stored, secretBox),
    upstream,
    tryOidc: (settings) => tryOidc(upstream, settings, 'https://gate.example/oauth/oidc'),
    sendTestWebhook: async () => receiver,
    tryMail: async (address) => [
      { step: 'connect', ok: true, ...quoted(`Connected for ${address}.`) },
      { step: 'login', ok: false, ...quoted('The server rejected the account or password.') },
    ],
  });
  const result = await tests[what]({ to, language: 'en' });
  expect(JSON.stringify(result)).not.toContain(SECRET);
  expect(JSON.stringify(result)).not.toContain(TOKEN);
  for (const { message } of result.steps) expect(message).toMatch(/^[A-Z0-9].*[.]$/i);
  return result;
}

/** Whether all went well, and the last step. */
const last = ({ ok, steps }: TrialResult) => [ok, steps.at(-1)?.name, steps.at(-1)?.message];

test('webhook: what is missing, an address that may not be called, and what the receiver answered', async () => {
  const set = { 'alerts.webhook_url': 'https://example.org/hook', 'alerts.webhook_secret': 'whsec_x' };
  const missing = 'Set alerts.webhook_url and alerts.webhook_secret first.';
  expect(last(await attempt('webhook', {}))).toEqual([false, 'settings', missing]);
  receiver = { fault: quoted('It is a private address.') };
  expect(last(await attempt('webhook', set))).toEqual([false, 'address', 'It is a private address.']);
  const answer = (httpStatus: number, error = '') => ({ httpStatus, durationMs: 12, error });
  receiver = { delivered: false, delivery: answer(0, 'timeout') };
  expect(last(await attempt('webhook', set))).toEqual([false, 'send', 'The receiver did not respond (timeout).']);
  receiver = { delivered: false, delivery: answer(500) };
  expect(last(await attempt('webhook', set))[2]).toContain('responded with HTTP 500 after 12 ms');
  receiver = { delivered: true, delivery: answer(204) };
  expect(last(await attempt('webhook', set))).toEqual([
    true,
    'send',
    'The receiver responded with HTTP 204 after 12 ms.',
  ]);
});

describe('smtp', () => {
  const set = { SMTPServer: 'mail', SMTPFrom: 'gate@example.org' };
  test('names the options that are missing', async () => {
    expect(last(await attempt('smtp', {}))).toEqual([false, 'settings', 'Set SMTPServer and SMTPFrom first.']);
    expect(last(await attempt('smtp', { ...set, SMTPAccount: 'gate' }, 'a@example.org'))).toEqual([
      false,
      'settings',
      'Set SMTPToken first.',
    ]);
    expect(last(await attempt('smtp', set))).toEqual([false, 'settings', expect.stringContaining('Enter an address')]);
  });
  test('returns the steps of the test mail', async () => {
    const { ok, steps } = await attempt('smtp', set, 'a@example.org');
    expect([ok, steps.map(({ name, ok: good }) => [name, good])]).toEqual([
      false,
      [
        ['connect', true],
        ['login', false],
      ],
    ]);
  });
});

describe('turnstile', () => {
  const given = (verifier: string) => ({
    TurnstileSiteKey: 'site',
    TurnstileSecretKey: SECRET,
    TurnstileVerifyUrl: `${verifier}/siteverify`,
  });
  const verdict = (body: object) => serve(() => Response.json(body));

  test('the secret is sent in the body of a POST', async () => {
    let form: URLSearchParams | undefined;
    const verifier = serve(async (request) => {
      form = new URLSearchParams(await request.text());
      return Response.json({ success: false, 'error-codes': ['invalid-input-response'] });
    });
    expect(last(await attempt('turnstile', given(verifier)))).toEqual([
      true,
      'secret',
      'The verification server accepts the secret key.',
    ]);
    expect(form?.get('secret')).toBe(SECRET);
  });

  const ANSWERS: [name: string, verifier: () => string, ok: boolean, step: string][] = [
    ['a wrong secret', () => verdict({ success: false, 'error-codes': ['invalid-input-secret'] }), false, 'secret'],
    ['a test key', () => verdict({ success: true }), true, 'secret'],
    [
      'an internal error of the verifier',
      () => verdict({ success: false, 'error-codes': ['internal-error'] }),
      false,
      'verdict',
    ],
    ['no verdict', () => verdict({ hello: 1 }), false, 'verdict'],
    ['garbage', () => serve(() => new Response('<html>')), false, 'verdict'],
    ['an error', () => serve(() => new Response('', { status: 500 })), false, 'verdict'],
    ['a redirect', () => serve(() => Response.redirect('http://169.254.169.254/', 302)), false, 'verdict'],
    ['no server at the address', () => 'http://127.0.0.1:1', false, 'connect'],
  ];
  test.each(ANSWERS)('%s', async (_name, verifier, ok, step) => {
    expect(last(await attempt('turnstile', given(verifier()))).slice(0, 2)).toEqual([ok, step]);
  });
  test('names the options that are missing', async () => {
    expect(last(await attempt('turnstile', {}))).toEqual([
      false,
      'settings',
      'Set TurnstileSiteKey and TurnstileSecretKey first.',
    ]);
  });
});

describe('wechat', () => {
  const given = (server: string) => ({ WeChatServerAddress: `${server}/`, WeChatServerToken: SECRET });
  test('the token is sent in a header, never in the URL', async () => {
    const requests: [string, string | null][] = [];
    const server = serve((request) => {
      requests.push([request.url, request.headers.get('authorization')]);
      return Response.json({ success: false, message: 'no such code', data: '' });
    });
    expect(last(await attempt('wechat', given(server))).slice(0, 2)).toEqual([true, 'answer']);
    expect(requests).toEqual([[`${server}/api/wechat/user?code=000000`, SECRET]]);
  });
  const ANSWERS: [name: string, server: () => string, step: string][] = [
    ['a wrong token', () => serve(() => new Response('', { status: 401 })), 'token'],
    ['a user for an invented code', () => serve(() => Response.json({ success: true, data: 'somebody' })), 'answer'],
    ['an error in the right form', () => serve(() => Response.json({ success: false }, { status: 500 })), 'answer'],
    ['another kind of server', () => serve(() => new Response('hello')), 'answer'],
    ['no server at the address', () => 'http://127.0.0.1:1', 'connect'],
  ];
  test.each(ANSWERS)('%s', async (_name, server, step) => {
    expect(last(await attempt('wechat', given(server()))).slice(0, 2)).toEqual([false, step]);
  });
});

test('telegram: checks the form of token and name without a request', async () => {
  const given = (token: string, name = 'gate_bot') => ({ TelegramBotToken: token, TelegramBotName: name });
  expect(last(await attempt('telegram', given(TOKEN))).slice(0, 2)).toEqual([true, 'name']);
  expect(last(await attempt('telegram', given('a token'))).slice(0, 2)).toEqual([false, 'token']);
  expect(last(await attempt('telegram', given(TOKEN, 'gatekeeper'))).slice(0, 2)).toEqual([false, 'name']);
  expect(last(await attempt('telegram', {})).slice(0, 2)).toEqual([false, 'settings']);
});

describe('oidc', () => {
  type Provider = {
    about?: (base: string) => object;
    keys?: object;
    token?: (form: URLSearchParams, authorization: string | null) => Response;
  };
  const KEYS = { keys: [{ kty: 'RSA', use: 'sig', kid: '1', n: 'x', e: 'AQAB' }] };
  const invalidGrant = () => Response.json({ error: 'invalid_grant' }, { status: 400 });
  const about = (base: string) => ({
    issuer: base,
    authorization_endpoint: `${base}/authorize`,
    token_endpoint: `${base}/token`,
    jwks_uri: `${base}/keys`,
  });

  function startProvider(provider: Provider = {}): string {
    const base: string = serve(async (request, path) => {
      if (path === '/.well-known/openid-configuration') return Response.json((provider.about ?? about)(base));
      if (path === '/keys') return Response.json(provider.keys ?? KEYS);
      if (path !== '/token') return new Response('', { status: 404 });
      const form = new URLSearchParams(await request.text());
      return (provider.token ?? invalidGrant)(form, request.headers.get('authorization'));
    });
    return base;
  }
  const given = (base: string) => ({
    'oidc.client_id': 'gate',
    'oidc.client_secret': SECRET,
    'oidc.well_known': `${base}/.well-known/openid-configuration`,
  });
  const run = (provider: Provider) => attempt('oidc', given(startProvider(provider)));

  test('a working provider passes discovery, keys and client', async () => {
    const seen: [URLSearchParams, string | null][] = [];
    const token = (form: URLSearchParams, authorization: string | null) => {
      seen.push([form, authorization]);
      return invalidGrant();
    };
    const { ok, steps } = await run({ token });
    expect([ok, steps.map(({ name }) => name)]).toEqual([true, ['discovery', 'keys', 'client']]);
    const [form, authorization] = seen[0] ?? [];
    expect(form?.get('redirect_uri')).toBe('https://gate.example/oauth/oidc');
    expect(form?.has('client_secret')).toBe(false);
    expect(authorization).toBe(`Basic ${Buffer.from('gate:s3cret+with+space%2Bplus').toString('base64')}`);

    const posted = {
      ...{ token },
      about: (base: string) => ({ ...about(base), token_endpoint_auth_methods_supported: ['client_secret_post'] }),
    };
    expect((await run(posted)).ok).toBe(true);
    expect([seen[1]?.[0].get('client_id'), seen[1]?.[0].get('client_secret'), seen[1]?.[1]]).toEqual([
      'gate',
      SECRET,
      null,
    ]);
  });

  const REFUSED: [name: string, provider: Provider, step: string][] = [
    ['another issuer', { about: (base) => ({ ...about(base), issuer: 'https://other.example' }) }, 'discovery'],
    ['no issuer', { about: (base) => ({ ...about(base), issuer: undefined }) }, 'discovery'],
    ['no endpoints', { about: (base) => ({ ...about(base), token_endpoint: undefined }) }, 'discovery'],
    [
      'an endpoint that is not an http URL',
      { about: (base) => ({ ...about(base), token_endpoint: 'file:///etc/passwd' }) },
      'discovery',
    ],
    ['no address of the keys', { about: (base) => ({ ...about(base), jwks_uri: undefined }) }, 'discovery'],
    [
      'keys at a metadata service',
      { about: (base) => ({ ...about(base), jwks_uri: 'http://169.254.169.254/keys' }) },
      'keys',
    ],
    [
      'keys on another private machine',
      { about: (base) => ({ ...about(base), jwks_uri: 'http://10.0.0.7/keys' }) },
      'keys',
    ],
    ['no keys', { keys: { keys: [] } }, 'keys'],
    ['only keys for encryption', { keys: { keys: [{ kty: 'RSA', use: 'enc' }] } }, 'keys'],
    ['a wrong secret', { token: () => Response.json({ error: 'invalid_client' }, { status: 401 }) }, 'client'],
    ['a token for a code that it never gave', { token: () => Response.json({ access_token: 'x' }) }, 'client'],
    ['a hostile error', { token: () => Response.json({ error: `<b>${SECRET}` }, { status: 400 }) }, 'client'],
  ];
  test.each(REFUSED)('%s', async (_name, provider, step) => {
    expect(last(await run(provider)).slice(0, 2)).toEqual([false, step]);
  });

  test.each([
    ['garbage', () => serve(() => new Response('<html>'))],
    ['an error', () => serve(() => new Response('{}', { status: 500 }))],
    ['no server at the address', () => 'http://127.0.0.1:1'],
  ])('discovery: %s', async (_name, base) => {
    expect(last(await attempt('oidc', given(base()))).slice(0, 2)).toEqual([false, 'discovery']);
  });

  test('names the options that are missing', async () => {
    expect(last(await attempt('oidc', { 'oidc.client_id': 'gate' }))).toEqual([
      false,
      'settings',
      'Set oidc.client_secret and oidc.well_known first.',
    ]);
  });
});
