import { eq, sql } from 'drizzle-orm';
import { CLOCK_LEEWAY_SECONDS } from '../../../kernel/index.ts';
import { type BalanceAlertStore, type LowBalance, STATUS } from '../../ports/index.ts';
import { type Context, lazy } from '../context.ts';

/** However often a user changes the threshold, at most one warning is sent in this time. */
export const WARN_AGAIN_SECONDS = 3600;

const LEEWAY = sql.raw(String(CLOCK_LEEWAY_SECONDS));

/**
 * Warns each user of a low balance once, and again only after a top-up or a change of the threshold
 * (`mayWarn`). `claim` takes several statements; it is called in a transaction.
 */
export function createBalanceAlertStore({ db, tables, lockRows, prepare }: Context): BalanceAlertStore {
  const { balanceAlerts: alerts } = tables;
  const at = sql.placeholder;
  /** The user was not warned, or for a threshold that is no longer theirs, nor a higher default. */
  const mayWarn = (prefix: string) => {
    const [toldAt, told, chosen] = ['told_at', 'told_threshold', 'threshold'].map((name) => sql.raw(prefix + name));
    const again = sql.raw(String(WARN_AGAIN_SECONDS));
    return sql`(coalesce(${toldAt}, 0) = 0 or ((${chosen} <> ${told} or coalesce(${chosen}, ${at('fallback')}) < ${told}) and (${toldAt} <= ${at('now')} - ${again} or ${toldAt} - ${LEEWAY} > ${at('now')})))`;
  };
  const isActive = sql`deleted_at = 0 and status = ${sql.raw(String(STATUS.enabled))}`;

  const byUser = lazy(() =>
    db
      .select()
      .from(alerts)
      .where(eq(alerts.userId, at('userId')))
      .prepare(),
  );
  // Reads a bounded part of the users by id: balances have no index, since every task changes them.
  const findAmongAll = lazy(() =>
    prepare(sql`select u.id, u.quota, coalesce(a.threshold, ${at('fallback')}),
        case when ${mayWarn('a.')} and u.active then 1 else 0 end
      from (select users.id, wallets.quota, (${isActive}) as active from users join wallets on wallets.user_id = users.id
        where users.id > ${at('after')} order by users.id limit ${at('limit')}) as u
      left join balance_alerts as a on a.user_id = u.id order by u.id`),
  );
  const findAmongChosen = lazy(() =>
    prepare(sql`select a.user_id, w.quota, a.threshold, case when ${mayWarn('a.')} and (${isActive}) then 1 else 0 end
      from balance_alerts as a join users as u on u.id = a.user_id join wallets as w on w.user_id = a.user_id
      where a.threshold > 0 and a.user_id > ${at('after')} order by a.user_id limit ${at('limit')}`),
  );
  const lockWallet = lazy(() =>
    prepare(sql`select quota from wallets where user_id = ${at('userId')}
      and exists (select 1 from users where id = ${at('userId')} and ${isActive}) ${lockRows}`),
  );
  const ensureRow = lazy(() =>
    prepare(sql`insert into balance_alerts (user_id) values (${at('userId')}) on conflict do nothing`),
  );
  const mark = lazy(() => {
    const threshold = sql`coalesce(threshold, ${at('fallback')})`;
    return prepare(sql`update balance_alerts set told_at = ${at('now')}, told_threshold = ${threshold}
      where user_id = ${at('userId')} and ${mayWarn('')} and ${threshold} > 0 and ${at('balance')} < ${threshold}
      returning told_threshold`);
  });

  return {
    async byUser(userId) {
      const [row] = await byUser().execute({ userId });
      return row;
    },

    async choose(userId, choice, now) {
      const isKept = sql`${alerts.threshold} is not distinct from excluded.threshold
        or (${alerts.toldAt} > ${now - WARN_AGAIN_SECONDS} and ${alerts.toldAt} <= ${now + CLOCK_LEEWAY_SECONDS})`;
      await db
        .insert(alerts)
        .values({ userId, ...choice })
        .onConflictDoUpdate({
          target: alerts.userId,
          set: { ...choice, toldAt: sql`case when ${isKept} then ${alerts.toldAt} else 0 end` },
        });
    },

    async setSecret(userId, webhookSecretSealed) {
      await db
        .insert(alerts)
        .values({ userId, webhookSecretSealed })
        .onConflictDoUpdate({ target: alerts.userId, set: { webhookSecretSealed } });
    },

    async setFirstSecret(userId, webhookSecretSealed) {
      const set = await db
        .insert(alerts)
        .values({ userId, webhookSecretSealed })
        .onConflictDoUpdate({
          target: alerts.userId,
          set: { webhookSecretSealed },
          setWhere: sql`${alerts.webhookSecretSealed} is null`,
        })
        .returning({ userId: alerts.userId });
      return set.length === 1;
    },

    async findLow({ fallback, after, limit, now }) {
      const rows = await (fallback > 0 ? findAmongAll() : findAmongChosen())({ fallback, after, limit, now });
      const low: LowBalance[] = rows
        .filter(
          ([, balance, threshold, isOpen]) =>
            Number(isOpen) === 1 && Number(threshold) > 0 && Number(balance) < Number(threshold),
        )
        .map(([userId, balance, threshold]) => ({
          userId: Number(userId),
          balance: Number(balance),
          threshold: Number(threshold),
        }));
      return { low, last: rows.length < limit ? undefined : Number(rows.at(-1)?.[0]) };
    },

    async claim(userId, fallback, time) {
      const [wallet] = await lockWallet()({ userId });
      if (!wallet) return undefined;
      const balance = Number(wallet[0]);
      await ensureRow()({ userId });
      const [marked] = await mark()({ userId, now: time, fallback, balance });
      return marked && { userId, balance, threshold: Number(marked[0]) };
    },

    async forget(userId) {
      await db.delete(alerts).where(eq(alerts.userId, userId));
    },
  };
}
