import type { Clock, Logger } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';

export type CleanUpConfig = {
  /**
   * `USER_SESSION_ISSUANCE_WINDOW_SECONDS`, already clamped to the retention: sessions created in
   * it still count for issuance.
   */
  sessionIssuanceWindowSeconds: number;
  /** `USER_SESSION_REVOKED_RETENTION_DAYS` */
  revokedRetentionDays: number;
  /** `USER_SESSION_HOURLY_ALERT_THRESHOLD` */
  hourlyAlertThreshold: number;
};

/**
 * Rows of another room that serve no end any more; `deleteBatch` deletes about `limit` of them and
 * gives how many.
 */
type CleanUpStep = { step: string; deleteBatch: (limit: number) => Promise<number> };

export interface CleanUp {
  /**
   * Deletes sessions and flows that serve no end any more, unless another node is doing so now. A
   * step that fails is logged and the others run; an aborted `signal` ends it after the batch under
   * way. Rejects only when the database cannot say whose turn it is.
   */
  run(signal?: AbortSignal): Promise<void>;
}

const SECONDS_PER_HOUR = 3600;
const SECONDS_PER_DAY = 86_400;
/**
 * How long a flow is kept after its end: a late replay is still recognised, a question about it can
 * be answered.
 */
const FLOW_RETENTION_SECONDS = SECONDS_PER_DAY;
/** Rows a statement: small enough that requests in between do not notice. */
const BATCH = 500;

export function createCleanUp(deps: {
  store: Store;
  clock: Clock;
  logger: Logger;
  config: CleanUpConfig;
  /** What other rooms have cleaned up with it. */
  others?: readonly CleanUpStep[];
}): CleanUp {
  const { store, clock, logger, config, others = [] } = deps;

  /** Says so when unusually many sessions were opened, over all users; refuses nothing. */
  async function alert(now: number): Promise<void> {
    const sessions = await store.sessions.countAllIssued(now - SECONDS_PER_HOUR);
    const threshold = config.hourlyAlertThreshold;
    if (sessions > threshold)
      logger.warn({ sessions, threshold }, 'unusually many sessions were opened within an hour');
  }

  async function clean(signal: AbortSignal | undefined): Promise<void> {
    const now = clock.unix();
    const createdAfter = now - config.sessionIssuanceWindowSeconds;
    const retained = now - config.revokedRetentionDays * SECONDS_PER_DAY;

    const attempt = async <T>(step: string, work: () => Promise<T>): Promise<T | undefined> => {
      try {
        return await work();
      } catch (error) {
        logger.error({ err: error, step }, 'a step of the clean-up failed; the next run tries again');
        return undefined;
      }
    };
    /** Deletes until a batch finds nothing; gives the number of rows. */
    const empty = (step: string, deleteBatch: (limit: number) => Promise<number>) =>
      attempt(step, async () => {
        let total = 0;
        for (let deleted = BATCH; deleted > 0 && !signal?.aborted; total += deleted) deleted = await deleteBatch(BATCH);
        return total;
      });

    await attempt('issuance alert', () => alert(now));
    const expired = await empty('expired sessions', (limit) =>
      store.sessions.deleteExpired({ now, createdAfter, revokedAfter: retained, limit }),
    );
    const revoked = await empty('revoked sessions', (limit) =>
      store.sessions.deleteRevoked({ revokedUntil: retained, createdAfter, limit }),
    );
    const flows = await empty('flows', (limit) => store.flows.deleteDone(now - FLOW_RETENTION_SECONDS, limit));
    for (const { step, deleteBatch } of others) await empty(step, deleteBatch);
    if (expired || revoked || flows) logger.info({ expired, revoked, flows }, 'sessions and flows cleaned up');
  }

  return {
    async run(signal) {
      await store.exclusively('clean-up', () => clean(signal));
    },
  };
}
