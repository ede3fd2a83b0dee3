/**
 * Credentials of people and programs never reach a log: in both formats, at every level, in success
 * and in failure.
 */
import { afterEach, describe, expect, test } from 'bun:test';
import { TOTP } from 'otpauth';
import { openBackdoor } from '../support/backdoor.ts';
import { IS_FULL_RUN } from '../support/full-run.ts';
import {
  Administrator,
  type Answer,
  ask,
  type Gateway,
  ROOT,
  setUp,
  startGateway,
  startVendor,
} from '../support/gateway.ts';
import { testDatabaseUrl } from '../support/postgres.ts';

const SECRETS = {
  SESSION_SECRET: 'session-secret-nobody-may-see-5120',
  CRYPTO_SECRET: 'crypto-secret-nobody-may-see-6231',
  METRICS_TOKEN: 'metrics-token-nobody-may-see-7342',
};
const VENDOR_KEY = 'vendor-key-nobody-may-see-8453';
const NEW_PASSWORD = 'a new password nobody may see';
const WRONG_PASSWORD = 'a wrong password nobody may see';

let gateway: Gateway | undefined;
afterEach(() => gateway?.kill());

/** Every secret that was used, by its kind. */
type Seen = Map<string, string>;

const readRefreshToken = ({ headers }: Answer): string =>
  /svc_refresh_\w{6}=([^;]*)/.exec(headers.getSetCookie().join('\n'))?.[1] ?? '';

/** Uses every way to sign in, to confirm and to call, rightly and wrongly. */
async function useEverything(node: Gateway, seen: Seen): Promise<void> {
  const { url } = node;
  const note = (what: string, value: unknown): string => {
    if (typeof value !== 'string' || value.length < 6) throw new Error(`${what}: ${JSON.stringify(value)}`);
    seen.set(`${what} (${seen.size})`, value);
    return value;
  };
  const data = (answer: Answer) => answer.body.data as Record<string, unknown>;
  const post = (
    path: string,
    body?: unknown,
    { headers = {}, token }: { headers?: Record<string, string>; token?: string } = {},
  ) => ask(`${url}${path}`, { method: 'POST', headers, ...(token ? { token } : {}), ...(body ? { body } : {}) });

  note('set-up token', new URL(node.setupUrl ?? '').hash.replace('#token=', ''));
  let admin = await setUp(node);
  note('access token', admin.token);

  // Passwords.
  await post('/api/user/login', { username: ROOT.username, password: WRONG_PASSWORD });
  await post('/api/user/login', { username: WRONG_PASSWORD, password: ROOT.password });
  const login = await post('/api/user/login', ROOT);
  note('access token', data(login).access_token);
  const changed = await ask(`${url}/api/user/self`, {
    method: 'PUT',
    token: admin.token,
    body: { original_password: ROOT.password, password: NEW_PASSWORD },
  });
  admin = new Administrator(url, note('access token', data(changed).access_token));

  // Refresh: right, twice, late, made up, with the cookie of a logout.
  const first = note(
    'refresh token',
    readRefreshToken(await post('/api/user/login', { ...ROOT, password: NEW_PASSWORD })),
  );
  const refresh = (token: string) =>
    post('/api/user/auth/refresh', undefined, { headers: { cookie: `svc_refresh=${token}` } });
  const second = note('refresh token', readRefreshToken(await refresh(first)));
  const third = await refresh(second);
  note('access token', data(third).access_token);
  await refresh(first);
  await refresh(`${first.slice(0, -8)}aaaaaaaa`);
  const last = note('refresh token', readRefreshToken(third));
  await post('/api/user/auth/logout', undefined, { headers: { cookie: `svc_refresh=${last}` } });

  // Second factor.
  const setup = await admin.call<{ secret: string; qr_code_data: string; backup_codes: string[] }>(
    'POST',
    '/api/user/2fa/setup',
  );
  note('secret of an authenticator app', setup.secret);
  for (const code of setup.backup_codes) note('backup code', code);
  for (const code of setup.backup_codes) note('backup code', code.replace('-', ''));
  const code = new TOTP({ secret: setup.secret }).generate();
  const enabled = await admin.call<{ access_token: string }>('POST', '/api/user/2fa/enable', { code });
  admin = new Administrator(url, note('access token', enabled.access_token));
  const begin = async () =>
    note('flow token', data(await post('/api/user/login', { ...ROOT, password: NEW_PASSWORD })).flow_token);
  const flow = await begin();
  await post('/api/user/login/2fa', { flow_token: flow, code: setup.backup_codes[9]?.replace(/.$/, '0') });
  const finished = await post('/api/user/login/2fa', { flow_token: flow, code: setup.backup_codes[0] });
  note('refresh token', readRefreshToken(finished));
  await post('/api/user/login/2fa', { flow_token: flow, code: setup.backup_codes[1] });

  // Security Proofs, and the routes that need them.
  const vendor = await startVendor();
  const channel = await admin
    .createChannel(vendor.url, { key: note('vendor key', VENDOR_KEY) })
    .finally(() => vendor.stop());
  const prove = async (scope: string, backupCode: string | undefined) =>
    note(
      'security proof',
      (await admin.call<{ proof_token: string }>('POST', '/api/verify', { method: '2fa', code: backupCode, scope }))
        .proof_token,
    );
  const keyProof = await prove('channel.key.read', setup.backup_codes[2]);
  const keyPath = `/api/channel/${channel}/key`;
  expect(
    (await post(keyPath, undefined, { headers: { 'x-security-proof': keyProof }, token: admin.token })).status,
  ).toBe(200);
  await post(keyPath, undefined, { headers: { 'x-security-proof': `${keyProof}x` }, token: admin.token });
  await post(keyPath, undefined, { headers: { 'x-security-proof': admin.token }, token: admin.token });

  // Passkeys.
  const registerProof = await prove('passkey.register', setup.backup_codes[3]);
  const registration = data(
    await post('/api/user/passkey/register/begin', undefined, {
      headers: { 'x-security-proof': registerProof },
      token: admin.token,
    }),
  );
  const response = { clientDataJSON: 'e30', attestationObject: 'AAAA', authenticatorData: 'AAAA', signature: 'AAAA' };
  const credential = { id: 'AAAA', rawId: 'AAAA', type: 'public-key', response };
  await post(
    '/api/user/passkey/register/finish',
    { flow_token: note('flow token', registration.flow_token), credential },
    { headers: { 'x-security-proof': registerProof }, token: admin.token },
  );
  const passkeyLogin = data(await post('/api/user/passkey/login/begin'));
  await post('/api/user/passkey/login/finish', { flow_token: note('flow token', passkeyLogin.flow_token), credential });

  // API keys and personal access tokens, on their own routes and on wrong ones.
  const pat = note('personal access token', (await admin.call<{ token: string }>('POST', '/api/user/token')).token);
  const key = note('API key', await admin.createKey());
  for (const token of [admin.token, pat, key, `${pat}x`, `${key}x`, keyProof, last, flow]) {
    for (const path of [
      '/api/user/self',
      '/api/user/sessions',
      '/v1/tasks/task_none',
      '/api/usage/token',
      '/metrics',
    ]) {
      await ask(`${url}${path}`, { token });
      await ask(`${url}${path}`, { headers: { authorization: token } });
      await ask(`${url}${path}?access=${token}&token=${token}`, { headers: { cookie: `svc_refresh=${token}` } });
    }
  }
  // Bodies that are refused as a whole.
  for (const body of [
    `{"password":"${NEW_PASSWORD}"`,
    `{"password":"${NEW_PASSWORD}","more":1}`,
    `"${NEW_PASSWORD}"`,
  ]) {
    await post('/api/user/login', body, { headers: { 'content-type': 'application/json' } });
  }
  for (const [name, value] of Object.entries({ ...SECRETS, password: ROOT.password, NEW_PASSWORD, WRONG_PASSWORD })) {
    note(name, value);
  }
}

function expectNone(node: Gateway, seen: Seen): void {
  const log = node.log();
  const lines = log.split('\n');
  for (const [what, secret] of seen) {
    // A refresh token's second half is the secret, a JWT's last part its signature.
    for (const part of new Set([secret, secret.split('.').at(-1) ?? secret, encodeURIComponent(secret)])) {
      expect([what, lines.find((line) => line.includes(part))]).toEqual([what, undefined]);
    }
  }
}

const LESS_LOGGED = [
  ['JSON', { LOG_FORMAT: 'json' }],
  ['lines for people', { LOG_FORMAT: 'pretty' }],
] as const;

for (const [form, env] of [
  ['JSON with DEBUG=true', { LOG_FORMAT: 'json', LOG_LEVEL: 'debug', DEBUG: 'true' }],
  ['lines for people with DEBUG=true', { LOG_FORMAT: 'pretty', LOG_LEVEL: 'debug', DEBUG: 'true' }],
  // Their lines are among those of DEBUG.
  ...(IS_FULL_RUN ? LESS_LOGGED : []),
] as const) {
  describe(`no credential is logged: ${form}`, () => {
    test('when it is used, rightly or wrongly', async () => {
      gateway = await startGateway({ env: { ...SECRETS, ...env } });
      const seen: Seen = new Map();
      await useEverything(gateway, seen);
      expect(seen.size).toBeGreaterThan(40);
      // The log names who was signed in.
      await gateway.logged('signed in');
      await gateway.stop();
      expectNone(gateway, seen);
    });
  });
}

for (const [database, openDatabase, failure] of [
  ['SQLite', () => Promise.resolve(''), 'SQLITE_ERROR'],
  ...(IS_FULL_RUN ? [['PostgreSQL', testDatabaseUrl, '42P01'] as const] : []),
] as const) {
  test(`no credential is logged when ${database} fails under it`, async () => {
    const env = { ...SECRETS, LOG_LEVEL: 'debug', DEBUG: 'true', CRITICAL_RATE_LIMIT: '100000' };
    gateway = await startGateway({ env, databaseUrl: await openDatabase() });
    const seen: Seen = new Map();
    await useEverything(gateway, seen);
    const { url } = gateway;
    const backdoor = openBackdoor(gateway);
    // The last one of each kind.
    const values = new Map([...seen].map(([what, value]) => [what.replace(/ \(\d+\)$/, ''), value])).values().toArray();
    for (const table of [
      'user_sessions',
      'auth_flows',
      'two_factor',
      'backup_codes',
      'passkeys',
      'api_keys',
      'users',
    ]) {
      await backdoor.run(`ALTER TABLE ${table} RENAME TO ${table}_away`);
      for (const token of values) {
        await ask(`${url}/api/user/self`, { token });
        await ask(`${url}/api/usage/token`, { token });
        await ask(`${url}/api/user/auth/refresh`, { method: 'POST', headers: { cookie: `svc_refresh=${token}` } });
      }
      await ask(`${url}/api/user/login`, { body: { ...ROOT, password: NEW_PASSWORD } });
      for (const [what, token] of seen) {
        if (!what.startsWith('flow token')) continue;
        await ask(`${url}/api/user/login/2fa`, { body: { flow_token: token, code: '123456' } });
      }
      await backdoor.run(`ALTER TABLE ${table}_away RENAME TO ${table}`);
    }
    await backdoor.close();
    await gateway.stop();
    expect(gateway.log().includes(failure)).toBe(true);
    expectNone(gateway, seen);
  });
}
