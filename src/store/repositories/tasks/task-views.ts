import { and, desc, eq, sql } from 'drizzle-orm';
import type { TaskViewStore } from '../../ports/index.ts';
import { atomic, type Context } from '../context.ts';

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
