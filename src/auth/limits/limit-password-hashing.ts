import { authErrors } from '../errors.ts';

/** Behind so many, at about 100 passwords a second, a caller has gone before his turn comes. */
const LONGEST_QUEUE = 500;
const RETRY_AFTER_SECONDS = 5;

/**
 * Lets at most `width` pieces of work run at once; the others wait their turn in order. Rejects
 * with `auth.unavailable`, without having begun, when `longestQueue` wait already: a flood costs
 * those who come late an honest answer, and the node no memory.
 */
export function createQueueLimit(
  width: number,
  longestQueue = LONGEST_QUEUE,
): <T>(work: () => Promise<T>) => Promise<T> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (running >= width && waiting.length >= longestQueue) {
      throw authErrors.unavailable({ retryAfterSeconds: RETRY_AFTER_SECONDS });
    }
    // A slot is handed over, not freed and fought for: `running` stays as it is when somebody
    // waits.
    if (running >= width) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
