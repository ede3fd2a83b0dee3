/** Account recovery from the command line beside a running gateway, and its audit log. */
import { Database } from 'bun:sqlite';
import { afterEach, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { openPanel, type PanelCaller } from '../http/panel-api/panel-caller.ts';
import { farLeaseMs } from '../support/backdoor.ts';
import { sampleFile } from '../support/new-api-source.ts';
import { runCommand } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const NEW_PASSWORD = 'another long password';
const RESET = ['admin', 'reset-password', '--password-stdin', '--username'];

let panel: PanelCaller | undefined;
afterEach(async () => {
  await panel?.gateway.stop();
  panel = undefined;
});

const reset = (dataDir: string, username: string, ...flags: string[]) =>
  runCommand([...RESET, username, '--data-dir', dataDir, ...flags], { stdin: NEW_PASSWORD });

/** Writes two-factor with a backup code, and a passkey, into the database. */
const addFactors = ({ run }: PanelCaller, userId: number): void => {
  run(`insert into two_factor (user_id, secret_sealed, enabled, created_at) values (${userId}, 'sealed', 1, 1)`);
  run(`insert into backup_codes (user_id, code_hash, created_at) values (${userId}, 'hash', 1)`);
  run(`insert into passkeys (user_id, credential_id, public_key, rp_id, name, counter, transports, backed_up, created_at)
       values (${userId}, 'credential-${userId}', 'key', 'localhost', 'phone', 0, '[]', 0, 1)`);
};
const rowsFor = (dataDir: string, question: string): unknown[] => {
  const database = new Database(join(dataDir, 'taskgate.db'), { readonly: true });
  try {
    return database.query(question).all();
  } finally {
    database.close();
  }
};
const auditFor = (dataDir: string) =>
  rowsFor(dataDir, 'select user_id, username, auth_method, ip, action, target, detail from audit_logs order by id');

describe('admin reset-password', () => {
  test('beside a running gateway it ends sessions at once and keeps factors and the personal access token', async () => {
    panel = await openPanel();
    const { dataDir } = panel.gateway;
    const id = panel.addUser('ada', 1);
    const { token, cookie } = await panel.logIn('ada');
    const pat = (await panel.send('/api/user/token', { method: 'POST', token })).json.data.token;
    addFactors(panel, id);

    const done = await reset(dataDir, 'ada');
    expect([done.code, done.err]).toEqual([0, '']);
    expect(done.out).toContain('--reset-factors');
    expect(done.out).not.toContain(NEW_PASSWORD);
    expect((await panel.send('/api/user/self', { token })).json.code).toBe('AUTH_SESSION_REVOKED');
    const refresh = { method: 'POST', headers: { cookie } };
    expect((await panel.send('/api/user/auth/refresh', refresh)).json.code).toBe('AUTH_SESSION_REVOKED');
    expect((await panel.send('/api/user/self', { token: pat })).json.data).toMatchObject({
      username: 'ada',
      two_factor: true,
      passkeys: 1,
    });
    const login = { body: { username: 'ada', password: NEW_PASSWORD } };
    expect((await panel.send('/api/user/login', login)).json.data.require_2fa).toBe(true);
  });

  test('--reset-factors removes two-factor, backup codes, passkeys and the personal access token', async () => {
    panel = await openPanel();
    const { dataDir } = panel.gateway;
    const [id, other] = [panel.addUser('ada', 1), panel.addUser('bea', 1)];
    const { token } = await panel.logIn('ada');
    const pat = (await panel.send('/api/user/token', { method: 'POST', token })).json.data.token;
    addFactors(panel, id);
    addFactors(panel, other);

    const done = await reset(dataDir, 'ada', '--reset-factors', '--json');
    expect([done.code, JSON.parse(done.out)]).toEqual([
      0,
      {
        ok: true,
        user_id: id,
        username: 'ada',
        reset_factors: true,
        two_factor: false,
        password_login_switched_on: false,
        password_login: true,
      },
    ]);
    expect((await panel.send('/api/user/self', { token: pat })).json.code).toBe('AUTH_UNAUTHORIZED');
    const login = await panel.send('/api/user/login', { body: { username: 'ada', password: NEW_PASSWORD } });
    expect(login.json.data.user).toMatchObject({ two_factor: false, passkeys: 0 });
    for (const table of ['two_factor', 'backup_codes', 'passkeys']) {
      expect(rowsFor(dataDir, `select user_id from ${table}`)).toEqual([{ user_id: other }]);
    }
  });

  test('account takeover: --reset-factors frees identities, address and mail flows, which an attacker may have left', async () => {
    panel = await openPanel();
    const { dataDir } = panel.gateway;
    const [id, other] = [panel.addUser('ada', 1), panel.addUser('bea', 1)];
    for (const [owner, provider] of [
      [id, 'github'],
      [id, 'telegram'],
      [id, 'email'],
      [other, 'github'],
    ] as const) {
      panel.run(`insert into external_identity_claims (provider, subject, user_id, created_at)
                 values ('${provider}', '${owner}@strangers.example', ${owner}, 1)`);
    }
    panel.run(`update users set email = '${id}@strangers.example' where id = ${id}`);
    panel.run(`insert into auth_flows (token_hash, purpose, user_id, created_at, expires_at)
               values ('hash', 'email_bind', ${id}, 1, 99999999999)`);
    const claims = 'select user_id, provider from external_identity_claims order by user_id, provider';
    await reset(dataDir, 'ada');
    expect(rowsFor(dataDir, claims)).toHaveLength(4);
    expect((await reset(dataDir, 'ada', '--reset-factors')).out).toContain('bind them again after signing in');
    expect(rowsFor(dataDir, claims)).toEqual([{ user_id: other, provider: 'github' }]);
    expect(rowsFor(dataDir, `select email from users where id = ${id}`)).toEqual([{ email: null }]);
    expect(rowsFor(dataDir, 'select token_hash from auth_flows')).toEqual([]);
  });

  test('without factors the output does not mention them', async () => {
    panel = await openPanel();
    const { out } = await reset(panel.gateway.dataDir, 'root');
    expect(out).toBe('password of "root" set; all its sessions have ended\n');
  });

  test('for root it switches signing in with a password on again; for others it does not', async () => {
    const opened = await openPanel({ SYNC_FREQUENCY: '1' });
    panel = opened;
    const { dataDir } = opened.gateway;
    opened.addUser('ada', 1);
    addFactors(opened, 1);
    // Written to the database: the gateway would ask for a second factor that nobody has.
    opened.run("insert into options (key, value) values ('PasswordLoginEnabled', 'false')");
    const logIn = (username: string) => opened.send('/api/user/login', { body: { username, password: NEW_PASSWORD } });
    await until('signing in with a password is off', async () => {
      const { json } = await opened.send('/api/status');
      return json.data.password_login_enabled === false;
    });
    const shut = await logIn('root');
    expect([shut.status, shut.json.code]).toEqual([403, 'AUTH_METHOD_DISABLED']);

    const { out } = await reset(dataDir, 'ada');
    expect(out).not.toContain('is on again');
    expect(out).toContain('signing in with a password is off: the new one works once root has switched');
    expect((await logIn('ada')).status).toBe(403);
    expect((await reset(dataDir, 'root', '--reset-factors')).out).toContain(
      'signing in with a password was off and is on again',
    );
    await until('root is let in', async () => (await logIn('root')).status === 200);
    const changes = auditFor(dataDir).filter((row) => !(row as { action: string }).action.startsWith('auth.'));
    expect(changes.at(-1)).toMatchObject({
      action: 'user.password_reset',
      detail: JSON.stringify({ username: 'root', reset_factors: true, password_login_switched_on: true }),
    });
  });

  test('the help describes --reset-factors', async () => {
    const { out } = await runCommand(['admin', 'reset-password', '--help']);
    expect(out).toMatch(
      /--reset-factors +remove two-factor, backup codes, passkeys, the personal access token, bound\s+identities and the email\s+address/,
    );
  });
});

describe('the audit log', () => {
  test('records every command-line change with its target', async () => {
    panel = await openPanel();
    const { dataDir } = panel.gateway;
    const id = panel.addUser('ada', 1);
    await reset(dataDir, 'ADA');
    await reset(dataDir, 'ada', '--reset-factors');
    expect((await reset(dataDir, 'nobody')).code).toBe(1);
    const cli = { user_id: null, username: '', auth_method: 'cli', ip: '' };
    const rows = [
      { ...cli, action: 'setup.complete', target: 'user:1', detail: { username: 'root' } },
      {
        ...cli,
        action: 'user.password_reset',
        target: `user:${id}`,
        detail: { username: 'ada', reset_factors: false },
      },
      { ...cli, action: 'user.password_reset', target: `user:${id}`, detail: { username: 'ada', reset_factors: true } },
    ];
    expect(auditFor(dataDir)).toEqual(rows.map((row) => ({ ...row, detail: JSON.stringify(row.detail) })));
    expect(await panel.audit('user.password_reset')).toMatchObject([rows[2], rows[1]] as object[]);
  });

  test('a failed audit entry leaves the change made and prints a warning', async () => {
    const dataDir = temporaryFolder();
    const create = ['admin', 'create-root', '--username', 'root', '--password-stdin', '--data-dir', dataDir];
    expect((await runCommand(create, { stdin: 'correct horse battery' })).code).toBe(0);
    const database = new Database(join(dataDir, 'taskgate.db'));
    database.run(`create trigger full before insert on audit_logs begin select raise(abort, 'no room'); end`);
    database.close();
    const done = await reset(dataDir, 'root');
    expect(done.code).toBe(0);
    expect(done.out).toContain('password of "root" set');
    expect(done.err).toContain('could not be written to the audit log');
    expect(rowsFor(dataDir, 'select auth_version from users')).toEqual([{ auth_version: 2 }]);
  });
});

describe('a person', () => {
  // Not long ago: what is old would be removed in the meantime.
  const now = Math.floor(Date.now() / 1000);
  const insertTask = (taskId: string, userId: number, { status = 'SUCCESS', leaseUntilMs = 0 } = {}) => `
    insert into tasks (task_id, platform, user_id, "group", channel_id, action, status, progress, created_at, updated_at,
      finish_time, lease_until, quota, properties, execution, billing, data)
    values ('${taskId}', 'demo', ${userId}, 'default', 1, 'text', '${status}', '100%', ${now}, ${now}, ${now}, ${leaseUntilMs}, 0,
      '{"input":"a secret wish","originModelName":"m","upstreamModelName":"m"}',
      '{"requestId":"r","pluginKey":"demo","request":{"model":"m","action":"text","body":{"prompt":"a secret wish"}}}',
      '{"facts":{},"expression":null}', '{"answer":"of the vendor"}')`;

  test('is exported as JSON and erased beside a running gateway, and what still runs is not touched', async () => {
    panel = await openPanel();
    const { dataDir } = panel.gateway;
    const id = panel.addUser('ada', 1);
    const { token } = await panel.logIn('ada');
    const { key } = (await panel.send('/api/token', { method: 'POST', token, body: { name: 'mine' } })).json.data;
    panel.run(`update api_keys set last_used_at = 9, last_used_ip = '2001:db8::7' where user_id = ${id}`);
    // An ended session keeps its address, too.
    panel.run(`update user_sessions set status = 'revoked', revoked_at = 5, ip = '2001:db8::8' where user_id = ${id}`);
    for (let n = 0; n < 120; n += 1) panel.run(insertTask(`task_${n}`, id));
    panel.run(insertTask('task_running', id, { status: 'NOT_START', leaseUntilMs: farLeaseMs() }));

    const command = (name: string, ...flags: string[]) =>
      runCommand(['admin', name, '--data-dir', dataDir, ...flags], {});
    const exported = await command('export-user', '--username', 'ada');
    expect([exported.code, exported.err]).toEqual([0, '']);
    const data = JSON.parse(exported.out);
    expect(data).toMatchObject({
      account: { id, username: 'ada' },
      sessions: [{ ip: '2001:db8::8', login_method: 'password', revoked_at: 5 }],
      api_keys: [{ name: 'mine', last_used_ip: '2001:db8::7' }],
    });
    expect(data.tasks).toHaveLength(121);
    expect(data.tasks[0]).toMatchObject({ prompt: 'a secret wish', request: { prompt: 'a secret wish' } });
    for (const secret of [key, 'of the vendor', 'argon2', 'key_hash']) expect(exported.out).not.toContain(secret);

    expect((await command('erase-user', '--username', 'ada')).code).toBe(2);
    expect((await command('erase-user', '--username', 'root', '--yes')).code).toBe(1);
    panel.run(`update tasks set lease_until = ${farLeaseMs()} where task_id = 'task_running'`);
    const erased = await command('erase-user', '--username', 'ada', '--yes');
    expect([erased.code, erased.err]).toEqual([0, '']);
    expect(erased.out).toContain('what still runs is erased after its end');
    expect((await panel.send('/api/user/self', { token })).json.code).toBe('AUTH_SESSION_REVOKED');
    const wishes = `select count(*) as n from tasks where properties like '%wish%' or execution like '%wish%' or data is not null`;
    expect(rowsFor(dataDir, wishes)).toEqual([{ n: 1 }]);
    panel.run(`update tasks set status = 'FAILURE' where task_id = 'task_running'`);
    expect((await command('erase-user', '--id', String(id), '--yes')).code).toBe(0);
    expect(rowsFor(dataDir, wishes)).toEqual([{ n: 0 }]);
    expect(rowsFor(dataDir, `select last_used_ip from api_keys where user_id = ${id}`)).toEqual([]);
    // Digests may contain these letters.
    const named = `select action, username, detail from audit_logs where username = 'ada' or detail like '%"ada"%'`;
    expect(rowsFor(dataDir, named)).toEqual([]);
    const doctor = await runCommand(['doctor', '--data-dir', dataDir], {});
    expect(doctor.out + doctor.err).not.toMatch(/audit.*(changed|missing)/);
  });
});

/** The last migration of this version is missing, as it is where an older gateway serves. */
describe('beside a gateway of an older version', () => {
  test.each([
    ['maintenance', 'on'],
    ['maintenance', 'status'],
    ['admin', 'reset-password', '--username', 'ada', '--password-stdin'],
    ['admin', 'create-root', '--username', 'bea', '--password-stdin'],
    ['admin', 'export-user', '--username', 'ada'],
    ['admin', 'erase-user', '--username', 'ada', '--yes'],
    ['import', 'new-api', '--from', sampleFile()],
  ])('%s %s leaves the layout of the database alone', async (...words) => {
    panel = await openPanel();
    const { dataDir } = panel.gateway;
    panel.addUser('ada', 1);
    panel.run('delete from schema_migrations where number = (select max(number) from schema_migrations)');
    const history = 'select max(number) as last from schema_migrations';
    const before = rowsFor(dataDir, history);

    const { code, err } = await runCommand([...(words as string[]), '--data-dir', dataDir], { stdin: NEW_PASSWORD });
    expect(code).toBe(1);
    expect(err).toContain('Run "taskgate migrate", or start the gateway once.');
    expect(rowsFor(dataDir, history)).toEqual(before);
  });
});
