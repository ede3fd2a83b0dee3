/** Security Proofs: who gets one, by which method, and what is refused as one. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Auth, AuthSettings, PanelPrincipal } from '../../src/auth/index.ts';
import { requireSession } from '../../src/auth/principals.ts';
import { PROOF_SCOPES, type ProofMethod, type ProofScope } from '../../src/auth/proofs/proof-methods.ts';
import { createSecurityProofs } from '../../src/auth/proofs/security-proofs.ts';
import { deriveSessionKeys } from '../../src/auth/tokens/session-keys.ts';
import { randomAlnum } from '../../src/kernel/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { PASSWORD } from '../support/cheap-hash.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { addProtectedUser, readPrincipal, withToken, wrongCode } from './authenticator-app.ts';
import { ORIGIN, openAuth, openTestStore, originFor, signIn, testConfig, testSettings } from './harness.ts';
import { refusal } from './refusal.ts';
import { createTestClock, type TestClock } from './test-clock.ts';

const SCOPE = 'channel.key.read';

for (const dialect of RULE_DATABASES) {
  describe(`security proofs on ${dialect}`, () => {
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

    const signedInUser = async (change = {}) => {
      const user = await addUser(store, change);
      const signedIn = await signIn(auth, user);
      return { user, signedIn, principal: await readPrincipal(auth, signedIn) };
    };
    const addPasskey = (userId: number, rpId = 'localhost') =>
      store.passkeys.insert({
        userId,
        credentialId: randomAlnum(32),
        publicKey: 'key',
        rpId,
        name: 'Key',
        counter: 0,
        transports: [],
        backedUp: false,
        createdAt: clock.unix(),
      });
    const byPassword = (
      principal: PanelPrincipal,
      {
        password = PASSWORD,
        scope = SCOPE,
        origin = ORIGIN,
      }: { password?: string; scope?: ProofScope; origin?: import('../../src/auth/principals.ts').RequestOrigin } = {},
    ) => auth.proofs.prove(principal, { method: 'password', password, scope, origin });
    const byCode = (
      principal: PanelPrincipal,
      { code, scope = SCOPE, node = auth }: { code: string; scope?: ProofScope; node?: Auth },
    ) => node.proofs.prove(principal, { method: '2fa', code, scope, origin: ORIGIN });
    /** A proof like that of a passkey ceremony. */
    const byPasskey = async (principal: PanelPrincipal, method: ProofMethod = 'passkey') => {
      const proofs = createSecurityProofs(deriveSessionKeys(testConfig().sessionSecrets).proof, clock, async () => []);
      return proofs.issue(requireSession(principal), method, SCOPE);
    };

    describe('a right confirmation', () => {
      test.each([...PROOF_SCOPES])('by password issues a proof for %s, valid for five minutes', async (scope) => {
        const { principal } = await signedInUser();
        const proof = await byPassword(principal, { password: PASSWORD, scope });
        expect(proof).toEqual({
          proof_token: expect.any(String),
          expires_at: clock.unix() + 300,
          method: 'password',
          scope,
        });
        await auth.proofs.require(principal, proof.proof_token, scope);
        // It is not a one-time token: the operation may be repeated while it is valid.
        await auth.proofs.require(principal, proof.proof_token, scope);
      });

      test('by an authenticator code or a backup code, each once', async () => {
        const { principal, app, backupCodes } = await addProtectedUser(auth, store, clock);
        for (const code of [app.code(), backupCodes[0] ?? '']) {
          const proof = await byCode(principal, { code });
          expect([proof.method, proof.scope]).toEqual(['2fa', SCOPE]);
          await auth.proofs.require(principal, proof.proof_token, SCOPE);
          await refusal(byCode(principal, { code }), 'auth.code_invalid');
        }
      });

      test('code replay: 50 concurrent confirmations with one code: one gets a proof', async () => {
        const { principal, app } = await addProtectedUser(auth, store, clock);
        const all = await Promise.allSettled(Array.from({ length: 50 }, () => byCode(principal, { code: app.code() })));
        expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      });
    });

    describe('a wrong confirmation', () => {
      test('is a bad request and does not end the session', async () => {
        const { principal } = await signedInUser();
        const error = await refusal(byPassword(principal, { password: 'wrong password' }), 'auth.password_invalid');
        expect([error.kind, error.param]).toEqual(['invalid', 'password']);
        const { principal: other, app } = await addProtectedUser(auth, store, clock);
        expect((await refusal(byCode(other, { code: wrongCode(app) }), 'auth.code_invalid')).kind).toBe('invalid');
      });

      test('password guessing in a session: five failures block the address, counted with the password change', async () => {
        const { principal } = await signedInUser();
        for (let i = 0; i < 4; i += 1)
          await refusal(byPassword(principal, { password: `wrong ${i}` }), 'auth.password_invalid');
        const change = { currentPassword: 'wrong', newPassword: 'a long new password of mine', origin: ORIGIN };
        await refusal(auth.passwords.change(principal, change), 'auth.password_invalid');
        expect((await refusal(byPassword(principal), 'auth.too_many_attempts')).kind).toBe('rate_limited');
        const elsewhere = originFor('198.51.100.77');
        expect((await byPassword(principal, { password: PASSWORD, scope: SCOPE, origin: elsewhere })).method).toBe(
          'password',
        );
      });

      test('names the missing field of its method', async () => {
        const { principal } = await signedInUser();
        const withoutPassword = { method: 'password', code: '123456', scope: SCOPE, origin: ORIGIN } as const;
        expect((await refusal(auth.proofs.prove(principal, withoutPassword), 'auth.validation_failed')).param).toBe(
          'password',
        );
        const { principal: other } = await addProtectedUser(auth, store, clock);
        const withoutCode = { method: '2fa', password: PASSWORD, scope: SCOPE, origin: ORIGIN } as const;
        expect((await refusal(auth.proofs.prove(other, withoutCode), 'auth.validation_failed')).param).toBe('code');
      });
    });

    describe('downgrade: the account decides which methods count', () => {
      type Account = { twoFactor?: true; passkey?: string; noPassword?: true };
      const rows: [string, Account, Partial<AuthSettings['passkeys']>, ProofMethod[]][] = [
        ['nothing but a password', {}, {}, ['password']],
        ['an authenticator app', { twoFactor: true }, {}, ['2fa']],
        ['a passkey', { passkey: 'localhost' }, {}, ['passkey']],
        ['both', { twoFactor: true, passkey: 'localhost' }, {}, ['2fa', 'passkey']],
        ['a passkey of another relying party', { passkey: 'old.example.org' }, {}, ['password']],
        [
          'a passkey of the relying party that is set',
          { passkey: 'example.org' },
          { rpId: 'example.org', origins: ['https://gate.example.org'] },
          ['passkey'],
        ],
        [
          'a passkey of a relying party that the panel is not at',
          { passkey: 'a.example' },
          { rpId: 'a.example' },
          ['password'],
        ],
        ['a passkey while passkeys are off', { passkey: 'localhost' }, { enabled: false }, ['password']],
        ['both while passkeys are off', { twoFactor: true, passkey: 'localhost' }, { enabled: false }, ['2fa']],
        ['no password either', { noPassword: true }, {}, []],
      ];
      test.each(rows)('%s', async (_, account, passkeys, allowed) => {
        const node = openAuth(store, { clock, settings: () => testSettings(passkeys) });
        const made = account.twoFactor ? await addProtectedUser(node, store, clock) : await signedInUser();
        if (account.passkey) await addPasskey(made.user.id, account.passkey);
        const principal: PanelPrincipal = account.noPassword
          ? { ...requireSession(made.principal), user: { ...made.user, passwordHash: null } }
          : made.principal;

        for (const method of ['2fa', 'password'] as const) {
          const origin = originFor(`192.0.2.${method.length}`);
          const request = { method, code: '111111', password: 'not it', scope: SCOPE, origin } as const;
          const attempt = node.proofs.prove(principal, request);
          if (allowed.includes(method)) {
            await refusal(attempt, method === '2fa' ? 'auth.code_invalid' : 'auth.password_invalid');
          } else {
            const error = await refusal(attempt, 'security_proof.method_mismatch');
            expect([error.kind, error.details]).toEqual(['forbidden', { methods: allowed }]);
            if (allowed.includes('2fa')) expect(error.message).toContain('authenticator app');
            expect(error.message.includes('passkey')).toBe(allowed.includes('passkey'));
            expect(error.message.includes('your password')).toBe(allowed.includes('password'));
          }
        }
        for (const method of ['2fa', 'passkey', 'password'] as const) {
          const { proof_token } = await byPasskey(principal, method);
          const use = node.proofs.require(principal, proof_token, SCOPE);
          if (allowed.includes(method)) await use;
          else expect((await refusal(use, 'security_proof.method_mismatch')).details).toEqual({ methods: allowed });
        }
      });

      test('an unconfirmed set-up is not a second factor', async () => {
        const { principal } = await signedInUser();
        await auth.twoFactor.setUp(principal);
        expect((await byPassword(principal)).method).toBe('password');
      });

      test('a method that is not allowed checks no code and no password', async () => {
        const { principal, backupCodes, user } = await addProtectedUser(auth, store, clock);
        await addPasskey(user.id);
        for (let i = 0; i < 7; i += 1) await refusal(byPassword(principal), 'security_proof.method_mismatch');
        const { principal: other, user: owner } = await signedInUser();
        await addPasskey(owner.id);
        for (let i = 0; i < 7; i += 1) {
          await refusal(byCode(other, { code: backupCodes[0] ?? '' }), 'security_proof.method_mismatch');
        }
        expect((await byCode(principal, { code: backupCodes[0] ?? '' })).method).toBe('2fa');
      });
    });

    describe('what is not accepted as a proof', () => {
      test('nothing at all', async () => {
        const { principal } = await signedInUser();
        await refusal(auth.proofs.require(principal, undefined, SCOPE), 'security_proof.required');
        expect((await refusal(auth.proofs.require(principal, '', SCOPE), 'security_proof.required')).kind).toBe(
          'forbidden',
        );
      });

      test('credential confusion: access token, refresh token, flow token, forgeries', async () => {
        const { principal, signedIn } = await signedInUser();
        const { proof_token } = await byPassword(principal);
        const [head, body, signature] = proof_token.split('.');
        const none = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url');
        const forged = [
          signedIn.bundle.access_token,
          signedIn.refreshToken,
          'A'.repeat(43),
          'x',
          `Bearer ${proof_token}`,
          `${proof_token}, ${proof_token}`,
          `${head}.${body}.`,
          `${head}.${body}.${[...(signature ?? '')].reverse().join('')}`,
          `${none}.${body}.`,
        ];
        for (const proof of forged) {
          await refusal(auth.proofs.require(principal, proof, SCOPE), 'security_proof.invalid');
        }
      });

      test('credential confusion: a proof does not authenticate', async () => {
        const { principal, signedIn } = await signedInUser();
        const { proof_token } = await byPassword(principal);
        await refusal(withToken(auth, proof_token), 'auth.unauthorized');
        await refusal(auth.authenticatePanel(proof_token), 'auth.unauthorized');
        await refusal(
          auth.twoFactor.finishSignIn({ flowToken: proof_token, code: '123456', origin: ORIGIN }),
          'auth.flow_invalid',
        );
        expect((await readPrincipal(auth, signedIn)).kind).toBe('session');
      });

      test('another user’s, and the user’s own from another session', async () => {
        const { user, principal } = await signedInUser();
        const { proof_token } = await byPassword(principal);
        const stranger = await signedInUser();
        await refusal(auth.proofs.require(stranger.principal, proof_token, SCOPE), 'security_proof.invalid');
        const second = await readPrincipal(auth, await signIn(auth, user));
        await refusal(auth.proofs.require(second, proof_token, SCOPE), 'security_proof.invalid');
        await auth.proofs.require(principal, proof_token, SCOPE);
      });

      test('one from before a change of password or second factor', async () => {
        const { user, principal } = await signedInUser();
        const { proof_token } = await byPassword(principal);
        const bundle = await auth.passwords.change(principal, {
          currentPassword: PASSWORD,
          newPassword: 'quite another password',
          origin: ORIGIN,
        });
        const after = await withToken(auth, bundle.access_token);
        await refusal(auth.proofs.require(after, proof_token, SCOPE), 'security_proof.invalid');
        // A change of either version alone invalidates it too.
        const before = requireSession(principal);
        const moved: PanelPrincipal[] = [
          { ...before, user: { ...user, authVersion: user.authVersion + 1 } },
          { ...before, sessionVersion: before.sessionVersion + 1 },
        ];
        for (const each of moved)
          await refusal(auth.proofs.require(each, proof_token, SCOPE), 'security_proof.invalid');

        const secured = await addProtectedUser(auth, store, clock);
        const byApp = await byCode(secured.principal, { code: secured.app.code() });
        const disabled = await auth.twoFactor.disable(secured.principal, {
          code: secured.backupCodes[0] ?? '',
          origin: ORIGIN,
        });
        const without = await withToken(auth, disabled.access_token);
        await refusal(auth.proofs.require(without, byApp.proof_token, SCOPE), 'security_proof.invalid');
      });

      test('one for another scope', async () => {
        const { principal } = await signedInUser();
        for (const made of PROOF_SCOPES) {
          const { proof_token } = await byPassword(principal, { password: PASSWORD, scope: made });
          for (const wanted of PROOF_SCOPES.filter((scope) => scope !== made)) {
            await refusal(auth.proofs.require(principal, proof_token, wanted), 'security_proof.scope_mismatch');
          }
        }
      });

      test('one whose five minutes are over', async () => {
        const { principal } = await signedInUser();
        const { proof_token } = await byPassword(principal);
        clock.advance(299);
        await auth.proofs.require(principal, proof_token, SCOPE);
        // Five more seconds, the allowed clock difference of two nodes.
        clock.advance(6);
        await refusal(auth.proofs.require(principal, proof_token, SCOPE), 'security_proof.expired');
      });

      test('any proof sent with a personal access token', async () => {
        const { principal, app, user } = await addProtectedUser(auth, store, clock);
        const { proof_token } = await byCode(principal, { code: app.code() });
        const pat: PanelPrincipal = { kind: 'pat', user, tokenHash: '' };
        for (const proof of [proof_token, undefined, 'x']) {
          await refusal(auth.proofs.require(pat, proof, SCOPE), 'auth.session_required');
        }
      });

      test('a personal access token cannot get one; no code is checked', async () => {
        const { principal, user, backupCodes } = await addProtectedUser(auth, store, clock);
        const pat: PanelPrincipal = { kind: 'pat', user, tokenHash: '' };
        await refusal(byCode(pat, { code: backupCodes[0] ?? '' }), 'auth.session_required');
        await refusal(byCode(pat, { code: '000000' }), 'auth.session_required');
        expect((await store.twoFactor.byUser(user.id))?.failures).toBe(0);
        expect((await byCode(principal, { code: backupCodes[0] ?? '' })).method).toBe('2fa');
      });

      test('one signed with an unknown SESSION_SECRET; with the former secret set it is valid', async () => {
        const { principal } = await signedInUser();
        const { proof_token } = await byPassword(principal);
        const [old] = testConfig().sessionSecrets;
        const rotated = openAuth(store, {
          clock,
          config: { sessionSecrets: ['a newer session secret of the test', old] },
        });
        await rotated.proofs.require(principal, proof_token, SCOPE);
        const changed = openAuth(store, { clock, config: { sessionSecrets: ['a newer session secret of the test'] } });
        await refusal(changed.proofs.require(principal, proof_token, SCOPE), 'security_proof.invalid');
      });
    });
  });
}
