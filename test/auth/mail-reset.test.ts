import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Auth, AuthSettings } from '../../src/auth/index.ts';
import type { Store, UserRecord } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { PASSWORD } from '../support/cheap-hash.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { bearer, openTestStore, refreshWith, signIn } from './harness.ts';
import { type Mailbox, mailSettings, newOrigin, newPerson, openMailAuth, tokenIn } from './mail-harness.ts';
import { refusal } from './refusal.ts';
import { createTestClock } from './test-clock.ts';

const NEW_PASSWORD = 'another good password';

for (const dialect of RULE_DATABASES) {
  describe(`reset by email on ${dialect}`, () => {
    let store: Store;
    let stop: () => Promise<void>;
    let auth: Auth;
    let mailbox: Mailbox;
    let settings: AuthSettings;
    let user: UserRecord & { email: string };

    beforeAll(async () => {
      ({ store, stop } = await openTestStore(dialect));
    });
    afterAll(() => stop());
    beforeEach(async () => {
      settings = mailSettings();
      ({ auth, mailbox } = openMailAuth(store, { settings: () => settings }));
      user = await addOwner();
    });

    async function addOwner(change: object = {}): Promise<UserRecord & { email: string }> {
      const person = newPerson();
      const added = await addUser(store, { ...person, ...change });
      await store.identities.claim({ provider: 'email', subject: person.email, userId: added.id, createdAt: 1 });
      return { ...added, email: person.email };
    }
    const ask = (email: string) => auth.passwords.byMail.request({ email, origin: newOrigin() });
    async function linkFor(email: string): Promise<string> {
      await ask(email);
      return tokenIn(await mailbox.next(email));
    }
    const reset = (email: string, token: string, password = NEW_PASSWORD) =>
      auth.passwords.byMail.finish({ email, token, password, origin: newOrigin() });
    const logIn = (password: string) =>
      auth.passwords.signIn({ username: user.username, password, origin: newOrigin() });

    test('the link sets the typed password, ends every session and notifies the owner', async () => {
      const signedIn = await signIn(auth, user);
      await ask(` ${user.email.toUpperCase()} `);
      const mail = await mailbox.next(user.email);
      const token = tokenIn(mail);
      expect(mail.text).toContain(
        `https://gate.example.org/user/reset?email=${encodeURIComponent(user.email)}&token=${token}`,
      );
      expect(mail.subject).not.toContain(token);
      expect(mail.text).toContain(user.username);
      expect(await reset(user.email, token)).toEqual({ userId: user.id, username: user.username });
      expect((await mailbox.next(user.email)).subject).toContain('was changed');
      await refusal(auth.authenticatePanel(bearer(signedIn)), 'auth.session_revoked');
      await refusal(refreshWith(auth, signedIn.refreshToken), 'auth.session_revoked');
      await refusal(logIn(PASSWORD), 'auth.invalid_credentials');
      expect((await logIn(NEW_PASSWORD)).kind).toBe('session');
      expect((await store.users.byId(user.id))?.authVersion).toBe(user.authVersion + 1);
    });

    test('a link works once', async () => {
      const token = await linkFor(user.email);
      await reset(user.email, token);
      await refusal(reset(user.email, token), 'auth.flow_invalid');
    });

    test('an address has one valid link: a newer one replaces it', async () => {
      const first = await linkFor(user.email);
      const second = await linkFor(user.email);
      await refusal(reset(user.email, first), 'auth.flow_invalid');
      await reset(user.email, second);
    });

    test('stolen link: it is invalid once the account’s protection has changed', async () => {
      const token = await linkFor(user.email);
      const principal = await auth.authenticatePanel(bearer(await signIn(auth, user)));
      const change = { currentPassword: PASSWORD, newPassword: 'changed in a session', origin: newOrigin() };
      await auth.passwords.change(principal, change);
      await refusal(reset(user.email, token), 'auth.flow_invalid');
      expect((await logIn('changed in a session')).kind).toBe('session');
    });

    test('a link expires after ten minutes', async () => {
      const clock = createTestClock();
      ({ auth, mailbox } = openMailAuth(store, { settings: () => settings, clock }));
      const token = await linkFor(user.email);
      clock.advance(600);
      await refusal(reset(user.email, token), 'auth.flow_invalid');
    });

    test('a link is valid for its address alone; wrong and unknown links answer alike', async () => {
      const other = await addOwner();
      const token = await linkFor(user.email);
      for (const [email, given] of [
        [other.email, token],
        [user.email, 'A'.repeat(43)],
        [user.email, `${token}x`],
        [user.email, ''],
        [newPerson().email, token],
        ['no address', token],
      ] as const) {
        const refused = await refusal(reset(email, given), 'auth.flow_invalid');
        expect(refused.message).toBe((await refusal(reset(newPerson().email, token), 'auth.flow_invalid')).message);
      }
      // Strangers' wrong tokens do not use the link up.
      for (let i = 0; i < 20; i += 1) await refusal(reset(user.email, 'B'.repeat(43)), 'auth.flow_invalid');
      await reset(user.email, token);
    });

    test('a refused password keeps the link valid', async () => {
      const token = await linkFor(user.email);
      for (const password of ['short', 'password1', user.username, 'x'.repeat(129)]) {
        expect((await refusal(reset(user.email, token, password), 'auth.validation_failed')).param).toBe('password');
      }
      await reset(user.email, token);
    });

    test('ASVS 6.4.3: a reset does not bypass the second factor', async () => {
      await store.twoFactor.begin({ userId: user.id, secretSealed: 'sealed', createdAt: 1 });
      await store.twoFactor.enable(user.id, 'sealed', 1);
      await store.users.setAccessToken(user.id, { hash: `hash-of-${user.id}`, prefix: 'tgp_x', createdAt: 1 });
      await reset(user.email, await linkFor(user.email));
      expect((await logIn(NEW_PASSWORD)).kind).toBe('require_2fa');
      expect(await store.users.findAccessToken(user.id)).toBeDefined();
    });

    test('the history of issued sessions is kept', async () => {
      await signIn(auth, user);
      await reset(user.email, await linkFor(user.email));
      expect(await store.sessions.countIssued(user.id, 0)).toBe(1);
      expect(await store.sessions.countActive(user.id, 0)).toBe(0);
    });

    test('an account without a password gets one', async () => {
      user = await addOwner({ passwordHash: null });
      await reset(user.email, await linkFor(user.email));
      expect((await logIn(NEW_PASSWORD)).kind).toBe('session');
    });

    test('no mail is sent for an unknown address, a disabled user, or an unclaimed address', async () => {
      const unknown = newPerson().email;
      const disabled = await addOwner({ status: 2 });
      const shown = newPerson();
      await addUser(store, shown);
      for (const email of [unknown, disabled.email, shown.email]) await ask(email);
      await linkFor(user.email);
      expect(mailbox.mails.map(({ to }) => to)).toEqual([user.email]);
    });

    test('an account that was disabled, or lost the address, after the link was sent keeps its password', async () => {
      const token = await linkFor(user.email);
      await store.users.administer(user.id, { status: 2 }, user.authVersion);
      await refusal(reset(user.email, token), 'auth.flow_invalid');

      const [loser, winner] = [await addOwner(), await addUser(store)];
      const link = await linkFor(loser.email);
      await store.identities.release(loser.id, 'email');
      await refusal(reset(loser.email, link), 'auth.flow_invalid');
      await store.identities.claim({ provider: 'email', subject: loser.email, userId: winner.id, createdAt: 1 });
      await refusal(reset(loser.email, link), 'auth.flow_invalid');
      expect((await store.users.byId(winner.id))?.authVersion).toBe(winner.authVersion);
    });

    test('without mail settings the request is refused before an address is needed', async () => {
      settings = mailSettings({ mail: undefined });
      for (const email of [user.email, newPerson().email]) await refusal(ask(email), 'auth.method_disabled');
    });

    test('the mail is in its reader’s language, not the requester’s', async () => {
      user = await addOwner({ language: 'zh' });
      await auth.passwords.byMail.request({ email: user.email, acceptLanguage: 'en', origin: newOrigin() });
      expect((await mailbox.next(user.email)).text).toContain('申请了新密码');
    });

    test('replay: 50 concurrent uses of one link on two nodes: one succeeds', async () => {
      const token = await linkFor(user.email);
      const second = openMailAuth(store, { settings: () => settings, mailbox }).auth;
      const outcomes = await Promise.allSettled(
        Array.from({ length: 50 }, (_, i) =>
          (i % 2 ? auth : second).passwords.byMail.finish({
            email: user.email,
            token,
            password: `${NEW_PASSWORD} ${i}`,
            origin: newOrigin(),
          }),
        ),
      );
      const won = outcomes.flatMap(({ status }, i) => (status === 'fulfilled' ? [i] : []));
      expect(won).toHaveLength(1);
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') await refusal(Promise.reject(outcome.reason), 'auth.flow_invalid');
      }
      expect((await store.users.byId(user.id))?.authVersion).toBe(user.authVersion + 1);
      expect((await logIn(`${NEW_PASSWORD} ${won[0]}`)).kind).toBe('session');
    });
  });
}
