/**
 * OWASP ASVS 5.0, chapters 6 and 7: second factors, proofs and security changes. Each test name
 * begins with the id of its requirement.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Auth, PanelPrincipal, SignedIn } from '../../src/auth/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { PASSWORD } from '../support/cheap-hash.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import {
  addProtectedUser,
  createApp,
  firstStep,
  origins,
  readPrincipal,
  withToken,
  wrongCode,
} from './authenticator-app.ts';
import { bearer, ORIGIN, openAuth, openTestStore, refreshWith, signIn } from './harness.ts';
import { createPerson, logInWith, newAuthenticator, type Person } from './passkeys-harness.ts';
import { refusal } from './refusal.ts';
import { createTestClock, type TestClock } from './test-clock.ts';

const NEW_PASSWORD = 'another good password';
const SCOPE = 'channel.key.read';

for (const dialect of RULE_DATABASES) {
  describe(`factors on ${dialect}`, () => {
    let store: Store;
    let stop: () => Promise<void>;
    let clock: TestClock;
    let auth: Auth;
    /** A second node on the same database. */
    let other: Auth;

    beforeAll(async () => {
      ({ store, stop } = await openTestStore(dialect));
    });
    afterAll(() => stop());
    beforeEach(async () => {
      clock = createTestClock();
      auth = openAuth(store, { clock });
      other = openAuth(store, { clock });
    });

    /**
     * Runs `attempt` fifty times at once over both nodes, each from its own address. Gives the
     * number of successes.
     */
    async function race(attempt: (node: Auth, origin: typeof ORIGIN) => Promise<unknown>): Promise<number> {
      const nextOrigin = origins();
      const outcomes = await Promise.allSettled(
        Array.from({ length: 50 }, (_, i) => attempt(i % 2 === 0 ? auth : other, nextOrigin())),
      );
      return outcomes.filter(({ status }) => status === 'fulfilled').length;
    }

    async function enableFor(person: Person) {
      const { secret, backup_codes: codes } = await auth.twoFactor.setUp(await person.principal());
      const app = createApp(secret, clock);
      person.take(await auth.twoFactor.enable(await person.principal(), app.code()));
      return { app, codes };
    }

    test('ASVS 6.4.3: a password reset leaves the second factor on', async () => {
      const { user, app } = await addProtectedUser(auth, store, clock);
      await auth.passwords.reset({ username: user.username, password: NEW_PASSWORD, resetFactors: false });
      const login = await auth.passwords.signIn({ username: user.username, password: NEW_PASSWORD, origin: ORIGIN });
      if (login.kind !== 'require_2fa') throw new Error('no second factor was asked');
      const flowToken = login.data.flow_token;
      await refusal(
        auth.twoFactor.finishSignIn({ flowToken, code: wrongCode(app), origin: ORIGIN }),
        'auth.code_invalid',
      );
      expect((await auth.twoFactor.finishSignIn({ flowToken, code: app.code(), origin: ORIGIN })).kind).toBe('session');
    });

    test('ASVS 6.5.1: an authenticator code works once across all operations', async () => {
      const { user, principal, app } = await addProtectedUser(auth, store, clock);
      const code = app.code();
      await auth.proofs.prove(principal, { method: '2fa', code, scope: SCOPE, origin: ORIGIN });
      await refusal(
        auth.proofs.prove(principal, { method: '2fa', code, scope: SCOPE, origin: ORIGIN }),
        'auth.code_invalid',
      );
      const flowToken = await firstStep(auth, user);
      await refusal(auth.twoFactor.finishSignIn({ flowToken, code, origin: ORIGIN }), 'auth.code_invalid');
      await refusal(auth.twoFactor.disable(principal, { code, origin: ORIGIN }), 'auth.code_invalid');
      // Nor does the code before it, which was still valid a moment ago.
      await refusal(auth.twoFactor.disable(principal, { code: app.code(-1), origin: ORIGIN }), 'auth.code_invalid');
    });

    test('ASVS 6.5.1: fifty concurrent uses of an authenticator code: one succeeds', async () => {
      const { user, app } = await addProtectedUser(auth, store, clock);
      const flows = await Promise.all(Array.from({ length: 2 }, () => firstStep(auth, user)));
      const code = app.code();
      const won = await race((node, origin) =>
        node.twoFactor.finishSignIn({ flowToken: flows[Number(node === auth)] ?? '', code, origin }),
      );
      expect(won).toBe(1);
      expect(await store.sessions.countActive(user.id, clock.unix())).toBe(2);
    });

    test('ASVS 6.5.1: fifty concurrent uses of a backup code: one succeeds, and it never works again', async () => {
      const { user, principal, backupCodes } = await addProtectedUser(auth, store, clock);
      const [code = ''] = backupCodes;
      const won = await race((node, origin) =>
        node.proofs.prove(principal, { method: '2fa', code, scope: SCOPE, origin }),
      );
      expect(won).toBe(1);
      expect(await store.twoFactor.countBackupCodes(user.id)).toBe(backupCodes.length - 1);
      clock.advance(301);
      await refusal(
        auth.proofs.prove(principal, { method: '2fa', code, scope: SCOPE, origin: ORIGIN }),
        'auth.code_invalid',
      );
    });

    test('ASVS 6.5.3, 6.5.4, 7.2.3: secrets of apps, backup codes and flow tokens are random and do not repeat', async () => {
      const { user, principal } = await addProtectedUser(auth, store, clock);
      const tokens = await Promise.all(Array.from({ length: 20 }, () => firstStep(auth, user)));
      expect(new Set(tokens).size).toBe(tokens.length);
      for (const token of tokens) expect(Buffer.from(token, 'base64url')).toHaveLength(32);
      const pat = (await auth.personalTokens.create(principal)).token;
      expect(pat).toMatch(/^tgp_[A-Za-z0-9]{32}$/);
      const someone = await readPrincipal(auth, await signIn(auth, await addUser(store)));
      const setups = [await auth.twoFactor.setUp(someone), await auth.twoFactor.setUp(someone)];
      // 160 bits in base32; ten codes of 40 bits.
      for (const { secret, backup_codes: codes } of setups) {
        expect(secret).toMatch(/^[A-Z2-7]{32}$/);
        expect(codes).toHaveLength(10);
        for (const code of codes) expect(code).toMatch(/^[A-HJ-NP-Z2-9]{4}-[A-HJ-NP-Z2-9]{4}$/);
      }
      expect(new Set(setups.flatMap(({ secret, backup_codes: codes }) => [secret, ...codes])).size).toBe(22);
    });

    test('ASVS 6.5.5: an authenticator code is valid for its step and the two neighbours only', async () => {
      for (const [ahead, good] of [
        [-2, false],
        [2, false],
        [1, true],
      ] as const) {
        const { user, app } = await addProtectedUser(auth, store, clock);
        const flowToken = await firstStep(auth, user);
        const attempt = auth.twoFactor.finishSignIn({ flowToken, code: app.code(ahead), origin: ORIGIN });
        if (good) expect((await attempt).kind).toBe('session');
        else await refusal(attempt, 'auth.code_invalid');
      }
    });

    test('ASVS 6.6.2: a flow is valid for its user and purpose, once, for five minutes', async () => {
      const { user, app, backupCodes } = await addProtectedUser(auth, store, clock);
      const late = await firstStep(auth, user);
      clock.advance(300);
      await refusal(
        auth.twoFactor.finishSignIn({ flowToken: late, code: app.code(), origin: ORIGIN }),
        'auth.flow_invalid',
      );

      const flowToken = await firstStep(auth, user);
      const asPasskeyLogin = newAuthenticator();
      const person = await createPerson(auth, store);
      await person.register(asPasskeyLogin);
      const { options } = await auth.passkeys.signIn.begin();
      const credential = asPasskeyLogin.get(options.publicKey);
      await refusal(auth.passkeys.signIn.finish({ flowToken, credential, origin: ORIGIN }), 'auth.flow_invalid');

      const [code = '', next = ''] = backupCodes;
      expect((await auth.twoFactor.finishSignIn({ flowToken, code, origin: ORIGIN })).kind).toBe('session');
      await refusal(auth.twoFactor.finishSignIn({ flowToken, code: next, origin: ORIGIN }), 'auth.flow_invalid');
      expect(await store.twoFactor.countBackupCodes(user.id)).toBe(backupCodes.length - 1);
    });

    test('ASVS 6.6.2: fifty concurrent uses of a flow: one succeeds', async () => {
      const authenticator = newAuthenticator();
      const person = await createPerson(auth, store);
      await person.register(authenticator);
      const { options, flow_token: flowToken } = await auth.passkeys.signIn.begin();
      const credential = authenticator.get(options.publicKey);
      expect(await race((node, origin) => node.passkeys.signIn.finish({ flowToken, credential, origin }))).toBe(1);
    });

    test('ASVS 6.3.1: after five wrong codes, codes are refused for five minutes from every address', async () => {
      const { user, app } = await addProtectedUser(auth, store, clock);
      const nextOrigin = origins();
      const flowToken = await firstStep(auth, user);
      for (let i = 0; i < 5; i += 1) {
        const attempt = other.twoFactor.finishSignIn({ flowToken, code: wrongCode(app, i), origin: nextOrigin() });
        await refusal(attempt, 'auth.code_invalid');
      }
      const right = () => auth.twoFactor.finishSignIn({ flowToken, code: app.code(), origin: nextOrigin() });
      const locked = await refusal(right(), 'auth.code_locked');
      expect(locked.retryAfterSeconds).toBe(300);
      clock.advance(299);
      await refusal(right(), 'auth.code_locked');
    });

    describe('a change to the account’s protection', () => {
      /** The change, and backup codes where a second session needs them. */
      type Prepared = { change: () => Promise<{ access_token: string }>; codes?: string[] };

      async function signInAgain(person: Person, codes: string[] = []): Promise<SignedIn> {
        const code = codes.pop();
        if (code === undefined) return signIn(auth, person.user);
        const flowToken = await firstStep(auth, person.user);
        const result = await auth.twoFactor.finishSignIn({ flowToken, code, origin: ORIGIN });
        if (result.kind !== 'session') throw new Error('a second factor was asked again');
        return result;
      }

      const changes: [name: string, prepare: (person: Person) => Promise<Prepared>][] = [
        [
          'the password',
          async ({ principal }) => ({
            change: async () =>
              auth.passwords.change(await principal(), {
                currentPassword: PASSWORD,
                newPassword: NEW_PASSWORD,
                origin: ORIGIN,
              }),
          }),
        ],
        [
          'a second factor switched on',
          async ({ principal }) => {
            const { secret } = await auth.twoFactor.setUp(await principal());
            return {
              change: async () => auth.twoFactor.enable(await principal(), createApp(secret, clock).code()),
            };
          },
        ],
        [
          'a second factor switched off',
          async (person) => {
            const { app, codes } = await enableFor(person);
            const code = app.code(1);
            return {
              codes,
              change: async () => auth.twoFactor.disable(await person.principal(), { code, origin: ORIGIN }),
            };
          },
        ],
        [
          'new backup codes',
          async (person) => {
            const { app, codes } = await enableFor(person);
            const confirmed = { code: app.code(1), origin: ORIGIN };
            return {
              codes,
              change: async () => auth.twoFactor.replaceBackupCodes(await person.principal(), confirmed),
            };
          },
        ],
        [
          'a passkey added',
          async (person) => ({ change: async () => (await person.register(newAuthenticator())).bundle }),
        ],
        [
          'a passkey deleted',
          async (person) => {
            const authenticator = newAuthenticator();
            const { id } = (await person.register(authenticator)).passkey;
            return {
              change: async () => {
                const proof = await person.confirm(authenticator, 'passkey.delete');
                return (await auth.passkeys.delete(await person.principal(), { id, proof })).bundle;
              },
            };
          },
        ],
      ];

      for (const [name, prepare] of changes) {
        test(`ASVS 7.4.3: ${name}: every other session ends at once, on the other node too`, async () => {
          const person = await createPerson(auth, store);
          const { change, codes } = await prepare(person);
          const second = await signInAgain(person, codes);
          await other.authenticatePanel(bearer(second));
          const before = await store.users.byId(person.user.id);
          const bundle = await change();
          for (const node of [auth, other]) {
            await refusal(node.authenticatePanel(bearer(second)), 'auth.session_revoked');
            await refusal(refreshWith(node, second.refreshToken), 'auth.session_revoked');
            expect(await withToken(node, bundle.access_token)).toMatchObject({ kind: 'session' });
          }
          expect((await store.users.byId(person.user.id))?.authVersion).toBe((before?.authVersion ?? 0) + 1);
          // The caller's own session continues with its refresh token.
          await refreshWith(other, person.signedIn.refreshToken);
        });
      }
    });

    test('ASVS 7.4.3: a password reset ends every session, on the other node too', async () => {
      const person = await createPerson(auth, store);
      const second = await signIn(other, person.user);
      const reset = { username: person.user.username, password: NEW_PASSWORD, resetFactors: false };
      await auth.passwords.reset(reset);
      for (const session of [person.signedIn, second]) {
        for (const node of [auth, other]) {
          await refusal(node.authenticatePanel(bearer(session)), 'auth.session_revoked');
          await refusal(refreshWith(node, session.refreshToken), 'auth.session_revoked');
        }
      }
    });

    test('ASVS 7.5.1: changing a password, second factor or passkey requires confirmation; a session is not enough', async () => {
      const { principal, app } = await addProtectedUser(auth, store, clock);
      await refusal(
        auth.passwords.change(principal, { currentPassword: 'wrong', newPassword: NEW_PASSWORD, origin: ORIGIN }),
        'auth.password_invalid',
      );
      const wrong = { code: wrongCode(app), origin: ORIGIN };
      await refusal(auth.twoFactor.disable(principal, wrong), 'auth.code_invalid');
      await refusal(auth.twoFactor.replaceBackupCodes(principal, wrong), 'auth.code_invalid');
      await refusal(auth.twoFactor.setUp(principal), 'auth.two_factor_enabled');
      await refusal(auth.passkeys.registration.begin(principal, undefined), 'security_proof.required');
      await refusal(auth.passkeys.delete(principal, { proof: undefined }), 'security_proof.required');
    });

    test('ASVS 7.5.1: a personal access token cannot change them', async () => {
      const { user } = await createPerson(auth, store);
      const pat: PanelPrincipal = { kind: 'pat', user, tokenHash: '' };
      const proof = 'x';
      for (const attempt of [
        () => auth.passwords.change(pat, { currentPassword: PASSWORD, newPassword: NEW_PASSWORD, origin: ORIGIN }),
        () => auth.twoFactor.setUp(pat),
        () => auth.twoFactor.enable(pat, '123456'),
        () => auth.twoFactor.disable(pat, { code: '123456', origin: ORIGIN }),
        () => auth.twoFactor.replaceBackupCodes(pat, { code: '123456', origin: ORIGIN }),
        () => auth.passkeys.registration.begin(pat, proof),
        () => auth.passkeys.delete(pat, { proof }),
        () => auth.proofs.prove(pat, { method: 'password', password: PASSWORD, scope: SCOPE, origin: ORIGIN }),
        () => auth.proofs.require(pat, proof, SCOPE),
        () => auth.personalTokens.create(pat),
        () => auth.personalTokens.revoke(pat),
        () => auth.sessions.list(pat),
        () => auth.sessions.revokeOthers(pat),
        () => auth.sessions.ofUsers.revokeAll(pat, user.id),
      ]) {
        await refusal(attempt(), 'auth.session_required');
      }
    });

    test('ASVS 7.5.3: a sensitive operation requires the account’s strongest factor, for one purpose and five minutes', async () => {
      const person = await createPerson(auth, store);
      const byPassword = { method: 'password', password: PASSWORD, scope: SCOPE, origin: ORIGIN } as const;
      const { proof_token: proof } = await auth.proofs.prove(await person.principal(), byPassword);
      await auth.proofs.require(await person.principal(), proof, SCOPE);
      await refusal(
        auth.proofs.require(await person.principal(), proof, 'passkey.delete'),
        'security_proof.scope_mismatch',
      );

      const { codes } = await enableFor(person);
      await refusal(auth.proofs.require(await person.principal(), proof, SCOPE), 'security_proof.invalid');
      await refusal(auth.proofs.prove(await person.principal(), byPassword), 'security_proof.method_mismatch');
      const byCode = { method: '2fa', code: codes[0] ?? '', scope: SCOPE, origin: ORIGIN } as const;
      const stronger = (await auth.proofs.prove(await person.principal(), byCode)).proof_token;
      await auth.proofs.require(await person.principal(), stronger, SCOPE);
      clock.advance(305);
      await refusal(auth.proofs.require(await person.principal(), stronger, SCOPE), 'security_proof.expired');
    });

    test('ASVS 7.5.3: a proof is bound to its session and user', async () => {
      const [person, stranger] = [await createPerson(auth, store), await createPerson(auth, store)];
      const byPassword = { method: 'password', password: PASSWORD, scope: SCOPE, origin: ORIGIN } as const;
      const { proof_token: proof } = await auth.proofs.prove(await person.principal(), byPassword);
      const second = await readPrincipal(auth, await signIn(auth, person.user));
      for (const foreign of [second, await stranger.principal()]) {
        await refusal(auth.proofs.require(foreign, proof, SCOPE), 'security_proof.invalid');
      }
      await auth.proofs.require(await person.principal(), proof, SCOPE);
    });

    test('ASVS 6.3.4: a passkey with user verification is both factors; without it a code is required', async () => {
      for (const [verified, kind] of [
        [true, 'session'],
        [false, 'require_2fa'],
      ] as const) {
        const person = await createPerson(auth, store);
        const authenticator = newAuthenticator();
        await person.register(authenticator);
        const { secret } = await auth.twoFactor.setUp(await person.principal());
        await auth.twoFactor.enable(await person.principal(), createApp(secret, clock).code());
        expect((await logInWith(auth, authenticator, { verified })).kind).toBe(kind);
      }
    });
  });
}
