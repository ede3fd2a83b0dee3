import { type SQL, sql } from 'drizzle-orm';
import type { Context } from './context.ts';

/** Up to where usage is in the figures by day, and in the sums by key. */
export const PROGRESS = { days: sql.raw('usage_progress'), sums: sql.raw('usage_sums_progress') } as const;

type Step = { from: number; until: number; isLast: boolean };

/**
 * Moves a progress over about `limit` usage rows older than `before`, which the caller then adds up
 * in the same transaction. `nothing`: there are none; `taken`: another node did it meanwhile.
 */
export async function advanceProgress(
  statement: Context['statement'],
  progress: SQL,
  { before, limit }: { before: number; limit: number },
): Promise<Step | 'nothing' | 'taken'> {
  const [row] = await statement(sql`select until from ${progress} where id = 1`);
  const from = Number(row?.[0] ?? 0);
  if (from >= before) return 'nothing';
  const [edge] = await statement(
    sql`select created_at from usage_logs where created_at >= ${from} and created_at < ${before} order by created_at limit 1 offset ${limit}`,
  );
  // A second that holds more rows than the limit is added up as a whole.
  const until = edge ? Math.max(Number(edge[0]), from + 1) : before;
  const moved = await statement(
    sql`update ${progress} set until = ${until} where id = 1 and until = ${from} returning until`,
  );
  return moved.length === 0 ? 'taken' : { from, until, isLast: edge === undefined };
}
