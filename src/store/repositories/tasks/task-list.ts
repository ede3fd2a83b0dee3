import { and, asc, desc, eq, getTableColumns, gt, inArray, type SQL, sql } from 'drizzle-orm';
import type { StoredSentence } from '../../../kernel/index.ts';
import {
  LIST_LIMITS,
  type TaskListFilter,
  type TaskListStore,
  type TaskSort,
  type TaskViewStore,
} from '../../ports/index.ts';
import { atomic, type Context, countAll } from '../context.ts';
import { createTaskMatcher, createTaskSlicer, type TaskSlice } from './task-slices.ts';

/** Tasks that one statement looks at: ten milliseconds. */
const TASKS_AT_ONCE = 20_000;
/** The limit where it reads their prompts. */
const PROMPTS_AT_ONCE = 2000;
/** Distinct reasons of failures that are counted. */
const MAX_REASONS = 10_000;

/** What a task is sorted by, the largest first. */
type Ranked = { id: number; rank: number };

/**
 * Lists of tasks. Filters and orders read the narrow rows of `task_list` alone, slice by slice; the
 * wide rows of tasks are read for the page that is shown, and for the prompts of a bounded number
 * of tasks.
 */
export function createTaskList(context: Context): TaskListStore {
  const { db, tables } = context;
  const { tasks, taskList, users, apiKeys, channels } = tables;
  const { data: _data, state: _state, ...columns } = getTableColumns(tasks);
  const { matches, containsText } = createTaskMatcher(context);
  const { slices, reachesBelow, inTurn } = createTaskSlicer(context);

  const toRank = (sort: TaskSort) => {
    if (sort === 'cost') return taskList.quota;
    return sort === 'duration' ? taskList.seconds : taskList.id;
  };

  /** The newest tasks of a slice that match all but the text. */
  const candidates = (where: SQL | undefined, limit: number) =>
    db.select({ id: taskList.id }).from(taskList).where(where).orderBy(desc(taskList.id)).limit(limit).as('candidates');

  async function countRows(where: SQL | undefined): Promise<number> {
    const [row] = await db.select({ total: countAll() }).from(taskList).where(where);
    return row?.total ?? 0;
  }
  /** Counts the tasks of a slice that match `where`; without one, the slice knows. */
  const countIn = (slice: TaskSlice, where: SQL | undefined): number | Promise<number> =>
    where === undefined ? slice.count : countRows(and(slice.where, where));

  async function readSentences(ids: readonly number[]) {
    if (ids.length === 0) return new Map<number, StoredSentence | null>();
    const rows = await db
      .select({ id: tasks.id, sentence: tasks.failReasonSentence })
      .from(tasks)
      .where(inArray(tasks.id, [...ids]));
    return new Map(rows.map(({ id, sentence }) => [id, sentence]));
  }

  async function read(ids: readonly number[]) {
    if (ids.length === 0) return [];
    const rows = await db
      .select({ ...columns, username: users.username, keyName: apiKeys.name, channelName: channels.name })
      .from(tasks)
      .leftJoin(users, eq(users.id, tasks.userId))
      .leftJoin(apiKeys, eq(apiKeys.id, tasks.apiKeyId))
      .leftJoin(channels, eq(channels.id, tasks.channelId))
      .where(inArray(tasks.id, [...ids]));
    const byId = new Map(rows.map((row) => [row.id, row]));
    // A task may have been deleted since.
    return ids.flatMap((id) => byId.get(id) ?? []);
  }

  /**
   * Calls `look` for the slices of the newest tasks until it returns false; `oldestFirst`: in the
   * other order. Whether tasks were left out because there are too many.
   */
  async function scanNewest(
    { userId }: TaskListFilter,
    { size, oldestFirst = false }: { size: number; oldestFirst?: boolean },
    look: (slice: TaskSlice) => Promise<boolean>,
  ): Promise<{ isCut: boolean }> {
    const kept: TaskSlice[] = [];
    let looked = 0;
    let last: TaskSlice | undefined;
    for await (const slice of slices({ userId, order: 'desc', size })) {
      if (oldestFirst) kept.push(slice);
      else if (!(await inTurn(userId, () => look(slice)))) return { isCut: false };
      looked += slice.count;
      last = slice;
      if (looked >= LIST_LIMITS.window) break;
    }
    for (const slice of kept.reverse()) if (!(await inTurn(userId, () => look(slice)))) break;
    return { isCut: last !== undefined && !last.isEnd && (await reachesBelow(userId, last.lastId)) };
  }

  /** The tasks of a page by creation; a slice whose tasks are on other pages is only counted. */
  function pageByCreation(
    where: SQL | undefined,
    { from, until, sort }: { from: number; until: number; sort: TaskSort },
  ) {
    const ids: number[] = [];
    let total = 0;
    const direction = sort === 'oldest' ? asc : desc;
    const look = async (slice: TaskSlice): Promise<boolean> => {
      const within = and(slice.where, where);
      const count = await countIn(slice, where);
      const limit = until - Math.max(from, total);
      if (limit > 0 && total + count > from) {
        const found = db.select({ id: taskList.id }).from(taskList).where(within).orderBy(direction(taskList.id));
        for (const { id } of await found.limit(limit).offset(Math.max(0, from - total))) ids.push(id);
      }
      total += count;
      return total <= LIST_LIMITS.counted;
    };
    return { look, result: () => ({ ids, total }) };
  }

  /** The tasks of a page by their rank: the first ones of each slice, merged. */
  function pageByRank(where: SQL | undefined, { from, until, sort }: { from: number; until: number; sort: TaskSort }) {
    const column = toRank(sort);
    let best: Ranked[] = [];
    let total = 0;
    const look = async (slice: TaskSlice): Promise<boolean> => {
      const within = and(slice.where, where);
      total += await countIn(slice, where);
      // Older tasks of the same rank come later.
      const least = best.length < until ? undefined : best.at(-1)?.rank;
      const ahead = least === undefined ? within : and(within, gt(column, least));
      const found = db.select({ id: taskList.id, rank: column }).from(taskList).where(ahead);
      best = byRank([...best, ...(await found.orderBy(desc(column), desc(taskList.id)).limit(until))]).slice(0, until);
      return true;
    };
    return { look, result: () => ({ ids: best.slice(from).map(({ id }) => id), total }) };
  }

  async function search(filter: TaskListFilter & { query: string }, sort: TaskSort) {
    const where = matches(filter);
    const column = toRank(sort);
    const found: Ranked[] = [];
    let left: number = LIST_LIMITS.searched;
    let isPartial = false;
    const { isCut } = await scanNewest(filter, { size: PROMPTS_AT_ONCE }, async (slice) => {
      const within = and(slice.where, where);
      const among = candidates(within, left + 1);
      const [row] = await db.select({ count: countAll() }).from(among);
      isPartial = (row?.count ?? 0) > left;
      const searched = candidates(within, left);
      const rows = db
        .select({ id: searched.id, rank: column })
        .from(searched)
        .innerJoin(taskList, eq(taskList.id, searched.id))
        .innerJoin(tasks, eq(tasks.id, searched.id));
      if (row?.count && left > 0) found.push(...(await rows.where(containsText(filter))));
      left = Math.max(0, left - (row?.count ?? 0));
      return !isPartial;
    });
    const sorted = sort === 'oldest' ? byRank(found).reverse() : byRank(found);
    const searched = isPartial || isCut ? LIST_LIMITS.searched - left : null;
    return { ids: sorted.map(({ id }) => id), searched };
  }

  return {
    byIds: read,

    async list(filter, { page, pageSize, sort = 'newest' }) {
      const from = (page - 1) * pageSize;
      const { query } = filter;
      if (query) {
        const { ids, searched } = await search({ ...filter, query }, sort);
        const total = Math.min(ids.length, LIST_LIMITS.found);
        const items = await read(ids.slice(0, total).slice(from, from + pageSize));
        return { total, hasMore: ids.length > total, searched, items };
      }
      const until = Math.min(from + pageSize, LIST_LIMITS.counted);
      const isRanked = sort === 'cost' || sort === 'duration';
      const { look, result } = (isRanked ? pageByRank : pageByCreation)(matches(filter), { from, until, sort });
      const oldestFirst = sort === 'oldest';
      const { isCut } = await scanNewest(filter, { size: TASKS_AT_ONCE, oldestFirst }, look);
      const { ids, total } = result();
      return {
        total: Math.min(total, LIST_LIMITS.counted),
        hasMore: total > LIST_LIMITS.counted,
        searched: isCut ? LIST_LIMITS.window : null,
        items: await read(ids),
      };
    },

    async feed(filter, { after, limit, order }) {
      const { userId, query } = filter;
      const owned = userId === undefined ? undefined : eq(tasks.userId, userId);
      const [start] =
        after === undefined
          ? []
          : await db
              .select({ id: tasks.id })
              .from(tasks)
              .where(and(eq(tasks.taskId, after), owned));
      if (after !== undefined && !start) return undefined;
      const where = matches(filter);
      const direction = order === 'asc' ? asc : desc;
      const ids: number[] = [];
      let [looked, searched] = [0, 0];
      let goesOnAt: number | undefined;
      const size = query ? PROMPTS_AT_ONCE : TASKS_AT_ONCE;
      // If most tasks match the filter, a short slice has all that a part shows.
      const first = query ? size : limit + 1;
      for await (const slice of slices({ userId, order, after: start?.id, size, first })) {
        const within = and(slice.where, where);
        const rows = db.select({ id: taskList.id }).from(taskList);
        const found = await inTurn(userId, async () => {
          if (query) searched += await countRows(within);
          return (query ? rows.innerJoin(tasks, eq(tasks.id, taskList.id)) : rows)
            .where(query ? and(within, containsText({ ...filter, query })) : within)
            .orderBy(direction(taskList.id))
            .limit(limit + 1 - ids.length);
        });
        for (const { id } of found) ids.push(id);
        looked += slice.count;
        if (ids.length > limit || slice.isEnd) break;
        // There may be others beyond those that were looked at.
        if (looked > LIST_LIMITS.fed - size || searched >= LIST_LIMITS.searched) {
          goesOnAt = slice.lastId;
          break;
        }
      }
      const items = await read(ids.slice(0, limit));
      if (ids.length > limit) return { items, next: items.at(-1)?.taskId ?? null };
      if (goesOnAt === undefined) return { items, next: null };
      const [last] = await db.select({ taskId: tasks.taskId }).from(tasks).where(eq(tasks.id, goesOnAt));
      return { items, next: last?.taskId ?? null };
    },

    async failureReasons({ query, ...filter }, limit) {
      const failed = matches({ ...filter, status: 'FAILURE' });
      const counts = new Map<string, Counted>();
      let left: number = LIST_LIMITS.searched;
      await scanNewest(filter, { size: query ? PROMPTS_AT_ONCE : TASKS_AT_ONCE }, async (slice) => {
        const within = and(slice.where, failed);
        const grouped = db
          .select({ reason: taskList.failReason, count: countAll(), latest: sql<number>`max(${taskList.id})` })
          .from(taskList);
        if (query) {
          const among = candidates(within, left);
          const rows = grouped
            .innerJoin(among, eq(among.id, taskList.id))
            .innerJoin(tasks, eq(tasks.id, taskList.id))
            .where(containsText({ ...filter, query }));
          addCounts(counts, await rows.groupBy(taskList.failReason));
          left -= Math.min(left, await countRows(within));
        } else addCounts(counts, await grouped.where(within).groupBy(taskList.failReason));
        return left > 0;
      });
      const shown = [...counts]
        .map(([reason, counted]) => ({ reason, ...counted }))
        .sort((a, b) => b.count - a.count || (a.reason < b.reason ? -1 : 1))
        .slice(0, limit);
      const said = await readSentences(shown.map(({ latest }) => latest));
      return shown.map(({ reason, count, latest }) => ({ reason, sentence: said.get(latest) ?? null, count }));
    },
  };
}

const byRank = (tasks: readonly Ranked[]): Ranked[] => tasks.toSorted((a, b) => b.rank - a.rank || b.id - a.id);

/** How many tasks failed for a reason, and the latest of them that was looked at. */
type Counted = { count: number; latest: number };

function addCounts(counts: Map<string, Counted>, more: readonly (Counted & { reason: string })[]): void {
  for (const { reason, count, latest } of more) {
    const known = counts.get(reason);
    if (known) known.count += count;
    else if (counts.size < MAX_REASONS) counts.set(reason, { count, latest: Number(latest) });
  }
}

export function createTaskViewStore({ db, tables, statement }: Context): TaskViewStore {
  const { taskViews: views } = tables;

  return {
    list: (userId) => db.select().from(views).where(eq(views.userId, userId)).orderBy(desc(views.id)),

    save: atomic(async ({ userId, name, query, createdAt }, max) => {
      await statement(sql`
        insert into task_views (user_id, name, query, created_at)
        select cast(${userId} as bigint), cast(${name} as text), cast(${query} as text), cast(${createdAt} as bigint)
        where exists (select 1 from task_views where user_id = ${userId} and name = ${name})
          or (select count(*) from task_views where user_id = ${userId}) < ${max}
        on conflict (user_id, name) do update set query = excluded.query`);
      const [row] = await db
        .select()
        .from(views)
        .where(and(eq(views.userId, userId), eq(views.name, name)));
      return row;
    }),

    async delete(id, userId) {
      const [row] = await db
        .delete(views)
        .where(and(eq(views.id, id), eq(views.userId, userId)))
        .returning();
      return row;
    },

    async deleteAll(userId) {
      const deleted = await db.delete(views).where(eq(views.userId, userId)).returning({ id: views.id });
      return deleted.length;
    },
  };
}
