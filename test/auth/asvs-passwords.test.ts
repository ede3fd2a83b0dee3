/**
 * OWASP ASVS 5.0, chapter 6: passwords and guessing. Each test name begins with the id of its
 * requirement.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Auth, PanelPrincipal } from '../../src/auth/index.ts';
import type { Store, UserRecord } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { PASSWORD } from '../support/cheap-hash.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { bearer, ORIGIN, openAuth, openTestStore, originFor, refreshWith, signIn } from './harness.ts';
import { refusal } from './refusal.ts';
import { createTestClock, type TestClock } from './test-clock.ts';

const NEW_PASSWORD = 'another good password';

for (const dialect of RULE_DATABASES) {
  describe(`passwords on ${dialect}`, () => {
    let store: Store;
    let stop: () => Promise<void>;
    let clock: TestClock;
    let auth: Auth;
    let user: UserRecord;

    beforeAll(async () => {
      ({ store, stop } = await openTestStore(dialect));
    });
    afterAll(() => stop());
    beforeEach(async () => {
      clock = createTestClock();
      auth = openAuth(store, { clock });
      user = await addUser(store);
    });

    const logIn = (password: string, username = user.username, ip = ORIGIN.ip) =>
      auth.passwords.signIn({ username, password, origin: originFor(ip) });
    const signedIn = async (): Promise<PanelPrincipal> => auth.authenticatePanel(bearer(await signIn(auth, user)));
    const change = (principal: PanelPrincipal, currentPassword: string, newPassword: string) =>
      auth.passwords.change(principal, { currentPassword, newPassword, origin: ORIGIN });
    /** Sets a password and signs in with it. */
    const takes = async (password: string) => {
      await auth.passwords.reset({ username: user.username, password, resetFactors: false });
      expect((await logIn(password)).kind).toBe('session');
    };

    /** Every way to set a password; all must refuse it. */
    const expectRefused = async (password: string, rule: RegExp, named = user) => {
      const principal = await auth.authenticatePanel(bearer(await signIn(auth, named)));
      const ways = [
        () => auth.passwords.change(principal, { currentPassword: PASSWORD, newPassword: password, origin: ORIGIN }),
        () => auth.passwords.reset({ username: named.username, password, resetFactors: false }),
        () => auth.setup.createRoot({ username: named.username, password }),
      ];
      for (const way of ways) {
        const error = await refusal(way(), 'auth.validation_failed');
        expect(error).toMatchObject({ param: 'password', details: { field: 'password' } });
        expect(JSON.stringify(error.details)).toMatch(rule);
      }
      expect((await store.users.byId(named.id))?.authVersion).toBe(named.authVersion);
    };

    test('ASVS 6.2.1: a password has at least eight characters of any kind', async () => {
      await expectRefused('seven77', /8 to 128/);
      await expectRefused('', /8 to 128/);
      // Eight code points as a decomposing keyboard sends them, four characters.
      await expectRefused('éàüö'.normalize('NFD'), /8 to 128/);
      await takes('éàüöêâîô');
    });

    test('ASVS 6.2.2, 6.2.3: users change their own password, with the current one', async () => {
      await refusal(change(await signedIn(), 'not the password', NEW_PASSWORD), 'auth.password_invalid');
      await refusal(change(await signedIn(), '', NEW_PASSWORD), 'auth.password_invalid');
      await change(await signedIn(), PASSWORD, NEW_PASSWORD);
      expect((await logIn(NEW_PASSWORD)).kind).toBe('session');
      await refusal(logIn(PASSWORD), 'auth.invalid_credentials');
    });

    test('offline guessing: a password is stored as argon2id of 19 MiB and two passes', async () => {
      auth = openAuth(store, { clock, costlyPasswords: true });
      await change(await signedIn(), PASSWORD, NEW_PASSWORD);
      expect((await store.users.byId(user.id))?.passwordHash).toStartWith('$argon2id$v=19$m=19456,t=2,p=1$');
    });

    for (const common of [
      'password',
      'Password1',
      'PASSW0RD',
      '12345678',
      '1234567890',
      'qwertyuiop',
      '1qaz2wsx',
      'iloveyou',
      'baseball',
      'superman',
      'trustno1',
      'football1',
      'letmein1',
      'admin123',
    ]) {
      test(`ASVS 6.2.4: a common password is refused: ${common}`, () => expectRefused(common, /most common passwords/));
    }

    test('ASVS 6.2.4: one repeated character is refused', async () => {
      for (const password of ['zzzzzzzz', '        ', 'ÄäÄäÄäÄäÄä', '🔑'.repeat(40)]) {
        await expectRefused(password, /one character repeated/);
      }
    });

    test('ASVS 6.2.4: the username is refused in any letter case', async () => {
      const named = await addUser(store, { username: `Lighthouse.${dialect}` });
      for (const password of [named.username, named.username.toUpperCase(), named.username.toLowerCase()]) {
        await expectRefused(password, /username/, named);
      }
    });

    test('ASVS 6.2.5: no rule requires kinds of characters', async () => {
      for (const password of ['onlylowercaseletters', '83750196442', '!#%&/()=', ' spaces around ', 'ÑÅßøπ雪☃🔑']) {
        await takes(password);
      }
    });

    test('ASVS 6.2.8: a password is compared as typed: not truncated, trimmed or in another letter case', async () => {
      const long = `${'ab'.repeat(63)}XY`;
      await takes(long);
      for (const [i, near] of [
        long.slice(0, -1),
        `${long.slice(0, -1)}y`,
        long.toLowerCase(),
        ` ${long}`,
        `${long} `,
      ].entries()) {
        await refusal(logIn(near, user.username, `198.51.100.${i + 1}`), 'auth.invalid_credentials');
      }
      await takes(' spaces around ');
      await refusal(logIn('spaces around'), 'auth.invalid_credentials');
    });

    test('ASVS 6.2.9: 64 characters and more are allowed', async () => {
      await takes('correct horse battery staple '.repeat(3).slice(0, 64));
      await takes('abcdefgh'.repeat(16));
    });

    test('ASVS 6.1.1, 6.3.1: guessing is blocked after five failures and locks nobody else out', async () => {
      const other = await signIn(auth, user, originFor('198.51.100.9'));
      for (let i = 0; i < 5; i += 1) await refusal(logIn(`guess ${i}`), 'auth.invalid_credentials');
      const stopped = await refusal(logIn(PASSWORD), 'auth.too_many_attempts');
      expect(stopped.retryAfterSeconds).toBeGreaterThan(0);
      expect(stopped.retryAfterSeconds).toBeLessThanOrEqual(15 * 60);
      // The owner can sign in from another address, and users who share the attacker's address can
      // refresh.
      expect((await logIn(PASSWORD, user.username, '198.51.100.10')).kind).toBe('session');
      for (let i = 0; i < 20; i += 1) await refreshWith(auth, other.refreshToken);
    });

    test('ASVS 6.3.8: neither answers nor limits reveal whether an account exists', async () => {
      const disabled = await addUser(store, { status: 2 });
      const without = await addUser(store, { passwordHash: null });
      const names = [user.username, disabled.username, without.username, `nobody-${dialect}`, `nobody@${dialect}.test`];
      const answers = await Promise.all(
        names.map(async (name, i) => {
          const ip = `192.0.2.${i + 1}`;
          const seen: string[] = [];
          for (let attempt = 0; attempt < 6; attempt += 1) {
            const error = await logIn(name === disabled.username ? PASSWORD : 'wrong', name, ip).then(
              () => 'signed in',
              (refused: { code: string; message: string; details?: unknown }) =>
                JSON.stringify([refused.code, refused.message, refused.details]),
            );
            seen.push(error);
          }
          return seen.join('\n');
        }),
      );
      expect(new Set(answers).size).toBe(1);
      expect(answers[0]).toContain('auth.too_many_attempts');
    });
  });
}

test('ASVS 6.3.2: a new database has no account, and no known name and password signs in', async () => {
  for (const dialect of RULE_DATABASES) {
    const { store, stop } = await openTestStore(dialect);
    try {
      const auth = openAuth(store);
      expect((await store.users.search({}, { page: 1, pageSize: 10 })).total).toBe(0);
      for (const [i, [username, password]] of [
        ['root', '123456'],
        ['root', 'root'],
        ['admin', 'admin'],
        ['admin', 'password'],
        ['taskgate', 'taskgate'],
      ].entries()) {
        const origin = originFor(`192.0.2.${i + 1}`);
        const attempt = auth.passwords.signIn({ username: username ?? '', password: password ?? '', origin });
        await refusal(attempt, 'auth.invalid_credentials');
      }
      // Without the link printed on the terminal, set-up creates none either.
      await refusal(
        auth.setup.complete({ token: '', username: 'root', password: 'a good root password' }),
        'auth.setup_token_invalid',
      );
    } finally {
      await stop();
    }
  }
});
