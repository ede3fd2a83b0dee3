import { newUuid, randomAlnum, systemClock } from '../../src/kernel/index.ts';
import type { NewUser, Store, UserRecord } from '../../src/store/ports/index.ts';
import { cheapHash, PASSWORD } from './cheap-hash.ts';

const passwordHash = cheapHash(PASSWORD);

/** A user of the store with a name of their own, `PASSWORD`, and a granted `balance`. */
export async function addUser(
  store: Store,
  { balance = 0, ...change }: Partial<NewUser> & { balance?: number } = {},
): Promise<UserRecord> {
  const username = change.username ?? `user-${randomAlnum(12)}`;
  const now = systemClock.unix();
  const user = await store.users.insert({
    username,
    displayName: username,
    passwordHash,
    role: 1,
    status: 1,
    email: null,
    group: 'default',
    language: 'en',
    createdAt: now,
    ...change,
  });
  if (!user) throw new Error('the name is taken');
  if (balance !== 0)
    await store.ledger.grant({ walletId: user.walletId, kind: 'grant', key: newUuid(), amount: balance, at: now });
  return { ...user, quota: balance };
}
