/** Administrators' changes of accounts, and their effect on sessions, credentials and money. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Auth } from '../../src/auth/index.ts';
import { newTaskId, newUuid } from '../../src/kernel/index.ts';
import type { FlowRecord, NewUser, Store, UserRecord } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { PASSWORD } from '../support/cheap-hash.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { bearer, ORIGIN, openAuth, openTestStore, refreshWith, signIn } from './harness.ts';
import { refusal } from './refusal.ts';

type Caller = Parameters<Auth['administration']['delete']>[0];
const NEW_PASSWORD = 'another long password';

for (const dialect of RULE_DATABASES) {
  describe(`administration on ${dialect}`, () => {
    let store: Store;
    let stop: () => Promise<void>;
    let auth: Auth;
    let root: Caller;
    let user: UserRecord;

    beforeAll(async () => {
      ({ store, stop } = await openTestStore(dialect));
      auth = openAuth(store);
      root = await readSession(await addUser(store, { role: 100 }));
    });
    afterAll(() => stop());
    beforeEach(async () => {
      user = await addUser(store);
    });

    const readSession = async (person: UserRecord) => auth.authenticatePanel(bearer(await signIn(auth, person)));
    const readVersion = async (id: number) => (await store.users.adminById(id))?.authVersion;
    const readClaim = async (address: string) => (await store.identities.owner('email', address))?.userId;
    const addressFor = (name: string) => `${name}-${newUuid()}@example.org`;

    /** A session with its refresh token, a personal access token and an API key of one user. */
    async function collect(person: UserRecord) {
      const session = await signIn(auth, person);
      const caller = await auth.authenticatePanel(bearer(session));
      const { token } = await auth.personalTokens.create(caller);
      const { key } = await auth.apiKeys.create(caller, { name: 'key', unlimited_quota: true });
      return { session, token, key };
    }
    type Held = Awaited<ReturnType<typeof collect>>;
    const useKey = (key: string) =>
      auth.authenticateApiKey(`Bearer ${key}`, { origin: ORIGIN, purpose: 'submit' }).then(() => 'works');
    async function expectSessionsEnded({ session }: Held, reason: string): Promise<void> {
      await refusal(auth.authenticatePanel(bearer(session)), 'auth.session_revoked');
      await refusal(refreshWith(auth, session.refreshToken), 'auth.session_revoked');
      expect((await store.sessions.bySid(session.bundle.session.sid))?.revokedReason).toBe(reason);
    }
    async function expectSessionGoesOn({ session }: Held): Promise<void> {
      await auth.authenticatePanel(bearer(session));
    }

    describe('a new account', () => {
      const create = (account: Partial<Parameters<Auth['administration']['create']>[1]>) =>
        auth.administration.create(root, {
          username: `n-${newUuid().slice(0, 20)}`,
          password: NEW_PASSWORD,
          ...account,
        });

      test('has the given values, owns its address, and its quota is a ledger line', async () => {
        const email = addressFor('New');
        const made = await create({
          display_name: ' Ada L. ',
          group: 'vip',
          email,
          quota: 700,
          remark: 'met at\nlunch',
        });
        expect(made).toMatchObject({
          ...{ display_name: 'Ada L.', role: 1, status: 1, email: email.toLowerCase(), group: 'vip', quota: 700 },
          ...{ remark: 'met at\nlunch', has_password: true, has_access_token: false, deleted_at: 0, inviter_id: 0 },
        });
        expect(await readClaim(email.toLowerCase())).toBe(made.id);
        const lines = await store.ledger.list(made.id, { page: 1, pageSize: 10 });
        expect(lines.items.map(({ kind, amount }) => [kind, amount])).toEqual([['grant', 700]]);
        const login = { username: email, password: NEW_PASSWORD, origin: ORIGIN };
        expect((await auth.passwords.signIn(login)).kind).toBe('session');
      });

      test('needs only a name and a password', async () => {
        const { id, username } = await create({});
        expect(await auth.administration.find(root, id)).toMatchObject({
          ...{ username, display_name: username, role: 1, group: 'default', email: null, quota: 0, remark: '' },
          ...{ two_factor: false, passkeys: 0, bindings: [], api_keys: 0, sessions: 0, invited: 0, last_login_at: 0 },
        });
        expect((await store.ledger.list(id, { page: 1, pageSize: 10 })).total).toBe(0);
      });

      test('with a taken name or address is not created', async () => {
        const email = addressFor('taken');
        const { username } = await create({ email });
        await refusal(create({ username: username.toUpperCase() }), 'auth.name_taken');
        const other = `n-${newUuid().slice(0, 20)}`;
        await refusal(create({ username: other, email: email.toUpperCase() }), 'auth.identity_taken');
        expect(await store.users.byNameOrAddress(other)).toBeUndefined();
      });

      test.each([
        ['username', { username: 'a b' }],
        ['username', { username: 'deleted:1' }],
        ['password', { password: 'short' }],
        ['password', { password: 'password1' }],
        ['display_name', { display_name: 'a\0b' }],
        ['display_name', { display_name: 'x'.repeat(65) }],
        ['group', { group: ' ' }],
        ['group', { group: 'g'.repeat(65) }],
        ['email', { email: 'a@b' }],
        ['email', { email: 'a@example.org\nBcc: b@example.org' }],
        ['email', { email: `${'a'.repeat(120)}@example.org` }],
        ['quota', { quota: -1 }],
        ['quota', { quota: 2 ** 60 }],
        ['remark', { remark: 'r'.repeat(256) }],
        ['remark', { remark: '\uD800' }],
      ])('of a wrong %s is refused: %j', async (param, fields) => {
        expect((await refusal(create(fields), 'auth.validation_failed')).param).toBe(param);
      });

      test('of one name, requested twenty times at once, is created once', async () => {
        const username = `once-${newUuid().slice(0, 20)}`;
        const made = await Promise.allSettled(Array.from({ length: 20 }, () => create({ username, quota: 5 })));
        expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      });
    });

    describe('an edit', () => {
      test('changes the given fields and keeps the rest; sessions continue', async () => {
        const held = await collect(user);
        const before = await store.users.adminById(user.id);
        const { before: was, after } = await auth.administration.edit(root, user.id, { group: 'vip', remark: 'note' });
        expect([was, after]).toEqual([
          { group: 'default', remark: '' },
          { group: 'vip', remark: 'note' },
        ]);
        expect(await store.users.adminById(user.id)).toEqual({ ...before, group: 'vip', remark: 'note' } as never);
        await expectSessionGoesOn(held);
        expect((await auth.administration.edit(root, user.id, {})).after).toEqual({});
        expect((await auth.administration.edit(root, user.id, { group: 'vip' })).after).toEqual({});
      });

      test('of the password ends sessions and keeps token and keys; the text is stored nowhere', async () => {
        const held = await collect(user);
        const edited = await auth.administration.edit(root, user.id, { password: NEW_PASSWORD, display_name: 'New' });
        expect(edited.after).toEqual({ display_name: 'New', password: '***' });
        await expectSessionsEnded(held, 'admin_user_update');
        expect(await readVersion(user.id)).toBe(user.authVersion + 1);
        expect((await auth.authenticatePanel(`Bearer ${held.token}`)).user.id).toBe(user.id);
        expect(await useKey(held.key)).toBe('works');
        const login = { username: user.username, origin: ORIGIN };
        await refusal(auth.passwords.signIn({ ...login, password: PASSWORD }), 'auth.invalid_credentials');
        expect((await auth.passwords.signIn({ ...login, password: NEW_PASSWORD })).kind).toBe('session');
      });

      test('of the address moves its claim; null frees it; an address of another user is refused', async () => {
        const [first, second] = [addressFor('first'), addressFor('second')];
        await auth.administration.edit(root, user.id, { email: first });
        await auth.administration.edit(root, user.id, { email: first.toUpperCase() });
        expect(await readClaim(first)).toBe(user.id);
        await auth.administration.edit(root, user.id, { email: second });
        expect([await readClaim(first), await readClaim(second)]).toEqual([undefined, user.id]);

        const other = await addUser(store);
        const attempt = auth.administration.edit(root, other.id, { email: second, remark: 'with it' });
        await refusal(attempt, 'auth.identity_taken');
        expect(await store.users.adminById(other.id)).toMatchObject({ email: null, remark: '' });
        await auth.administration.edit(root, user.id, { email: null });
        expect([await readClaim(second), (await store.users.byId(user.id))?.email]).toEqual([undefined, null]);
        await auth.administration.edit(root, other.id, { email: second });
        expect(await readClaim(second)).toBe(other.id);
      });

      test('of an unclaimed address from an old database claims it', async () => {
        const email = addressFor('old');
        const old = await addUser(store, { email });
        await auth.administration.edit(root, old.id, { email, remark: 'x' });
        expect(await readClaim(email)).toBe(old.id);
      });

      test('to a taken name rolls back the whole edit', async () => {
        const held = await collect(user);
        const other = await addUser(store);
        const edit = { username: other.username.toUpperCase(), password: NEW_PASSWORD, remark: 'x' };
        await refusal(auth.administration.edit(root, user.id, edit), 'auth.name_taken');
        expect(await store.users.adminById(user.id)).toMatchObject({ username: user.username, remark: '' });
        await expectSessionGoesOn(held);
      });

      test('password spray: the new password is checked against the current name and the new one', async () => {
        const named = await addUser(store, { username: `name-${newUuid().slice(0, 8)}` });
        const edits = [{ password: named.username }, { username: 'another.name', password: 'Another.Name' }];
        for (const edit of edits) {
          await refusal(auth.administration.edit(root, named.id, edit), 'auth.validation_failed');
        }
      });
    });

    describe('status and role', () => {
      const change = (id: number, action: Parameters<Auth['administration']['changeStatusOrRole']>[2]) =>
        auth.administration.changeStatusOrRole(root, id, action);

      test('disabling ends all access; after enabling, token and keys work, old sessions do not', async () => {
        const held = await collect(user);
        expect(await change(user.id, 'disable')).toMatchObject({ changed: true, user: { status: 2 } });
        await expectSessionsEnded(held, 'admin_disable');
        await refusal(auth.authenticatePanel(`Bearer ${held.token}`), 'auth.user_disabled');
        await refusal(useKey(held.key), 'auth.api_key_user_disabled');
        const login = { username: user.username, password: PASSWORD, origin: ORIGIN };
        await refusal(auth.passwords.signIn(login), 'auth.invalid_credentials');

        expect(await change(user.id, 'enable')).toMatchObject({ changed: true, user: { status: 1 } });
        expect((await auth.authenticatePanel(`Bearer ${held.token}`)).user.id).toBe(user.id);
        expect(await useKey(held.key)).toBe('works');
        await expectSessionsEnded(held, 'admin_disable');
        expect(await readVersion(user.id)).toBe(user.authVersion + 2);
      });

      test('promoted and demoted users have to sign in again', async () => {
        for (const [action, role] of [['promote', 10] as const, ['demote', 1] as const]) {
          const held = await collect(user);
          expect(await change(user.id, action)).toMatchObject({ changed: true, user: { role } });
          await expectSessionsEnded(held, `admin_${action}`);
        }
      });

      test('an action that changes nothing ends no session', async () => {
        const held = await collect(user);
        expect((await change(user.id, 'enable')).changed).toBe(false);
        expect((await change(user.id, 'demote')).changed).toBe(false);
        expect(await readVersion(user.id)).toBe(user.authVersion);
        await expectSessionGoesOn(held);
      });
    });

    describe('a reset', () => {
      async function equip({ id }: UserRecord): Promise<void> {
        await store.twoFactor.begin({ userId: id, secretSealed: 'sealed', createdAt: 1 });
        await store.twoFactor.enable(id, 'sealed', 1);
        await store.twoFactor.replaceBackupCodes(id, ['a', 'b'], 1);
        for (const name of ['phone', 'key']) {
          await store.passkeys.insert({
            ...{ userId: id, credentialId: newUuid(), publicKey: 'key', rpId: 'localhost', name, counter: 0 },
            ...{ transports: [], backedUp: false, createdAt: 1 },
          });
        }
      }

      test('of two-factor removes backup codes too and ends sessions', async () => {
        const held = await collect(user);
        await equip(user);
        expect(await auth.administration.find(root, user.id)).toMatchObject({ two_factor: true, passkeys: 2 });
        await auth.administration.reset.twoFactor(root, user.id);
        await expectSessionsEnded(held, 'admin_twofa_disabled');
        expect(await store.twoFactor.byUser(user.id)).toBeUndefined();
        expect(await store.twoFactor.countBackupCodes(user.id)).toBe(0);
        expect(await readVersion(user.id)).toBe(user.authVersion + 1);
        await refusal(auth.administration.reset.twoFactor(root, user.id), 'auth.two_factor_off');
        expect(await readVersion(user.id)).toBe(user.authVersion + 1);
      });

      test('of two-factor leaves a set-up that is not confirmed, and its owner signed in', async () => {
        const held = await collect(user);
        await store.twoFactor.begin({ userId: user.id, secretSealed: 'sealed', createdAt: 1 });
        await refusal(auth.administration.reset.twoFactor(root, user.id), 'auth.two_factor_off');
        expect(await store.twoFactor.byUser(user.id)).toMatchObject({ enabled: false });
        await expectSessionGoesOn(held);
      });

      test('of passkeys removes all of them and ends sessions', async () => {
        const held = await collect(user);
        await equip(user);
        expect(await auth.administration.reset.passkeys(root, user.id)).toEqual({ deleted: 2 });
        await expectSessionsEnded(held, 'admin_passkey_reset');
        await refusal(auth.administration.reset.passkeys(root, user.id), 'auth.passkey_not_found');
        expect(await readVersion(user.id)).toBe(user.authVersion + 1);
      });

      test('of the personal access token keeps sessions', async () => {
        const held = await collect(user);
        await auth.administration.reset.personalToken(root, user.id);
        await refusal(auth.authenticatePanel(`Bearer ${held.token}`), 'auth.unauthorized');
        await auth.administration.reset.personalToken(root, user.id);
        await expectSessionGoesOn(held);
      });

      test('of a binding frees the identity; the email address counts as one', async () => {
        const held = await collect(user);
        const email = addressFor('bound');
        await auth.administration.edit(root, user.id, { email });
        for (const provider of ['github', 'telegram', 'corp-sso']) {
          await store.identities.claim({ provider, subject: `s-${user.id}`, userId: user.id, createdAt: 1 });
        }
        const { bindings } = await auth.administration.find(root, user.id);
        expect(bindings.map(({ provider }) => provider)).toEqual(['corp-sso', 'github', 'telegram']);
        for (const { provider, subject } of bindings) {
          expect(await auth.administration.reset.binding(root, user.id, provider)).toEqual({ subject });
          await refusal(auth.administration.reset.binding(root, user.id, provider), 'auth.binding_not_found');
        }
        expect(await auth.administration.reset.binding(root, user.id, 'email')).toEqual({ subject: email });
        expect([await readClaim(email), (await store.users.byId(user.id))?.email]).toEqual([undefined, null]);
        await refusal(auth.administration.reset.binding(root, user.id, 'email'), 'auth.binding_not_found');
        await expectSessionGoesOn(held);
      });
    });

    test('deleting an account keeps its row; name, address and identity are free', async () => {
      const email = addressFor('gone');
      await auth.administration.edit(root, user.id, { email, remark: 'a note' });
      const identity = { provider: 'github', subject: `gh-${user.id}`, createdAt: 1 };
      await store.identities.claim({ ...identity, userId: user.id });
      await store.twoFactor.begin({ userId: user.id, secretSealed: 'sealed', createdAt: 1 });
      const held = await collect(user);
      const flow: FlowRecord = {
        tokenHash: newUuid(),
        purpose: 'email_bind',
        ...{ provider: '', intent: '', userId: user.id, sessionId: '', payload: {}, createdAt: 1 },
        ...{ expiresAt: 2 ** 40, consumedAt: null },
      };
      await store.flows.insert(flow);
      const grant = { walletId: user.walletId, kind: 'grant', key: newUuid(), amount: 1000, at: 1 } as const;
      await store.transaction((tx) => tx.ledger.grant(grant));

      const { user: left, username } = await auth.administration.delete(root, user.id);
      expect(username).toBe(user.username);
      expect(left).toMatchObject({
        ...{ username: `deleted:${user.id}`, display_name: '', email: null, remark: '', status: 2, quota: 1000 },
        ...{ has_password: false, has_access_token: false },
      });
      expect(left.deleted_at).toBeGreaterThan(0);
      await expectSessionsEnded(held, 'user_deleted');
      await refusal(auth.authenticatePanel(`Bearer ${held.token}`), 'auth.unauthorized');
      await refusal(useKey(held.key), 'auth.api_key_invalid');
      expect(await store.flows.find(flow.tokenHash, { purpose: 'email_bind' }, 1)).toBeUndefined();
      expect(await auth.administration.find(root, user.id)).toMatchObject({
        api_keys: 0,
        two_factor: false,
        sessions: 0,
      });

      for (const again of [
        () => auth.administration.delete(root, user.id),
        () => auth.administration.edit(root, user.id, { remark: 'x' }),
        () => auth.administration.changeStatusOrRole(root, user.id, 'enable'),
        () => auth.administration.changeQuota(root, user.id, { mode: 'override', value: 0 }),
        () => auth.administration.reset.personalToken(root, user.id),
      ]) {
        await refusal(again(), 'auth.user_not_found');
      }
      const next = { username: user.username, password: NEW_PASSWORD, email };
      const { id } = await auth.administration.create(root, next);
      expect(await store.identities.claim({ ...identity, userId: id })).toBe('ok');
      expect((await auth.administration.list({ status: -1 }, { page: 1, pageSize: 100 })).items).toContainEqual(left);
    });

    describe('a change of quota', () => {
      const quota = (mode: 'add' | 'subtract' | 'override', value: number, idempotencyKey?: string) =>
        auth.administration.changeQuota(root, user.id, { mode, value, idempotencyKey });
      const lines = async () =>
        (await store.ledger.list(user.id, { page: 1, pageSize: 100 })).items.map(
          ({ kind, amount }) => `${kind} ${amount}`,
        );

      test('is a ledger line in every mode', async () => {
        expect(await quota('add', 500)).toMatchObject({ before: 0, after: 500, repeated: false, user: { quota: 500 } });
        expect(await quota('subtract', 700)).toMatchObject({ before: 500, after: -200 });
        expect(await quota('override', 300)).toMatchObject({ before: -200, after: 300 });
        expect(await lines()).toEqual(['adjust 500', 'adjust -700', 'adjust 500'].reverse());
        expect((await store.ledger.imbalances(100)).wallets).toEqual([]);
      });

      test('double payment: thirty requests with one key count once, and so do later ones', async () => {
        const key = newUuid();
        const answers = await Promise.all(Array.from({ length: 30 }, () => quota('add', 10, key)));
        expect(answers.filter(({ repeated }) => !repeated)).toHaveLength(1);
        expect(await quota('add', 10, key)).toMatchObject({ after: 10, repeated: true });
        await refusal(quota('add', 11, key), 'auth.quota_key_reused');
        await refusal(quota('subtract', 10, key), 'auth.quota_key_reused');
        expect(await lines()).toEqual(['adjust 10']);
      });

      test('with one operator’s key does not block another operator’s, nor another account', async () => {
        const other = await addUser(store);
        const admin = await readSession(await addUser(store, { role: 10 }));
        const change = { mode: 'add', value: 10, idempotencyKey: 'monthly' } as const;
        for (const [caller, id] of [[root, user.id] as const, [admin, user.id] as const, [root, other.id] as const]) {
          expect((await auth.administration.changeQuota(caller, id, change)).repeated).toBe(false);
        }
      });

      test.each([-1, 0.5, Number.NaN, 2 ** 60])('of %p is refused', async (value) => {
        for (const mode of ['add', 'subtract', 'override'] as const) {
          await refusal(quota(mode, value), 'auth.validation_failed');
        }
      });

      test('stays within exact integers', async () => {
        const most = 500_000 * 1_000_000_000;
        await quota('override', most);
        await refusal(quota('add', 1), 'auth.validation_failed');
        expect(await quota('subtract', most)).toMatchObject({ after: 0 });
      });

      test('lost update: concurrent overrides, additions and reservations leave the balance equal to its lines', async () => {
        await quota('override', 1000);
        await Promise.all(
          Array.from({ length: 30 }, async (_, i) => {
            if (i % 3 === 0) return quota('override', 500 + i);
            if (i % 3 === 1) return quota('add', 7);
            const line = {
              walletId: user.walletId,
              userId: user.id,
              apiKeyId: null,
              taskId: newTaskId(Date.now()),
              attempt: 0,
              amount: 150,
              at: 2,
            };
            return store.transaction((tx) => tx.ledger.reserve(line));
          }),
        );
        const { items } = await store.ledger.list(user.id, { page: 1, pageSize: 100 });
        expect((await store.users.byId(user.id))?.quota).toBe(items.reduce((sum, { amount }) => sum + amount, 0));
        expect((await store.ledger.imbalances(100)).wallets).toEqual([]);
      });
    });

    test('an unknown id is not found', async () => {
      await refusal(auth.administration.find(root, 987_654_321), 'auth.user_not_found');
      await refusal(auth.administration.delete(root, 987_654_321), 'auth.user_not_found');
    });

    test('an account shows neither hash nor version', async () => {
      const made: Partial<NewUser> = { email: addressFor('seen') };
      const { id } = await addUser(store, made);
      const text = JSON.stringify([
        await auth.administration.find(root, id),
        await auth.administration.list({}, { page: 1, pageSize: 100 }),
      ]);
      expect(text).not.toMatch(/argon2|authVersion|auth_version|passwordHash|accessToken"/);
    });
  });
}
