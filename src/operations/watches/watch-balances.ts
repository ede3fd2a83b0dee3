import { type Clock, type Logger, sleepInStep } from '../../kernel/index.ts';
import type { LowBalance, Store } from '../../store/ports/index.ts';
import type { Notices } from './queue-notices.ts';

const CHECK_EVERY_MS = 60_000;
/** Users in one statement: it takes about a millisecond. */
const AT_ONCE = 1000;

export type BalanceWatch = {
  check(): Promise<void>;
  /** Looks at once: a user has chosen another threshold. */
  wake(): void;
  start(): void;
  stop(): Promise<void>;
};

type Deps = {
  store: Pick<Store, 'balanceAlerts'>;
  clock: Clock;
  logger: Logger;
  notices: Pick<Notices, 'write'>;
  settings: () => {
    isOn: boolean;
    /** For users who chose no threshold; 0: none. */
    fallback: number;
    canMail: boolean;
    /** Who fills a balance, in the operator's words. */
    hint: string;
    /** Where users change their threshold. */
    url: string;
  };
};

/**
 * Warns users once when their available balance is below their threshold; again only after a top-up
 * lifted it, or for another threshold, an hour later at the earliest. It looks every minute, so
 * that submissions need no further statement. The claim and the notices are one transaction: only
 * one of several nodes warns, and a node that dies loses nothing.
 * `repositories/money/balance-alerts.ts` decides who may be warned; with `ledger.ts` beside it, a
 * top-up makes a new warning possible.
 */
export function createBalanceWatch({ store, clock, logger, notices, settings }: Deps): BalanceWatch {
  const stopping = new AbortController();
  let sleeping = new AbortController();
  let watching: Promise<void> = Promise.resolve();

  async function warn({ userId }: LowBalance): Promise<void> {
    const { fallback, canMail, hint, url } = settings();
    await notices.write(async (tx, queue) => {
      const low = await tx.balanceAlerts.claim(userId, fallback, clock.unix());
      const user = low && (await tx.users.byId(userId));
      if (!low || !user) return;
      const { balance, threshold } = low;
      const choice = await tx.balanceAlerts.byUser(userId);
      const isMailed = canMail && user.email !== null && choice?.mail !== false;
      const { username } = user;
      await queue({
        event: 'balance.low',
        subject: `balance:${userId}`,
        data: { user_id: userId, balance, threshold },
        user: {
          id: userId,
          webhookUrl: choice?.webhookUrl ?? null,
          mail: isMailed ? { kind: 'balance_low', username, balance, threshold, hint, url } : undefined,
        },
      });
    });
  }

  async function check(): Promise<void> {
    for (let after: number | undefined = 0; after !== undefined && !stopping.signal.aborted; ) {
      const { isOn, fallback } = settings();
      if (!isOn) return;
      const found = await store.balanceAlerts.findLow({ fallback, after, limit: AT_ONCE, now: clock.unix() });
      for (const low of found.low) await warn(low);
      after = found.last;
      if (after !== undefined) await clock.sleep(1, stopping.signal);
    }
  }

  return {
    check,
    wake: () => sleeping.abort(),
    start() {
      watching = (async () => {
        while (!stopping.signal.aborted) {
          sleeping = new AbortController();
          await check().catch((error) => logger.warn({ err: error }, 'could not look for low balances'));
          await sleepInStep(clock, CHECK_EVERY_MS, AbortSignal.any([stopping.signal, sleeping.signal]));
        }
      })();
    },
    async stop() {
      stopping.abort();
      await watching;
    },
  };
}
