import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Auth } from '../../src/auth/index.ts';
import { PROOF_SCOPES, type ProofScope } from '../../src/auth/proofs/proof-methods.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { PASSWORD } from '../support/cheap-hash.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { createApp } from './authenticator-app.ts';
import { ORIGIN, openAuth, openTestStore, signIn } from './harness.ts';
import { createPerson, newAuthenticator, type Person } from './passkeys-harness.ts';
import { refusal } from './refusal.ts';
import { createTestClock, type TestClock } from './test-clock.ts';

const DAY = 24 * 60 * 60;

for (const dialect of RULE_DATABASES) {
  describe(`account takeover: a stolen session adds a factor of its own on ${dialect}`, () => {
    let store: Store;
    let stop: () => Promise<void>;
    let clock: TestClock;
    let auth: Auth;
    let root: Person;

    beforeAll(async () => {
      ({ store, stop } = await openTestStore(dialect));
    });
    afterAll(() => stop());
    beforeEach(async () => {
      clock = createTestClock();
      auth = openAuth(store, { clock });
      root = await createPerson(auth, store, { role: 100 });
    });

    const methods = async (scope: ProofScope) => (await auth.proofs.describe(await root.principal(), scope)).methods;
    const signInAgain = async () => root.take((await signIn(auth, root.user)).bundle);
    const signInWithCode = async (code: string) => {
      const first = await auth.passwords.signIn({ username: root.user.username, password: PASSWORD, origin: ORIGIN });
      if (first.kind !== 'require_2fa') throw new Error('no second factor was asked');
      const second = await auth.twoFactor.finishSignIn({ code, flowToken: first.data.flow_token, origin: ORIGIN });
      if (second.kind === 'session') root.take(second.bundle);
    };
    const byCode = async (code: string, scope: ProofScope) =>
      auth.proofs.prove(await root.principal(), { method: '2fa', code, scope, origin: ORIGIN });

    test('a first passkey, which requires no proof, changes no setting and no email address', async () => {
      const thief = newAuthenticator();
      await root.register(thief);
      for (const scope of ['settings.security', 'account.email'] as const) {
        expect(await methods(scope)).toEqual(['password']);
        await refusal(root.confirm(thief, scope), 'auth.passkey_not_found');
      }
      const other = await root.confirm(thief, 'channel.key.read');
      const carried = auth.proofs.require(await root.principal(), other, 'settings.security');
      await refusal(carried, 'security_proof.method_mismatch');
      // The owner, who has the password, can still confirm.
      const request = { method: 'password', password: PASSWORD, scope: 'settings.security', origin: ORIGIN } as const;
      const { proof_token: proof } = await auth.proofs.prove(await root.principal(), request);
      await auth.proofs.require(await root.principal(), proof, 'settings.security');
    });

    test('an authenticator app set up long before it was enabled counts as new', async () => {
      const { secret, backup_codes: codes } = await auth.twoFactor.setUp(await root.principal());
      clock.advance(DAY);
      await signInAgain();
      root.take(await auth.twoFactor.enable(await root.principal(), createApp(secret, clock).code()));
      expect((await store.twoFactor.byUser(root.user.id))?.createdAt).toBe(clock.unix());
      expect(await methods('settings.security')).toEqual(['password']);
      await refusal(byCode(codes.pop() ?? '', 'settings.security'), 'security_proof.method_mismatch');
    });

    test('with an old passkey, neither a new app nor factors confirmed by it count', async () => {
      const owner = newAuthenticator();
      await root.register(owner);
      clock.advance(DAY);
      await signInAgain();
      expect(await methods('settings.security')).toEqual(['passkey']);
      const { secret, backup_codes: codes } = await auth.twoFactor.setUp(await root.principal());
      root.take(await auth.twoFactor.enable(await root.principal(), createApp(secret, clock).code()));
      expect(await methods('settings.security')).toEqual(['passkey']);
      for (const scope of PROOF_SCOPES) {
        expect(await methods(scope)).toEqual(['passkey']);
        await refusal(byCode(codes.pop() ?? '', scope), 'security_proof.method_mismatch');
      }
      // The owner adds another passkey, which does not count either.
      const proof = await root.confirm(owner, 'passkey.register');
      const second = newAuthenticator();
      await root.register(second, { proof });
      await refusal(root.confirm(second, 'settings.security'), 'auth.passkey_invalid');
      await refusal(root.confirm(second, 'channel.key.read'), 'auth.passkey_invalid');
      const made = await root.confirm(owner, 'settings.security');
      await auth.proofs.require(await root.principal(), made, 'settings.security');
      clock.advance(DAY);
      await signInWithCode(codes.pop() ?? '');
      expect(await methods('channel.key.read')).toEqual(['2fa', 'passkey']);
    });

    test('with an old app, a new passkey does not count, and no other scope is easier', async () => {
      const { secret, backup_codes: codes } = await auth.twoFactor.setUp(await root.principal());
      root.take(await auth.twoFactor.enable(await root.principal(), createApp(secret, clock).code()));
      clock.advance(DAY);
      await signInWithCode(codes.pop() ?? '');
      const { proof_token: proof } = await byCode(codes.pop() ?? '', 'passkey.register');
      const added = newAuthenticator();
      await root.register(added, { proof });
      for (const scope of PROOF_SCOPES) expect(await methods(scope)).toEqual(['2fa']);
      await refusal(root.confirm(added, 'passkey.delete'), 'auth.passkey_not_found');
    });

    test('an account without a password confirms with its old passkey, not with a new app', async () => {
      await root.register(newAuthenticator());
      clock.advance(DAY);
      await signInAgain();
      const { secret } = await auth.twoFactor.setUp(await root.principal());
      root.take(await auth.twoFactor.enable(await root.principal(), createApp(secret, clock).code()));
      const principal = await root.principal();
      const passwordless = { ...principal, user: { ...principal.user, passwordHash: null } };
      for (const scope of PROOF_SCOPES)
        expect((await auth.proofs.describe(passwordless, scope)).methods).toEqual(['passkey']);
    });
  });
}
