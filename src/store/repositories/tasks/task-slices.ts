import { asc, desc, eq, gt, gte, lt, lte, or, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { createFairLimiter, nextTurn, systemClock } from '../../../kernel/index.ts';
import type { TaskListFilter } from '../../ports/index.ts';
import { type Context, lazy, listSpellings } from '../context.ts';
import { lazyByShape, whereGiven } from '../prepare-by-shape.ts';

export type Order = 'asc' | 'desc';

/**
 * What the tasks of a statement are found by: a filter, and the ids of a slice in its order. Which
 * members are set decides the text of the statement, their values fill its placeholders.
 */
export type Sought = Omit<TaskListFilter, 'query' | 'vendorIds'> & { after?: number | undefined; upTo?: number };

/** A filter without its text, as statements are found by it. */
export const withoutText = ({ query: _query, vendorIds: _ids, hidden, ...filter }: TaskListFilter): Sought =>
  hidden === false ? { ...filter, hidden } : filter;

/** Consecutive tasks of a user, or of all: `size` of them, or, in the last slice, fewer. */
export type TaskSlice = {
  bounds: { userId?: number | undefined; after?: number | undefined; upTo?: number };
  size: number;
  /** Undefined: it is the last slice, which has no bound. */
  lastId: number | undefined;
};

type SliceOptions = {
  /** Undefined: the tasks of all. */
  userId: number | undefined;
  /** `desc`: the newest first. */
  order: Order;
  /** Where the slices begin, exclusive. */
  after?: number | undefined;
  /** Tasks in a slice. */
  size: number;
  /** Tasks in the first slice, if fewer; each further one has four times as many, up to `size`. */
  first?: number;
};

const GROWTH = 4;
/**
 * A slice of this many takes a tenth of a millisecond, so it holds up nobody and waits for no turn.
 */
const SHORT = 2000;

export type TaskSlicer = {
  slices(options: SliceOptions): AsyncGenerator<TaskSlice>;
  /** Whether there is a task beyond `after` in this order. */
  reachesBeyond(order: Order, bounds: { userId?: number | undefined; after: number }): Promise<boolean>;
  /** Runs the statements of one slice, when it is the turn of its owner. */
  inTurn<T>(slice: Pick<TaskSlice, 'size'> & { userId: number | undefined }, work: () => Promise<T>): Promise<T>;
};

/**
 * Cuts the tasks that a list looks at into slices, so that no statement reads more than one of
 * them: SQLite blocks the process during a statement.
 */
export function createTaskSlicer({ db, dialect, tables: { taskList } }: Context): TaskSlicer {
  const turns = lazy(createTurns);
  const inTurn: TaskSlicer['inTurn'] = ({ userId, size }, work) =>
    dialect === 'sqlite' && size > SHORT ? turns()(userId === undefined ? 'all' : String(userId), work) : work();

  /** Finds the task that `before` others precede, by walking over the entries of an index. */
  const prepareNth = (order: Order) =>
    lazyByShape((bounds: Sought) =>
      db
        .select({ id: taskList.id })
        .from(taskList)
        .where(isWithin(taskList, bounds, order))
        .orderBy((order === 'asc' ? asc : desc)(taskList.id))
        .limit(sql`1` as never)
        .offset(sql.placeholder('before'))
        .prepare(),
    );
  const prepared = { asc: prepareNth('asc'), desc: prepareNth('desc') };
  const findNth = async (order: Order, bounds: Sought, before: number): Promise<number | undefined> =>
    (await prepared[order](bounds).execute({ ...bounds, before }))[0]?.id;

  return {
    inTurn,

    async *slices({ userId, order, after: start, size: most, first = most }) {
      let after = start;
      for (let size = Math.min(first, most); ; size = Math.min(size * GROWTH, most)) {
        const bounds = { userId, after };
        const lastId = await inTurn({ userId, size }, () => findNth(order, bounds, size - 1));
        yield { bounds: lastId === undefined ? bounds : { ...bounds, upTo: lastId }, size, lastId };
        if (lastId === undefined) return;
        after = lastId;
      }
    },

    reachesBeyond: async (order, bounds) => (await findNth(order, bounds, 0)) !== undefined,
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

/** A condition with a placeholder for each member of `sought`: a row is one of its tasks. */
export function isWithin(taskList: Context['tables']['taskList'], sought: Sought, order: Order): SQL | undefined {
  const [isBeyond, isUpTo] = order === 'asc' ? [gt, lte] : [lt, gte];
  return whereGiven(sought, {
    userId: (value) => eq(taskList.userId, value),
    after: (value) => isBeyond(taskList.id, value),
    upTo: (value) => isUpTo(taskList.id, value),
    // A literal, since `withoutText` lets through no other value.
    hidden: () => sql`${taskList.hiddenAt} = 0`,
    apiKeyId: (value) => eq(taskList.apiKeyId, value),
    channelId: (value) => eq(taskList.channelId, value),
    platform: (value) => eq(taskList.platform, value),
    model: (value) => eq(taskList.model, value),
    status: (value) => eq(taskList.status, value),
    failReason: (value) => eq(taskList.failReason, value),
    since: (value) => gte(taskList.createdAt, value),
    until: (value) => lte(taskList.createdAt, value),
  });
}

/** The condition that a task holds a text, over `tasks` and `task_list`. */
export function createTextMatcher({ dialect, tables: { tasks, taskList }, fold }: Context) {
  /** Much quicker than `like`, which PostgreSQL evaluates character by character. */
  const position = sql.raw(dialect === 'sqlite' ? 'instr' : 'strpos');
  const contains = (text: SQLWrapper, query: string): SQL => sql`${position}(${fold(text)}, ${query}) > 0`;
  /**
   * As it stands in the JSON: the first member, so that its end is certain, since within a text a
   * quote has a backslash before it.
   */
  const prompt = sql`substr(${tasks.properties}, 11, ${position}(${tasks.properties}, '","originModelName":"') - 11)`;

  return ({ query, vendorIds }: { query: string; vendorIds?: boolean | undefined }): SQL =>
    sql`(${or(
      sql`${tasks.taskId} = ${query}`,
      vendorIds ? sql`${tasks.upstreamTaskId} = ${query}` : undefined,
      ...listSpellings(query).flatMap((one) => [
        contains(prompt, JSON.stringify(one.toWellFormed()).slice(1, -1)),
        contains(taskList.model, one),
        contains(tasks.action, one),
      ]),
    )})`;
}
