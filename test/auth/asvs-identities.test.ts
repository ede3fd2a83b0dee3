/**
 * OWASP ASVS 5.0, chapters 6, 7 and 10, on the executable: sign-in and binding at every provider
 * that speaks OAuth or OpenID Connect. Where there are two nodes, each step is on another one.
 * Tests have the ids of their requirements.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { TOTP } from 'otpauth';
import { systemClock } from '../../src/kernel/index.ts';
import { type Backdoor, openBackdoor } from '../support/backdoor.ts';
import { IS_FULL_RUN, RACERS } from '../support/full-run.ts';
import { type Administrator, type Answer, ask, type Gateway, setUp, startGateway } from '../support/gateway.ts';
import {
  CLIENT,
  type IdentityProvider,
  startIdentityProvider,
  type TokenChange,
} from '../support/identity-provider.ts';
import { startLivedTime } from '../support/lived-time.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { until } from '../support/until.ts';

const SERVER_ADDRESS = 'https://gate.example.com';
const BUILT_IN = ['github', 'discord', 'linuxdo', 'oidc'] as const;
const PROVIDERS = [...BUILT_IN, 'house'] as const;
type Provider = (typeof PROVIDERS)[number];
/** Where each gives a token for a code, as the provider on loopback has it. */
const TOKEN_PATHS: Record<Provider, string> = {
  github: '/github/login/oauth/access_token',
  discord: '/discord/api/v10/oauth2/token',
  linuxdo: '/linuxdo/oauth2/token',
  oidc: '/oidc/token',
  house: '/custom/token',
};

type Query = Record<string, string>;
type Person = { id: number; username: string; token: string; sid: string; method: string };
const outcome = ({ status, body }: Answer) => [status, body.code];
const INVALID = [400, 'AUTH_FLOW_INVALID'];
const FAILED = [502, 'AUTH_PROVIDER_FAILED'];

for (const [database, count] of [
  ['SQLite', 1],
  ...(IS_FULL_RUN ? [['two nodes on PostgreSQL', 2] as const] : []),
] as const) {
  describe(`on ${database}`, () => {
    const nodes: Gateway[] = [];
    let idp: IdentityProvider;
    let backdoor: Backdoor;
    let admin: Administrator;
    let turn = 0;
    let made = 0;
    const codes = new Set<string>();

    const url = (): string => {
      turn += 1;
      return (nodes[turn % nodes.length] as Gateway).url;
    };

    async function setOptions(options: Record<string, string>, shown: Record<string, unknown>): Promise<void> {
      const list = Object.entries(options).map(([key, value]) => ({ key, value }));
      await admin.call('PUT', '/api/option', { options: list });
      for (const node of nodes) {
        await until('the node knows the options', async () => {
          const { data } = (await ask(`${node.url}/api/status`)).body as { data: Record<string, unknown> };
          return Object.entries(shown).every(([name, value]) => data[name] === value);
        });
      }
    }

    beforeAll(async () => {
      idp = await startIdentityProvider();
      const databaseUrl = count === 2 ? await migratedDatabaseUrl() : '';
      const env = { LOG_LEVEL: 'debug', DEBUG: 'true', CRITICAL_RATE_LIMIT: '100000', GLOBAL_API_RATE_LIMIT: '100000' };
      for (let i = 0; i < count; i += 1) nodes.push(await startGateway({ databaseUrl, env }));
      admin = await setUp(nodes[0] as Gateway);
      backdoor = openBackdoor(nodes[0] as Gateway);
      await admin.call('POST', '/api/custom-oauth-provider', {
        slug: 'house',
        name: 'The house',
        ...idp.addedProvider(),
      });
      await setOptions(
        {
          ServerAddress: SERVER_ADDRESS,
          RegisterEnabled: 'true',
          ...idp.options(),
        },
        { register_enabled: true, github_oauth: true, discord_oauth: true, linuxdo_oauth: true, oidc_enabled: true },
      );
    });
    afterEach(() => idp.reset());
    afterAll(async () => {
      await backdoor?.close();
      for (const node of nodes) await node.stop();
      await idp?.stop();
    });

    /** Somebody new sits before the browser from here on. */
    function somebody(): string {
      made += 1;
      const id = String(70_000 + made);
      idp.state.person = { ...idp.state.person, id, login: `guest${made}`, email: `guest${made}@example.org` };
      return id;
    }
    const begin = (provider: string, intent: 'login' | 'bind', caller?: Person) =>
      ask(`${url()}/api/oauth/state`, { body: { provider, intent }, ...(caller ? { token: caller.token } : {}) });
    /** Begins, agrees at the provider, and gives what the browser brings back. */
    async function goThere(provider: Provider, caller?: Person): Promise<Query> {
      const asked = systemClock.unix();
      const begun = await begin(provider, caller ? 'bind' : 'login', caller);
      expect(outcome(begun)).toEqual([200, undefined]);
      const { authorization_url: address, expires_at: end } = begun.body.data as {
        authorization_url: string;
        expires_at: number;
      };
      expect(end).toBeWithin(asked + 600, systemClock.unix() + 601);
      const { at, query } = await idp.agree(address);
      // Each provider has an address of its own.
      expect(at).toBe(`${SERVER_ADDRESS}/oauth/${provider}`);
      codes.add(query.code ?? '').add(query.state ?? '');
      return query;
    }
    const comeBack = (
      provider: string,
      query: Query,
      { caller, headers }: { caller?: Person; headers?: Record<string, string> } = {},
    ) =>
      ask(`${url()}/api/oauth/${provider}?${new URLSearchParams(query)}`, {
        ...(caller ? { token: caller.token } : {}),
        ...(headers ? { headers } : {}),
      });
    function readPerson(answer: Answer): Person {
      expect(outcome(answer)).toEqual([200, undefined]);
      const { access_token, user, session } = answer.body.data as {
        access_token: string;
        user: { id: number; username: string };
        session: { sid: string; login_method: string };
      };
      return { ...user, token: access_token, sid: session.sid, method: session.login_method };
    }
    const logInAt = async (provider: Provider) => readPerson(await comeBack(provider, await goThere(provider)));
    /** Somebody new, signed in through another provider than the one that is to be bound. */
    const guestFor = (provider: Provider): Promise<Person> => {
      somebody();
      return logInAt(provider === 'github' ? 'discord' : 'github');
    };
    const ownersFor = (provider: string, subject: string) =>
      backdoor.run(
        `select user_id from external_identity_claims where provider = '${provider}' and subject = '${subject}'`,
      );
    const signsIn = (answer: Answer) => answer.headers.getSetCookie().length > 0;

    describe.each([...PROVIDERS])('%s', (provider) => {
      test('signs in, binds to another account, and unbinds', async () => {
        somebody();
        const newUser = await logInAt(provider);
        expect(newUser.method).toBe(`oauth:${provider}`);
        expect((await logInAt(provider)).id).toBe(newUser.id);

        const guest = await guestFor(provider);
        const subject = somebody();
        const bound = await comeBack(provider, await goThere(provider, guest), { caller: guest });
        expect([...outcome(bound), bound.body.data, signsIn(bound)]).toEqual([
          200,
          undefined,
          { action: 'bind' },
          false,
        ]);
        expect((await logInAt(provider)).id).toBe(guest.id);
        const again = await begin(provider, 'bind', guest);
        expect(outcome(again)).toEqual([409, 'AUTH_IDENTITY_TAKEN']);

        const unbind = await ask(`${url()}/api/user/oauth/bindings/${provider}`, {
          method: 'DELETE',
          token: guest.token,
        });
        expect(unbind.status).toBe(200);
        expect(await ownersFor(provider, subject)).toEqual([]);
        // Binding and unbinding end no session.
        expect((await ask(`${url()}/api/user/self`, { token: guest.token })).status).toBe(200);
      });

      test('ASVS 10.1.2, 10.2.1: a state that is used, expired, reported as denied, made up or missing is refused', async () => {
        somebody();
        const used = await goThere(provider);
        readPerson(await comeBack(provider, used));
        expect(outcome(await comeBack(provider, used))).toEqual(INVALID);

        const denied = await goThere(provider);
        const report = {
          state: denied.state ?? '',
          error: 'access_denied',
          error_description: '<script>alert(1)</script>\nno',
        };
        expect(outcome(await comeBack(provider, report))).toEqual(FAILED);
        expect(outcome(await comeBack(provider, denied))).toEqual(INVALID);

        const late = await goThere(provider);
        await backdoor.run(`update auth_flows set expires_at = ${systemClock.unix() - 1} where consumed_at is null`);
        expect(outcome(await comeBack(provider, late))).toEqual(INVALID);

        const { code = '' } = await goThere(provider);
        for (const query of [{ code }, { code, state: '' }, { code, state: 'A'.repeat(43) }] as Query[]) {
          expect(outcome(await comeBack(provider, query))).toEqual(INVALID);
        }
      });

      test('ASVS 10.1.2, 10.2.1: state fixation: a binding completes only in the session that began it', async () => {
        const victim = await guestFor(provider);
        const attacker = await guestFor(provider);
        const subject = somebody();
        const theirs = await goThere(provider, attacker);
        // The attacker's answer in the victim's session, and in nobody's.
        expect(outcome(await comeBack(provider, theirs, { caller: victim }))).toEqual(INVALID);
        expect(outcome(await comeBack(provider, theirs))).toEqual(INVALID);
        expect(await ownersFor(provider, subject)).toEqual([]);
        const login = await goThere(provider);
        const signedIn = await comeBack(provider, login, { caller: victim });
        // A login that completes in a browser with a session signs in the person whom the provider
        // names; it binds nothing.
        expect(readPerson(signedIn).id).not.toBe(victim.id);

        // A session that ended in the meantime cannot complete a binding.
        const token = attacker.token;
        const ended = await ask(`${url()}/api/user/sessions/${attacker.sid}`, { method: 'DELETE', token });
        expect(ended.status).toBe(200);
        expect((await comeBack(provider, theirs, { caller: attacker })).status).toBe(401);
        expect((await ownersFor(provider, subject)).map(({ user_id: id }) => Number(id))).not.toContain(attacker.id);
      });

      test('ASVS 10.2.1: a stolen code does not work with another state: PKCE', async () => {
        somebody();
        const victims = await goThere(provider);
        const attackers = await goThere(provider);
        const mixed = { ...attackers, code: victims.code ?? '' };
        expect(outcome(await comeBack(provider, mixed))).toEqual(FAILED);
        expect(idp.complaints.at(-1)).toContain('code_verifier');
      });

      test('ASVS 10.2.2: mix-up: a state of one provider is refused at another', async () => {
        somebody();
        const query = await goThere(provider);
        for (const other of PROVIDERS.filter((name) => name !== provider)) {
          expect(outcome(await comeBack(other, query))).toEqual(INVALID);
        }
        for (const other of ['nobody-knows', 'telegram', 'email']) {
          expect((await comeBack(other, query)).status).toBeGreaterThanOrEqual(400);
        }
        expect(readPerson(await comeBack(provider, query)).method).toBe(`oauth:${provider}`);
      });

      test('ASVS 7.6.2: login CSRF: no link and no other site’s page signs a visitor in', async () => {
        somebody();
        const query = await goThere(provider);
        for (const headers of [
          { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
          { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' },
          { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate' },
          { accept: 'text/html,application/xhtml+xml' },
        ] as Record<string, string>[]) {
          const answer = await comeBack(provider, query, { headers });
          expect([...outcome(answer), signsIn(answer)]).toEqual([403, 'AUTH_ORIGIN_FORBIDDEN', false]);
        }
        readPerson(await comeBack(provider, query, { headers: { 'sec-fetch-site': 'same-origin' } }));
      });

      test('a provider that answers 500, garbage or too much affects neither the others nor the page', async () => {
        somebody();
        const others = PROVIDERS.filter((name) => name !== provider);
        for (const fault of [500, 'garbage', 'huge'] as const) {
          const query = await goThere(provider);
          idp.faults.set(TOKEN_PATHS[provider], fault);
          const answer = await comeBack(provider, query);
          expect([fault, ...outcome(answer)]).toEqual([fault, ...FAILED]);
          expect(JSON.stringify(answer.body)).not.toContain(idp.base);
          expect((await ask(`${url()}/api/status`)).status).toBe(200);
          for (const other of others) expect((await logInAt(other)).method).toBe(`oauth:${other}`);
          idp.faults.clear();
          // The state is still good, and so is the code that the provider never took.
          expect(readPerson(await comeBack(provider, query)).method).toBe(`oauth:${provider}`);
        }
        expect((await logInAt(provider)).method).toBe(`oauth:${provider}`);
      });
    });

    test('providers that never answer time out after ten seconds and delay neither the others nor the page', async () => {
      somebody();
      const [well, ...hanging] = PROVIDERS;
      const queries = await Promise.all(hanging.map((provider) => goThere(provider)));
      for (const provider of hanging) idp.faults.set(TOKEN_PATHS[provider], 'hang');
      const lived = startLivedTime();
      let givenUp = 0;
      const waiting = Promise.all(
        hanging.map((provider, i) =>
          comeBack(provider, queries[i] as Query).finally(() => {
            givenUp += 1;
          }),
        ),
      );
      expect((await logInAt(well)).method).toBe(`oauth:${well}`);
      expect((await ask(`${url()}/api/status`)).status).toBe(200);
      expect(givenUp).toBe(0);
      for (const answer of await waiting) expect(outcome(answer)).toEqual(FAILED);
      expect(lived.stop()).toBeLessThan(20_000);
    });

    test('ASVS 6.8.1: one subject at five providers is five identities and five accounts', async () => {
      const subject = somebody();
      const people = [];
      for (const provider of PROVIDERS) people.push((await logInAt(provider)).id);
      expect(new Set(people).size).toBe(PROVIDERS.length);
      for (const [i, provider] of PROVIDERS.entries()) {
        expect((await ownersFor(provider, subject)).map(({ user_id: id }) => Number(id))).toEqual([
          people[i] as number,
        ]);
      }
    });

    test('ASVS 6.8.1: an email address links no identity to an existing account', async () => {
      somebody();
      const owner = await logInAt('github');
      const { email } = idp.state.person;
      somebody();
      idp.state.person = { ...idp.state.person, email };
      const other = await logInAt('oidc');
      expect(other.id).not.toBe(owner.id);
      const rows = await backdoor.run(`select user_id from external_identity_claims where subject = '${email}'`);
      expect(rows.map(({ user_id: id }) => Number(id))).toEqual([owner.id]);
    });

    test('ASVS 10.5.2: the provider’s id identifies the user: a renamed person is the same, a reused name is another', async () => {
      for (const provider of PROVIDERS) {
        somebody();
        const before = { ...idp.state.person };
        const owner = await logInAt(provider);
        idp.state.person = { ...before, login: `${before.login}-renamed`, email: 'renamed@example.org' };
        expect((await logInAt(provider)).id).toBe(owner.id);
        somebody();
        idp.state.person = { ...before, id: idp.state.person.id };
        expect((await logInAt(provider)).id).not.toBe(owner.id);
      }
    });

    describe('an ID token', () => {
      async function expectRefused(change: TokenChange): Promise<void> {
        somebody();
        const query = await goThere('oidc');
        idp.state.token = change;
        const answer = await comeBack('oidc', query);
        expect([...outcome(answer), signsIn(answer)]).toEqual([...FAILED, false]);
        idp.state.token = {};
        const bindingGuest = await guestFor('oidc');
        const subject = somebody();
        const binding = await goThere('oidc', bindingGuest);
        idp.state.token = change;
        expect(outcome(await comeBack('oidc', binding, { caller: bindingGuest }))).toEqual(FAILED);
        expect(await ownersFor('oidc', subject)).toEqual([]);
        idp.state.token = {};
      }

      test('ASVS 10.5.1: with another nonce, or none, is refused as a replay', async () => {
        await expectRefused({ claims: { nonce: 'A'.repeat(43) } });
        await expectRefused({ claims: { nonce: undefined } });
      });
      test('ASVS 10.5.4: for another audience, or for several, is refused', async () => {
        await expectRefused({ claims: { aud: 'another client' } });
        await expectRefused({ claims: { aud: [CLIENT.id, 'another'] } });
        await expectRefused({ claims: { aud: [CLIENT.id, 'another'], azp: 'another' } });
      });
      test('ASVS 10.2.2, 10.5.3: from another issuer is refused, and so is an answer from another or none', async () => {
        await expectRefused({ claims: { iss: 'https://evil.example' } });
        somebody();
        const query = await goThere('oidc');
        expect(outcome(await comeBack('oidc', { ...query, iss: 'https://evil.example' }))).toEqual(FAILED);
        const { iss: _, ...nameless } = query;
        expect(outcome(await comeBack('oidc', nameless))).toEqual(FAILED);
        readPerson(await comeBack('oidc', query));
      });
      test('ASVS 6.8.2: without a signature, or with a forgeable one, is refused', async () => {
        for (const sign of ['none', 'hs256-public-key', 'hs256-secret', 'foreign-key'] as const) {
          await expectRefused({ sign });
        }
        await expectRefused({ leaveOut: true });
      });
      test('that has expired is refused', async () => {
        await expectRefused({ claims: { exp: systemClock.unix() - 120 } });
      });
    });

    test('ASVS 10.5.3: a discovery document that names another issuer is refused', async () => {
      // Work that fails makes the next one read the document again.
      await comeBack('oidc', { ...(await goThere('oidc')), iss: 'https://evil.example' });
      for (const node of nodes) {
        idp.state.document = { issuer: 'https://evil.example' };
        const body = { provider: 'oidc', intent: 'login' };
        const forget = async () => outcome(await ask(`${node.url}/api/oauth/state`, { body }));
        // A node that has kept the document reads it again when a login fails there.
        if ((await forget())[0] === 200) {
          idp.state.document = {};
          const begun = await ask(`${node.url}/api/oauth/state`, { body });
          const { query } = await idp.agree((begun.body.data as { authorization_url: string }).authorization_url);
          const parameters = new URLSearchParams({ ...query, iss: 'https://evil.example' });
          expect(outcome(await ask(`${node.url}/api/oauth/oidc?${parameters}`))).toEqual(FAILED);
          idp.state.document = { issuer: 'https://evil.example' };
        }
        expect(await forget()).toEqual(FAILED);
        idp.state.document = {};
        expect(await forget()).toEqual([200, undefined]);
      }
    });

    test('ASVS 6.3.4: a provider does not bypass the second factor', async () => {
      somebody();
      const person = await logInAt('github');
      const call = async (path: string, body?: unknown) =>
        (await ask(`${nodes[0]?.url}${path}`, { method: 'POST', token: person.token, ...(body ? { body } : {}) })).body
          .data as Record<string, unknown>;
      const { secret, backup_codes } = (await call('/api/user/2fa/setup')) as {
        secret: string;
        backup_codes: string[];
      };
      await call('/api/user/2fa/enable', { code: new TOTP({ secret }).generate() });
      const first = await comeBack('github', await goThere('github'));
      expect([first.status, signsIn(first)]).toEqual([200, false]);
      const { require_2fa, flow_token } = first.body.data as { require_2fa: boolean; flow_token: string };
      expect(require_2fa).toBe(true);
      const body = { flow_token, code: backup_codes[0] };
      expect(readPerson(await ask(`${url()}/api/user/login/2fa`, { body })).id).toBe(person.id);
    });

    test(`identity theft: ${RACERS} users bind one identity at once: one owns it`, async () => {
      const people: Person[] = [];
      for (let i = 0; i < RACERS; i += 1) people.push(await guestFor('house'));
      const subject = somebody();
      const queries: Query[] = [];
      for (const person of people) queries.push(await goThere('house', person));
      const answers = await Promise.all(queries.map((query, i) => comeBack('house', query, { caller: people[i] })));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(new Set(answers.map(({ body }) => body.code))).toEqual(new Set([undefined, 'AUTH_IDENTITY_TAKEN']));
      const winner = people[answers.findIndex(({ status }) => status === 200)];
      expect((await ownersFor('house', subject)).map(({ user_id: id }) => Number(id))).toEqual([winner?.id as number]);
    });

    test(`double registration: ${RACERS} concurrent first logins of one identity create one account`, async () => {
      somebody();
      const queries: Query[] = [];
      for (let i = 0; i < RACERS; i += 1) queries.push(await goThere('github'));
      const answers = await Promise.all(queries.map((query) => comeBack('github', query)));
      expect(new Set(answers.filter(({ status }) => status === 200).map((answer) => readPerson(answer).id)).size).toBe(
        1,
      );
      // More may sign in than there are attempts at a claim, and a user has a number of sessions.
      expect(answers.filter(({ status }) => ![200, 409].includes(status))).toEqual([]);
    });

    test(`${RACERS} concurrent uses of a state: one succeeds`, async () => {
      somebody();
      await logInAt('linuxdo');
      const query = await goThere('linuxdo');
      const answers = await Promise.all(Array.from({ length: RACERS }, () => comeBack('linuxdo', query)));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(answers.filter(({ status }) => ![200, 400, 502].includes(status))).toEqual([]);
    });

    test('closed registration creates no accounts and lets existing ones sign in', async () => {
      somebody();
      const owner = await logInAt('discord');
      const known = { ...idp.state.person };
      await setOptions({ RegisterEnabled: 'false' }, { register_enabled: false });
      for (const provider of PROVIDERS) {
        somebody();
        expect(outcome(await comeBack(provider, await goThere(provider)))).toEqual([403, 'AUTH_REGISTRATION_DISABLED']);
      }
      idp.state.person = known;
      expect((await logInAt('discord')).id).toBe(owner.id);
      await setOptions({ RegisterEnabled: 'true' }, { register_enabled: true });
    });

    test('a provider that is switched off is off on every node, also for flows begun before', async () => {
      somebody();
      const query = await goThere('discord');
      await setOptions({ 'discord.enabled': 'false' }, { discord_oauth: false });
      expect(outcome(await comeBack('discord', query))).toEqual([403, 'AUTH_METHOD_DISABLED']);
      for (const node of nodes) {
        const body = { provider: 'discord', intent: 'login' };
        expect(outcome(await ask(`${node.url}/api/oauth/state`, { body }))).toEqual([403, 'AUTH_METHOD_DISABLED']);
      }
      await setOptions({ 'discord.enabled': 'true' }, { discord_oauth: true });
    });

    test('ASVS 14.2.1: no code, state or client secret is in a log', () => {
      expect(codes.size).toBeGreaterThan(100);
      for (const node of nodes) {
        const log = node.log();
        for (const secret of [...codes, CLIENT.secret]) {
          if (secret !== '') expect(log.includes(secret)).toBe(false);
        }
      }
    });
  });
}
