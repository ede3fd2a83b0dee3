import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Auth } from '../../src/auth/index.ts';
import type { Logger } from '../../src/kernel/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { PASSWORD } from '../support/cheap-hash.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import {
  bearer,
  ORIGIN,
  openAuth,
  openTestStore,
  originFor,
  overriding,
  refreshWith,
  signIn,
  testSettings,
} from './harness.ts';
import { refusal } from './refusal.ts';

const NEW_PASSWORD = 'another good password';

for (const dialect of RULE_DATABASES) {
  describe(`passwords on ${dialect}`, () => {
    let store: Store;
    let stop: () => Promise<void>;

    beforeAll(async () => {
      ({ store, stop } = await openTestStore(dialect));
    });
    afterAll(() => stop());

    const logIn = (
      auth: Auth,
      { username, password, ip = ORIGIN.ip }: { username: string; password: string; ip?: string },
    ) => auth.passwords.signIn({ username, password, origin: originFor(ip) });

    describe('login', () => {
      test('by name in any case, with space around it, or by e-mail address', async () => {
        const auth = openAuth(store);
        const user = await addUser(store, { username: `Mixed.Case-${dialect}`, email: `${dialect}@example.org` });
        for (const login of [
          user.username,
          user.username.toUpperCase(),
          ` ${user.username} `,
          `${dialect}@example.org`,
        ]) {
          const result = await logIn(auth, { username: login, password: PASSWORD });
          expect(result.kind === 'session' && result.bundle.user.id).toBe(user.id);
        }
      });

      test('while passwords are off, the right one is refused like a wrong one', async () => {
        const auth = openAuth(store, { settings: () => ({ ...testSettings(), passwordSignIn: false }) });
        const user = await addUser(store);
        for (const password of [PASSWORD, 'wrong password']) {
          await refusal(logIn(auth, { username: user.username, password }), 'auth.method_disabled');
        }
      });

      test('enumeration: unknown user, wrong password, disabled and passwordless accounts answer alike', async () => {
        const auth = openAuth(store);
        const user = await addUser(store);
        const disabled = await addUser(store, { status: 2 });
        const passwordless = await addUser(store, { passwordHash: null });
        const errors = [
          await refusal(logIn(auth, { username: 'nobody-at-all', password: PASSWORD }), 'auth.invalid_credentials'),
          await refusal(
            logIn(auth, { username: user.username, password: 'wrong password' }),
            'auth.invalid_credentials',
          ),
          await refusal(logIn(auth, { username: disabled.username, password: PASSWORD }), 'auth.invalid_credentials'),
          await refusal(
            logIn(auth, { username: disabled.username, password: 'wrong password' }),
            'auth.invalid_credentials',
          ),
          await refusal(
            logIn(auth, { username: passwordless.username, password: PASSWORD }),
            'auth.invalid_credentials',
          ),
        ];
        const shapes = errors.map(({ kind, message, details, param }) =>
          JSON.stringify({ kind, message, details, param }),
        );
        expect(new Set(shapes).size).toBe(1);
      });

      test('a malformed stored hash answers like a wrong password in body and time, and the log names its owner', async () => {
        const lines: string[] = [];
        const auth = openAuth(store, { logger: recordingLogger(lines), costlyPasswords: true });
        for (const passwordHash of ['not a hash', '$argon2id$v=19$m=19456,t=2,p=1$abc', '$2a$', '']) {
          const user = await addUser(store, { passwordHash });
          const started = performance.now();
          await refusal(logIn(auth, { username: user.username, password: PASSWORD }), 'auth.invalid_credentials');
          // Two passes over 19 MiB take longer than that anywhere.
          expect(performance.now() - started).toBeGreaterThan(4);
          if (passwordHash !== '') expect(lines.at(-1)).toContain(`"userId":${user.id}`);
        }
        expect(lines.join()).not.toContain('m=19456');
      });

      test('password guessing: five failures block the address, for unknown accounts alike', async () => {
        const auth = openAuth(store);
        const user = await addUser(store);
        for (const login of [user.username, 'nobody-at-all']) {
          for (let i = 0; i < 5; i += 1)
            await refusal(logIn(auth, { username: login, password: `wrong ${i}` }), 'auth.invalid_credentials');
          const error = await refusal(logIn(auth, { username: login, password: PASSWORD }), 'auth.too_many_attempts');
          expect(error.kind).toBe('rate_limited');
          expect(error.retryAfterSeconds).toBeWithin(800, 901);
        }
        await refusal(
          logIn(auth, { username: user.username.toUpperCase(), password: PASSWORD }),
          'auth.too_many_attempts',
        );
        expect((await logIn(auth, { username: user.username, password: PASSWORD, ip: '198.51.100.1' })).kind).toBe(
          'session',
        );
      });

      test('empty fields are named; an overlong password is simply wrong', async () => {
        const auth = openAuth(store);
        expect(
          (await refusal(logIn(auth, { username: ' ', password: PASSWORD }), 'auth.validation_failed')).param,
        ).toBe('username');
        expect((await refusal(logIn(auth, { username: 'x', password: '' }), 'auth.validation_failed')).param).toBe(
          'password',
        );
        await refusal(
          logIn(auth, { username: (await addUser(store)).username, password: 'x'.repeat(100_000) }),
          'auth.invalid_credentials',
        );
        await refusal(logIn(auth, { username: `x' or 1=1 --\0`, password: PASSWORD }), 'auth.invalid_credentials');
      });

      test('a user whose password changes between check and issuance gets no session', async () => {
        const user = await addUser(store);
        const racing = overriding(store, {
          async transaction(work) {
            await store.users.setPassword(user.id, user.passwordHash ?? '', user.authVersion);
            return store.transaction(work);
          },
        });
        await refusal(logIn(openAuth(racing), { username: user.username, password: PASSWORD }), 'auth.session_revoked');
        expect(await store.sessions.countIssued(user.id, 0)).toBe(0);
      });

      test('neither passwords nor tokens reach the log', async () => {
        const lines: string[] = [];
        const logger = recordingLogger(lines);
        const auth = openAuth(store, { logger });
        const user = await addUser(store);
        await refusal(
          logIn(auth, { username: user.username, password: 'a wrong password' }),
          'auth.invalid_credentials',
        );
        const signedIn = await signIn(auth, user);
        const refreshed = await refreshWith(auth, signedIn.refreshToken);
        const principal = await auth.authenticatePanel(bearer(refreshed));
        await auth.passwords.change(principal, {
          currentPassword: PASSWORD,
          newPassword: NEW_PASSWORD,
          origin: ORIGIN,
        });
        expect(lines.length).toBeGreaterThan(0);
        const log = lines.join('\n');
        const secrets = [PASSWORD, NEW_PASSWORD, 'a wrong password', signedIn.refreshToken, refreshed.refreshToken];
        for (const secret of [...secrets, signedIn.bundle.access_token, refreshed.bundle.access_token]) {
          expect(log).not.toContain(secret);
          expect(log).not.toContain(secret.split('.').at(-1) ?? secret);
        }
      });
    });

    describe('change', () => {
      const change = (
        auth: Auth,
        authorization: string,
        {
          currentPassword = PASSWORD,
          newPassword = NEW_PASSWORD,
        }: { currentPassword?: string; newPassword?: string } = {},
      ) =>
        auth
          .authenticatePanel(authorization)
          .then((principal) => auth.passwords.change(principal, { currentPassword, newPassword, origin: ORIGIN }));

      test('keeps the current session and its refresh token, ends the others, invalidates old access tokens at once', async () => {
        const auth = openAuth(store);
        const user = await addUser(store);
        const [current, other] = [await signIn(auth, user), await signIn(auth, user)];
        const bundle = await change(auth, bearer(current));
        expect(Object.keys(bundle).sort()).toEqual(['access_expires_at', 'access_token', 'session', 'token_type']);
        expect(bundle.session.sid).toBe(current.bundle.session.sid);
        await refusal(auth.authenticatePanel(bearer(current)), 'auth.session_revoked');
        await refusal(auth.authenticatePanel(bearer(other)), 'auth.session_revoked');
        await refusal(refreshWith(auth, other.refreshToken), 'auth.session_revoked');
        const principal = await auth.authenticatePanel(`Bearer ${bundle.access_token}`);
        expect(principal).toMatchObject({ kind: 'session', sessionVersion: 2 });
        expect(principal.user.authVersion).toBe(user.authVersion + 1);
        await refreshWith(auth, current.refreshToken);
        await refusal(logIn(auth, { username: user.username, password: PASSWORD }), 'auth.invalid_credentials');
        expect((await logIn(auth, { username: user.username, password: NEW_PASSWORD })).kind).toBe('session');
      });

      test('a wrong current password does not answer 401 and changes nothing; guessing is limited', async () => {
        const auth = openAuth(store);
        const user = await addUser(store);
        const authorization = bearer(await signIn(auth, user));
        for (let i = 0; i < 5; i += 1) {
          const error = await refusal(
            change(auth, authorization, { currentPassword: `wrong ${i}` }),
            'auth.password_invalid',
          );
          expect(error.kind).toBe('invalid');
        }
        await refusal(change(auth, authorization), 'auth.too_many_attempts');
        expect((await auth.authenticatePanel(authorization)).user.authVersion).toBe(user.authVersion);
      });

      test('a new password has 8 to 128 characters of any kind', async () => {
        const auth = openAuth(store);
        const user = await addUser(store);
        let authorization = bearer(await signIn(auth, user));
        for (const wrong of ['', 'seven77', 'x'.repeat(129)]) {
          const error = await refusal(
            change(auth, authorization, { currentPassword: PASSWORD, newPassword: wrong }),
            'auth.validation_failed',
          );
          expect(error.param).toBe('password');
          expect(error.message).not.toContain(wrong || 'never');
        }
        let password = PASSWORD;
        for (const right of ['eight ch', '🔑🗝'.repeat(64), 'pässwörter']) {
          const bundle = await change(auth, authorization, { currentPassword: password, newPassword: right });
          authorization = `Bearer ${bundle.access_token}`;
          password = right;
        }
        expect((await logIn(auth, { username: user.username, password: 'pässwörter'.normalize('NFD') })).kind).toBe(
          'session',
        );
      });

      test('ten concurrent changes: one succeeds, the others change nothing', async () => {
        const auth = openAuth(store);
        const user = await addUser(store);
        const signedIn = await signIn(auth, user);
        const principal = await auth.authenticatePanel(bearer(signedIn));
        const outcomes = await Promise.allSettled(
          Array.from({ length: 10 }, (_, i) =>
            auth.passwords.change(principal, {
              currentPassword: PASSWORD,
              newPassword: `new password ${i}`,
              origin: ORIGIN,
            }),
          ),
        );
        expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
        const winner = outcomes.findIndex(({ status }) => status === 'fulfilled');
        expect((await store.users.byId(user.id))?.authVersion).toBe(user.authVersion + 1);
        expect((await logIn(auth, { username: user.username, password: `new password ${winner}` })).kind).toBe(
          'session',
        );
        await refreshWith(auth, signedIn.refreshToken);
      });
    });
  });
}

function recordingLogger(lines: string[]): Logger {
  const write = (fields: object, message: string) => {
    const flat = Object.fromEntries(
      Object.entries(fields).map(([key, value]) => [key, value instanceof Error ? Bun.inspect(value) : value]),
    );
    lines.push(`${message} ${JSON.stringify(flat)}`);
  };
  const logger: Logger = { debug: write, info: write, warn: write, error: write, child: () => logger };
  return logger;
}
