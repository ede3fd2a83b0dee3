import {
  and,
  asc,
  desc,
  eq,
  getTableColumns,
  gt,
  gte,
  inArray,
  lt,
  lte,
  type SQL,
  type SQLWrapper,
  sql,
} from 'drizzle-orm';
import { LIST_LIMITS, type TaskListFilter, type TaskListStore, type TaskSort } from '../ports/index.ts';
import { type Context, countAll } from './context.ts';

/**
 * Lists of tasks. Filters and orders read the narrow rows of `task_list` alone; the wide rows of
 * tasks are read for the page that is shown, and for the prompts of a bounded number of tasks.
 */
export function createTaskList({ db, dialect, tables, statement }: Context): TaskListStore {
  const { tasks, taskList, users, apiKeys, channels } = tables;
  const { data: _data, state: _state, ...columns } = getTableColumns(tasks);

  const matches = ({ query: _query, hidden, since, until, ...filter }: TaskListFilter) =>
    and(
      filter.userId === undefined ? sql`${taskList.id} > ${windowStart}` : eq(taskList.userId, filter.userId),
      hidden === false ? eq(taskList.hiddenAt, 0) : undefined,
      filter.apiKeyId === undefined ? undefined : eq(taskList.apiKeyId, filter.apiKeyId),
      filter.channelId === undefined ? undefined : eq(taskList.channelId, filter.channelId),
      filter.platform === undefined ? undefined : eq(taskList.platform, filter.platform),
      filter.model === undefined ? undefined : eq(taskList.model, filter.model),
      filter.status === undefined ? undefined : sql`${taskList.status} = ${filter.status}`,
      filter.failReason === undefined ? undefined : eq(taskList.failReason, filter.failReason),
      since === undefined ? undefined : gte(taskList.createdAt, since),
      until === undefined ? undefined : lte(taskList.createdAt, until),
    );
  const windowStart = sql`(select coalesce(max(id), 0) - ${sql.raw(String(LIST_LIMITS.window))} from ${taskList})`;

  const orders: Record<TaskSort, SQL[]> = {
    newest: [desc(taskList.id)],
    oldest: [asc(taskList.id)],
    cost: [desc(taskList.quota), desc(taskList.id)],
    duration: [desc(taskList.seconds), desc(taskList.id)],
  };

  /** The newest tasks that match all but the text. */
  const candidates = (filter: SQL | undefined, limit: number) =>
    db
      .select({ id: taskList.id })
      .from(taskList)
      .where(filter)
      .orderBy(desc(taskList.id))
      .limit(limit)
      .as('candidates');

  /** Much quicker than `like`, which PostgreSQL evaluates character by character. */
  const position = sql.raw(dialect === 'sqlite' ? 'instr' : 'strpos');
  /** Folds ASCII alone, as SQLite does; other folding takes PostgreSQL four times as long. */
  const fold = (text: SQLWrapper | string): SQL =>
    dialect === 'sqlite' ? sql`lower(${text})` : sql`lower(${text} collate "C")`;
  const contains = (text: SQLWrapper, query: string): SQL => sql`${position}(${fold(text)}, ${fold(query)}) > 0`;
  /**
   * As it stands in the JSON: the first member, so that its end is certain, since within a text a
   * quote has a backslash before it.
   */
  const prompt = sql`substr(${tasks.properties}, 11, ${position}(${tasks.properties}, '","originModelName":"') - 11)`;

  const containsText = (query: string): SQL =>
    sql`(${tasks.taskId} = ${query} or ${contains(prompt, JSON.stringify(query.toWellFormed()).slice(1, -1))}
      or ${contains(taskList.model, query)} or ${contains(tasks.action, query)})`;

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
    // One may have been deleted meanwhile.
    return ids.flatMap((id) => byId.get(id) ?? []);
  }

  const idsOf = (rows: { id: number }[]): number[] => rows.map(({ id }) => id);

  /** Whether there are more tasks than those that were looked at. */
  async function reachesFurther(filter: SQL | undefined, limit: number): Promise<boolean> {
    const next = db.select({ id: taskList.id }).from(taskList).where(filter).orderBy(desc(taskList.id));
    return (await next.limit(1).offset(limit)).length > 0;
  }

  async function hasTasksBeforeWindow(): Promise<boolean> {
    const [row] = await statement(sql`select 1 from ${taskList} where ${taskList.id} <= ${windowStart} limit 1`);
    return row !== undefined;
  }

  async function search(filter: TaskListFilter & { query: string }, sort: TaskSort) {
    const other = matches(filter);
    const among = candidates(other, LIST_LIMITS.searched);
    const found = await db
      .select({ id: taskList.id })
      .from(among)
      .innerJoin(taskList, eq(taskList.id, among.id))
      .innerJoin(tasks, eq(tasks.id, among.id))
      .where(containsText(filter.query))
      .orderBy(...orders[sort])
      .limit(LIST_LIMITS.found + 1);
    return { ids: idsOf(found), isPartial: await reachesFurther(other, LIST_LIMITS.searched) };
  }

  return {
    byIds: read,

    async list(filter, { page, pageSize, sort = 'newest' }) {
      const from = (page - 1) * pageSize;
      const { query } = filter;
      if (query) {
        const { ids, isPartial } = await search({ ...filter, query }, sort);
        const total = Math.min(ids.length, LIST_LIMITS.found);
        return {
          total,
          hasMore: ids.length > total,
          searched: isPartial ? LIST_LIMITS.searched : null,
          items: await read(ids.slice(0, total).slice(from, from + pageSize)),
        };
      }
      const where = matches(filter);
      const { counted: most, window } = LIST_LIMITS;
      const counted = db
        .select({ id: taskList.id })
        .from(taskList)
        .where(where)
        .limit(most + 1)
        .as('counted');
      const [row] = await db.select({ total: countAll() }).from(counted);
      const total = Math.min(row?.total ?? 0, most);
      const limit = Math.max(0, Math.min(pageSize, total - from));
      const ids =
        limit === 0
          ? []
          : idsOf(
              await db
                .select({ id: taskList.id })
                .from(taskList)
                .where(where)
                .orderBy(...orders[sort])
                .limit(limit)
                .offset(from),
            );
      const isPartial = filter.userId === undefined && (await hasTasksBeforeWindow());
      return { total, hasMore: (row?.total ?? 0) > most, searched: isPartial ? window : null, items: await read(ids) };
    },

    async feed(filter, { after, limit, order }) {
      const [start] =
        after === undefined
          ? []
          : await db
              .select({ id: tasks.id })
              .from(tasks)
              .where(
                and(eq(tasks.taskId, after), filter.userId === undefined ? undefined : eq(tasks.userId, filter.userId)),
              );
      if (after !== undefined && !start) return undefined;
      const beyond = order === 'asc' ? gt : lt;
      const direction = order === 'asc' ? asc : desc;
      const where = and(matches(filter), start && beyond(taskList.id, start.id));
      const { query } = filter;
      const looked = query ? LIST_LIMITS.searched : limit;
      const idsBeyond = (most: number, offset: number) =>
        db
          .select({ id: taskList.id })
          .from(taskList)
          .where(where)
          .orderBy(direction(taskList.id))
          .limit(most)
          .offset(offset);
      const among = idsBeyond(looked + 1, 0);
      const part = among.as('part');
      const ids = query
        ? idsOf(
            await db
              .select({ id: part.id })
              .from(part)
              .innerJoin(taskList, eq(taskList.id, part.id))
              .innerJoin(tasks, eq(tasks.id, part.id))
              .where(containsText(query))
              .orderBy(direction(part.id))
              .limit(limit + 1),
          )
        : idsOf(await among);
      const items = await read(ids.slice(0, limit));
      if (ids.length > limit) return { items, next: items.at(-1)?.taskId ?? null };
      if (!query) return { items, next: null };
      // Fewer were found among those that were searched; there may be others beyond them.
      const [last] = await db
        .select({ taskId: tasks.taskId })
        .from(tasks)
        .where(inArray(tasks.id, idsBeyond(1, looked)));
      return { items, next: last?.taskId ?? null };
    },

    async failureReasons({ query, ...filter }, limit) {
      const failed = and(matches({ ...filter, status: 'FAILURE' }));
      const among = query ? candidates(failed, LIST_LIMITS.searched) : undefined;
      const counts = db.select({ reason: taskList.failReason, count: countAll() }).from(taskList);
      const grouped =
        among && query
          ? counts
              .innerJoin(among, eq(among.id, taskList.id))
              .innerJoin(tasks, eq(tasks.id, taskList.id))
              .where(containsText(query))
          : counts.where(failed);
      return grouped.groupBy(taskList.failReason).orderBy(desc(countAll()), asc(taskList.failReason)).limit(limit);
    },
  };
}
