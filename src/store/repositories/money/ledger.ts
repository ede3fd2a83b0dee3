import { and, asc, desc, eq, gt, gte, or, sql } from 'drizzle-orm';
import { storeErrors } from '../../drivers/errors.ts';
import { type LedgerStore, STATUS } from '../../ports/index.ts';
import { atomic, type Context, columnPlaceholder, countAll, lazy, paged } from '../context.ts';
import { createAccountStatements } from './account-statements.ts';
import { createImbalanceFinder } from './find-imbalances.ts';

/**
 * Money. A key's balance is always changed before its user's, so that two transactions on the same
 * pair cannot deadlock.
 */
export function createLedgerStore(context: Context): LedgerStore {
  const { db, tables } = context;
  const { ledgerEntries: entries, users, apiKeys: keys, channels, balanceAlerts: alerts } = tables;
  const at = sql.placeholder;
  const amount = (column: typeof users.quota | typeof keys.quota) => columnPlaceholder('amount', column);

  const line = lazy(() =>
    db
      .insert(entries)
      .values({
        userId: at('userId'),
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
  const moveUser = lazy(() =>
    db
      .update(users)
      .set({ quota: sql`${users.quota} + ${amount(users.quota)}` })
      .where(eq(users.id, at('userId')))
      .returning({ id: users.id })
      .prepare(),
  );
  async function moveBalances(userId: number, apiKeyId: number | null, amount: number): Promise<void> {
    // The key may have been deleted since; a user's row never is.
    if (apiKeyId !== null) await moveKey().execute({ apiKeyId, amount });
    if ((await moveUser().execute({ userId, amount })).length === 0) {
      throw storeErrors.broken_invariant({ message: 'A ledger line names a user that does not exist.' });
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
          or(eq(keys.unlimitedQuota, true), gte(keys.quota, at('amount'))),
        ),
      )
      .returning({ id: keys.id })
      .prepare(),
  );
  const takeFromUser = lazy(() =>
    db
      .update(users)
      .set({ quota: sql`${users.quota} - ${amount(users.quota)}` })
      .where(
        and(
          eq(users.id, at('userId')),
          eq(users.status, STATUS.enabled),
          eq(users.deletedAt, 0),
          gte(users.quota, at('amount')),
        ),
      )
      .returning({ id: users.id })
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
          eq(alerts.userId, at('userId')),
          gt(alerts.toldAt, 0),
          sql`(select ${users.quota} from ${users} where ${users.id} = ${alerts.userId}) >= ${alerts.toldThreshold}`,
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
  const addUsageToUser = lazy(() =>
    db
      .update(users)
      .set({
        usedQuota: sql`${users.usedQuota} + ${columnPlaceholder('quota', users.usedQuota)}`,
        requestCount: sql`${users.requestCount} + ${columnPlaceholder('requests', users.requestCount)}`,
      })
      .where(eq(users.id, at('userId')))
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

  const grant: LedgerStore['grant'] = async ({ userId, key, amount, ...detail }) => {
    requireInteger(amount, true);
    const row = { ...ofNobody, userId, apiKeyId: null, taskId: null, attempt: 0, amount, grantKey: key, ...detail };
    if ((await line().execute(row)).length === 0) return false;
    await moveBalances(userId, null, amount);
    if (amount > 0) await rearmAlert().execute({ userId });
    return true;
  };

  return {
    reserve: atomic(async ({ userId, apiKeyId, taskId, attempt, amount, at: createdAt }) => {
      requireInteger(amount, amount >= 0);
      if (apiKeyId !== null && (await takeFromKey().execute({ apiKeyId, userId, amount })).length === 0) {
        return 'key_insufficient';
      }
      if ((await takeFromUser().execute({ userId, amount })).length === 0) {
        if (apiKeyId !== null) await moveKey().execute({ apiKeyId, amount });
        return 'user_insufficient';
      }
      const written = await line().execute({
        ...ofNobody,
        userId,
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

    post: atomic(async ({ userId, apiKeyId, taskId, kind, attempt, amount, note = '', at: createdAt }) => {
      requireInteger(amount, true);
      const row = { ...ofNobody, userId, apiKeyId, taskId, kind, attempt, amount, note, grantKey: null, at: createdAt };
      if ((await line().execute(row)).length === 0) return false;
      await moveBalances(userId, apiKeyId, amount);
      return true;
    }),

    grant: atomic(grant),

    setBalance: atomic(async ({ userId, to, ...entry }) => {
      requireInteger(to, true);
      // A write that changes nothing locks the row in both dialects and returns its current
      // balance.
      const [locked] = await db
        .update(users)
        .set({ quota: sql`${users.quota}` })
        .where(and(eq(users.id, userId), eq(users.deletedAt, 0)))
        .returning({ before: users.quota });
      if (!locked) return undefined;
      const written = await grant({ ...entry, userId, kind: 'adjust', amount: to - locked.before });
      return written ? { before: locked.before, after: to } : undefined;
    }),

    async byGrantKey(key) {
      const [row] = await db.select().from(entries).where(eq(entries.grantKey, key));
      return row && toRecord(row);
    },

    addUsage: atomic(async ({ userId, apiKeyId, channelId, quota, requests = 1 }) => {
      if (apiKeyId !== null) await addUsageToKey().execute({ apiKeyId, quota });
      await addUsageToUser().execute({ userId, quota, requests });
      await addUsageToChannel().execute({ channelId, quota });
    }),

    byTask: async (taskId) => (await ofTask().execute({ taskId })).map(toRecord),

    async list(userId, page) {
      const own = eq(entries.userId, userId);
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
