import { and, asc, desc, eq, sql } from 'drizzle-orm';
import {
  countingLimit,
  LIST_LIMITS,
  modelKey,
  type TaskListFilter,
  type TaskListStore,
  type TaskSort,
  type TaskViewStore,
} from '../../ports/index.ts';
import { atomic, type Context } from '../context.ts';
import { countAll } from '../prepare-by-shape.ts';
import { createListStatements, type Ranked, selectReasons } from './task-list-statements.ts';
import {
  createTaskSlicer,
  createTextMatcher,
  isWithin,
  type Order,
  type Sought,
  type TaskSlice,
  withoutText,
} from './task-slices.ts';

/** Tasks that one statement looks at: ten milliseconds. */
const TASKS_AT_ONCE = 20_000;
/** The limit where it reads their prompts. */
const PROMPTS_AT_ONCE = 2000;
/** Tasks that are looked at first where the newest few may be enough. */
const FEW_TASKS = 2000;
/** Distinct reasons of failures that are counted. */
const MAX_REASONS = 10_000;

/** The tasks of a page and their order. */
type PageRange = { from: number; until: number; sort: TaskSort };

/**
 * Lists of tasks. Filters and orders read the narrow rows of `task_list` alone, slice by slice; the
 * wide rows of tasks are read for the page that is shown, and for the prompts of a bounded number
 * of tasks.
 */
export function createTaskList(context: Context): TaskListStore {
  const { db, tables } = context;
  const { tasks, taskList } = tables;
  const containsText = createTextMatcher(context);
  const { slices, reachesBeyond, inTurn } = createTaskSlicer(context);
  const { countRows, countShown, countHidden, findPage, findRanked, countReasons, findLatest, ...statements } =
    createListStatements(context);
  const { readSentences, read, findId, findTaskId } = statements;

  const toRank = (sort: TaskSort) => {
    if (sort === 'cost') return taskList.quota;
    return sort === 'duration' ? taskList.seconds : taskList.id;
  };

  /** The newest tasks of a slice that match all but the text. */
  const candidates = (sought: Sought, limit: number) => {
    const ids = db
      .select({ id: taskList.id })
      .from(taskList)
      .where(isWithin(taskList, sought, 'desc'));
    return ids.orderBy(desc(taskList.id)).limit(limit).as('candidates');
  };

  /** Counts the tasks of a slice that match the filter: those that users hid are taken from all. */
  const countIn = async ({ bounds, size, lastId }: TaskSlice, filter: Sought, order: Order): Promise<number> => {
    const { userId: _user, hidden, ...others } = filter;
    if (Object.values(others).some((value) => value !== undefined)) return countRows({ ...filter, ...bounds }, order);
    if (lastId === undefined) return hidden === undefined ? countRows(bounds, order) : countShown(bounds, order);
    return hidden === undefined ? size : size - (await countHidden(bounds, order));
  };

  /**
   * Calls `look` for the slices of the tasks that are first in an order until it returns false.
   * Whether tasks were left out because there are too many.
   */
  async function scan(
    { userId }: TaskListFilter,
    { size, first, order = 'desc' }: { size: number; first?: number; order?: Order },
    look: (slice: TaskSlice) => Promise<boolean>,
  ): Promise<{ isCut: boolean }> {
    let looked = 0;
    for await (const slice of slices({ userId, order, size, ...(first !== undefined && { first }) })) {
      if (!(await inTurn({ userId, size: slice.size }, () => look(slice)))) return { isCut: false };
      looked += slice.size;
      if (looked < LIST_LIMITS.window || slice.lastId === undefined) continue;
      return { isCut: await reachesBeyond(order, { userId, after: slice.lastId }) };
    }
    return { isCut: false };
  }

  /** The tasks of a page by creation; a slice whose tasks are on other pages is only counted. */
  async function pageByCreation(filter: TaskListFilter, { from, until, sort }: PageRange) {
    const order = sort === 'oldest' ? 'asc' : 'desc';
    const sought = withoutText(filter);
    const counted = Math.min(LIST_LIMITS.counted, countingLimit(until));
    const ids: number[] = [];
    let total = 0;
    const { isCut } = await scan(filter, { size: TASKS_AT_ONCE, first: counted + 1, order }, async (slice) => {
      const count = await countIn(slice, sought, order);
      const limit = until - Math.max(from, total);
      if (limit > 0 && total + count > from) {
        const range = { limit, offset: Math.max(0, from - total) };
        ids.push(...(await findPage({ ...sought, ...slice.bounds }, order, range)));
      }
      total += count;
      return total <= counted;
    });
    return { ids, total, counted, isCut };
  }

  /** The tasks of a page by their rank: the first ones of each slice, merged. */
  async function pageByRank(filter: TaskListFilter, { from, until, sort }: PageRange) {
    const sought = withoutText(filter);
    const rank = sort === 'cost' ? 'cost' : 'duration';
    let best: Ranked[] = [];
    let total = 0;
    const { isCut } = await scan(filter, { size: TASKS_AT_ONCE }, async (slice) => {
      total += await countIn(slice, sought, 'desc');
      // Older tasks of the same rank come later.
      const least = best.length < until ? undefined : best.at(-1)?.rank;
      const ahead = await findRanked({ ...sought, ...slice.bounds, least }, rank, until);
      best = byRank([...best, ...ahead]).slice(0, until);
      return true;
    });
    return { ids: best.slice(from).map(({ id }) => id), total, counted: LIST_LIMITS.counted, isCut };
  }

  async function search(filter: TaskListFilter & { query: string }, sort: TaskSort) {
    const column = toRank(sort);
    const found: Ranked[] = [];
    let left: number = LIST_LIMITS.searched;
    let isPartial = false;
    const { isCut } = await scan(filter, { size: PROMPTS_AT_ONCE }, async (slice) => {
      const sought = { ...withoutText(filter), ...slice.bounds };
      const [row] = await db
        .select({ count: countAll() })
        .from(candidates(sought, left + 1))
        .prepare()
        .execute(sought);
      isPartial = (row?.count ?? 0) > left;
      const searched = candidates(sought, left);
      const rows = db
        .select({ id: searched.id, rank: column })
        .from(searched)
        .innerJoin(taskList, eq(taskList.id, searched.id))
        .innerJoin(tasks, eq(tasks.id, searched.id));
      if (row?.count && left > 0) found.push(...(await rows.where(containsText(filter)).prepare().execute(sought)));
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
      const { ids, total, counted, isCut } = await (isRanked ? pageByRank : pageByCreation)(filter, {
        ...{ from, until, sort },
      });
      return {
        total: Math.min(total, counted),
        hasMore: total > counted,
        searched: isCut ? LIST_LIMITS.window : null,
        items: await read(ids),
      };
    },

    async feed(filter, { after, limit, order }) {
      const { userId, query } = filter;
      const start = after === undefined ? undefined : await findId(after, userId);
      if (after !== undefined && start === undefined) return undefined;
      const ids: number[] = [];
      let [looked, searched] = [0, 0];
      let goesOnAt: number | undefined;
      const size = query ? PROMPTS_AT_ONCE : TASKS_AT_ONCE;
      // If most tasks match the filter, a short slice has all that a part shows.
      const first = query ? size : limit + 1;
      for await (const slice of slices({ userId, order, after: start, size, first })) {
        const sought = { ...withoutText(filter), ...slice.bounds };
        const missing = limit + 1 - ids.length;
        const found = await inTurn({ userId, size: slice.size }, async () => {
          if (!query) return findPage(sought, order, { limit: missing, offset: 0 });
          searched += await countRows(sought, order);
          const rows = db.select({ id: taskList.id }).from(taskList).innerJoin(tasks, eq(tasks.id, taskList.id));
          const matching = rows.where(and(isWithin(taskList, sought, order), containsText({ ...filter, query })));
          const sorted = matching.orderBy((order === 'asc' ? asc : desc)(taskList.id)).limit(missing);
          return (await sorted.prepare().execute(sought)).map(({ id }) => id);
        });
        ids.push(...found);
        looked += slice.size;
        if (ids.length > limit || slice.lastId === undefined) break;
        // There may be others beyond those that were looked at.
        if (looked > LIST_LIMITS.fed - size || searched >= LIST_LIMITS.searched) {
          goesOnAt = slice.lastId;
          break;
        }
      }
      const items = await read(ids.slice(0, limit));
      if (ids.length > limit) return { items, next: items.at(-1)?.taskId ?? null };
      return { items, next: goesOnAt === undefined ? null : await findTaskId(goesOnAt) };
    },

    async latestSuccesses({ userId }, sought) {
      const latest = new Map<string, number>();
      const missing = new Set(sought);
      let looked = 0;
      for await (const slice of slices({ userId, order: 'desc', size: TASKS_AT_ONCE, first: FEW_TASKS })) {
        const filter = { status: 'SUCCESS', hidden: false, ...slice.bounds };
        const found = await inTurn({ userId, size: slice.size }, () => findLatest(filter));
        for (const { id, ...model } of found) {
          const key = modelKey(model);
          // The slices come from the newest task on.
          if (!latest.has(key)) latest.set(key, id);
          missing.delete(key);
        }
        looked += slice.size;
        if (slice.lastId === undefined || missing.size === 0 || looked > LIST_LIMITS.fed - TASKS_AT_ONCE) break;
      }
      const newest = [...latest.values()].sort((a, b) => b - a);
      return read(newest.slice(0, LIST_LIMITS.models));
    },

    async failureReasons({ query, ...filter }, limit) {
      const failed = withoutText({ ...filter, status: 'FAILURE' });
      const counts = new Map<string, Counted>();
      let left: number = LIST_LIMITS.searched;
      await scan(filter, { size: query ? PROMPTS_AT_ONCE : TASKS_AT_ONCE }, async (slice) => {
        const sought = { ...failed, ...slice.bounds };
        if (query) {
          const among = candidates(sought, left);
          const rows = selectReasons(context)
            .innerJoin(among, eq(among.id, taskList.id))
            .innerJoin(tasks, eq(tasks.id, taskList.id))
            .where(containsText({ ...filter, query }));
          addCounts(counts, await rows.groupBy(taskList.failReason, taskList.channelId).prepare().execute(sought));
          left -= Math.min(left, await countRows(sought, 'desc'));
        } else addCounts(counts, await countReasons(sought));
        return left > 0;
      });
      const shown = [...counts]
        .map(([reason, counted]) => ({ reason, ...counted }))
        .sort((a, b) => b.count - a.count || (a.reason < b.reason ? -1 : 1))
        .slice(0, limit);
      const said = await readSentences(shown.map(({ latest }) => latest));
      return shown.map(({ reason, count, latest, channels: byChannel }) => ({
        reason,
        sentence: said.get(latest) ?? null,
        count,
        channels: [...byChannel]
          .map(([channelId, failed]) => ({ channelId, count: failed }))
          .sort((a, b) => b.count - a.count || a.channelId - b.channelId),
      }));
    },
  };
}

const byRank = (tasks: readonly Ranked[]): Ranked[] => tasks.toSorted((a, b) => b.rank - a.rank || b.id - a.id);

/** How many tasks failed for a reason, in all and by channel, and the latest that was looked at. */
type Counted = { count: number; latest: number; channels: Map<number, number> };

type CountedRow = { reason: string; channelId: number; count: number; latest: number };

/** The slices come from the newest task on, the rows of one slice in any order. */
function addCounts(counts: Map<string, Counted>, rows: readonly CountedRow[]): void {
  for (const { reason, channelId, count, latest } of rows) {
    const known = counts.get(reason) ?? { count: 0, latest: 0, channels: new Map<number, number>() };
    if (known.count === 0) {
      if (counts.size >= MAX_REASONS) continue;
      counts.set(reason, known);
    }
    known.count += count;
    known.latest = Math.max(known.latest, Number(latest));
    known.channels.set(channelId, (known.channels.get(channelId) ?? 0) + count);
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
