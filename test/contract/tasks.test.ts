import { expect, test } from 'bun:test';
import { newTaskId } from '../../src/kernel/index.ts';
import type { TaskRecord, TaskStatus } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { addRunningTask, describeEachStore, newTask, type OpenedStore, readLease } from './each-store.ts';

const CLAIM = { owner: 'poller', limit: 1000, leaseForMs: 60_000 };

function suite(opened: () => OpenedStore): void {
  const claimDue = (change: { owner?: string; limit?: number; leaseForMs?: number; exceptChannels?: number[] } = {}) =>
    opened().store.tasks.claimDue({ ...CLAIM, exceptChannels: [], ...change });
  const reload = async (task: TaskRecord) => (await opened().store.tasks.byTaskId(task.taskId)) as TaskRecord;

  test('a new task is read as stored, under a submit lease', async () => {
    const { tasks } = opened().store;
    const task = newTask({ userId: 7, apiKeyId: 3, quota: 50_000_000_000, createdAt: 1_763_700_000 });
    const before = Date.now();
    const row = await tasks.insert(task);
    const { leaseForMs, ...given } = task;
    expect(row).toMatchObject({
      ...given,
      status: 'NOT_START',
      progress: '0%',
      leaseSeq: 1,
      updatedAt: 1_763_700_000,
      data: null,
      state: null,
    });
    expect(row.leaseUntilMs).toBeGreaterThanOrEqual(before + leaseForMs - 5);
    expect(row.leaseUntilMs).toBeLessThan(before + leaseForMs + 60_000);
    expect(await tasks.byTaskId(task.taskId)).toEqual(row);
    expect(await tasks.byUser(7, task.taskId)).toEqual(row);
    expect(await tasks.byUser(8, task.taskId)).toBeUndefined();
    const { reserved, ...summary } = (await tasks.summaryByUser(7, task.taskId)) ?? {};
    expect(row).toMatchObject(summary);
    // Only a final bill says what was reserved.
    expect(reserved).toBeNull();
    expect(Object.keys(summary)).toEqual(expect.not.arrayContaining(['data', 'state', 'execution', 'billing']));
    expect(await tasks.summaryByUser(8, task.taskId)).toBeUndefined();
    const { propertiesJson = '', dataJson, reserved: _, ...shown } = (await tasks.shownByUser(7, task.taskId)) ?? {};
    expect(row).toMatchObject({ ...shown, properties: JSON.parse(propertiesJson), data: dataJson });
    expect(await tasks.shownByUser(8, task.taskId)).toBeUndefined();
    expect(await tasks.byTaskId('task_unknown')).toBeUndefined();
    await expect(tasks.insert(task)).rejects.toMatchObject({ code: 'store.broken_invariant' });
  });

  test('the first of concurrent streams decides where the outputs of a task are numbered from', async () => {
    const { tasks } = opened().store;
    const { taskId } = await addRunningTask(opened().store);
    expect(await tasks.streamedOutputsAfter(taskId)).toBeUndefined();
    const kept = await Promise.all([3, 5].map((after) => tasks.keepStreamedOutputs(taskId, after)));
    expect(kept[0]).toBe(kept[1] as number);
    await tasks.shiftStreamedOutputs(taskId);
    expect(await tasks.keepStreamedOutputs(taskId, 9)).toBe((kept[0] as number) + 1);
    expect(await tasks.streamedOutputsAfter(taskId)).toBe((kept[0] as number) + 1);
  });

  test('a task by a link is read with its owner; the versions of its links move once from each', async () => {
    const { store } = opened();
    const user = await addUser(store);
    const task = await addRunningTask(store, { userId: user.id });
    const { tasks } = store;
    const owner = { status: user.status, linkVersion: 0 };
    expect(await tasks.linked(task.taskId, 'video')).toEqual({ task: await reload(task), owner });
    const wanted = { artifactKey: 'video', userId: user.id, kind: 'video', createdAt: 1 };
    await store.results.schedule([{ ...wanted, taskId: task.taskId }], 1000);
    const moved = { known: '', next: '{"":1}' };
    const both = [tasks.setLinkVersions(task.taskId, moved), tasks.setLinkVersions(task.taskId, moved)];
    expect((await Promise.all(both)).sort()).toEqual([false, true]);
    expect(await tasks.linked(task.taskId, 'other')).toEqual({ task: await reload(task), owner });
    const [result] = await store.results.ofTasks([task.taskId]);
    expect(await tasks.linked(task.taskId, 'video')).toMatchObject({ task: { linkVersions: '{"":1}' }, result });
    const orphan = await addRunningTask(store, { userId: user.id + 1000 });
    expect(await tasks.linkedResult(task.taskId, 'video')).toBeUndefined();
    expect((await tasks.linked(orphan.taskId, 'video'))?.owner).toBeUndefined();
    expect(await tasks.linked('task_unknown', 'video')).toBeUndefined();
  });

  test('videos of a platform that serves no more are listed by how they were ordered', async () => {
    const { store } = opened();
    const user = await addUser(store);
    const add = async (change: (task: ReturnType<typeof newTask>) => object = () => ({}), platform = 'gone') => {
      const task = newTask({ userId: user.id, platform });
      return (await store.tasks.insert({ ...task, ...change(task) })).taskId;
    };
    const ordered = await add(({ execution }) => ({ execution: { ...execution, surface: 'proto_video' } }));
    const sized = await add(({ properties }) => ({ properties: { ...properties, video: { size: '1x1' } } }));
    await add(({ properties }) => ({ properties: { ...properties, input: '"video":{"surface":"proto_video"' } }));
    await add(({ execution }) => ({ execution: { ...execution, surface: 'proto_video' } }), 'images');
    const own = await add(undefined, 'videos');
    const videos = { platforms: ['videos'], serve: ['videos', 'images'] };
    const page = await store.tasks.pageByUser(user.id, { limit: 9, order: 'asc', videos });
    expect(page?.map(({ taskId }) => taskId)).toEqual([ordered, sized, own]);
  });

  test('an ended task that its user deletes is hidden from them, its content gone, its row and bill left', async () => {
    const { store } = opened();
    const user = await addUser(store);
    const { tasks } = store;
    const made: TaskRecord[] = [];
    for (const platform of ['one', 'two', 'one', 'one'])
      made.push(await addRunningTask(store, { userId: user.id, platform }));
    const ids = made.map(({ taskId }) => taskId);
    const page = async (cursor: Partial<Parameters<typeof tasks.pageByUser>[1]>) =>
      (await tasks.pageByUser(user.id, { limit: 10, order: 'desc', ...cursor }))?.map(({ taskId }) => taskId);
    expect(await page({})).toEqual(ids.toReversed());
    expect(await page({ order: 'asc', limit: 2 })).toEqual(ids.slice(0, 2));
    expect(await page({ order: 'asc', after: ids[1] as string })).toEqual(ids.slice(2));
    expect(await page({ after: ids[1] as string })).toEqual(ids.slice(0, 1));
    const serve = ['one', 'two'];
    expect(await page({ videos: { platforms: ['two'], serve } })).toEqual([ids[1] as string]);
    expect(await page({ videos: { platforms: [], serve } })).toEqual([]);
    expect(await page({ after: 'task_unknown' })).toBeUndefined();

    const [task] = made as [TaskRecord];
    const emptied = { ...task, properties: { ...task.properties, input: '' } };
    expect(await tasks.hide(emptied)).toBe(false);
    const [claimed] = (await claimDue()).filter(({ taskId }) => taskId === task.taskId) as [TaskRecord];
    const ended = { status: 'SUCCESS' as const, data: { url: 'https://vendor.example/v.mp4' }, state: { a: 1 } };
    expect(await tasks.advance(readLease(claimed), ended, null)).toBe(true);
    expect(await tasks.hide({ ...emptied, userId: user.id + 1 })).toBe(false);
    expect(await Promise.all([tasks.hide(emptied), tasks.hide(emptied)])).toContain(false);
    expect(await tasks.hide(emptied)).toBe(false);
    const row = await reload(task);
    expect(row).toMatchObject({ status: 'SUCCESS', data: null, state: null, quota: task.quota });
    expect([row.properties.input, row.hiddenAt > 0]).toEqual(['', true]);
    expect(await tasks.byUser(user.id, task.taskId)).toBeUndefined();
    expect(await tasks.summaryByUser(user.id, task.taskId)).toBeUndefined();
    expect(await tasks.shownByUser(user.id, task.taskId)).toBeUndefined();
    expect(await page({ order: 'asc' })).toEqual(ids.slice(1));
    expect(await page({ order: 'asc', after: task.taskId })).toEqual(ids.slice(1));
    const listed = async (hidden?: boolean) =>
      (await tasks.list({ userId: user.id, ...(hidden === undefined ? {} : { hidden }) }, { page: 1, pageSize: 10 }))
        .total;
    expect([await listed(), await listed(false)]).toEqual([4, 3]);
  });

  test.each([
    [null],
    [0],
    [false],
    ['\u0000 nul, “quotes”, \u{1F600}'],
    [[1, [2, { z: 1, a: [] }]]],
    [{ '\u0000': 'b', a: 1e300, b: -0.1, nested: { deep: [true, null] } }],
  ])('the JSON value %j survives as data and as state', async (value) => {
    const { tasks } = opened().store;
    const task = await addRunningTask(opened().store);
    const [claimed] = (await claimDue()).filter(({ taskId }) => taskId === task.taskId) as [TaskRecord];
    expect(await tasks.advance(readLease(claimed), { data: value, state: value }, 60_000)).toBe(true);
    const row = await reload(task);
    expect(JSON.stringify([row.data, row.state])).toBe(JSON.stringify([value, value]));
    const shown = await tasks.shownByUser(task.userId, task.taskId);
    expect(JSON.parse(shown?.dataJson ?? 'null')).toEqual(row.data);
  });

  test('only tasks that changed since they were seen are read', async () => {
    const { store } = opened();
    const made: TaskRecord[] = [];
    for (let i = 0; i < 4; i += 1) made.push(await addRunningTask(store));
    const [same, moved, polled, unseen] = made as [TaskRecord, TaskRecord, TaskRecord, TaskRecord];
    const stranger = await addRunningTask(store);
    const seen = (task: TaskRecord) => ({ taskId: task.taskId, status: task.status, polls: task.polls });
    const asked = [seen(same), seen(moved), seen(polled), { ...seen(unseen), status: '' as const }];
    for (const claimed of await claimDue()) {
      if (claimed.taskId === moved.taskId) await store.tasks.advance(readLease(claimed), { status: 'QUEUED' }, 60_000);
      if (claimed.taskId === polled.taskId) await store.tasks.advance(readLease(claimed), { polls: 1 }, 60_000);
    }
    const found = await store.tasks.byTaskIds([...asked, { taskId: 'task_unknown', status: '', polls: 0 }]);
    const changed = [await reload(moved), await reload(polled), await reload(unseen)];
    expect(found.map(({ taskId }) => taskId)).not.toContain(stranger.taskId);
    expect(found.sort((a, b) => a.id - b.id)).toEqual(changed);
    expect(await store.tasks.byTaskIds([])).toEqual([]);
    expect(await store.tasks.byTaskIds(changed.map(seen))).toEqual([]);
    const many = Array.from({ length: 5000 }, (_, i) => ({ taskId: `task_${i}`, status: '' as const, polls: 0 }));
    expect(await store.tasks.byTaskIds([...many, asked[1] as (typeof asked)[number]])).toHaveLength(1);
  });

  test('the last tasks of a plugin with stored data, the newest first', async () => {
    const { store } = opened();
    const platform = `p-${newTaskId(Date.now())}`;
    const withData: string[] = [];
    for (let i = 0; i < 6; i += 1) {
      const task = await store.tasks.insert(newTask({ platform: i === 4 ? 'another' : platform }));
      if (i === 2) continue;
      await store.tasks.amend(readLease(task), { upstreamTaskId: `job-${i}`, data: { i } });
      if (i !== 4) withData.unshift(task.taskId);
    }
    const ids = async (limit: number) =>
      (await store.tasks.latestWithData(platform, limit)).map(({ taskId }) => taskId);
    expect(await ids(10)).toEqual(withData);
    expect(await ids(2)).toEqual(withData.slice(0, 2));
    expect((await store.tasks.latestWithData(platform, 1))[0]?.data).toEqual({ i: 5 });
    expect(await store.tasks.latestWithData('nobody', 10)).toEqual([]);
  });

  test('the store says when the next task is due: none, later, now, and none again while it is claimed', async () => {
    const { store } = opened();
    while ((await claimDue()).length > 0);
    const before = await store.tasks.untilDue();
    const task = await store.tasks.insert(newTask());
    expect(await store.tasks.untilDue()).toBe(before);
    await store.tasks.advance(readLease(task), { status: 'SUBMITTED' }, 30_000);
    const later = (await store.tasks.untilDue()) ?? Number.NaN;
    expect(later).toBeGreaterThan(20_000);
    expect(later).toBeLessThanOrEqual(30_000);
    const due = await addRunningTask(store);
    expect(await store.tasks.untilDue()).toBeLessThanOrEqual(0);
    expect((await claimDue()).map(({ taskId }) => taskId)).toContain(due.taskId);
    expect(await store.tasks.untilDue()).toBeGreaterThan(0);
  });

  test('a claim takes due tasks, the longest overdue first, and no others', async () => {
    const { store } = opened();
    const submitted = await store.tasks.insert(newTask());
    const later = await store.tasks.insert(newTask());
    const ended = await store.tasks.insert(newTask());
    await store.tasks.advance(readLease(later), { status: 'SUBMITTED' }, 60_000);
    await store.tasks.advance(readLease(ended), { status: 'FAILURE' }, null);
    const due: TaskRecord[] = [];
    for (const [i, status] of (['SUBMITTED', 'QUEUED', 'IN_PROGRESS'] as const).entries()) {
      const task = await store.tasks.insert(newTask());
      await store.tasks.advance(readLease(task), { status }, -60_000 * (i + 1));
      due.unshift(task);
    }
    const first = await claimDue({ limit: 2 });
    const second = await claimDue({ limit: 2 });
    expect([...first, ...second].map(({ taskId }) => taskId)).toEqual(due.map(({ taskId }) => taskId));
    expect(first[0]).toMatchObject({ leaseOwner: 'poller', leaseSeq: 2 });
    expect(await claimDue()).toEqual([]);
    expect((await reload(submitted)).leaseOwner).toBe('submitter');
  });

  test('a claim leaves out the channels that it is given', async () => {
    const { store } = opened();
    const here = await addRunningTask(store, { channelId: 101 });
    const there = await addRunningTask(store, { channelId: 102 });
    expect((await claimDue({ exceptChannels: [101, 103] })).map(({ taskId }) => taskId)).toEqual([there.taskId]);
    expect((await claimDue()).map(({ taskId }) => taskId)).toEqual([here.taskId]);
  });

  test('channels share a claim evenly; an unused share goes to the others, the longest overdue first', async () => {
    const { store } = opened();
    const add = async (channelId: number, count: number) => {
      for (let i = 0; i < count; i += 1) await addRunningTask(store, { channelId });
    };
    await add(111, 12);
    await add(112, 2);
    await add(113, 12);
    const channels = async (limit: number) => {
      const counts = new Map<number, number>();
      for (const { channelId } of await claimDue({ limit })) counts.set(channelId, (counts.get(channelId) ?? 0) + 1);
      return [111, 112, 113].map((id) => counts.get(id) ?? 0);
    };
    expect(await channels(12)).toEqual([5, 2, 5]);
    expect((await channels(1)).reduce((sum, count) => sum + count)).toBe(1);
    expect((await channels(1000)).reduce((sum, count) => sum + count)).toBe(13);
  });

  test('channels whose tasks are all claimed delay no other channel, however small the claims', async () => {
    const { store } = opened();
    const asked: string[] = [];
    for (let i = 0; i < 4; i += 1) asked.push((await addRunningTask(store, { channelId: 121 + i })).taskId);
    const claimed = [...(await claimDue({ limit: 2 })), ...(await claimDue({ limit: 2 }))];
    expect(claimed.map(({ taskId }) => taskId).sort()).toEqual(asked.sort());
    const late = await addRunningTask(store, { channelId: 130 });
    expect((await claimDue({ limit: 2 })).map(({ taskId }) => taskId)).toEqual([late.taskId]);
  });

  test('20 concurrent claims never get the same task, and miss none', async () => {
    const { store } = opened();
    const tasks = await Promise.all(Array.from({ length: 100 }, () => addRunningTask(store)));
    const wanted = new Set(tasks.map(({ taskId }) => taskId));
    const got: string[] = [];
    while (got.length < 100) {
      const batches = await Promise.all(Array.from({ length: 20 }, (_, i) => claimDue({ owner: `o${i}`, limit: 3 })));
      got.push(...batches.flat().map(({ taskId }) => taskId));
    }
    expect(got).toHaveLength(100);
    expect(new Set(got)).toEqual(wanted);
  });

  test('a task with an expired lease goes to the next claim, and the earlier holder writes nothing more', async () => {
    const { store } = opened();
    const task = await addRunningTask(store);
    const [stale] = (await claimDue({ owner: 'slow', leaseForMs: 0 })) as [TaskRecord];
    const [fresh] = (await claimDue({ owner: 'quick' })) as [TaskRecord];
    expect([stale.taskId, fresh.taskId, fresh.leaseSeq]).toEqual([task.taskId, task.taskId, stale.leaseSeq + 1]);
    const before = await reload(task);
    const end = { status: 'SUCCESS', progress: '100%' } as const;
    expect(await store.tasks.advance(readLease(stale), end, null)).toBe(false);
    expect(await store.tasks.amend(readLease(stale), end)).toBe(false);
    expect(await store.tasks.renew(readLease(stale), 60_000)).toBe(false);
    // The same owner's earlier claim is fenced off too.
    expect(await store.tasks.advance({ ...readLease(stale), leaseOwner: 'quick' }, end, null)).toBe(false);
    expect(await reload(task)).toEqual(before);
    expect(await store.tasks.advance(readLease(fresh), end, null)).toBe(true);
  });

  test('a claim outlives a transaction that was rolled back, and its holder may write again', async () => {
    const { store } = opened();
    const task = await addRunningTask(store);
    const [claimed] = (await claimDue()).filter(({ taskId }) => taskId === task.taskId) as [TaskRecord];
    const lost = store.transaction(async (tx) => {
      expect(await tx.tasks.advance(readLease(claimed), { polls: 7 }, 0)).toBe(true);
      expect(await tx.tasks.advanceAll([{ lease: readLease(claimed), change: { polls: 8 }, nextPollInMs: 0 }])).toEqual(
        [false],
      );
      throw new Error('rolled back');
    });
    await expect(lost).rejects.toThrow('rolled back');
    expect(await reload(task)).toEqual({ ...claimed, leaseUntilMs: expect.any(Number) });
    expect(await claimDue()).toEqual([]);
    expect(await store.tasks.amend(readLease(claimed), { polls: 8 })).toBe(true);
    expect(await store.tasks.renew(readLease(claimed), 60_000)).toBe(true);
    expect(await store.tasks.advance(readLease(claimed), { polls: 9 }, 0)).toBe(true);
    expect((await claimDue()).map(({ polls, leaseSeq }) => [polls, leaseSeq])).toEqual([[9, claimed.leaseSeq + 1]]);
  });

  test('a released task goes to the next claim, and the released lease is void, even for the same owner', async () => {
    const { store } = opened();
    await addRunningTask(store);
    const [before] = (await claimDue()) as [TaskRecord];
    expect(await store.tasks.releaseOwner('poller', { expireSubmits: false })).toBe(1);
    expect(await store.tasks.renew(readLease(before), 60_000)).toBe(false);
    expect(await store.tasks.advance(readLease(before), { polls: 1 }, 0)).toBe(false);
    const [after] = (await claimDue()) as [TaskRecord];
    expect(after.leaseSeq).toBe(before.leaseSeq + 1);
    expect(await store.tasks.advance(readLease(before), { polls: 1 }, 0)).toBe(false);
    expect(await store.tasks.advance(readLease(after), { polls: 2 }, 60_000)).toBe(true);
  });

  test('an expired lease that was released is void for its holder', async () => {
    const { store } = opened();
    await addRunningTask(store);
    const [task] = (await claimDue({ leaseForMs: 0 })) as [TaskRecord];
    expect(await store.tasks.releaseOwner('poller', { expireSubmits: false })).toBe(1);
    expect(await store.tasks.renew(readLease(task), 60_000)).toBe(false);
    expect(await store.tasks.advance(readLease(task), { polls: 1 }, 0)).toBe(false);
  });

  test('one of ten writers under one lease ends the task, and nothing changes it afterwards', async () => {
    const { store } = opened();
    await addRunningTask(store);
    const [task] = (await claimDue()) as [TaskRecord];
    const ends = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        store.tasks.advance(readLease(task), { status: 'SUCCESS', progress: `${i}%` }, null),
      ),
    );
    expect(ends.filter(Boolean)).toHaveLength(1);
    const ended = await reload(task);
    expect(ended).toMatchObject({ status: 'SUCCESS', leaseOwner: null, leaseUntilMs: 0 });
    for (const status of ['FAILURE', 'IN_PROGRESS'] satisfies TaskStatus[]) {
      expect(await store.tasks.advance(readLease(task), { status }, 0)).toBe(false);
      expect(await store.tasks.amend({ ...readLease(task), leaseOwner: '' }, { status })).toBe(false);
    }
    expect(await reload(task)).toEqual(ended);
  });

  test('advancing writes only the given fields and sets the next due time', async () => {
    const { store } = opened();
    const task = await store.tasks.insert(newTask());
    await store.tasks.amend(readLease(task), { channelId: 9, data: { a: 1 }, state: { s: 1 } });
    expect(await reload(task)).toMatchObject({ channelId: 9, leaseOwner: 'submitter', leaseSeq: 1 });
    const before = Date.now();
    expect(
      await store.tasks.advance(
        readLease(task),
        { status: 'QUEUED', progress: '10%', failReason: undefined, state: null },
        5000,
      ),
    ).toBe(true);
    const row = await reload(task);
    expect(row).toMatchObject({
      status: 'QUEUED',
      progress: '10%',
      channelId: 9,
      data: { a: 1 },
      state: null,
      failReason: '',
    });
    expect(row.nextPollAtMs - before).toBeGreaterThan(4900);
    expect(row.nextPollAtMs - before).toBeLessThan(65_000);
    expect(row.updatedAt).toBeGreaterThan(1_700_000_000);
  });

  test('many tasks advance in one statement, each under its own lease and with its own fields', async () => {
    const { store } = opened();
    for (let i = 0; i < 6; i += 1) await addRunningTask(store);
    const [whole, bare, lost, ended, strange, again] = (await claimDue()) as [
      TaskRecord,
      TaskRecord,
      TaskRecord,
      TaskRecord,
      TaskRecord,
      TaskRecord,
    ];
    const earlier = { data: { a: 1 }, state: { s: 1 }, pollFailures: 3, polls: 4, startTime: 9 };
    for (const task of [bare, lost]) await store.tasks.amend(readLease(task), earlier);
    await store.tasks.advance(readLease(ended), { status: 'FAILURE' }, null);
    const untouched = [await reload(lost), await reload(ended), await reload(strange)];
    const odd = { '\u0000': 'b', a: [1e300, -0.1, null], text: '\u0000 nul, “quotes” \\" \u{1F600}\ud800' };
    const change = { progress: '40%', data: odd, state: null, billing: { ...whole.billing, usd: 2 } };
    const before = Date.now();
    const failure = {
      at: 9,
      kind: 'poll_failure',
      status: 'SUBMITTED',
      class: 'auth',
      httpStatus: 401,
      detail: 'nul \u0000, half \ud800 “pair”',
    } as const;
    const written = await store.tasks.advanceAll([
      {
        lease: readLease(whole),
        change: { ...change, status: 'IN_PROGRESS', pollFailures: 0, polls: 5, startTime: 77 },
        events: [{ at: 8, kind: 'transition', status: 'IN_PROGRESS' }],
        nextPollInMs: 60_000,
      },
      { lease: readLease(bare), change: {}, nextPollInMs: 60_000 },
      {
        lease: { ...readLease(lost), leaseSeq: lost.leaseSeq - 1 },
        change: { polls: 99 },
        events: [failure],
        nextPollInMs: 0,
      },
      { lease: readLease(ended), change: { polls: 99 }, nextPollInMs: 0 },
      { lease: { ...readLease(strange), leaseOwner: 'somebody' }, change: { polls: 99 }, nextPollInMs: 0 },
      { lease: { ...readLease(again), leaseSeq: again.leaseSeq - 1 }, change: { polls: 98 }, nextPollInMs: 0 },
      { lease: readLease(again), change: { polls: 1 }, events: [failure], nextPollInMs: 0.4 },
      { lease: { ...readLease(again), taskId: 'task_unknown' }, change: {}, nextPollInMs: 0 },
    ]);
    expect(written).toEqual([true, true, false, false, false, false, true, false]);
    const free = { leaseOwner: null, leaseUntilMs: 0, status: 'SUBMITTED' };
    const row = await reload(whole);
    expect(row).toMatchObject({
      ...change,
      ...free,
      status: 'IN_PROGRESS',
      pollFailures: 0,
      polls: 5,
      startTime: 77,
      leaseSeq: 2,
    });
    expect(row.nextPollAtMs - before).toBeGreaterThan(59_900);
    expect(row.nextPollAtMs - before).toBeLessThan(120_000);
    expect(row.updatedAt).toBeGreaterThan(1_700_000_000);
    expect(await reload(bare)).toMatchObject({ ...earlier, ...free, progress: bare.progress, billing: bare.billing });
    expect([await reload(lost), await reload(ended), await reload(strange)]).toEqual(untouched);
    expect(await reload(again)).toMatchObject({ ...free, polls: 1 });
    const [moved] = await store.tasks.events(whole.taskId);
    expect(moved).toMatchObject({
      at: 8,
      kind: 'transition',
      status: 'IN_PROGRESS',
      class: '',
      httpStatus: 0,
      detail: '',
    });
    const [noted, ...more] = await store.tasks.events(again.taskId);
    expect(noted).toMatchObject({ ...failure, detail: 'nul \ufffd, half \ufffd “pair”' });
    expect([...more, ...(await store.tasks.events(lost.taskId))]).toEqual([]);
    expect(await store.tasks.advanceAll([])).toEqual([]);
    expect((await claimDue()).map(({ taskId }) => taskId)).toEqual([again.taskId]);
  });

  test('of two changes under one lease in one statement the first is written', async () => {
    const { store } = opened();
    await addRunningTask(store);
    const [task] = (await claimDue()) as [TaskRecord];
    const lease = readLease(task);
    const event = { at: 8, kind: 'transition', status: 'SUCCESS' } as const;
    const end = (progress: string) => ({
      ...{ lease, change: { status: 'SUCCESS' as const, progress }, events: [event], nextPollInMs: null },
    });
    expect(await store.tasks.advanceAll([end('1%'), end('2%')])).toEqual([true, false]);
    expect(await reload(task)).toMatchObject({ status: 'SUCCESS', progress: '1%' });
    expect(await store.tasks.events(task.taskId)).toHaveLength(1);
  });

  test('a submission whose process died is claimed once its lease has expired', async () => {
    const { store } = opened();
    const dead = await store.tasks.insert(newTask({ leaseForMs: 0 }));
    const alive = await store.tasks.insert(newTask());
    const renewed = await store.tasks.insert(newTask({ leaseForMs: 0 }));
    expect(await store.tasks.renew(readLease(renewed), 60_000)).toBe(true);
    const claimed = await store.tasks.claimInterrupted(CLAIM);
    expect(claimed.map(({ taskId }) => taskId)).toEqual([dead.taskId]);
    expect(claimed[0]).toMatchObject({ leaseOwner: 'poller', leaseSeq: 2, status: 'NOT_START' });
    expect(await store.tasks.advance(readLease(dead), { status: 'SUBMITTED' }, 0)).toBe(false);
    expect((await reload(alive)).leaseSeq).toBe(1);
  });

  test('the age sweep claims old tasks, due or not, unless they are leased', async () => {
    const { store } = opened();
    const old = await store.tasks.insert(newTask());
    await store.tasks.advance(readLease(old), { status: 'IN_PROGRESS', submitTime: 50 }, 60_000);
    const young = await store.tasks.insert(newTask());
    await store.tasks.advance(readLease(young), { status: 'IN_PROGRESS', submitTime: 51 }, 60_000);
    const sweep = () => store.tasks.claimOverdue({ ...CLAIM, submittedBefore: 50 });
    expect((await sweep()).map(({ taskId }) => taskId)).toEqual([old.taskId]);
    expect(await sweep()).toEqual([]);
  });

  test('only tasks due too far ahead become due now', async () => {
    const { store } = opened();
    const [far, near] = [await addRunningTask(store), await addRunningTask(store)];
    const ended = await addRunningTask(store);
    const claim = { owner: 'far', limit: 100, leaseForMs: 60_000, exceptChannels: [] };
    const waits = new Map([
      [far.taskId, 3_600_000],
      [near.taskId, 300_000],
    ]);
    for (const task of await store.tasks.claimDue(claim)) {
      if (task.taskId === ended.taskId) await store.tasks.advance(readLease(task), { status: 'FAILURE' }, 3_600_000);
      else await store.tasks.advance(readLease(task), {}, waits.get(task.taskId) ?? 0);
    }
    expect(await store.tasks.pullForwardDueTimes(330_000)).toBe(1);
    const due = (await store.tasks.claimDue({ ...claim, owner: 'near' })).map(({ taskId }) => taskId);
    expect(due).toContain(far.taskId);
    expect(due).not.toContain(near.taskId);
    expect(due).not.toContain(ended.taskId);
    expect(await store.tasks.pullForwardDueTimes(330_000)).toBe(0);
    // One task, at its vendor's word.
    expect(await store.tasks.makeDue(near.taskId)).toBe(true);
    for (const { taskId } of [near, ended, { taskId: 'task_none' }])
      expect(await store.tasks.makeDue(taskId)).toBe(false);
    expect((await store.tasks.claimDue({ ...claim, owner: 'near' })).map(({ taskId }) => taskId)).toEqual([
      near.taskId,
    ]);
  });

  test('a node that stops releases its polls, and its submissions only when told', async () => {
    const { store } = opened();
    await addRunningTask(store);
    const [kept] = (await claimDue({ owner: 'staying' })) as [TaskRecord];
    const poll = await addRunningTask(store);
    await claimDue({ owner: 'leaving' });
    const submit = await store.tasks.insert(newTask({ leaseOwner: 'leaving' }));
    const other = await store.tasks.insert(newTask({ leaseOwner: 'staying' }));
    expect(await store.tasks.releaseOwner('leaving', { expireSubmits: false })).toBe(1);
    expect(await reload(poll)).toMatchObject({ leaseOwner: null, leaseUntilMs: 0 });
    expect(await reload(submit)).toMatchObject({ leaseOwner: 'leaving' });
    expect(await store.tasks.releaseOwner('leaving', { expireSubmits: true })).toBe(1);
    expect((await store.tasks.claimInterrupted(CLAIM)).map(({ taskId }) => taskId)).toEqual([submit.taskId]);
    expect((await claimDue()).map(({ taskId }) => taskId)).toEqual([poll.taskId]);
    expect(await reload(other)).toMatchObject({ leaseOwner: 'staying' });
    expect(await store.tasks.advance(readLease(kept), { polls: 1 }, 60_000)).toBe(true);
  });

  test('all leases expire in one statement', async () => {
    const { store } = opened();
    const poll = await addRunningTask(store);
    const [held] = (await claimDue()) as [TaskRecord];
    const submit = await store.tasks.insert(newTask());
    expect(await store.tasks.expireAllLeases()).toBe(2);
    expect(await store.tasks.advance(readLease(held), { status: 'SUCCESS' }, null)).toBe(false);
    expect((await claimDue({ limit: 1000 })).map(({ taskId }) => taskId)).toContain(poll.taskId);
    expect((await store.tasks.claimInterrupted(CLAIM)).map(({ taskId }) => taskId)).toContain(submit.taskId);
  });

  test('counts tasks that are unfinished, due and late', async () => {
    const { store } = opened();
    const before = await store.tasks.queueDepth();
    const late = await store.tasks.insert(newTask({ platform: 'counted', channelId: 77 }));
    await store.tasks.advance(readLease(late), { status: 'QUEUED' }, -90_000);
    await store.tasks.insert(newTask({ platform: 'counted' }));
    const after = await store.tasks.queueDepth();
    expect([before.due, before.latestLatenessMs]).toEqual([0, 0]);
    expect([after.unfinished - before.unfinished, after.due]).toEqual([2, 1]);
    expect(after.latestLatenessMs).toBeGreaterThanOrEqual(90_000);
    expect(after.latestLatenessMs).toBeLessThan(150_000);
    expect(await store.tasks.countUnfinished({ platform: 'counted' })).toBe(2);
    expect(await store.tasks.countUnfinished({ platform: 'counted', channelId: 77 })).toBe(1);
    expect(await store.tasks.countUnfinished({})).toBe(after.unfinished);
  });

  test('the timeline keeps 50 rows, and beyond that rows that end a task or move its money', async () => {
    const { tasks } = opened().store;
    const taskId = newTaskId(Date.now());
    const note = {
      taskId,
      at: 1,
      kind: 'poll_failure',
      status: 'QUEUED',
      class: 'transient',
      httpStatus: 503,
    } as const;
    await tasks.addEvent({ taskId, at: 0, kind: 'created', status: 'NOT_START', detail: 'it’s “made”' });
    for (let i = 0; i < 60; i += 1) await tasks.addEvent({ ...note, at: i });
    await tasks.addEvent({ taskId, at: 61, kind: 'transition', status: 'IN_PROGRESS' });
    await tasks.addEvent({ taskId, at: 62, kind: 'transition', status: 'SUCCESS' });
    await tasks.addEvent({ taskId, at: 63, kind: 'settled', status: 'SUCCESS' });
    await tasks.addEvent({ taskId, at: 64, kind: 'refunded', status: 'FAILURE' });
    const events = await tasks.events(taskId);
    expect(events).toHaveLength(53);
    expect(events[0]).toMatchObject({ kind: 'created', class: '', httpStatus: 0, detail: 'it’s “made”' });
    expect(events[1]).toMatchObject({ ...note, at: 0, detail: '' });
    expect(events.slice(50).map(({ at }) => at)).toEqual([62, 63, 64]);
  });
}

describeEachStore('tasks', suite, { fresh: 'test' });
