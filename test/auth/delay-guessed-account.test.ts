/** Guessing at one account from many addresses. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Auth } from '../../src/auth/index.ts';
import { createGuessDelay } from '../../src/auth/limits/limit-guesses.ts';
import { createMemoryCounters } from '../../src/store/index.ts';
import type { Store, UserRecord } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { PASSWORD } from '../support/cheap-hash.ts';
import { at } from '../support/deciding-ip.ts';
import { openAuth, openTestStore, originFor, refreshWith, signIn } from './harness.ts';
import { refusal } from './refusal.ts';
import { createTestClock } from './test-clock.ts';

/** A clock that records every sleep; it ends at once, or when the test releases it. */
function createSleeper() {
  const slept: number[] = [];
  const held: (() => void)[] = [];
  const options = { hold: false };
  const clock = {
    ...createTestClock(),
    async sleep(ms: number) {
      slept.push(ms / 1000);
      if (options.hold) await new Promise<void>((resolve) => held.push(resolve));
    },
  };
  return { clock, slept, options, letGo: () => held.splice(0).map((resolve) => resolve()) };
}

describe('guessing one account from many addresses', () => {
  let opened: Awaited<ReturnType<typeof openTestStore>>;
  let store: Store;
  let auth: Auth;
  let user: UserRecord;
  let slept: number[];
  let addresses = 0;
  beforeAll(async () => {
    opened = await openTestStore('sqlite');
    store = opened.store;
  });
  afterAll(() => opened.stop());
  beforeEach(async () => {
    const sleeper = createSleeper();
    slept = sleeper.slept;
    auth = openAuth(store, { clock: sleeper.clock });
    user = await addUser(store, { email: null });
  });

  const elsewhere = () => {
    addresses += 1;
    return originFor(`10.${addresses >> 8}.${addresses & 255}.1`);
  };
  const guess = (username: string, password = 'not the password') =>
    refusal(auth.passwords.signIn({ username, password, origin: elsewhere() }), 'auth.invalid_credentials');

  test('a botnet: after 20 failures from all addresses answers wait one second, then two, up to eight', async () => {
    for (let i = 0; i < 30; i += 1) await guess(user.username);
    expect(slept).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 8, 8]);
  });

  test('the owner is delayed on other devices, and never locked out', async () => {
    for (let i = 0; i < 40; i += 1) await guess(user.username);
    slept.length = 0;
    await signIn(auth, user, elsewhere());
    expect(slept).toEqual([8]);
  });

  test('enumeration: an unknown account is delayed alike', async () => {
    for (let i = 0; i < 23; i += 1) await guess('nobody of this name');
    expect(slept).toEqual([1, 2, 3]);
  });

  test('sign-ins that succeed do not count', async () => {
    for (let i = 0; i < 30; i += 1) await signIn(auth, user, elsewhere());
    expect(slept).toEqual([]);
  });

  test('malicious slow-down: a browser with a live session of the account does not wait, even at a blocked address', async () => {
    const origin = elsewhere();
    const { refreshToken } = await signIn(auth, user, origin);
    for (let i = 0; i < 30; i += 1) await guess(user.username);
    const wrong = { username: user.username, password: 'not the password', origin };
    for (let i = 0; i < 5; i += 1) await refusal(auth.passwords.signIn(wrong), 'auth.invalid_credentials');
    await refusal(auth.passwords.signIn(wrong), 'auth.too_many_attempts');
    slept.length = 0;

    const { kind } = await auth.passwords.signIn({ ...wrong, password: PASSWORD, refreshToken });
    expect([kind, slept]).toEqual(['session', []]);
    // The token was checked, not used up.
    expect((await refreshWith(auth, refreshToken)).kind).toBe('session');
  });

  test('cookies other than the account’s own session spare no delay', async () => {
    const other = await signIn(auth, await addUser(store), elsewhere());
    const own = await signIn(auth, user, elsewhere());
    const ended = await signIn(auth, user, elsewhere());
    await auth.sessions.revoke(
      await auth.authenticatePanel(`Bearer ${own.bundle.access_token}`),
      ended.bundle.session.sid,
    );
    const tokens = {
      'of another account': other.refreshToken,
      'of an ended session': ended.refreshToken,
      'with a guessed secret': `${own.bundle.session.sid}.${'0'.repeat(64)}`,
      'that is none': 'malformed',
    };
    for (let i = 0; i < 30; i += 1) await guess(user.username);
    for (const [what, refreshToken] of Object.entries(tokens)) {
      slept.length = 0;
      await auth.passwords.signIn({ username: user.username, password: PASSWORD, origin: elsewhere(), refreshToken });
      expect([what, slept]).toEqual([what, [8]]);
    }
  });

  test('a browser with a session has five wrong passwords of its own, like an address', async () => {
    const origin = elsewhere();
    const { refreshToken } = await signIn(auth, user, origin);
    const wrong = () =>
      auth.passwords.signIn({
        username: user.username,
        password: 'not the password',
        origin: elsewhere(),
        refreshToken,
      });
    for (let i = 0; i < 5; i += 1) await refusal(wrong(), 'auth.invalid_credentials');
    await refusal(wrong(), 'auth.too_many_attempts');
  });
});

describe('delayed answers', () => {
  test('are limited to 64 on a node and 4 per address; the next is refused at once', async () => {
    const { clock, options, letGo } = createSleeper();
    options.hold = true;
    const { delay } = createGuessDelay({ counters: createMemoryCounters(), clock });
    const waiting = Array.from({ length: 64 }, (_, i) => delay(3, at(`10.0.0.${i >> 2}`)));
    const crowded = await refusal(delay(3, at('10.0.0.1')), 'auth.too_many_attempts');
    expect(crowded.retryAfterSeconds).toBe(3);
    expect((await refusal(delay(3, at('10.1.0.1')), 'auth.unavailable')).retryAfterSeconds).toBe(3);
    letGo();
    await Promise.all(waiting);
    const next = delay(1, at('10.0.0.1'));
    letGo();
    await next;
  });

  test('an attempt that ends with an error is not a failure', async () => {
    const { clock } = createSleeper();
    const { count } = createGuessDelay({ counters: createMemoryCounters(), clock });
    const broken = () => Promise.reject(new Error('the store is unavailable'));
    for (let i = 0; i < 40; i += 1) await expect(count('alice', broken)).rejects.toThrow('unavailable');
    expect(await count('alice', async () => 'right')).toEqual({ outcome: 'right', seconds: 0 });
  });
});
