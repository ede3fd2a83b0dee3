import { expect, test } from 'bun:test';
import { randomAlnum } from '../../src/kernel/index.ts';
import type { NewCode, Store } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { describeEachStore } from './each-store.ts';

const LIMIT = 5;
const newCode = (change: Partial<NewCode> = {}): NewCode => ({
  tokenHash: randomAlnum(64),
  purpose: 'email_verify',
  provider: '',
  intent: '',
  userId: 0,
  sessionId: '',
  payload: { email: 'me@example.org' },
  createdAt: 1000,
  expiresAt: 2000,
  secretHash: randomAlnum(64),
  ...change,
});

describeEachStore('mail codes', (opened) => {
  async function send(store: Store, change: Partial<NewCode> = {}): Promise<NewCode> {
    const code = newCode(change);
    await store.flows.putCode(code);
    return code;
  }
  const count = (code: NewCode, now = 1500) =>
    opened().store.flows.countTry({ tokenHash: code.tokenHash, purpose: code.purpose, limit: LIMIT, now });
  const take = (code: NewCode, now = 1500) =>
    opened().store.flows.takeCode({
      tokenHash: code.tokenHash,
      purpose: code.purpose,
      secretHashes: [code.secretHash],
      now,
    });

  test('a code is used once, and its use returns the flow as stored', async () => {
    const { store } = opened();
    const code = await send(store);
    expect(await count(code)).toBe(1);
    const { secretHash: _, ...flow } = code;
    expect(await take(code)).toEqual({ ...flow, consumedAt: 1500 });
    expect(await take(code)).toBeUndefined();
    expect(await count(code)).toBeUndefined();
  });

  test('a right code is found without being used, and only while it could be used', async () => {
    const { store } = opened();
    const code = await send(store);
    const find = (secrets: string[], now = 1500) =>
      store.flows.findCode({ tokenHash: code.tokenHash, purpose: code.purpose, secretHashes: secrets, now });
    const { secretHash, ...flow } = code;
    expect(await find(['wrong', secretHash])).toEqual({ ...flow, consumedAt: null });
    expect(await find([secretHash])).toBeDefined();
    expect(await find(['wrong', ''])).toBeUndefined();
    expect(await find([])).toBeUndefined();
    expect(await find([secretHash], code.expiresAt)).toBeUndefined();
    expect(
      await store.flows.findCode({
        tokenHash: code.tokenHash,
        purpose: 'email_bind',
        secretHashes: [secretHash],
        now: 1500,
      }),
    ).toBeUndefined();
    await take(code);
    expect(await find([secretHash])).toBeUndefined();
  });

  test('replay: of 50 concurrent uses of one code on two nodes, one wins', async () => {
    const { store, openAnother } = opened();
    const another = await openAnother();
    const code = await send(store);
    const uses = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        (i % 2 ? store : another).transaction((tx) =>
          tx.flows.takeCode({
            tokenHash: code.tokenHash,
            purpose: code.purpose,
            secretHashes: [code.secretHash],
            now: 1500,
          }),
        ),
      ),
    );
    expect(uses.filter((used) => used !== undefined)).toHaveLength(1);
  });

  test('concurrent guessing: five of 50 tries are counted, and then the code is invalid', async () => {
    const { store, openAnother } = opened();
    const another = await openAnother();
    const code = await send(store);
    const tries = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        (i % 2 ? store : another).flows.countTry({
          tokenHash: code.tokenHash,
          purpose: code.purpose,
          limit: LIMIT,
          now: 1500,
        }),
      ),
    );
    expect(tries.filter((tried) => tried !== undefined).sort()).toEqual([1, 2, 3, 4, 5]);
    expect(await count(code)).toBeUndefined();
  });

  test('of 50 concurrent callers with the right code, five are compared and one wins', async () => {
    const { store } = opened();
    const code = await send(store);
    const winners = await Promise.all(
      Array.from({ length: 50 }, async () => ((await count(code)) === undefined ? undefined : take(code))),
    );
    expect(winners.filter((won) => won !== undefined)).toHaveLength(1);
  });

  test('another secret is refused, the right one among candidates is accepted, and no candidates find nothing', async () => {
    const { store } = opened();
    const code = await send(store);
    const tryWith = (candidates: string[]) =>
      store.flows
        .takeCode({ tokenHash: code.tokenHash, purpose: code.purpose, secretHashes: candidates, now: 1500 })
        .then((flow) => flow !== undefined);
    expect(await tryWith([])).toBe(false);
    expect(await tryWith([''])).toBe(false);
    expect(await tryWith([newCode().secretHash, ''])).toBe(false);
    expect(await tryWith([newCode().secretHash, code.secretHash])).toBe(true);
  });

  test('a code of another purpose, an expired and an unknown one are neither counted nor used', async () => {
    const { store } = opened();
    const code = await send(store);
    for (const wrong of [{ ...code, purpose: 'password_reset' as const }, newCode()]) {
      expect(await count(wrong)).toBeUndefined();
      expect(await take(wrong)).toBeUndefined();
    }
    expect(await count(code, 2000)).toBeUndefined();
    expect(await take(code, 2000)).toBeUndefined();
    expect(await count(code, 1999)).toBe(1);
    expect(await take(code, 1999)).toBeDefined();
  });

  test('a resend replaces the code, its tries and its use; one code is valid', async () => {
    const { store } = opened();
    const first = await send(store);
    for (let i = 0; i < LIMIT; i += 1) await count(first);
    expect(await count(first)).toBeUndefined();
    const second = await send(store, { tokenHash: first.tokenHash, createdAt: 1400, expiresAt: 2400, payload: {} });
    expect(await count(second)).toBe(1);
    expect(await take(first)).toBeUndefined();
    expect(await take(second, 2399)).toMatchObject({ createdAt: 1400, expiresAt: 2400, payload: {} });
    const third = await send(store, { tokenHash: first.tokenHash });
    expect(await take(third)).toMatchObject({ consumedAt: 1500 });
  });

  test('after 20 concurrent sendings one code is valid', async () => {
    const { store } = opened();
    const { tokenHash } = newCode();
    const codes = Array.from({ length: 20 }, () => newCode({ tokenHash }));
    await Promise.all(codes.map((code) => store.flows.putCode(code)));
    const taken: NewCode[] = [];
    for (const code of codes) if (await take(code)) taken.push(code);
    expect(taken).toHaveLength(1);
  });

  test('a use inside a failed transaction leaves the code unused, and its try counted', async () => {
    const { store } = opened();
    const code = await send(store);
    expect(await count(code)).toBe(1);
    const attempt = store.transaction(async (tx) => {
      expect(
        await tx.flows.takeCode({
          tokenHash: code.tokenHash,
          purpose: code.purpose,
          secretHashes: [code.secretHash],
          now: 1500,
        }),
      ).toBeDefined();
      throw new Error('later');
    });
    await expect(attempt).rejects.toThrow('later');
    expect(await count(code)).toBe(2);
    expect(await take(code)).toBeDefined();
  });

  test('flow confusion: a code is not used without its secret, nor a flow without a code used as one', async () => {
    const { store } = opened();
    const code = await send(store);
    expect(await store.flows.find(code.tokenHash, { purpose: code.purpose }, 1500)).toBeUndefined();
    expect(await store.flows.consume(code.tokenHash, { purpose: code.purpose }, 1500)).toBeUndefined();
    const { secretHash: _, ...plain } = newCode();
    await store.flows.insert({ ...plain, consumedAt: null });
    expect(
      await store.flows.countTry({ tokenHash: plain.tokenHash, purpose: plain.purpose, limit: LIMIT, now: 1500 }),
    ).toBeUndefined();
    expect(
      await store.flows.takeCode({ tokenHash: plain.tokenHash, purpose: plain.purpose, secretHashes: [''], now: 1500 }),
    ).toBeUndefined();
    expect(await store.flows.find(plain.tokenHash, { purpose: plain.purpose }, 1500)).toBeDefined();
    await expect(send(store, { secretHash: '' })).rejects.toMatchObject({ code: 'store.misused' });
  });

  test('all flows of one user are deleted in one statement', async () => {
    const { store } = opened();
    const [user, other] = [await addUser(store), await addUser(store)];
    const reset = await send(store, { purpose: 'password_reset', userId: user.id });
    const { secretHash: _, ...login } = newCode({ purpose: '2fa_login', userId: user.id });
    await store.flows.insert({ ...login, consumedAt: null });
    const strangers = await send(store, { purpose: 'password_reset', userId: other.id });
    expect(await store.flows.deleteOfUser(user.id)).toBe(2);
    expect(await take(reset)).toBeUndefined();
    expect(await store.flows.find(login.tokenHash, { purpose: '2fa_login' }, 1500)).toBeUndefined();
    const nobodys = await send(store);
    expect(await store.flows.deleteOfUser(0)).toBe(0);
    expect(await take(nobodys)).toBeDefined();
    expect(await take(strangers)).toBeDefined();
  });
});
