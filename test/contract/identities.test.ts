import { expect, test } from 'bun:test';
import { randomAlnum } from '../../src/kernel/index.ts';
import type { UserRecord } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { describeEachStore } from './each-store.ts';

describeEachStore('identities', (opened) => {
  const subject = () => randomAlnum(20);
  const claim = (user: UserRecord, provider: string, subject: string) =>
    opened().store.identities.claim({ provider, subject, userId: user.id, createdAt: 300 });
  const addUsers = (count: number) => Promise.all(Array.from({ length: count }, () => addUser(opened().store)));

  test('an identity has one owner, and a user one identity per provider', async () => {
    const { identities } = opened().store;
    const [owner, other] = [await addUser(opened().store), await addUser(opened().store)];
    const mine = subject();
    expect(await identities.owner('github', mine)).toBeUndefined();
    expect(await claim(owner, 'github', mine)).toBe('ok');
    expect(await claim(owner, 'github', mine)).toBe('ok');
    expect(await identities.owner('github', mine)).toEqual({
      provider: 'github',
      subject: mine,
      userId: owner.id,
      createdAt: 300,
    });
    expect(await claim(other, 'github', mine)).toBe('taken');
    expect(await claim(owner, 'github', subject())).toBe('user_has_one');
    // Another user's identity is `taken`, also for a user who has one of their own.
    expect(await claim(other, 'github', subject())).toBe('ok');
    expect(await claim(other, 'github', mine)).toBe('taken');
  });

  test('provider confusion: the same subject at another provider is another identity', async () => {
    const { identities } = opened().store;
    const [one, two] = [await addUser(opened().store), await addUser(opened().store)];
    const same = subject();
    expect(await claim(one, 'github', same)).toBe('ok');
    expect(await claim(two, 'discord', same)).toBe('ok');
    expect(await identities.owner('github', same)).toMatchObject({ userId: one.id });
    expect(await identities.owner('discord', same)).toMatchObject({ userId: two.id });
    expect(await identities.owner('github', same.toUpperCase())).toBeUndefined();
  });

  test.each(["' or '1'='1", '%', 'ß', '“ü” 😀', 'x'.repeat(128)])('a subject of %p is kept as it is', async (text) => {
    const { identities } = opened().store;
    const provider = randomAlnum(20);
    const user = await addUser(opened().store);
    expect(await claim(user, provider, text)).toBe('ok');
    expect(await identities.owner(provider, text)).toMatchObject({ subject: text, userId: user.id });
    expect(await identities.countProvider(provider)).toBe(1);
  });

  test('account takeover by a race: of 50 users who claim one identity concurrently, one owns it', async () => {
    const { store, openAnother } = opened();
    const another = await openAnother();
    const users = await addUsers(50);
    const mine = subject();
    const verdicts = await Promise.all(
      users.map(({ id }, i) =>
        (i % 2 ? store : another).identities.claim({ provider: 'oidc', subject: mine, userId: id, createdAt: 300 }),
      ),
    );
    expect(verdicts.filter((verdict) => verdict === 'ok')).toHaveLength(1);
    expect(verdicts.filter((verdict) => verdict === 'taken')).toHaveLength(49);
    expect((await store.identities.owner('oidc', mine))?.userId).toBe(users[verdicts.indexOf('ok')]?.id as number);
  });

  test('a user who claims 50 identities concurrently gets one; one identity claimed 50 times is theirs', async () => {
    const user = await addUser(opened().store);
    const verdicts = await Promise.all(Array.from({ length: 50 }, () => claim(user, 'oidc', subject())));
    expect(verdicts.filter((verdict) => verdict === 'ok')).toHaveLength(1);
    expect(verdicts.filter((verdict) => verdict === 'user_has_one')).toHaveLength(49);
    const mine = subject();
    const repeated = await Promise.all(Array.from({ length: 50 }, () => claim(user, 'github', mine)));
    expect(new Set(repeated)).toEqual(new Set(['ok']));
    expect(await opened().store.identities.list(user.id)).toHaveLength(2);
  });

  test('a claim inside a failed transaction is not made', async () => {
    const { store } = opened();
    const user = await addUser(store);
    const mine = subject();
    const attempt = store.transaction(async (tx) => {
      const identity = { provider: 'oidc', subject: mine, userId: user.id, createdAt: 300 };
      expect(await tx.identities.claim(identity)).toBe('ok');
      throw new Error('later');
    });
    await expect(attempt).rejects.toThrow('later');
    expect(await store.identities.owner('oidc', mine)).toBeUndefined();
  });

  test('a refused claim leaves its transaction usable for the statement that finds the reason', async () => {
    const { store } = opened();
    const [owner, other] = [await addUser(store), await addUser(store)];
    const mine = subject();
    await claim(owner, 'oidc', mine);
    await store.transaction(async (tx) => {
      const identity = { provider: 'oidc', subject: mine, userId: other.id, createdAt: 300 };
      expect(await tx.identities.claim(identity)).toBe('taken');
      expect(await tx.users.update(other.id, { remark: 'tried' })).toMatchObject({ id: other.id });
    });
    expect(await store.users.adminById(other.id)).toMatchObject({ remark: 'tried' });
  });

  test('a released identity can be claimed; all of a user’s can be released in one statement', async () => {
    const { identities } = opened().store;
    const [owner, other] = [await addUser(opened().store), await addUser(opened().store)];
    const provider = randomAlnum(20);
    const mine = subject();
    await claim(owner, provider, mine);
    await claim(owner, 'telegram', subject());
    await claim(other, 'telegram', subject());
    expect(await identities.countProvider(provider)).toBe(1);
    expect(await identities.release(other.id, provider)).toBe(false);
    expect(await identities.release(owner.id, provider)).toBe(true);
    expect(await identities.release(owner.id, provider)).toBe(false);
    expect(await identities.countProvider(provider)).toBe(0);
    expect(await claim(other, provider, mine)).toBe('ok');
    expect(await identities.releaseAll(other.id)).toBe(2);
    expect(await identities.releaseAll(other.id)).toBe(0);
    expect(await identities.list(owner.id)).toHaveLength(1);
  });

  test('are listed by provider, only the user’s own', async () => {
    const { identities } = opened().store;
    const [owner, other] = [await addUser(opened().store), await addUser(opened().store)];
    const [telegram, github] = [subject(), subject()];
    await claim(owner, 'telegram', telegram);
    await claim(owner, 'github', github);
    await claim(other, 'github', subject());
    expect(await identities.list(owner.id)).toEqual([
      { provider: 'github', subject: github, userId: owner.id, createdAt: 300 },
      { provider: 'telegram', subject: telegram, userId: owner.id, createdAt: 300 },
    ]);
    expect(await identities.list(999_999)).toEqual([]);
  });

  test('an identity is never claimed for a deleted user', async () => {
    const { store } = opened();
    const user = await addUser(store);
    await store.users.softDelete(user.id, 1, 500);
    const mine = subject();
    expect(await claim(user, 'oidc', mine)).toBe('taken');
    expect(await claim({ ...user, id: 999_999 }, 'oidc', mine)).toBe('taken');
    expect(await store.identities.owner('oidc', mine)).toBeUndefined();
  });

  test('a concurrent deletion and claim leave no identity that nobody could claim again', async () => {
    const { store } = opened();
    for (let round = 0; round < 20; round += 1) {
      const user = await addUser(store);
      const mine = subject();
      const [, verdict] = await Promise.all([
        store.transaction(async (tx) => {
          expect(await tx.users.softDelete(user.id, 1, 500)).toBe(true);
          await tx.identities.releaseAll(user.id);
        }),
        claim(user, 'oidc', mine),
      ]);
      expect(['ok', 'taken']).toContain(verdict);
      expect(await store.identities.list(user.id)).toEqual([]);
      expect(await claim(await addUser(store), 'oidc', mine)).toBe('ok');
    }
  });
});
