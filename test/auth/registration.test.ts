import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Auth, AuthSettings } from '../../src/auth/index.ts';
import { sha256Hex } from '../../src/kernel/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { PASSWORD } from '../support/cheap-hash.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { openTestStore, testConfig } from './harness.ts';
import { codeIn, type Mailbox, mailSettings, newOrigin, newPerson, openMailAuth, otherCode } from './mail-harness.ts';
import { refusal } from './refusal.ts';
import { createTestClock } from './test-clock.ts';

for (const dialect of RULE_DATABASES) {
  describe(`registration on ${dialect}`, () => {
    let store: Store;
    let stop: () => Promise<void>;
    let auth: Auth;
    let mailbox: Mailbox;
    let settings: AuthSettings;

    beforeAll(async () => {
      ({ store, stop } = await openTestStore(dialect));
    });
    afterAll(() => stop());
    beforeEach(() => {
      settings = mailSettings();
      ({ auth, mailbox } = openMailAuth(store, { settings: () => settings }));
    });

    const open = (change: Partial<AuthSettings['registration']> = {}) => {
      settings = mailSettings({
        registration: { ...settings.registration, verifyEmail: false, ...change },
      });
    };
    const register = (username: string, change: object = {}) =>
      auth.registration.register({ username, password: PASSWORD, origin: newOrigin(), ...change });
    const ask = (email: string, acceptLanguage?: string) =>
      auth.registration.sendVerification({ email, origin: newOrigin(), ...(acceptLanguage ? { acceptLanguage } : {}) });
    async function codeFor(email: string): Promise<string> {
      await ask(email);
      return codeIn(await mailbox.next(email));
    }
    const signIn = (username: string) => auth.passwords.signIn({ username, password: PASSWORD, origin: newOrigin() });

    test('a name and a password create an account that can sign in', async () => {
      open();
      const { username } = newPerson();
      const { userId } = await register(username, { acceptLanguage: 'fr, zh-CN;q=0.9' });
      expect(await store.users.byId(userId)).toMatchObject({
        username,
        displayName: username,
        role: 1,
        status: 1,
        email: null,
        group: 'default',
        language: 'zh',
        quota: 0,
      });
      expect((await signIn(username)).kind).toBe('session');
    });

    test('an account with a confirmed address owns it and can sign in with it', async () => {
      const { email, username } = newPerson();
      const code = await codeFor(email);
      expect(code).toHaveLength(8);
      const { userId } = await register(username, {
        email: `  ${email.toUpperCase()} `,
        verificationCode: ` ${code} `,
      });
      expect((await store.users.byId(userId))?.email).toBe(email);
      expect((await store.identities.owner('email', email))?.userId).toBe(userId);
      expect((await signIn(email)).kind).toBe('session');
      // Used once: a second account with the first one's code is refused before anything else
      // is looked at.
      await refusal(register(newPerson().username, { email, verificationCode: code }), 'auth.code_invalid');
    });

    const closed: [string, Partial<AuthSettings['registration']>][] = [
      ['registration is off', { enabled: false }],
      ['registration with a password is off', { byPassword: false }],
    ];
    for (const [what, change] of closed) {
      test(`is refused while ${what}`, async () => {
        open(change);
        await refusal(register(newPerson().username), 'auth.registration_disabled');
      });
    }

    test('an unconfirmed address is ignored', async () => {
      open();
      const { email, username } = newPerson();
      const { userId } = await register(username, { email, verificationCode: '12345678' });
      expect((await store.users.byId(userId))?.email).toBeNull();
      expect(await store.identities.owner('email', email)).toBeUndefined();
    });

    test('says which field is wrong', async () => {
      const { email, username } = newPerson();
      const wrong: [string, object][] = [
        ['username', { username: 'no spaces' }],
        ['password', { password: 'short' }],
        ['password', { password: username }],
        ['password', { password: 'password1' }],
        ['email', {}],
        ['email', { email: 'nobody' }],
        ['verification_code', { email }],
      ];
      for (const [param, change] of wrong) {
        expect((await refusal(register(username, change), 'auth.validation_failed')).param).toBe(param);
      }
    });

    test('a name taken in any letter case is refused, and the code stays valid', async () => {
      const taken = await addUser(store);
      const { email, username } = newPerson();
      const code = await codeFor(email);
      const confirmed = { email, verificationCode: code };
      await refusal(register(taken.username.toUpperCase(), confirmed), 'auth.name_taken');
      expect((await store.identities.owner('email', email))?.userId).toBeUndefined();
      await register(username, confirmed);
    });

    test('guessing: after five wrong codes the right one is invalid', async () => {
      const { email, username } = newPerson();
      const code = await codeFor(email);
      for (let tries = 0; tries < 5; tries += 1) {
        await refusal(register(username, { email, verificationCode: otherCode(code) }), 'auth.code_invalid');
      }
      await refusal(register(username, { email, verificationCode: code }), 'auth.code_invalid');
      // A new code works like the first.
      await register(username, { email, verificationCode: await codeFor(email) });
    });

    test('a code is valid for its address alone, and a newer one replaces it', async () => {
      const [one, two] = [newPerson(), newPerson()];
      const [first, other] = [await codeFor(one.email), await codeFor(two.email)];
      await refusal(register(one.username, { email: one.email, verificationCode: other }), 'auth.code_invalid');
      const second = await codeFor(one.email);
      if (first !== second) {
        await refusal(register(one.username, { email: one.email, verificationCode: first }), 'auth.code_invalid');
      }
      await register(one.username, { email: one.email, verificationCode: second });
    });

    test('a code expires after ten minutes', async () => {
      const clock = createTestClock();
      ({ auth, mailbox } = openMailAuth(store, { settings: () => settings, clock }));
      const [early, late] = [newPerson(), newPerson()];
      const codes = [await codeFor(early.email), await codeFor(late.email)];
      clock.advance(599);
      await register(early.username, { email: early.email, verificationCode: codes[0] });
      clock.advance(1);
      await refusal(register(late.username, { email: late.email, verificationCode: codes[1] }), 'auth.code_invalid');
    });

    test('a reset link is not accepted as a code, nor the reverse', async () => {
      const user = await addUser(store, newPerson());
      await store.identities.claim({ provider: 'email', subject: user.email ?? '', userId: user.id, createdAt: 1 });
      await auth.passwords.byMail.request({ email: user.email ?? '', origin: newOrigin() });
      const token = /token=([\w-]+)/.exec((await mailbox.next(user.email ?? '')).text)?.[1] ?? '';
      const asCode = { email: user.email ?? '', verificationCode: token };
      await refusal(register(newPerson().username, asCode), 'auth.code_invalid');
      const { email } = newPerson();
      const reset = { email, token: await codeFor(email), password: 'another good password', origin: newOrigin() };
      await refusal(auth.passwords.byMail.finish(reset), 'auth.flow_invalid');
    });

    test('replay: 50 concurrent registrations with one code: one gets the address', async () => {
      const { email, username } = newPerson();
      const code = await codeFor(email);
      const second = openMailAuth(store, { settings: () => settings, mailbox }).auth;
      const outcomes = await Promise.allSettled(
        Array.from({ length: 50 }, (_, i) =>
          (i % 2 ? auth : second).registration.register({
            username: `${username}-${i}`,
            password: PASSWORD,
            email,
            verificationCode: code,
            origin: newOrigin(),
          }),
        ),
      );
      const won = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
      expect(won).toHaveLength(1);
      expect((await store.identities.owner('email', email))?.userId).toBe(won[0]?.userId);
      expect((await store.users.search({ keyword: `${username}-` }, { page: 1, pageSize: 100 })).total).toBe(1);
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') await refusal(Promise.reject(outcome.reason), 'auth.code_invalid');
      }
    });

    test('20 concurrent registrations of one name: one gets it', async () => {
      open({ quotaForNewUser: 70 });
      const { username } = newPerson();
      const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => register(username)));
      const won = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
      expect(won).toHaveLength(1);
      expect((await store.users.byNameOrAddress(username))?.quota).toBe(70);
    });

    describe('quota', () => {
      const quotas = { quotaForNewUser: 500, quotaForInviter: 30, quotaForInvitee: 20 };
      const lines = async (userId: number) =>
        (await store.ledger.list(userId, { page: 1, pageSize: 10 })).items.map(({ kind, amount }) => ({
          kind,
          amount,
        }));

      test('a new account starts with its granted quota', async () => {
        open(quotas);
        const { userId } = await register(newPerson().username);
        expect(await lines(userId)).toEqual([{ kind: 'grant', amount: 500 }]);
        expect((await store.users.byId(userId))?.quota).toBe(500);
      });

      test('the invited and the inviting user both get their quota', async () => {
        open(quotas);
        const inviter = await addUser(store);
        const affCode = (await store.users.ensureAffCode(inviter.id, sha256Hex(inviter.username).slice(0, 8))) ?? '';
        const { userId } = await register(newPerson().username, { affCode });
        expect((await store.users.byId(userId))?.quota).toBe(520);
        expect((await store.users.byId(inviter.id))?.quota).toBe(30);
        expect((await store.users.adminById(userId))?.inviterId).toBe(inviter.id);
        expect((await store.ledger.imbalances(10)).wallets).toEqual([]);
      });

      test('unlimited free quota: an address gives quota once, not again after its account was deleted', async () => {
        open({ ...quotas, verifyEmail: true });
        const inviter = await addUser(store);
        const affCode = (await store.users.ensureAffCode(inviter.id, sha256Hex(inviter.username).slice(0, 8))) ?? '';
        const { email } = newPerson();
        const balances: number[] = [];
        for (let round = 0; round < 3; round += 1) {
          // The last time after CRYPTO_SECRET was changed.
          if (round === 2) {
            const cryptoSecrets = ['a newer crypto secret, long enough', ...testConfig().cryptoSecrets] as const;
            ({ auth, mailbox } = openMailAuth(store, { settings: () => settings, config: { cryptoSecrets } }));
          }
          const verificationCode = await codeFor(email);
          const { userId } = await register(newPerson().username, { email, verificationCode, affCode });
          const user = await store.users.byId(userId);
          balances.push(user?.quota ?? -1);
          await store.transaction(async (tx) => {
            await tx.users.softDelete(userId, user?.authVersion ?? 0, 1);
            await tx.identities.releaseAll(userId);
          });
        }
        expect(balances).toEqual([520, 0, 0]);
        expect((await store.users.byId(inviter.id))?.quota).toBe(30);
      });

      test('an unknown code, or a disabled user’s, is ignored', async () => {
        open(quotas);
        const inviter = await addUser(store, { status: 2 });
        const affCode = (await store.users.ensureAffCode(inviter.id, sha256Hex(inviter.username).slice(0, 8))) ?? '';
        for (const code of [affCode, 'nobodys', '']) {
          const { userId } = await register(newPerson().username, { affCode: code });
          expect((await store.users.byId(userId))?.quota).toBe(500);
          expect((await store.users.adminById(userId))?.inviterId).toBe(0);
        }
        expect((await store.users.byId(inviter.id))?.quota).toBe(0);
      });

      test('without quotas the ledger stays empty', async () => {
        open();
        const { userId } = await register(newPerson().username);
        expect(await lines(userId)).toEqual([]);
      });
    });

    test('concurrent requests for an affiliate code create one', async () => {
      const user = await addUser(store);
      const principal = { kind: 'pat', user, tokenHash: '' } as const;
      const codes = await Promise.all(Array.from({ length: 10 }, () => auth.registration.affiliateCode(principal)));
      expect(new Set(codes).size).toBe(1);
      expect(codes[0]).toMatch(/^[A-Za-z0-9]{8}$/);
      expect((await store.users.byAffCode(codes[0] ?? ''))?.id).toBe(user.id);
    });

    describe('the request for a code', () => {
      test('is refused if addresses are not confirmed or registration is closed', async () => {
        open();
        await refusal(ask(newPerson().email), 'auth.method_disabled');
        open({ enabled: false });
        await refusal(ask(newPerson().email), 'auth.registration_disabled');
      });

      test('follows the address rules', async () => {
        settings = mailSettings({ emails: { domains: ['example.net', 'example.com'], refuseAliases: true } });
        for (const email of ['me@example.net', 'ME@EXAMPLE.COM']) await ask(email);
        for (const email of [
          'me@example.org',
          'me@sub.example.net',
          'me@example.net.evil.org',
          'm.e@example.net',
          'me+tag@example.net',
          'me@example.net@example.org',
          'me',
          '@example.net',
          'me@',
          'me@localhost',
          'me@exa_mple.net',
          'm e@example.net',
          'me@example.net\r\nBcc: you@example.net',
          'me@example.net,you@example.net',
          'Me <me@example.net>',
          '"me"@example.net',
          'me@[127.0.0.1]',
          'mé@example.net',
          `${'m'.repeat(65)}@example.net`,
          `me@${'e'.repeat(120)}.example.net`,
        ]) {
          expect((await refusal(ask(email), 'auth.validation_failed')).param).toBe('email');
        }
      });

      test('is accepted twice in 30 seconds from one address', async () => {
        const origin = newOrigin();
        const from = () => auth.registration.sendVerification({ email: newPerson().email, origin });
        await from();
        await from();
        expect((await refusal(from(), 'auth.rate_limited')).retryAfterSeconds).toBeLessThanOrEqual(30);
      });

      test('flood: a mailbox gets five emails in ten minutes from all requesters, and the last code stays valid', async () => {
        const { email, username } = newPerson();
        let last = '';
        for (let i = 0; i < 5; i += 1) last = await codeFor(email);
        for (let i = 0; i < 5; i += 1) await ask(email);
        await codeFor(newPerson().email);
        expect(mailbox.mails.filter(({ to }) => to === email)).toHaveLength(5);
        await register(username, { email, verificationCode: last });
      });

      test('a taken address is revealed by email only', async () => {
        const { email } = newPerson();
        const user = await addUser(store, { email });
        await store.identities.claim({ provider: 'email', subject: email, userId: user.id, createdAt: 1 });
        await ask(email, 'zh-CN,zh;q=0.9');
        const mail = await mailbox.next(email);
        expect(codeIn(mail)).toBe('');
        expect(mail.text).toContain('已有账号');
        expect(mail.text).toContain('https://gate.example.org/forgot-password');
        // The error is that of a wrong code.
        await refusal(register(newPerson().username, { email, verificationCode: '12345678' }), 'auth.code_invalid');
      });
    });
  });
}
