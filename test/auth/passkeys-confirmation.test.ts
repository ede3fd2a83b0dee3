import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Auth } from '../../src/auth/index.ts';
import { PROOF_SCOPES } from '../../src/auth/proofs/proof-methods.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { PASSWORD } from '../support/cheap-hash.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { until } from '../support/until.ts';
import { bearer, ORIGIN, openAuth, openTestStore, refreshWith, signIn, testSettings } from './harness.ts';
import { createPerson, logInWith, newAuthenticator, type Person, recordWarnings } from './passkeys-harness.ts';
import { refusal } from './refusal.ts';
import type { Deviation, SoftwareAuthenticator } from './software-authenticator.ts';
import { createTestClock, type TestClock } from './test-clock.ts';

for (const dialect of RULE_DATABASES) {
  describe(`passkeys of a signed-in user on ${dialect}`, () => {
    let store: Store;
    let stop: () => Promise<void>;
    let clock: TestClock;
    let auth: Auth;
    let person: Person;
    let authenticator: SoftwareAuthenticator;

    beforeAll(async () => {
      ({ store, stop } = await openTestStore(dialect));
    });
    afterAll(() => stop());
    beforeEach(async () => {
      clock = createTestClock();
      auth = openAuth(store, { clock });
      person = await createPerson(auth, store);
      authenticator = newAuthenticator();
      await person.register(authenticator, { name: 'First' });
    });

    /** A node on which passkeys are switched off. */
    const switchedOff = () => openAuth(store, { clock, settings: () => testSettings({ enabled: false }) });

    describe('confirming with a passkey', () => {
      test('issues a proof for each scope, and lists only the user’s credentials', async () => {
        // A passkey added today does not count for every scope.
        clock.advance(24 * 60 * 60);
        person.take((await signIn(auth, person.user)).bundle);
        for (const scope of PROOF_SCOPES) {
          const me = await person.principal();
          const begun = await auth.passkeys.confirmation.begin(me, scope);
          expect(begun.expires_at).toBe(clock.unix() + 300);
          const id = authenticator.keys[0]?.id.toString('base64url');
          expect(begun.options.publicKey.allowCredentials).toEqual([
            { id: id ?? '', transports: ['internal'], type: 'public-key' },
          ]);
          const credential = authenticator.get(begun.options.publicKey, { userHandle: null });
          const proof = await auth.passkeys.confirmation.finish(me, { flowToken: begun.flow_token, credential });
          expect(proof).toEqual({
            proof_token: proof.proof_token,
            expires_at: clock.unix() + 300,
            method: 'passkey',
            scope,
          });
          await auth.proofs.require(me, proof.proof_token, scope);
          for (const other of PROOF_SCOPES.filter((each) => each !== scope)) {
            await refusal(auth.proofs.require(me, proof.proof_token, other), 'security_proof.scope_mismatch');
          }
        }
        const [passkey] = await auth.passkeys.list(await person.principal());
        expect(passkey?.last_used_at).toBe(clock.unix());
      });

      test('a proof belongs to its session and ends with the next change of security', async () => {
        const other = await signIn(auth, person.user);
        const proof = await person.confirm(authenticator, 'passkey.delete');
        const elsewhere = await auth.authenticatePanel(bearer(other));
        await refusal(auth.passkeys.delete(elsewhere, { proof }), 'security_proof.invalid');
        const registering = await person.confirm(authenticator, 'passkey.register');
        await person.register(newAuthenticator(), { proof: registering });
        await refusal(auth.passkeys.delete(await person.principal(), { proof }), 'security_proof.invalid');
      });

      test('flows of another user, session or purpose; replay; expiry', async () => {
        const { begin, finish } = auth.passkeys.confirmation;
        const stranger = await createPerson(auth, store);
        const theirs = newAuthenticator();
        await stranger.register(theirs);
        const other = await signIn(auth, person.user);
        const me = await person.principal();
        const { options, flow_token: flowToken } = await begin(me, 'passkey.delete');
        const request = { flowToken, credential: authenticator.get(options.publicKey) };
        await refusal(finish(await stranger.principal(), request), 'auth.flow_invalid');
        await refusal(finish(await auth.authenticatePanel(bearer(other)), request), 'auth.flow_invalid');
        await refusal(auth.passkeys.signIn.finish({ ...request, origin: ORIGIN }), 'auth.flow_invalid');
        const login = await auth.passkeys.signIn.begin();
        const foreign = {
          flowToken: login.flow_token,
          credential: authenticator.get(login.options.publicKey),
        };
        await refusal(finish(me, foreign), 'auth.flow_invalid');
        await finish(me, request);
        await refusal(finish(me, request), 'auth.flow_invalid');

        const late = await begin(me, 'passkey.delete');
        clock.advance(300);
        const tooLate = { flowToken: late.flow_token, credential: authenticator.get(late.options.publicKey) };
        await refusal(finish(me, tooLate), 'auth.flow_invalid');
      });

      const wrong: [string, Deviation, reason: RegExp][] = [
        ['an unknown credential', { credentialId: 'AAAAAAAA' }, /unknown/],
        ['a forged signature', { forge: true }, /signature/],
        ['another challenge', { challenge: 'A'.repeat(43) }, /challenge/],
        ['another origin', { origin: 'https://evil.example' }, /origin/],
        ['another relying party', { rpId: 'evil.example' }, /RP ID/],
        ['a registration', { type: 'webauthn.create' }, /type/],
        ["another user's handle", { userHandle: Buffer.from('999999').toString('base64url') }, /handle/],
      ];
      test.each(wrong)('%s is refused, is no 401, and leaves the flow usable', async (_name, deviation, reason) => {
        const me = await person.principal();
        const { options, flow_token: flowToken } = await auth.passkeys.confirmation.begin(me, 'passkey.delete');
        const finish = (change: Deviation) =>
          auth.passkeys.confirmation.finish(me, {
            flowToken,
            credential: authenticator.get(options.publicKey, change),
          });
        const error = await refusal(finish(deviation), 'auth.passkey_invalid');
        const target = `user:${person.user.id}`;
        // A refusal does not wait for its audit row.
        const rows = async () => (await store.logs.listAudit({ target }, { page: 1, pageSize: 1 })).items;
        await until(async () => (await rows())[0]?.action === 'auth.factor_failed');
        expect(await rows()).toMatchObject([{ authMethod: 'passkey', detail: { reason: 'passkey_invalid' } }]);
        expect(error.kind).toBe('invalid');
        expect(String(error.cause)).toMatch(reason);
        await finish({});
      });

      test("another user's passkey confirms nothing", async () => {
        const stranger = await createPerson(auth, store);
        const theirs = newAuthenticator();
        await stranger.register(theirs);
        const me = await person.principal();
        const { options, flow_token: flowToken } = await auth.passkeys.confirmation.begin(me, 'passkey.delete');
        const credential = theirs.get(options.publicKey);
        const attempt = auth.passkeys.confirmation.finish(me, { flowToken, credential });
        expect((await refusal(attempt, 'auth.passkey_invalid')).cause).toMatch(/another user/);
      });

      test('50 concurrent completions of one flow: one proof', async () => {
        const me = await person.principal();
        const { options, flow_token: flowToken } = await auth.passkeys.confirmation.begin(me, 'passkey.delete');
        const outcomes = await Promise.allSettled(
          Array.from({ length: 50 }, () =>
            auth.passkeys.confirmation.finish(me, { flowToken, credential: authenticator.get(options.publicKey) }),
          ),
        );
        expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      });

      test('a cloned passkey is refused and logged', async () => {
        const counting = newAuthenticator({ counts: true });
        await person.register(counting, { proof: await person.confirm(authenticator, 'passkey.register') });
        await logInWith(auth, counting, { counter: 50 });
        const { logger, warnings } = recordWarnings();
        const node = openAuth(store, { clock, logger });
        const me = await person.principal();
        const { options, flow_token: flowToken } = await node.passkeys.confirmation.begin(me, 'passkey.delete');
        const credential = counting.get(options.publicKey, { counter: 50 });
        await refusal(node.passkeys.confirmation.finish(me, { flowToken, credential }), 'auth.passkey_invalid');
        expect(warnings).toHaveLength(1);
      });

      test('without a usable passkey nothing can begin', async () => {
        const me = await person.principal();
        const moved = openAuth(store, {
          clock,
          settings: () => ({ ...testSettings(), serverAddress: 'https://gateway.example' }),
        });
        await refusal(moved.passkeys.confirmation.begin(me, 'passkey.delete'), 'auth.passkey_not_found');
        const newUser = await (await createPerson(auth, store)).principal();
        await refusal(auth.passkeys.confirmation.begin(newUser, 'channel.key.read'), 'auth.passkey_not_found');
      });

      test('a personal access token gets no proof', async () => {
        const me = await person.principal();
        const { token } = await auth.personalTokens.create(me);
        const pat = await auth.authenticatePanel(`Bearer ${token}`);
        const { begin, finish } = auth.passkeys.confirmation;
        await refusal(begin(pat, 'channel.key.read'), 'auth.session_required');
        const { options, flow_token: flowToken } = await begin(me, 'channel.key.read');
        const request = { flowToken, credential: authenticator.get(options.publicKey) };
        await refusal(finish(pat, request), 'auth.session_required');
      });
    });

    describe('managing passkeys', () => {
      test('lists the user’s passkeys; those of another relying party are unusable', async () => {
        await person.register(newAuthenticator(), {
          name: 'Second',
          proof: await person.confirm(authenticator, 'passkey.register'),
        });
        await (await createPerson(auth, store)).register(newAuthenticator());
        const me = await person.principal();
        const listed = await auth.passkeys.list(me);
        expect(listed.map(({ name, usable }) => [name, usable])).toEqual([
          ['First', true],
          ['Second', true],
        ]);
        const moved = openAuth(store, { clock, settings: () => testSettings({ rpId: 'gateway.example' }) });
        expect((await moved.passkeys.list(me)).map(({ usable }) => usable)).toEqual([false, false]);
        const { token } = await auth.personalTokens.create(me);
        expect(await auth.passkeys.list(await auth.authenticatePanel(`Bearer ${token}`))).toHaveLength(2);
      });

      test('rename', async () => {
        const me = await person.principal();
        const [first] = await auth.passkeys.list(me);
        const id = first?.id ?? 0;
        const renamed = await auth.passkeys.rename(me, id, '  Kitchen key ');
        expect(renamed).toEqual({ passkey: { ...renamed.passkey, id, name: 'Kitchen key' }, previousName: 'First' });
        for (const name of ['', ' ', 'x'.repeat(65), 'a\tb']) {
          await refusal(auth.passkeys.rename(me, id, name), 'auth.validation_failed');
        }
        expect((await auth.passkeys.list(me))[0]?.name).toBe('Kitchen key');
        // This is not a security change.
        await person.principal();
      });

      test("another user's passkey answers like an unknown one", async () => {
        const stranger = await createPerson(auth, store);
        const theirs = newAuthenticator();
        const { passkey } = await stranger.register(theirs, { name: 'Theirs' });
        const me = await person.principal();
        const proof = await person.confirm(authenticator, 'passkey.delete');
        for (const id of [passkey.id, 999_999_999]) {
          await refusal(auth.passkeys.rename(me, id, 'Mine'), 'auth.passkey_not_found');
          await refusal(auth.passkeys.delete(me, { id, proof }), 'auth.passkey_not_found');
        }
        expect((await auth.passkeys.list(await stranger.principal()))[0]?.name).toBe('Theirs');
        expect((await logInWith(auth, theirs)).kind).toBe('session');
      });

      test('deleting one requires a proof, ends the other sessions, and it no longer signs in', async () => {
        const second = newAuthenticator();
        const registering = await person.confirm(authenticator, 'passkey.register');
        const { passkey } = await person.register(second, { name: 'Second', proof: registering });
        const other = await signIn(auth, person.user);
        const me = await person.principal();
        await refusal(auth.passkeys.delete(me, { id: passkey.id, proof: undefined }), 'security_proof.required');
        const wrong = await person.confirm(authenticator, 'passkey.register');
        await refusal(auth.passkeys.delete(me, { id: passkey.id, proof: wrong }), 'security_proof.scope_mismatch');
        const proof = await person.confirm(authenticator, 'passkey.delete');
        const deletion = await auth.passkeys.delete(me, { id: passkey.id, proof });
        expect(deletion.passkeys.map(({ name }) => name)).toEqual(['Second']);
        person.take(deletion.bundle);
        await refusal(auth.authenticatePanel(bearer(other)), 'auth.session_revoked');
        expect((await store.sessions.bySid(other.bundle.session.sid))?.revokedReason).toBe('passkey_deleted');
        await refreshWith(auth, person.signedIn.refreshToken);
        await refusal(logInWith(auth, second), 'auth.invalid_credentials');
        expect((await logInWith(auth, authenticator)).kind).toBe('session');
        // The proof belongs to the versions before.
        await refusal(auth.passkeys.delete(await person.principal(), { proof }), 'security_proof.invalid');
      });

      test('the last passkey cannot be deleted while passwords are off', async () => {
        const noPasswords = openAuth(store, { clock, settings: () => ({ ...testSettings(), passwordSignIn: false }) });
        const proof = await person.confirm(authenticator, 'passkey.delete');
        const me = await person.principal();
        const [{ id } = { id: 0 }] = await auth.passkeys.list(me);
        await refusal(noPasswords.passkeys.delete(me, { id, proof }), 'auth.last_way_in');
        await refusal(noPasswords.passkeys.delete(me, { proof }), 'auth.last_way_in');
        expect(await auth.passkeys.list(await person.principal())).toHaveLength(1);
        // Nothing has changed: session and proof are valid, and the password signs in here.
        expect((await auth.passkeys.delete(me, { id, proof })).passkeys).toHaveLength(1);
      });

      test('after deleting all, a password confirms', async () => {
        const registering = await person.confirm(authenticator, 'passkey.register');
        await person.register(newAuthenticator(), { proof: registering });
        const proof = await person.confirm(authenticator, 'passkey.delete');
        const { bundle, passkeys } = await auth.passkeys.delete(await person.principal(), { proof });
        expect(passkeys).toHaveLength(2);
        person.take(bundle);
        expect(await store.passkeys.list(person.user.id)).toEqual([]);
        const me = await person.principal();
        const byPassword = { method: 'password', password: PASSWORD, scope: 'passkey.delete', origin: ORIGIN } as const;
        const again = await auth.proofs.prove(me, byPassword);
        await refusal(auth.passkeys.delete(me, { proof: again.proof_token }), 'auth.passkey_not_found');
        // There was nothing to delete, so nothing changed.
        await person.principal();
      });

      test('with two-factor on, a code confirms too', async () => {
        const prove = await person.enableTwoFactor(clock);
        const proof = await prove('passkey.delete');
        expect((await auth.passkeys.delete(await person.principal(), { proof })).passkeys).toHaveLength(1);
      });

      test('ten concurrent deletions: one changes the account', async () => {
        const proof = await person.confirm(authenticator, 'passkey.delete');
        const me = await person.principal();
        const outcomes = await Promise.allSettled(
          Array.from({ length: 10 }, () => auth.passkeys.delete(me, { proof })),
        );
        expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      });
    });

    test('while passkeys are off, owners can list, rename and delete them only', async () => {
      const node = switchedOff();
      const me = await person.principal();
      const { registration, signIn: login, confirmation } = node.passkeys;
      const honest = await auth.passkeys.signIn.begin();
      const credential = authenticator.get(honest.options.publicKey);
      const created = newAuthenticator().create({ challenge: 'A'.repeat(43), rp: {}, user: { id: 'MQ' } });
      const flowToken = honest.flow_token;
      for (const attempt of [
        registration.begin(me, undefined),
        registration.finish(me, { flowToken, credential: created, proof: undefined }),
        login.begin(),
        login.finish({ flowToken, credential, origin: ORIGIN }),
        confirmation.begin(me, 'passkey.delete'),
        confirmation.finish(me, { flowToken, credential }),
      ]) {
        expect((await refusal(attempt, 'auth.method_disabled')).kind).toBe('forbidden');
      }
      const [first] = await node.passkeys.list(me);
      expect(first).toMatchObject({ name: 'First', usable: true });
      await node.passkeys.rename(me, first?.id ?? 0, 'Still mine');
      const byPassword = { method: 'password', password: PASSWORD, scope: 'passkey.delete', origin: ORIGIN } as const;
      const proof = await node.proofs.prove(me, byPassword);
      const { passkeys } = await node.passkeys.delete(me, { id: first?.id, proof: proof.proof_token });
      expect(passkeys.map(({ name }) => name)).toEqual(['Still mine']);
    });
  });
}
