/**
 * Second factor, confirmation and the channel's key over HTTP: statuses, codes, headers, cookies,
 * audit rows.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { systemClock } from '../../src/kernel/index.ts';
import { type Gateway, ROOT, setUp, startGateway } from '../support/gateway.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { codeFor, wrongCode } from './authenticator-app.ts';

const VENDOR_KEY = 'vendor-key-0123456789';
const CHANNEL = { name: 'demo', type: 61, key: VENDOR_KEY, models: ['demo-video'], task_plugin_key: 'demo' };

// biome-ignore lint/suspicious/noExplicitAny: answers are compared field by field
type Answer = { status: number; json: any; text: string; headers: Headers };
type Call = { token?: string; proof?: string; body?: unknown };

const readCaller =
  (gateway: Gateway) =>
  async (method: string, path: string, { token, proof, body }: Call = {}): Promise<Answer> => {
    const response = await fetch(`http://127.0.0.1:${gateway.port}${path}`, {
      method,
      headers: {
        ...(token ? { authorization: `Bearer ${token}` } : {}),
        ...(proof ? { 'x-security-proof': proof } : {}),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, text, json: JSON.parse(text), headers: response.headers };
  };

const verdict = ({ status, json }: Answer) => [status, json.code ?? 'ok'];

const presentStep = () => Math.floor(systemClock.unix() / 30);

/** A set-up confirmed with the code of the present step. */
async function enableFor(call: ReturnType<typeof readCaller>, token: string) {
  const { secret, backup_codes } = (await call('POST', '/api/user/2fa/setup', { token })).json.data;
  const step = presentStep();
  const enabled = await call('POST', '/api/user/2fa/enable', { token, body: { code: codeFor(secret, step) } });
  expect(verdict(enabled)).toEqual([200, 'ok']);
  return { secret, step, backupCodes: backup_codes as string[], token: enabled.json.data.access_token as string };
}

describe('a gateway', () => {
  let gateway: Gateway;
  let call: ReturnType<typeof readCaller>;
  let token = '';
  let pat = '';
  let channelId = 0;

  beforeAll(async () => {
    gateway = await startGateway();
    call = readCaller(gateway);
    await setUp(gateway);
    token = (await call('POST', '/api/user/login', { body: ROOT })).json.data.access_token;
    pat = (await call('POST', '/api/user/token', { token })).json.data.token;
    channelId = (await call('POST', '/api/channel', { token, body: CHANNEL })).json.data.id;
  });
  afterAll(() => gateway.stop());

  const passwordProof = (scope = 'channel.key.read', password = ROOT.password) =>
    call('POST', '/api/verify', { token, body: { method: 'password', password, scope } });
  const actions = async (): Promise<string[]> => {
    const rows = (await call('GET', '/api/audit?page_size=100', { token })).json.data.items;
    return rows.map(({ action }: { action: string }) => action);
  };

  test('a dialog learns in advance whether a scope requires a proof, and which methods count', async () => {
    const ask = (scope: string, caller: Call) => call('GET', `/api/verify?scope=${scope}`, caller);
    expect((await ask('channel.key.read', { token })).json.data).toEqual({ needed: true, methods: ['password'] });
    expect((await ask('account.email', { token })).json.data).toEqual({ needed: true, methods: ['password'] });
    // The first passkey beside a password.
    expect((await ask('passkey.register', { token })).json.data).toEqual({ needed: false, methods: ['password'] });
    expect(verdict(await ask('everything', { token }))).toEqual([400, 'VALIDATION_FAILED']);
    expect(verdict(await ask('channel.key.read', { token: pat }))).toEqual([403, 'AUTH_SESSION_REQUIRED']);
    expect(verdict(await ask('channel.key.read', {}))).toEqual([401, 'AUTH_UNAUTHORIZED']);
  });

  test('without second factor and passkey: the password confirms, and nothing else', async () => {
    const proof = await passwordProof();
    expect(proof.status).toBe(200);
    expect(proof.json.data).toEqual({
      proof_token: expect.any(String),
      expires_at: expect.any(Number),
      method: 'password',
      scope: 'channel.key.read',
    });
    expect(verdict(await passwordProof('passkey.delete', 'wrong password'))).toEqual([400, 'AUTH_PASSWORD_INVALID']);
    const byCode = await call('POST', '/api/verify', {
      token,
      body: { method: '2fa', code: '123456', scope: 'passkey.delete' },
    });
    expect(verdict(byCode)).toEqual([403, 'SECURITY_PROOF_METHOD_MISMATCH']);
    expect(byCode.json).toMatchObject({
      message: "Confirm it's you with your password.",
      details: { methods: ['password'] },
    });
    for (const wrong of [
      { method: 'password', password: ROOT.password, scope: 'everything' },
      { method: 'passkey', scope: 'passkey.delete' },
      { method: 'password', scope: 'passkey.delete' },
      { method: 'password', password: ROOT.password, scope: 'passkey.delete', sid: 'x' },
    ]) {
      expect(verdict(await call('POST', '/api/verify', { token, body: wrong }))).toEqual([400, 'VALIDATION_FAILED']);
    }
    const body = { method: 'password', password: ROOT.password, scope: 'channel.key.read' };
    expect(verdict(await call('POST', '/api/verify', { token: pat, body }))).toEqual([403, 'AUTH_SESSION_REQUIRED']);
    expect(verdict(await call('POST', '/api/verify', { body }))).toEqual([401, 'AUTH_UNAUTHORIZED']);
  });

  describe('the channel’s key', () => {
    const keyFor = (id: number, call_: Call) => call('POST', `/api/channel/${id}/key`, call_);
    const move = (call_: Call) => call('PUT', `/api/channel/${channelId}`, call_);

    test('is shown to root with a proof, and the audit log says so', async () => {
      const proof = (await passwordProof()).json.data.proof_token;
      expect(verdict(await keyFor(channelId, { token }))).toEqual([403, 'SECURITY_PROOF_REQUIRED']);
      expect(verdict(await keyFor(channelId, { token, proof: token }))).toEqual([403, 'SECURITY_PROOF_INVALID']);
      expect(verdict(await keyFor(channelId, { token: proof, proof }))).toEqual([401, 'AUTH_UNAUTHORIZED']);
      expect(verdict(await keyFor(channelId, { token: pat, proof }))).toEqual([403, 'AUTH_SESSION_REQUIRED']);
      expect(verdict(await keyFor(channelId, { token: pat }))).toEqual([403, 'AUTH_SESSION_REQUIRED']);
      const otherScope = (await passwordProof('passkey.delete')).json.data.proof_token;
      expect(verdict(await keyFor(channelId, { token, proof: otherScope }))).toEqual([
        403,
        'SECURITY_PROOF_SCOPE_MISMATCH',
      ]);
      // Without a proof the answer does not reveal what exists.
      expect(verdict(await keyFor(99_999, { token }))).toEqual([403, 'SECURITY_PROOF_REQUIRED']);
      expect(verdict(await keyFor(99_999, { token, proof }))).toEqual([404, 'CHANNEL_NOT_FOUND']);
      expect(await actions()).not.toContain('channel.key_view');

      const shown = await keyFor(channelId, { token, proof });
      expect([shown.status, shown.json.data]).toEqual([200, { key: VENDOR_KEY }]);
      expect(shown.headers.get('cache-control')).toBe('no-store');
      const trail = await call('GET', '/api/audit', { token });
      expect(trail.json.data.items[0]).toMatchObject({ action: 'channel.key_view', target: `channel:${channelId}` });
      for (const written of [trail.text, gateway.log()]) {
        expect(written).not.toContain(VENDOR_KEY);
        expect(written).not.toContain(proof);
      }
    });

    test("key theft by address: only the key or root’s proof changes a channel's address", async () => {
      const proof = (await passwordProof()).json.data.proof_token;
      const body = { base_url: 'https://elsewhere.example' };
      const otherScope = (await passwordProof('passkey.delete')).json.data.proof_token;
      expect(verdict(await move({ token, body }))).toEqual([403, 'CHANNEL_KEY_REQUIRED']);
      expect(verdict(await move({ token, body, proof: 'x' }))).toEqual([403, 'SECURITY_PROOF_INVALID']);
      expect(verdict(await move({ token, body, proof: otherScope }))).toEqual([403, 'SECURITY_PROOF_SCOPE_MISMATCH']);
      expect(verdict(await move({ token: pat, body, proof }))).toEqual([403, 'AUTH_SESSION_REQUIRED']);
      expect((await call('GET', `/api/channel/${channelId}`, { token })).json.data.base_url).not.toContain('elsewhere');
      const moved = await move({ token, body, proof });
      expect([moved.status, moved.json.data.base_url]).toEqual([200, 'https://elsewhere.example']);
      expect((await keyFor(channelId, { token, proof })).json.data.key).toBe(VENDOR_KEY);
    });
  });

  describe('the second factor', () => {
    test('set-up, enabling, sign-in, confirmation, new backup codes, disabling', async () => {
      const former = (await passwordProof()).json.data.proof_token;
      const status = () => call('GET', '/api/user/2fa/status', { token });
      expect((await status()).json.data).toEqual({ enabled: false, locked: false });
      expect(verdict(await call('POST', '/api/user/2fa/enable', { token, body: { code: '123456' } }))).toEqual([
        409,
        'AUTH_TWO_FACTOR_NOT_BEGUN',
      ]);
      for (const path of ['disable', 'backup_codes']) {
        const answer = await call('POST', `/api/user/2fa/${path}`, { token, body: { code: '123456' } });
        expect(verdict(answer)).toEqual([409, 'AUTH_TWO_FACTOR_OFF']);
      }

      const tokenBefore = token;
      const { secret, step, backupCodes, token: after } = await enableFor(call, token);
      token = after;
      expect(verdict(await call('GET', '/api/user/self', { token: tokenBefore }))).toEqual([
        401,
        'AUTH_SESSION_REVOKED',
      ]);
      expect((await call('GET', '/api/user/self', { token })).json.data.two_factor).toBe(true);
      expect(verdict(await call('POST', `/api/channel/${channelId}/key`, { token, proof: former }))).toEqual([
        403,
        'SECURITY_PROOF_INVALID',
      ]);
      expect(verdict(await call('POST', '/api/user/2fa/setup', { token }))).toEqual([409, 'AUTH_TWO_FACTOR_ENABLED']);
      expect((await call('GET', '/api/user/2fa/status', { token: pat })).json.data.enabled).toBe(true);
      for (const path of ['setup', 'enable', 'disable', 'backup_codes']) {
        const code = backupCodes[9] ?? '';
        const answer = await call('POST', `/api/user/2fa/${path}`, {
          token: pat,
          ...(path === 'setup' ? {} : { body: { code } }),
        });
        expect([path, ...verdict(answer)]).toEqual([path, 403, 'AUTH_SESSION_REQUIRED']);
      }

      const first = await call('POST', '/api/user/login', { body: ROOT });
      expect(first.json.data).toEqual({
        require_2fa: true,
        flow_token: expect.any(String),
        expires_at: expect.any(Number),
      });
      expect(first.headers.getSetCookie()).toEqual([]);
      const { flow_token } = first.json.data;
      const second = (code: string) => call('POST', '/api/user/login/2fa', { body: { code, flow_token } });
      for (const code of ['AAAA-AAAA', 'x', ''])
        expect(verdict(await second(code))).toEqual([400, 'AUTH_CODE_INVALID']);
      const signedIn = await second(backupCodes[0] ?? '');
      expect(signedIn.json.data).toMatchObject({
        token_type: 'Bearer',
        user: { username: 'root', two_factor: true },
        session: { login_method: '2fa', current: true },
      });
      const cookies = signedIn.headers.getSetCookie();
      expect(cookies.map((cookie) => cookie.split('=')[0])).toEqual([
        expect.stringMatching(/^svc_refresh_[0-9a-f]{6}$/),
        'svc_has_session',
      ]);
      expect(cookies[0]).toContain('HttpOnly');
      expect(verdict(await second(backupCodes[1] ?? ''))).toEqual([400, 'AUTH_FLOW_INVALID']);

      const byPassword = await passwordProof();
      expect(verdict(byPassword)).toEqual([403, 'SECURITY_PROOF_METHOD_MISMATCH']);
      expect(byPassword.json.message).toContain('authenticator app');
      const confirm = (code: string) =>
        call('POST', '/api/verify', { token, body: { method: '2fa', code, scope: 'channel.key.read' } });
      expect(verdict(await confirm(backupCodes[0] ?? ''))).toEqual([400, 'AUTH_CODE_INVALID']);
      const proof = (await confirm(backupCodes[1] ?? '')).json.data;
      expect([proof.method, proof.scope]).toEqual(['2fa', 'channel.key.read']);
      const shown = await call('POST', `/api/channel/${channelId}/key`, { token, proof: proof.proof_token });
      expect(shown.json.data).toEqual({ key: VENDOR_KEY });
      expect((await status()).json.data).toEqual({ enabled: true, locked: false, backup_codes_remaining: 8 });

      const renewed = await call('POST', '/api/user/2fa/backup_codes', {
        token,
        body: { code: codeFor(secret, Math.max(step + 1, presentStep())) },
      });
      expect(renewed.json.data).toMatchObject({ token_type: 'Bearer', session: { current: true } });
      expect(renewed.json.data.backup_codes).toHaveLength(10);
      token = renewed.json.data.access_token;
      expect(verdict(await call('GET', '/api/user/self', { token: signedIn.json.data.access_token }))).toEqual([
        401,
        'AUTH_SESSION_REVOKED',
      ]);

      const code = renewed.json.data.backup_codes[0];
      const disabled = await call('POST', '/api/user/2fa/disable', { token, body: { code } });
      expect(disabled.status).toBe(200);
      token = disabled.json.data.access_token;
      expect((await call('POST', '/api/user/login', { body: ROOT })).json.data.token_type).toBe('Bearer');

      const trail = (await actions()).filter((action) => action.startsWith('user.2fa'));
      expect(trail).toEqual(['user.2fa.disable', 'user.2fa.backup_codes', 'user.2fa.enable', 'user.2fa.setup']);
      const written = (await call('GET', '/api/audit?page_size=100', { token })).text + gateway.log();
      for (const hidden of [secret, flow_token, ...backupCodes, code]) expect(written).not.toContain(hidden);
    });
  });
});

test('code guessing: the sixth attempt has to wait, even with the right code', async () => {
  const gateway = await startGateway();
  try {
    const call = readCaller(gateway);
    await setUp(gateway);
    const token = (await call('POST', '/api/user/login', { body: ROOT })).json.data.access_token;
    const { secret, step, backupCodes, token: after } = await enableFor(call, token);
    const { flow_token } = (await call('POST', '/api/user/login', { body: ROOT })).json.data;
    const second = (code: string) => call('POST', '/api/user/login/2fa', { body: { code, flow_token } });
    const app = { secret, code: (ahead = 0) => codeFor(secret, step + 1 + ahead) };
    for (let i = 0; i < 5; i += 1) {
      expect(verdict(await second(wrongCode(app, i)))).toEqual([400, 'AUTH_CODE_INVALID']);
    }
    for (const code of [app.code(), backupCodes[0] ?? '']) {
      const locked = await second(code);
      expect(verdict(locked)).toEqual([429, 'AUTH_CODE_LOCKED']);
      expect(Number(locked.headers.get('retry-after'))).toBeWithin(150, 301);
    }
    expect((await call('GET', '/api/user/2fa/status', { token: after })).json.data.locked).toBe(true);
  } finally {
    await gateway.stop();
  }
});

test('a channel’s key that no secret decrypts is refused with its own code', async () => {
  const dataDir = temporaryFolder();
  const first = await startGateway({ dataDir, env: { CRYPTO_SECRET: 'the first crypto secret of this test' } });
  await setUp(first);
  const login = async (call: ReturnType<typeof readCaller>) =>
    (await call('POST', '/api/user/login', { body: ROOT })).json.data.access_token;
  const token = await login(readCaller(first));
  const { id } = (await readCaller(first)('POST', '/api/channel', { token, body: CHANNEL })).json.data;
  await first.stop();

  const second = await startGateway({ dataDir, env: { CRYPTO_SECRET: 'another crypto secret of this test' } });
  try {
    const call = readCaller(second);
    const later = await login(call);
    const body = { method: 'password', password: ROOT.password, scope: 'channel.key.read' };
    const proof = (await call('POST', '/api/verify', { token: later, body })).json.data.proof_token;
    const answer = await call('POST', `/api/channel/${id}/key`, { token: later, proof });
    expect(verdict(answer)).toEqual([503, 'CHANNEL_KEY_UNREADABLE']);
    expect(answer.json.message).toContain('CRYPTO_SECRET');
  } finally {
    await second.stop();
  }
});
