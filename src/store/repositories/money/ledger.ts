import { and, asc, desc, eq, gt, sql } from 'drizzle-orm';
import { type Sentence, withoutMessage } from '../../../kernel/index.ts';
import { storeErrors } from '../../drivers/errors.ts';
import { countingLimit, type LedgerStore, type ReservationVerdict } from '../../ports/index.ts';
import { atomic, type Context, lazy } from '../context.ts';
import { columnPlaceholder, createPages } from '../prepare-by-shape.ts';
import { createAccountStatements, isOfOwnWallet } from './account-statements.ts';
import { createBudgetSums } from './enforce-budgets.ts';
import { createImbalanceFinder } from './find-imbalances.ts';
import { createMoneyMoves, requireInteger } from './move-money.ts';

/** Money. What moves that of tasks is in `move-money.ts`, with the order of its locks. */
export function createLedgerStore(context: Context): LedgerStore {
  const { db, tables } = context;
  const { ledgerEntries: entries, users, wallets, balanceAlerts: alerts } = tables;
  const at = sql.placeholder;
  const { reserveAll, canReserveAll, replaceReservation, settleAll } = createMoneyMoves(context);

  const line = lazy(() =>
    db
      .insert(entries)
      .values({
        walletId: at('walletId'),
        apiKeyId: at('apiKeyId'),
        taskId: at('taskId'),
        kind: at('kind'),
        attempt: at('attempt'),
        amount: at('amount'),
        note: at('note'),
        noteSentence: at('noteSentence'),
        grantKey: at('grantKey'),
        createdAt: at('at'),
        reason: at('reason'),
        actorId: at('actorId'),
        aboutTaskId: at('aboutTaskId'),
        request: at('request'),
      })
      // An existing line has already moved its money: the caller sees that no row was written.
      .onConflictDoNothing()
      .returning({ id: entries.id })
      .prepare(),
  );

  const pages = createPages(
    context,
    (_filter: { userId: number }) => {
      const own = isOfOwnWallet(entries.walletId, sql`${at('userId')}`);
      return {
        from: entries,
        where: own,
        items: db.select().from(entries).where(own).orderBy(desc(entries.id)),
      };
    },
    countingLimit,
  );

  const moveWallet = lazy(() =>
    db
      .update(wallets)
      .set({ quota: sql`${wallets.quota} + ${columnPlaceholder('amount', wallets.quota)}` })
      .where(eq(wallets.id, at('walletId')))
      .returning({ id: wallets.id })
      .prepare(),
  );

  // The next crossing is reported again once a top-up has lifted the balance to the threshold. A
  // refund does not: else a user near it would be warned with each task.
  const rearmAlert = lazy(() =>
    db
      .update(alerts)
      .set({ toldAt: 0 })
      .where(
        and(
          sql`${alerts.userId} = (select user_id from wallets where id = ${at('walletId')})`,
          gt(alerts.toldAt, 0),
          sql`(select quota from wallets where id = ${at('walletId')}) >= ${alerts.toldThreshold}`,
        ),
      )
      .prepare(),
  );

  const ofTask = lazy(() =>
    db
      .select()
      .from(entries)
      .where(eq(entries.taskId, at('taskId')))
      .orderBy(asc(entries.id))
      .prepare(),
  );

  // The second part of the id, as `findBudgetSum` writes it.
  const ownerId = sql.raw(
    context.dialect === 'sqlite'
      ? `cast(substr(budget_sums.id, instr(budget_sums.id, ':') + 1) as integer)`
      : `split_part(budget_sums.id, ':', 2)::bigint`,
  );
  const isUndeleted = sql`not exists (select 1 from ${users} where ${users.id} = ${wallets.userId} and ${users.deletedAt} <> 0)`;

  const grant: LedgerStore['grant'] = async ({ walletId, key, amount, note = '', ...detail }) => {
    requireInteger(amount, true);
    const row = {
      ...{
        ...withoutAdministrator,
        walletId,
        apiKeyId: null,
        taskId: null,
        attempt: 0,
        amount,
        grantKey: key,
        ...detail,
      },
      ...encodeNote(note),
    };
    if ((await line().execute(row)).length === 0) return false;
    if ((await moveWallet().execute({ walletId, amount })).length === 0)
      throw storeErrors.broken_invariant({ message: 'A ledger line names a wallet that does not exist.' });
    if (amount > 0) await rearmAlert().execute({ walletId });
    return true;
  };

  const lockBalance: LedgerStore['lockBalance'] = async (walletId) => {
    // A write that changes nothing locks the row in both dialects and returns its current balance.
    const [locked] = await db
      .update(wallets)
      .set({ quota: sql`${wallets.quota}` })
      .where(and(eq(wallets.id, walletId), isUndeleted))
      .returning({ quota: wallets.quota });
    return locked?.quota;
  };

  return {
    reserveAll,
    reserve: atomic(async (entry) => (await reserveAll([entry]))[0] as ReservationVerdict),

    canReserveAll,
    replaceReservation,

    settleAll,
    post: atomic(async (line) => (await settleAll({ lines: [line], usage: [] }))[0] === true),
    addUsage: atomic(async (usage) => void (await settleAll({ lines: [], usage: [usage] }))),

    grant: atomic(grant),

    setBalance: atomic(async ({ walletId, to, ...entry }) => {
      requireInteger(to, true);
      const before = await lockBalance(walletId);
      if (before === undefined) return undefined;
      const written = await grant({ ...entry, walletId, kind: 'adjust', amount: to - before });
      return written ? { before, after: to } : undefined;
    }),

    lockBalance,

    async byGrantKey(key) {
      const [row] = await db.select().from(entries).where(eq(entries.grantKey, key));
      return row && toRecord(row);
    },

    budgetsSpent: createBudgetSums(context).spent,

    async deleteBudgetSums(endedUntil, limit) {
      const isOwnerGone = sql`case when id like 'key:%'
        then not exists (select 1 from api_keys where api_keys.id = ${ownerId})
        else not exists (select 1 from users where users.id = ${ownerId} and users.deleted_at = 0) end`;
      const rows = sql`select id from budget_sums
        where (ends_at > 0 and ends_at <= ${endedUntil}) or (ends_at = 0 and ${isOwnerGone}) limit ${limit}`;
      return (await context.statement(sql`delete from budget_sums where id in (${rows}) returning 1`)).length;
    },

    byTask: async (taskId) => (await ofTask().execute({ taskId })).map(toRecord),

    async list(userId, page) {
      const found = await pages({ userId }, page);
      return { ...found, items: found.items.map(toRecord) };
    },

    ...createAccountStatements(context),
    ...createImbalanceFinder(context),
  };
}

/** A line that no administrator asked for. */
const withoutAdministrator = {
  note: '',
  noteSentence: null,
  reason: '',
  actorId: null,
  aboutTaskId: null,
  request: '',
};

/** People note their own words, the gateway a sentence. */
const encodeNote = (note: string | Sentence) =>
  typeof note === 'string' ? { note, noteSentence: null } : { note: note.message, noteSentence: withoutMessage(note) };

const toRecord = <T extends { grantKey: string | null; budgets: string }>({
  grantKey: _,
  budgets: __,
  ...row
}: T): Omit<T, 'grantKey' | 'budgets'> => row;
