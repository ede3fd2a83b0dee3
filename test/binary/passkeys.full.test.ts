/**
 * Passkeys on the compiled binary, with Chromium's virtual authenticator on the panel's own pages.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { TOTP } from 'otpauth';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { launchBrowser, openPage, type WatchedPage } from '../support/browser.ts';
import { ask, type Gateway, ROOT, setUp, startGateway } from '../support/gateway.ts';
import { proofHeader } from '../support/security-proof.ts';
import { until } from '../support/until.ts';

type Json = Record<string, unknown>;
type Answer = { status: number; code: string; message: string; data: Json };
type Stored = Awaited<ReturnType<typeof storedCredentials>>[number];

let browser: Browser;
let gateway: Gateway;
/** The address for browsers: passkeys belong to a host name. */
let origin: string;
const opened: WatchedPage[] = [];

beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser.close());
afterEach(async () => {
  const complaints = opened.flatMap((watched) => watched.complaints);
  for (const watched of opened.splice(0)) await watched.context.close();
  await gateway.stop();
  expect(complaints).toEqual([]);
});

async function start(env: Record<string, string> = {}): Promise<void> {
  gateway = await startGateway({ env });
  await setUp(gateway);
  origin = `http://localhost:${gateway.port}`;
}

/** A page of the panel in a fresh profile. */
async function open(at = origin): Promise<Page> {
  const watched = await openPage(browser, at);
  opened.push(watched);
  // Scripts of the test run under the page's policies; its own code, which takes a second to load,
  // is not needed.
  await watched.page.route(/\.js$/, (route) => route.abort());
  await watched.page.goto(`${at}/sign-in`);
  return watched.page;
}

type Device = { cdp: CDPSession; id: string };

const LAPTOP = 'internal';
const SECURITY_KEY = 'usb';

/** Adds a virtual authenticator to a page; it verifies its user, who is always present. */
async function plugIn(page: Page, transport: typeof LAPTOP | typeof SECURITY_KEY): Promise<Device> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  const { authenticatorId: id } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport,
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return { cdp, id };
}

const storedCredentials = async ({ cdp, id }: Device) =>
  (await cdp.send('WebAuthn.getCredentials', { authenticatorId: id })).credentials;

/**
 * Copies the one credential of `from` into `to`: Chromium's authenticators count uses, so `from` is
 * out of date after the first use of `to`.
 */
async function copyKey(from: Device, to: Device): Promise<Stored> {
  const [credential] = await storedCredentials(from);
  if (!credential) throw new Error('the authenticator holds nothing');
  await to.cdp.send('WebAuthn.addCredential', { authenticatorId: to.id, credential });
  return credential;
}

const unplug = ({ cdp, id }: Device) => cdp.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId: id });

/** A request that the page itself makes, with its cookies. */
async function call(
  page: Page,
  path: string,
  sent: { method?: string; token?: string; proof?: string; body?: unknown } = {},
): Promise<Answer> {
  const answer = await page.evaluate(
    async ([to, { method, token, proof, body }]) => {
      const response = await fetch(to, {
        method: method ?? 'POST',
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(proof === undefined ? {} : { 'x-security-proof': proof }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: response.status, body: (await response.json()) as Json };
    },
    [path, sent] as const,
  );
  return { code: '', message: '', data: {}, ...answer.body, status: answer.status } as Answer;
}

/** The same, where it must succeed; gives `data`. */
async function done(page: Page, path: string, sent: Parameters<typeof call>[2] = {}): Promise<Json> {
  const answer = await call(page, path, sent);
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.code} ${answer.message}`);
  return answer.data;
}

/**
 * `navigator.credentials` with the begin step's options; the credential, or the name of the
 * browser's refusal.
 */
const dialog = (page: Page, kind: 'create' | 'get', begun: Json): Promise<Json | string> =>
  page.evaluate(
    async ([what, options]) => {
      try {
        const credential =
          what === 'create'
            ? await navigator.credentials.create({
                publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(
                  options.publicKey as PublicKeyCredentialCreationOptionsJSON,
                ),
              })
            : await navigator.credentials.get({
                publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(
                  options.publicKey as PublicKeyCredentialRequestOptionsJSON,
                ),
              });
        return { ...(credential as PublicKeyCredential).toJSON() };
      } catch (error) {
        return (error as Error).name;
      }
    },
    [kind, begun.options as { publicKey: unknown }] as const,
  );

async function signIn(page: Page): Promise<string> {
  return String((await done(page, '/api/user/login', { body: ROOT })).access_token);
}

/** Both steps of a registration; gives the access token that follows. */
async function register(page: Page, token: string, asked: { name?: string; proof?: string } = {}): Promise<string> {
  const { proof, name } = asked;
  const begun = await done(page, '/api/user/passkey/register/begin', { token, proof });
  const credential = await dialog(page, 'create', begun);
  const body = { flow_token: begun.flow_token, credential, ...(name === undefined ? {} : { name }) };
  return String((await done(page, '/api/user/passkey/register/finish', { token, proof, body })).access_token);
}

async function confirm(page: Page, token: string, scope: string): Promise<string> {
  const begun = await done(page, '/api/user/passkey/verify/begin', { token, body: { scope } });
  const credential = await dialog(page, 'get', begun);
  const body = { flow_token: begun.flow_token, credential };
  const proof = await done(page, '/api/user/passkey/verify/finish', { token, body });
  expect(proof).toMatchObject({ method: 'passkey', scope });
  return String(proof.proof_token);
}

async function logIn(page: Page): Promise<Answer> {
  const begun = await done(page, '/api/user/passkey/login/begin');
  const credential = await dialog(page, 'get', begun);
  return call(page, '/api/user/passkey/login/finish', { body: { flow_token: begun.flow_token, credential } });
}

const list = async (page: Page, token: string): Promise<Json[]> =>
  (await done(page, '/api/user/passkey', { method: 'GET', token })) as unknown as Json[];

describe('passkeys in Chromium', () => {
  test('a passkey is registered, named, signs in elsewhere, confirms, is deleted and then refused', async () => {
    await start();
    const page = await open();
    const laptop = await plugIn(page, LAPTOP);
    const elsewhere = await signIn(page);
    let token = await register(page, await signIn(page), { name: 'Laptop' });
    expect((await call(page, '/api/user/self', { method: 'GET', token: elsewhere })).code).toBe('AUTH_SESSION_REVOKED');
    const [first] = await list(page, token);
    expect(first).toMatchObject({ name: 'Laptop', usable: true, last_used_at: 0 });
    await done(page, `/api/user/passkey/${first?.id}`, { method: 'PUT', token, body: { name: 'My laptop' } });

    // The browser itself refuses to create another on the same device.
    expect(await call(page, '/api/user/passkey/register/begin', { token })).toMatchObject({
      status: 403,
      code: 'SECURITY_PROOF_REQUIRED',
    });
    const proof = await confirm(page, token, 'passkey.register');
    const again = await done(page, '/api/user/passkey/register/begin', { token, proof });
    expect(await dialog(page, 'create', again)).toBe('InvalidStateError');

    // A fresh profile on the laptop, which is then unplugged from the first page.
    const other = await open();
    const key = await copyKey(laptop, await plugIn(other, LAPTOP));
    await unplug(laptop);
    await plugIn(page, SECURITY_KEY);
    token = await register(page, token, { proof });
    const both = await list(page, token);
    expect(both.map(({ name }) => name)).toEqual(['My laptop', 'Passkey 2']);
    expect((await done(page, '/api/user/self', { method: 'GET', token })).passkeys).toBe(2);

    // No username is typed.
    const signedIn = await logIn(other);
    expect(signedIn.data).toMatchObject({
      token_type: 'Bearer',
      user: { username: 'root' },
      session: { login_method: 'passkey', current: true },
    });
    const refreshed = await done(other, '/api/user/auth/refresh');
    expect(refreshed).toMatchObject({ user: { username: 'root' }, session: { login_method: 'passkey' } });

    const deletion = await confirm(page, token, 'passkey.delete');
    const path = `/api/user/passkey/${first?.id}`;
    expect((await call(page, path, { method: 'DELETE', token })).code).toBe('SECURITY_PROOF_REQUIRED');
    token = String((await done(page, path, { method: 'DELETE', token, proof: deletion })).access_token);
    expect((await list(page, token)).map(({ name }) => name)).toEqual(['Passkey 2']);
    expect(await logIn(other)).toMatchObject({ status: 401, code: 'AUTH_INVALID_CREDENTIALS' });

    const audit = (await done(page, '/api/audit', { method: 'GET', token })).items as { action: string }[];
    const actions = audit.map(({ action }) => action).filter((action) => action.startsWith('user.passkey.'));
    expect(actions.sort()).toEqual([
      'user.passkey.delete',
      'user.passkey.register',
      'user.passkey.register',
      'user.passkey.rename',
    ]);
    expect(JSON.stringify(audit)).not.toContain(key.credentialId);
  });

  test('two-factor: user presence alone is one factor, user verification is two', async () => {
    await start();
    const page = await open();
    const laptop = await plugIn(page, LAPTOP);
    const recognise = (isUserVerified: boolean) =>
      laptop.cdp.send('WebAuthn.setUserVerified', { authenticatorId: laptop.id, isUserVerified });
    let token = await register(page, await signIn(page));
    const verification = async (value: string) => {
      await recognise(true);
      const asked = { method: 'password', password: ROOT.password, scope: 'settings.security' };
      const proof = String((await done(page, '/api/verify', { token, body: asked })).proof_token);
      const body = { key: 'passkey.user_verification', value };
      await done(page, '/api/option', { method: 'PUT', token, proof, body });
      await until(`user verification is ${value}`, async () => {
        const { options } = await done(page, '/api/user/passkey/login/begin');
        return (options as { publicKey: Json }).publicKey.userVerification === value;
      });
    };

    // Chromium signs in with an authenticator that verifies nobody only where the gateway
    // discourages verification.
    await verification('discouraged');
    await recognise(false);
    expect((await logIn(page)).data).toMatchObject({ session: { login_method: 'passkey' } });
    const { secret } = await done(page, '/api/user/2fa/setup', { token });
    const app = new TOTP({ secret: String(secret) });
    const enabled = await done(page, '/api/user/2fa/enable', { token, body: { code: app.generate() } });
    token = String(enabled.access_token);

    const due = await logIn(page);
    expect(due).toMatchObject({ status: 200, data: { require_2fa: true } });
    expect(due.data.access_token).toBeUndefined();
    // A code works once: that of the next time step is new, and within the allowed clock drift.
    const code = app.generate({ timestamp: Date.now() + 30_000 });
    const body = { flow_token: due.data.flow_token, code };
    expect(await done(page, '/api/user/login/2fa', { body })).toMatchObject({
      user: { two_factor: true, passkeys: 1 },
      session: { login_method: '2fa' },
    });

    await verification('preferred');
    await recognise(true);
    expect((await logIn(page)).data).toMatchObject({ session: { login_method: 'passkey' } });

    await verification('required');
    await recognise(false);
    const begun = await done(page, '/api/user/passkey/login/begin');
    expect(await dialog(page, 'get', begun)).toBe('NotAllowedError');
  });

  test('a clone: the device with the older counter is refused, and the log says why', async () => {
    await start();
    const page = await open();
    const laptop = await plugIn(page, LAPTOP);
    await register(page, await signIn(page));
    const other = await open();
    await copyKey(laptop, await plugIn(other, LAPTOP));
    for (let i = 0; i < 2; i += 1) expect((await logIn(other)).status).toBe(200);
    expect(await logIn(page)).toMatchObject({ status: 401, code: 'AUTH_INVALID_CREDENTIALS' });
    await gateway.logged('it may have been cloned');
  });

  test('a page at another name of the gateway gets nothing from the authenticator', async () => {
    await start();
    const page = await open();
    await plugIn(page, LAPTOP);
    await register(page, await signIn(page));
    const byNumber = await open(gateway.url);
    const device = await plugIn(byNumber, LAPTOP);
    const begun = await done(byNumber, '/api/user/passkey/login/begin');
    expect(await dialog(byNumber, 'get', begun)).toBe('SecurityError');
    expect(await storedCredentials(device)).toEqual([]);
  });
});

describe('passkey routes', () => {
  const root = async (): Promise<string> => {
    const answer = await ask(`${gateway.url}/api/user/login`, { body: ROOT });
    return String((answer.body.data as Json).access_token);
  };

  test('host header attack: the relying party comes from settings, whatever a request says', async () => {
    // The panel answers under the name, as behind a proxy that passes any name on.
    await start({ TRUSTED_HOSTS: 'evil.example' });
    const token = await root();
    const headers = {
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      forwarded: 'host=evil.example;proto=https',
      origin: 'https://evil.example',
      referer: 'https://evil.example/',
    };
    const login = await ask(`${gateway.url}/api/user/passkey/login/begin`, { method: 'POST', headers });
    expect([login.status, (login.body.data as { options: { publicKey: Json } }).options.publicKey.rpId]).toEqual([
      200,
      'localhost',
    ]);
    const register = await ask(`${gateway.url}/api/user/passkey/register/begin`, { method: 'POST', token, headers });
    const { rp } = (register.body.data as { options: { publicKey: Json } }).options.publicKey;
    expect(rp).toEqual({ id: 'localhost', name: 'Taskgate' });
    expect(JSON.stringify([login.body, register.body])).not.toContain('evil');
  });

  test('refuse callers without a session', async () => {
    await start();
    const token = await root();
    const made = await ask(`${gateway.url}/api/user/token`, { method: 'POST', token });
    const pat = String((made.body.data as Json).token);
    const credential = { id: 'AAAA', rawId: 'AAAA', type: 'public-key', response: { clientDataJSON: 'AAAA' } };
    const created = { ...credential, response: { ...credential.response, attestationObject: 'AAAA' } };
    const used = {
      ...credential,
      response: { ...credential.response, authenticatorData: 'AAAA', signature: 'AAAA', userHandle: 'MQ' },
    };
    const signedIn: [string, string, unknown?][] = [
      ['PUT', '/api/user/passkey/1', { name: 'Mine' }],
      ['DELETE', '/api/user/passkey/1'],
      ['DELETE', '/api/user/passkey'],
      ['POST', '/api/user/passkey/register/begin'],
      ['POST', '/api/user/passkey/register/finish', { flow_token: 'x', credential: created }],
      ['POST', '/api/user/passkey/verify/begin', { scope: 'passkey.delete' }],
      ['POST', '/api/user/passkey/verify/finish', { flow_token: 'x', credential: used }],
    ];
    for (const [method, path, body] of signedIn) {
      const anonymous = await ask(`${gateway.url}${path}`, { method, body });
      expect([path, anonymous.status, anonymous.body.code]).toEqual([path, 401, 'AUTH_UNAUTHORIZED']);
      const byPat = await ask(`${gateway.url}${path}`, { method, body, token: pat });
      expect([path, byPat.status, byPat.body.code]).toEqual([path, 403, 'AUTH_SESSION_REQUIRED']);
    }
    const listed = await ask(`${gateway.url}/api/user/passkey`, { token: pat });
    expect([listed.status, listed.body.data]).toEqual([200, []]);

    const login = await ask(`${gateway.url}/api/user/passkey/login/finish`, {
      body: { flow_token: 'A'.repeat(43), credential: used },
    });
    expect([login.status, login.body.code]).toEqual([400, 'AUTH_FLOW_INVALID']);
    const begun = await ask(`${gateway.url}/api/user/passkey/login/begin`, { method: 'POST' });
    const flow = (begun.body.data as Json).flow_token;
    const unknown = await ask(`${gateway.url}/api/user/passkey/login/finish`, {
      body: { flow_token: flow, credential: used },
    });
    expect([unknown.status, unknown.body.code, unknown.body.message]).toEqual([
      401,
      'AUTH_INVALID_CREDENTIALS',
      'The passkey was not accepted.',
    ]);
    expect(unknown.headers.getSetCookie()).toEqual([]);
  });

  test('refuse malformed bodies and values that no browser sends', async () => {
    await start();
    const response = { clientDataJSON: 'AAAA', authenticatorData: 'AAAA', signature: 'AAAA' };
    const honest = { id: 'AAAA', rawId: 'AAAA', type: 'public-key', response };
    const wrong: [string, unknown][] = [
      ['nothing', {}],
      ['no credential', { flow_token: 'x' }],
      ['a credential that is a text', { flow_token: 'x', credential: 'x' }],
      ['a NUL in the id', { flow_token: 'x', credential: { ...honest, id: 'AA\0A' } }],
      ['quotes in the id', { flow_token: 'x', credential: { ...honest, id: "' or 1=1 --" } }],
      ['an endless id', { flow_token: 'x', credential: { ...honest, id: 'A'.repeat(1365) } }],
      ['another type', { flow_token: 'x', credential: { ...honest, type: 'password' } }],
      [
        'a response without signature',
        { flow_token: 'x', credential: { ...honest, response: { clientDataJSON: 'A' } } },
      ],
      ['a field of our own that is unknown', { flow_token: 'x', credential: honest, user_id: 1 }],
    ];
    for (const [name, body] of wrong) {
      const answer = await ask(`${gateway.url}/api/user/passkey/login/finish`, { body });
      expect([name, answer.status, answer.body.code]).toEqual([name, 400, 'VALIDATION_FAILED']);
    }
    // Extra fields from browsers are ignored.
    const more = {
      ...honest,
      authenticatorAttachment: 'platform',
      clientExtensionResults: { credProps: { rk: true } },
    };
    const begun = await ask(`${gateway.url}/api/user/passkey/login/begin`, { method: 'POST' });
    const body = { flow_token: (begun.body.data as Json).flow_token, credential: { ...more, extra: [1] } };
    expect((await ask(`${gateway.url}/api/user/passkey/login/finish`, { body })).status).toBe(401);
  });

  test('options: typed, checked, and applied at once', async () => {
    await start();
    const token = await root();
    const headers = await proofHeader({ url: gateway.url, token, password: ROOT.password });
    const set = (key: string, value: string) =>
      ask(`${gateway.url}/api/option`, { method: 'PUT', token, headers, body: { key: `passkey.${key}`, value } });
    const listed = await ask(`${gateway.url}/api/option`, { token });
    const options = (listed.body.data as { key: string; type: string; value: string }[])
      .filter(({ key }) => key.startsWith('passkey.'))
      .map(({ key, type, value }) => [key.replace('passkey.', ''), type, value]);
    expect(options).toEqual([
      ['enabled', 'boolean', 'true'],
      ['rp_display_name', 'text', ''],
      ['rp_id', 'text', ''],
      ['origins', 'list', ''],
      ['allow_insecure_origin', 'boolean', 'false'],
      ['user_verification', 'choice', 'preferred'],
      ['attachment_preference', 'choice', ''],
    ]);

    const wrong: [string, string][] = [
      ...['', 'yes', 'TRUE', '1'].map((value): [string, string] => ['enabled', value]),
      ['rp_display_name', 'x'.repeat(201)],
      ...[
        'https://a.example',
        'a.example:3000',
        'A.example',
        '*.a.example',
        'a..b',
        '-a.b',
        'a.b.',
        '127.0.0.1',
        '1.2',
        '[::1]',
        'a b',
      ].map((value): [string, string] => ['rp_id', value]),
      ...[
        'a.example',
        '*',
        'null',
        'https://*.a.example',
        'https://a.example/',
        'https://a.example/x',
        'https://a.example:443',
        'https://u@a.example',
        'https://A.example',
        'ftp://a.example',
        'https://a.example,',
        'https://a.example https://b.example',
        'javascript:alert(1)',
      ].map((value): [string, string] => ['origins', value]),
      ['allow_insecure_origin', 'maybe'],
      ['user_verification', 'always'],
      ['attachment_preference', 'roaming'],
    ];
    for (const [key, value] of wrong) {
      const answer = await set(key, value);
      expect([key, value, answer.status, answer.body.code]).toEqual([key, value, 400, 'VALIDATION_FAILED']);
      expect(answer.body.message).toContain(`passkey.${key}`);
    }

    const steps: [string, string, then: string][] = [
      ['enabled', 'true', 'begins for localhost'],
      ['rp_id', 'gateway.example', 'AUTH_METHOD_DISABLED Passkeys are for gateway.example'],
      ['origins', 'https://gateway.example, http://panel.gateway.example:3000', 'begins for gateway.example'],
      [
        'origins',
        'http://panel.gateway.example:3000',
        'AUTH_METHOD_DISABLED Passkeys require HTTPS. Set ServerAddress',
      ],
      ['allow_insecure_origin', 'true', 'begins for gateway.example'],
      ['enabled', 'false', 'AUTH_METHOD_DISABLED This sign-in method is not enabled.'],
    ];
    for (const [key, value, then] of steps) {
      expect((await set(key, value)).status).toBe(200);
      await until(`${key} is ${value}: ${then}`, async () => {
        const { status, body } = await ask(`${gateway.url}/api/user/passkey/login/begin`, { method: 'POST' });
        const begun = body.data as { options: { publicKey: Json } } | undefined;
        const outcome = begun ? `begins for ${begun.options.publicKey.rpId}` : `${body.code} ${body.message}`;
        return status === (begun ? 200 : 403) && outcome.startsWith(then);
      });
    }
    expect((await ask(`${gateway.url}/api/user/passkey`, { token })).status).toBe(200);
  });
});
