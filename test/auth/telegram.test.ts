/** Sign-in and binding by Telegram's widget, with real signatures. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Auth, AuthSettings, PanelPrincipal, SignedIn } from '../../src/auth/index.ts';
import type { Store, UserRecord } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { PASSWORD } from '../support/cheap-hash.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { BOT, signWidget } from '../support/telegram-widget.ts';
import { addProtectedUser, readPrincipal } from './authenticator-app.ts';
import {
  bearer,
  enterQuickly,
  expectSignInRow,
  ORIGIN,
  openAuth,
  openTestStore,
  signIn,
  testSettings,
} from './harness.ts';
import { refusal } from './refusal.ts';
import { createTestClock, type TestClock } from './test-clock.ts';

let people = 100_000;
function newId(): string {
  people += 1;
  return String(people);
}

for (const dialect of RULE_DATABASES) {
  describe(`Telegram on ${dialect}`, () => {
    let store: Store;
    let stop: () => Promise<void>;
    let clock: TestClock;
    let auth: Auth;
    let settings: AuthSettings;

    beforeAll(async () => {
      ({ store, stop } = await openTestStore(dialect));
      clock = createTestClock();
      settings = testSettings();
      settings.providers.telegram = { botName: BOT.name, botToken: BOT.token };
      auth = openAuth(store, {
        clock,
        settings: () => settings,
        config: { sessionIdleSeconds: 3600, activeSessionLimit: 60 },
      });
    });
    afterAll(() => stop());

    const widget = (id: string, shift = 0, more?: Record<string, string>) =>
      signWidget({ id }, clock.unix() + shift, more ? { more } : {});
    const logIn = (query: URLSearchParams) => auth.telegram.signIn({ query, origin: ORIGIN });
    const begin = async (principal: PanelPrincipal) => (await auth.telegram.binding.begin(principal)).flow_token;
    const bind = (token: string, query: URLSearchParams) => auth.telegram.binding.finish(token, query, ORIGIN);

    /** A user with a session, and functions that bind. */
    async function enter(): Promise<{ user: UserRecord; signedIn: SignedIn; principal: PanelPrincipal }> {
      const user = await addUser(store);
      const signedIn = await signIn(auth, user);
      return { user, signedIn, principal: await readPrincipal(auth, signedIn) };
    }
    async function bound(): Promise<{ user: UserRecord; id: string }> {
      const user = await addUser(store);
      const id = newId();
      await store.identities.claim({ provider: 'telegram', subject: id, userId: user.id, createdAt: 1 });
      return { user, id };
    }
    const readOwner = async (id: string) => (await store.identities.owner('telegram', id))?.userId;

    describe('sign-in', () => {
      test('of the owner of the identity: a session by the method telegram', async () => {
        const { user, id } = await bound();
        const login = await logIn(widget(id));
        if (login.kind !== 'session') throw new Error('a second factor was asked');
        expect(login.bundle.user.id).toBe(user.id);
        expect(login.bundle.session.login_method).toBe('telegram');
        await expectSignInRow(store, user, 'telegram');
      });

      test('asks for the second factor if there is one, and uses up the assertion', async () => {
        const { user, app } = await addProtectedUser(auth, store, clock);
        const id = newId();
        await store.identities.claim({ provider: 'telegram', subject: id, userId: user.id, createdAt: 1 });
        const query = widget(id);
        const first = await logIn(query);
        if (first.kind !== 'require_2fa') throw new Error('no second factor was asked');
        await refusal(logIn(query), 'auth.assertion_replayed');
        const flowToken = first.data.flow_token;
        const done = await auth.twoFactor.finishSignIn({ flowToken, code: app.code(), origin: ORIGIN });
        expect(done.kind).toBe('session');
      });

      test('never registers: an unbound identity is refused, and its assertion may still bind', async () => {
        const id = newId();
        const query = widget(id);
        await refusal(logIn(query), 'auth.identity_unbound');
        const { principal } = await enter();
        await bind(await begin(principal), query);
        expect(await readOwner(id)).toBe(principal.user.id);
      });

      const withParameter = (change: (query: URLSearchParams) => void) => (id: string) => {
        const query = widget(id);
        change(query);
        return query;
      };
      test.each<[string, (id: string, other: string) => URLSearchParams]>([
        [
          'tampered: another id',
          (id, other) => new URLSearchParams([...widget(other)].map(([n, v]) => [n, n === 'id' ? id : v])),
        ],
        ['tampered: a parameter added', withParameter((query) => query.append('last_name', 'x'))],
        ['tampered: a parameter taken away', withParameter((query) => query.delete('username'))],
        ['tampered: a later date', withParameter((query) => query.set('auth_date', String(clock.unix() + 1)))],
        ['a forged hash', withParameter((query) => query.set('hash', 'a'.repeat(64)))],
        ['a cut hash', withParameter((query) => query.set('hash', (query.get('hash') ?? '').slice(0, 63)))],
        ['no hash', withParameter((query) => query.delete('hash'))],
        ['an empty hash', withParameter((query) => query.set('hash', ''))],
        ['another bot’s signature', (id) => signWidget({ id }, clock.unix(), { botToken: '1:another' })],
        ['an empty token’s signature', (id) => signWidget({ id }, clock.unix(), { botToken: '' })],
        ['a repeated parameter, the same', withParameter((query) => query.append('username', 'ada'))],
        ['a repeated id', withParameter((query) => query.append('id', '1'))],
        ['a repeated hash', withParameter((query) => query.append('hash', 'b'.repeat(64)))],
        [
          'no id',
          () => new URLSearchParams([...signWidget({ id: '' }, clock.unix())].filter(([name]) => name !== 'id')),
        ],
        ['an id that is not a number', () => signWidget({ id: '1 or 1=1' }, clock.unix())],
        ['an id split by a line break', (id) => widget(id, 0, { username: `ada\nid=${id}` })],
        [
          'parameters without end',
          (id) =>
            widget(id, 0, Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`x_${'a'.repeat(i + 1)}`, '1']))),
        ],
        ['a value without end', (id) => widget(id, 0, { first_name: 'x'.repeat(5000) })],
        ['nothing', () => new URLSearchParams()],
        ['too old', (id) => widget(id, -301)],
        ['too far in the future', (id) => widget(id, 121)],
      ])('assertion forgery: %s', async (_, forge) => {
        const { id } = await bound();
        const refused = await refusal(logIn(forge(id, (await bound()).id)), 'auth.invalid_credentials');
        expect(refused.message).toBe('The Telegram sign-in was not accepted. Start again.');
      });

      test.each([-300, 120])('an assertion that is %d seconds old is accepted', async (shift) => {
        const { id } = await bound();
        expect((await logIn(widget(id, shift))).kind).toBe('session');
      });

      test('assertion replay: in any spelling and order of the query, by login and by binding', async () => {
        const { id } = await bound();
        const query = widget(id);
        await logIn(query);
        await refusal(logIn(query), 'auth.assertion_replayed');
        await refusal(logIn(new URLSearchParams([...query].reverse())), 'auth.assertion_replayed');
        await store.identities.release((await readOwner(id)) ?? 0, 'telegram');
        const { principal } = await enter();
        const token = await begin(principal);
        await refusal(bind(token, query), 'auth.assertion_replayed');
        expect(await readOwner(id)).toBeUndefined();
        await bind(token, widget(id, -1));
      });

      test('assertion replay: 50 concurrent presentations: one signs in', async () => {
        const { user, id } = await bound();
        const query = widget(id);
        const all = await Promise.allSettled(Array.from({ length: 50 }, () => logIn(query)));
        expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
        expect(await store.sessions.countActive(user.id, clock.unix())).toBe(1);
        const codes = new Set(all.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : [])));
        expect([...codes]).toEqual(['auth.assertion_replayed']);
      });

      test('a session limit keeps the assertion unused', async () => {
        const { user, id } = await bound();
        const strict = openAuth(store, { clock, settings: () => settings, config: { activeSessionLimit: 1 } });
        const signedIn = await signIn(strict, user);
        const query = widget(id);
        await refusal(strict.telegram.signIn({ query, origin: ORIGIN }), 'auth.session_limit');
        await strict.sessions.revoke(await strict.authenticatePanel(bearer(signedIn)), signedIn.bundle.session.sid);
        expect((await strict.telegram.signIn({ query, origin: ORIGIN })).kind).toBe('session');
      });

      test('a disabled or deleted user is refused; the assertion stays unused', async () => {
        const { user, id } = await bound();
        const query = widget(id);
        await store.users.administer(user.id, { status: 2 }, user.authVersion);
        await refusal(logIn(query), 'auth.user_disabled');
        await store.users.administer(user.id, { status: 1 }, user.authVersion + 1);
        expect((await logIn(query)).kind).toBe('session');
        await store.users.softDelete(user.id, user.authVersion + 2, clock.unix());
        await refusal(logIn(widget(id, -1)), 'auth.user_disabled');
      });
    });

    describe('binding', () => {
      test('binds the identity to the user of the flow, and returns who that was', async () => {
        const { user, principal, signedIn } = await enter();
        const ticket = await auth.telegram.binding.begin(principal);
        expect(ticket.expires_at).toBe(clock.unix() + 300);
        const id = newId();
        const done = await bind(ticket.flow_token, widget(id));
        expect(done).toMatchObject({ principal: { kind: 'session', user: { id: user.id } }, subject: id });
        expect((await auth.describe(principal)).bindings).toEqual([{ provider: 'telegram', subject: id }]);
        // No security change: the session continues.
        expect((await readPrincipal(auth, signedIn)).user.authVersion).toBe(user.authVersion);
        expect((await logIn(widget(id, -1))).kind).toBe('session');
      });

      test('a forged assertion is refused before the flow is read', async () => {
        const { principal } = await enter();
        const token = await begin(principal);
        const forged = signWidget({ id: newId() }, clock.unix(), { botToken: '1:another' });
        await refusal(bind(token, forged), 'auth.invalid_credentials');
        await refusal(bind('no flow at all', forged), 'auth.invalid_credentials');
        await bind(token, widget(newId()));
      });

      test('flow replay: a flow binds once, also for 50 concurrent returns', async () => {
        const { user, principal } = await enter();
        const token = await begin(principal);
        const ids = Array.from({ length: 50 }, newId);
        const all = await Promise.allSettled(ids.map((id) => bind(token, widget(id))));
        expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
        expect(await store.identities.list(user.id)).toHaveLength(1);
        await refusal(bind(token, widget(newId())), 'auth.flow_invalid');
      });

      test('flow confusion: flows of other purposes, expired and invented ones bind nothing', async () => {
        const { principal, user } = await enter();
        const passkey = await auth.passkeys.registration.begin(principal, undefined);
        const id = newId();
        for (const token of [passkey.flow_token, '', 'A'.repeat(43), '../start', `${'A'.repeat(42)}\0`]) {
          await refusal(bind(token, widget(id)), 'auth.flow_invalid');
        }
        const late = await begin(principal);
        clock.advance(300);
        await refusal(bind(late, widget(id)), 'auth.flow_invalid');
        expect(await store.identities.list(user.id)).toEqual([]);
      });

      test('a binding flow does not complete a second factor', async () => {
        const { principal } = await enter();
        const flowToken = await begin(principal);
        await refusal(auth.twoFactor.finishSignIn({ flowToken, code: '123456', origin: ORIGIN }), 'auth.flow_invalid');
      });

      test("identity theft: another user's identity stays theirs, and the flow can bind another one", async () => {
        const theirs = await bound();
        const { principal } = await enter();
        const token = await begin(principal);
        const query = widget(theirs.id);
        await refusal(bind(token, query), 'auth.identity_taken');
        expect(await readOwner(theirs.id)).toBe(theirs.user.id);
        // The assertion stays unused too.
        expect((await logIn(query)).kind).toBe('session');
        await bind(token, widget(newId()));
      });

      test('identity theft: 50 users bind one identity at once: one owns it', async () => {
        const tokens: string[] = [];
        for (let i = 0; i < 50; i += 1) tokens.push(await begin(await enterQuickly(store, clock)));
        const id = newId();
        const all = await Promise.allSettled(tokens.map((token, i) => bind(token, widget(id, -i))));
        const won = all.flatMap((one) => (one.status === 'fulfilled' ? [one.value.principal.user.id] : []));
        expect(won).toEqual([Number(await readOwner(id))]);
        const codes = new Set(all.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : [])));
        expect([...codes]).toEqual(['auth.identity_taken']);
      });

      test('a user who has one can neither begin nor complete another binding', async () => {
        const { principal } = await enter();
        const [first, second] = [await begin(principal), await begin(principal)];
        const id = newId();
        await bind(first, widget(id));
        await refusal(bind(second, widget(newId())), 'auth.identity_taken');
        await refusal(bind(second, widget(id, -1)), 'auth.identity_taken');
        await refusal(auth.telegram.binding.begin(principal), 'auth.identity_taken');
        expect(await store.identities.list(principal.user.id)).toMatchObject([{ subject: id }]);
      });

      test('a personal access token cannot begin a binding', async () => {
        const { principal } = await enter();
        const pat = { kind: 'pat', user: principal.user, tokenHash: '' } as const;
        await refusal(auth.telegram.binding.begin(pat), 'auth.session_required');
      });

      describe('session fixation: the session that began it is checked again', () => {
        test.each<[string, string, (who: Awaited<ReturnType<typeof enter>>) => Promise<unknown>]>([
          [
            'ended',
            'auth.session_revoked',
            ({ principal, signedIn }) => auth.sessions.revoke(principal, signedIn.bundle.session.sid),
          ],
          [
            'of a user whose password was changed in it',
            'auth.session_revoked',
            ({ principal }) =>
              auth.passwords.change(principal, {
                currentPassword: PASSWORD,
                newPassword: 'another long password',
                origin: ORIGIN,
              }),
          ],
          [
            'of a user who was disabled',
            'auth.user_disabled',
            ({ user }) => store.users.administer(user.id, { status: 2 }, user.authVersion),
          ],
          [
            'of a user who was deleted',
            'auth.user_not_found',
            ({ user }) => store.users.softDelete(user.id, user.authVersion, 5),
          ],
        ])('%s', async (_, code, change) => {
          const who = await enter();
          const token = await begin(who.principal);
          await change(who);
          const id = newId();
          await refusal(bind(token, widget(id)), code);
          expect(await readOwner(id)).toBeUndefined();
        });

        test('idle for too long', async () => {
          const { principal } = await enter();
          const idle = openAuth(store, { clock, settings: () => settings, config: { sessionIdleSeconds: 120 } });
          const token = await begin(principal);
          clock.advance(121);
          await refusal(idle.telegram.binding.finish(token, widget(newId()), ORIGIN), 'auth.session_revoked');
          await bind(token, widget(newId()));
        });

        test('another session of the same user does not matter', async () => {
          const { user, principal, signedIn } = await enter();
          await signIn(auth, user);
          const token = await begin(principal);
          await auth.sessions.revoke(principal, signedIn.bundle.session.sid);
          await refusal(bind(token, widget(newId())), 'auth.session_revoked');
        });
      });
    });

    test('while off or not set up nothing works, not even flows begun before', async () => {
      const { id } = await bound();
      const { principal } = await enter();
      const token = await begin(principal);
      settings.providers.telegram = undefined;
      await refusal(logIn(widget(id)), 'auth.method_disabled');
      await refusal(auth.telegram.binding.begin(principal), 'auth.method_disabled');
      await refusal(bind(token, widget(newId())), 'auth.method_disabled');
      settings.providers.telegram = { botName: BOT.name, botToken: BOT.token };
      await bind(token, widget(newId()));
    });
  });
}
