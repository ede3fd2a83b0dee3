import { expect, test } from 'bun:test';
import { randomAlnum } from '../../src/kernel/index.ts';
import type { NewPasskey, PasskeyRecord, Store } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { describeEachStore } from './each-store.ts';

const newPasskey = (userId: number, change: Partial<NewPasskey> = {}): NewPasskey => ({
  userId,
  // A credential ID has at most 1023 bytes.
  credentialId: randomAlnum(1364),
  publicKey: 'pQECAyYgASFYIA',
  rpId: 'gateway.example',
  name: 'Laptop “ü”',
  counter: 4_294_967_295,
  transports: ['internal', 'hybrid'],
  backedUp: true,
  createdAt: 100,
  ...change,
});

describeEachStore('passkeys', (opened) => {
  async function addPasskey(store: Store, userId: number, change: Partial<NewPasskey> = {}): Promise<PasskeyRecord> {
    return (await store.passkeys.insert(newPasskey(userId, change))) as PasskeyRecord;
  }

  test('a passkey is read as stored, several per user, the oldest first', async () => {
    const { store } = opened();
    const { id: userId } = await addUser(store);
    const first = newPasskey(userId);
    const stored = await store.passkeys.insert(first);
    expect(stored).toEqual({ ...first, id: expect.any(Number), lastUsedAt: 0 });
    const second = await addPasskey(store, userId, { transports: [], backedUp: false, counter: 0 });
    expect(await store.passkeys.byCredentialId(first.credentialId)).toEqual(stored as PasskeyRecord);
    expect(await store.passkeys.byCredentialId('unknown')).toBeUndefined();
    expect(await store.passkeys.list(userId)).toEqual([stored as PasskeyRecord, second]);
  });

  test('a credential is registered once, by any user', async () => {
    const { store } = opened();
    const users = [await addUser(store), await addUser(store)];
    const { credentialId } = newPasskey(0);
    const tries = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        store.passkeys.insert(newPasskey(users[i % 2]?.id ?? 0, { credentialId, name: `${i}` })),
      ),
    );
    const winners = tries.filter((passkey) => passkey !== undefined);
    expect(winners).toHaveLength(1);
    expect(await store.passkeys.byCredentialId(credentialId)).toEqual(winners[0] as PasskeyRecord);
  });

  test('cloned authenticator: of 50 concurrent uses from the counter that was read, one wins', async () => {
    const { store } = opened();
    const passkey = await addPasskey(store, (await addUser(store)).id, { counter: 5 });
    const use = { expectedCounter: 5, counter: 6, backedUp: false, at: 700 };
    const uses = await Promise.all(Array.from({ length: 50 }, () => store.passkeys.use(passkey.id, use)));
    expect(uses.filter(Boolean)).toHaveLength(1);
    expect(await store.passkeys.byCredentialId(passkey.credentialId)).toEqual({
      ...passkey,
      counter: 6,
      backedUp: false,
      lastUsedAt: 700,
    });
  });

  test('an authenticator that does not count may be used again', async () => {
    const { store } = opened();
    const passkey = await addPasskey(store, (await addUser(store)).id, { counter: 0 });
    const use = { expectedCounter: 0, counter: 0, backedUp: true, at: 700 };
    expect(await store.passkeys.use(passkey.id, use)).toBe(true);
    expect(await store.passkeys.use(passkey.id, use)).toBe(true);
  });

  test('only the owner’s passkeys are renamed and removed', async () => {
    const { store } = opened();
    const [owner, other] = [await addUser(store), await addUser(store)];
    const [first, second] = [await addPasskey(store, owner.id), await addPasskey(store, owner.id)];
    const others = await addPasskey(store, other.id);
    expect(await store.passkeys.rename(first.id, other.id, 'stolen')).toBeUndefined();
    expect(await store.passkeys.delete(first.id, other.id)).toBe(false);
    expect(await store.passkeys.rename(first.id, owner.id, 'Key ring')).toEqual({ ...first, name: 'Key ring' });
    expect(await store.passkeys.delete(first.id, owner.id)).toBe(true);
    expect(await store.passkeys.delete(first.id, owner.id)).toBe(false);
    expect(await store.passkeys.list(owner.id)).toEqual([second]);
    await addPasskey(store, owner.id);
    expect(await store.passkeys.deleteAll(owner.id)).toBe(2);
    expect(await store.passkeys.deleteAll(owner.id)).toBe(0);
    expect(await store.passkeys.list(other.id)).toEqual([others]);
  });
});
