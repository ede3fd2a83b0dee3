/** Root reads and ends the sessions of other users, over HTTP. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { openPanel, type PanelCaller } from './panel-caller.ts';

let panel: PanelCaller;
beforeAll(async () => {
  panel = await openPanel();
});
afterAll(() => panel.gateway.stop());

const readCode = async (path: string, request: Parameters<PanelCaller['send']>[1]) => {
  const answer = await panel.send(path, request);
  return [answer.status, answer.json?.code];
};
const root = async () => (await panel.logIn('root')).token;

test('root lists a user’s sessions and ends one: its access and refresh end at once', async () => {
  const id = panel.addUser('ada', 1);
  const [first, second] = [await panel.logIn('ada'), await panel.logIn('ada')];
  const token = await root();
  const listed = await panel.send(`/api/user/${id}/sessions`, { token });
  expect(listed.status).toBe(200);
  expect(listed.json.data.map(({ sid }: { sid: string }) => sid).sort()).toEqual([first.sid, second.sid].sort());
  expect(Object.keys(listed.json.data[0]).sort()).toEqual(
    ['created_at', 'current', 'expires_at', 'ip', 'last_active_at', 'login_method', 'sid', 'user_agent'].sort(),
  );

  const path = `/api/user/${id}/sessions/${first.sid}`;
  const ended = await panel.send(path, { method: 'DELETE', token });
  expect([ended.status, ended.json.data]).toEqual([200, { revoked_sid: first.sid, current: false }]);
  expect(await readCode('/api/user/self', { token: first.token })).toEqual([401, 'AUTH_SESSION_REVOKED']);
  const refresh = { method: 'POST', headers: { cookie: first.cookie } };
  expect(await readCode('/api/user/auth/refresh', refresh)).toEqual([401, 'AUTH_SESSION_REVOKED']);
  expect((await panel.send('/api/user/self', { token: second.token })).status).toBe(200);
  expect(await readCode(path, { method: 'DELETE', token })).toEqual([404, 'AUTH_SESSION_NOT_FOUND']);

  const [row] = await panel.audit('user.session.revoke');
  expect(row).toMatchObject({ user_id: 1, username: 'root', target: `user:${id}`, detail: { sid: first.sid } });
});

test('root ends all of a user’s sessions', async () => {
  const id = panel.addUser('bea', 1);
  const signedIn = [await panel.logIn('bea'), await panel.logIn('bea')];
  const token = await root();
  const ended = await panel.send(`/api/user/${id}/sessions`, { method: 'DELETE', token });
  expect([ended.status, ended.json.data]).toEqual([200, { revoked_count: 2 }]);
  for (const { token: theirs } of signedIn) {
    expect(await readCode('/api/user/self', { token: theirs })).toEqual([401, 'AUTH_SESSION_REVOKED']);
  }
  expect((await panel.send(`/api/user/${id}/sessions`, { token })).json.data).toEqual([]);
  const [row] = await panel.audit('user.sessions.revoke');
  expect(row).toMatchObject({ target: `user:${id}`, detail: { revoked_count: 2 } });
});

test('a user who ends sessions of their own leaves an audit row', async () => {
  const id = panel.addUser('ella', 1);
  const [mine, other] = [await panel.logIn('ella'), await panel.logIn('ella')];
  await panel.send(`/api/user/sessions/${other.sid}`, { method: 'DELETE', token: mine.token });
  const by = { username: 'ella', target: `user:${id}` };
  expect((await panel.audit('user.session.revoke'))[0]).toMatchObject({ ...by, detail: { sid: other.sid } });
  await panel.logIn('ella');
  await panel.send('/api/user/sessions/revoke-others', { method: 'POST', token: mine.token });
  expect((await panel.audit('user.sessions.revoke'))[0]).toMatchObject({ ...by, detail: { revoked_count: 1 } });
});

test('root may end the session in use', async () => {
  const { token, sid } = await panel.logIn('root');
  const ended = await panel.send(`/api/user/1/sessions/${sid}`, { method: 'DELETE', token });
  expect(ended.json.data).toEqual({ revoked_sid: sid, current: true });
  expect(ended.headers.getSetCookie()).toEqual([]);
  expect(await readCode('/api/user/self', { token })).toEqual([401, 'AUTH_SESSION_REVOKED']);
});

test('administrators, users, personal access tokens and anonymous callers may not', async () => {
  const id = panel.addUser('cleo', 1);
  panel.addUser('dora', 10);
  const theirs = await panel.logIn('cleo');
  const rootToken = await root();
  const pat = (await panel.send('/api/user/token', { method: 'POST', token: rootToken })).json.data.token;
  const callers: [token: string, outcome: [number, string]][] = [
    [(await panel.logIn('dora')).token, [403, 'AUTH_INSUFFICIENT_PRIVILEGE']],
    [theirs.token, [403, 'AUTH_INSUFFICIENT_PRIVILEGE']],
    [pat, [403, 'AUTH_SESSION_REQUIRED']],
    ['', [401, 'AUTH_UNAUTHORIZED']],
  ];
  for (const [token, outcome] of callers) {
    expect(await readCode(`/api/user/${id}/sessions`, { token })).toEqual(outcome);
    expect(await readCode(`/api/user/${id}/sessions`, { method: 'DELETE', token })).toEqual(outcome);
    expect(await readCode(`/api/user/${id}/sessions/${theirs.sid}`, { method: 'DELETE', token })).toEqual(outcome);
  }
  expect((await panel.send('/api/user/self', { token: theirs.token })).status).toBe(200);
});

test('an unknown user, or a session of another user, is not found', async () => {
  const id = panel.addUser('emil', 1);
  const { token, sid } = await panel.logIn('root');
  for (const path of ['/api/user/999999/sessions', `/api/user/999999/sessions/${sid}`]) {
    expect(await readCode(path, { method: 'DELETE', token })).toEqual([404, 'AUTH_USER_NOT_FOUND']);
  }
  for (const name of ['0', '-1', '1e3', 'emil', '%00', '1%2F2']) {
    expect((await readCode(`/api/user/${name}/sessions`, { token }))[0]).toBe(404);
  }
  for (const name of [sid, 'x', '%00', '%20', '..%2f1']) {
    const outcome = await readCode(`/api/user/${id}/sessions/${name}`, { method: 'DELETE', token });
    expect([name, ...outcome]).toEqual([name, 404, 'AUTH_SESSION_NOT_FOUND']);
  }
  expect((await panel.send('/api/user/self', { token })).status).toBe(200);
});
