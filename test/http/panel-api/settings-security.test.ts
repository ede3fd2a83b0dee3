/**
 * Settings that decide who may sign in, or where secrets and links go: a stolen token or session
 * cannot change them.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { startMailServer } from '../../support/smtp.ts';
import { openPanel, type PanelCaller } from './panel-caller.ts';

type Option = { key: string; value: string; proof: string };
type Headers = Record<string, string>;
type Caller = [name: string, token: string, headers: Headers, refusal: [status: number, code: string]];

let panel: PanelCaller;
let root: string;
let pat: string;
let proof: Headers;
let options: Option[];
/** Callers who may not change them, and the refusals they get. */
let refused: Caller[];

beforeAll(async () => {
  panel = await openPanel();
  const [here, elsewhere] = [await panel.logIn('root'), await panel.logIn('root')];
  root = here.token;
  pat = (await panel.send('/api/user/token', { method: 'POST', token: root })).json.data.token;
  proof = await panel.prove(root);
  options = (await panel.send('/api/option', { token: root })).json.data;
  refused = [
    ['a personal access token', pat, {}, [403, 'AUTH_SESSION_REQUIRED']],
    ['a personal access token with the proof of a session', pat, proof, [403, 'AUTH_SESSION_REQUIRED']],
    ['a session without a proof', root, {}, [403, 'SECURITY_PROOF_REQUIRED']],
    [
      'a proof of another scope',
      root,
      await panel.prove(root, 'channel.key.read'),
      [403, 'SECURITY_PROOF_SCOPE_MISMATCH'],
    ],
    ['a proof from another session', root, await panel.prove(elsewhere.token), [403, 'SECURITY_PROOF_INVALID']],
  ];
});
afterAll(() => panel.gateway.stop());

const put = (changes: Record<string, string>, token = root, headers: Headers = proof) =>
  panel.send('/api/option', {
    ...{ method: 'PUT', token, headers },
    body: { options: Object.entries(changes).map(([key, value]) => ({ key, value })) },
  });

describe('an option', () => {
  test('of the catalogue is changed as its proof says', async () => {
    const guarded = options.filter((option) => option.proof === 'settings.security');
    expect(guarded.length).toBeGreaterThan(40);
    for (const { key, value } of guarded) {
      for (const [name, token, headers, refusal] of refused) {
        const answer = await put({ [key]: value }, token, headers);
        expect([key, name, answer.status, answer.json.code]).toEqual([key, name, ...refusal]);
      }
      expect([key, (await put({ [key]: value })).status]).toEqual([key, 200]);
    }
    for (const { key, value } of options.filter((option) => option.proof === 'none')) {
      expect([key, (await put({ [key]: value }, pat, {})).status]).toEqual([key, 200]);
    }
  });

  test('cannot be changed together with options that need no proof', async () => {
    const answer = await put({ SystemName: 'Theirs', RegisterEnabled: 'true' }, pat, {});
    expect([answer.status, answer.json.code]).toEqual([403, 'AUTH_SESSION_REQUIRED']);
    expect((await panel.send('/api/status')).json.data).toMatchObject({
      system_name: 'Taskgate',
      register_enabled: false,
    });
  });

  test('a refusal says what to do', async () => {
    expect((await put({ RegisterEnabled: 'true' }, root, {})).json).toMatchObject({
      message: expect.stringMatching(/POST \/api\/verify .*settings\.security.* X-Security-Proof/),
      details: { scope: 'settings.security' },
    });
    expect((await put({ RegisterEnabled: 'true' }, pat, {})).json.message).toContain('sign in');
  });
});

test("root's personal token cannot move SMTP to its own server and reset root's password", async () => {
  const [ours, theirs] = [await startMailServer({}), await startMailServer({})];
  try {
    panel.run("update users set email = 'root@example.org' where username = 'root'");
    panel.run(
      "insert into external_identity_claims (provider, subject, user_id, created_at) values ('email', 'root@example.org', 1, 1)",
    );
    const at = (port: number) => ({
      SMTPServer: '127.0.0.1',
      SMTPPort: String(port),
      SMTPFrom: 'gate@example.org',
    });
    expect((await put(at(ours.port))).status).toBe(200);

    const attack = await put(at(theirs.port), pat, {});
    expect([attack.status, attack.json.code]).toEqual([403, 'AUTH_SESSION_REQUIRED']);
    await panel.send('/api/reset_password', { body: { email: 'root@example.org' } });
    const mail = await ours.next();
    expect(mail.recipients).toEqual(['root@example.org']);
  } finally {
    await ours.stop();
    await theirs.stop();
  }
});

describe('beside the options', () => {
  const provider = {
    name: 'Acme',
    client_id: 'id',
    authorization_endpoint: 'https://acme.example/authorize',
    token_endpoint: 'https://acme.example/token',
    user_info_endpoint: 'https://acme.example/me',
  };

  test('a caller without a proof cannot change providers, run trials or change marketplace sources', async () => {
    const added = await panel.send('/api/custom-oauth-provider', {
      ...{ token: root, headers: proof },
      body: { slug: 'acme', ...provider },
    });
    expect(added.status).toBe(200);
    const path = `/api/custom-oauth-provider/${added.json.data.id}`;
    const attacks: [method: string, path: string, body: unknown][] = [
      ['POST', '/api/custom-oauth-provider', { slug: 'evil', ...provider }],
      ['PUT', path, { token_endpoint: 'https://evil.example/token' }],
      ['DELETE', path, undefined],
      ['POST', '/api/option/test', { what: 'smtp', to: 'me@evil.example' }],
      ['PUT', '/api/plugin/task/marketplace/sources', [{ name: 'Evil', index_url: 'https://evil.example/index.json' }]],
    ];
    for (const [method, target, body] of attacks) {
      for (const [name, token, headers, refusal] of refused) {
        const answer = await panel.send(target, { method, token, headers, body });
        expect([method, target, name, answer.status, answer.json.code]).toEqual([method, target, name, ...refusal]);
      }
    }
    const listed = await panel.send('/api/custom-oauth-provider', { token: root });
    expect(listed.json.data).toEqual([expect.objectContaining({ slug: 'acme', ...provider })]);

    for (const [method, target, body] of attacks.slice(1)) {
      const answer = await panel.send(target, { method, token: root, headers: proof, body });
      expect([method, target, answer.status]).toEqual([method, target, 200]);
    }
  });
});

describe('an option of a former version', () => {
  test.each(['SelfUseModeEnabled', 'DemoSiteEnabled'])(
    '%s no longer exists: a stored row is not shown',
    async (key) => {
      panel.run(`insert into options (key, value) values ('${key}', 'true')`);
      const listed: Option[] = (await panel.send('/api/option', { token: root })).json.data;
      expect(listed.map((option) => option.key)).not.toContain(key);
      const answer = await put({ [key]: 'true' });
      expect([answer.status, answer.json.code]).toEqual([400, 'VALIDATION_FAILED']);
      expect(answer.json.message).toStartWith(`The option ${key} was removed.`);
    },
  );
});
