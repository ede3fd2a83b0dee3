import { and, asc, eq, gt, inArray, ne, sql } from 'drizzle-orm';
import type { PersonalDataStore } from '../ports/index.ts';
import type { Context } from './context.ts';

/**
 * Why a task was refunded stands in its usage row and its ledger line, in the vendor's or the
 * plugin's words, and administrators note what a change of a balance is for. The sums need neither.
 */
export function createReasonErasure({ db, tables, elements, prepare }: Context): PersonalDataStore['clearReasons'] {
  const { usageLogs, ledgerEntries } = tables;

  async function clearUsage(userId: number, { after, limit }: { after: number; limit: number }) {
    const rows = await db
      .select({ id: usageLogs.id, detail: usageLogs.detail })
      .from(usageLogs)
      .where(and(eq(usageLogs.userId, userId), gt(usageLogs.id, after)))
      .orderBy(asc(usageLogs.id))
      .limit(limit);
    const changes = rows.flatMap(({ id, detail: { reason, ...rest } }) =>
      reason === undefined ? [] : [{ id, detail: JSON.stringify(rest) }],
    );
    if (changes.length > 0) {
      await prepare(sql`
        update usage_logs set detail = change.value ->> 'detail' from ${elements('changes')} as change
        where usage_logs.id = cast(change.value ->> 'id' as bigint)`)({ changes: JSON.stringify(changes) });
    }
    return { changed: changes.length, last: rows.at(-1)?.id };
  }

  async function clearLedger(userId: number, { after, limit }: { after: number; limit: number }) {
    const { id, kind, note } = ledgerEntries;
    const rows = await db
      .select({ id })
      .from(ledgerEntries)
      .where(and(eq(ledgerEntries.userId, userId), gt(id, after)))
      .orderBy(asc(id))
      .limit(limit);
    const ids = rows.map((row) => row.id);
    if (ids.length === 0) return { changed: 0, last: undefined };
    const changed = await db
      .update(ledgerEntries)
      .set({ note: '' })
      .where(and(inArray(id, ids), inArray(kind, ['refund', 'adjust']), ne(note, '')))
      .returning({ id });
    return { changed: changed.length, last: ids.at(-1) };
  }

  return (table, userId, part) => (table === 'usage' ? clearUsage(userId, part) : clearLedger(userId, part));
}
