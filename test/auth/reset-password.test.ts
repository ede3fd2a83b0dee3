import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Auth } from '../../src/auth/index.ts';
import { newUuid } from '../../src/kernel/index.ts';
import { storeErrors } from '../../src/store/drivers/errors.ts';
import type { Repositories, Store, UserRecord } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { bearer, ORIGIN, openAuth, openTestStore, overriding, refreshWith, signIn } from './harness.ts';
import { refusal } from './refusal.ts';

const NEW_PASSWORD = 'another good password';

for (const dialect of RULE_DATABASES) {
  describe(`reset from the command line on ${dialect}`, () => {
    let store: Store;
    let stop: () => Promise<void>;
    let auth: Auth;
    let user: UserRecord;

    beforeAll(async () => {
      ({ store, stop } = await openTestStore(dialect));
    });
    afterAll(() => stop());
    beforeEach(async () => {
      auth = openAuth(store);
      user = await addUser(store);
    });

    const logIn = (password: string) => auth.passwords.signIn({ username: user.username, password, origin: ORIGIN });
    const reset = (resetFactors: boolean, node = auth) =>
      node.passwords.reset({ username: user.username, password: NEW_PASSWORD, resetFactors });

    /** Adds every factor and binding that a user can have besides a password. */
    async function addFactors(of: UserRecord): Promise<void> {
      await store.twoFactor.begin({ userId: of.id, secretSealed: 'sealed', createdAt: 1 });
      await store.twoFactor.enable(of.id, 'sealed', 1);
      await store.twoFactor.replaceBackupCodes(of.id, [newUuid(), newUuid()], 1);
      for (const name of ['phone', 'stick']) {
        await store.passkeys.insert({
          userId: of.id,
          credentialId: newUuid(),
          publicKey: 'key',
          rpId: 'localhost',
          name,
          counter: 0,
          transports: [],
          backedUp: false,
          createdAt: 1,
        });
      }
      await store.users.setAccessToken(of.id, { hash: newUuid(), prefix: 'tgp_test', createdAt: 1 });
    }
    async function readFactors({ id }: UserRecord): Promise<object> {
      return {
        twoFactor: (await store.twoFactor.byUser(id))?.enabled ?? false,
        backupCodes: await store.twoFactor.countBackupCodes(id),
        passkeys: (await store.passkeys.list(id)).length,
        accessToken: (await store.users.findAccessToken(id)) !== undefined,
      };
    }
    const ALL = { twoFactor: true, backupCodes: 2, passkeys: 2, accessToken: true };
    const NONE = { twoFactor: false, backupCodes: 0, passkeys: 0, accessToken: false };

    test('sets the password and ends every session', async () => {
      const signedIn = await signIn(auth, user);
      expect(await reset(false)).toEqual({ userId: user.id, username: user.username, isRoot: false, twoFactor: false });
      await refusal(auth.authenticatePanel(bearer(signedIn)), 'auth.session_revoked');
      await refusal(refreshWith(auth, signedIn.refreshToken), 'auth.session_revoked');
      expect((await logIn(NEW_PASSWORD)).kind).toBe('session');
      expect((await store.users.byId(user.id))?.authVersion).toBe(user.authVersion + 1);
    });

    test('keeps factors and the personal access token', async () => {
      await addFactors(user);
      expect((await reset(false)).twoFactor).toBe(true);
      expect(await readFactors(user)).toEqual(ALL);
      expect((await logIn(NEW_PASSWORD)).kind).toBe('require_2fa');
    });

    test('with --reset-factors removes everything that an intruder could have added, for this account only', async () => {
      const other = await addUser(store);
      const principal = await auth.authenticatePanel(bearer(await signIn(auth, user)));
      await addFactors(user);
      await addFactors(other);
      const { token } = await auth.personalTokens.create(principal);
      expect((await reset(true)).twoFactor).toBe(false);
      expect(await readFactors(user)).toEqual(NONE);
      expect(await readFactors(other)).toEqual(ALL);
      await refusal(auth.authenticatePanel(token), 'auth.unauthorized');
      expect((await logIn(NEW_PASSWORD)).kind).toBe('session');
    });

    test('a reset that fails in the middle has changed nothing', async () => {
      const signedIn = await signIn(auth, user);
      await addFactors(user);
      const broken = (tx: Repositories) =>
        overriding(tx, {
          users: overriding(tx.users, { setAccessToken: () => Promise.reject(storeErrors.unavailable()) }),
        });
      const troubled = openAuth(
        overriding(store, { transaction: (work) => store.transaction((tx) => work(broken(tx))) }),
      );
      await refusal(reset(true, troubled), 'auth.unavailable');
      expect(await readFactors(user)).toEqual(ALL);
      expect((await store.users.byId(user.id))?.authVersion).toBe(user.authVersion);
      await auth.authenticatePanel(bearer(signedIn));
    });

    test('many concurrent resets either succeed or report that the account changed', async () => {
      const outcomes = await Promise.allSettled(Array.from({ length: 4 }, () => reset(true)));
      const won = outcomes.filter(({ status }) => status === 'fulfilled').length;
      expect(won).toBeGreaterThan(0);
      expect((await store.users.byId(user.id))?.authVersion).toBe(user.authVersion + won);
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') await refusal(Promise.reject(outcome.reason), 'auth.changed_meanwhile');
      }
    });

    test('names the fault', async () => {
      const nobody = { username: 'nobody-at-all', password: NEW_PASSWORD, resetFactors: true };
      await refusal(auth.passwords.reset(nobody), 'auth.user_not_found');
      const weak = { username: user.username, password: 'short', resetFactors: false };
      await refusal(auth.passwords.reset(weak), 'auth.validation_failed');
    });
  });
}
