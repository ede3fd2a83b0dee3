import { afterAll, describe, expect, test } from 'bun:test';
import { type Clock, nextTurn, systemClock, systemRandom } from '../../src/kernel/index.ts';
import { storeErrors } from '../../src/store/drivers/errors.ts';
import type { Store, TaskAdvance, TaskRecord } from '../../src/store/ports/index.ts';
import { createChannelQueues } from '../../src/tasks/polling/channel-queues.ts';
import type { PollStage } from '../../src/tasks/polling/types.ts';
import { createTransitionWriter } from '../../src/tasks/state/record-transition.ts';
import { addRunningTask, describeEachStore, readLease } from '../contract/each-store.ts';

describe("a channel's queue", () => {
  type Begun = { tasks: string[]; enter(stage: PollStage): void; end(): void };

  /** Queues whose groups continue when the test says so. */
  function open(concurrency: number, fetchMode: 'single' | 'batch' = 'single') {
    const plugin = { manifest: { fetchMode } };
    const begun: Begun[] = [];
    const stopping = new AbortController();
    let resumes = 0;
    const queues = createChannelQueues({
      concurrency,
      pin: () => ({ generation: { findLoadedPlugin: () => plugin }, release: () => {} }) as never,
      poll: ({ group, enter }) =>
        new Promise((resolve) => begun.push({ tasks: group.map(({ task }) => task.taskId), enter, end: resolve })),
      onCapacity: () => {
        resumes += 1;
      },
      stopping: stopping.signal,
    });
    const add = (channelId: number, count: number) =>
      queues.add(
        Array.from({ length: count }, (_, i) => ({
          task: { taskId: `${channelId}-${i}`, channelId, platform: 'p', pollFailures: 0 } as TaskRecord,
          claimedAtMs: 0,
          final: false,
        })),
      );
    return { queues, begun, add, stopping, resumes: () => resumes };
  }

  test('holds its slots for requests only: parsing and writing leave them to the next request', async () => {
    const { queues, begun, add } = open(2);
    add(1, 7);
    expect(begun).toHaveLength(2);
    begun[0]?.enter('parsing');
    expect(begun).toHaveLength(3);
    // Two are being parsed: the sandbox is busy.
    begun[1]?.enter('parsing');
    begun[2]?.enter('parsing');
    begun[0]?.enter('writing');
    expect(begun).toHaveLength(3);
    begun[1]?.enter('writing');
    expect(begun).toHaveLength(5);
    expect(queues.stats()).toEqual({ running: 5, waiting: 2, polls: 5 });
    for (let i = 0; i < 7; i += 1) {
      begun[i]?.end();
      await Promise.resolve();
      await Promise.resolve();
    }
    expect(begun.map(({ tasks }) => tasks.join())).toEqual(['1-0', '1-1', '1-2', '1-3', '1-4', '1-5', '1-6']);
    expect(queues.stats()).toEqual({ running: 0, waiting: 0, polls: 7 });
  });

  test('that is slow delays no other, and is full until half of its waiting tasks have been polled', () => {
    const { queues, begun, add, resumes } = open(2);
    add(1, 66);
    add(2, 2);
    expect(queues.full()).toEqual([1]);
    expect(begun.map(({ tasks }) => tasks[0])).toEqual(['1-0', '1-1', '2-0', '2-1']);
    const next = (index: number) => {
      begun[index]?.enter('parsing');
      begun[index]?.enter('writing');
    };
    next(0);
    next(1);
    for (let i = 4; begun.length < 34; i += 1) next(i);
    expect([queues.full(), resumes()]).toEqual([[1], 0]);
    next(begun.length - 1);
    next(begun.length - 1);
    next(begun.length - 1);
    expect([queues.full(), resumes()]).toEqual([[], 1]);
  });

  test('of batches starts no request while 512 tasks wait for the database: each claim passes over them', async () => {
    const { begun, add } = open(4, 'batch');
    add(1, 3000);
    for (let i = 0; i < begun.length; i += 1) {
      begun[i]?.enter('parsing');
      begun[i]?.enter('writing');
    }
    // Six, and the four requests that began when these had been answered.
    expect(begun.map(({ tasks }) => tasks.length)).toEqual(Array(10).fill(100));
    begun[0]?.end();
    for (let turn = 0; turn < 3; turn += 1) await Promise.resolve();
    expect(begun).toHaveLength(10);
    for (const { end } of begun.slice(1, 5)) end();
    for (let turn = 0; turn < 3; turn += 1) await Promise.resolve();
    expect(begun.length).toBeGreaterThan(10);
  });

  test('starts no request while too many answers wait for the database, nor after the stop', () => {
    const { queues, begun, add, stopping } = open(4);
    add(1, 300);
    for (let i = 0; i < begun.length; i += 1) {
      begun[i]?.enter('parsing');
      begun[i]?.enter('writing');
    }
    // 128, and the four requests that began when these had been answered.
    expect(begun).toHaveLength(132);
    stopping.abort();
    for (const { end } of begun) end();
    expect(begun).toHaveLength(132);
    expect(queues.stats()).toMatchObject({ waiting: 168 });
  });
});

describeEachStore('poll writes', (opened) => {
  const stopping = new AbortController();
  afterAll(() => stopping.abort());

  const claimed = async (count: number): Promise<TaskRecord[]> => {
    const { store } = opened();
    for (let i = 0; i < count; i += 1) await addRunningTask(store);
    return store.tasks.claimDue({ owner: 'poller', limit: count, leaseForMs: 60_000, exceptChannels: [] });
  };
  const polled = (task: TaskRecord, progress = '7%'): TaskAdvance => ({
    lease: readLease(task),
    change: { progress, polls: task.polls + 1 },
    nextPollInMs: 60_000,
  });
  const readProgress = async ({ taskId }: TaskRecord) => (await opened().store.tasks.byTaskId(taskId))?.progress;

  /** A writer over the store, whose `advanceAll` goes through `through` and is counted. */
  function writer(
    through: (write: Store['tasks']['advanceAll']) => Store['tasks']['advanceAll'] = (write) => write,
    clock: Clock = systemClock,
  ) {
    const { store } = opened();
    const sizes: number[] = [];
    const transaction: Store['transaction'] = (work) =>
      store.transaction((tx) =>
        work({
          ...tx,
          tasks: {
            ...tx.tasks,
            advanceAll(group) {
              sizes.push(group.length);
              return through(tx.tasks.advanceAll)(group);
            },
          },
        }),
      );
    const deps = { store: { ...store, transaction }, clock, webhooks: {} as never, node: { random: systemRandom } };
    return { sizes, write: createTransitionWriter(deps, () => clock.sleep(25, stopping.signal)) };
  }

  test('at the same moment are one batch, and each gets its own result', async () => {
    const tasks = await claimed(5);
    const [lost] = tasks as [TaskRecord];
    const { write, sizes } = writer();
    const stale = { ...polled(lost), lease: { ...readLease(lost), leaseSeq: 1 } };
    const answers = await Promise.all([write(stale), ...tasks.slice(1).map((task) => write(polled(task)))]);
    expect(answers).toEqual([false, true, true, true, true]);
    expect(sizes).toEqual([5]);
    expect(await Promise.all(tasks.map(readProgress))).toEqual([lost.progress, '7%', '7%', '7%', '7%']);
  });

  test('of a batch of which the database refuses one row store the others', async () => {
    const tasks = await claimed(3);
    const [bad, ...good] = tasks as [TaskRecord, ...TaskRecord[]];
    const { write } = writer((store) => async (group) => {
      if (group.some(({ lease }) => lease.taskId === bad.taskId)) throw storeErrors.broken_invariant();
      return store(group);
    });
    const answers = await Promise.allSettled(tasks.map((task) => write(polled(task))));
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
    expect(await Promise.all(good.map(readProgress))).toEqual(['7%', '7%']);
  });

  test('is not tried one by one while the database is unavailable', async () => {
    const tasks = await claimed(3);
    const { write, sizes } = writer(() => () => Promise.reject(storeErrors.unavailable()));
    const answers = await Promise.allSettled(tasks.map((task) => write(polled(task))));
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(sizes).toEqual([3]);
  });

  test('comes in groups that each wait for their own time, and none is empty', async () => {
    const tasks = await claimed(130);
    const sleeps: (() => void)[] = [];
    const clock = { ...systemClock, sleep: () => new Promise<void>((resolve) => sleeps.push(resolve)) };
    const { write, sizes } = writer((store) => store, clock);
    const answers = tasks.map((task) => write(polled(task)));
    expect(await Promise.all(answers.slice(0, 128))).not.toContain(false);
    expect(sizes).toEqual([128]);
    sleeps[0]?.();
    await nextTurn();
    expect(sizes).toEqual([128]);
    sleeps[1]?.();
    expect(await Promise.all(answers.slice(128))).toEqual([true, true]);
    expect(sizes).toEqual([128, 2]);
  });

  test('and was written, but the answer was lost: shown again it counts once', async () => {
    const [task] = (await claimed(1)) as [TaskRecord];
    let isLost = true;
    const { store } = opened();
    const transaction: Store['transaction'] = async (work) => {
      const written = await store.transaction(work);
      if (isLost) throw storeErrors.outcome_unknown();
      return written;
    };
    const deps = {
      store: { ...store, transaction },
      clock: systemClock,
      webhooks: {} as never,
      node: { random: systemRandom },
    };
    const write = createTransitionWriter(deps);
    const event = { at: 1, kind: 'poll_failure' as const, status: task.status, detail: 'once' };
    await expect(write({ ...polled(task), events: [event] })).rejects.toMatchObject({ code: 'store.outcome_unknown' });
    isLost = false;
    expect(await write({ ...polled(task, '8%'), events: [event] })).toBe(false);
    expect(await readProgress(task)).toBe('7%');
    const shown = (await opened().store.tasks.events(task.taskId)).filter(({ detail }) => detail === 'once');
    expect(shown).toHaveLength(1);
  });
});
