import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Auth } from '../../src/auth/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { ALICE, type IdentityProvider, type Person, startIdentityProvider } from '../support/identity-provider.ts';
import { bearer, expectSignInRow, openTestStore, originFor } from './harness.ts';
import { bindAt, goThere, logInAt, openNode, present, signedIn } from './oauth-harness.ts';
import { refusal } from './refusal.ts';
import { createTestClock, type TestClock } from './test-clock.ts';

let idp: IdentityProvider;
beforeAll(async () => {
  idp = await startIdentityProvider();
});
afterAll(() => idp.stop());

for (const dialect of RULE_DATABASES) {
  describe(`binding an identity on ${dialect}`, () => {
    let store: Store;
    let stop: () => Promise<void>;
    let clock: TestClock;
    let auth: Auth;
    let person: Person;
    let people = 5000;

    beforeAll(async () => {
      ({ store, stop } = await openTestStore(dialect));
    });
    afterAll(() => stop());
    beforeEach(() => {
      idp.reset();
      clock = createTestClock();
      auth = openNode(store, idp, { clock });
      people += 1;
      person = { ...ALICE, id: String(people), login: `bob-${people}`, email: `bob-${people}@example.org` };
      idp.state.person = person;
    });

    test.each(['github', 'discord', 'linuxdo', 'oidc'])(
      '%s: binds, signs in, is listed, and unbinds',
      async (provider) => {
        const caller = await signedIn(auth, store);
        expect(await bindAt(auth, idp, { provider, caller })).toMatchObject({ action: 'bind', subject: person.id });
        expect((await logInAt(auth, idp, { provider })).bundle.user.id).toBe(caller.user.id);
        await expectSignInRow(store, caller.user, `oauth:${provider}`);
        const me = await caller.principal();
        expect(await auth.oauth.bindings.list(me)).toMatchObject([
          { provider_id: null, provider_slug: provider, provider_user_id: person.id, created_at: clock.unix() },
        ]);
        // A binding does not take over the provider's email address.
        expect((await store.users.byId(caller.user.id))?.email).toBeNull();
        expect(await auth.oauth.bindings.unbind(me, provider)).toBe(person.id);
        expect(await auth.oauth.bindings.list(await caller.principal())).toEqual([]);
        await refusal(auth.oauth.bindings.unbind(me, provider), 'auth.binding_not_found');
      },
    );

    test('requires a session: anonymous requests and personal access tokens are refused', async () => {
      await refusal(
        auth.oauth.begin({ principal: undefined, provider: 'github', intent: 'bind', affCode: '' }),
        'auth.unauthorized',
      );
      const user = await addUser(store);
      const principal = { kind: 'pat', user, tokenHash: '' } as const;
      await refusal(
        auth.oauth.begin({ principal, provider: 'github', intent: 'bind', affCode: '' }),
        'auth.session_required',
      );
      await refusal(auth.oauth.bindings.unbind(principal, 'github'), 'auth.session_required');
    });

    describe("a state works in its own session only: an attacker's identity in a victim's account", () => {
      test('not in another session of the user, not in another user’s, not without one', async () => {
        const caller = await signedIn(auth, store);
        const otherSession = await signedIn(auth, store, caller.user);
        const stranger = await signedIn(auth, store);
        const { query } = await goThere(auth, idp, { provider: 'github', caller });
        for (const thief of [otherSession, stranger, undefined]) {
          await refusal(present(auth, 'github', { query, caller: thief }), 'auth.flow_invalid');
        }
        expect((await present(auth, 'github', { query, caller })).action).toBe('bind');
      });

      test('not as a login, and a login’s state does not bind', async () => {
        const caller = await signedIn(auth, store);
        const { query } = await goThere(auth, idp, { provider: 'github' });
        const done = await present(auth, 'github', { query, caller });
        expect(done.action).toBe('login');
        expect(await store.identities.list(caller.user.id)).toEqual([]);
      });

      test('not at another provider, not twice, not late', async () => {
        const caller = await signedIn(auth, store);
        const { query } = await goThere(auth, idp, { provider: 'github', caller });
        await refusal(present(auth, 'discord', { query, caller }), 'auth.flow_invalid');
        await present(auth, 'github', { query, caller });
        await refusal(present(auth, 'github', { query, caller }), 'auth.flow_invalid');
        const late = await goThere(auth, idp, { provider: 'discord', caller });
        clock.advance(601);
        await refusal(present(auth, 'discord', { query: late.query, caller }), 'auth.flow_invalid');
      });

      test('not when the session has ended in the meantime', async () => {
        const caller = await signedIn(auth, store);
        const { query } = await goThere(auth, idp, { provider: 'github', caller });
        const principal = await caller.principal();
        await auth.sessions.revoke(principal, caller.session.bundle.session.sid);
        const { state = '', code, iss } = query;
        const answer = {
          provider: 'github',
          origin: originFor(''),
          state,
          code,
          iss,
          error: undefined,
          errorDescription: undefined,
        };
        await refusal(auth.oauth.finish({ principal, ...answer }), 'auth.session_revoked');
        expect(await store.identities.owner('github', person.id)).toBeUndefined();
      });
    });

    test('an error that the provider reports ends it', async () => {
      const caller = await signedIn(auth, store);
      const { query } = await goThere(auth, idp, { provider: 'github', caller });
      await refusal(
        present(auth, 'github', { query: { state: query.state, error: 'access_denied' }, caller }),
        'auth.provider_failed',
      );
      await refusal(present(auth, 'github', { query, caller }), 'auth.flow_invalid');
    });

    test('an identity of another, and a second one of a provider', async () => {
      const owner = await signedIn(auth, store);
      const other = await signedIn(auth, store);
      await bindAt(auth, idp, { provider: 'github', caller: owner });
      await refusal(bindAt(auth, idp, { provider: 'github', caller: other }), 'auth.identity_taken');
      idp.state.person = { ...person, id: `${person.id}2` };
      const error = await refusal(bindAt(auth, idp, { provider: 'github', caller: owner }), 'auth.identity_taken');
      expect(error.message).toContain('Unbind');
      expect(await store.identities.owner('github', `${person.id}2`)).toBeUndefined();
    });

    test('50 users bind one identity at once: one owns it', async () => {
      const users = await Promise.all(Array.from({ length: 50 }, () => addUser(store)));
      const callers = [];
      for (const user of users) callers.push(await signedIn(auth, store, user));
      const ways = [];
      for (const caller of callers)
        ways.push({ caller, way: await goThere(auth, idp, { provider: 'github', caller }) });
      const outcomes = await Promise.allSettled(
        ways.map(({ caller, way }) => present(auth, 'github', { query: way.query, caller })),
      );
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      const codes = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason.code] : []));
      expect(new Set(codes)).toEqual(new Set(['auth.identity_taken']));
      const winner = outcomes.findIndex(({ status }) => status === 'fulfilled');
      expect((await store.identities.owner('github', person.id))?.userId).toBe(users[winner]?.id ?? -1);
    });

    test('one user binds 50 identities at once: one is bound', async () => {
      const caller = await signedIn(auth, store);
      const ways = [];
      for (let index = 0; index < 50; index += 1) {
        idp.state.person = { ...person, id: `${person.id}${index + 100}` };
        ways.push(await goThere(auth, idp, { provider: 'github', caller }));
      }
      const outcomes = await Promise.allSettled(ways.map(({ query }) => present(auth, 'github', { query, caller })));
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect(await store.identities.list(caller.user.id)).toHaveLength(1);
    });

    test('the last way to sign in stays', async () => {
      const login = await logInAt(auth, idp, { provider: 'github' });
      const me = () => auth.authenticatePanel(bearer(login));
      await refusal(auth.oauth.bindings.unbind(await me(), 'github'), 'auth.last_way_in');
      const caller = { user: (await me()).user, session: login, principal: me };
      await bindAt(auth, idp, { provider: 'discord', caller });
      // One of two concurrent unbindings is refused, in either order.
      const principal = await me();
      const both = ['github', 'discord'].map((provider) => auth.oauth.bindings.unbind(principal, provider));
      const outcomes = await Promise.allSettled(both);
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      // An identity of a disabled provider is not a sign-in method; nor is a password while
      // password login is off.
      const [left] = await auth.oauth.bindings.list(await me());
      expect(left).toBeDefined();
      const other = await signedIn(auth, store);
      idp.state.person = { ...person, id: `${person.id}9` };
      await bindAt(auth, idp, { provider: 'linuxdo', caller: other });
      const noPasswords = openNode(store, idp, { clock, change: { passwordLogin: false } });
      await refusal(noPasswords.oauth.bindings.unbind(await other.principal(), 'linuxdo'), 'auth.last_way_in');
    });

    test('the email address is not a binding', async () => {
      const caller = await signedIn(auth, store);
      await store.identities.claim({ provider: 'email', subject: person.email, userId: caller.user.id, createdAt: 1 });
      const me = await caller.principal();
      expect(await auth.oauth.bindings.list(me)).toEqual([]);
      await refusal(auth.oauth.bindings.unbind(me, 'email'), 'auth.binding_not_found');
    });
  });
}
