/** Sign-ins in the audit log. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { authErrors } from '../../src/auth/errors.ts';
import type { Auth } from '../../src/auth/index.ts';
import { createSignIns } from '../../src/auth/sessions/record-sign-ins.ts';
import { silentLogger } from '../../src/kernel/index.ts';
import { createMemoryCounters } from '../../src/store/index.ts';
import type { AuditRecord, Store, UserRecord } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { PASSWORD } from '../support/cheap-hash.ts';
import { addProtectedUser, firstStep, wrongCode } from './authenticator-app.ts';
import { bearer, openAuth, openTestStore, originFor, refreshWith, signIn, testConfig } from './harness.ts';
import { refusal } from './refusal.ts';
import { createTestClock, type TestClock } from './test-clock.ts';

describe('sign-ins in the audit log', () => {
  let opened: Awaited<ReturnType<typeof openTestStore>>;
  let store: Store;
  let auth: Auth;
  let clock: TestClock;
  let samples: string[];
  let addresses = 0;
  beforeEach(async () => {
    opened = await openTestStore('sqlite');
    store = withKnownWrites(opened.store);
    clock = { ...createTestClock(), sleep: async () => {} };
    samples = [];
    auth = openAuth(store, { clock, onSignIn: ({ method, outcome }) => samples.push(`${method} ${outcome}`) });
  });
  afterEach(async () => {
    await written();
    await opened.stop();
  });

  /** Answers do not wait for the rows of failures, so the tests must. */
  const writes: Promise<void>[] = [];
  const written = () => Promise.all(writes.splice(0));
  function withKnownWrites(inner: Store): Store {
    const addAudit: Store['logs']['addAudit'] = (row) => {
      const write = inner.logs.addAudit(row);
      writes.push(write);
      return write;
    };
    return { ...inner, logs: { ...inner.logs, addAudit } };
  }

  const elsewhere = () => {
    addresses += 1;
    return originFor(`10.1.${addresses >> 8}.${addresses & 255}`, 'a browser');
  };
  const list = async () => {
    await written();
    return store.logs.listAudit({ action: 'auth.' }, { page: 1, pageSize: 100 });
  };
  const rows = async (): Promise<AuditRecord[]> => (await list()).items.reverse();
  const countRows = async () => (await list()).total;
  const recorder = () =>
    createSignIns({
      ...{ store, clock, counters: createMemoryCounters(clock), logger: silentLogger, config: testConfig() },
    });
  const locked = () => Promise.reject(authErrors.too_many_attempts({ retryAfterSeconds: 1 }));
  const guess = (username: string, origin = elsewhere()) =>
    auth.passwords.signIn({ username, password: 'not the password', origin }).catch(() => undefined);
  const about = (user: UserRecord) => ({
    userId: user.id,
    username: user.username,
    target: `user:${user.id}`,
  });

  test('a sign-in and a sign-out, with account, method and address', async () => {
    const user = await addUser(store);
    const origin = elsewhere();
    const signedIn = await signIn(auth, user, origin);
    const end = {
      refreshToken: signedIn.refreshToken,
      authorization: bearer(signedIn),
      expectedSid: undefined,
      origin,
    };
    await auth.sessions.signOut(end);
    await auth.sessions.signOut(end);
    const session = signedIn.bundle.session.sid;
    expect(await rows()).toMatchObject([
      { ...about(user), action: 'auth.login', authMethod: 'password', ip: origin.ip, detail: { session } },
      { ...about(user), action: 'auth.logout', authMethod: 'password', ip: origin.ip, detail: { session } },
    ]);
    expect(samples).toEqual(['password success', 'password logout']);
  });

  test('a failure names the account; an unknown name is recorded as a digest, the same for each spelling', async () => {
    const user = await addUser(store);
    await guess(user.username.toUpperCase());
    await guess('A password typed as a name');
    await guess('a password typed as a NAME');
    const [known, unknown, again] = await rows();
    expect(known).toMatchObject({
      ...about(user),
      action: 'auth.login_failed',
      detail: { reason: 'invalid_credentials' },
    });
    expect(unknown).toMatchObject({ userId: null, username: '' });
    expect(unknown?.target).toMatch(/^name:[0-9a-f]{32}$/);
    expect(again?.target).toBe(unknown?.target ?? '');
    expect(JSON.stringify(await rows())).not.toMatch(/typed as a name/i);
    expect(samples).toEqual(Array(3).fill('password invalid_credentials'));
  });

  test('a block has one row, however many attempts follow', async () => {
    const user = await addUser(store);
    const origin = elsewhere();
    for (let i = 0; i < 12; i += 1) await guess(user.username, origin);
    const actions = (await rows()).map(({ action }) => action);
    expect(actions).toEqual([...Array(5).fill('auth.login_failed'), 'auth.locked']);
  });

  test('flood of failures: twenty rows per account, then one per doubling with the count', async () => {
    const user = await addUser(store);
    for (let i = 0; i < 90; i += 1) await guess(user.username);
    const found = await rows();
    expect(found).toHaveLength(22);
    expect(found.slice(-2).map(({ detail }) => detail.failures_this_hour)).toEqual([40, 80]);
    // The owner's sign-in is recorded nevertheless.
    await signIn(auth, user, elsewhere());
    expect((await rows()).at(-1)?.action).toBe('auth.login');
  });

  test('blocks of unknown names: one row per address, and 500 an hour', async () => {
    const user = await addUser(store);
    const signIns = recorder();
    const lock = (loginName: string, origin = elsewhere()) =>
      signIns.watch({ method: 'password', origin, loginName }, locked).catch(() => undefined);
    const origin = elsewhere();
    for (let i = 0; i < 30; i += 1) await lock(`made up ${i}`, origin);
    expect((await rows()).map(({ action }) => action)).toEqual(['auth.locked']);
    for (let i = 0; i < 520; i += 1) await lock(`another ${i}`);
    expect(await countRows()).toBe(500);
    // The account's rows are written nevertheless, one for each address.
    await lock(user.username, origin);
    await lock(user.username, origin);
    await lock(user.username);
    expect(await countRows()).toBe(502);
    expect((await rows()).filter(({ userId }) => userId === user.id)).toHaveLength(2);
  });

  test('second factor: wrong codes once each and the success are recorded, the first step is not', async () => {
    const { user, app } = await addProtectedUser(auth, store, clock);
    const before = (await rows()).length;
    const flowToken = await firstStep(auth, user);
    const origin = elsewhere();
    const finish = (code: string) => auth.twoFactor.finishSignIn({ flowToken, code, origin });
    await refusal(finish(wrongCode(app)), 'auth.code_invalid');
    await finish(app.code());
    expect((await rows()).slice(before)).toMatchObject([
      { ...about(user), action: 'auth.factor_failed', authMethod: '2fa', detail: { reason: 'code_invalid' } },
      { ...about(user), action: 'auth.login', authMethod: '2fa' },
    ]);
    expect(samples.slice(-3)).toEqual(['password second_factor_due', '2fa code_invalid', '2fa success']);
  });

  test('a wrong password in a confirmation inside a session', async () => {
    const user = await addUser(store);
    const signedIn = await signIn(auth, user);
    const principal = await auth.authenticatePanel(bearer(signedIn));
    const change = { currentPassword: 'wrong', newPassword: `${PASSWORD} 2`, origin: elsewhere() };
    await refusal(auth.passwords.change(principal, change), 'auth.password_invalid');
    expect((await rows()).at(-1)).toMatchObject({
      ...about(user),
      action: 'auth.factor_failed',
      authMethod: 'password',
    });
  });

  test('a reused stolen refresh token ends the session and is recorded', async () => {
    const user = await addUser(store);
    const signedIn = await signIn(auth, user);
    await refreshWith(auth, signedIn.refreshToken);
    clock.advance(31);
    await refusal(refreshWith(auth, signedIn.refreshToken), 'auth.session_revoked');
    const reuses = (await rows()).filter(({ action }) => action === 'auth.refresh_reuse');
    expect(reuses).toMatchObject([{ ...about(user), detail: { session: signedIn.bundle.session.sid } }]);
    expect(samples.at(-1)).toBe('password refresh_reuse');
  });

  test('requests that are not a sign-in attempt have no row', async () => {
    const origin = elsewhere();
    await refusal(auth.passwords.signIn({ username: ' ', password: 'x', origin }), 'auth.validation_failed');
    await refusal(auth.twoFactor.finishSignIn({ flowToken: 'old', code: '123456', origin }), 'auth.flow_invalid');
    expect(await rows()).toEqual([]);
    expect(samples).toEqual(['2fa flow_invalid']);
  });

  test('the deciding address is recorded beside a different shown one', async () => {
    const user = await addUser(store);
    await signIn(auth, user, { ...originFor('8.8.8.8'), decidingIp: originFor('192.168.1.5').decidingIp });
    expect((await rows())[0]).toMatchObject({ ip: '8.8.8.8', detail: { limited_as: '192.168.1.5' } });
  });
});
