import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Auth } from '../../src/auth/index.ts';
import { newUuid } from '../../src/kernel/index.ts';
import type { Store, UserRecord } from '../../src/store/ports/index.ts';
import { newSession } from '../contract/each-store.ts';
import { deleteUser } from '../contract/open-raw.ts';
import { addUser } from '../support/add-user.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { bearer, ORIGIN, openAuth, openTestStore, originFor, refreshWith, signIn } from './harness.ts';
import { refusal } from './refusal.ts';
import { createTestClock, type TestClock } from './test-clock.ts';

for (const dialect of RULE_DATABASES) {
  describe(`sessions of other users on ${dialect}`, () => {
    let store: Store;
    let place: { databaseUrl: string; dataDir: string };
    let stop: () => Promise<void>;
    let clock: TestClock;
    let auth: Auth;
    let root: UserRecord;
    let user: UserRecord;

    beforeAll(async () => {
      const opened = await openTestStore(dialect);
      ({ store, stop } = opened);
      place = opened;
    });
    afterAll(() => stop());
    beforeEach(async () => {
      clock = createTestClock();
      auth = openAuth(store, { clock });
      root = await addUser(store, { role: 100 });
      user = await addUser(store);
    });

    const rootSession = async () => auth.authenticatePanel(bearer(await signIn(auth, root)));
    const readSids = async (of: UserRecord) =>
      (await auth.sessions.ofUsers.list(await rootSession(), of.id)).map(({ sid }) => sid);

    test('are listed as their owner sees them, latest first, without ended and outdated ones', async () => {
      const early = await signIn(auth, user, originFor('203.0.113.1', 'early'));
      clock.advance(10);
      const late = await signIn(auth, user, originFor('203.0.113.2', 'late'));
      const ended = await signIn(auth, user);
      await auth.sessions.revoke(await auth.authenticatePanel(bearer(ended)), ended.bundle.session.sid);
      await store.sessions.insert(newSession(user.id, { expiresAt: clock.unix() }));
      await store.sessions.insert(newSession(user.id, { expiresAt: clock.unix() + 99, userAuthVersion: 99 }));

      const listed = await auth.sessions.ofUsers.list(await rootSession(), user.id);
      expect(listed).toEqual([
        { ...late.bundle.session, current: false },
        { ...early.bundle.session, current: false },
      ]);
    });

    test('one is ended at once; the others continue', async () => {
      const [first, second] = [await signIn(auth, user), await signIn(auth, user)];
      const { sid } = first.bundle.session;
      expect(await auth.sessions.ofUsers.revoke(await rootSession(), user.id, sid)).toEqual({
        revoked_sid: sid,
        current: false,
      });
      await refusal(auth.authenticatePanel(bearer(first)), 'auth.session_revoked');
      await refusal(refreshWith(auth, first.refreshToken), 'auth.session_revoked');
      await auth.authenticatePanel(bearer(second));
      expect(await readSids(user)).toEqual([second.bundle.session.sid]);
      expect((await store.sessions.bySid(sid))?.revokedReason).toBe('root_revoked');
    });

    test('all are ended at once, those of older auth versions too, and counted', async () => {
      const signedIn = [await signIn(auth, user), await signIn(auth, user)];
      await store.sessions.insert(newSession(user.id, { expiresAt: clock.unix() + 99, userAuthVersion: 99 }));
      const caller = await rootSession();
      expect(await auth.sessions.ofUsers.revokeAll(caller, user.id)).toEqual({ revoked_count: 3 });
      for (const session of signedIn) await refusal(auth.authenticatePanel(bearer(session)), 'auth.session_revoked');
      expect(await auth.sessions.ofUsers.revokeAll(caller, user.id)).toEqual({ revoked_count: 0 });
      expect((await signIn(auth, user)).kind).toBe('session');
    });

    test('root can end its own current session', async () => {
      const signedIn = await signIn(auth, root);
      const own = await auth.authenticatePanel(bearer(signedIn));
      const { sid } = signedIn.bundle.session;
      const listed = await auth.sessions.ofUsers.list(own, root.id);
      expect(listed.filter(({ current }) => current).map((session) => session.sid)).toEqual([sid]);
      expect((await auth.sessions.ofUsers.revoke(own, root.id, sid)).current).toBe(true);
      await refusal(auth.authenticatePanel(bearer(signedIn)), 'auth.session_revoked');

      const next = await rootSession();
      expect((await auth.sessions.ofUsers.revokeAll(next, root.id)).revoked_count).toBe(1);
    });

    test('a session of another user, an ended, an expired and an unknown one answer alike', async () => {
      const caller = await rootSession();
      const others = (await signIn(auth, await addUser(store))).bundle.session.sid;
      const expired = newSession(user.id, { expiresAt: clock.unix() });
      await store.sessions.insert(expired);
      const ended = (await signIn(auth, user)).bundle.session.sid;
      await auth.sessions.ofUsers.revoke(caller, user.id, ended);
      for (const sid of [others, expired.sid, ended, newUuid(), '', ' ', 'a\0b', '\uD800']) {
        await refusal(auth.sessions.ofUsers.revoke(caller, user.id, sid), 'auth.session_not_found');
      }
      expect((await store.sessions.bySid(others))?.status).toBe('active');
    });

    test('an unknown and a deleted user have none', async () => {
      const caller = await rootSession();
      const gone = await addUser(store);
      const { sid } = (await signIn(auth, gone)).bundle.session;
      await deleteUser(place, gone.id);
      for (const id of [gone.id, 987_654_321]) {
        await refusal(auth.sessions.ofUsers.list(caller, id), 'auth.user_not_found');
        await refusal(auth.sessions.ofUsers.revoke(caller, id, sid), 'auth.user_not_found');
        await refusal(auth.sessions.ofUsers.revokeAll(caller, id), 'auth.user_not_found');
      }
    });

    test('many concurrent requests end the session once', async () => {
      const caller = await rootSession();
      const { sid } = (await signIn(auth, user, ORIGIN)).bundle.session;
      const outcomes = await Promise.allSettled(
        Array.from({ length: 10 }, () => auth.sessions.ofUsers.revoke(caller, user.id, sid)),
      );
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    });
  });
}
