/**
 * OWASP ASVS 5.0, chapter 6, on the executable: what anybody can ask about an account, and what
 * mailed codes and links are good for. Each test has the ids of its requirements.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { TOTP } from 'otpauth';
import { type Backdoor, GIVE_WALLETS, openBackdoor } from '../support/backdoor.ts';
import { RULE_DATABASE_NAMES } from '../support/databases.ts';
import { IS_FULL_RUN, RACERS } from '../support/full-run.ts';
import { type Answer, ask, type Gateway, ROOT, setUp, startGateway } from '../support/gateway.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { startMailServer, type TestMailServer } from '../support/smtp.ts';
import { summarizeDifferences } from './timing-differences.ts';

/**
 * Pairs that are measured, alternating, so that what the machine does besides falls on both alike.
 */
const PAIRS = IS_FULL_RUN ? 30 : 12;
/** A difference that is there is there in every round; one that a busy machine makes is not. */
const ROUNDS = 4;
const NEW_PASSWORD = 'another good password';

type Person = { email: string; username: string };

for (const database of RULE_DATABASE_NAMES) {
  describe(`on ${database}`, () => {
    let gateway: Gateway;
    let mail: TestMailServer;
    let backdoor: Backdoor;
    let clients = 0;
    let people = 0;

    beforeAll(async () => {
      mail = await startMailServer();
      gateway = await startGateway({
        databaseUrl: database === 'SQLite' ? '' : await migratedDatabaseUrl(),
        env: { CRITICAL_RATE_LIMIT: '100000', GLOBAL_API_RATE_LIMIT: '100000' },
      });
      const root = await setUp(gateway);
      const options = Object.entries({
        ServerAddress: 'https://gate.example.org',
        SMTPServer: '127.0.0.1',
        SMTPPort: String(mail.port),
        SMTPFrom: 'gate@example.org',
        RegisterEnabled: 'true',
        EmailVerificationEnabled: 'true',
      }).map(([key, value]) => ({ key, value }));
      await root.call('PUT', '/api/option', { options });
      backdoor = openBackdoor(gateway);
    });
    afterAll(async () => {
      await backdoor?.close();
      await gateway?.stop();
      await mail?.stop();
    });

    /** A request of a client with an address of its own: the loopback peer is a trusted proxy. */
    function post(
      path: string,
      body: unknown,
      { token, headers: more = {} }: { token?: string; headers?: Record<string, string> } = {},
    ): Promise<Answer> {
      clients += 1;
      const headers = { ...more, 'x-forwarded-for': `198.51.${Math.floor(clients / 250) % 250}.${clients % 250}` };
      return ask(`${gateway.url}${path}`, { method: 'POST', body, headers, ...(token ? { token } : {}) });
    }
    function newPerson(): Person {
      people += 1;
      return { username: `person${people}`, email: `person${people}@example.net` };
    }
    /** Creates a user with root's password and an email address of their own. */
    async function addPerson(): Promise<Person> {
      const person = newPerson();
      const { username, email } = person;
      await backdoor.run(
        `insert into users (username, display_name, email, password_hash, role, status, created_at)
         select '${username}', '', '${email}', password_hash, 1, 1, 1 from users where id = 1`,
      );
      await backdoor.run(GIVE_WALLETS);
      await backdoor.run(
        `insert into external_identity_claims (provider, subject, user_id, created_at)
         select 'email', '${email}', id, 1 from users where username = '${username}'`,
      );
      return person;
    }
    /** The next email to them but those that report a change or a new device. */
    const mailTo = (address: string) =>
      mail.next(({ recipients, text }) => recipients.includes(address) && !text.includes('Time: '));
    const codeIn = (text: string): string => /^ {4}(\d{8})\r?$/m.exec(text)?.[1] ?? '';
    const wrongCode = (code: string): string => code.replace(/\d$/, (digit) => String((Number(digit) + 1) % 10));

    const guess = (username: string) => post('/api/user/login', { username, password: 'wrong password' });
    const sendCode = ({ email }: Person) => post('/api/verification', { email });
    const sendLink = ({ email }: Person) => post('/api/reset_password', { email });
    const operations: [
      what: string,
      status: number,
      run: (person: Person) => Promise<Answer>,
      before?: typeof sendCode,
    ][] = [
      ['signing in by name', 401, ({ username }) => guess(username)],
      ['signing in by address', 401, ({ email }) => guess(email)],
      ['asking for a code', 200, sendCode],
      [
        'registering with a wrong code',
        400,
        ({ email }) => {
          const { username } = newPerson();
          return post('/api/user/register', { username, password: NEW_PASSWORD, email, verification_code: '00000000' });
        },
        sendCode,
      ],
      ['asking for a link', 200, sendLink],
      [
        'a reset with a wrong token',
        400,
        ({ email }) => post('/api/user/reset', { email, token: 'A'.repeat(43), password: NEW_PASSWORD }),
        sendLink,
      ],
    ];

    for (const [what, status, run, before] of operations) {
      test(`ASVS 6.3.8: ${what} reveals nothing by body, status or time`, async () => {
        const rounds: string[] = [];
        for (let round = 1; round <= ROUNDS; round += 1) {
          const seen = new Set<string>();
          const differences: number[] = [];
          for (let i = 0; i < PAIRS; i += 1) {
            const pair = { known: await addPerson(), unknown: newPerson() };
            if (before) for (const who of Object.values(pair)) await before(who);
            const ms = { known: 0, unknown: 0 };
            for (const kind of i % 2 ? (['known', 'unknown'] as const) : (['unknown', 'known'] as const)) {
              const started = performance.now();
              const answer = await run(pair[kind]);
              ms[kind] = performance.now() - started;
              const { request_id: _, ...body } = answer.body;
              seen.add(`${answer.status} ${JSON.stringify(body)}`);
            }
            differences.push(ms.known - ms.unknown);
          }
          expect(seen.size).toBe(1);
          expect([...seen][0]).toStartWith(String(status));
          const verdict = summarizeDifferences(differences, 0.25);
          if (verdict === undefined) return;
          rounds.push(verdict);
        }
        throw new Error(`known and unknown take different times: ${rounds.join('; ')}`);
      });
    }

    test('ASVS 6.4.3: a mailed link does not bypass the second factor', async () => {
      const person = await addPerson();
      const login = await post('/api/user/login', { username: person.username, password: ROOT.password });
      const { access_token: token } = login.body.data as { access_token: string };
      const setup = (await post('/api/user/2fa/setup', {}, { token })).body.data as {
        secret: string;
        backup_codes: string[];
      };
      const code = new TOTP({ secret: setup.secret }).generate();
      expect((await post('/api/user/2fa/enable', { code }, { token })).status).toBe(200);

      await sendLink(person);
      const { text } = await mailTo(person.email);
      const link = new URL(/https?:\S+\/user\/reset\?\S+/.exec(text)?.[0] ?? '');
      const reset = { email: person.email, token: link.searchParams.get('token'), password: NEW_PASSWORD };
      const done = await post('/api/user/reset', reset);
      expect([done.status, done.headers.getSetCookie()]).toEqual([200, []]);
      const first = await post('/api/user/login', { username: person.username, password: NEW_PASSWORD });
      expect([first.status, first.headers.getSetCookie()]).toEqual([200, []]);
      const { require_2fa, flow_token } = first.body.data as { require_2fa: boolean; flow_token: string };
      expect(require_2fa).toBe(true);
      const second = await post('/api/user/login/2fa', { flow_token, code: setup.backup_codes[0] });
      expect(second.status).toBe(200);
    });

    test('ASVS 6.6.3: after five wrong attempts a mailed code is invalid', async () => {
      const person = newPerson();
      await sendCode(person);
      const code = codeIn((await mailTo(person.email)).text);
      const register = (typed: string) =>
        post('/api/user/register', { ...person, password: NEW_PASSWORD, verification_code: typed });
      for (let i = 0; i < 5; i += 1) expect((await register(wrongCode(code))).body.code).toBe('AUTH_CODE_INVALID');
      expect((await register(code)).body.code).toBe('AUTH_CODE_INVALID');
      await sendCode(person);
      expect((await register(codeIn((await mailTo(person.email)).text))).status).toBe(200);
    });

    test(`ASVS 6.6.2: ${RACERS} concurrent registrations with one mailed code create one account`, async () => {
      const person = newPerson();
      await sendCode(person);
      const code = codeIn((await mailTo(person.email)).text);
      const answers = await Promise.all(
        Array.from({ length: RACERS }, () =>
          post('/api/user/register', {
            username: newPerson().username,
            password: NEW_PASSWORD,
            email: person.email,
            verification_code: code,
          }),
        ),
      );
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(new Set(answers.map(({ body }) => body.code))).toEqual(new Set([undefined, 'AUTH_CODE_INVALID']));
    });

    test(`ASVS 6.6.2: ${RACERS} concurrent bindings with one mailed code: one succeeds`, async () => {
      const person = await addPerson();
      const login = await post('/api/user/login', { username: person.username, password: ROOT.password });
      const { access_token: token } = login.body.data as { access_token: string };
      const { email } = newPerson();
      expect((await post('/api/user/email/code', { email }, { token })).status).toBe(200);
      const code = codeIn((await mailTo(email)).text);
      const proving = { method: 'password', password: ROOT.password, scope: 'account.email' };
      const { proof_token: proof } = (await post('/api/verify', proving, { token })).body.data as {
        proof_token: string;
      };
      const headers = { 'x-security-proof': proof };
      const answers = await Promise.all(
        Array.from({ length: RACERS }, () => post('/api/oauth/email/bind', { email, code }, { token, headers })),
      );
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(new Set(answers.map(({ body }) => body.code))).toEqual(new Set([undefined, 'AUTH_CODE_INVALID']));
    });
  });
}
