import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Store } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { ORIGIN, openAuth, openTestStore } from './harness.ts';
import { refusal } from './refusal.ts';

for (const dialect of RULE_DATABASES) {
  describe(`guessing under other spellings on ${dialect}`, () => {
    let store: Store;
    let stop: () => Promise<void>;
    beforeAll(async () => {
      ({ store, stop } = await openTestStore(dialect));
    });
    afterAll(() => stop());

    test('spellings that the database folds into one name share its guesses', async () => {
      const auth = openAuth(store);
      const user = await addUser(store, { username: 'kim.irish' });
      const guess = (username: string) =>
        auth.passwords.signIn({ username, password: 'wrong password', origin: ORIGIN });
      for (let i = 0; i < 5; i += 1) await refusal(guess(user.username), 'auth.invalid_credentials');
      // A dotted capital I and the Kelvin sign.
      for (const spelling of ['KIM.IRISH', 'k\u0130m.irish', 'kim.\u0130r\u0130sh', '\u212Aim.irish', ' kim.irish ']) {
        await refusal(guess(spelling), 'auth.too_many_attempts');
      }
      expect(await store.users.byNameOrAddress('KIM.IRISH')).toMatchObject({ id: user.id });
    });
  });
}
