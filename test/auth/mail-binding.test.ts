import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Auth, AuthSettings } from '../../src/auth/index.ts';
import type { Store, UserRecord } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { PASSWORD } from '../support/cheap-hash.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { bearer, openTestStore, signIn } from './harness.ts';
import { codeIn, type Mailbox, mailSettings, newOrigin, newPerson, openMailAuth, otherCode } from './mail-harness.ts';
import { refusal } from './refusal.ts';

type Session = Awaited<ReturnType<Auth['authenticatePanel']>>;

for (const dialect of RULE_DATABASES) {
  describe(`email addresses of signed-in users on ${dialect}`, () => {
    let store: Store;
    let stop: () => Promise<void>;
    let auth: Auth;
    let mailbox: Mailbox;
    let settings: AuthSettings;
    let user: UserRecord;
    let session: Session;

    beforeAll(async () => {
      ({ store, stop } = await openTestStore(dialect));
    });
    afterAll(() => stop());
    beforeEach(async () => {
      settings = mailSettings();
      ({ auth, mailbox } = openMailAuth(store, { settings: () => settings }));
      user = await addUser(store);
      session = await readSession(user);
    });

    const readSession = async (of: UserRecord): Promise<Session> =>
      auth.authenticatePanel(bearer(await signIn(auth, of, newOrigin())));
    const send = (email: string, as = session) => auth.mail.address.sendCode(as, { email, origin: newOrigin() });
    async function codeFor(email: string, as = session): Promise<string> {
      await send(email, as);
      return codeIn(await mailbox.next(email));
    }
    async function prove(as = session): Promise<string> {
      const request = { method: 'password', password: PASSWORD, scope: 'account.email', origin: newOrigin() } as const;
      return (await auth.proofs.prove(as, request)).proof_token;
    }
    const bind = async (email: string, code: string, as = session) =>
      auth.mail.address.bind(as, { email, code, proof: await prove(as) });
    const unbind = async (as = session) => auth.mail.address.unbind(as, { proof: await prove(as) });
    const readOwner = async (email: string) => (await store.identities.owner('email', email))?.userId;

    test('a right code binds the address; sessions continue', async () => {
      const { email } = newPerson();
      const code = await codeFor(email);
      expect(await bind(` ${email.toUpperCase()}`, code)).toEqual({ email });
      expect(await store.users.byId(user.id)).toMatchObject({ email, authVersion: user.authVersion });
      expect(await readOwner(email)).toBe(user.id);
      expect((await store.users.byNameOrAddress(email))?.id).toBe(user.id);
      await refusal(bind(email, code), 'auth.code_invalid');
    });

    test('another address replaces and frees the first, which is notified', async () => {
      const [first, second] = [newPerson().email, newPerson().email];
      await bind(first, await codeFor(first));
      await bind(second, await codeFor(second));
      expect(await readOwner(first)).toBeUndefined();
      expect(await readOwner(second)).toBe(user.id);
      const notice = await mailbox.next(first);
      expect(notice.subject).toContain('was changed');
      expect(notice.text).toContain(user.username);
      expect(notice.text).not.toContain(second);
    });

    test('binding one’s own address again changes nothing and sends no mail', async () => {
      const { email } = newPerson();
      await bind(email, await codeFor(email));
      await bind(email, await codeFor(email));
      const { email: last } = newPerson();
      await codeFor(last);
      expect(mailbox.mails.filter(({ to }) => to === email)).toHaveLength(2);
      expect(await readOwner(email)).toBe(user.id);
    });

    test('a stolen session: a request authenticated before a password change binds no address', async () => {
      const { email } = newPerson();
      const [code, proof] = [await codeFor(email), await prove()];
      expect(await store.users.setPassword(user.id, 'another-hash', user.authVersion)).toBe(true);
      await refusal(auth.mail.address.bind(session, { email, code, proof }), 'auth.changed_meanwhile');
      expect(await readOwner(email)).toBeUndefined();
      expect((await store.users.byId(user.id))?.email ?? null).toBeNull();
    });

    test('race: an address bound while another is removed is either shown and claimed, or neither', async () => {
      for (let round = 0; round < 5; round += 1) {
        const [first, second] = [newPerson().email, newPerson().email];
        const owner = await addUser(store);
        const as = await readSession(owner);
        await bind(first, await codeFor(first, as), as);
        const code = await codeFor(second, as);
        await Promise.all([bind(second, code, as), unbind(as)]);
        const shown = (await store.users.byId(owner.id))?.email ?? null;
        expect(await readOwner(first)).toBeUndefined();
        expect(await readOwner(second)).toBe(shown === second ? owner.id : undefined);
      }
    });

    test('enumeration: a taken address is revealed only after a right code, and stays with its owner', async () => {
      const { email } = newPerson();
      const owner = await addUser(store, { email });
      await store.identities.claim({ provider: 'email', subject: email, userId: owner.id, createdAt: 1 });
      const mine = newPerson().email;
      await bind(mine, await codeFor(mine));
      const code = await codeFor(email);
      await refusal(bind(email, otherCode(code)), 'auth.code_invalid');
      await refusal(bind(email, code), 'auth.identity_taken');
      expect(await readOwner(email)).toBe(owner.id);
      expect(await readOwner(mine)).toBe(user.id);
      expect((await store.users.byId(user.id))?.email).toBe(mine);
    });

    test('foreign session: a code is valid only for the user who requested it', async () => {
      const { email } = newPerson();
      const code = await codeFor(email);
      const stranger = await readSession(await addUser(store));
      await refusal(bind(email, code, stranger), 'auth.code_invalid');
      // Nor are that user's tries counted.
      for (let i = 0; i < 10; i += 1) await refusal(bind(email, otherCode(code), stranger), 'auth.code_invalid');
      await bind(email, code);
    });

    test('a registration code binds no address, nor the reverse', async () => {
      const { email, username } = newPerson();
      await auth.registration.sendVerification({ email, origin: newOrigin() });
      await refusal(bind(email, codeIn(await mailbox.next(email))), 'auth.code_invalid');
      const verificationCode = await codeFor(email);
      const registration = { username, password: 'a good password', email, verificationCode, origin: newOrigin() };
      await refusal(auth.registration.register(registration), 'auth.code_invalid');
    });

    test('guessing: after five wrong codes the right one is invalid', async () => {
      const { email } = newPerson();
      const code = await codeFor(email);
      for (let i = 0; i < 5; i += 1) await refusal(bind(email, otherCode(code)), 'auth.code_invalid');
      await refusal(bind(email, code), 'auth.code_invalid');
    });

    test('a stolen session: without a proof of the right scope no address is bound or removed', async () => {
      const { email } = newPerson();
      await bind(email, await codeFor(email));
      const { email: theirs } = newPerson();
      const code = await codeFor(theirs);
      const byPassword = { method: 'password', password: PASSWORD, origin: newOrigin() } as const;
      const foreign = await auth.proofs.prove(session, { ...byPassword, scope: 'account.delete' });
      for (const [proof, verdict] of [
        [undefined, 'security_proof.required'],
        ['made up', 'security_proof.invalid'],
        [foreign.proof_token, 'security_proof.scope_mismatch'],
        [await prove(await readSession(user)), 'security_proof.invalid'],
      ] as const) {
        // More tries than a code allows: the code is not even checked.
        for (let i = 0; i < 6; i += 1) {
          await refusal(auth.mail.address.bind(session, { email: theirs, code, proof }), verdict);
        }
        await refusal(auth.mail.address.unbind(session, { proof }), verdict);
      }
      expect(await readOwner(email)).toBe(user.id);
      await bind(theirs, code);
      expect(await readOwner(theirs)).toBe(user.id);
    });

    test('an account with only a provider cannot confirm, and binds an address with its code alone', async () => {
      const guest = await addUser(store, { passwordHash: null });
      const identity = { provider: 'github', subject: `guest-${guest.id}`, userId: guest.id, createdAt: 1 };
      await store.identities.claim(identity);
      const as: Session = { kind: 'session', user: guest, sid: 'sid-of-guest', sessionVersion: 1 };
      const { email } = newPerson();
      const code = await codeFor(email, as);
      await auth.mail.address.bind(as, { email, code, proof: undefined });
      expect(await readOwner(email)).toBe(guest.id);
    });

    test('a personal access token binds and unbinds nothing', async () => {
      const pat = { kind: 'pat', user, tokenHash: '' } as const;
      const { email } = newPerson();
      await refusal(send(email, pat), 'auth.session_required');
      const proof = await prove();
      await refusal(auth.mail.address.bind(pat, { email, code: '12345678', proof }), 'auth.session_required');
      await refusal(auth.mail.address.unbind(pat, { proof }), 'auth.session_required');
    });

    test('the address rules apply here too', async () => {
      settings = mailSettings({ emails: { domains: ['example.com'], refuseAliases: true } });
      await refusal(send(newPerson().email), 'auth.validation_failed');
      await refusal(send('a.b@example.com'), 'auth.validation_failed');
      settings = mailSettings({ mail: undefined });
      await refusal(send('ab@example.com'), 'auth.method_disabled');
    });

    test('the address can be removed, and is notified', async () => {
      await refusal(unbind(), 'auth.binding_not_found');
      const { email } = newPerson();
      await bind(email, await codeFor(email));
      await unbind();
      expect(await readOwner(email)).toBeUndefined();
      expect((await store.users.byId(user.id))?.email).toBeNull();
      expect((await mailbox.next(email)).text).toContain('removed from your account');
    });

    test('the last way to sign in cannot be removed', async () => {
      const { email } = newPerson();
      await bind(email, await codeFor(email));
      settings = mailSettings({ passwordSignIn: false });
      await refusal(unbind(), 'auth.last_way_in');
      expect(await readOwner(email)).toBe(user.id);
    });

    test('50 users bind one address at once: one owns it', async () => {
      const { email } = newPerson();
      const people = await Promise.all(
        Array.from({ length: 50 }, async (_, i) => {
          const added = await addUser(store, { username: newPerson().username });
          const principal: Session = { kind: 'session', user: added, sid: `sid-${i}`, sessionVersion: 1 };
          // Each on its own node: one node sends at most five emails to a mailbox.
          const node = openMailAuth(store, { settings: () => settings });
          await node.auth.mail.address.sendCode(principal, { email, origin: newOrigin() });
          return { session: principal, code: codeIn(await node.mailbox.next(email)), id: added.id };
        }),
      );
      const outcomes = await Promise.allSettled(people.map(({ session: as, code }) => bind(email, code, as)));
      const won = outcomes.flatMap(({ status }, i) => (status === 'fulfilled' ? [people[i]?.id] : []));
      expect(won).toHaveLength(1);
      expect(await readOwner(email)).toBe(won[0] ?? 0);
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') await refusal(Promise.reject(outcome.reason), 'auth.identity_taken');
      }
      const shown = await store.users.search({ keyword: email }, { page: 1, pageSize: 10 });
      expect(shown.items.map(({ id }) => id)).toEqual(won as number[]);
    });

    test('replay: 50 concurrent uses of one code: one binds', async () => {
      const { email } = newPerson();
      const code = await codeFor(email);
      const outcomes = await Promise.allSettled(Array.from({ length: 50 }, () => bind(email, code)));
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    });
  });
}
