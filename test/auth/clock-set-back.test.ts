/** Signing in after the clock was set back by hours: nobody waits, and nobody gets in too long. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Auth } from '../../src/auth/index.ts';
import type { Store, UserRecord } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { addProtectedUser, firstStep, origins, wrongCode } from './authenticator-app.ts';
import { bearer, openAuth, openTestStore, refreshWith, signIn } from './harness.ts';
import { refusal } from './refusal.ts';
import { createTestClock, type TestClock } from './test-clock.ts';

const HOURS = 8 * 3600;

for (const dialect of RULE_DATABASES) {
  describe(`after the clock was set back on ${dialect}`, () => {
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

    test('a session that began before goes on, one from the future does not, nor does its token', async () => {
      const early = await signIn(auth, user);
      clock.advance(HOURS);
      const late = await signIn(auth, user);
      // Its signature is then known, and is not checked again.
      await auth.authenticatePanel(bearer(late));
      clock.advance(60 - HOURS);
      await refusal(auth.authenticatePanel(bearer(late)), 'auth.unauthorized');
      await refusal(refreshWith(auth, late.refreshToken), 'auth.session_revoked');
      await auth.authenticatePanel(bearer(await refreshWith(auth, early.refreshToken)));
      expect(await store.sessions.countActive(user.id, clock.unix())).toBe(1);
    });

    test('a clock that is corrected by a second signs nobody out', async () => {
      const signedIn = await signIn(auth, user);
      clock.advance(-1);
      await auth.authenticatePanel(bearer(signedIn));
      await refreshWith(auth, signedIn.refreshToken);
    });

    test('a refresh token that was replaced in the future and comes back ends its session', async () => {
      const first = await signIn(auth, user);
      clock.advance(HOURS);
      const second = await refreshWith(auth, first.refreshToken);
      clock.advance(120 - HOURS);
      await refusal(refreshWith(auth, first.refreshToken), 'auth.session_revoked');
      await refusal(refreshWith(auth, second.refreshToken), 'auth.session_revoked');
      expect((await store.sessions.bySid(first.bundle.session.sid))?.revokedReason).toBe('refresh_reuse');
    });

    test('sign-ins from the future do not use up present ones', async () => {
      const strict = openAuth(store, { clock, config: { sessionIssuanceLimit: 2, sessionIssuanceWindowSeconds: 600 } });
      clock.advance(HOURS);
      for (let i = 0; i < 2; i += 1) await signIn(strict, user);
      await refusal(signIn(strict, user), 'auth.session_issuance_limit');
      clock.advance(120 - HOURS);
      await signIn(strict, user);
    });

    test('a session that was used in the future counts as idle', async () => {
      const idle = openAuth(store, { clock, config: { sessionIdleSeconds: 3600 } });
      const signedIn = await signIn(idle, user);
      let latest = signedIn;
      for (let hour = 0; hour < 8; hour += 1) {
        clock.advance(3000);
        latest = await refreshWith(idle, latest.refreshToken);
      }
      clock.advance(-8 * 3000);
      await refusal(refreshWith(idle, latest.refreshToken), 'auth.session_revoked');
    });

    test('a second factor that was locked in the future takes the right code', async () => {
      const { user: protectedUser, app, principal } = await addProtectedUser(auth, store, clock);
      clock.advance(HOURS);
      const from = origins();
      const finish = async (code: string) =>
        auth.twoFactor.finishSignIn({ flowToken: await firstStep(auth, protectedUser), code, origin: from() });
      for (let i = 0; i < 5; i += 1) await refusal(finish(wrongCode(app)), 'auth.code_invalid');
      await refusal(finish(app.code()), 'auth.code_locked');
      expect(await auth.twoFactor.status(principal)).toMatchObject({ locked: true });
      clock.advance(120 - HOURS);
      expect(await auth.twoFactor.status(principal)).toMatchObject({ locked: false });
      expect((await finish(app.code())).kind).toBe('session');
    });
  });
}
