/**
 * The options over HTTP: who may change them, refusals, the audit log, and that no secret is
 * returned.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startGateway } from '../../support/gateway.ts';
import { runCommand } from '../../support/run-command.ts';
import { startMailServer } from '../../support/smtp.ts';
import { openPanel, type PanelCaller } from './panel-caller.ts';

const CLEAR = 'never-to-be-seen-again';

let panel: PanelCaller;
let root: string;
let proof: Record<string, string>;
beforeAll(async () => {
  panel = await openPanel({ LOG_LEVEL: 'debug', DEBUG: 'true' });
  root = (await panel.logIn('root')).token;
  proof = await panel.prove(root);
});
afterAll(() => panel.gateway.stop());

const put = (body: unknown) => panel.send('/api/option', { method: 'PUT', token: root, headers: proof, body });
const status = async () => (await panel.send('/api/status')).json.data;
const option = async (key: string) =>
  (await panel.send('/api/option', { token: root })).json.data.find((each: { key: string }) => each.key === key);
const trail = async () => (await panel.send('/api/audit?page_size=100', { token: root })).json.data.items;

describe('who may read and set options', () => {
  test.each([
    ['anybody', '', 401],
    ['a user', 'user', 403],
    ['an administrator', 'admin', 403],
  ])('%s may not', async (_name, username, refusal) => {
    if (username) panel.addUser(username, username === 'admin' ? 10 : 1);
    const token = username ? (await panel.logIn(username)).token : undefined;
    const asked = [
      panel.send('/api/option', { ...(token ? { token } : {}) }),
      panel.send('/api/option', {
        method: 'PUT',
        ...(token ? { token } : {}),
        body: { key: 'SystemName', value: 'x' },
      }),
    ];
    for (const answer of await Promise.all(asked)) expect(answer.status).toBe(refusal);
    expect((await status()).system_name).toBe('Taskgate');
  });
});

test('the list has the data for a form', async () => {
  expect(await option('ModelRequestRateLimitDurationMinutes')).toMatchObject({ type: 'integer', min: 1, max: 1440 });
  expect(await option('SMTPServer')).toMatchObject({ group: 'mail', trial: 'smtp', max_length: 200, live: true });
  expect(await option('legal.user_agreement')).toMatchObject({ multiline: true, max_length: expect.any(Number) });
  expect(await option('oidc.client_secret')).toMatchObject({ type: 'secret', trial: 'oidc', max_length: 1000 });
  expect(await option('passkey.origins')).toMatchObject({ type: 'list', max_items: expect.any(Number) });
  expect(await option('billing.unpriced')).toMatchObject({ choices: ['admins', 'everyone', 'nobody'] });
});

describe('a change', () => {
  test('accepts two Chinese legal texts of maximal length, and no body above 1 MiB', async () => {
    const legal = ['legal.user_agreement', 'legal.privacy_policy'];
    const set = (value: string) => put({ options: legal.map((key) => ({ key, value })) });
    expect((await set('法'.repeat(100_000))).status).toBe(200);
    const refused = await set('法'.repeat(200_000));
    expect([refused.status, refused.json.message]).toEqual([413, expect.stringContaining('1 MB')]);
    expect((await set('')).status).toBe(200);
  });

  test('returns the new values, and applies to the next request', async () => {
    const one = await put({ key: 'SystemName', value: 'Ours' });
    expect([one.status, one.json.data]).toEqual([
      200,
      [
        {
          ...{ key: 'SystemName', type: 'text', default: 'Taskgate', group: 'gateway', value: 'Ours' },
          proof: 'none',
          ...{ live: true, max_length: 200 },
        },
      ],
    ]);
    expect((await status()).system_name).toBe('Ours');
    const several = await put({
      options: [
        { key: 'SystemName', value: 'Taskgate' },
        { key: 'passkey.user_verification', value: 'required' },
      ],
    });
    expect(several.json.data.map((each: { value: string }) => each.value)).toEqual(['Taskgate', 'required']);
    expect(await status()).toMatchObject({ system_name: 'Taskgate', passkey_user_verification: 'required' });
  });

  const REFUSED: [name: string, body: unknown, field: string, message: string][] = [
    ['an unknown key', { key: 'x', value: '1' }, 'key', 'There is no option "x". Options: SystemName'],
    ['a key of the gateway itself', { key: 'setup.completed_at', value: '0' }, 'key', 'There is no option'],
    [
      'a bad value',
      { key: 'SMTPPort', value: '0' },
      'value',
      'The value of SMTPPort must be a whole number from 1 to 65535.',
    ],
    [
      'a bad value among several',
      {
        options: [
          { key: 'SystemName', value: 'x' },
          { key: 'SMTPPort', value: 'x' },
        ],
      },
      'options.1.value',
      'The value of SMTPPort must be',
    ],
    [
      'a secret of two lines',
      { key: 'SMTPToken', value: `${CLEAR}\nx` },
      'value',
      'The value of SMTPToken must be the password of SMTPAccount',
    ],
    ['no key', { value: 'x' }, 'key', 'The field "key" is missing'],
    ['no value', { key: 'SystemName' }, 'value', 'The field "value" is missing'],
    [
      'both forms',
      { key: 'SystemName', value: 'x', options: [{ key: 'SystemName', value: 'x' }] },
      'options',
      'either',
    ],
    ['no changes', { options: [] }, 'options', 'must be a list of 1 to 200 entries'],
    ['a number instead of a text', { key: 'SMTPPort', value: 25 }, 'value', 'must be a string'],
    ['an unknown field', { key: 'SystemName', value: 'x', more: 1 }, 'more', 'Unknown field "more"'],
    [
      'what is not ready',
      { key: 'GitHubOAuthEnabled', value: 'true' },
      'value',
      'Set GitHubClientId and GitHubClientSecret before you turn on GitHubOAuthEnabled.',
    ],
    [
      'passwords off for a root without another sign-in method',
      { key: 'PasswordLoginEnabled', value: 'false' },
      'value',
      'Root could no longer sign in',
    ],
  ];
  test.each(REFUSED)('%s is refused by name', async (_name, body, field, message) => {
    const before = (await trail()).length;
    const answer = await put(body);
    expect([answer.status, answer.json.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(answer.json.message).toContain(message);
    expect(answer.json.details.errors[0]).toMatchObject({ field, message: answer.json.message });
    expect(answer.text).not.toContain(CLEAR);
    expect((await trail()).length).toBe(before);
    expect((await status()).system_name).toBe('Taskgate');
  });
});

describe('a secret', () => {
  test('is in no response, audit row or log line, and not in the database’s files', async () => {
    const set = await put({
      options: [
        { key: 'GitHubClientId', value: 'public-id' },
        { key: 'GitHubClientSecret', value: CLEAR },
        { key: 'GitHubOAuthEnabled', value: 'true' },
      ],
    });
    expect([set.status, set.json.data[1]]).toEqual([
      200,
      {
        ...{ key: 'GitHubClientSecret', type: 'secret', default: '', group: 'github', value: '***', secret: true },
        proof: 'settings.security',
        ...{ live: true, max_length: 1000 },
      },
    ]);
    expect(await option('GitHubClientSecret')).toMatchObject({ value: '***', secret: true });
    expect(await status()).toMatchObject({ github_oauth: true, github_client_id: 'public-id' });

    expect((await put({ key: 'GitHubClientSecret', value: '***' })).status).toBe(200);
    const rows = (await trail()).filter((row: { target: string }) => row.target.startsWith('option:GitHub'));
    expect(rows.map((row: { target: string; detail: object }) => [row.target, row.detail])).toEqual([
      ['option:GitHubOAuthEnabled', { before: 'false', after: 'true' }],
      ['option:GitHubClientSecret', { before: 'unset', after: 'set' }],
      ['option:GitHubClientId', { before: '', after: 'public-id' }],
    ]);

    const answers = [
      await panel.send('/api/option', { token: root }),
      await panel.send('/api/audit?page_size=100', { token: root }),
      await panel.send('/api/status'),
    ];
    for (const { text } of answers) expect(text).not.toContain(CLEAR);
    expect(panel.gateway.log()).not.toContain(CLEAR);
    for (const entry of readdirSync(panel.gateway.dataDir, { withFileTypes: true, recursive: true })) {
      if (!entry.isFile()) continue;
      const file = join(entry.parentPath, entry.name);
      expect([file, readFileSync(file).includes(CLEAR)]).toEqual([file, false]);
    }
  });
});

test("the audit log leaves out the query of the operator's receiver, which may be a secret", async () => {
  const set = (value: string) => put({ key: 'alerts.webhook_url', value });
  expect((await set('https://hooks.example.org/a?token=one-that-opens-it')).status).toBe(200);
  expect((await set('')).status).toBe(200);
  const rows = (await trail()).filter((row: { target: string }) => row.target === 'option:alerts.webhook_url');
  expect(rows.map((row: { detail: object }) => row.detail)).toEqual([
    { before: 'https://hooks.example.org/a?…', after: '' },
    { before: '', after: 'https://hooks.example.org/a?…' },
  ]);
});

describe('before sign-in', () => {
  test('the status has exactly these keys and no secret', async () => {
    const answer = await panel.send('/api/status');
    expect(Object.keys(answer.json.data).sort()).toEqual([
      'accent',
      'balance_hint',
      'custom_oauth_providers',
      'discord_client_id',
      'discord_oauth',
      'email_verification',
      'github_client_id',
      'github_oauth',
      'invitee_credit',
      'inviter_credit',
      'linuxdo_client_id',
      'linuxdo_minimum_trust_level',
      'linuxdo_oauth',
      'logo',
      'new_user_credit',
      'notice',
      'oidc_authorization_endpoint',
      'oidc_client_id',
      'oidc_display_name',
      'oidc_enabled',
      'passkey_allow_insecure',
      'passkey_attachment',
      'passkey_display_name',
      'passkey_login',
      'passkey_origins',
      'passkey_rp_id',
      'passkey_user_verification',
      'password_login_enabled',
      'password_register_enabled',
      'password_reset',
      'privacy_policy_enabled',
      'register_enabled',
      'server_address',
      'setup',
      'start_time',
      'system_name',
      'telegram_bot_name',
      'telegram_oauth',
      'turnstile_check',
      'turnstile_site_key',
      'unwritable',
      'user_agreement_enabled',
      'version',
      'wechat_login',
      'wechat_qrcode',
    ]);
  });

  test('passkeys are offered only where a browser supports them', async () => {
    expect(await status()).toMatchObject({ passkey_login: true, passkey_rp_id: 'localhost' });
    await put({ key: 'ServerAddress', value: 'http://10.0.0.7:3000' });
    expect(await status()).toMatchObject({ passkey_login: false, passkey_rp_id: '', passkey_origins: '' });
    await put({ key: 'ServerAddress', value: 'https://gate.example' });
    expect(await status()).toMatchObject({
      passkey_login: true,
      passkey_rp_id: 'gate.example',
      passkey_origins: 'https://gate.example',
      server_address: 'https://gate.example',
    });
    await put({ key: 'ServerAddress', value: '' });
  });

  test('the agreements can be read, and the status says that they exist', async () => {
    expect(await status()).toMatchObject({ user_agreement_enabled: false, privacy_policy_enabled: false });
    await put({ key: 'legal.user_agreement', value: 'Be kind.\n<script>alert(1)</script>' });
    expect(await status()).toMatchObject({ user_agreement_enabled: true, privacy_policy_enabled: false });
    const legal = await panel.send('/api/legal');
    expect(legal.json.data).toEqual({
      user_agreement: 'Be kind.\n<script>alert(1)</script>',
      privacy_policy: '',
    });
    expect(legal.headers.get('content-type')).toContain('application/json');
  });
});

describe('a trial', () => {
  const attempt = (body: unknown, token = root) => panel.send('/api/option/test', { token, headers: proof, body });

  test('is for root, for known trials only, and is audited', async () => {
    const { token } = await panel.logIn('admin');
    expect((await attempt({ what: 'smtp' }, token)).status).toBe(403);
    const unknown = await attempt({ what: 'everything' });
    expect([unknown.status, unknown.json.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(unknown.json.message).toContain('"smtp", "webhook", "oidc", "turnstile", "wechat" or "telegram"');
    for (const what of ['smtp', 'oidc', 'turnstile', 'wechat', 'telegram']) {
      const { status: code, json } = await attempt({ what });
      expect([what, code, json.data.ok, json.data.steps]).toEqual([
        what,
        200,
        false,
        [
          {
            ...{ name: 'settings', ok: false, message: expect.stringMatching(/^Set .* first\.$/) },
            ...{ reason: 'trial.needs', params: { names: expect.any(String) } },
          },
        ],
      ]);
      expect((await trail())[0]).toMatchObject({
        action: 'option.test',
        target: `option:${what}`,
        detail: { ok: false },
      });
    }
  });

  test('of mail: delivers one, or names the failed step without the password', async () => {
    const account = { user: 'gate', password: `${CLEAR}-smtp` };
    const mail = await startMailServer({ account });
    try {
      const options = Object.entries({
        SMTPServer: '127.0.0.1',
        SMTPPort: String(mail.port),
        SMTPAccount: account.user,
        SMTPToken: account.password,
        SMTPFrom: 'Our gate <gate@example.org>',
      }).map(([key, value]) => ({ key, value }));
      expect((await put({ options })).status).toBe(200);

      const nowhere = await attempt({ what: 'smtp' });
      expect(nowhere.json.data.steps[0].message).toContain('Enter an address for the test email');
      expect((await attempt({ what: 'smtp', to: 'nobody' })).json.code).toBe('VALIDATION_FAILED');

      const sent = await attempt({ what: 'smtp', to: 'you@example.org' });
      expect([sent.json.data.ok, sent.json.data.steps.at(-1)]).toMatchObject([true, { name: 'send', ok: true }]);
      expect((await mail.next()).recipients).toEqual(['you@example.org']);

      await put({ key: 'SMTPToken', value: `${CLEAR}-wrong` });
      const refused = await attempt({ what: 'smtp', to: 'you@example.org' });
      expect([refused.json.data.ok, refused.json.data.steps.at(-1).name]).toEqual([false, 'login']);
      for (const { text } of [sent, refused]) expect(text).not.toContain(CLEAR);
      expect(panel.gateway.log()).not.toContain(CLEAR);
    } finally {
      await mail.stop();
    }
  });
});

describe('a changed CRYPTO_SECRET', () => {
  test('the gateway starts, marks the secret, and doctor names it', async () => {
    const dataDir = panel.gateway.dataDir;
    await panel.gateway.stop();
    const env = { CRYPTO_SECRET: 'another secret, as long as it has to be for this' };
    const doctor = await runCommand(['doctor', '--data-dir', dataDir], { env });
    expect([doctor.code, doctor.out]).toEqual([1, expect.stringMatching(/decrypts the options .*GitHubClientSecret/)]);

    const gateway = await startGateway({ dataDir, env });
    try {
      const base = gateway.url;
      const login = await fetch(`${base}/api/user/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ username: 'root', password: 'correct horse battery' }),
      });
      const { access_token } = ((await login.json()) as { data: { access_token: string } }).data;
      const listed = await fetch(`${base}/api/option`, { headers: { authorization: `Bearer ${access_token}` } });
      const { data } = (await listed.json()) as { data: { key: string }[] };
      expect(data.find(({ key }) => key === 'GitHubClientSecret')).toMatchObject({ value: '***', unreadable: true });
      const seen = (await (await fetch(`${base}/api/status`)).json()) as { data: object };
      expect(seen.data).toMatchObject({ github_oauth: false, github_client_id: '' });
      await gateway.logged('GitHubClientSecret');
    } finally {
      await gateway.stop();
    }
  });
});
