import { expect, test } from 'bun:test';
import { newTaskId, quoted, withoutMessage } from '../../src/kernel/index.ts';
import type { NewCredential } from '../../src/store/ports/index.ts';
import { channel } from '../plugins/records.ts';
import { describeEachStore, newTask } from './each-store.ts';

const credential = (channelId: number, change: Partial<NewCredential> = {}): NewCredential => ({
  ...{ channelId, keySealed: 'v1.a', keyHint: '1234', createdAt: 1, updatedAt: 1 },
  ...change,
});

describeEachStore('credentials', (opened) => {
  test('is read as stored, in order, and changed while it is in use', async () => {
    const { channels, credentials } = opened().store;
    const { id: channelId } = await channels.insert(channel());
    const given = { label: 'second', pool: 'shared', status: 2 as const, expiresAt: 9 };
    const [first, second] = await credentials.insert([credential(channelId), credential(channelId, given)]);
    expect(second).toEqual({
      ...credential(channelId, given),
      ...{ id: second?.id, lastError: '', lastErrorSentence: null, lastErrorAt: 0, usedQuota: 0, removedAt: 0 },
      ...{ balanceMicros: null, balanceAt: 0, balanceFault: null, reportedLimits: null, reportedLimitsFault: null },
    } as never);
    expect(await credentials.ofChannel(channelId)).toEqual([first, second] as never);
    expect((await credentials.all()).filter((each) => each.channelId === channelId)).toHaveLength(2);
    const id = first?.id ?? 0;
    expect(await credentials.update(id, { keySealed: 'v1.b', updatedAt: 2 })).toMatchObject({ keySealed: 'v1.b' });
    const said = quoted('invalid api key');
    await credentials.recordError(id, { said, at: 7 });
    const noted = { lastError: said.message, lastErrorSentence: withoutMessage(said), lastErrorAt: 7 };
    expect(await credentials.byId(id)).toMatchObject(noted);
    await channels.delete(channelId, 8);
    // The first one named no pool.
    const rest = { id: second?.id as number, pool: 'shared', removedAt: 8, keySealed: '', keyHint: '' };
    expect(await credentials.ofChannel(channelId)).toMatchObject([rest]);
  });

  test('of a deleted channel that named a pool stay without a key, until no task needs them', async () => {
    const { channels, credentials, tasks } = opened().store;
    const { id: channelId } = await channels.insert(channel({ pool: 'shared' }));
    const given = [{}, { pool: 'own' }].map((change) => credential(channelId, change));
    const [first, second] = (await credentials.insert(given)).map(({ id }) => id) as [number, number];
    await credentials.remove(first, 5);
    await tasks.insert(newTask({ taskId: newTaskId(Date.now()), channelId, credentialId: second }));
    await channels.delete(channelId, 8);
    const wiped = { keySealed: '', keyHint: '' };
    expect(await credentials.ofChannel(channelId)).toMatchObject([
      { ...wiped, id: first, pool: 'shared', removedAt: 5 },
      { ...wiped, id: second, pool: 'own', removedAt: 8 },
    ]);
    await credentials.deleteUnused(9);
    expect((await credentials.ofChannel(channelId)).map(({ id }) => id)).toEqual([second]);
  });

  test('the last one of a channel stays, also when two are removed at once', async () => {
    const { channels, credentials } = opened().store;
    const { id: channelId } = await channels.insert(channel());
    const [a, b] = await credentials.insert([credential(channelId), credential(channelId)]);
    const ids = [a?.id ?? 0, b?.id ?? 0];
    const removed = await Promise.all(ids.map((id) => credentials.remove(id, 5)));
    expect(removed.filter(Boolean)).toHaveLength(1);
    const gone = ids[removed.indexOf(true)] ?? 0;
    expect(await credentials.remove(gone, 6)).toBe(false);
    expect(await credentials.update(gone, { label: 'late' })).toBeUndefined();
    expect(await credentials.byId(gone)).toMatchObject({ removedAt: 5 });
  });

  test('a removed one goes when no task and no object of a relay needs it', async () => {
    const { channels, credentials, tasks } = opened().store;
    const { id: channelId } = await channels.insert(channel());
    const made = await credentials.insert([1, 2, 3].map(() => credential(channelId)));
    const [first, second, third] = made.map(({ id }) => id) as [number, number, number];
    // Without a credential, a task is of the first one.
    await tasks.insert(newTask({ taskId: newTaskId(Date.now()), channelId }));
    for (const id of [first, second]) await credentials.remove(id, 5);
    expect(await credentials.deleteUnused(5)).toBe(0);
    expect(await credentials.deleteUnused(6)).toBeGreaterThan(0);
    expect((await credentials.ofChannel(channelId)).map(({ id }) => id)).toEqual([first, third]);
  });
});
