import { and, eq, gt, inArray, isNull, lt, lte, ne, or, sql } from 'drizzle-orm';
import type { JsonObject } from '../../kernel/index.ts';
import { storeErrors } from '../errors.ts';
import type { FlowMatch, FlowPurpose, FlowRecord, FlowStore } from '../ports/index.ts';
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

  const isAlive = (tokenHash: string, purpose: FlowPurpose, now: number) =>
    and(eq(flows.tokenHash, tokenHash), eq(flows.purpose, purpose), isNull(flows.consumedAt), gt(flows.expiresAt, now));
  const hasSecret = (candidates: readonly string[]) =>
    inArray(
      flows.secretHash,
      candidates.filter((hash) => hash !== ''),
    );
  const usable = (tokenHash: string, match: FlowMatch, now: number) =>
    and(
      isAlive(tokenHash, match.purpose, now),
      // A flow with a code can only be used with that code.
      eq(flows.secretHash, ''),
      match.provider === undefined ? undefined : eq(flows.provider, match.provider),
      match.intent === undefined ? undefined : eq(flows.intent, match.intent),
      match.userId === undefined ? undefined : eq(flows.userId, match.userId),
      match.sessionId === undefined ? undefined : eq(flows.sessionId, match.sessionId),
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

    async putCode(code) {
      if (code.secretHash === '')
        throw storeErrors.misused({ message: 'A flow with a code needs the hash of the code.' });
      const row = { ...code, payload: JSON.stringify(code.payload), tries: 0, consumedAt: null };
      await db.insert(flows).values(row).onConflictDoUpdate({ target: flows.tokenHash, set: row });
    },

    async countTry({ tokenHash, purpose, limit, now }) {
      const [counted] = await db
        .update(flows)
        .set({ tries: sql`${flows.tries} + 1` })
        .where(and(isAlive(tokenHash, purpose, now), ne(flows.secretHash, ''), lt(flows.tries, limit)))
        .returning({ tries: flows.tries });
      return counted?.tries;
    },

    async findCode({ tokenHash, purpose, secretHashes, now }) {
      const [row] = await db
        .select(columns)
        .from(flows)
        .where(and(isAlive(tokenHash, purpose, now), hasSecret(secretHashes)));
      return row && toRecord(row);
    },

    async takeCode({ tokenHash, purpose, secretHashes, now }) {
      const [row] = await db
        .update(flows)
        .set({ consumedAt: now })
        .where(and(isAlive(tokenHash, purpose, now), hasSecret(secretHashes)))
        .returning(columns);
      return row && toRecord(row);
    },

    async deleteOfUser(userId) {
      const deleted = await db
        .delete(flows)
        // Repeats the condition of the partial index, which leaves out flows without a user.
        .where(and(eq(flows.userId, userId), sql`${flows.userId} <> 0`))
        .returning({ id: flows.id });
      return deleted.length;
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
