import { type Clock, detachFromRequest, type Logger } from '../../kernel/index.ts';
import type { Redis } from './connect-redis.ts';

/**
 * How often a server that does not answer is probed. A lost connection reports by itself when it is
 * back.
 */
const PROBE_MS = 500;

export type Availability = {
  /**
   * Runs `work` while the server is available. Resolves with `undefined`, without waiting, while it
   * is away, or if `work` fails.
   */
  attempt<T>(work: () => Promise<T>): Promise<T | undefined>;
};

/**
 * Tracks whether the server is available. After a loss it is available again once `restore` has
 * succeeded on the connection; `restore` returns false to be run again. The connection logs its own
 * loss; other failures are logged here, once per outage, and their end.
 */
export function trackAvailability(options: {
  redis: Redis;
  clock: Clock;
  logger: Logger;
  restore: () => Promise<boolean>;
}): Availability {
  const { redis, clock, logger } = options;
  let available = false;
  let restoring = false;
  let losses = 0;
  let warned = false;
  let wakeUp = new AbortController();

  function warnOnce(error: unknown): void {
    if (warned || redis.status !== 'ready') return;
    warned = true;
    const reason = error instanceof Error ? error.message : String(error);
    logger.warn({ reason }, 'the shared cache fails; sessions are read from the database until it recovers');
  }

  async function tryRestore(): Promise<boolean> {
    try {
      while (!(await options.restore()));
      return true;
    } catch (error) {
      warnOnce(error);
      // A connection that leaves commands unanswered may be dead without having been closed:
      // reconnect. An error reply proves that it is alive.
      if (!isReply(error) && redis.status === 'ready') redis.disconnect(true);
      return false;
    }
  }

  async function restoreUntilAvailable(): Promise<void> {
    if (restoring) return;
    restoring = true;
    while (redis.status !== 'end') {
      wakeUp = new AbortController();
      const before = losses;
      if (redis.status === 'ready' && (await tryRestore()) && losses === before) {
        available = true;
        break;
      }
      await clock.sleep(PROBE_MS, wakeUp.signal);
    }
    restoring = false;
    if (available && warned) logger.info({}, 'the shared cache works again');
    if (available) warned = false;
  }

  function markAway(): void {
    available = false;
    losses += 1;
    void detachFromRequest(restoreUntilAvailable);
  }

  redis.on('close', markAway);
  for (const event of ['ready', 'end']) redis.on(event, () => wakeUp.abort());
  void restoreUntilAvailable();

  return {
    async attempt(work) {
      if (!available) return undefined;
      try {
        return await work();
      } catch (error) {
        warnOnce(error);
        markAway();
        return undefined;
      }
    },
  };
}

/** Whether the server itself answered with an error. */
const isReply = (error: unknown): boolean => error instanceof Error && error.name === 'ReplyError';
