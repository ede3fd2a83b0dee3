/** Lists of many tasks are read slice by slice, and nothing is lost between two of them. */
import { Database as SqliteFile } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { SQL } from 'bun';
import { systemClock } from '../../src/kernel/index.ts';
import { modelKey, type TaskListFilter, type TaskListPage, type TaskSort } from '../../src/store/ports/index.ts';
import { createRepositories } from '../../src/store/repositories/index.ts';
import { tablesFor } from '../../src/store/schema/index.ts';
import { querySqlite } from '../../src/store/sqlite/open-sqlite.ts';
import { describeEachStore, type OpenedStore } from '../contract/each-store.ts';
import { runRaw } from '../contract/open-raw.ts';

/** More than two slices. */
const TASKS = 45_000;
const OWNER = 1;
const own: TaskListFilter = { userId: OWNER, hidden: false };

/** Task i costs i * 31 % 9000. Every 1,000th failed; the oldest hundred have their own model. */
const fill = `insert into tasks (task_id, platform, user_id, api_key_id, "group", channel_id, action, status, progress, created_at,
    updated_at, quota, properties, execution, billing, fail_reason)
  with recursive n(i) as (select 1 union all select i + 1 from n where i < ${TASKS})
  select 'task_' || i, 'demo', ${OWNER}, 1, 'default', 1, 'text_to_video', case when i % 1000 = 0 then 'FAILURE' else 'SUCCESS' end,
    '100%', i, i, i * 31 % 9000,
    '{"input":"a boat, number ' || i || '","originModelName":"' || case when i <= 100 then 'old' else 'new' end || '","upstreamModelName":"m"}',
    '{}', '{}', case when i % 1000 = 0 then 'reason ' || (i % 3) else '' end from n`;

type Recorded = { text: string; params: unknown[] };

/** The lists over a connection of their own, whose statements are kept. */
function openRecorded({ store, databaseUrl, dataDir }: OpenedStore) {
  const recorded: Recorded[] = [];
  const { dialect } = store;
  const sql = dialect === 'postgres' ? new SQL({ url: databaseUrl, max: 1 }) : undefined;
  const file = sql ? undefined : new SqliteFile(join(dataDir, 'taskgate.db'));
  const values = async (text: string, params: unknown[]): Promise<unknown[][]> =>
    ((await sql?.unsafe(text, params).values()) ?? (file && querySqlite(file, text, params))) as unknown[][];
  const run = (text: string, params: unknown[]) => {
    recorded.push({ text, params });
    return values(text, params);
  };
  const { tasks } = createRepositories({ dialect, tables: tablesFor(dialect), clock: systemClock, run });
  const explain = dialect === 'postgres' ? 'explain' : 'explain query plan';
  return {
    tasks,
    /** The plans of the statements since the last call, one text each. */
    async takePlans(): Promise<(Recorded & { plan: string })[]> {
      // The planner reads small tables as a whole.
      await sql?.unsafe('set enable_seqscan = off');
      const plans: (Recorded & { plan: string })[] = [];
      for (const { text, params } of recorded.splice(0)) {
        const lines = await values(`${explain} ${text}`, params);
        plans.push({ text, params, plan: lines.map((line) => line.at(-1)).join('\n') });
      }
      return plans;
    },
    async close() {
      await sql?.close();
      file?.close();
    },
  };
}

describeEachStore(`a user's list of ${TASKS} tasks`, (opened) => {
  const downFrom = (first: number, count = 100) => Array.from({ length: count }, (_, index) => first - index);
  const numbers = ({ items }: Pick<TaskListPage, 'items'>) => items.map(({ taskId }) => Number(taskId.slice(5)));

  test('pages, filters, orders and feeds find the same tasks across slices', async () => {
    await runRaw(opened(), fill);
    const { tasks } = opened().store;
    const list = (filter: TaskListFilter, page = 1, sort: TaskSort = 'newest') =>
      tasks.list({ ...own, ...filter }, { page, pageSize: 100, sort });
    // Counted to the next full thousand after the page.
    expect(await list({})).toMatchObject({ total: 1000, hasMore: true, searched: null });
    expect(await list({}, 10)).toMatchObject({ total: 2000, hasMore: true });
    expect(await list({}, 449)).toMatchObject({ total: TASKS, hasMore: false, searched: null });
    expect(await list({}, 1, 'cost')).toMatchObject({ total: TASKS, hasMore: false });
    // The first slice ends within this page.
    const across = await tasks.list(own, { page: 267, pageSize: 75 });
    expect(numbers(across)).toEqual(downFrom(TASKS - 266 * 75, 75));
    expect(numbers(await list({}, 450))).toEqual(downFrom(100));
    expect(numbers(await list({}, 451))).toEqual([]);
    expect(numbers(await list({}, 1, 'oldest'))).toEqual(downFrom(100).reverse());
    expect(numbers(await list({ status: 'FAILURE' }))).toEqual(downFrom(45, 45).map((number) => number * 1000));

    const measureCost = (number: number) => (number * 31) % 9000;
    const byCost = downFrom(TASKS, TASKS).sort((a, b) => measureCost(b) - measureCost(a) || b - a);
    expect(numbers(await list({}, 1, 'cost'))).toEqual(byCost.slice(0, 100));
    expect(numbers(await list({}, 300, 'cost'))).toEqual(byCost.slice(29_900, 30_000));

    // Prompts are searched among those that match the other filters, wherever these are.
    const found = await list({ model: 'old', query: 'BOAT, number 7"' });
    expect([found.searched, found.total]).toEqual([null, 0]);
    expect(numbers(await list({ model: 'old', query: 'number 77' }))).toEqual([77]);
    expect(await list({ query: 'number 77' })).toMatchObject({ searched: 10_000, total: 0 });
    expect(await tasks.failureReasons(own, 2)).toEqual([
      { reason: 'reason 0', sentence: null, count: 15, channels: [{ channelId: 1, count: 15 }] },
      { reason: 'reason 1', sentence: null, count: 15, channels: [{ channelId: 1, count: 15 }] },
    ]);

    const latest = async (...models: string[]) => {
      const sought = new Set(models.map((model) => modelKey({ platform: 'demo', model })));
      return numbers({ items: await tasks.latestSuccesses({ userId: OWNER }, sought) });
    };
    expect(await latest('new')).toEqual([TASKS - 1]);
    // It lies in the last slice.
    expect(await latest('new', 'old')).toEqual([TASKS - 1, 100]);

    const read: number[] = [];
    let after: string | undefined;
    do {
      const part = await tasks.feed(
        { ...own, status: 'FAILURE' },
        { limit: 20, order: 'asc', ...(after ? { after } : {}) },
      );
      read.push(...numbers(part ?? { items: [] }));
      after = part?.next ?? undefined;
    } while (after !== undefined);
    expect(read).toEqual(Array.from({ length: 45 }, (_, index) => (index + 1) * 1000));
  });

  test('what a user hid is not counted, wherever it lies', async () => {
    const { store } = opened();
    const list = async (page: number) => {
      const { total, hasMore } = await store.tasks.list(own, { page, pageSize: 100 });
      return [total, hasMore];
    };
    const hide = (time: number, which: string) =>
      runRaw(opened(), `update tasks set hidden_at = ${time} where ${which}`);
    // Five of the newest, and half of the oldest 100.
    const some = `id > ${TASKS - 5} or (id <= 100 and id % 2 = 0)`;
    await hide(9, some);
    expect(await list(1)).toEqual([1000, true]);
    expect(await list(449)).toEqual([TASKS - 55, false]);
    await hide(0, 'hidden_at <> 0');
    expect(await list(449)).toEqual([TASKS, false]);
  });

  test('no statement looks at more tasks than those of one slice', async () => {
    const { tasks, takePlans, close } = openRecorded(opened());
    try {
      const asks: (() => Promise<unknown>)[] = [
        () => tasks.list(own, { page: 1, pageSize: 20 }),
        () => tasks.list({ ...own, status: 'IN_PROGRESS' }, { page: 1, pageSize: 20 }),
        () => tasks.list({ ...own, model: 'old' }, { page: 1, pageSize: 20, sort: 'oldest' }),
        () => tasks.list(own, { page: 1, pageSize: 20, sort: 'cost' }),
        () => tasks.list({ ...own, query: 'zebra' }, { page: 1, pageSize: 20 }),
        () => tasks.list({ status: 'IN_PROGRESS' }, { page: 1, pageSize: 20 }),
        () => tasks.feed({ ...own, status: 'IN_PROGRESS' }, { limit: 20, order: 'desc' }),
        () => tasks.feed({ ...own, query: 'zebra' }, { limit: 20, order: 'asc' }),
        () => tasks.failureReasons(own, 20),
        () => tasks.failureReasons({ ...own, query: 'zebra' }, 20),
        () => tasks.latestSuccesses({ userId: OWNER }, new Set([modelKey({ platform: 'demo', model: 'old' })])),
        () => tasks.latestSuccesses({}, new Set([modelKey({ platform: 'demo', model: 'none' })])),
      ];
      for (const ask of asks) {
        await ask();
        const plans = (await takePlans()).filter(({ text }) => text.includes('"task_list"'));
        expect(plans.length).toBeGreaterThan(2);
        for (const { text, plan } of plans) {
          // By the ids of the slice. What finds the slice has a limit, and the index's order.
          const isBounded = /id ?[<>]/.test(plan) || /limit/.test(text);
          expect([text, plan, isBounded]).toEqual([text, plan, true]);
          expect(plan).not.toMatch(/Seq Scan|SCAN tasks\b/);
        }
      }
    } finally {
      await close();
    }
  });

  test('a part of a feed reads no more tasks than it shows, and one to know of the next part', async () => {
    const { tasks, takePlans, close } = openRecorded(opened());
    try {
      const part = await tasks.feed(own, { limit: 20, order: 'asc' });
      expect(numbers(part ?? { items: [] })).toEqual(downFrom(20, 20).reverse());
      const lists = (await takePlans()).filter(({ text }) => text.includes('"task_list"'));
      // Taken from the oldest tasks, ids and limits alike.
      expect(Math.max(...lists.flatMap(({ params }) => params).map(Number))).toBe(21);
    } finally {
      await close();
    }
  });

  test('a list of many tasks leaves turns of the event loop to others', async () => {
    const { store } = opened();
    if (store.dialect !== 'sqlite') return;
    let [turns, runs] = [0, true];
    const count = (): void => {
      turns += 1;
      if (runs) setImmediate(count);
    };
    setImmediate(count);
    // The lists of one user take turns, too.
    await Promise.all([1, 2].map(() => store.tasks.list({ ...own, status: 'IN_PROGRESS' }, { page: 1, pageSize: 20 })));
    runs = false;
    expect(turns).toBeGreaterThan(2 * 3);
  });
});
