/** Administration of accounts, the own profile and deleting the own account, over HTTP. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { PASSWORD } from '../../support/cheap-hash.ts';
import { type Answer, openPanel, type PanelCaller, type Send } from './panel-caller.ts';

const NEW_PASSWORD = 'another long password';

let panel: PanelCaller;
let root = '';
let admin = '';
let adminId = 0;
beforeAll(async () => {
  panel = await openPanel();
  adminId = panel.addUser('the-admin', 10);
  root = (await panel.logIn('root')).token;
  admin = (await panel.logIn('the-admin')).token;
});
afterAll(() => panel.gateway.stop());

let names = 0;
const newName = () => {
  names += 1;
  return `person-${names}`;
};
const send = (method: string, path: string, { token, body }: { token: string; body?: unknown }): Promise<Answer> =>
  panel.send(path, { method, token, ...(body === undefined ? {} : { body }) });
const outcome = ({ status, json }: Answer) => [status, json?.code];
const manage = (token: string, id: number, body: { action: string } & Record<string, unknown>) =>
  send('POST', '/api/user/manage', { token, body: { id, ...body } });
/** The administrator creates a user. */
async function make(fields: object = {}): Promise<{ id: number; username: string; token: string; cookie: string }> {
  const username = newName();
  const made = await send('POST', '/api/user', { token: admin, body: { username, password: PASSWORD, ...fields } });
  expect([made.status, made.text]).toEqual([200, expect.any(String)]);
  return { id: made.json.data.id, username, ...(await panel.logIn(username)) };
}
const readAccount = async (id: number) => (await send('GET', `/api/user/${id}`, { token: root })).json.data;
const readAudit = async (action: string, id: number) =>
  (await panel.audit(action)).filter(({ target }) => target === `user:${id}`);

describe('accounts', () => {
  test('are created, read, changed and deleted; every change is audited without secrets', async () => {
    const username = newName();
    const body = { username, password: PASSWORD, email: `${username}@Example.org`, quota: 700, remark: 'a friend' };
    const made = await send('POST', '/api/user', { token: admin, body });
    expect([made.status, made.json.data]).toEqual([
      200,
      {
        ...{ id: expect.any(Number), username, display_name: username, role: 1, status: 1, group: 'default' },
        ...{ email: `${username}@example.org`, quota: 700, used_quota: 0, request_count: 0, language: '' },
        ...{
          remark: 'a friend',
          budget: null,
          max_running: null,
          requests_per_minute: null,
          inviter_id: 0,
          has_password: true,
          has_access_token: false,
        },
        ...{ created_at: expect.any(Number), last_login_at: 0, deleted_at: 0 },
      },
    ]);
    const { id } = made.json.data;
    const theirs = await panel.logIn(username);

    const changed = await send('PUT', '/api/user', {
      token: admin,
      body: { id, group: 'vip', password: NEW_PASSWORD },
    });
    expect(changed.json.data).toMatchObject({ group: 'vip', remark: 'a friend', email: `${username}@example.org` });
    expect(outcome(await send('GET', '/api/user/self', { token: theirs.token }))).toEqual([
      401,
      'AUTH_SESSION_REVOKED',
    ]);
    const login = { username, password: NEW_PASSWORD };
    expect((await panel.send('/api/user/login', { body: login })).json.data.user.bindings).toEqual([]);

    expect(await readAccount(id)).toMatchObject({
      sessions: 1,
      api_keys: 0,
      two_factor: false,
      bindings: [],
      passkeys: 0,
    });
    expect(await readAudit('user.create', id)).toMatchObject([
      {
        username: 'the-admin',
        auth_method: 'session',
        detail: { after: { username, quota: 700, remark: 'a friend' } },
      },
    ]);
    expect(await readAudit('user.update', id)).toMatchObject([
      { detail: { before: { group: 'default' }, after: { group: 'vip', password: '***' } } },
    ]);

    const gone = await send('DELETE', `/api/user/${id}`, { token: admin });
    expect([gone.status, gone.json.data.username, gone.json.data.email]).toEqual([200, `deleted:${id}`, null]);
    expect(outcome(await send('DELETE', `/api/user/${id}`, { token: admin }))).toEqual([404, 'AUTH_USER_NOT_FOUND']);
    expect(await readAudit('user.delete', id)).toMatchObject([{ detail: { before: { username } } }]);
    const everything = await send('GET', '/api/audit?page_size=100', { token: root });
    for (const secret of [PASSWORD, NEW_PASSWORD, 'argon2']) expect(everything.text).not.toContain(secret);
  });

  test('are disabled, enabled, promoted and demoted; a change without effect leaves no row', async () => {
    const { id, token } = await make();
    expect((await manage(admin, id, { action: 'disable' })).json.data).toMatchObject({ id, status: 2, role: 1 });
    expect(outcome(await send('GET', '/api/user/self', { token }))).toEqual([401, 'AUTH_SESSION_REVOKED']);
    expect((await manage(admin, id, { action: 'disable' })).status).toBe(200);
    expect((await manage(admin, id, { action: 'enable' })).json.data).toMatchObject({ status: 1 });
    expect(outcome(await manage(admin, id, { action: 'promote' }))).toEqual([403, 'AUTH_INSUFFICIENT_PRIVILEGE']);
    expect((await manage(root, id, { action: 'promote' })).json.data).toMatchObject({ role: 10 });
    expect(outcome(await manage(admin, id, { action: 'disable' }))).toEqual([403, 'AUTH_INSUFFICIENT_PRIVILEGE']);
    expect((await manage(root, id, { action: 'demote' })).json.data).toMatchObject({ role: 1 });
    expect((await manage(admin, id, { action: 'delete' })).json.data).toMatchObject({ username: `deleted:${id}` });
    for (const action of ['disable', 'enable', 'promote', 'demote', 'delete']) {
      expect([action, (await readAudit(`user.${action}`, id)).length]).toEqual([action, 1]);
    }
    expect(await readAudit('user.disable', id)).toMatchObject([
      { detail: { before: { status: 1 }, after: { status: 2 } } },
    ]);
    expect((await readAudit('user.promote', id))[0]?.detail).toEqual({ before: { role: 1 }, after: { role: 10 } });
  });

  test('get quota changes once per idempotency key', async () => {
    const { id } = await make();
    const change = (more: object) => manage(admin, id, { action: 'add_quota', ...more });
    expect((await change({ value: 500 })).json.data).toMatchObject({ quota: 500, repeated: false });
    expect((await change({ value: 200, mode: 'subtract' })).json.data.quota).toBe(300);
    expect((await change({ value: 1000, mode: 'override' })).json.data.quota).toBe(1000);
    const once = { value: 5, mode: 'add', idempotency_key: 'july' };
    expect((await change(once)).json.data).toMatchObject({ quota: 1005, repeated: false });
    expect((await change(once)).json.data).toMatchObject({ quota: 1005, repeated: true });
    expect(outcome(await change({ ...once, value: 6 }))).toEqual([409, 'AUTH_QUOTA_KEY_REUSED']);
    expect(outcome(await change({}))).toEqual([400, 'VALIDATION_FAILED']);
    for (const value of [-1, 0.5, 2 ** 60, '5']) {
      expect(outcome(await change({ value }))).toEqual([400, 'VALIDATION_FAILED']);
    }
    const withHeader = (key: string) =>
      panel.send('/api/user/manage', {
        ...{ method: 'POST', token: admin, headers: { 'idempotency-key': key } },
        body: { id, action: 'add_quota', value: 1 },
      });
    for (const key of ['', 'x'.repeat(256)]) {
      expect(outcome(await withHeader(key))).toEqual([400, 'INVALID_IDEMPOTENCY_KEY']);
    }
    const rows = await readAudit('user.quota', id);
    expect(rows).toHaveLength(4);
    expect(rows[0]).toMatchObject({
      detail: { mode: 'add', value: 5, before: { quota: 1000 }, after: { quota: 1005 } },
    });
  });

  test('can lose factors, tokens, identities and the email address', async () => {
    const { id, username, token } = await make({ email: 'bound@example.org' });
    const pat = (await send('POST', '/api/user/token', { token })).json.data.token;
    const session = await panel.logIn(username);
    panel.run(`insert into two_factor (user_id, secret_sealed, enabled, created_at) values (${id}, 's', 1, 1)`);
    panel.run(`insert into passkeys (user_id, credential_id, public_key, rp_id, name, counter, transports, backed_up, created_at)
               values (${id}, 'c-${id}', 'key', 'localhost', 'phone', 0, '[]', 0, 1)`);
    panel.run(
      `insert into external_identity_claims (provider, subject, user_id, created_at) values ('github', '9', ${id}, 1)`,
    );
    expect(await readAccount(id)).toMatchObject({
      ...{ two_factor: true, passkeys: 1, has_access_token: true, bindings: [{ provider: 'github', subject: '9' }] },
    });

    const gone = (path: string) => send('DELETE', `/api/user/${id}/${path}`, { token: admin });
    expect((await gone('token')).status).toBe(200);
    expect(outcome(await send('GET', '/api/user/self', { token: pat }))).toEqual([401, 'AUTH_UNAUTHORIZED']);
    expect((await gone('bindings/github')).status).toBe(200);
    expect(outcome(await gone('bindings/github'))).toEqual([404, 'AUTH_BINDING_NOT_FOUND']);
    expect((await gone('bindings/email')).status).toBe(200);
    expect((await send('GET', '/api/user/self', { token: session.token })).status).toBe(200);
    expect((await gone('2fa')).status).toBe(200);
    expect(outcome(await gone('2fa'))).toEqual([409, 'AUTH_TWO_FACTOR_OFF']);
    expect(outcome(await send('GET', '/api/user/self', { token: session.token }))).toEqual([
      401,
      'AUTH_SESSION_REVOKED',
    ]);
    expect((await gone('reset_passkey')).json.data).toEqual({ deleted: 1 });
    expect(outcome(await gone('reset_passkey'))).toEqual([404, 'AUTH_PASSKEY_NOT_FOUND']);
    expect(await readAccount(id)).toMatchObject({
      two_factor: false,
      passkeys: 0,
      has_access_token: false,
      email: null,
    });
    for (const [action, rows] of [
      ['token.revoke', 1],
      ['unbind', 2],
      ['two_factor.reset', 1],
      ['passkey.reset', 1],
    ] as const) {
      expect([action, (await readAudit(`user.${action}`, id)).length]).toEqual([action, rows]);
    }
  });

  test('are listed by page, filter and order, also under /search', async () => {
    const group = newName();
    const made = [await make({ group, quota: 3 }), await make({ group, quota: 1 }), await make({ group, quota: 2 })];
    await manage(admin, made[1]?.id ?? 0, { action: 'disable' });
    const ids = async (query: string, base = '/api/user') => {
      const { json } = await send('GET', `${base}?group=${group}&${query}`, { token: admin });
      return json.data.items.map(({ id }: { id: number }) => made.findIndex((one) => one.id === id));
    };
    for (const base of ['/api/user', '/api/user/search', '/api/user/']) {
      expect(await ids('', base)).toEqual([0, 1, 2]);
      expect(await ids('sort_by=quota', base)).toEqual([1, 2, 0]);
    }
    expect(await ids('sort_by=created_at&sort_order=desc&page=2&page_size=1')).toEqual([1]);
    expect(await ids('status=2')).toEqual([1]);
    expect(await ids('status=1&keyword=')).toEqual([0, 2]);
    expect(await ids('role=10')).toEqual([]);
    expect(await ids(`keyword=${made[2]?.username.toUpperCase()}`)).toEqual([2]);
    const { json } = await send('GET', `/api/user?group=${group}&page_size=2`, { token: admin });
    expect(json.data).toMatchObject({ page: 1, page_size: 2, total: 3 });
    await send('DELETE', `/api/user/${made[0]?.id}`, { token: admin });
    const deleted = await send('GET', '/api/user?status=-1&page_size=100', { token: admin });
    expect(deleted.json.data.items.map(({ id }: { id: number }) => id)).toContain(made[0]?.id);

    for (const query of [
      'page_size=101',
      'page=0',
      'sort_by=password_hash',
      'sort_order=up',
      'role=5',
      'status=0',
      'x=1',
    ]) {
      expect([query, ...outcome(await send('GET', `/api/user?${query}`, { token: admin }))]).toEqual([
        query,
        400,
        'VALIDATION_FAILED',
      ]);
    }
  });

  test('are closed to users and anonymous callers; a personal token of an administrator is enough', async () => {
    const { id, token } = await make();
    const pat = (await send('POST', '/api/user/token', { token: admin })).json.data.token;
    const requests: [string, string, unknown?][] = [
      ['GET', '/api/user'],
      ['GET', '/api/user/search'],
      ['GET', `/api/user/${id}`],
      ['POST', '/api/user', { username: 'x', password: PASSWORD }],
      ['PUT', '/api/user', { id, remark: 'x' }],
      ['POST', '/api/user/manage', { id, action: 'disable' }],
      ['DELETE', `/api/user/${id}`],
      ['DELETE', `/api/user/${id}/bindings/github`],
      ['DELETE', `/api/user/${id}/2fa`],
      ['DELETE', `/api/user/${id}/reset_passkey`],
      ['DELETE', `/api/user/${id}/token`],
    ];
    for (const [method, path, body] of requests) {
      expect([path, ...outcome(await send(method, path, { token, body }))]).toEqual([
        path,
        403,
        'AUTH_INSUFFICIENT_PRIVILEGE',
      ]);
      expect([path, ...outcome(await send(method, path, { token: '', body }))]).toEqual([
        path,
        401,
        'AUTH_UNAUTHORIZED',
      ]);
    }
    expect((await send('PUT', '/api/user', { token: pat, body: { id, remark: 'by token' } })).json.data.remark).toBe(
      'by token',
    );
    expect(await readAudit('user.update', id)).toMatchObject([{ auth_method: 'access_token' }]);
  });

  test('of equal or higher role, and the own one, cannot be changed', async () => {
    const peer = panel.addUser(newName(), 10);
    for (const id of [1, peer, adminId]) {
      expect(outcome(await send('PUT', '/api/user', { token: admin, body: { id, remark: 'x' } }))).toEqual([
        403,
        'AUTH_INSUFFICIENT_PRIVILEGE',
      ]);
      expect(outcome(await send('DELETE', `/api/user/${id}`, { token: admin }))).toEqual([
        403,
        'AUTH_INSUFFICIENT_PRIVILEGE',
      ]);
    }
    for (const action of ['disable', 'promote', 'demote', 'delete']) {
      expect([action, ...outcome(await manage(root, 1, { action }))]).toEqual([action, 403, 'AUTH_ROOT_PROTECTED']);
    }
    expect(outcome(await send('PUT', '/api/user', { token: root, body: { id: 1, password: NEW_PASSWORD } }))).toEqual([
      403,
      'AUTH_OWN_ACCOUNT',
    ]);
    expect((await manage(root, 1, { action: 'add_quota', value: 5 })).status).toBe(200);
    for (const role of [10, 100]) {
      const body = { username: newName(), password: PASSWORD, role };
      expect(outcome(await send('POST', '/api/user', { token: admin, body }))).toEqual([
        403,
        'AUTH_INSUFFICIENT_PRIVILEGE',
      ]);
    }
  });

  test('show their keys without secrets and every change of the balance, to those who may see them', async () => {
    const { id, token } = await make({ quota: 700 });
    const created = (await send('POST', '/api/token', { token, body: { name: 'ci' } })).json.data;
    await manage(admin, id, { action: 'add_quota', value: 50 });
    const read = async (part: string, as = admin, of = id) => send('GET', `/api/user/${of}/${part}`, { token: as });
    const keys = await read('keys');
    expect(keys.json.data.items).toMatchObject([{ id: created.id, name: 'ci' }]);
    expect(keys.text).not.toContain(created.key);
    const { total, items } = (await read('ledger')).json.data;
    expect([total, items.map(({ amount }: { amount: number }) => amount)]).toEqual([2, [50, 700]]);
    for (const part of ['keys', 'ledger']) {
      expect((await read(part, token)).status).toBe(403);
      // An administrator may not see root.
      expect(outcome(await read(part, admin, 1))).toEqual([403, 'AUTH_INSUFFICIENT_PRIVILEGE']);
      expect((await read(part, root, 999_999)).status).toBe(404);
    }
  });

  test('a change of quota tells the customer why, on a statement without machine words', async () => {
    const { id, token } = await make({ quota: 700 });
    const change = { action: 'add_quota', value: 250, reason: 'refund', note: 'Invoice 7', idempotency_key: 'k1' };
    await manage(admin, id, change);
    expect((await manage(admin, id, change)).json.data).toMatchObject({ quota: 950, repeated: true });
    expect(outcome(await manage(admin, id, { ...change, note: 'Invoice 8' }))).toEqual([409, 'AUTH_QUOTA_KEY_REUSED']);
    await manage(admin, id, { action: 'add_quota', mode: 'subtract', value: 50 });
    const read = async (path: string, as: string) => send('GET', path, { token: as });
    const own = await read('/api/user/self/ledger', token);
    const rows = own.json.data.items.map(
      ({ kind, amount, balance_after: after, note, actor }: Record<string, unknown>) => [
        ...[kind, amount, after, note, actor],
      ],
    );
    expect(rows).toEqual([
      ['adjust', -50, 900, '', null],
      ['refund', 250, 950, 'Invoice 7', null],
      ['grant', 700, 700, 'New account', null],
    ]);
    expect(own.text).not.toMatch(/subtract|add 2/);
    expect(own.json.data.sums).toBeNull();
    const sumSince = async (since: number) =>
      (await read(`/api/user/self/ledger?kind=refund&since=${since}`, token)).json.data.sums;
    expect(await sumSince(1)).toMatchObject({ opening: 0, tasks: 0, storage: 0, closing: 900 });
    expect(await sumSince(9_999_999_999)).toMatchObject({ opening: 900, added: 0, adjusted: 0, closing: 900 });
    const seen = (await read(`/api/user/${id}/ledger?kind=refund`, admin)).json.data;
    expect(seen).toMatchObject({ total: 1, items: [{ balance_after: 950, actor: { username: 'the-admin' } }] });
    const csv = await read('/api/user/self/ledger/export?format=csv&kind=refund', token);
    expect(csv.text.trimEnd().split('\r\n').slice(1)).toHaveLength(1);
    expect(csv.text).toContain(',refund,0.0005,0.0019,Invoice 7,');
    const countRows = async (period: string) =>
      (await read(`/api/user/self/ledger/export?format=csv&${period}`, token)).text.trimEnd().split('\r\n').length - 1;
    expect([await countRows('since=1'), await countRows('until=1'), await countRows('since=9999999999')]).toEqual([
      ...[3, 0, 0],
    ]);
    const asked = { headers: { authorization: `Bearer ${admin}` } };
    const exported = await fetch(`${panel.gateway.url}/api/user/${id}/ledger/export?format=jsonl`, asked);
    const lines = (await exported.text()).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line).balance_after)).toEqual([900, 950, 700]);
    expect((await read(`/api/user/${id}/ledger/export?format=jsonl`, token)).status).toBe(403);
  });

  test('a change of quota names a task of that account only', async () => {
    const { id } = await make();
    const refused = await manage(admin, id, { action: 'add_quota', value: 5, task_id: 'task_of_nobody' });
    expect([refused.status, refused.json.details]).toMatchObject([400, { field: 'task_id' }]);
    expect((await send('GET', `/api/user/${id}`, { token: admin })).json.data.quota).toBe(0);
  });

  test('mass assignment: fields that a body must not set are refused by name', async () => {
    const { id } = await make();
    const fields = [
      { role: 100 },
      { status: 1 },
      { quota: 5 },
      { auth_version: 1 },
      { password_hash: 'x' },
      { inviter_id: 1 },
    ];
    for (const field of fields) {
      const answer = await send('PUT', '/api/user', { token: root, body: { id, ...field } });
      expect([...outcome(answer), answer.json.details.errors[0].rule]).toEqual([
        400,
        'VALIDATION_FAILED',
        'unknown_field',
      ]);
    }
    const made = { username: newName(), password: PASSWORD };
    for (const field of [{ id: 5 }, { status: 2 }, { language: 'en' }, { role: 50 }, { role: '10' }]) {
      expect(outcome(await send('POST', '/api/user', { token: root, body: { ...made, ...field } }))).toEqual([
        400,
        'VALIDATION_FAILED',
      ]);
    }
    expect(outcome(await manage(root, id, { action: 'make_root' }))).toEqual([400, 'VALIDATION_FAILED']);
  });

  test('that do not exist, or whose name is taken, are refused', async () => {
    const { username } = await make();
    expect(outcome(await send('POST', '/api/user', { token: admin, body: { username, password: PASSWORD } }))).toEqual([
      409,
      'NAME_TAKEN',
    ]);
    const { id } = await make({ email: 'owned@example.org' });
    const other = await make();
    const steal = { id: other.id, email: 'OWNED@example.org' };
    expect(outcome(await send('PUT', '/api/user', { token: admin, body: steal }))).toEqual([
      409,
      'AUTH_IDENTITY_TAKEN',
    ]);
    expect(outcome(await send('PUT', '/api/user', { token: admin, body: { id, username } }))).toEqual([
      409,
      'NAME_TAKEN',
    ]);
    expect(outcome(await send('PUT', '/api/user', { token: admin, body: { id: 999_999 } }))).toEqual([
      404,
      'AUTH_USER_NOT_FOUND',
    ]);
    for (const name of ['0', '-1', '1e3', 'somebody', '%00', '01', '1%2F2', '99999999999999999999']) {
      expect([name, (await send('GET', `/api/user/${name}`, { token: root })).status]).toEqual([name, 404]);
      expect([name, (await send('DELETE', `/api/user/${name}`, { token: root })).status]).toEqual([name, 404]);
    }
    for (const provider of ['%00', '%20', 'x'.repeat(300), '..%2f2fa']) {
      expect(outcome(await send('DELETE', `/api/user/${id}/bindings/${provider}`, { token: root }))[0]).toBe(404);
    }
    expect((await readAccount(id)).email).toBe('owned@example.org');
  });
});

describe('the own account', () => {
  const self = (token: string, body: unknown) => send('PUT', '/api/user/self', { token, body });

  test('accepts display name and language without a password, and a username in a session', async () => {
    const { id, token } = await make();
    const name = newName();
    const changed = await self(token, { display_name: 'Ada', language: 'zh', username: name });
    expect(changed.json.data).toMatchObject({ id, username: name, display_name: 'Ada', language: 'zh', bindings: [] });
    expect((await send('GET', '/api/user/self', { token })).json.data.username).toBe(name);
    expect((await panel.logIn(name)).sid).not.toBe('');

    const pat = (await send('POST', '/api/user/token', { token })).json.data.token;
    expect((await self(pat, { language: 'en' })).json.data).toMatchObject({ display_name: 'Ada', language: 'en' });
    expect(outcome(await self(pat, { username: newName() }))).toEqual([403, 'AUTH_SESSION_REQUIRED']);
    const change = { original_password: PASSWORD, password: NEW_PASSWORD };
    expect(outcome(await self(pat, change))).toEqual([403, 'AUTH_SESSION_REQUIRED']);
    expect(outcome(await self(token, { username: 'ROOT' }))).toEqual([409, 'NAME_TAKEN']);
    const [row] = await readAudit('user.profile', id);
    expect(row).toMatchObject({ detail: { before: { language: 'zh' }, after: { language: 'en' } } });
  });

  test('accepts a new password only alone and with the old one', async () => {
    const { id, token } = await make();
    const change = { original_password: PASSWORD, password: NEW_PASSWORD };
    for (const body of [{ password: NEW_PASSWORD }, { original_password: PASSWORD }, { ...change, language: 'en' }]) {
      expect(outcome(await self(token, body))).toEqual([400, 'VALIDATION_FAILED']);
    }
    expect(outcome(await self(token, { ...change, original_password: 'wrong' }))).toEqual([
      400,
      'AUTH_PASSWORD_INVALID',
    ]);
    const changed = await self(token, change);
    expect(Object.keys(changed.json.data).sort()).toEqual([
      'access_expires_at',
      'access_token',
      'session',
      'token_type',
    ]);
    expect(await readAudit('user.password', id)).toHaveLength(1);
  });

  test('mass assignment: users cannot set their own role, quota, group or address', async () => {
    const { id, token } = await make();
    const fields = [{ role: 100 }, { quota: 5 }, { group: 'vip' }, { email: 'a@b.example' }, { status: 1 }, { id: 1 }];
    for (const field of fields) expect(outcome(await self(token, field))).toEqual([400, 'VALIDATION_FAILED']);
    for (const field of [
      { display_name: 'a\u0000b' },
      { language: 'english' },
      { username: 'a b' },
      { language: '../en' },
    ]) {
      expect(outcome(await self(token, field))).toEqual([400, 'VALIDATION_FAILED']);
    }
    expect((await self(token, {})).json.data).toMatchObject({ id, role: 1, quota: 0 });
  });

  const proofFor = async (token: string, scope: string, body: object = { method: 'password', password: PASSWORD }) =>
    (await send('POST', '/api/verify', { token, body: { ...body, scope } })).json.data?.proof_token;
  const end = (token: string, proof?: string): Promise<Answer> => {
    const request: Send = { method: 'DELETE', token, ...(proof ? { headers: { 'x-security-proof': proof } } : {}) };
    return panel.send('/api/user/self', request);
  };

  test('is exported with a proof of that scope, and without what belongs to others', async () => {
    const mine = await make({ email: 'export@example.org' });
    const view = { name: 'Failed', query: 'status=FAILURE' };
    await send('PUT', '/api/user/self/views', { token: mine.token, body: view });
    const ask = (token: string, proof?: string): Promise<Answer> =>
      panel.send('/api/user/self/export', {
        method: 'POST',
        token,
        ...(proof ? { headers: { 'x-security-proof': proof } } : {}),
      });
    expect(outcome(await ask(mine.token))).toEqual([403, 'SECURITY_PROOF_REQUIRED']);
    const other = await proofFor(mine.token, 'account.delete');
    expect(outcome(await ask(mine.token, other))).toEqual([403, 'SECURITY_PROOF_SCOPE_MISMATCH']);
    const done = await ask(mine.token, await proofFor(mine.token, 'account.export'));
    expect(done.json).toMatchObject({
      format: 'taskgate.user-export',
      account: { id: mine.id, username: mine.username, email: 'export@example.org' },
      task_views: [view],
      tasks: [],
    });
    const text = JSON.stringify(done.json);
    for (const foreign of ['root', 'argon2', admin]) expect(text).not.toContain(foreign);
    expect(await readAudit('user.export', mine.id)).toHaveLength(1);
  });

  test('is deleted with a proof of that scope, created in this session', async () => {
    const mine = await make({ email: 'mine@example.org' });
    const key = (await send('POST', '/api/token', { token: mine.token, body: { name: 'key' } })).json.data.key;
    const pat = (await send('POST', '/api/user/token', { token: mine.token })).json.data.token;
    const elsewhere = await panel.logIn(mine.username);
    expect(outcome(await end(mine.token))).toEqual([403, 'SECURITY_PROOF_REQUIRED']);
    expect(outcome(await end(mine.token, 'x'))).toEqual([403, 'SECURITY_PROOF_INVALID']);
    const other = await proofFor(mine.token, 'passkey.delete');
    expect(outcome(await end(mine.token, other))).toEqual([403, 'SECURITY_PROOF_SCOPE_MISMATCH']);
    const proof = await proofFor(mine.token, 'account.delete');
    expect(outcome(await end(elsewhere.token, proof))).toEqual([403, 'SECURITY_PROOF_INVALID']);
    expect(outcome(await end(pat, proof))).toEqual([403, 'AUTH_SESSION_REQUIRED']);

    const done = await end(mine.token, proof);
    expect([done.status, done.json.data]).toEqual([200, null]);
    for (const { token } of [mine, elsewhere]) {
      expect(outcome(await send('GET', '/api/user/self', { token }))).toEqual([401, 'AUTH_SESSION_REVOKED']);
    }
    const refresh = { method: 'POST', headers: { cookie: elsewhere.cookie } };
    expect(outcome(await panel.send('/api/user/auth/refresh', refresh))).toEqual([401, 'AUTH_SESSION_REVOKED']);
    expect(outcome(await send('GET', '/api/user/self', { token: pat }))).toEqual([401, 'AUTH_UNAUTHORIZED']);
    expect((await send('GET', '/v1/tasks/task_none', { token: key })).status).toBe(401);
    const body = { username: mine.username, password: PASSWORD };
    expect(outcome(await panel.send('/api/user/login', { body }))).toEqual([401, 'AUTH_INVALID_CREDENTIALS']);
    expect(await readAccount(mine.id)).toMatchObject({ username: `deleted:${mine.id}`, email: null, api_keys: 0 });
    expect(await readAudit('user.delete', mine.id)).toMatchObject([{ username: mine.username, user_id: mine.id }]);
    const again = { username: mine.username, password: PASSWORD, email: 'mine@example.org' };
    expect((await send('POST', '/api/user', { token: admin, body: again })).status).toBe(200);
  });

  test('downgrade: with a second factor, the password is not enough to delete it', async () => {
    const { id, token } = await make();
    const before = await proofFor(token, 'account.delete');
    panel.run(`insert into two_factor (user_id, secret_sealed, enabled, created_at) values (${id}, 's', 1, 1)`);
    const refused = await send('POST', '/api/verify', {
      token,
      body: {
        method: 'password',
        password: PASSWORD,
        scope: 'account.delete',
      },
    });
    expect(outcome(refused)).toEqual([403, 'SECURITY_PROOF_METHOD_MISMATCH']);
    expect(outcome(await end(token, before))).toEqual([403, 'SECURITY_PROOF_METHOD_MISMATCH']);
    expect((await readAccount(id)).deleted_at).toBe(0);
  });

  test('of root cannot be deleted', async () => {
    const { token } = await panel.logIn('root');
    expect(outcome(await end(token, await proofFor(token, 'account.delete')))).toEqual([403, 'AUTH_ROOT_PROTECTED']);
    expect((await readAccount(1)).deleted_at).toBe(0);
  });
});

describe('the addresses', () => {
  test('of the own account keep their meaning next to those of users', async () => {
    const { id, token } = await make();
    for (const path of ['self', 'token', 'sessions', 'passkey', '2fa/status']) {
      expect([path, (await send('GET', `/api/user/${path}`, { token })).status]).toEqual([path, 200]);
    }
    expect((await send('DELETE', '/api/user/token', { token })).status).toBe(200);
    expect(outcome(await send('DELETE', '/api/user/sessions/2fa', { token }))).toEqual([404, 'AUTH_SESSION_NOT_FOUND']);
    expect(outcome(await send('DELETE', '/api/user/passkey', { token }))).toEqual([403, 'SECURITY_PROOF_REQUIRED']);
    // A user reaches their own passkeys there, never the administration: that would be 403.
    expect(outcome(await send('DELETE', '/api/user/passkey/token', { token }))).toEqual([404, 'NOT_FOUND']);
    expect(outcome(await send('DELETE', '/api/user/passkey/2fa', { token: root }))).toEqual([404, 'NOT_FOUND']);
    expect((await send('GET', `/api/user/${id}`, { token })).status).toBe(403);
  });

  test('are unambiguous: a word never stands where an id could', async () => {
    const { json } = await panel.send('/api/openapi.json');
    const paths = Object.keys(json.paths).filter((path) => path.startsWith('/api/'));
    const shapes = paths.map((path) => path.replaceAll(/\{[^}]+\}/g, '{}'));
    expect(shapes.length).toBeGreaterThan(20);
    expect(new Set(shapes).size).toBe(shapes.length);
    for (const path of paths.filter((one) => one.startsWith('/api/user/') && !one.startsWith('/api/user/{'))) {
      expect(path.split('/')[3]).toMatch(/^(\d+[a-z_-]|[a-z_-])[a-z0-9_-]*$/);
    }
  });
});
