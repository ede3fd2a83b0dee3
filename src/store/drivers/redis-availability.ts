import type { Clock, Logger } from '../../kernel/index.ts';
import type { Redis } from './redis.ts';

/**
 * How often a server that does not answer is asked again; a lost connection says itself when it is
 * back.
 */
const PROBE_MS = 500;

export type Availability = {
  /**
   * Runs `work` on a server that is there. `undefined`, at once, while it is away, or when `work`
   * shows that it is.
   */
  attempt<T>(work: () => Promise<T>): Promise<T | undefined>;
};

/**
 * Keeps track of whether the server can be relied on. It is away until `restore` has succeeded on
 * the connection; `restore` gives false when it has to run again. A lost connection is logged by
 * whoever made it, other trouble here: once, and its end.
 */
export function keepAvailable(options: {
  redis: Redis;
  clock: Clock;
  logger: Logger;
  restore: () => Promise<boolean>;
}): Availability {
  const { redis, clock, logger } = options;
  let available = false;
  let restoring = false;
  let losses = 0;
  let complained = false;
  let wake = new AbortController();

  function complain(error: unknown): void {
    if (complained || redis.status !== 'ready') return;
    complained = true;
    const reason = error instanceof Error ? error.message : String(error);
    logger.warn({ reason }, 'the shared cache does not serve; sessions are read from the database meanwhile');
  }

  async function tryRestore(): Promise<boolean> {
    try {
      while (!(await options.restore()));
      return true;
    } catch (error) {
      complain(error);
      // A connection that swallows commands may be a dead one that nobody has closed. An answer
      // that refuses is no such sign.
      if (!isReply(error) && redis.status === 'ready') redis.disconnect(true);
      return false;
    }
  }

  async function keepRestoring(): Promise<void> {
    if (restoring) return;
    restoring = true;
    while (redis.status !== 'end') {
      wake = new AbortController();
      const before = losses;
      if (redis.status === 'ready' && (await tryRestore()) && losses === before) {
        available = true;
        break;
      }
      await clock.sleep(PROBE_MS, wake.signal);
    }
    restoring = false;
    if (available && complained) logger.info({}, 'the shared cache serves again');
    if (available) complained = false;
  }

  function lose(): void {
    available = false;
    losses += 1;
    void keepRestoring();
  }

  redis.on('close', lose);
  for (const event of ['ready', 'end']) redis.on(event, () => wake.abort());
  void keepRestoring();

  return {
    async attempt(work) {
      if (!available) return undefined;
      try {
        return await work();
      } catch (error) {
        complain(error);
        lose();
        return undefined;
      }
    },
  };
}

/** The server's own error, sent in answer to a command. */
const isReply = (error: unknown): boolean => error instanceof Error && error.name === 'ReplyError';
