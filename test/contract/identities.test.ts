import { expect, test } from 'bun:test';
import { addUser, describeEachStore } from './each-store.ts';
import { runRaw } from './open-raw.ts';

describeEachStore('identities', (opened) => {
  test('are listed by provider, the user’s own alone', async () => {
    const { store } = opened();
    const [owner, other] = [await addUser(store), await addUser(store)];
    for (const [provider, subject, id] of [
      ['telegram', '4711', owner.id],
      ['github', 'gh-1', owner.id],
      ['github', 'gh-2', other.id],
    ]) {
      await runRaw(
        opened(),
        `insert into external_identity_claims (provider, subject, user_id, created_at) values ('${provider}', '${subject}', ${id}, 300)`,
      );
    }
    expect(await store.identities.list(owner.id)).toEqual([
      { provider: 'github', subject: 'gh-1', userId: owner.id, createdAt: 300 },
      { provider: 'telegram', subject: '4711', userId: owner.id, createdAt: 300 },
    ]);
    expect(await store.identities.list(999_999)).toEqual([]);
  });
});
