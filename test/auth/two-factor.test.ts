/** Authenticator apps and backup codes: set-up, enabling, disabling, new backup codes, status. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Auth, PanelPrincipal } from '../../src/auth/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import {
  addProtectedUser,
  codeFor,
  createApp,
  firstStep,
  origins,
  readPrincipal,
  withToken,
  wrongCode,
} from './authenticator-app.ts';
import { ORIGIN, openAuth, openTestStore, refreshWith, signIn, testSettings } from './harness.ts';
import { refusal } from './refusal.ts';
import { createTestClock, type TestClock } from './test-clock.ts';

test('the test’s authenticator generates the codes of RFC 6238', () => {
  // Appendix B, SHA-1, the last six digits.
  const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
  expect([59, 1_111_111_109, 20_000_000_000].map((time) => codeFor(secret, Math.floor(time / 30)))).toEqual([
    '287082',
    '081804',
    '353130',
  ]);
});

for (const dialect of RULE_DATABASES) {
  describe(`two-factor on ${dialect}`, () => {
    let store: Store;
    let stop: () => Promise<void>;
    let clock: TestClock;
    let auth: Auth;

    beforeAll(async () => {
      ({ store, stop } = await openTestStore(dialect));
      clock = createTestClock();
      auth = openAuth(store, { clock });
    });
    afterAll(() => stop());

    const signedInUser = async () => {
      const user = await addUser(store);
      const signedIn = await signIn(auth, user);
      return { user, signedIn, principal: await readPrincipal(auth, signedIn) };
    };
    const pat = (principal: PanelPrincipal): PanelPrincipal => ({ kind: 'pat', user: principal.user, tokenHash: '' });
    const finish = (flowToken: string, code: string, origin = ORIGIN) =>
      auth.twoFactor.finishSignIn({ flowToken, code, origin });

    describe('set-up', () => {
      test('returns a secret of 160 bits, its otpauth URL, and ten backup codes', async () => {
        const { user, principal } = await signedInUser();
        const setup = await auth.twoFactor.setUp(principal);
        expect(setup.secret).toMatch(/^[A-Z2-7]{32}$/);
        const address = new URL(setup.qr_code_data);
        expect([address.protocol, address.host, decodeURIComponent(address.pathname)]).toEqual([
          'otpauth:',
          'totp',
          `/Taskgate:${user.username}`,
        ]);
        expect(Object.fromEntries(address.searchParams)).toEqual({
          issuer: 'Taskgate',
          secret: setup.secret,
          algorithm: 'SHA1',
          digits: '6',
          period: '30',
        });
        expect(new Set(setup.backup_codes).size).toBe(10);
        for (const code of setup.backup_codes) expect(code).toMatch(/^[A-Z0-9]{4}-[A-Z0-9]{4}$/);
      });

      test.each([
        ['ACME: AI', 'ACME AI'],
        ['a:b::c', 'a b c'],
        [':', 'Taskgate'],
      ])('a colon in the name of the gateway does not end the issuer early: %s', async (systemName, issuer) => {
        const { user, principal } = await signedInUser();
        const named = openAuth(store, { settings: () => ({ ...testSettings(), systemName }) });
        const address = new URL((await named.twoFactor.setUp(principal)).qr_code_data);
        expect(address.searchParams.get('issuer')).toBe(issuer);
        expect(decodeURIComponent(address.pathname)).toBe(`/${issuer}:${user.username}`);
      });

      test('protects nothing until it is confirmed', async () => {
        const { user, principal } = await signedInUser();
        const setup = await auth.twoFactor.setUp(principal);
        expect(await auth.twoFactor.status(principal)).toEqual({ enabled: false, locked: false });
        expect((await signIn(auth, user)).kind).toBe('session');
        await refusal(
          auth.twoFactor.disable(principal, { code: setup.backup_codes[0] ?? '', origin: ORIGIN }),
          'auth.two_factor_off',
        );
      });

      test('a new set-up replaces an unconfirmed one, backup codes too', async () => {
        const { principal, user } = await signedInUser();
        const first = await auth.twoFactor.setUp(principal);
        const second = await auth.twoFactor.setUp(principal);
        await refusal(auth.twoFactor.enable(principal, createApp(first.secret, clock).code()), 'auth.code_invalid');
        await auth.twoFactor.enable(principal, createApp(second.secret, clock).code());
        const flow = await firstStep(auth, user);
        await refusal(finish(flow, first.backup_codes[0] ?? ''), 'auth.code_invalid');
        expect((await finish(flow, second.backup_codes[0] ?? '')).kind).toBe('session');
      });

      test('is refused while enabled, and keeps secret and codes', async () => {
        const { user, principal, app, backupCodes } = await addProtectedUser(auth, store, clock);
        const error = await refusal(auth.twoFactor.setUp(principal), 'auth.two_factor_enabled');
        expect(error.kind).toBe('conflict');
        await refusal(auth.twoFactor.enable(principal, app.code()), 'auth.two_factor_enabled');
        expect((await finish(await firstStep(auth, user), app.code())).kind).toBe('session');
        expect((await finish(await firstStep(auth, user), backupCodes[9] ?? '')).kind).toBe('session');
      });

      test('its secrets are not readable in the database', async () => {
        const { user, principal } = await signedInUser();
        const setup = await auth.twoFactor.setUp(principal);
        const factor = await store.twoFactor.byUser(user.id);
        expect(factor?.secretSealed).toStartWith('v1.');
        expect(JSON.stringify(factor)).not.toContain(setup.secret);
      });
    });

    describe('enabling', () => {
      test('ends every other session, keeps this one with its refresh token, and is visible in the account', async () => {
        const user = await addUser(store);
        const other = await signIn(auth, user);
        const mine = await signIn(auth, user);
        const principal = await readPrincipal(auth, mine);
        const { secret } = await auth.twoFactor.setUp(principal);
        const bundle = await auth.twoFactor.enable(principal, createApp(secret, clock).code());
        expect(Object.keys(bundle).sort()).toEqual(['access_expires_at', 'access_token', 'session', 'token_type']);
        expect(bundle.session).toMatchObject({ sid: mine.bundle.session.sid, current: true });

        await refusal(readPrincipal(auth, other), 'auth.session_revoked');
        await refusal(readPrincipal(auth, mine), 'auth.session_revoked');
        expect((await store.sessions.bySid(other.bundle.session.sid))?.revokedReason).toBe('twofa_enabled');
        const now = await withToken(auth, bundle.access_token);
        expect(now.user.authVersion).toBe(principal.user.authVersion + 1);
        expect((await auth.describe(now)).two_factor).toBe(true);
        expect(await auth.twoFactor.status(now)).toEqual({ enabled: true, locked: false, backup_codes_remaining: 10 });
        expect((await refreshWith(auth, mine.refreshToken)).bundle.session.sid).toBe(mine.bundle.session.sid);
      });

      test.each([-1, 0, 1])('accepts the code of step %d from now', async (ahead) => {
        const { principal } = await signedInUser();
        const { secret } = await auth.twoFactor.setUp(principal);
        expect((await auth.twoFactor.enable(principal, createApp(secret, clock).code(ahead))).token_type).toBe(
          'Bearer',
        );
      });

      test('refuses codes further off, malformed ones and backup codes, and counts none of them', async () => {
        const { user, principal } = await signedInUser();
        const { secret, backup_codes } = await auth.twoFactor.setUp(principal);
        const app = createApp(secret, clock);
        const wrong = [app.code(-2), app.code(2), '', 'x', '12345', '1234567', '１２３４５６', backup_codes[0] ?? ''];
        for (const code of wrong) {
          const error = await refusal(auth.twoFactor.enable(principal, code), 'auth.code_invalid');
          expect(error.kind).toBe('invalid');
        }
        expect((await store.twoFactor.byUser(user.id))?.failures).toBe(0);
        await auth.twoFactor.enable(principal, ` ${app.code().slice(0, 3)} ${app.code().slice(3)} `);
      });

      test('without a set-up it is refused', async () => {
        const { principal } = await signedInUser();
        await refusal(auth.twoFactor.enable(principal, '123456'), 'auth.two_factor_not_begun');
      });

      test('20 concurrent confirmations: one makes the change', async () => {
        const { user, principal } = await signedInUser();
        const { secret } = await auth.twoFactor.setUp(principal);
        const code = createApp(secret, clock).code();
        const all = await Promise.allSettled(Array.from({ length: 20 }, () => auth.twoFactor.enable(principal, code)));
        expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
        expect((await store.users.byId(user.id))?.authVersion).toBe(user.authVersion + 1);
      });
    });

    describe('disabling', () => {
      test.each(['app', 'backup'])('with a code of the %s removes everything and ends other sessions', async (kind) => {
        const { user, principal, app, backupCodes } = await addProtectedUser(auth, store, clock);
        const other = await finish(await firstStep(auth, user), backupCodes[5] ?? '');
        const code = kind === 'app' ? app.code() : (backupCodes[0] ?? '');
        const bundle = await auth.twoFactor.disable(principal, { code, origin: ORIGIN });
        const now = await withToken(auth, bundle.access_token);
        expect(await auth.twoFactor.status(now)).toEqual({ enabled: false, locked: false });
        expect(await store.twoFactor.countBackupCodes(user.id)).toBe(0);
        expect((await signIn(auth, now.user)).kind).toBe('session');
        if (other.kind !== 'session') throw new Error('no session');
        expect((await store.sessions.bySid(other.bundle.session.sid))?.revokedReason).toBe('twofa_disabled');
      });

      test('with a wrong code is refused', async () => {
        const { principal, app } = await addProtectedUser(auth, store, clock);
        for (const code of [wrongCode(app), 'AAAA-AAAA']) {
          await refusal(auth.twoFactor.disable(principal, { code, origin: ORIGIN }), 'auth.code_invalid');
        }
        expect(await auth.twoFactor.status(principal)).toMatchObject({ enabled: true });
      });

      test('by two requests at once is one change', async () => {
        const { user, principal, app, backupCodes } = await addProtectedUser(auth, store, clock);
        const both = await Promise.allSettled([
          auth.twoFactor.disable(principal, { code: app.code(), origin: ORIGIN }),
          auth.twoFactor.disable(principal, { code: backupCodes[0] ?? '', origin: ORIGIN }),
        ]);
        expect(both.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
        expect((await store.users.byId(user.id))?.authVersion).toBe(user.authVersion + 1);
      });
    });

    describe('new backup codes', () => {
      test('replace all old ones and end other sessions', async () => {
        const { user, principal, app, backupCodes } = await addProtectedUser(auth, store, clock);
        const other = await finish(await firstStep(auth, user), backupCodes[1] ?? '');
        const bundle = await auth.twoFactor.replaceBackupCodes(principal, { code: app.code(), origin: ORIGIN });
        expect(new Set([...bundle.backup_codes, ...backupCodes]).size).toBe(20);
        const now = await withToken(auth, bundle.access_token);
        expect(await auth.twoFactor.status(now)).toEqual({ enabled: true, locked: false, backup_codes_remaining: 10 });
        if (other.kind !== 'session') throw new Error('no session');
        expect((await store.sessions.bySid(other.bundle.session.sid))?.revokedReason).toBe(
          'twofa_backup_codes_regenerated',
        );
        const flow = await firstStep(auth, user);
        await refusal(finish(flow, backupCodes[2] ?? ''), 'auth.code_invalid');
        expect((await finish(flow, bundle.backup_codes[2] ?? '')).kind).toBe('session');
      });

      test('a stolen backup code creates no new ones, and trying does not use it up', async () => {
        const { user, principal, backupCodes } = await addProtectedUser(auth, store, clock);
        const code = backupCodes[0] ?? '';
        await refusal(auth.twoFactor.replaceBackupCodes(principal, { code, origin: ORIGIN }), 'auth.code_invalid');
        expect((await store.twoFactor.byUser(user.id))?.failures).toBe(0);
        expect((await finish(await firstStep(auth, user), code)).kind).toBe('session');
      });
    });

    describe('a personal access token', () => {
      test('can see the status and change nothing; no code is checked', async () => {
        const { user, principal, app, backupCodes } = await addProtectedUser(auth, store, clock);
        const token = pat(principal);
        expect(await auth.twoFactor.status(token)).toMatchObject({ enabled: true });
        const backup = { code: backupCodes[0] ?? '', origin: ORIGIN };
        await refusal(auth.twoFactor.setUp(token), 'auth.session_required');
        await refusal(auth.twoFactor.enable(token, app.code()), 'auth.session_required');
        await refusal(auth.twoFactor.disable(token, backup), 'auth.session_required');
        await refusal(auth.twoFactor.replaceBackupCodes(token, backup), 'auth.session_required');
        const factor = await store.twoFactor.byUser(user.id);
        expect([factor?.failures, await store.twoFactor.countBackupCodes(user.id)]).toEqual([0, 10]);
      });
    });

    describe('CRYPTO_SECRET', () => {
      const withSecrets = (...cryptoSecrets: [string, ...string[]]) =>
        openAuth(store, { clock, config: { cryptoSecrets } });
      const OLD = 'the first crypto secret of this test';
      const NEW = 'the second crypto secret of this test';

      test('rotated with the former one set: authenticator and backup codes keep working', async () => {
        const before = withSecrets(OLD);
        const { user, app, backupCodes } = await addProtectedUser(before, store, clock);
        const after = withSecrets(NEW, 'one in between, long forgotten', OLD);
        const byApp = { flowToken: await firstStep(after, user), code: app.code(), origin: ORIGIN };
        expect((await after.twoFactor.finishSignIn(byApp)).kind).toBe('session');
        const byBackup = { flowToken: await firstStep(after, user), code: backupCodes[0] ?? '', origin: ORIGIN };
        expect((await after.twoFactor.finishSignIn(byBackup)).kind).toBe('session');
      });

      test('replaced without it: authenticator codes are refused with their own error and lock nobody out, newer backup codes work', async () => {
        const before = withSecrets(OLD);
        const { user, principal, app } = await addProtectedUser(before, store, clock);
        // Codes made while both secrets were set belong to the newer one.
        const between = withSecrets(NEW, OLD);
        const { backup_codes } = await between.twoFactor.replaceBackupCodes(principal, {
          code: app.code(),
          origin: ORIGIN,
        });
        clock.advance(60);

        const after = withSecrets(NEW);
        const flowToken = await firstStep(after, user);
        for (let i = 0; i < 7; i += 1) {
          const error = await refusal(
            after.twoFactor.finishSignIn({ flowToken, code: app.code(), origin: ORIGIN }),
            'auth.two_factor_unreadable',
          );
          expect(error.kind).toBe('conflict');
        }
        expect((await store.twoFactor.byUser(user.id))?.failures).toBe(0);
        const [first = '', second = ''] = backup_codes;
        const login = await after.twoFactor.finishSignIn({ flowToken, code: first, origin: ORIGIN });
        if (login.kind !== 'session') throw new Error('no session');
        await after.twoFactor.disable(await readPrincipal(after, login), { code: second, origin: ORIGIN });
        expect((await signIn(after, user)).kind).toBe('session');
      });

      test('replaced without it: a pending set-up is refused with its own error and can be restarted', async () => {
        const { user, principal } = await signedInUser();
        const { secret } = await auth.twoFactor.setUp(principal);
        const after = withSecrets(NEW);
        await refusal(after.twoFactor.enable(principal, createApp(secret, clock).code()), 'auth.two_factor_unreadable');
        const again = await after.twoFactor.setUp(principal);
        await after.twoFactor.enable(principal, createApp(again.secret, clock).code());
        expect((await store.twoFactor.byUser(user.id))?.enabled).toBe(true);
      });
    });

    test('the status shows a block and the remaining codes', async () => {
      const { user, principal, app, backupCodes } = await addProtectedUser(auth, store, clock);
      await finish(await firstStep(auth, user), backupCodes[0] ?? '');
      const from = origins();
      for (let i = 0; i < 5; i += 1) {
        const wrong = { code: wrongCode(app, i), origin: from() };
        await refusal(auth.twoFactor.disable(principal, wrong), 'auth.code_invalid');
      }
      expect(await auth.twoFactor.status(principal)).toEqual({
        enabled: true,
        locked: true,
        backup_codes_remaining: 9,
      });
      clock.advance(300);
      expect(await auth.twoFactor.status(principal)).toMatchObject({ locked: false });
    });
  });
}
