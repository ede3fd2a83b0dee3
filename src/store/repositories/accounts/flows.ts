import { and, eq, getTableColumns, isNull, lt, lte, ne, or, sql } from 'drizzle-orm';
import type { JsonObject } from '../../../kernel/index.ts';
import { storeErrors } from '../../drivers/errors.ts';
import type { FlowMatch, FlowRecord, FlowStore } from '../../ports/index.ts';
import { type Context, encodeTexts, isAheadSince, lazy } from '../context.ts';
import { columnPlaceholder, columnPlaceholders, lazyByShape } from '../prepare-by-shape.ts';

export function createFlowStore({ db, tables, lists: { amongRows, amongTexts } }: Context): FlowStore {
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

  const at = sql.placeholder;
  const isAlive = and(
    eq(flows.tokenHash, at('tokenHash')),
    eq(flows.purpose, at('purpose')),
    isNull(flows.consumedAt),
    isAheadSince(flows.expiresAt, flows.createdAt),
  );
  const hasSecret = amongTexts(flows.secretHash, 'secretHashes');
  const listSecrets = (candidates: readonly string[]) => encodeTexts(candidates.filter((hash) => hash !== ''));
  const isUsable = (match: FlowMatch) =>
    and(
      isAlive,
      // A flow with a code can only be used with that code.
      eq(flows.secretHash, ''),
      match.provider === undefined ? undefined : eq(flows.provider, at('provider')),
      match.intent === undefined ? undefined : eq(flows.intent, at('intent')),
      match.userId === undefined ? undefined : eq(flows.userId, at('userId')),
      match.sessionId === undefined ? undefined : eq(flows.sessionId, at('sessionId')),
    );
  const consumed = { consumedAt: columnPlaceholder('now', flows.consumedAt) };
  const { id: _, ...written } = getTableColumns(flows);

  const insert = lazyByShape((flow: object) =>
    db
      .insert(flows)
      .values(columnPlaceholders(written, flow) as never)
      .onConflictDoNothing({ target: flows.tokenHash })
      .returning({ id: flows.id })
      .prepare(),
  );
  const putCode = lazyByShape((code: object) => {
    const row = columnPlaceholders(written, code) as never;
    return db.insert(flows).values(row).onConflictDoUpdate({ target: flows.tokenHash, set: row }).prepare();
  });
  const find = lazyByShape((match: FlowMatch) => db.select(columns).from(flows).where(isUsable(match)).prepare());
  const consume = lazyByShape((match: FlowMatch) =>
    db.update(flows).set(consumed).where(isUsable(match)).returning(columns).prepare(),
  );
  const countTry = lazy(() =>
    db
      .update(flows)
      .set({ tries: sql`${flows.tries} + 1` })
      .where(and(isAlive, ne(flows.secretHash, ''), lt(flows.tries, at('limit'))))
      .returning({ tries: flows.tries })
      .prepare(),
  );
  const findCode = lazy(() => db.select(columns).from(flows).where(and(isAlive, hasSecret)).prepare());
  const takeCode = lazy(() =>
    db.update(flows).set(consumed).where(and(isAlive, hasSecret)).returning(columns).prepare(),
  );

  return {
    async insert(flow) {
      const row = { ...flow, payload: JSON.stringify(flow.payload) };
      return (await insert(row).execute(row)).length === 1;
    },

    async find(tokenHash, match, now) {
      const [row] = await find(match).execute({ tokenHash, ...match, now });
      return row && toRecord(row);
    },

    async consume(tokenHash, match, now) {
      const [row] = await consume(match).execute({ tokenHash, ...match, now });
      return row && toRecord(row);
    },

    async putCode(code) {
      if (code.secretHash === '')
        throw storeErrors.misused({ message: 'A flow with a code needs the hash of the code.' });
      const row = { ...code, payload: JSON.stringify(code.payload), tries: 0, consumedAt: null };
      await putCode(row).execute(row);
    },

    async countTry(attempt) {
      const [counted] = await countTry().execute(attempt);
      return counted?.tries;
    },

    async findCode({ secretHashes, ...code }) {
      const [row] = await findCode().execute({ ...code, secretHashes: listSecrets(secretHashes) });
      return row && toRecord(row);
    },

    async takeCode({ secretHashes, ...code }) {
      const [row] = await takeCode().execute({ ...code, secretHashes: listSecrets(secretHashes) });
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
