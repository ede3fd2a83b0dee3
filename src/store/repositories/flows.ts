import { and, eq, gt, isNull, lte, or, sql } from 'drizzle-orm';
import type { JsonObject } from '../../kernel/index.ts';
import type { FlowMatch, FlowRecord, FlowStore } from '../ports/index.ts';
import type { Context } from './context.ts';

export function createFlowStore({ db, tables, amongRows }: Context): FlowStore {
  const { authFlows: flows } = tables;
  const columns = {
    tokenHash: flows.tokenHash,
    purpose: flows.purpose,
    provider: flows.provider,
    intent: flows.intent,
    userId: flows.userId,
    sessionId: flows.sessionId,
    payload: flows.payload,
    createdAt: flows.createdAt,
    expiresAt: flows.expiresAt,
    consumedAt: flows.consumedAt,
  };
  type Row = Omit<FlowRecord, 'payload'> & { payload: string };
  const toRecord = (row: Row): FlowRecord => ({
    ...row,
    payload: row.payload === '' ? {} : (JSON.parse(row.payload) as JsonObject),
  });

  const usable = (tokenHash: string, match: FlowMatch, now: number) =>
    and(
      eq(flows.tokenHash, tokenHash),
      eq(flows.purpose, match.purpose),
      match.provider === undefined ? undefined : eq(flows.provider, match.provider),
      match.intent === undefined ? undefined : eq(flows.intent, match.intent),
      match.userId === undefined ? undefined : eq(flows.userId, match.userId),
      match.sessionId === undefined ? undefined : eq(flows.sessionId, match.sessionId),
      isNull(flows.consumedAt),
      gt(flows.expiresAt, now),
    );

  return {
    async insert(flow) {
      const written = await db
        .insert(flows)
        .values({ ...flow, payload: JSON.stringify(flow.payload) })
        .onConflictDoNothing({ target: flows.tokenHash })
        .returning({ id: flows.id });
      return written.length === 1;
    },

    async find(tokenHash, match, now) {
      const [row] = await db
        .select(columns)
        .from(flows)
        .where(usable(tokenHash, match, now));
      return row && toRecord(row);
    },

    async consume(tokenHash, match, now) {
      const [row] = await db
        .update(flows)
        .set({ consumedAt: now })
        .where(usable(tokenHash, match, now))
        .returning(columns);
      return row && toRecord(row);
    },

    async deleteDone(until, limit) {
      const isDone = or(lte(flows.expiresAt, until), lte(flows.consumedAt, until));
      const rows = sql`select ${flows.id} from ${flows} where ${isDone} limit ${limit}`;
      const deleted = await db
        .delete(flows)
        .where(and(amongRows(flows.id, rows), isDone))
        .returning({ id: flows.id });
      return deleted.length;
    },
  };
}
