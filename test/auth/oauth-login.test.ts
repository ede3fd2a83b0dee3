import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { TOTP } from 'otpauth';
import type { Auth } from '../../src/auth/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { ALICE, type IdentityProvider, type Person, startIdentityProvider } from '../support/identity-provider.ts';
import { startLivedTime } from '../support/lived-time.ts';
import { bearer, ORIGIN, openTestStore, refreshWith } from './harness.ts';
import { goThere, logInAt, openNode, present, signedIn } from './oauth-harness.ts';
import { refusal } from './refusal.ts';
import { createTestClock, type TestClock } from './test-clock.ts';

const PROVIDERS = ['github', 'discord', 'linuxdo', 'oidc', 'acme'] as const;

let idp: IdentityProvider;
beforeAll(async () => {
  idp = await startIdentityProvider();
});
afterAll(() => idp.stop());

for (const dialect of RULE_DATABASES) {
  describe(`signing in through a provider on ${dialect}`, () => {
    let store: Store;
    let stop: () => Promise<void>;
    let clock: TestClock;
    let auth: Auth;
    let person: Person;
    let people = 1000;

    beforeAll(async () => {
      ({ store, stop } = await openTestStore(dialect));
      await openNode(store, idp).oauth.providers.create({
        slug: 'acme',
        name: 'Acme',
        client_id: idp.settings().github.clientId,
        client_secret: idp.settings().github.clientSecret,
        authorization_endpoint: `${idp.base}/custom/authorize`,
        token_endpoint: `${idp.base}/custom/token`,
        user_info_endpoint: `${idp.base}/custom/me`,
        user_id_field: 'data.user.id',
        username_field: 'data.user.login',
        display_name_field: 'data.user.names.0',
        email_field: 'mail',
      });
    });
    afterAll(() => stop());
    beforeEach(() => {
      idp.reset();
      clock = createTestClock();
      auth = openNode(store, idp, { clock });
      people += 1;
      person = { ...ALICE, id: String(people), login: `alice-${people}`, email: `alice-${people}@example.org` };
      idp.state.person = person;
    });

    const flowsLeft = async (provider: string, query: Record<string, string>) =>
      (await present(auth, provider, { query })).action;

    describe.each([...PROVIDERS])('%s', (provider) => {
      test('a first login creates an account, the next one finds it', async () => {
        const first = await logInAt(auth, idp, { provider });
        const { user, session } = first.bundle;
        expect(user).toMatchObject({
          username: person.login,
          display_name: person.name,
          role: 1,
          language: 'pt',
          has_password: false,
          bindings: [{ provider, subject: person.id }],
        });
        const mails = provider === 'github' || provider === 'oidc' || provider === 'acme';
        expect(user.email).toBe(mails ? person.email : null);
        expect(session.login_method).toBe(`oauth:${provider}`);
        expect((await refreshWith(auth, first.refreshToken)).bundle.user.id).toBe(user.id);

        idp.state.person = { ...person, login: 'renamed', email: 'moved@example.org' };
        const second = await logInAt(auth, idp, { provider });
        expect(second.bundle.user).toMatchObject({ id: user.id, username: person.login });
        expect(idp.complaints).toEqual([]);
      });

      test('returns to its own redirect address', async () => {
        const {
          at,
          authorization_url: url,
          expires_at: expiresAt,
          flow_token: token,
          query,
        } = await goThere(auth, idp, { provider });
        expect(at).toBe(`http://localhost:3000/oauth/${provider}`);
        expect(expiresAt).toBe(clock.unix() + 600);
        expect(query.state).toBe(token);
        expect(new URL(url).searchParams.get('code_challenge')).toHaveLength(43);
      });

      test('a provider that hangs or answers garbage, too much or 500 fails only this login, and the state stays usable', async () => {
        const end = {
          github: 'access_token',
          discord: 'oauth2/token',
          linuxdo: 'oauth2/token',
          oidc: 'oidc/token',
          acme: 'custom/token',
        };
        for (const fault of ['garbage', 'huge', 500, 302] as const) {
          const { query } = await goThere(auth, idp, { provider });
          idp.faults.set(end[provider], fault);
          const error = await refusal(present(auth, provider, { query }), 'auth.provider_failed');
          expect(error.message).not.toContain(idp.base);
          idp.faults.clear();
          // The code was not used up, nor was the flow.
          expect(await flowsLeft(provider, query)).toBe('login');
        }
      });
    });

    test('ASVS 6.8.1: one subject at two providers is two identities and two accounts', async () => {
      const one = await logInAt(auth, idp, { provider: 'github' });
      const other = await logInAt(auth, idp, { provider: 'oidc' });
      expect(other.bundle.user.id).not.toBe(one.bundle.user.id);
      expect(other.bundle.user.bindings).toEqual([{ provider: 'oidc', subject: person.id }]);
      // The first account keeps the name and the address.
      expect(other.bundle.user.username).toMatch(/^oidc_\d{1,5}$/);
      expect(other.bundle.user.email).toBeNull();
    });

    test('account takeover by a provider that anybody can use: an address links to no account', async () => {
      const owner = await addUser(store, { email: person.email });
      await store.identities.claim({ provider: 'email', subject: person.email, userId: owner.id, createdAt: 1 });
      const login = await logInAt(auth, idp, { provider: 'oidc' });
      expect(login.bundle.user.id).not.toBe(owner.id);
      expect(login.bundle.user.email).toBeNull();
    });

    test('an address that the provider has not verified is ignored', async () => {
      idp.state.person = { ...person, verified: false };
      for (const provider of ['github', 'oidc', 'acme']) {
        expect((await logInAt(auth, idp, { provider })).bundle.user.email).toBeNull();
      }
    });

    test("hidden characters are removed from a provider's name for a person", async () => {
      idp.state.person = { ...person, name: 'Al\u202eice\u200b\nB' };
      expect((await logInAt(auth, idp, { provider: 'github' })).bundle.user.display_name).toBe('Alice B');
    });

    test('an invalid or taken name is replaced', async () => {
      for (const [login, id] of [
        ['no spaces please', '1'],
        ['', '2'],
        ['ünïcode', '3'],
        ['x'.repeat(33), '4'],
      ] as const) {
        idp.state.person = { ...person, login, id: `${person.id}${id}`, name: '' };
        const { user } = (await logInAt(auth, idp, { provider: 'github' })).bundle;
        expect(user.username).toMatch(/^github_\d{1,5}$/);
        expect(user.display_name).toBe(user.username);
      }
      const { username } = await addUser(store);
      idp.state.person = { ...person, login: username.toUpperCase() };
      expect((await logInAt(auth, idp, { provider: 'github' })).bundle.user.username).toMatch(/^github_\d{1,5}$/);
    });

    test('a new account and the affiliate code stored in the flow get their grants', async () => {
      const inviter = await addUser(store);
      await store.users.ensureAffCode(inviter.id, `aff-${people}`);
      auth = openNode(store, idp, {
        clock,
        change: { registration: { quotaForNewUser: 500, quotaForInvitee: 70, quotaForInviter: 30 } },
      });
      const { user } = (await logInAt(auth, idp, { provider: 'github', affCode: `aff-${people}` })).bundle;
      expect(user.quota).toBe(570);
      expect((await store.users.byId(inviter.id))?.quota).toBe(30);
      expect((await store.users.adminById(user.id))?.inviterId).toBe(inviter.id);
      await logInAt(auth, idp, { provider: 'github', affCode: `aff-${people}` });
      expect((await store.users.byId(inviter.id))?.quota).toBe(30);
    });

    test('closed registration creates no accounts and lets existing ones sign in', async () => {
      const { user } = (await logInAt(auth, idp, { provider: 'github' })).bundle;
      auth = openNode(store, idp, { clock, change: { registration: { enabled: false } } });
      expect((await logInAt(auth, idp, { provider: 'github' })).bundle.user.id).toBe(user.id);
      const { query } = await goThere(auth, idp, { provider: 'discord' });
      await refusal(present(auth, 'discord', { query }), 'auth.registration_disabled');
      expect(await store.identities.owner('discord', person.id)).toBeUndefined();
    });

    test('a disabled owner is refused, and the state stays usable', async () => {
      const { user } = (await logInAt(auth, idp, { provider: 'github' })).bundle;
      const record = await store.users.byId(user.id);
      await store.users.administer(user.id, { status: 2 }, record?.authVersion ?? 0);
      const { query } = await goThere(auth, idp, { provider: 'github' });
      await refusal(present(auth, 'github', { query }), 'auth.user_disabled');
      expect(await store.sessions.countIssued(user.id, 0)).toBe(1);
    });

    test('asks for the second factor if it is on', async () => {
      const login = await logInAt(auth, idp, { provider: 'github' });
      const me = () => auth.authenticatePanel(bearer(login));
      const { secret, backup_codes: codes } = await auth.twoFactor.setUp(await me());
      await auth.twoFactor.enable(await me(), new TOTP({ secret }).generate({ timestamp: clock.nowMs() }));
      const { query } = await goThere(auth, idp, { provider: 'github' });
      const done = await present(auth, 'github', { query });
      if (done.action !== 'login' || done.signIn.kind !== 'require_2fa')
        throw new Error('no second factor was asked for');
      expect(await store.sessions.countIssued(login.bundle.user.id, 0)).toBe(1);
      await refusal(present(auth, 'github', { query }), 'auth.flow_invalid');
      const flowToken = done.signIn.data.flow_token;
      const second = await auth.twoFactor.finishSignIn({ flowToken, code: codes[0] ?? '', origin: ORIGIN });
      expect(second).toMatchObject({ kind: 'session', bundle: { user: { id: login.bundle.user.id } } });
    });

    test('50 concurrent first logins of one identity create one account', async () => {
      const ways = await Promise.all(Array.from({ length: 50 }, () => goThere(auth, idp, { provider: 'github' })));
      const outcomes = await Promise.all(ways.map(({ query }) => present(auth, 'github', { query })));
      const ids = outcomes.map((done) =>
        done.action === 'login' && done.signIn.kind === 'session' ? done.signIn.bundle.user.id : 0,
      );
      expect(new Set(ids).size).toBe(1);
      expect((await store.identities.owner('github', person.id))?.userId).toBe(ids[0] ?? -1);
      const { total } = await store.users.search({ keyword: person.login }, { page: 1, pageSize: 10 });
      expect(total).toBe(1);
    });

    describe('a state', () => {
      test('ASVS 10.1.2, 10.2.1: works once, whatever the code: CSRF and replayed callbacks', async () => {
        const { query } = await goThere(auth, idp, { provider: 'github' });
        await present(auth, 'github', { query });
        const again = await goThere(auth, idp, { provider: 'github' });
        await refusal(present(auth, 'github', { query }), 'auth.flow_invalid');
        await refusal(present(auth, 'github', { query: { ...again.query, state: query.state } }), 'auth.flow_invalid');
        await refusal(present(auth, 'github', { query: { ...again.query, state: undefined } }), 'auth.flow_invalid');
        await refusal(
          present(auth, 'github', { query: { ...again.query, state: 'A'.repeat(43) } }),
          'auth.flow_invalid',
        );
      });

      test('two concurrent logins with one state: one succeeds', async () => {
        const { query } = await goThere(auth, idp, { provider: 'github' });
        const outcomes = await Promise.allSettled([1, 2, 3].map(() => present(auth, 'github', { query })));
        expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      });

      test('expires after ten minutes', async () => {
        const { query } = await goThere(auth, idp, { provider: 'github' });
        clock.advance(601);
        await refusal(present(auth, 'github', { query }), 'auth.flow_invalid');
      });

      test('ASVS 10.2.2: mix-up: a code of one provider is refused at another', async () => {
        const { query } = await goThere(auth, idp, { provider: 'github' });
        await refusal(present(auth, 'discord', { query }), 'auth.flow_invalid');
        expect(idp.requests.filter((line) => line.includes('discord'))).toEqual([]);
        expect(await flowsLeft('github', query)).toBe('login');
      });

      test('ASVS 10.2.2: mix-up: an answer with another issuer, or none if the provider announces one', async () => {
        for (const iss of ['https://evil.example', undefined, `${idp.issuer}/`]) {
          const { query } = await goThere(auth, idp, { provider: 'oidc' });
          idp.requests.length = 0;
          await refusal(present(auth, 'oidc', { query: { ...query, iss } }), 'auth.provider_failed');
          expect(idp.requests.filter((line) => line.endsWith('/token'))).toEqual([]);
        }
      });

      test('ASVS 10.2.1: a stolen code does not work with another browser’s state: PKCE', async () => {
        const victim = await goThere(auth, idp, { provider: 'github' });
        const attacker = await goThere(auth, idp, { provider: 'github' });
        const stolen = { ...attacker.query, code: victim.query.code };
        await refusal(present(auth, 'github', { query: stolen }), 'auth.provider_failed');
        expect(idp.complaints).toEqual(['github: code_verifier']);
      });

      test('an error that the provider reports ends it, with its text sanitized', async () => {
        const { query } = await goThere(auth, idp, { provider: 'github' });
        const { state } = query;
        const denied = { state, error: 'access_denied', error_description: `no\u0000\r\n${'x'.repeat(1000)}` };
        const error = await refusal(present(auth, 'github', { query: denied }), 'auth.provider_failed');
        expect(error.message.length).toBeLessThan(300);
        expect(error.message).toMatch(/^[\x20-\x7e]+$/);
        await refusal(present(auth, 'github', { query }), 'auth.flow_invalid');
      });

      test('a login with somebody’s bearer token is still a login', async () => {
        const caller = await signedIn(auth, store);
        const { query } = await goThere(auth, idp, { provider: 'github' });
        const done = await present(auth, 'github', { query, caller });
        if (done.action !== 'login' || done.signIn.kind !== 'session') throw new Error('no session came of it');
        expect(done.signIn.bundle.user.id).not.toBe(caller.user.id);
      });
    });

    test('a session issuance limit keeps the state unused and creates no account', async () => {
      const { query } = await goThere(auth, idp, { provider: 'github' });
      const full = openNode(store, idp, { clock, config: { activeSessionLimit: 0 } });
      await refusal(present(full, 'github', { query }), 'auth.session_limit');
      expect(await store.identities.owner('github', person.id)).toBeUndefined();
      // The provider's code is used up, the state is not.
      const again = await goThere(auth, idp, { provider: 'github' });
      expect(again.query.state).not.toBe(query.state);
      await refusal(present(auth, 'github', { query }), 'auth.provider_failed');
    });

    test('a provider that is off, and an unknown one', async () => {
      const off = openNode(store, idp, { clock, change: { providers: { github: undefined } } });
      for (const provider of ['github', 'nobody', 'telegram', '__proto__', 'constructor']) {
        await refusal(goThere(off, idp, { provider }), 'auth.method_disabled');
      }
      const { query } = await goThere(auth, idp, { provider: 'github' });
      await refusal(present(off, 'github', { query }), 'auth.method_disabled');
    });

    test('LinuxDO: a trust level below the minimum', async () => {
      idp.state.person = { ...person, level: 0 };
      const { query } = await goThere(auth, idp, { provider: 'linuxdo' });
      const error = await refusal(present(auth, 'linuxdo', { query }), 'auth.access_denied');
      expect(error.message).toContain('1');
    });

    test('a provider that hangs times out after ten seconds and delays nobody else', async () => {
      const hanging = await goThere(auth, idp, { provider: 'github' });
      idp.faults.set('access_token', 'hang');
      const lived = startLivedTime();
      let isOver = false;
      const waiting = refusal(present(auth, 'github', { query: hanging.query }), 'auth.provider_failed').finally(() => {
        isOver = true;
      });
      await logInAt(auth, idp, { provider: 'discord' });
      await auth.oauth.providers.listPublic();
      expect(isOver).toBe(false);
      expect((await waiting).message).toContain('in time');
      expect(lived.stop()).toBeLessThan(13_000);
    });

    test('verifier, nonce and affiliate code are encrypted in the database', async () => {
      const kept: unknown[] = [];
      const flows = new Proxy(store.flows, {
        get: (target, name) =>
          name === 'insert'
            ? (flow: Parameters<Store['flows']['insert']>[0]) => {
                kept.push(flow);
                return target.insert(flow);
              }
            : Reflect.get(target, name),
      });
      const node = openNode(
        new Proxy(store, { get: (target, name) => (name === 'flows' ? flows : Reflect.get(target, name)) }),
        idp,
      );
      const begun = await node.oauth.begin({
        principal: undefined,
        provider: 'oidc',
        intent: 'login',
        affCode: 'friend-of',
      });
      const text = JSON.stringify(kept);
      const nonce = new URL(begun.authorization_url).searchParams.get('nonce') ?? '';
      expect(nonce).toHaveLength(43);
      for (const secret of [nonce, 'friend-of', begun.flow_token]) expect(text).not.toContain(secret);
    });
  });
}
