/** The second step of a login: what it accepts, what it uses up, and how guessing is limited. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Auth } from '../../src/auth/index.ts';
import { createFlows } from '../../src/auth/tokens/flows.ts';
import { deriveSessionKeys } from '../../src/auth/tokens/session-keys.ts';
import { AppError } from '../../src/kernel/index.ts';
import type { Store, UserRecord } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { PASSWORD } from '../support/cheap-hash.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { addProtectedUser, firstStep, origins, readPrincipal, wrongCode } from './authenticator-app.ts';
import { ORIGIN, openAuth, openTestStore, originFor, overriding, refreshWith, testConfig } from './harness.ts';
import { refusal } from './refusal.ts';
import { createTestClock, type TestClock } from './test-clock.ts';

/** The number of attempts per outcome: `session`, or the error code. */
async function outcomes(attempts: Promise<{ kind: string }>[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const outcome of await Promise.allSettled(attempts)) {
    const name =
      outcome.status === 'fulfilled'
        ? outcome.value.kind
        : outcome.reason instanceof AppError
          ? outcome.reason.code
          : String(outcome.reason);
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

for (const dialect of RULE_DATABASES) {
  describe(`the second step on ${dialect}`, () => {
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

    const finish = (
      flowToken: string,
      code: string,
      {
        origin = ORIGIN,
        node = auth,
      }: { origin?: import('../../src/auth/principals.ts').RequestOrigin; node?: Auth } = {},
    ) => node.twoFactor.finishSignIn({ flowToken, code, origin });
    const signInWith = async (user: UserRecord, code: string) => finish(await firstStep(auth, user), code);
    const readFailures = async ({ id }: UserRecord) => (await store.twoFactor.byUser(id))?.failures;
    /** This many first steps, without hashing the password for each. */
    const manyFlows = async (user: UserRecord, count: number) => {
      const flows = createFlows(deriveSessionKeys(testConfig().sessionSecrets).flow, clock);
      const begin = () =>
        flows.begin(store, {
          purpose: '2fa_login',
          binding: { userId: user.id },
          payload: { auth_version: user.authVersion },
        });
      return Promise.all(Array.from({ length: count }, async () => (await begin()).flow_token));
    };

    describe('a right code', () => {
      test('returns the common result with the method 2fa, and a session that can refresh', async () => {
        const { user, app } = await addProtectedUser(auth, store, clock);
        const first = await auth.passwords.signIn({ username: user.username, password: PASSWORD, origin: ORIGIN });
        if (first.kind !== 'require_2fa') throw new Error('no second factor was asked');
        expect(first.data).toEqual({
          require_2fa: true,
          flow_token: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
          expires_at: clock.unix() + 300,
        });
        const issued = await store.sessions.countIssued(user.id, 0);

        const login = await finish(first.data.flow_token, app.code());
        if (login.kind !== 'session') throw new Error('no session');
        expect(login.bundle.session).toMatchObject({ login_method: '2fa', current: true, ...{ ip: ORIGIN.ip } });
        expect(login.bundle.user).toMatchObject({ id: user.id, two_factor: true });
        expect(await store.sessions.countIssued(user.id, 0)).toBe(issued + 1);
        expect((await readPrincipal(auth, login)).user.id).toBe(user.id);
        expect((await refreshWith(auth, login.refreshToken)).bundle.session.sid).toBe(login.bundle.session.sid);
      });

      test.each([
        ['as shown', (code: string) => code],
        ['without the hyphen', (code: string) => code.replace('-', '')],
        ['in small letters', (code: string) => code.toLowerCase()],
        ['with spaces', (code: string) => ` ${code.replace('-', ' ')} `],
      ])('is a backup code %s, once', async (_, write) => {
        const { user, backupCodes } = await addProtectedUser(auth, store, clock);
        const code = backupCodes[3] ?? '';
        expect((await signInWith(user, write(code))).kind).toBe('session');
        expect(await store.twoFactor.countBackupCodes(user.id)).toBe(9);
        await refusal(signInWith(user, code), 'auth.code_invalid');
      });

      test('of another user is wrong', async () => {
        const mine = await addProtectedUser(auth, store, clock);
        const other = await addProtectedUser(auth, store, clock);
        await refusal(signInWith(mine.user, other.backupCodes[0] ?? ''), 'auth.code_invalid');
        expect((await signInWith(other.user, other.backupCodes[0] ?? '')).kind).toBe('session');
      });
    });

    describe('a wrong code', () => {
      test('keeps the flow valid until it expires', async () => {
        const { user, app } = await addProtectedUser(auth, store, clock);
        const flow = await firstStep(auth, user);
        const error = await refusal(finish(flow, wrongCode(app)), 'auth.code_invalid');
        expect([error.kind, error.param]).toEqual(['invalid', 'code']);
        clock.advance(299);
        expect((await finish(flow, app.code())).kind).toBe('session');

        const late = await firstStep(auth, user);
        clock.advance(300);
        await refusal(finish(late, app.code()), 'auth.flow_invalid');
        expect(await readFailures(user)).toBe(0);
      });

      test.each(['', ' ', '12345', '1234567', 'ABCD-EFG', 'ABCD-EFGHI', 'ABCD-EFG!', '123456\0', 'ＡＢＣＤＥＦＧＨ'])(
        'of the form %j does not count as a guess',
        async (code) => {
          const { user } = await addProtectedUser(auth, store, clock);
          const flow = await firstStep(auth, user);
          for (let i = 0; i < 7; i += 1) await refusal(finish(flow, code), 'auth.code_invalid');
          expect(await readFailures(user)).toBe(0);
        },
      );
    });

    describe('the flow', () => {
      test('is invalid once used', async () => {
        const { user, app, backupCodes } = await addProtectedUser(auth, store, clock);
        const flow = await firstStep(auth, user);
        await finish(flow, app.code());
        await refusal(finish(flow, backupCodes[0] ?? ''), 'auth.flow_invalid');
        expect(await store.twoFactor.countBackupCodes(user.id)).toBe(10);
      });

      test('credential confusion: nothing else is accepted as its token, and no attempts are counted', async () => {
        const { user, app, signedIn } = await addProtectedUser(auth, store, clock);
        const { access_token } = signedIn.bundle;
        const others = [
          '',
          'x',
          'A'.repeat(43),
          access_token,
          signedIn.refreshToken,
          `${await firstStep(auth, user)} `,
        ];
        for (const token of others) {
          const error = await refusal(finish(token, app.code()), 'auth.flow_invalid');
          expect(error.kind).toBe('invalid');
        }
        expect(await readFailures(user)).toBe(0);
      });

      test('a disabled, deleted or changed user: no code is checked', async () => {
        const { user, app } = await addProtectedUser(auth, store, clock);
        const flow = await firstStep(auth, user);
        const changed = [{ ...user, status: 2 as const }, undefined, { ...user, authVersion: user.authVersion + 1 }];
        for (const found of changed) {
          const users = overriding(store.users, { byId: async () => found });
          const node = openAuth(overriding(store, { users }), { clock });
          await refusal(finish(flow, app.code(), { origin: ORIGIN, node }), 'auth.session_revoked');
        }
        expect(await readFailures(user)).toBe(0);
        expect((await finish(flow, app.code())).kind).toBe('session');
      });

      test('a password changed between code and session: no session, and both stay unused', async () => {
        const { user, app } = await addProtectedUser(auth, store, clock);
        const flow = await firstStep(auth, user);
        const racing = overriding(store, {
          async transaction(work) {
            await store.users.setPassword(user.id, user.passwordHash ?? '', user.authVersion);
            return store.transaction(work);
          },
        });
        const issued = await store.sessions.countIssued(user.id, 0);
        await refusal(
          finish(flow, app.code(), { origin: ORIGIN, node: openAuth(racing, { clock }) }),
          'auth.session_revoked',
        );
        expect(await store.sessions.countIssued(user.id, 0)).toBe(issued);
        expect((await signInWith(user, app.code())).kind).toBe('session');
      });
    });

    describe('a session issuance limit', () => {
      test.each([
        ['active sessions', { activeSessionLimit: 1 }, 'auth.session_limit'],
        ['sessions in the window', { sessionIssuanceLimit: 1 }, 'auth.session_issuance_limit'],
      ])('of %s leaves flow, code and attempts as they were', async (_, limit, refused) => {
        const { user, app, backupCodes } = await addProtectedUser(auth, store, clock);
        const node = openAuth(store, { clock, config: limit });
        const flow = await firstStep(node, user);
        const from = origins();
        for (const code of [app.code(), app.code(), backupCodes[0] ?? '', app.code(), app.code(), app.code()]) {
          await refusal(finish(flow, code, { origin: from(), node }), refused);
        }
        expect([await readFailures(user), await store.twoFactor.countBackupCodes(user.id)]).toEqual([0, 10]);
        expect((await finish(flow, app.code())).kind).toBe('session');
      });
    });

    describe('code replay', () => {
      test('a code used to sign in cannot confirm, disable or sign in again', async () => {
        const { user, principal, app } = await addProtectedUser(auth, store, clock);
        const code = app.code();
        await signInWith(user, code);
        await refusal(signInWith(user, code), 'auth.code_invalid');
        const proof = { method: '2fa', code, scope: 'channel.key.read', origin: ORIGIN } as const;
        await refusal(auth.proofs.prove(principal, proof), 'auth.code_invalid');
        await refusal(auth.twoFactor.disable(principal, { code, origin: ORIGIN }), 'auth.code_invalid');
        await refusal(auth.twoFactor.replaceBackupCodes(principal, { code, origin: ORIGIN }), 'auth.code_invalid');
        expect(await auth.twoFactor.status(principal)).toMatchObject({ enabled: true, locked: false });
      });

      test('a code used to confirm or enable cannot sign in', async () => {
        const { user, principal, app, backupCodes } = await addProtectedUser(auth, store, clock);
        // Enabled with the code of the step before.
        await refusal(signInWith(user, app.code(-1)), 'auth.code_invalid');
        for (const code of [app.code(), backupCodes[0] ?? '']) {
          await auth.proofs.prove(principal, { method: '2fa', code, scope: 'passkey.delete', origin: ORIGIN });
          await refusal(signInWith(user, code), 'auth.code_invalid');
        }
      });

      test('once a later code was used, earlier ones are refused', async () => {
        const { user, app } = await addProtectedUser(auth, store, clock);
        expect((await signInWith(user, app.code(1))).kind).toBe('session');
        await refusal(signInWith(user, app.code()), 'auth.code_invalid');
        clock.advance(60);
        expect((await signInWith(user, app.code())).kind).toBe('session');
      });

      test('50 concurrent uses of one authenticator code on two nodes: one succeeds', async () => {
        const { user, app } = await addProtectedUser(auth, store, clock);
        const flows = await manyFlows(user, 50);
        const nodes = [openAuth(store, { clock }), openAuth(store, { clock })];
        const from = origins();
        const code = app.code();
        const counts = await outcomes(
          flows.map((flow, i) => finish(flow, code, { origin: from(), node: nodes[i % 2] })),
        );
        expect(counts.session).toBe(1);
        expect(Object.keys(counts).sort()).toEqual(['auth.code_invalid', 'auth.code_locked', 'session']);
      });

      test('50 concurrent uses of one backup code on two nodes: one succeeds', async () => {
        const { user, backupCodes } = await addProtectedUser(auth, store, clock);
        const flows = await manyFlows(user, 50);
        const nodes = [openAuth(store, { clock }), openAuth(store, { clock })];
        const from = origins();
        const code = backupCodes[7] ?? '';
        const counts = await outcomes(
          flows.map((flow, i) => finish(flow, code, { origin: from(), node: nodes[i % 2] })),
        );
        expect(counts.session).toBe(1);
        expect(await store.twoFactor.countBackupCodes(user.id)).toBe(9);
      });

      test('50 concurrent uses of one flow with different right codes: one succeeds and one code is used', async () => {
        const { user, backupCodes } = await addProtectedUser(auth, store, clock);
        const flow = await firstStep(auth, user);
        const from = origins();
        const issued = await store.sessions.countIssued(user.id, 0);
        const attempts = Array.from({ length: 50 }, (_, i) =>
          finish(flow, backupCodes[i % 10] ?? '', { origin: from() }),
        );
        const counts = await outcomes(attempts);
        expect(counts).toEqual({ session: 1, 'auth.flow_invalid': 49 });
        expect(await store.sessions.countIssued(user.id, 0)).toBe(issued + 1);
        expect(await store.twoFactor.countBackupCodes(user.id)).toBe(9);
      });
    });

    describe('code guessing', () => {
      test('the fifth failure blocks codes for 300 seconds from every address, right ones too', async () => {
        const { user, app, backupCodes } = await addProtectedUser(auth, store, clock);
        const flow = await firstStep(auth, user);
        const from = origins();
        for (let i = 0; i < 4; i += 1)
          await refusal(finish(flow, wrongCode(app, i), { origin: from() }), 'auth.code_invalid');
        await refusal(finish(flow, 'AAAA-AAAA', { origin: from() }), 'auth.code_invalid');
        for (const code of [wrongCode(app), app.code(), backupCodes[0] ?? '']) {
          const error = await refusal(finish(flow, code, { origin: from() }), 'auth.code_locked');
          expect([error.kind, error.retryAfterSeconds]).toEqual(['rate_limited', 300]);
        }
        clock.advance(299);
        expect(
          (await refusal(finish(flow, app.code(), { origin: from() }), 'auth.code_locked')).retryAfterSeconds,
        ).toBe(1);
        clock.advance(1);
        const later = await firstStep(auth, user);
        expect((await finish(later, app.code(), { origin: from() })).kind).toBe('session');
        expect(await store.twoFactor.byUser(user.id)).toMatchObject({ failures: 0, lockedUntil: 0 });
      });

      test('after a block every single failure blocks again, until a right code', async () => {
        const { user, app, backupCodes } = await addProtectedUser(auth, store, clock);
        const from = origins();
        const flow = await firstStep(auth, user);
        for (let i = 0; i < 5; i += 1)
          await refusal(finish(flow, wrongCode(app, i), { origin: from() }), 'auth.code_invalid');
        for (let round = 0; round < 3; round += 1) {
          clock.advance(300);
          const again = await firstStep(auth, user);
          await refusal(finish(again, wrongCode(app, round), { origin: from() }), 'auth.code_invalid');
          await refusal(finish(again, app.code(), { origin: from() }), 'auth.code_locked');
        }
        clock.advance(300);
        await finish(await firstStep(auth, user), backupCodes[0] ?? '', { origin: from() });
        const free = await firstStep(auth, user);
        for (let i = 0; i < 4; i += 1)
          await refusal(finish(free, wrongCode(app, i), { origin: from() }), 'auth.code_invalid');
        expect((await finish(free, app.code(), { origin: from() })).kind).toBe('session');
      });

      test('login, confirmation, disabling and new backup codes share one count', async () => {
        const { user, principal, app } = await addProtectedUser(auth, store, clock);
        const from = origins();
        const wrong = (nth: number) => ({ code: wrongCode(app, nth), origin: from() });
        const proof = (nth: number) =>
          auth.proofs.prove(principal, { method: '2fa', scope: 'passkey.delete', ...wrong(nth) });
        await refusal(finish(await firstStep(auth, user), wrong(0).code, { origin: from() }), 'auth.code_invalid');
        await refusal(proof(1), 'auth.code_invalid');
        await refusal(auth.twoFactor.disable(principal, wrong(2)), 'auth.code_invalid');
        await refusal(auth.twoFactor.replaceBackupCodes(principal, wrong(3)), 'auth.code_invalid');
        await refusal(proof(4), 'auth.code_invalid');
        await refusal(finish(await firstStep(auth, user), app.code(), { origin: from() }), 'auth.code_locked');
        await refusal(proof(1), 'auth.code_locked');
        await refusal(auth.twoFactor.disable(principal, wrong(2)), 'auth.code_locked');
        await refusal(auth.twoFactor.replaceBackupCodes(principal, wrong(3)), 'auth.code_locked');
      });

      test('an address that has used up its guesses waits longer than the block; others do not', async () => {
        const { user, app } = await addProtectedUser(auth, store, clock);
        const flow = await firstStep(auth, user);
        for (let i = 0; i < 5; i += 1) await refusal(finish(flow, wrongCode(app, i)), 'auth.code_invalid');
        clock.advance(300);
        const later = await firstStep(auth, user, '198.51.100.9');
        const error = await refusal(finish(later, app.code()), 'auth.too_many_attempts');
        expect(error.retryAfterSeconds).toBeWithin(800, 901);
        expect((await finish(later, app.code(), { origin: originFor('198.51.100.9') })).kind).toBe('session');
      });

      test('50 concurrent wrong codes from 50 addresses on two nodes: five are checked', async () => {
        const { user, app } = await addProtectedUser(auth, store, clock);
        const nodes = [openAuth(store, { clock }), openAuth(store, { clock })];
        const flow = await firstStep(auth, user);
        const from = origins();
        const attempts = Array.from({ length: 50 }, (_, i) =>
          finish(flow, i % 2 === 0 ? wrongCode(app, i) : 'AAAA-AAAA', { origin: from(), node: nodes[i % 2] }),
        );
        expect(await outcomes(attempts)).toEqual({ 'auth.code_invalid': 5, 'auth.code_locked': 45 });
        await refusal(finish(flow, app.code(), { origin: from() }), 'auth.code_locked');
      });

      test('with two-factor off there is nothing to guess', async () => {
        const user = await addUser(store);
        const login = await auth.passwords.signIn({ username: user.username, password: PASSWORD, origin: ORIGIN });
        if (login.kind !== 'session') throw new Error('no session');
        const principal = await readPrincipal(auth, login);
        for (let i = 0; i < 7; i += 1) {
          const guess = { code: '123456', origin: ORIGIN };
          await refusal(auth.twoFactor.disable(principal, guess), 'auth.two_factor_off');
          await refusal(auth.twoFactor.replaceBackupCodes(principal, guess), 'auth.two_factor_off');
        }
      });
    });

    test('nothing of a login’s second step is stored in clear text', async () => {
      const lines: string[] = [];
      const write = (fields: object, message: string) => void lines.push(JSON.stringify(fields) + message);
      const logger = { debug: write, info: write, warn: write, error: write, child: () => logger };
      const node = openAuth(store, { clock, logger });
      const { user, app, backupCodes } = await addProtectedUser(node, store, clock);
      const flow = await firstStep(node, user);
      await refusal(finish(flow, wrongCode(app), { origin: ORIGIN, node }), 'auth.code_invalid');
      await finish(flow, app.code(), { origin: ORIGIN, node });
      const log = lines.join('\n');
      expect(lines.length).toBeGreaterThan(2);
      for (const secret of [app.secret, app.code(), flow, ...backupCodes]) expect(log).not.toContain(secret);
    });
  });
}
