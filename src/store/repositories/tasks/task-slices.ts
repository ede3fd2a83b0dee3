import { and, asc, desc, eq, gt, gte, lt, lte, or, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { createFairLimiter, nextTurn, systemClock } from '../../../kernel/index.ts';
import type { TaskListFilter } from '../../ports/index.ts';
import { type Context, countAll, lazy, listSpellings } from '../context.ts';

/** Consecutive tasks of a user, or of all. */
export type TaskSlice = {
  /** That a row of `task_list` is one of them. */
  where: SQL | undefined;
  count: number;
  lastId: number;
  /** No task lies beyond. */
  isEnd: boolean;
};

type SliceOptions = {
  /** Undefined: the tasks of all. */
  userId: number | undefined;
  /** `desc`: the newest first. */
  order: 'asc' | 'desc';
  /** Where the slices begin, exclusive. */
  after?: number | undefined;
  /** Tasks in a slice. */
  size: number;
  /** Tasks in the first slice, if fewer; each further one has four times as many, up to `size`. */
  first?: number;
};

const GROWTH = 4;

export type TaskSlicer = {
  slices(options: SliceOptions): AsyncGenerator<TaskSlice>;
  /** Whether there is a task older than `id`. */
  reachesBelow(userId: number | undefined, id: number): Promise<boolean>;
  /** Runs the statements of one slice, when it is the turn of its owner. */
  inTurn<T>(userId: number | undefined, work: () => Promise<T>): Promise<T>;
};

/**
 * Cuts the tasks that a list looks at into slices, so that no statement reads more than one of
 * them: SQLite blocks the process during a statement.
 */
export function createTaskSlicer({ db, dialect, tables }: Context): TaskSlicer {
  const { taskList } = tables;
  const turns = lazy(createTurns);
  const inTurn: TaskSlicer['inTurn'] = (userId, work) =>
    dialect === 'sqlite' ? turns()(userId === undefined ? 'all' : String(userId), work) : work();
  const ownedBy = (userId: number | undefined) => (userId === undefined ? undefined : eq(taskList.userId, userId));

  return {
    inTurn,

    async *slices({ userId, order, after, size: most, first = most }) {
      const [beyond, upTo, direction] = order === 'asc' ? ([gt, lte, asc] as const) : ([lt, gte, desc] as const);
      let at = after;
      for (let size = Math.min(first, most); ; size = Math.min(size * GROWTH, most)) {
        const start = and(ownedBy(userId), at === undefined ? undefined : beyond(taskList.id, at));
        const ids = db.select({ id: taskList.id }).from(taskList).where(start).orderBy(direction(taskList.id));
        const next = ids.limit(size).as('next');
        const last = sql<number>`${sql.raw(order === 'asc' ? 'max' : 'min')}(${next.id})`.mapWith(Number);
        const [found] = await inTurn(userId, async () => db.select({ count: countAll(), last }).from(next));
        if (!found || found.count === 0) return;
        const isEnd = found.count < size;
        yield { where: and(start, upTo(taskList.id, found.last)), count: found.count, lastId: found.last, isEnd };
        if (isEnd) return;
        at = found.last;
      }
    },

    async reachesBelow(userId, id) {
      const older = and(ownedBy(userId), lt(taskList.id, id));
      return (await db.select({ id: taskList.id }).from(taskList).where(older).limit(1)).length > 0;
    },
  };
}

/**
 * One work at a time and at most one in a turn of the event loop, the owners one after the other:
 * a caller of a hundred lists keeps nobody from their one.
 */
function createTurns(): <T>(owner: string, work: () => Promise<T>) => Promise<T> {
  const turns = createFairLimiter({ slots: 1, share: 1, clock: systemClock });
  return async (owner, work) => {
    const leave = await turns.enter({ owner, queue: '' });
    try {
      return await work();
    } finally {
      void nextTurn().then(leave);
    }
  };
}

export type TaskMatcher = {
  /** The filter without its user, whose slices are looked at, and without its text. */
  matches(filter: TaskListFilter): SQL | undefined;
  containsText(filter: { query: string; vendorIds?: boolean | undefined }): SQL;
};

/** The conditions of a list of tasks, over `task_list`, and for texts `tasks`. */
export function createTaskMatcher({ dialect, tables: { tasks, taskList }, fold }: Context): TaskMatcher {
  /** Much quicker than `like`, which PostgreSQL evaluates character by character. */
  const position = sql.raw(dialect === 'sqlite' ? 'instr' : 'strpos');
  const contains = (text: SQLWrapper, query: string): SQL => sql`${position}(${fold(text)}, ${query}) > 0`;
  /**
   * As it stands in the JSON: the first member, so that its end is certain, since within a text a
   * quote has a backslash before it.
   */
  const prompt = sql`substr(${tasks.properties}, 11, ${position}(${tasks.properties}, '","originModelName":"') - 11)`;

  return {
    matches: ({ hidden, since, until, ...filter }) =>
      and(
        hidden === false ? eq(taskList.hiddenAt, 0) : undefined,
        filter.apiKeyId === undefined ? undefined : eq(taskList.apiKeyId, filter.apiKeyId),
        filter.channelId === undefined ? undefined : eq(taskList.channelId, filter.channelId),
        filter.platform === undefined ? undefined : eq(taskList.platform, filter.platform),
        filter.model === undefined ? undefined : eq(taskList.model, filter.model),
        filter.status === undefined ? undefined : sql`${taskList.status} = ${filter.status}`,
        filter.failReason === undefined ? undefined : eq(taskList.failReason, filter.failReason),
        since === undefined ? undefined : gte(taskList.createdAt, since),
        until === undefined ? undefined : lte(taskList.createdAt, until),
      ),

    containsText: ({ query, vendorIds }) =>
      sql`(${or(
        sql`${tasks.taskId} = ${query}`,
        vendorIds ? sql`${tasks.upstreamTaskId} = ${query}` : undefined,
        ...listSpellings(query).flatMap((one) => [
          contains(prompt, JSON.stringify(one.toWellFormed()).slice(1, -1)),
          contains(taskList.model, one),
          contains(tasks.action, one),
        ]),
      )})`,
  };
}
