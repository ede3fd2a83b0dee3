import { and, asc, eq, getTableColumns, sql } from 'drizzle-orm';
import { CLOCK_LEEWAY_SECONDS } from '../../../kernel/index.ts';
import type { AliveNode, NodeStore } from '../../ports/index.ts';
import { atomic, type Context } from '../context.ts';

export function createNodeStore({ db, tables: { nodes }, nowMs, now, lockName }: Context): NodeStore {
  const nowSeconds = sql<number>`cast(${nowMs} / 1000 as bigint)`;

  async function alive(seconds: number): Promise<AliveNode[]> {
    const silentSeconds = sql<number>`${nowSeconds} - ${nodes.heartbeatAt}`.mapWith(Number);
    return db
      .select({ ...getTableColumns(nodes), silentSeconds })
      .from(nodes)
      .where(sql`${silentSeconds} between ${-CLOCK_LEEWAY_SECONDS} and ${seconds}`)
      .orderBy(asc(nodes.startedAt), sql`${nodes.id}`)
      .prepare()
      .execute(now());
  }

  return {
    async heartbeat(node) {
      const row = { ...node, heartbeatAt: nowSeconds };
      await db.insert(nodes).values(row).onConflictDoUpdate({ target: nodes.id, set: row }).prepare().execute(now());
    },

    alive,

    async remove(id) {
      await db.delete(nodes).where(eq(nodes.id, id));
    },

    // The lock lets one of two commands decide after the other.
    drain: atomic(async (id, aliveSeconds) => {
      await lockName('drained node');
      const known = await alive(aliveSeconds);
      if (!known.some((node) => node.id === id)) return 'unknown';
      const others = known.filter((node) => node.id !== id);
      if (others.length === 0) return 'alone';
      if (others.some(({ drained }) => drained)) return 'busy';
      await db.update(nodes).set({ drained: true }).where(eq(nodes.id, id));
      return 'drained';
    }),

    async resume(id) {
      const resumed = await db
        .update(nodes)
        .set({ drained: false })
        .where(and(eq(nodes.id, id), eq(nodes.drained, true)))
        .returning({ id: nodes.id });
      return resumed.length === 1;
    },
  };
}
