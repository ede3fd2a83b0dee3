import { expect, test } from 'bun:test';
import { randomAlnum } from '../../src/kernel/index.ts';
import { addUser } from '../support/add-user.ts';
import { describeEachStore } from './each-store.ts';

describeEachStore('changes of users', (opened) => {
  const name = () => `n-${randomAlnum(12)}`;

  test('a change writes only the fields that it names, raises no version, and gives the record', async () => {
    const { users } = opened().store;
    const user = await addUser(opened().store, { email: 'old@example.org' });
    const change = { displayName: 'Zoë', email: 'new@example.org', group: 'vip', language: 'fr' };
    expect(await users.update(user.id, change)).toEqual({ ...user, ...change });
    expect(await users.update(user.id, { email: null, remark: 'pays late' })).toMatchObject({ email: null });
    expect(await users.adminById(user.id)).toMatchObject({ group: 'vip', remark: 'pays late', authVersion: 1 });
    expect(await users.update(user.id, {})).toMatchObject({ displayName: 'Zoë' });
    expect(await users.update(999_999, change)).toBeUndefined();
    expect(await users.update(999_999, { username: name() })).toBeUndefined();
    expect(await users.update(999_999, {})).toBeUndefined();
  });

  test('a name is changed unless another has it, ignoring case; one’s own may change its case', async () => {
    const { store } = opened();
    const [one, two] = [name(), name()];
    const user = await addUser(store, { username: one });
    await addUser(store, { username: two });
    expect(await store.users.update(user.id, { username: two.toUpperCase(), remark: 'x' })).toBe('name_taken');
    expect(await store.users.adminById(user.id)).toMatchObject({ username: one, remark: '' });
    expect(await store.users.update(user.id, { username: one.toUpperCase() })).toMatchObject({
      username: one.toUpperCase(),
    });
    const three = name();
    expect(await store.users.update(user.id, { username: three })).toMatchObject({ username: three });
    expect(await store.users.byNameOrAddress(one)).toBeUndefined();
    expect((await addUser(store, { username: one })).username).toBe(one);
  });

  test('of 20 users who take one name concurrently, new and renamed, one gets it and none sees an error', async () => {
    const { store, openAnother } = opened();
    const another = await openAnother();
    const wanted = name();
    const present = await Promise.all(Array.from({ length: 10 }, () => addUser(store)));
    const { passwordHash, displayName, role, status, email, group, language, createdAt } = await addUser(store);
    const rest = { passwordHash, displayName, role, status, email, group, language, createdAt };
    const tries = await Promise.all(
      present.flatMap(({ id }, i) => {
        const node = i % 2 ? store : another;
        return [
          node.users.update(id, { username: i % 2 ? wanted : wanted.toUpperCase() }),
          node.users.insert({ ...rest, username: wanted }),
        ];
      }),
    );
    expect(tries.filter((won) => won !== undefined && won !== 'name_taken')).toHaveLength(1);
  });

  test('a taken name leaves the transaction usable', async () => {
    const { store } = opened();
    const taken = (await addUser(store)).username;
    const user = await addUser(store);
    await store.transaction(async (tx) => {
      expect(await tx.users.update(user.id, { username: taken })).toBe('name_taken');
      expect(await tx.users.update(user.id, { displayName: 'still here' })).toMatchObject({ id: user.id });
    });
  });

  test('a new user keeps their inviter, an affiliate code and a remark', async () => {
    const { store } = opened();
    const inviter = await addUser(store);
    const more = { inviterId: inviter.id, affCode: randomAlnum(8), remark: 'a friend' };
    const user = await addUser(store, more);
    expect(user).not.toHaveProperty('remark');
    expect(await store.users.adminById(user.id)).toMatchObject({ inviterId: inviter.id, remark: 'a friend' });
    expect(await store.users.byAffCode(more.affCode)).toMatchObject({ id: user.id });
    await expect(addUser(store, more)).rejects.toThrow('the name is taken');
    await addUser(store, { inviterId: inviter.id });
    expect(await store.users.countInvited(inviter.id)).toBe(2);
    expect(await store.users.countInvited(user.id)).toBe(0);
    expect(await store.users.countInvited(0)).toBe(0);
  });

  test('an affiliate code is made once and is unique', async () => {
    const { users } = opened().store;
    const [user, other] = [await addUser(opened().store), await addUser(opened().store)];
    expect(await users.byAffCode('')).toBeUndefined();
    const codes = await Promise.all(Array.from({ length: 20 }, () => users.ensureAffCode(user.id, randomAlnum(8))));
    const [code = ''] = codes;
    expect(new Set(codes)).toEqual(new Set([code]));
    expect(await users.ensureAffCode(user.id, randomAlnum(8))).toBe(code);
    expect(await users.byAffCode(code)).toMatchObject({ id: user.id });
    expect(await users.ensureAffCode(other.id, code)).toBeUndefined();
    expect(await users.ensureAffCode(999_999, randomAlnum(8))).toBeUndefined();
  });

  test('of 20 users who take one affiliate code concurrently, one gets it', async () => {
    const { store } = opened();
    const code = randomAlnum(8);
    const present = await Promise.all(Array.from({ length: 20 }, () => addUser(store)));
    const codes = await Promise.all(present.map(({ id }) => store.users.ensureAffCode(id, code)));
    expect(codes.filter((had) => had !== undefined)).toEqual([code]);
  });

  test('the owner signs in with an address that two users have in an old database', async () => {
    const { store } = opened();
    const email = `${name()}@example.org`;
    const first = await addUser(store, { email });
    const owner = await addUser(store, { email: email.toUpperCase() });
    expect(await store.users.byNameOrAddress(email)).toMatchObject({ id: first.id });
    await store.identities.claim({ provider: 'email', subject: email.toLowerCase(), userId: owner.id, createdAt: 1 });
    expect(await store.users.byNameOrAddress(email)).toMatchObject({ id: owner.id });
    expect(await store.users.byNameOrAddress(email.toUpperCase())).toMatchObject({ id: owner.id });
    const byName = await addUser(store, { username: email });
    expect(await store.users.byNameOrAddress(email)).toMatchObject({ id: byName.id });
  });
});
