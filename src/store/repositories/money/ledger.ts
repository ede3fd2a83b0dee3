import { and, asc, desc, eq, gt, gte, or, sql } from 'drizzle-orm';
import { storeErrors } from '../../drivers/errors.ts';
import { type LedgerStore, STATUS } from '../../ports/index.ts';
import { atomic, type Context, columnPlaceholder, countAll, lazy, paged } from '../context.ts';
import { createAccountStatements, isOfOwnWallet } from './account-statements.ts';
import { createImbalanceFinder } from './find-imbalances.ts';

/**
 * Money. A key's balance is always changed before its wallet's, so that two transactions on the same
 * pair cannot deadlock.
 */
export function createLedgerStore(context: Context): LedgerStore {
  const { db, tables } = context;
  const { ledgerEntries: entries, users, wallets, apiKeys: keys, channels, balanceAlerts: alerts } = tables;
  const at = sql.placeholder;
  const amount = (column: typeof wallets.quota | typeof keys.quota) => columnPlaceholder('amount', column);

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

  /** `amount` is signed. Unlimited keys have no balance of their own. */
  const moveKey = lazy(() =>
    db
      .update(keys)
      .set({
        quota: sql`case when ${keys.unlimitedQuota} then ${keys.quota} else ${keys.quota} + ${amount(keys.quota)} end`,
      })
      .where(eq(keys.id, at('apiKeyId')))
      .returning({ id: keys.id })
      .prepare(),
  );
  const moveWallet = lazy(() =>
    db
      .update(wallets)
      .set({ quota: sql`${wallets.quota} + ${amount(wallets.quota)}` })
      .where(eq(wallets.id, at('walletId')))
      .returning({ id: wallets.id })
      .prepare(),
  );
  async function moveBalances(walletId: number, apiKeyId: number | null, amount: number): Promise<void> {
    // The key may have been deleted since; a wallet's row never is.
    if (apiKeyId !== null) await moveKey().execute({ apiKeyId, amount });
    if ((await moveWallet().execute({ walletId, amount })).length === 0) {
      throw storeErrors.broken_invariant({ message: 'A ledger line names a wallet that does not exist.' });
    }
  }

  const takeFromKey = lazy(() =>
    db
      .update(keys)
      .set({
        quota: sql`case when ${keys.unlimitedQuota} then ${keys.quota} else ${keys.quota} - ${amount(keys.quota)} end`,
      })
      .where(
        and(
          eq(keys.id, at('apiKeyId')),
          eq(keys.userId, at('userId')),
          eq(keys.walletId, at('walletId')),
          or(eq(keys.unlimitedQuota, true), gte(keys.quota, at('amount'))),
        ),
      )
      .returning({ id: keys.id })
      .prepare(),
  );
  // The user's row is only read, so that a change of the user and a reservation never wait for each
  // other: one that is made while its user is deleted was made before.
  const mayPay = sql`exists (select 1 from ${users}
    where ${users.id} = ${at('userId')} and ${users.status} = ${sql.raw(String(STATUS.enabled))} and ${users.deletedAt} = 0)`;
  const takeFromWallet = lazy(() =>
    db
      .update(wallets)
      .set({ quota: sql`${wallets.quota} - ${amount(wallets.quota)}` })
      .where(and(eq(wallets.id, at('walletId')), gte(wallets.quota, at('amount')), mayPay))
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

  const addUsageToKey = lazy(() =>
    db
      .update(keys)
      .set({ usedQuota: sql`${keys.usedQuota} + ${columnPlaceholder('quota', keys.usedQuota)}` })
      .where(eq(keys.id, at('apiKeyId')))
      .prepare(),
  );
  const addUsageToWallet = lazy(() =>
    db
      .update(wallets)
      .set({
        usedQuota: sql`${wallets.usedQuota} + ${columnPlaceholder('quota', wallets.usedQuota)}`,
        requestCount: sql`${wallets.requestCount} + ${columnPlaceholder('requests', wallets.requestCount)}`,
      })
      .where(eq(wallets.id, at('walletId')))
      .prepare(),
  );
  const addUsageToChannel = lazy(() =>
    db
      .update(channels)
      .set({ usedQuota: sql`${channels.usedQuota} + ${columnPlaceholder('quota', channels.usedQuota)}` })
      .where(eq(channels.id, at('channelId')))
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

  const isUndeleted = sql`not exists (select 1 from ${users} where ${users.id} = ${wallets.userId} and ${users.deletedAt} <> 0)`;

  const grant: LedgerStore['grant'] = async ({ walletId, key, amount, ...detail }) => {
    requireInteger(amount, true);
    const row = { ...ofNobody, walletId, apiKeyId: null, taskId: null, attempt: 0, amount, grantKey: key, ...detail };
    if ((await line().execute(row)).length === 0) return false;
    await moveBalances(walletId, null, amount);
    if (amount > 0) await rearmAlert().execute({ walletId });
    return true;
  };

  return {
    reserve: atomic(async ({ walletId, userId, apiKeyId, taskId, attempt, amount, at: createdAt }) => {
      requireInteger(amount, amount >= 0);
      if (apiKeyId !== null && (await takeFromKey().execute({ apiKeyId, userId, walletId, amount })).length === 0) {
        return 'key_insufficient';
      }
      if ((await takeFromWallet().execute({ walletId, userId, amount })).length === 0) {
        if (apiKeyId !== null) await moveKey().execute({ apiKeyId, amount });
        return 'wallet_insufficient';
      }
      const written = await line().execute({
        ...ofNobody,
        walletId,
        apiKeyId,
        taskId,
        kind: 'reserve',
        attempt,
        // 0, not -0.
        amount: 0 - amount,
        grantKey: null,
        at: createdAt,
      });
      if (written.length === 0) {
        throw storeErrors.broken_invariant({ message: 'This attempt of the task already has its reservation.' });
      }
      return 'ok';
    }),

    post: atomic(async ({ walletId, apiKeyId, taskId, kind, attempt, amount, note = '', at: createdAt }) => {
      requireInteger(amount, true);
      const row = {
        ...ofNobody,
        walletId,
        apiKeyId,
        taskId,
        kind,
        attempt,
        amount,
        note,
        grantKey: null,
        at: createdAt,
      };
      if ((await line().execute(row)).length === 0) return false;
      await moveBalances(walletId, apiKeyId, amount);
      return true;
    }),

    grant: atomic(grant),

    setBalance: atomic(async ({ walletId, to, ...entry }) => {
      requireInteger(to, true);
      // A write that changes nothing locks the row in both dialects and returns its current
      // balance.
      const [locked] = await db
        .update(wallets)
        .set({ quota: sql`${wallets.quota}` })
        .where(and(eq(wallets.id, walletId), isUndeleted))
        .returning({ before: wallets.quota });
      if (!locked) return undefined;
      const written = await grant({ ...entry, walletId, kind: 'adjust', amount: to - locked.before });
      return written ? { before: locked.before, after: to } : undefined;
    }),

    async byGrantKey(key) {
      const [row] = await db.select().from(entries).where(eq(entries.grantKey, key));
      return row && toRecord(row);
    },

    addUsage: atomic(async ({ walletId, apiKeyId, channelId, quota, requests = 1 }) => {
      if (apiKeyId !== null) await addUsageToKey().execute({ apiKeyId, quota });
      await addUsageToWallet().execute({ walletId, quota, requests });
      await addUsageToChannel().execute({ channelId, quota });
    }),

    byTask: async (taskId) => (await ofTask().execute({ taskId })).map(toRecord),

    async list(userId, page) {
      const own = isOfOwnWallet(entries.walletId, userId);
      const found = await paged(page, db.select({ total: countAll() }).from(entries).where(own), (limit, offset) =>
        db.select().from(entries).where(own).orderBy(desc(entries.id)).limit(limit).offset(offset),
      );
      return { total: found.total, items: found.items.map(toRecord) };
    },

    ...createAccountStatements(context),
    ...createImbalanceFinder(context),
  };
}

/** A line that no administrator asked for. */
const ofNobody = { note: '', reason: '', actorId: null, aboutTaskId: null, request: '' };

const toRecord = <T extends { grantKey: string | null }>({ grantKey: _, ...row }: T): Omit<T, 'grantKey'> => row;

/** Money is whole and exact: a fraction or a number beyond 2^53 is a fault of the caller. */
function requireInteger(amount: number, allowed: boolean): void {
  if (!Number.isSafeInteger(amount) || !allowed) {
    throw storeErrors.broken_invariant({ message: 'An amount of money must be a whole number in range.' });
  }
}
