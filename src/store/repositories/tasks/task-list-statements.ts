import { and, asc, desc, eq, gt, type SQL, sql } from 'drizzle-orm';
import type { StoredSentence } from '../../../kernel/index.ts';
import { LISTED_COLUMNS } from '../../ports/index.ts';
import { type Context, lazy } from '../context.ts';
import { countAll, lazyByShape } from '../prepare-by-shape.ts';
import { isWithin, type Order, type Sought } from './task-slices.ts';

/** What a task is sorted by, the largest first. */
export type Ranked = { id: number; rank: number };

export const selectReasons = ({ db, tables: { taskList } }: Context) =>
  db
    .select({
      reason: taskList.failReason,
      channelId: taskList.channelId,
      count: countAll(),
      latest: sql<number>`max(${taskList.id})`,
    })
    .from(taskList);

/** The statements of lists, each built once for the members that a filter has. */
export function createListStatements(context: Context) {
  const { db, tables, lists } = context;
  const { tasks, taskList, users, apiKeys, channels } = tables;
  const columns = Object.fromEntries(LISTED_COLUMNS.map((name) => [name, tasks[name]])) as Pick<
    typeof tasks,
    (typeof LISTED_COLUMNS)[number]
  >;
  const at = (name: string) => sql`${sql.placeholder(name)}`;

  const countWithin = (order: Order, sought: Sought, isHidden?: SQL) =>
    db
      .select({ total: countAll() })
      .from(taskList)
      .where(and(isWithin(taskList, sought, order), isHidden));
  // The condition of their index. The few that users hid are counted in place of the many others.
  const isHidden = sql`${taskList.hiddenAt} > 0`;
  const prepareIn = (order: Order) => ({
    count: lazyByShape((sought: Sought) => countWithin(order, sought).prepare()),
    hidden: lazyByShape((sought: Sought) => countWithin(order, sought, isHidden).prepare()),
    shown: lazyByShape((sought: Sought) => {
      const [all, hidden] = [countWithin(order, sought), countWithin(order, sought, isHidden)];
      return db
        .select({ total: sql`(${all}) - (${hidden})`.mapWith(Number) })
        .from(sql`(select 1) as one`)
        .prepare();
    }),
    page: lazyByShape((sought: Sought) =>
      db
        .select({ id: taskList.id })
        .from(taskList)
        .where(isWithin(taskList, sought, order))
        .orderBy((order === 'asc' ? asc : desc)(taskList.id))
        .limit(sql.placeholder('limit'))
        .offset(sql.placeholder('offset'))
        .prepare(),
    ),
  });
  const prepared = { asc: prepareIn('asc'), desc: prepareIn('desc') };

  type RankedSought = Sought & { least: number | undefined };
  const rankedBy = (column: typeof taskList.quota | typeof taskList.seconds) =>
    lazyByShape((sought: RankedSought) =>
      db
        .select({ id: taskList.id, rank: column })
        .from(taskList)
        .where(
          and(isWithin(taskList, sought, 'desc'), sought.least === undefined ? undefined : gt(column, at('least'))),
        )
        .orderBy(desc(column), desc(taskList.id))
        .limit(sql.placeholder('limit'))
        .prepare(),
    );
  const ranked = { cost: rankedBy(taskList.quota), duration: rankedBy(taskList.seconds) };
  const reasons = lazyByShape((sought: Sought) =>
    selectReasons(context)
      .where(isWithin(taskList, sought, 'desc'))
      .groupBy(taskList.failReason, taskList.channelId)
      .prepare(),
  );
  const latest = lazyByShape((sought: Sought) =>
    db
      .select({
        platform: taskList.platform,
        model: taskList.model,
        id: sql<number>`max(${taskList.id})`.mapWith(Number),
      })
      .from(taskList)
      .where(isWithin(taskList, sought, 'desc'))
      .groupBy(taskList.platform, taskList.model)
      .prepare(),
  );
  const isAmong = (): SQL => lists.amongIds(tasks.id, 'ids');
  const readRows = lazy(() =>
    db
      .select({ ...columns, username: users.username, keyName: apiKeys.name, channelName: channels.name })
      .from(tasks)
      .leftJoin(users, eq(users.id, tasks.userId))
      .leftJoin(apiKeys, eq(apiKeys.id, tasks.apiKeyId))
      .leftJoin(channels, eq(channels.id, tasks.channelId))
      .where(isAmong())
      .prepare(),
  );
  const sentences = lazy(() =>
    db.select({ id: tasks.id, sentence: tasks.failReasonSentence }).from(tasks).where(isAmong()).prepare(),
  );
  const selectId = lazyByShape((sought: { taskId: string; userId: number | undefined }) =>
    db
      .select({ id: tasks.id })
      .from(tasks)
      .where(
        and(eq(tasks.taskId, at('taskId')), sought.userId === undefined ? undefined : eq(tasks.userId, at('userId'))),
      )
      .prepare(),
  );
  const selectTaskId = lazy(() =>
    db
      .select({ taskId: tasks.taskId })
      .from(tasks)
      .where(eq(tasks.id, at('id')))
      .prepare(),
  );

  const countBy =
    (which: 'count' | 'hidden' | 'shown') =>
    async (sought: Sought, order: Order): Promise<number> =>
      (await prepared[order][which](sought).execute(sought))[0]?.total ?? 0;

  return {
    countRows: countBy('count'),
    /** The tasks within bounds that their users hid, and those that they did not. */
    countHidden: countBy('hidden'),
    countShown: countBy('shown'),
    async findPage(sought: Sought, order: Order, range: { limit: number; offset: number }): Promise<number[]> {
      const found = await prepared[order].page(sought).execute({ ...sought, ...range });
      return found.map(({ id }) => id);
    },
    findRanked: (sought: RankedSought, rank: 'cost' | 'duration', limit: number): Promise<Ranked[]> =>
      ranked[rank](sought).execute({ ...sought, limit }),
    countReasons: (sought: Sought) => reasons(sought).execute(sought),
    /** The newest task of each model. */
    findLatest: (sought: Sought) => latest(sought).execute(sought),

    async readSentences(ids: readonly number[]) {
      if (ids.length === 0) return new Map<number, StoredSentence | null>();
      const rows = await sentences().execute({ ids: JSON.stringify(ids) });
      return new Map(rows.map(({ id, sentence }) => [id, sentence]));
    },
    async read(ids: readonly number[]) {
      if (ids.length === 0) return [];
      const rows = await readRows().execute({ ids: JSON.stringify(ids) });
      const byId = new Map(rows.map((row) => [row.id, row]));
      // A task may have been deleted since.
      return ids.flatMap((id) => byId.get(id) ?? []);
    },
    /** The id of a task's row; only of the given user's tasks if there is one. */
    async findId(taskId: string, userId: number | undefined): Promise<number | undefined> {
      const sought = { taskId, userId };
      return (await selectId(sought).execute(sought))[0]?.id;
    },
    findTaskId: async (id: number): Promise<string | null> => (await selectTaskId().execute({ id }))[0]?.taskId ?? null,
  };
}
