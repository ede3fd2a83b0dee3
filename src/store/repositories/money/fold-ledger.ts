import { and, asc, gt, inArray, sql } from 'drizzle-orm';
import type { LedgerKind, RetentionStore } from '../../ports/index.ts';
import { type Context, encodeTexts, lazy } from '../context.ts';
import { UNFINISHED } from '../tasks/claim-tasks.ts';

/**
 * Payments and corrections stay as they are: they are few, and their keys keep a repeated one from
 * being booked twice.
 */
const FOLDED: readonly LedgerKind[] = ['reserve', 'settle', 'refund', 'storage'];

/** In `retention_progress`: lines up to this time may have been folded. */
export const FOLDED_UNTIL = 'ledger_folded';

export function createLedgerFold({
  db,
  tables,
  prepare,
  lists: { amongTexts },
}: Context): RetentionStore['foldLedger'] {
  const { ledgerEntries: entries } = tables;
  const at = sql.placeholder;
  const findOpen = lazy(() =>
    prepare(sql`
      select task_id from tasks where ${amongTexts(tables.tasks.taskId, 'ids')} and status in ${UNFINISHED}
      union all
      select relay_id from relay_requests where ${amongTexts(tables.relayRequests.relayId, 'ids')} and status = 'OPEN'`),
  );
  const noteTime = lazy(() =>
    prepare(sql`insert into retention_progress (name, position) values (${FOLDED_UNTIL}, ${at('until')})
      on conflict (name) do update set position = excluded.position
      where retention_progress.position < excluded.position`),
  );
  // It takes the id of one of the lines that it replaces: a list of lines keeps its order.
  const carry = lazy(() =>
    prepare(sql`
      insert into ledger_entries (id, wallet_id, kind, attempt, amount, note, grant_key, created_at)
      values (${at('id')}, ${at('walletId')}, 'carried', 0, ${at('amount')}, ${at('month')}, ${at('key')}, ${at('createdAt')})
      on conflict (grant_key) where grant_key is not null do update set amount = ledger_entries.amount + excluded.amount`),
  );

  return async ({ after, until, limit }) => {
    const page = await db.select().from(entries).where(gt(entries.id, after)).orderBy(asc(entries.id)).limit(limit);
    // Ids follow the time, but a clock may have been wrong once.
    const walked = page.slice(0, page.findLastIndex(({ createdAt }) => createdAt <= until) + 1);
    const last = walked.at(-1)?.id ?? after;
    const candidates = walked.filter(({ kind, createdAt }) => FOLDED.includes(kind) && createdAt <= until);
    if (candidates.length === 0) return { walked: walked.length, folded: 0, last, skipped: 0 };

    const taskIds = [...new Set(candidates.flatMap(({ taskId }) => taskId ?? []))];
    const open = new Set((await findOpen()({ ids: encodeTexts(taskIds) })).map(([taskId]) => String(taskId)));
    const isOpen = ({ taskId }: { taskId: string | null }) => taskId !== null && open.has(taskId);
    await noteTime()({ until });
    // What this deletes is what it adds up: another node at the same work finds these lines gone.
    const old = candidates.filter((line) => !isOpen(line)).map(({ id }) => id);
    const deleted =
      old.length === 0
        ? []
        : await db
            .delete(entries)
            .where(and(inArray(entries.id, old), inArray(entries.kind, [...FOLDED])))
            .returning();
    for (const [key, lines] of Map.groupBy(deleted, ({ walletId, createdAt }) => `${walletId}:${toMonth(createdAt)}`)) {
      const [walletId, month] = key.split(':');
      await carry()({
        id: Math.max(...lines.map(({ id }) => id)),
        walletId: Number(walletId),
        amount: lines.reduce((sum, { amount }) => sum + amount, 0),
        month,
        key: `carried:${key}`,
        createdAt: Math.max(...lines.map(({ createdAt }) => createdAt)),
      });
    }
    return { walked: walked.length, folded: deleted.length, last, skipped: candidates.find(isOpen)?.id ?? 0 };
  };
}

/** `2026-03`, UTC. */
const toMonth = (unixSeconds: number): string => new Date(unixSeconds * 1000).toISOString().slice(0, 7);
