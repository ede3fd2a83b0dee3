/**
 * Personal access tokens over HTTP: what they may do, what they may never do, and where they are
 * recorded.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { openPanel, type PanelCaller } from './panel-caller.ts';

let panel: PanelCaller;
let root: string;
let pat: string;

beforeAll(async () => {
  panel = await openPanel({ LOG_LEVEL: 'debug' });
  root = (await panel.logIn('root')).token;
  pat = await create(root);
});
afterAll(() => panel.gateway.stop());

async function create(token: string): Promise<string> {
  const made = await panel.send('/api/user/token', { method: 'POST', token });
  expect(made.status).toBe(200);
  return made.json.data.token;
}
const readCode = async (path: string, request: Parameters<PanelCaller['send']>[1]) => {
  const answer = await panel.send(path, request);
  return [answer.status, answer.json?.code ?? answer.json?.error?.code];
};

describe('its owner', () => {
  test('sees it once, then its first characters; a new one replaces it; it can be revoked', async () => {
    panel.addUser('ada', 1);
    const { token } = await panel.logIn('ada');
    expect((await panel.send('/api/user/token', { token })).json).toEqual({ success: true, message: '', data: null });

    const made = await panel.send('/api/user/token', { method: 'POST', token });
    expect(Object.keys(made.json.data).sort()).toEqual(['created_at', 'prefix', 'token']);
    const { token: first, ...view } = made.json.data;
    expect(first).toMatch(/^tgp_[A-Za-z0-9]{32}$/);
    expect(made.headers.get('cache-control')).toBe('no-store');
    const shown = await panel.send('/api/user/token', { token: first });
    expect(shown.json.data).toEqual(view);

    const second = await create(token);
    expect(await readCode('/api/user/self', { token: first })).toEqual([401, 'AUTH_UNAUTHORIZED']);
    expect((await panel.send('/api/user/self', { token: second })).json.data.username).toBe('ada');

    const taken = await panel.send('/api/user/token', { method: 'DELETE', token });
    expect([taken.status, taken.json.data]).toEqual([200, null]);
    expect(await readCode('/api/user/self', { token: second })).toEqual([401, 'AUTH_UNAUTHORIZED']);
    expect((await panel.send('/api/user/token', { token })).json.data).toBeNull();
  });

  test('cannot choose its text', async () => {
    panel.addUser('fay', 1);
    const { token } = await panel.logIn('fay');
    const own = `tgp_${'A'.repeat(32)}`;
    const made = await panel.send(`/api/user/token?token=${own}`, { token, body: { token: own } });
    expect(made.json.data.token).not.toBe(own);
    expect(await readCode('/api/user/self', { token: own })).toEqual([401, 'AUTH_UNAUTHORIZED']);
  });
});

describe('it has the rights of its owner’s role', () => {
  test('with Bearer in any case, and without', async () => {
    for (const authorization of [`Bearer ${pat}`, `bearer ${pat}`, `BEARER ${pat}`, pat]) {
      const answer = await panel.send('/api/user/self', { headers: { authorization } });
      expect([answer.status, answer.json.data?.username]).toEqual([200, 'root']);
    }
    for (const authorization of [`Token ${pat}`, `Basic ${btoa(`root:${pat}`)}`, `Bearer ${pat}, Bearer ${pat}`]) {
      expect(await readCode('/api/user/self', { headers: { authorization } })).toEqual([401, 'AUTH_UNAUTHORIZED']);
    }
  });

  test('root’s token may administer, a user’s may not', async () => {
    panel.addUser('bea', 1);
    const users = await create((await panel.logIn('bea')).token);
    for (const path of ['/api/channel', '/api/option', '/api/audit']) {
      expect((await panel.send(path, { token: pat })).status).toBe(200);
      expect(await readCode(path, { token: users })).toEqual([403, 'AUTH_INSUFFICIENT_PRIVILEGE']);
    }
    expect((await panel.send('/api/token', { token: users })).status).toBe(200);
  });

  test('the audit log marks changes made with it', async () => {
    const made = await panel.send('/api/token', { token: pat, body: { name: 'by script', unlimited_quota: true } });
    expect(made.status).toBe(200);
    const [row] = await panel.audit('api_key.create');
    expect(row).toMatchObject({ user_id: 1, auth_method: 'access_token', target: `api_key:${made.json.data.id}` });
  });
});

describe('it is never accepted', () => {
  test('on routes that need a session', async () => {
    const { paths } = (await panel.send('/api/openapi.json')).json;
    const routes: [method: string, path: string][] = [
      ['get', '/api/user/{id}/sessions'],
      ['delete', '/api/user/{id}/sessions'],
      ['delete', '/api/user/{id}/sessions/{sid}'],
    ];
    for (const [path, operations] of Object.entries(paths as Record<string, Record<string, Record<string, unknown>>>)) {
      for (const [method, operation] of Object.entries(operations)) {
        if (operation['x-access'] === 'session') routes.push([method, path]);
      }
    }
    expect(routes.map(([method, path]) => `${method} ${path}`)).toContain('post /api/user/token');
    expect(routes.length).toBeGreaterThan(8);
    for (const [method, path] of routes) {
      const outcome = await readCode(path.replaceAll(/\{\w+\}/g, '1'), { method: method.toUpperCase(), token: pat });
      expect([method, path, ...outcome]).toEqual([method, path, 403, 'AUTH_SESSION_REQUIRED']);
    }
    expect((await panel.send('/api/user/self', { token: pat })).status).toBe(200);
  });

  test('on routes for API keys, as a refresh cookie or in an address', async () => {
    expect(await readCode('/v1/tasks/task_1', { token: pat })).toEqual([401, 'api_key_invalid']);
    const headers = { cookie: `svc_refresh=${pat}` };
    expect(await readCode('/api/user/auth/refresh', { method: 'POST', headers })).toEqual([401, 'AUTH_UNAUTHORIZED']);
    for (const path of [`/api/user/self?token=${pat}`, `/api/user/self?access_token=${pat}&key=${pat}`]) {
      expect(await readCode(path, {})).toEqual([401, 'AUTH_UNAUTHORIZED']);
    }
    expect(await readCode('/api/user/self', { headers: { 'x-api-key': pat } })).toEqual([401, 'AUTH_UNAUTHORIZED']);
  });

  test('for another account: a user-id header and the old session cookie change nothing', async () => {
    const other = panel.addUser('cleo', 1);
    const theirs = await create((await panel.logIn('cleo')).token);
    for (const name of ['New-Api-User', 'X-User-Id', 'User-Id', 'Veloera-User', 'rix-api-user']) {
      for (const value of ['1', '0', '-1', 'nobody', '']) {
        const self = await panel.send('/api/user/self', { token: theirs, headers: { [name]: value } });
        expect([name, value, self.status, self.json.data?.id]).toEqual([name, value, 200, other]);
        expect(await readCode('/api/user/self', { headers: { [name]: value } })).toEqual([401, 'AUTH_UNAUTHORIZED']);
      }
    }
    const headers = { cookie: 'session=MTcwMDAwMDAwMHxEdi1CQkFFQ180SUFBUkFCRUFBQQ==', 'new-api-user': '1' };
    expect(await readCode('/api/user/self', { headers })).toEqual([401, 'AUTH_UNAUTHORIZED']);
  });
});

describe('an earlier database', () => {
  test('its tokens still work, even with dots', async () => {
    const id = panel.addUser('dora', 1);
    for (const token of ['aBcD1234+/=efgh.ijkl.mnop', 'q83vEjRWeJC/+mNlIQ0Jz3w5dWF4b2s=', 'plain']) {
      const digest = new Bun.CryptoHasher('sha256').update(token).digest('hex');
      panel.run(`update users set access_token = '${digest}' where id = ${id}`);
      for (const authorization of [token, `Bearer ${token}`]) {
        const self = await panel.send('/api/user/self', { headers: { authorization } });
        expect([self.status, self.json.data?.id]).toEqual([200, id]);
      }
      const shown = await panel.send('/api/user/token', { token });
      expect(shown.json.data).toEqual({ prefix: '', created_at: 0 });
      expect(await readCode('/api/user/self', { token: digest })).toEqual([401, 'AUTH_UNAUTHORIZED']);
    }
  });
});

describe('traces', () => {
  test('creating and revoking are audited without the token', async () => {
    const id = panel.addUser('emil', 1);
    const { token } = await panel.logIn('emil');
    const made = await create(token);
    await panel.send('/api/user/token', { method: 'DELETE', token });
    const created = (await panel.audit('user.token.create')).find((row) => row.target === `user:${id}`);
    const deleted = (await panel.audit('user.token.delete')).find((row) => row.target === `user:${id}`);
    expect(created).toMatchObject({
      user_id: id,
      auth_method: 'session',
      detail: { after: { prefix: made.slice(0, 8) } },
    });
    expect(deleted).toMatchObject({ user_id: id, auth_method: 'session', detail: {} });
    const digest = new Bun.CryptoHasher('sha256').update(made).digest('hex');
    for (const secret of [made, made.slice(4), digest])
      expect(JSON.stringify([created, deleted])).not.toContain(secret);
  });

  test('the log never contains it, wherever a caller puts it', async () => {
    await panel.send(`/api/user/token/${pat}`, { token: pat });
    await panel.send(`/${pat}?q=${pat}#${pat}`, { headers: { 'user-agent': pat, referer: `http://x/${pat}` } });
    await panel.send('/v1/videos', { token: pat, body: { model: pat } });
    await panel.send('/api/user/login', { body: { username: pat, password: pat } });
    await panel.send('/api/user/self', { headers: { authorization: `Bearer ${pat}x` } });
    // The last line of a request with the token has been written, so all lines have.
    const asked = crypto.randomUUID();
    await panel.send(`/${pat}/${asked}`);
    await panel.gateway.logged(asked);
    expect(panel.gateway.log()).toContain('tgp_[redacted]');
    expect(panel.gateway.log()).not.toContain(pat);
  });
});

describe('how often a token may be created', () => {
  test('is counted per user, from every address', async () => {
    const limited = await openPanel({ CRITICAL_RATE_LIMIT: '3', TRUSTED_PROXIES: '127.0.0.1' });
    try {
      limited.addUser('other', 1);
      const [token, others] = [(await limited.logIn('root')).token, (await limited.logIn('other')).token];
      const ask = (as: string, i: number) =>
        limited.send('/api/user/token', {
          method: 'POST',
          token: as,
          headers: { 'x-forwarded-for': `203.0.113.${i}` },
        });
      for (const i of [1, 2, 3]) expect((await ask(token, i)).status).toBe(200);
      const refused = await ask(token, 4);
      expect([refused.status, refused.json.code]).toEqual([429, 'RATE_LIMITED']);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect((await ask(others, 5)).status).toBe(200);
      expect((await limited.send('/api/user/token', { token })).status).toBe(200);
    } finally {
      await limited.gateway.stop();
    }
  });
});
