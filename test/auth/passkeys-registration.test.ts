import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Auth } from '../../src/auth/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { bearer, ORIGIN, openAuth, openTestStore, refreshWith, signIn, testSettings } from './harness.ts';
import { createPerson, newAuthenticator, type Person } from './passkeys-harness.ts';
import { refusal } from './refusal.ts';
import type { Deviation } from './software-authenticator.ts';
import { createTestClock, type TestClock } from './test-clock.ts';

for (const dialect of RULE_DATABASES) {
  describe(`registering passkeys on ${dialect}`, () => {
    let store: Store;
    let stop: () => Promise<void>;
    let clock: TestClock;
    let auth: Auth;
    let person: Person;

    beforeAll(async () => {
      ({ store, stop } = await openTestStore(dialect));
    });
    afterAll(() => stop());
    beforeEach(async () => {
      clock = createTestClock();
      auth = openAuth(store, { clock });
      person = await createPerson(auth, store);
    });

    const begin = async (who: Person, proof?: string) => auth.passkeys.registration.begin(await who.principal(), proof);
    const count = async (who: Person) => (await store.passkeys.list(who.user.id)).length;

    test('the options ask for a discoverable passkey of this user and no attestation', async () => {
      const first = await begin(person);
      expect(first.expires_at).toBe(clock.unix() + 300);
      expect(first.flow_token).toMatch(/^[\w-]{43}$/);
      const { publicKey } = first.options;
      expect(publicKey.rp).toEqual({ id: 'localhost', name: 'Taskgate' });
      expect(Buffer.from(publicKey.user.id, 'base64url').toString()).toBe(String(person.user.id));
      expect(publicKey.user.name).toBe(person.user.username);
      expect(publicKey.authenticatorSelection).toEqual({
        residentKey: 'required',
        requireResidentKey: true,
        userVerification: 'preferred',
      });
      expect(publicKey.attestation).toBe('none');
      expect(publicKey.timeout).toBe(300_000);
      expect(Buffer.from(publicKey.challenge, 'base64url')).toHaveLength(32);
      expect(publicKey.excludeCredentials).toEqual([]);
      expect(publicKey.pubKeyCredParams.map(({ alg }) => alg)).toEqual([-8, -7, -257]);
      expect((await begin(person)).options.publicKey.challenge).not.toBe(publicKey.challenge);

      const authenticator = newAuthenticator();
      await person.register(authenticator);
      const again = await begin(person, await person.confirm(authenticator, 'passkey.register'));
      const id = authenticator.keys[0]?.id.toString('base64url') ?? '';
      expect(again.options.publicKey.excludeCredentials).toEqual([
        { id, transports: ['internal'], type: 'public-key' },
      ]);
    });

    test('settings: name, attachment and user verification reach the browser', async () => {
      const settings = () =>
        testSettings({ rpDisplayName: 'My gateway', attachment: 'cross-platform', userVerification: 'required' });
      const node = openAuth(store, { clock, settings });
      const { options } = await node.passkeys.registration.begin(await person.principal(), undefined);
      expect(options.publicKey.rp.name).toBe('My gateway');
      expect(options.publicKey.authenticatorSelection).toMatchObject({
        authenticatorAttachment: 'cross-platform',
        userVerification: 'required',
      });
    });

    test('the first passkey requires no proof, ends the other sessions and keeps this one', async () => {
      const other = await signIn(auth, person.user);
      const before = person.signedIn;
      const { bundle, passkey } = await person.register(newAuthenticator({ backedUp: true }), { name: '  My key ' });
      expect(Object.keys(bundle).sort()).toEqual(['access_expires_at', 'access_token', 'session', 'token_type']);
      expect(bundle.session.sid).toBe(before.bundle.session.sid);
      expect(passkey).toEqual({
        id: passkey.id,
        name: 'My key',
        created_at: clock.unix(),
        last_used_at: 0,
        backed_up: true,
        usable: true,
      });
      await refusal(auth.authenticatePanel(bearer(before)), 'auth.session_revoked');
      await refusal(auth.authenticatePanel(bearer(other)), 'auth.session_revoked');
      expect((await store.sessions.bySid(other.bundle.session.sid))?.revokedReason).toBe('passkey_registered');
      expect((await refreshWith(auth, before.refreshToken)).bundle.user.passkeys).toBe(1);
    });

    test('lock-out: an account without a password also registers its first passkey without a proof, and needs one for the next', async () => {
      const me = await person.principal();
      const passwordless = { ...me, user: { ...me.user, passwordHash: null } };
      const { registration } = auth.passkeys;
      const { options, flow_token: flowToken } = await registration.begin(passwordless, undefined);
      const credential = newAuthenticator().create(options.publicKey);
      const made = await registration.finish(passwordless, { flowToken, credential, proof: undefined });
      person.take(made.bundle);
      const now = await person.principal();
      await refusal(
        registration.begin({ ...now, user: { ...now.user, passwordHash: null } }, undefined),
        'security_proof.required',
      );
    });

    test('a second passkey requires a passkey proof at both steps, and a wrong one keeps the flow usable', async () => {
      const authenticator = newAuthenticator();
      await person.register(authenticator);
      await refusal(begin(person), 'security_proof.required');
      const proof = await person.confirm(authenticator, 'passkey.register');
      const me = await person.principal();
      const { options, flow_token: flowToken } = await begin(person, proof);
      const credential = authenticator.create(options.publicKey);
      const finish = (given: string | undefined) =>
        auth.passkeys.registration.finish(me, { flowToken, credential, proof: given });
      const { access_token: access } = (await refreshWith(auth, person.signedIn.refreshToken)).bundle;
      const elsewhere = await createPerson(auth, store);
      const theirs = newAuthenticator();
      await elsewhere.register(theirs);

      await refusal(finish(undefined), 'security_proof.required');
      await refusal(finish(access), 'security_proof.invalid');
      await refusal(finish(await elsewhere.confirm(theirs, 'passkey.register')), 'security_proof.invalid');
      const [first] = authenticator.keys;
      const begun = await auth.passkeys.confirmation.begin(me, 'passkey.delete');
      const forDeletion = await auth.passkeys.confirmation.finish(me, {
        flowToken: begun.flow_token,
        credential: authenticator.get(begun.options.publicKey, {}, first),
      });
      await refusal(finish(forDeletion.proof_token), 'security_proof.scope_mismatch');
      expect((await finish(proof)).passkey.name).toBe('Passkey 2');
      expect(await count(person)).toBe(2);
    });

    test('with two-factor on, the first passkey requires a proof at both steps', async () => {
      const authenticator = newAuthenticator();
      // Begun earlier: the state at the second step decides.
      const early = await begin(person);
      const prove = await person.enableTwoFactor(clock);
      const me = await person.principal();
      const credential = authenticator.create(early.options.publicKey);
      const finish = (proof?: string) =>
        auth.passkeys.registration.finish(me, { flowToken: early.flow_token, credential, proof });
      await refusal(begin(person), 'security_proof.required');
      await refusal(finish(), 'security_proof.required');
      const proof = await prove('passkey.register');
      await begin(person, proof);
      expect((await finish(proof)).passkey.name).toBe('Passkey 1');
    });

    test('an expired proof', async () => {
      const authenticator = newAuthenticator();
      await person.register(authenticator);
      const proof = await person.confirm(authenticator, 'passkey.register');
      clock.advance(306);
      await refusal(begin(person, proof), 'security_proof.expired');
    });

    describe('flows', () => {
      test('replay: a completed flow is refused', async () => {
        const { options, flow_token: flowToken } = await begin(person);
        const authenticator = newAuthenticator();
        const credential = authenticator.create(options.publicKey);
        const { bundle } = await auth.passkeys.registration.finish(await person.principal(), {
          flowToken,
          credential,
          proof: undefined,
        });
        person.take(bundle);
        const proof = await person.confirm(authenticator, 'passkey.register');
        const again = { flowToken, credential: authenticator.create(options.publicKey), proof };
        await refusal(auth.passkeys.registration.finish(await person.principal(), again), 'auth.flow_invalid');
        expect(await count(person)).toBe(1);
      });

      test('a flow of another user, session or purpose, an expired one and an invented one', async () => {
        const stranger = await createPerson(auth, store);
        const secondSession = await signIn(auth, person.user);
        const { options, flow_token: flowToken } = await begin(person);
        const credential = newAuthenticator().create(options.publicKey);
        const request = { flowToken, credential, proof: undefined };
        const { finish } = auth.passkeys.registration;
        await refusal(finish(await stranger.principal(), request), 'auth.flow_invalid');
        await refusal(finish(await auth.authenticatePanel(bearer(secondSession)), request), 'auth.flow_invalid');
        const login = await auth.passkeys.signIn.begin();
        const me = await person.principal();
        await refusal(finish(me, { ...request, flowToken: login.flow_token }), 'auth.flow_invalid');
        for (const invented of ['', 'x', 'A'.repeat(43), `${flowToken}A`, `${flowToken}\0`]) {
          await refusal(finish(me, { ...request, flowToken: invented }), 'auth.flow_invalid');
        }
        clock.advance(300);
        await refusal(finish(await person.principal(), request), 'auth.flow_invalid');
        expect(await count(person)).toBe(0);
      });

      test('cross-use: a registration flow is refused in other ceremonies', async () => {
        const authenticator = newAuthenticator();
        await person.register(authenticator);
        const proof = await person.confirm(authenticator, 'passkey.register');
        const { options, flow_token: flowToken } = await begin(person, proof);
        const credential = authenticator.get(options.publicKey);
        const origin = ORIGIN;
        await refusal(auth.passkeys.signIn.finish({ flowToken, credential, origin }), 'auth.flow_invalid');
        const me = await person.principal();
        await refusal(auth.passkeys.confirmation.finish(me, { flowToken, credential }), 'auth.flow_invalid');
      });

      test('50 concurrent completions of one flow: one passkey', async () => {
        const { options, flow_token: flowToken } = await begin(person);
        const authenticator = newAuthenticator();
        const me = await person.principal();
        const outcomes = await Promise.allSettled(
          Array.from({ length: 50 }, () =>
            auth.passkeys.registration.finish(me, {
              flowToken,
              credential: authenticator.create(options.publicKey),
              proof: undefined,
            }),
          ),
        );
        expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
        expect(await count(person)).toBe(1);
        expect((await store.users.byId(person.user.id))?.authVersion).toBe(person.user.authVersion + 1);
      });

      test('two first passkeys at once: one succeeds, since the other would need a proof', async () => {
        const flows = [await begin(person), await begin(person)];
        const me = await person.principal();
        const outcomes = await Promise.allSettled(
          flows.map(({ options, flow_token: flowToken }) =>
            auth.passkeys.registration.finish(me, {
              flowToken,
              credential: newAuthenticator().create(options.publicKey),
              proof: undefined,
            }),
          ),
        );
        expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
        expect(await count(person)).toBe(1);
      });
    });

    describe('refused registrations keep the flow usable', () => {
      const wrong: [string, Deviation, reason: RegExp][] = [
        ['another challenge', { challenge: 'A'.repeat(43) }, /challenge/],
        ['a page of another origin', { origin: 'https://evil.example' }, /origin/],
        ['another port', { origin: 'http://localhost:3001' }, /origin/],
        ['another scheme', { origin: 'https://localhost:3000' }, /origin/],
        ['another relying party', { rpId: 'evil.example' }, /RP ID/],
        ['a login instead of a registration', { type: 'webauthn.get' }, /type/],
        ['a frame in another site', { crossOrigin: true }, /frame/],
        ['nobody at the authenticator', { present: false }, /not present/],
        ['an algorithm that was not asked for', { algorithm: -39 }, /alg/],
        ['an id that is not that of the key', { credentialId: 'AAAA' }, /Credential ID/],
      ];
      test.each(wrong)('%s', async (_name, deviation, reason) => {
        const { options, flow_token: flowToken } = await begin(person);
        const authenticator = newAuthenticator();
        const me = await person.principal();
        const finish = (change: Deviation) =>
          auth.passkeys.registration.finish(me, {
            flowToken,
            credential: authenticator.create(options.publicKey, change),
            proof: undefined,
          });
        const error = await refusal(finish(deviation), 'auth.passkey_invalid');
        expect([error.kind, error.message]).toEqual(['invalid', 'The passkey was not accepted. Start again.']);
        expect(String(error.cause)).toMatch(reason);
        expect(await count(person)).toBe(0);
        await finish({});
        expect(await count(person)).toBe(1);
      });

      test('an authenticator without user verification, where that is required', async () => {
        const node = openAuth(store, { clock, settings: () => testSettings({ userVerification: 'required' }) });
        const me = await person.principal();
        const { options, flow_token: flowToken } = await node.passkeys.registration.begin(me, undefined);
        const credential = newAuthenticator({ verifies: false }).create(options.publicKey);
        const request = { flowToken, credential, proof: undefined };
        await refusal(node.passkeys.registration.finish(me, request), 'auth.passkey_invalid');
        // Otherwise a touch is enough.
        await auth.passkeys.registration.finish(me, request);
      });

      test('garbage in every field', async () => {
        const { options, flow_token: flowToken } = await begin(person);
        const honest = newAuthenticator().create(options.publicKey);
        const me = await person.principal();
        const nested = Buffer.alloc(40_000, 0x81).toString('base64url');
        const endless = Buffer.from([0x9b, 255, 255, 255, 255, 255, 255, 255, 255]).toString('base64url');
        for (const response of [
          { clientDataJSON: '' },
          { clientDataJSON: 'bnVsbA' },
          { clientDataJSON: 'not json' },
          { attestationObject: '' },
          { attestationObject: 'AAAA' },
          { attestationObject: 'oA' },
          { attestationObject: nested },
          { attestationObject: endless },
          { attestationObject: honest.response.attestationObject.slice(0, -20) },
        ]) {
          const credential = { ...honest, response: { ...honest.response, ...response } };
          const request = { flowToken, credential, proof: undefined };
          await refusal(auth.passkeys.registration.finish(me, request), 'auth.passkey_invalid');
        }
      });
    });

    test('SSRF by attestation: an unrequested certificate is neither checked nor followed', async () => {
      const asked: string[] = [];
      const listener = Bun.serve({
        port: 0,
        hostname: '127.0.0.1',
        fetch(request) {
          asked.push(request.url);
          return new Response('');
        },
      });
      try {
        for (const fmt of ['packed', 'fido-u2f', 'android-key', 'android-safetynet', 'apple', 'tpm', 'unheard-of']) {
          const owner = await createPerson(auth, store);
          const { options, flow_token: flowToken } = await begin(owner);
          const certificate = Buffer.from(`http://127.0.0.1:${listener.port}/crl`);
          const attStmt = new Map<string, Buffer | Buffer[]>([
            ['x5c', [certificate]],
            ['sig', certificate],
          ]);
          const credential = newAuthenticator().create(options.publicKey, { attestation: { fmt, attStmt } });
          await auth.passkeys.registration.finish(await owner.principal(), { flowToken, credential, proof: undefined });
          expect(await count(owner)).toBe(1);
        }
      } finally {
        await listener.stop(true);
      }
      expect(asked).toEqual([]);
    });

    test('an already registered passkey stays with its owner', async () => {
      const authenticator = newAuthenticator();
      await person.register(authenticator);
      const stranger = await createPerson(auth, store);
      const [key] = authenticator.keys;
      for (const who of [stranger, person]) {
        const proof = who === person ? await person.confirm(authenticator, 'passkey.register') : undefined;
        const { options, flow_token: flowToken } = await begin(who, proof);
        const thief = newAuthenticator();
        const forged = thief.create(options.publicKey);
        const attestation = Buffer.from(forged.response.attestationObject, 'base64url');
        // The same credential id with the thief's key.
        attestation.set(key?.id ?? [], attestation.indexOf(thief.keys[0]?.id ?? ''));
        const id = key?.id.toString('base64url') ?? '';
        const credential = {
          ...forged,
          id,
          rawId: id,
          response: { ...forged.response, attestationObject: attestation.toString('base64url') },
        };
        const request = { flowToken, credential, proof };
        await refusal(auth.passkeys.registration.finish(await who.principal(), request), 'auth.passkey_taken');
      }
      expect(await count(stranger)).toBe(0);
      const owned = await store.passkeys.byCredentialId(key?.id.toString('base64url') ?? '');
      expect(owned?.userId).toBe(person.user.id);
      await person.confirm(authenticator, 'passkey.delete');
    });

    test('an account holds at most 20', async () => {
      const authenticator = newAuthenticator();
      await person.register(authenticator);
      const [mine] = await store.passkeys.list(person.user.id);
      const proof = await person.confirm(authenticator, 'passkey.register');
      const early = await begin(person, proof);
      for (let i = 2; i <= 20; i += 1) {
        await store.passkeys.insert({
          userId: person.user.id,
          credentialId: `${mine?.credentialId}-${i}`,
          publicKey: mine?.publicKey ?? '',
          rpId: 'localhost',
          name: `Passkey ${i}`,
          counter: 0,
          transports: [],
          backedUp: false,
          createdAt: clock.unix(),
        });
      }
      await refusal(begin(person, proof), 'auth.passkey_limit');
      const credential = authenticator.create(early.options.publicKey);
      const request = { flowToken: early.flow_token, credential, proof };
      const me = await person.principal();
      const error = await refusal(auth.passkeys.registration.finish(me, request), 'auth.passkey_limit');
      expect(error.message).toContain('at most 20');
      expect(await count(person)).toBe(20);
      // The refusal used nothing up.
      const last = (await store.passkeys.list(person.user.id)).at(-1);
      await store.passkeys.delete(last?.id ?? 0, person.user.id);
      await auth.passkeys.registration.finish(me, request);
      expect(await count(person)).toBe(20);
    });

    test('names: the trimmed input, or the next free number', async () => {
      const authenticator = newAuthenticator();
      const names: string[] = [];
      for (const name of [undefined, 'Passkey 3', undefined, `  ${'🔑'.repeat(64)}`]) {
        const proof = names.length === 0 ? undefined : await person.confirm(authenticator, 'passkey.register');
        names.push((await person.register(authenticator, { name, proof })).passkey.name);
      }
      expect(names).toEqual(['Passkey 1', 'Passkey 3', 'Passkey 4', '🔑'.repeat(64)]);

      const proof = await person.confirm(authenticator, 'passkey.register');
      for (const name of ['', '   ', 'x'.repeat(65), 'a\nb', 'a\0', '\u0085', '\ud800']) {
        const error = await refusal(person.register(authenticator, { name, proof }), 'auth.validation_failed');
        expect(error.param).toBe('name');
      }
    });

    test('a personal access token cannot register passkeys', async () => {
      const { token } = await auth.personalTokens.create(await person.principal());
      const pat = await auth.authenticatePanel(`Bearer ${token}`);
      expect(pat.kind).toBe('pat');
      await refusal(auth.passkeys.registration.begin(pat, undefined), 'auth.session_required');
      const { options, flow_token: flowToken } = await begin(person);
      const request = { flowToken, credential: newAuthenticator().create(options.publicKey), proof: undefined };
      await refusal(auth.passkeys.registration.finish(pat, request), 'auth.session_required');
    });
  });
}
