import { type SQL, sql } from 'drizzle-orm';
import type { SampleStore } from '../../ports/index.ts';
import { type Context, separate } from '../context.ts';

/** The time span that a batch of the clean-up deletes, from the oldest row on. */
const BATCH_SECONDS = 86_400;

export function createSampleStore({ statement }: Context): SampleStore {
  const step = (seconds: number) => sql.raw(`start - start % ${Math.trunc(seconds)}`);
  return {
    async addNode({ nodeId, start, polls, lagMs }) {
      await statement(sql`insert into node_samples (node_id, start, polls, lag_ms)
        values (${nodeId}, ${start}, ${polls}, ${lagMs}) on conflict (start, node_id) do nothing`);
    },

    async isMissing(start) {
      return (await statement(sql`select 1 from gateway_samples where start = ${start}`)).length === 0;
    },

    async addGateway({ start, unfinished, due, latenessMs, databaseBytes }) {
      await statement(sql`insert into gateway_samples (start, unfinished, due, lateness_ms, database_bytes)
        values (${start}, ${unfinished}, ${due}, ${latenessMs}, ${databaseBytes}) on conflict (start) do nothing`);
    },

    async nodes(from, seconds) {
      const rows = await statement(sql`select ${step(seconds)}, sum(polls), max(lag_ms) from node_samples
        where start >= ${from} group by 1 order by 1`);
      return rows.map((row) => {
        const [start = 0, polls = 0, lagMs = 0] = row.map(Number);
        return { start, polls, lagMs };
      });
    },

    async gateway(from, seconds) {
      const rows = await statement(sql`
        select ${step(seconds)}, max(unfinished), max(due), max(lateness_ms), max(database_bytes)
        from gateway_samples where start >= ${from} group by 1 order by 1`);
      return rows.map((row) => {
        const [start = 0, unfinished = 0, due = 0, latenessMs = 0, databaseBytes = 0] = row.map(Number);
        return { start, unfinished, due, latenessMs, databaseBytes };
      });
    },

    deleteOld: separate(async (before) => {
      const deleteFirst = (table: SQL) =>
        statement(sql`delete from ${table} where start < ${before}
          and start < (select min(start) from ${table}) + ${BATCH_SECONDS} returning 1`);
      const nodes = await deleteFirst(sql.raw('node_samples'));
      return nodes.length + (await deleteFirst(sql.raw('gateway_samples'))).length;
    }),
  };
}
