import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Auth } from '../../src/auth/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { expectSignInRow, ORIGIN, openAuth, openTestStore, overriding, refreshWith, testSettings } from './harness.ts';
import { createPerson, logInWith, newAuthenticator, type Person, recordWarnings } from './passkeys-harness.ts';
import { refusal } from './refusal.ts';
import type { Deviation, SoftwareAuthenticator } from './software-authenticator.ts';
import { createTestClock, type TestClock } from './test-clock.ts';

for (const dialect of RULE_DATABASES) {
  describe(`signing in with a passkey on ${dialect}`, () => {
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
      await person.register(authenticator);
    });

    const readPasskey = async (who: Person) => {
      const [passkey] = await store.passkeys.list(who.user.id);
      if (!passkey) throw new Error('there is no passkey');
      return passkey;
    };
    const issued = (who: Person) => store.sessions.countIssued(who.user.id, 0);

    test('requires no name, reveals no credential, and returns the common login result', async () => {
      const { options, flow_token: flowToken, expires_at: expiresAt } = await auth.passkeys.signIn.begin();
      expect(expiresAt).toBe(clock.unix() + 300);
      expect(options.publicKey).toMatchObject({ rpId: 'localhost', userVerification: 'preferred', timeout: 300_000 });
      expect(options.publicKey.allowCredentials).toBeUndefined();
      clock.advance(60);
      const credential = authenticator.get(options.publicKey);
      const result = await auth.passkeys.signIn.finish({ flowToken, credential, origin: ORIGIN });
      if (result.kind !== 'session') throw new Error('a second factor was asked');
      expect(result.bundle.user).toMatchObject({ id: person.user.id, passkeys: 1 });
      expect(result.bundle.session).toMatchObject({ login_method: 'passkey', current: true, ip: ORIGIN.ip });
      await expectSignInRow(store, person.user, 'passkey');
      expect((await refreshWith(auth, result.refreshToken)).bundle.user.id).toBe(person.user.id);
      expect((await readPasskey(person)).lastUsedAt).toBe(clock.unix());
      // This is not a security change: other sessions stay.
      await person.principal();
    });

    test('the second factor is required unless the authenticator verified the user', async () => {
      expect((await logInWith(auth, authenticator, { verified: false })).kind).toBe('session');
      await person.enableTwoFactor(clock);
      const sessions = await issued(person);
      expect((await logInWith(auth, authenticator, { verified: true })).kind).toBe('session');
      expect(await issued(person)).toBe(sessions + 1);
      const due = await logInWith(auth, authenticator, { verified: false });
      expect(due).toMatchObject({ kind: 'require_2fa', data: { require_2fa: true, expires_at: clock.unix() + 300 } });
      expect(await issued(person)).toBe(sessions + 1);
    });

    describe('refusals look alike and leave the flow usable', () => {
      const shapes = new Set<string>();
      const wrong: [string, Deviation, reason: RegExp][] = [
        ['an unknown credential', { credentialId: 'AAAAAAAA' }, /unknown/],
        ['a forged signature', { forge: true }, /signature/],
        ['another challenge', { challenge: 'A'.repeat(43) }, /challenge/],
        ['phishing: a page of another origin', { origin: 'https://localhost.evil.example' }, /origin/],
        ['another port', { origin: 'http://localhost:3001' }, /origin/],
        ['another relying party', { rpId: 'evil.example' }, /RP ID/],
        ['a registration instead of a login', { type: 'webauthn.create' }, /type/],
        ['a frame in another site', { crossOrigin: true }, /frame/],
        ['nobody at the authenticator', { present: false }, /not present/],
        ['no user handle', { userHandle: null }, /handle/],
        ['an empty user handle', { userHandle: '' }, /handle/],
        ["another user's handle", { userHandle: Buffer.from('999999').toString('base64url') }, /handle/],
      ];
      test.each(wrong)('%s', async (_name, deviation, reason) => {
        const { options, flow_token: flowToken } = await auth.passkeys.signIn.begin();
        const finish = (change: Deviation) =>
          auth.passkeys.signIn.finish({
            flowToken,
            credential: authenticator.get(options.publicKey, change),
            origin: ORIGIN,
          });
        const error = await refusal(finish(deviation), 'auth.invalid_credentials');
        expect(String(error.cause)).toMatch(reason);
        shapes.add(JSON.stringify([error.kind, error.message, error.param, error.details, error.retryAfterSeconds]));
        expect((await finish({})).kind).toBe('session');
      });

      test('a disabled owner, a deleted owner, and a deleted passkey', async () => {
        const { options, flow_token: flowToken } = await auth.passkeys.signIn.begin();
        const credential = authenticator.get(options.publicKey);
        for (const present of [{ ...person.user, status: 2 as const }, undefined]) {
          const users = overriding(store.users, { byId: async () => present });
          const node = openAuth(overriding(store, { users }), { clock });
          const attempt = node.passkeys.signIn.finish({ flowToken, credential, origin: ORIGIN });
          const error = await refusal(attempt, 'auth.invalid_credentials');
          shapes.add(JSON.stringify([error.kind, error.message, error.param, error.details, error.retryAfterSeconds]));
        }
        await store.passkeys.deleteAll(person.user.id);
        const attempt = auth.passkeys.signIn.finish({ flowToken, credential, origin: ORIGIN });
        const error = await refusal(attempt, 'auth.invalid_credentials');
        shapes.add(JSON.stringify([error.kind, error.message, error.param, error.details, error.retryAfterSeconds]));
      });

      test('enumeration: all of them got the same answer', () => {
        expect([...shapes]).toEqual([
          JSON.stringify(['unauthenticated', 'The passkey was not accepted.', undefined, undefined, undefined]),
        ]);
      });

      test('garbage in every field', async () => {
        const { options, flow_token: flowToken } = await auth.passkeys.signIn.begin();
        const honest = authenticator.get(options.publicKey);
        for (const response of [
          { clientDataJSON: '' },
          { clientDataJSON: 'bnVsbA' },
          { authenticatorData: '' },
          { authenticatorData: 'AAAA' },
          { authenticatorData: Buffer.alloc(37, 0xff).toString('base64url') },
          { signature: '' },
          { signature: 'AAAA' },
          { signature: Buffer.alloc(4000, 1).toString('base64url') },
          { userHandle: 'A'.repeat(86) },
        ]) {
          const credential = { ...honest, response: { ...honest.response, ...response } };
          const attempt = auth.passkeys.signIn.finish({ flowToken, credential, origin: ORIGIN });
          await refusal(attempt, 'auth.invalid_credentials');
        }
        expect((await auth.passkeys.signIn.finish({ flowToken, credential: honest, origin: ORIGIN })).kind).toBe(
          'session',
        );
      });
    });

    test('an authenticator without user verification, where that is required', async () => {
      const node = openAuth(store, { clock, settings: () => testSettings({ userVerification: 'required' }) });
      await refusal(logInWith(node, authenticator, { verified: false }), 'auth.invalid_credentials');
      expect((await logInWith(node, authenticator)).kind).toBe('session');
    });

    describe('flows', () => {
      test('replay of a login', async () => {
        const { options, flow_token: flowToken } = await auth.passkeys.signIn.begin();
        const login = { flowToken, credential: authenticator.get(options.publicKey), origin: ORIGIN };
        await auth.passkeys.signIn.finish(login);
        await refusal(auth.passkeys.signIn.finish(login), 'auth.flow_invalid');
        // Nor with a new flow: the signature covers the other challenge.
        const { flow_token: another } = await auth.passkeys.signIn.begin();
        await refusal(auth.passkeys.signIn.finish({ ...login, flowToken: another }), 'auth.invalid_credentials');
      });

      test('cross-use: flows of other purposes, an expired one and an invented one', async () => {
        const me = await person.principal();
        const proof = await person.confirm(authenticator, 'passkey.register');
        const foreign = [
          await auth.passkeys.confirmation.begin(me, 'passkey.delete'),
          await auth.passkeys.registration.begin(me, proof),
        ];
        for (const { options, flow_token: flowToken } of foreign) {
          const credential = authenticator.get(options.publicKey);
          await refusal(auth.passkeys.signIn.finish({ flowToken, credential, origin: ORIGIN }), 'auth.flow_invalid');
        }
        const { options, flow_token: flowToken } = await auth.passkeys.signIn.begin();
        const credential = authenticator.get(options.publicKey);
        const login = { flowToken, credential, origin: ORIGIN };
        await refusal(auth.passkeys.signIn.finish({ ...login, flowToken: 'A'.repeat(43) }), 'auth.flow_invalid');
        clock.advance(300);
        await refusal(auth.passkeys.signIn.finish(login), 'auth.flow_invalid');
      });

      test('50 concurrent completions of one flow: one session', async () => {
        const before = await issued(person);
        const { options, flow_token: flowToken } = await auth.passkeys.signIn.begin();
        const outcomes = await Promise.allSettled(
          Array.from({ length: 50 }, () =>
            auth.passkeys.signIn.finish({
              flowToken,
              credential: authenticator.get(options.publicKey),
              origin: ORIGIN,
            }),
          ),
        );
        expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
        expect(await issued(person)).toBe(before + 1);
      });

      test('50 concurrent logins with one assertion of a counting authenticator, each in its own flow: at most one succeeds', async () => {
        const counting = newAuthenticator({ counts: true });
        await person.register(counting, { proof: await person.confirm(authenticator, 'passkey.register') });
        const before = await issued(person);
        const flows = await Promise.all(Array.from({ length: 50 }, () => auth.passkeys.signIn.begin()));
        const outcomes = await Promise.allSettled(
          flows.map(({ options, flow_token: flowToken }) =>
            auth.passkeys.signIn.finish({
              flowToken,
              credential: counting.get(options.publicKey, { counter: 77 }),
              origin: ORIGIN,
            }),
          ),
        );
        expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
        expect(await issued(person)).toBe(before + 1);
      });

      test('a session issuance limit changes neither flow nor counter', async () => {
        const counting = newAuthenticator({ counts: true });
        await person.register(counting, { proof: await person.confirm(authenticator, 'passkey.register') });
        const full = openAuth(store, { clock, config: { activeSessionLimit: 1 } });
        const { options, flow_token: flowToken } = await full.passkeys.signIn.begin();
        const login = { flowToken, credential: counting.get(options.publicKey), origin: ORIGIN };
        await refusal(full.passkeys.signIn.finish(login), 'auth.session_limit');
        const busy = openAuth(store, { clock, config: { sessionIssuanceLimit: 1 } });
        await refusal(busy.passkeys.signIn.finish(login), 'auth.session_issuance_limit');
        expect((await auth.passkeys.signIn.finish(login)).kind).toBe('session');
      });
    });

    describe('counters', () => {
      test('a cloned authenticator: a counter that does not increase is refused and logged', async () => {
        const { logger, warnings } = recordWarnings();
        const node = openAuth(store, { clock, logger });
        const counting = newAuthenticator({ counts: true });
        const proof = await person.confirm(authenticator, 'passkey.register');
        const { passkey } = await person.register(counting, { proof });
        await logInWith(node, counting, { counter: 1000 });
        for (const counter of [1000, 999, 1, 0]) {
          const error = await refusal(logInWith(node, counting, { counter }), 'auth.invalid_credentials');
          expect(error.message).toBe('The passkey was not accepted.');
        }
        expect(warnings).toHaveLength(4);
        for (const warning of warnings) {
          expect(warning).toContain('cloned');
          expect(warning).toContain(`"passkeyId":${passkey.id}`);
        }
        expect((await logInWith(node, counting, { counter: 1001 })).kind).toBe('session');
      });

      test('false alarm: without the private key nobody can cause a clone to be logged', async () => {
        const { logger, warnings } = recordWarnings();
        const node = openAuth(store, { clock, logger });
        await logInWith(node, authenticator, { counter: 10 });
        await refusal(logInWith(node, authenticator, { counter: 1, forge: true }), 'auth.invalid_credentials');
        expect(warnings).toEqual([]);
      });

      test('an authenticator without a counter can sign in repeatedly', async () => {
        for (let i = 0; i < 3; i += 1) expect((await logInWith(auth, authenticator)).kind).toBe('session');
        expect((await readPasskey(person)).counter).toBe(0);
      });
    });

    test('passkeys of a former relying party do not sign in under the current one', async () => {
      const moved = openAuth(store, {
        clock,
        settings: () => ({ ...testSettings(), serverAddress: 'https://gateway.example' }),
      });
      await refusal(logInWith(moved, authenticator), 'auth.invalid_credentials');
      // Not even if the authenticator mixed relying parties up.
      const there = { origin: 'https://gateway.example', rpId: 'gateway.example' };
      await refusal(logInWith(moved, authenticator, there), 'auth.invalid_credentials');
      expect((await logInWith(auth, authenticator)).kind).toBe('session');
    });

    test('tokens, challenges and credentials are not logged', async () => {
      const lines: string[] = [];
      const write = (fields: object, message: string) => void lines.push(`${message} ${JSON.stringify(fields)}`);
      const logger = { debug: write, info: write, warn: write, error: write, child: () => logger };
      const node = openAuth(store, { clock, logger });
      const { options, flow_token: flowToken } = await node.passkeys.signIn.begin();
      const credential = authenticator.get(options.publicKey);
      const result = await node.passkeys.signIn.finish({ flowToken, credential, origin: ORIGIN });
      expect(lines.join()).toContain('signed in');
      const secrets = [flowToken, options.publicKey.challenge, credential.response.signature, credential.id];
      if (result.kind === 'session') secrets.push(result.refreshToken, result.bundle.access_token);
      for (const secret of secrets) expect(lines.join('\n')).not.toContain(secret);
    });
  });
}
