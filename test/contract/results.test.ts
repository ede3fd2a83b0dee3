import { expect, test } from 'bun:test';
import { quoted, randomAlnum, sha256Hex } from '../../src/kernel/index.ts';
import {
  ANSWER_KIND,
  type CopiedFile,
  heldKey,
  type KeptResultRecord,
  type PendingResult,
  type Repositories,
  type ResultLease,
  type Store,
} from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { describeEachStore, newTask } from './each-store.ts';

const DAY = 24 * 3_600_000;

const wanted = (change: Partial<PendingResult> = {}): PendingResult => ({
  taskId: `task_${randomAlnum(32)}`,
  artifactKey: 'video',
  userId: 999_999,
  kind: 'video',
  createdAt: 100,
  ...change,
});
const copied = (text: string, change: Partial<CopiedFile> = {}): CopiedFile => ({
  sha256: sha256Hex(text),
  bytes: text.length,
  mimeType: 'video/mp4',
  keptAt: 200,
  keptUntil: 0,
  ...change,
});
const readLease = ({ id, leaseOwner, leaseSeq }: KeptResultRecord): ResultLease => ({
  id,
  leaseOwner: leaseOwner ?? '',
  leaseSeq,
});
/** All that is due: one claim takes one of each user. */
async function claim(store: Store, owner = 'node-1', limit = 10): Promise<KeptResultRecord[]> {
  const claimed: KeptResultRecord[] = [];
  for (let more = 1; more > 0 && claimed.length < limit; ) {
    const found = await store.results.claim({ owner, limit: limit - claimed.length, leaseForMs: 60_000 });
    more = found.length;
    claimed.push(...found);
  }
  return claimed;
}

/** Wants one result, claims it, and returns its claim. */
async function claimNew(store: Store, change: Partial<PendingResult> = {}): Promise<KeptResultRecord> {
  const result = wanted(change);
  await store.results.schedule([result], DAY);
  const found = (await claim(store, 'node-1', 100)).find(({ taskId }) => taskId === result.taskId);
  return found ?? expect.unreachable();
}
const keep = async (store: Store, text: string, change: Partial<PendingResult & CopiedFile> = {}) => {
  const { keptUntil = 0, keptAt = 200, ...want } = change;
  const claimed = await claimNew(store, want);
  expect(await store.results.keep(readLease(claimed), copied(text, { keptUntil, keptAt }))).toBe('kept');
  return claimed;
};
const readRefs = async (store: Store, text: string): Promise<number | undefined> =>
  (await store.results.files('', 100)).find(({ sha256 }) => sha256 === sha256Hex(text))?.refs;

describeEachStore('kept results', (opened) => {
  test('a result is scheduled once, claimed once by one of two nodes, and kept under its claim alone', async () => {
    const { store, openAnother } = opened();
    const other = await openAnother();
    const result = wanted();
    await Promise.all([store.results.schedule([result], DAY), other.results.schedule([result], DAY)]);
    const claims = (await Promise.all([claim(store), claim(other, 'node-2'), claim(store)])).flat();
    expect(claims).toHaveLength(1);
    const [mine] = claims as [KeptResultRecord];
    const stale = { ...readLease(mine), leaseSeq: mine.leaseSeq - 1 };
    expect(await store.results.renew(readLease(mine), 60_000)).toBe(true);
    expect(await store.results.renew(stale, 60_000)).toBe(false);
    expect(await store.results.keep(stale, copied('stale'))).toBe('lost_claim');
    expect(await readRefs(store, 'stale')).toBe(0);
    expect(await store.results.keep(readLease(mine), copied('film', { keptUntil: 900 }))).toBe('kept');
    expect(await store.results.keep(readLease(mine), copied('film'))).toBe('lost_claim');
    expect(await store.results.find(result.taskId, 'video')).toMatchObject({
      ...{ state: 'kept', sha256: sha256Hex('film'), bytes: 4, mimeType: 'video/mp4', keptUntil: 900, attempts: 1 },
    });
    expect(await claim(store)).toEqual([]);
    expect(await readRefs(store, 'film')).toBe(1);
  });

  test('when two nodes end two results at once, the last one writes the notice of its task; a later one writes none', async () => {
    const { store, openAnother } = opened();
    const other = await openAnother();
    const { id: userId } = await addUser(store, { username: `u${randomAlnum(10)}` });
    const { taskId } = await store.tasks.insert(newTask({ userId }));
    const rows = ['video', 'sound'].map((artifactKey) => wanted({ taskId, userId, artifactKey }));
    await store.results.schedule(rows, DAY);
    const webhook = {
      ...{ eventId: `msg_${randomAlnum(27)}`, taskId, userId, apiKeyId: 1, event: 'task.artifacts_kept' as const },
      ...{ url: 'https://receiver.example', host: 'receiver.example', payload: { n: 1 }, createdAt: 1 },
    };
    const end = (at: Store, one: KeptResultRecord, isLost: boolean) =>
      at.transaction(async (tx) => {
        expect(await tx.results.lockTask(taskId)).toBe(true);
        if (isLost) await tx.results.postpone(readLease(one), { inMs: null, reason: quoted('gone') });
        else await tx.results.keep(readLease(one), copied(one.artifactKey));
        return tx.webhooks.putKept(webhook, DAY);
      });
    const noticed = async () => (await store.webhooks.listOfTask(taskId, { page: 1, pageSize: 9 })).total;
    const claimed = (await claim(store, 'node-1', 100)).filter((one) => one.taskId === taskId);
    const [video, sound] = claimed as [KeptResultRecord, KeptResultRecord];
    expect((await Promise.all([end(store, video, false), end(other, sound, true)])).toSorted()).toEqual([false, true]);
    expect(await noticed()).toBe(1);

    const lostOne = (await store.results.ofTasks([taskId])).find(({ state }) => state === 'lost');
    expect(await store.results.retry(lostOne?.id ?? 0, DAY)).toBe(true);
    const again = (await claim(store, 'node-1', 100)).find((one) => one.taskId === taskId) ?? expect.unreachable();
    expect(await end(store, again, false)).toBe(false);
    expect(await noticed()).toBe(1);
    expect(await store.transaction((tx) => tx.results.lockTask('task_unknown'))).toBe(false);
  });

  test('files of a request are kept together or not at all, and are not results of the task', async () => {
    const { store } = opened();
    const { id: userId, walletId, group } = await addUser(store);
    const file = (text: string, artifactKey: string) => ({ artifactKey, bytes: text.length, sha256: sha256Hex(text) });
    const inputs = (taskId: string, ...files: ReturnType<typeof file>[]) => ({
      ...{ taskId, userId, keptAt: 200, keptUntil: 900, quotaBytes: 10, files },
    });
    await store.results.takeOrphan(sha256Hex('being deleted'), 1);
    expect(await store.results.keepFiles(inputs('task_1', file('12345', 'input:0'), file('67890', 'input:1')))).toBe(
      true,
    );
    expect(await store.results.keepFiles(inputs('task_2', file('1', 'input:0')))).toBe(false);
    const swept = {
      ...inputs('task_3', file('12345', 'input:0'), file('being deleted', 'input:1')),
      quotaBytes: undefined,
    };
    expect(await store.results.keepFiles(swept)).toBe(false);
    expect([await readRefs(store, '12345'), await readRefs(store, '1')]).toEqual([1, undefined]);
    expect((await store.results.listInputs('task_1')).map(({ artifactKey, state }) => [artifactKey, state])).toEqual([
      ['input:0', 'kept'],
      ['input:1', 'kept'],
    ]);
    expect(await store.results.listInputs('task_3')).toEqual([]);
    expect(await store.results.ofTasks(['task_1'])).toEqual([]);
    expect(await store.results.find('task_1', 'input:0')).toBeUndefined();
    expect(await store.results.usage(userId)).toEqual({ bytes: 10, results: 2 });
    expect(await store.results.usageByUser()).toContainEqual({ userId, walletId, group, bytes: 10 });
    expect(await store.results.forget('task_1')).toBe(2);
    expect(await readRefs(store, '12345')).toBe(0);
    await store.results.deleted(sha256Hex('being deleted'));
  });

  test('the placeholder for all artifacts is replaced by them, once', async () => {
    const { store } = opened();
    const all = await claimNew(store, { artifactKey: '', kind: '' });
    const listed = ['a', 'b'].map((artifactKey) => wanted({ taskId: all.taskId, artifactKey }));
    expect(await store.results.list({ ...readLease(all), leaseSeq: 99 }, listed, DAY)).toBe(false);
    expect(await store.results.list(readLease(all), listed, DAY)).toBe(true);
    expect(await store.results.list(readLease(all), listed, DAY)).toBe(false);
    const rows = await store.results.ofTasks([all.taskId, 'task_unknown']);
    expect(rows.map(({ artifactKey, state }) => [artifactKey, state])).toEqual([
      ['a', 'pending'],
      ['b', 'pending'],
    ]);
    await store.results.forget(all.taskId);
  });

  test('a failed attempt is repeated later, then lost; a lost one can be wanted again', async () => {
    const { store } = opened();
    const first = await claimNew(store);
    expect(await store.results.postpone(readLease(first), { inMs: 3_600_000, reason: quoted('busy') })).toBe(true);
    expect(await store.results.postpone(readLease(first), { inMs: 0, reason: quoted('again') })).toBe(false);
    expect(await store.results.find(first.taskId, 'video')).toMatchObject({
      state: 'pending',
      reason: 'busy',
      attempts: 1,
    });
    expect(await claim(store)).toEqual([]);
    expect(await store.results.untilDue()).toBeGreaterThan(3_000_000);
    expect(await store.results.retry(first.id, DAY)).toBe(true);
    const [again] = (await claim(store)) as [KeptResultRecord];
    expect(await store.results.postpone(readLease(again), { inMs: null, reason: quoted('gone') })).toBe(true);
    expect(await store.results.find(first.taskId, 'video')).toMatchObject({ state: 'lost', reason: 'gone' });
    expect(await store.results.depth(0)).toMatchObject({ lost: 1 });

    const late = wanted();
    await store.results.schedule([late], -1);
    const [over] = (await claim(store)) as [KeptResultRecord];
    await store.results.postpone(readLease(over), { inMs: 1000, reason: quoted('too late') });
    expect(await store.results.find(late.taskId, 'video')).toMatchObject({ state: 'lost', reason: 'too late' });
    await store.results.forget(first.taskId);
    await store.results.forget(late.taskId);
  });

  test('equal results share a file, which is unused once the last one is forgotten', async () => {
    const { store } = opened();
    const { id: userId, walletId, group } = await addUser(store);
    const one = await keep(store, 'shared', { userId });
    const two = await keep(store, 'shared', { userId });
    await keep(store, 'shared', { userId: 8, keptUntil: 500 });
    expect(await readRefs(store, 'shared')).toBe(3);
    expect(await store.results.usage(userId)).toEqual({ bytes: 12, results: 2 });
    expect(await store.results.usageByUser()).toContainEqual({ userId, walletId, group, bytes: 12 });
    const never = 4_000_000_000;
    expect(await store.results.takeUnused(never, 10)).not.toContain(sha256Hex('shared'));
    expect(await store.results.forget(one.taskId)).toBe(1);
    expect(await store.results.forgetExpired(499, 10)).toBe(0);
    expect(await store.results.forgetExpired(500, 10)).toBe(1);
    expect(await readRefs(store, 'shared')).toBe(1);
    const gone = await addUser(store);
    const theirs = await keep(store, 'shared', { userId: gone.id });
    await store.results.forgetOfDeletedUsers(10);
    expect(await readRefs(store, 'shared')).toBe(2);
    await store.users.softDelete(gone.id, gone.authVersion, 100);
    expect(await store.results.forgetOfDeletedUsers(10)).toBeGreaterThanOrEqual(1);
    expect(await store.results.ofTasks([theirs.taskId])).toEqual([]);
    expect(await store.results.forget(two.taskId)).toBe(1);
    expect(await readRefs(store, 'shared')).toBe(0);
    expect(await store.results.knownFiles([sha256Hex('shared'), sha256Hex('other')])).toEqual([sha256Hex('shared')]);
    // Released just now: a copy that is about to be counted has time to be.
    expect(await store.results.takeUnused(1000, 10)).not.toContain(sha256Hex('shared'));
    expect(await store.results.takeUnused(never, 10)).toContain(sha256Hex('shared'));
  });

  test('a file that is being deleted takes no result, and can be kept again afterwards', async () => {
    const { store } = opened();
    expect(await store.results.takeOrphan(sha256Hex('orphan'), 100)).toBe(true);
    expect(await store.results.takeOrphan(sha256Hex('orphan'), 100)).toBe(false);
    const claimed = await claimNew(store);
    expect(await store.results.keep(readLease(claimed), copied('orphan'))).toBe('being_deleted');
    expect(await store.results.find(claimed.taskId, 'video')).toMatchObject({ state: 'pending' });
    // The process that deleted it died: the file is offered again.
    expect(await store.results.takeUnused(1000, 10)).toContain(sha256Hex('orphan'));
    await store.results.deleted(sha256Hex('orphan'));
    expect(await store.results.keep(readLease(claimed), copied('orphan'))).toBe('kept');
    await store.results.deleted(sha256Hex('orphan'));
    expect(await readRefs(store, 'orphan')).toBe(1);
  });

  test('a file that is expected is not deleted in the meantime; one that is being deleted is not expected', async () => {
    const { store } = opened();
    const file = { sha256: sha256Hex('expected'), bytes: 8 };
    expect(await store.results.expectFile(file)).toBe(true);
    const anHourAgo = Math.floor(Date.now() / 1000) - 3600;
    expect(await store.results.takeOrphan(file.sha256, 100)).toBe(false);
    expect(await store.results.takeUnused(anHourAgo, 100)).not.toContain(file.sha256);
    await keep(store, 'expected');
    expect(await store.results.expectFile(file)).toBe(true);
    expect(await readRefs(store, 'expected')).toBe(1);

    const other = { sha256: sha256Hex('deleted'), bytes: 7 };
    expect(await store.results.takeOrphan(other.sha256, 100)).toBe(true);
    expect(await store.results.expectFile(other)).toBe(false);
    // One process deletes it; a second one would delete what came to its place since.
    expect(await store.results.takeUnused(anHourAgo, 100)).toContain(other.sha256);
    expect(await store.results.takeUnused(anHourAgo, 100)).not.toContain(other.sha256);
    await store.results.deleted(other.sha256);
  });

  test('bypassing a quota by copies at the same time fails', async () => {
    const { store, openAnother } = opened();
    const other = await openAnother();
    const { id: userId } = await addUser(store);
    const claimed = [await claimNew(store, { userId }), await claimNew(store, { userId })] as const;
    const keepWithin = (by: Store, result: KeptResultRecord, text: string) =>
      by.results.keep(readLease(result), copied(text, { quotaBytes: 7 }));
    const outcomes = await Promise.all([keepWithin(store, claimed[0], 'four'), keepWithin(other, claimed[1], 'five')]);
    expect(outcomes.sort()).toEqual(['kept', 'over_quota']);
    expect(await store.results.usage(userId)).toEqual({ bytes: 4, results: 1 });
  });

  test('bypassing a quota by requests that begin in one transaction fails', async () => {
    const { store } = opened();
    const { id: userId } = await addUser(store);
    const keepWithin = (tx: Repositories, text: string) =>
      tx.results.keepFiles({
        ...{ taskId: `task_${text}`, userId, keptAt: 1, keptUntil: 0, quotaBytes: 7 },
        files: [{ artifactKey: 'input:0', sha256: sha256Hex(text), bytes: 4 }],
      });
    const kept = await store.transaction((tx) =>
      Promise.all(['four', 'five', 'nine'].map((text) => keepWithin(tx, text))),
    );
    const { bytes } = await store.results.usage(userId);
    expect([bytes, bytes <= 7]).toEqual([4 * kept.filter(Boolean).length, true]);
    expect(await store.transaction((tx) => keepWithin(tx, 'last'))).toBe(bytes === 0);
  });

  test('answers that the gateway keeps count in no quota and are not billed', async () => {
    const { store } = opened();
    const { id: userId } = await addUser(store);
    const file = { sha256: sha256Hex('an answer'), bytes: 9 };
    expect(await store.results.expectFile(file)).toBe(true);
    const answer = { taskId: 'relay_1', userId, kind: ANSWER_KIND, keptAt: 1, keptUntil: 2_000_000_000 } as const;
    const files = [{ artifactKey: ANSWER_KIND, ...file }];
    expect(await store.results.keepFiles({ ...answer, files })).toBe(true);
    expect(await store.results.usage(userId)).toEqual({ bytes: 0, results: 0 });
    expect((await store.results.usageByUser()).map((used) => used.userId)).not.toContain(userId);
    const claimed = await claimNew(store, { userId });
    expect(await store.results.keep(readLease(claimed), copied('four', { quotaBytes: 4 }))).toBe('kept');
  });

  test('files of a request that waits count in no quota and are not billed', async () => {
    const { store } = opened();
    const { id: userId } = await addUser(store);
    const waiting = { taskId: 'task_waits', userId, keptAt: 1, keptUntil: 0 };
    const files = [{ artifactKey: heldKey(0), sha256: sha256Hex('a picture'), bytes: 9 }];
    expect(await store.results.keepFiles({ ...waiting, files })).toBe(true);
    expect(await store.results.usage(userId)).toEqual({ bytes: 0, results: 0 });
    expect((await store.results.usageByUser()).map((used) => used.userId)).not.toContain(userId);
    const claimed = await claimNew(store, { userId });
    expect(await store.results.keep(readLease(claimed), copied('four', { quotaBytes: 4 }))).toBe('kept');
    expect(await store.results.releaseHeld('task_waits')).toBe(1);
  });

  test('users take turns: one with many results holds nobody up', async () => {
    const { store } = opened();
    const [many, other, third] = [2_000_001, 2_000_002, 2_000_003];
    await store.results.schedule(
      Array.from({ length: 5 }, () => wanted({ userId: many })),
      DAY,
    );
    const late = wanted({ userId: third });
    await store.results.schedule([wanted({ userId: other }), late], DAY);
    const turn = (change: { after?: number; except?: number[] } = {}) =>
      store.results.claim({ owner: 'node-7', limit: 2, leaseForMs: 60_000, after: many - 1, ...change });
    const readUsers = (claimed: KeptResultRecord[]) => claimed.map(({ userId }) => userId);
    expect(readUsers(await turn())).toEqual([many, other]);
    expect(readUsers(await turn({ after: other }))).toEqual([third]);
    expect(readUsers(await turn({ except: [many] }))).toEqual([]);
    expect(readUsers(await turn())).toEqual([many]);
    const [again] = await store.results.ofTasks([late.taskId]);
    await store.results.postpone(readLease(again ?? expect.unreachable()), { inMs: 60_000, reason: quoted('busy') });
    expect(readUsers(await turn())).toEqual([many]);
    await store.results.expireLeases();
  });

  test('claims end with their node', async () => {
    const { store } = opened();
    await store.results.schedule([wanted(), wanted()], DAY);
    expect((await claim(store, 'node-9')).length).toBeGreaterThanOrEqual(2);
    expect(await store.results.releaseOwner('node-9')).toBeGreaterThanOrEqual(2);
    expect((await claim(store, 'node-8')).length).toBeGreaterThanOrEqual(2);
    expect(await store.results.expireLeases()).toBeGreaterThanOrEqual(2);
    expect(await store.results.untilDue()).toBeLessThanOrEqual(0);
  });
});
