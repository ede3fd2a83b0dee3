/** Editing and deleting one's own account, during concurrent changes. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Auth } from '../../src/auth/index.ts';
import type { Store, UserRecord } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { PASSWORD } from '../support/cheap-hash.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { bearer, ORIGIN, openAuth, openTestStore, refreshWith, signIn } from './harness.ts';
import { refusal } from './refusal.ts';

type Caller = Parameters<Auth['account']['delete']>[0];

for (const dialect of RULE_DATABASES) {
  describe(`one’s own account on ${dialect}`, () => {
    let store: Store;
    let stop: () => Promise<void>;
    let auth: Auth;
    let user: UserRecord;
    let caller: Caller;

    beforeAll(async () => {
      ({ store, stop } = await openTestStore(dialect));
      auth = openAuth(store);
    });
    afterAll(() => stop());
    beforeEach(async () => {
      user = await addUser(store);
      caller = await auth.authenticatePanel(bearer(await signIn(auth, user)));
    });

    const prove = async () => {
      const request = { method: 'password', password: PASSWORD, scope: 'account.delete', origin: ORIGIN } as const;
      return (await auth.proofs.prove(caller, request)).proof_token;
    };

    test('a profile changes field by field; nothing ends', async () => {
      expect(await auth.account.edit(caller, { display_name: ' Ada ' })).toMatchObject({
        ...{ before: { display_name: user.username }, after: { display_name: 'Ada' } },
        user: { id: user.id, display_name: 'Ada', language: 'en' },
      });
      expect((await auth.account.edit(caller, {})).after).toEqual({});
      expect(await store.users.byId(user.id)).toEqual({ ...user, displayName: 'Ada', lastLoginAt: expect.any(Number) });
    });

    test('concurrent changes of the balance alert keep what each of them names', async () => {
      const webhook_url = 'https://ada.example.org/low';
      const edits = [{ threshold: 7 }, { mail: false }, { webhook_url }];
      const saved = await Promise.all(edits.map((edit) => auth.balanceAlert.edit(caller, edit)));
      expect(await auth.balanceAlert.read(caller)).toMatchObject({ threshold: 7, mail: false, webhook_url });
      expect(saved.filter(({ new_secret }) => new_secret !== null)).toHaveLength(1);
    });

    test('twenty concurrent changes to one name: one succeeds', async () => {
      const people = await Promise.all(Array.from({ length: 20 }, () => addUser(store)));
      const callers = await Promise.all(
        people.map(async (person) => auth.authenticatePanel(bearer(await signIn(auth, person)))),
      );
      const username = `wanted-${dialect}`;
      const taken = await Promise.allSettled(callers.map((one) => auth.account.edit(one, { username })));
      expect(taken.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      for (const outcome of taken) {
        if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'auth.name_taken' });
      }
    });

    test('many concurrent deletions: one succeeds', async () => {
      const proof = await prove();
      const done = await Promise.allSettled(Array.from({ length: 10 }, () => auth.account.delete(caller, proof)));
      expect(done.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect(await store.users.adminById(user.id)).toMatchObject({ username: `deleted:${user.id}`, authVersion: 2 });
    });

    test('a deletion that conflicts with another change of the account is rolled back', async () => {
      const signedIn = await signIn(auth, user);
      const { key } = await auth.apiKeys.create(caller, { name: 'key', unlimited_quota: true });
      await store.identities.claim({ provider: 'github', subject: `own-${user.id}`, userId: user.id, createdAt: 1 });
      const proof = await prove();
      const stale = { ...caller };
      await store.users.administer(user.id, { role: 10 }, user.authVersion);
      await refusal(auth.account.delete(stale, proof), 'auth.changed_meanwhile');
      expect(await store.users.adminById(user.id)).toMatchObject({ username: user.username, role: 10, deletedAt: 0 });
      expect(await store.identities.list(user.id)).toHaveLength(1);
      const authorized = await auth.authenticateApiKey(`Bearer ${key}`, { origin: ORIGIN, purpose: 'submit' });
      expect(authorized.user.id).toBe(user.id);
      expect((await store.sessions.bySid(signedIn.bundle.session.sid))?.status).toBe('active');
    });

    test('a deletion ends every session and frees the name', async () => {
      const elsewhere = await signIn(auth, user);
      await auth.account.delete(caller, await prove());
      await refusal(auth.authenticatePanel(bearer(elsewhere)), 'auth.session_revoked');
      await refusal(refreshWith(auth, elsewhere.refreshToken), 'auth.session_revoked');
      await refusal(auth.account.edit(caller, { language: 'zh' }), 'auth.session_revoked');
      expect((await addUser(store, { username: user.username })).id).not.toBe(user.id);
    });

    test('an account without any way to confirm cannot be deleted with its session alone', async () => {
      const bare = await addUser(store, { passwordHash: null });
      const session = { ...caller, user: bare } as Caller;
      const request = { method: 'password', password: PASSWORD, scope: 'account.delete', origin: ORIGIN } as const;
      await refusal(auth.proofs.prove(session, request), 'security_proof.method_mismatch');
      await refusal(auth.account.delete(session, undefined), 'security_proof.required');
    });
  });
}
