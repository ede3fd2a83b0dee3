/**
 * Registration, mailed codes and links, end to end: the compiled binary, a real mail server and a
 * captcha verifier.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { openBackdoor } from '../support/backdoor.ts';
import { type ChallengeServer, startChallengeServer } from '../support/challenge.ts';
import { RULE_DATABASE_NAMES } from '../support/databases.ts';
import { RACERS } from '../support/full-run.ts';
import { type Administrator, ask, type Gateway, setUp, startGateway } from '../support/gateway.ts';
import { startLivedTime } from '../support/lived-time.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { type ReceivedMail, startBadServer, startMailServer, type TestMailServer } from '../support/smtp.ts';
import { until } from '../support/until.ts';

const ACCOUNT = { user: 'gate', password: 'the password of the mailbox' };
const SECRET_KEY = 'the-secret-key-of-the-verifier';
const PASSWORD = 'a password of somebody';
const NEW_PASSWORD = 'another password of somebody';

const codeIn = ({ text }: ReceivedMail): string => /^ {4}(\d{8})\r?$/m.exec(text)?.[1] ?? '';
const linkIn = ({ text }: ReceivedMail): URL => new URL(/https?:\S+\/user\/reset\?\S+/.exec(text)?.[0] ?? '');

for (const database of RULE_DATABASE_NAMES) {
  describe(`on ${database}`, () => {
    let gateway: Gateway;
    let root: Administrator;
    let mail: TestMailServer;
    let challenge: ChallengeServer;
    let clients = 0;

    beforeAll(async () => {
      const databaseUrl = database === 'SQLite' ? '' : await migratedDatabaseUrl();
      mail = await startMailServer({ tls: 'starttls', account: ACCOUNT });
      challenge = await startChallengeServer(SECRET_KEY);
      gateway = await startGateway({ databaseUrl });
      root = await setUp(gateway);
      await set({
        SystemName: 'Our Gate 网关',
        ServerAddress: 'https://gate.example.org',
        SMTPServer: '127.0.0.1',
        SMTPPort: String(mail.port),
        SMTPAccount: ACCOUNT.user,
        SMTPToken: ACCOUNT.password,
        SMTPFrom: 'Our Gate <gate@example.org>',
        SMTPStartTLSEnabled: 'true',
        SMTPInsecureSkipVerify: 'true',
        RegisterEnabled: 'true',
        EmailVerificationEnabled: 'true',
        QuotaForNewUser: '1000',
        QuotaForInviter: '30',
        QuotaForInvitee: '20',
      });
    });
    afterAll(async () => {
      await gateway?.stop();
      await mail?.stop();
      await challenge?.stop();
    });

    const set = (options: Record<string, string>) =>
      root.call('PUT', '/api/option', {
        options: Object.entries(options).map(([key, value]) => ({ key, value })),
      });
    /** A request of a client with an address of its own: the loopback peer is a trusted proxy. */
    function post(path: string, body: unknown, more: { token?: string; method?: string; headers?: object } = {}) {
      clients += 1;
      return ask(`${gateway.url}${path}`, {
        method: more.method ?? 'POST',
        ...(body === undefined ? {} : { body }),
        ...(more.token ? { token: more.token } : {}),
        headers: { 'x-forwarded-for': `198.51.100.${clients % 250}`, ...more.headers },
      });
    }
    /** A Security Proof for a change of the email address. */
    async function proveFor(token: string): Promise<{ 'x-security-proof': string }> {
      const request = { method: 'password', password: PASSWORD, scope: 'account.email' };
      const { body } = await post('/api/verify', request, { token });
      return { 'x-security-proof': (body.data as { proof_token: string }).proof_token };
    }
    const isSignIn = ({ subject }: ReceivedMail) => subject.startsWith('New sign-in');
    /**
     * The next email except notices of a sign-in on a new device: each request here comes from
     * another address.
     */
    const mailTo = (address: string) => mail.next((each) => each.recipients.includes(address) && !isSignIn(each));
    async function codeFor(email: string): Promise<string> {
      expect((await post('/api/verification', { email })).status).toBe(200);
      return codeIn(await mailTo(email));
    }
    async function register(name: string, more: object = {}) {
      const email = `${name}@example.net`;
      const body = { username: name, password: PASSWORD, email, verification_code: await codeFor(email), ...more };
      return post('/api/user/register', body);
    }
    async function logIn(
      username: string,
      password: string,
    ): Promise<{ token: string; user: Record<string, unknown> }> {
      const answer = await post('/api/user/login', { username, password });
      expect(answer.status).toBe(200);
      const data = answer.body.data as { access_token: string; user: Record<string, unknown> };
      return { token: data.access_token, user: data.user };
    }

    test('a test email reports its steps and no secret', async () => {
      const result = await root.call('POST', '/api/option/test', { what: 'smtp', to: 'root@example.net' });
      expect(result).toMatchObject({ ok: true });
      expect(JSON.stringify(result)).not.toContain(ACCOUNT.password);
      expect((result.steps as { name: string }[]).map(({ name }) => name)).toEqual([
        'resolve',
        'connect',
        'greeting',
        'tls',
        'login',
        'send',
      ]);
      const received = await mailTo('root@example.net');
      expect(received).toMatchObject({ secure: true, user: ACCOUNT.user, envelopeFrom: 'gate@example.org' });
      expect(received.subject).toContain('Our Gate 网关');
    });

    test('an account with a confirmed address: code, registration, grants, sign-in by name and by address', async () => {
      const made = await register('ada');
      expect(made).toMatchObject({ status: 200, body: { success: true, data: { username: 'ada' } } });
      expect(made.headers.get('set-cookie')).toBeNull();
      const { token, user } = await logIn('ada@example.net', PASSWORD);
      expect(user).toMatchObject({ username: 'ada', email: 'ada@example.net', quota: 1000, role: 1 });

      const affCode = ((await post('/api/user/aff', undefined, { token, method: 'GET' })).body.data as string) ?? '';
      expect(affCode).toMatch(/^[A-Za-z0-9]{8}$/);
      await register('bob', { aff_code: affCode });
      expect((await logIn('bob', PASSWORD)).user.quota).toBe(1020);
      expect((await logIn('ada', PASSWORD)).user.quota).toBe(1030);

      const audit = await root.call<{ items: Record<string, unknown>[] }>('GET', '/api/audit?page_size=100');
      expect(audit.items).toContainEqual(
        expect.objectContaining({ action: 'user.register', username: 'ada', auth_method: 'registration' }),
      );
    });

    test('refusals have their statuses and codes', async () => {
      await register('carl');
      const code = await codeFor('dora@example.net');
      const dora = { username: 'dora', password: PASSWORD, email: 'dora@example.net', verification_code: code };
      const rows: [object, number, string][] = [
        [{ ...dora, username: 'CARL' }, 409, 'NAME_TAKEN'],
        [{ ...dora, password: 'password1' }, 400, 'VALIDATION_FAILED'],
        [{ ...dora, unknown: true }, 400, 'VALIDATION_FAILED'],
        [{ ...dora, email: 'dora@example.net\r\nBcc: you@example.net' }, 400, 'VALIDATION_FAILED'],
        [{ ...dora, verification_code: '00000000' }, 400, 'AUTH_CODE_INVALID'],
        [{ ...dora, email: 'carl@example.net' }, 400, 'AUTH_CODE_INVALID'],
      ];
      for (const [body, status, expected] of rows) {
        expect(await post('/api/user/register', body)).toMatchObject({
          status,
          body: { success: false, code: expected },
        });
      }
    });

    test('enumeration: known and unknown addresses get the same answers, and the owner alone is told', async () => {
      await register('erin');
      for (const path of ['/api/verification', '/api/reset_password']) {
        const bodies = new Set<string>();
        for (const email of ['erin@example.net', `nobody-${path.length}@example.net`]) {
          const { status, body } = await post(path, { email });
          bodies.add(`${status} ${JSON.stringify(body)}`);
        }
        expect([...bodies]).toEqual(['200 {"success":true,"message":"","data":null}']);
      }
      const notices = [await mailTo('erin@example.net'), await mailTo('erin@example.net')].map(
        ({ subject }) => subject,
      );
      expect(notices.sort()).toEqual([
        'Choose a new password for Our Gate 网关',
        'You already have an account at Our Gate 网关',
      ]);
    });

    test('one address may request two codes in 30 seconds', async () => {
      const headers = { 'x-forwarded-for': '192.0.2.77' };
      const answers = [];
      for (let i = 0; i < 3; i += 1) {
        answers.push(await post('/api/verification', { email: `flood-${i}@example.net` }, { headers }));
      }
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
      expect(Number(answers[2]?.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(answers[2]?.body.code).toBe('RATE_LIMITED');
    });

    test('a mailed link sets the typed password once, ends all sessions and shows in no log line', async () => {
      await register('finn');
      const { token } = await logIn('finn', PASSWORD);
      await post('/api/reset_password', { email: 'finn@example.net' });
      const link = linkIn(await mailTo('finn@example.net'));
      expect(`${link.origin}${link.pathname}`).toBe('https://gate.example.org/user/reset');
      const email = link.searchParams.get('email');
      const secret = link.searchParams.get('token') ?? '';
      const body = { email, token: secret, password: NEW_PASSWORD };
      expect((await post('/api/user/reset', { ...body, password: 'short' })).body.code).toBe('VALIDATION_FAILED');
      const uses = await Promise.all(Array.from({ length: RACERS }, () => post('/api/user/reset', body)));
      expect(uses.filter(({ status }) => status === 200)).toHaveLength(1);
      for (const use of uses) if (use.status !== 200) expect(use.body.code).toBe('AUTH_FLOW_INVALID');
      expect(await post('/api/user/self', undefined, { token, method: 'GET' })).toMatchObject({
        status: 401,
        body: { code: 'AUTH_SESSION_REVOKED' },
      });
      expect((await post('/api/user/login', { username: 'finn', password: PASSWORD })).status).toBe(401);
      await logIn('finn', NEW_PASSWORD);
      const notices = await mail.next((each) => each.recipients.includes('finn@example.net') && isSignIn(each));
      expect(notices.text).toMatch(/IP address: 198\.51\.100\.\d+\r?\n/);
      expect((await mailTo('finn@example.net')).subject).toContain('was changed');
      for (const hidden of [secret, PASSWORD, NEW_PASSWORD, ACCOUNT.password, 'finn@example.net']) {
        expect(gateway.log()).not.toContain(hidden);
      }
    });

    test('an address is bound with a code and a proof, moves, and changes owner only with a code from its mailbox', async () => {
      await register('gina');
      await register('hugo');
      const { token } = await logIn('gina', PASSWORD);
      const next = 'gina.two@example.net';
      expect((await post('/api/user/email/code', { email: next }, { token })).status).toBe(200);
      const code = codeIn(await mailTo(next));
      for (const [method, path, body] of [
        ['POST', '/api/oauth/email/bind', { email: next, code }],
        ['DELETE', '/api/user/email', undefined],
      ] as const) {
        const unproven = await post(path, body, { token, method });
        expect([path, unproven.status, unproven.body.code]).toEqual([path, 403, 'SECURITY_PROOF_REQUIRED']);
      }
      const headers = await proveFor(token);
      expect(await post('/api/oauth/email/bind', { email: next, code }, { token, headers })).toMatchObject({
        status: 200,
        body: { data: { email: next } },
      });
      expect((await mailTo('gina@example.net')).text).toContain('gina');
      expect((await logIn(next, PASSWORD)).user.email).toBe(next);

      await post('/api/user/email/code', { email: 'hugo@example.net' }, { token });
      const theirs = { email: 'hugo@example.net', code: codeIn(await mailTo('hugo@example.net')) };
      const wrong = await post('/api/oauth/email/bind', { ...theirs, code: '00000000' }, { token, headers });
      expect([wrong.status, wrong.body.code]).toEqual([400, 'AUTH_CODE_INVALID']);
      const taken = await post('/api/oauth/email/bind', theirs, { token, headers });
      expect([taken.status, taken.body.code]).toEqual([409, 'AUTH_IDENTITY_TAKEN']);

      for (const status of [200, 404]) {
        expect((await post('/api/user/email', undefined, { token, headers, method: 'DELETE' })).status).toBe(status);
      }
      expect((await mailTo(next)).text).toContain('removed from your account');
      const pat = (await post('/api/user/token', undefined, { token })).body.data as { token: string };
      for (const [path, body] of [
        ['/api/user/email/code', { email: next }],
        ['/api/oauth/email/bind', theirs],
      ] as const) {
        const refused = await post(path, body, { token: pat.token });
        expect([refused.status, refused.body.code]).toEqual([403, 'AUTH_SESSION_REQUIRED']);
      }
    });

    test('once enabled, the challenge guards registration, codes and links, but not sign-in', async () => {
      await register('ivy');
      await set({
        TurnstileSiteKey: 'site-key',
        TurnstileSecretKey: SECRET_KEY,
        TurnstileVerifyUrl: challenge.url,
        TurnstileCheckEnabled: 'true',
      });
      const rows: [string, object][] = [
        ['/api/verification', { email: 'jack@example.net' }],
        ['/api/reset_password', { email: 'ivy@example.net' }],
      ];
      for (const [path, body] of rows) {
        for (const turnstile of [undefined, 'invented']) {
          const refused = await post(path, turnstile ? { ...body, turnstile } : body);
          expect([path, refused.status, refused.body.code]).toEqual([path, 403, 'AUTH_CHALLENGE_FAILED']);
        }
        const solved = challenge.solve();
        expect((await post(path, { ...body, turnstile: solved })).status).toBe(200);
        expect((await post(path, { ...body, turnstile: solved })).body.code).toBe('AUTH_CHALLENGE_FAILED');
        expect((await post(`${path}?turnstile=${challenge.solve()}`, body)).status).toBe(200);
      }
      expect(challenge.asked.every(({ secret }) => secret === SECRET_KEY)).toBe(true);
      challenge.misbehave((response) => response.writeHead(500).end('{"success":true}'));
      const trouble = await post('/api/reset_password', { email: 'ivy@example.net', turnstile: challenge.solve() });
      expect([trouble.status, trouble.body.code]).toEqual([403, 'AUTH_CHALLENGE_FAILED']);
      expect((await post('/api/user/login', { username: 'ivy', password: PASSWORD })).status).toBe(200);
      challenge.misbehave((response) => response.end('<h1>{{{'));
      const garbage = await post('/api/verification', { email: 'jack@example.net', turnstile: challenge.solve() });
      expect([garbage.status, garbage.body.code]).toEqual([403, 'AUTH_CHALLENGE_FAILED']);
      if (database === 'SQLite') {
        challenge.misbehave(() => {});
        const lived = startLivedTime();
        const hanging = await post('/api/verification', { email: 'jack@example.net', turnstile: challenge.solve() });
        expect([hanging.status, hanging.body.code]).toEqual([403, 'AUTH_CHALLENGE_FAILED']);
        expect(lived.stop()).toBeLessThan(15_000);
      }
      challenge.misbehave(undefined);

      const trial = async () => {
        const { ok, steps } = await root.call<{ ok: boolean; steps: { name: string; message: string }[] }>(
          'POST',
          '/api/option/test',
          { what: 'turnstile' },
        );
        expect(JSON.stringify(steps)).not.toContain(SECRET_KEY);
        return [ok, steps.map(({ name }) => name)];
      };
      expect(await trial()).toEqual([true, ['connect', 'secret']]);
      await set({ TurnstileSecretKey: 'another key' });
      expect(await trial()).toEqual([false, ['connect', 'secret']]);
      await set({ TurnstileCheckEnabled: 'false', TurnstileSecretKey: SECRET_KEY });
    });

    test('an expired code or link is refused, and a code works only for the account that requested it', async () => {
      await register('mona');
      await register('nils');
      const late = await codeFor('otto@example.net');
      await post('/api/reset_password', { email: 'mona@example.net' });
      const link = linkIn(await mailTo('mona@example.net'));
      const { token } = await logIn('mona', PASSWORD);
      const next = 'mona.two@example.net';
      const askForCode = async () => {
        expect((await post('/api/user/email/code', { email: next }, { token })).status).toBe(200);
        return codeIn(await mailTo(next));
      };
      const code = await askForCode();
      const backdoor = openBackdoor(gateway);
      await backdoor.run('update auth_flows set expires_at = 1 where consumed_at is null');
      await backdoor.close();
      const reset = { email: 'mona@example.net', token: link.searchParams.get('token'), password: NEW_PASSWORD };
      const registration = {
        username: 'otto',
        password: PASSWORD,
        email: 'otto@example.net',
        verification_code: late,
      };
      expect((await post('/api/user/register', registration)).body.code).toBe('AUTH_CODE_INVALID');
      expect((await post('/api/user/reset', reset)).body.code).toBe('AUTH_FLOW_INVALID');
      const bind = async (body: object, caller: string) =>
        post('/api/oauth/email/bind', body, { token: caller, headers: await proveFor(caller) });
      expect((await bind({ email: next, code }, token)).body.code).toBe('AUTH_CODE_INVALID');
      const { token: stranger } = await logIn('nils', PASSWORD);
      const fresh = { email: next, code: await askForCode() };
      expect((await bind(fresh, stranger)).body.code).toBe('AUTH_CODE_INVALID');
      expect((await bind(fresh, token)).status).toBe(200);
    });

    test('opening registration without challenge and confirmed addresses logs a warning', async () => {
      const warnings = () =>
        gateway.log().split('neither TurnstileCheckEnabled nor EmailVerificationEnabled').length - 1;
      expect(warnings()).toBe(0);
      await set({ EmailVerificationEnabled: 'false' });
      await until('the warning is logged', () => warnings() === 1);
      await set({ QuotaForNewUser: '1001' });
      expect((await post('/api/user/register', { username: 'kate', password: PASSWORD })).status).toBe(200);
      expect((await post('/api/verification', { email: 'kate@example.net' })).body.code).toBe('AUTH_METHOD_DISABLED');
      expect(warnings()).toBe(1);
      await set({ RegisterEnabled: 'false' });
      const closed = await post('/api/user/register', { username: 'lena', password: PASSWORD });
      expect([closed.status, closed.body.code]).toEqual([403, 'AUTH_REGISTRATION_DISABLED']);
      await set({ RegisterEnabled: 'true', EmailVerificationEnabled: 'true' });
    });
  });
}

describe('mail servers in trouble', () => {
  test('no request waits for a mail server that hangs, and the gateway stops in time', async () => {
    const hanging = await startBadServer(() => {});
    const gateway = await startGateway();
    const root = await setUp(gateway);
    try {
      const options = {
        SMTPServer: '127.0.0.1',
        SMTPPort: String(hanging.port),
        SMTPFrom: 'gate@example.org',
        RegisterEnabled: 'true',
        EmailVerificationEnabled: 'true',
      };
      await root.call('PUT', '/api/option', {
        options: Object.entries(options).map(([key, value]) => ({ key, value })),
      });
      const lived = startLivedTime();
      expect((await ask(`${gateway.url}/api/verification`, { body: { email: 'me@example.net' } })).status).toBe(200);
      expect(lived.stop()).toBeLessThan(1000);
      const tried = await root.call('POST', '/api/option/test', { what: 'smtp', to: 'me@example.net' });
      expect(tried).toMatchObject({ ok: false });
      expect((tried.steps as { message: string }[]).at(-1)?.message).toContain('did not respond in time');
    } finally {
      const stopping = startLivedTime();
      expect(await gateway.stop()).toBe(0);
      expect(stopping.stop()).toBeLessThan(9000);
      await hanging.stop();
    }
    expect(gateway.log()).not.toContain('me@example.net');
  });
});
