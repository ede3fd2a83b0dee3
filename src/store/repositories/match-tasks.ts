import { and, eq, gte, lte, or, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import type { TaskListFilter } from '../ports/index.ts';
import { type Context, spellingsOf } from './context.ts';

export type TaskMatcher = {
  /** The filter without its user, whose slices are looked at, and without its text. */
  matches(filter: TaskListFilter): SQL | undefined;
  containsText(query: string): SQL;
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

    containsText: (query) =>
      sql`(${or(
        sql`${tasks.taskId} = ${query}`,
        ...spellingsOf(query).flatMap((one) => [
          contains(prompt, JSON.stringify(one.toWellFormed()).slice(1, -1)),
          contains(taskList.model, one),
          contains(tasks.action, one),
        ]),
      )})`,
  };
}
