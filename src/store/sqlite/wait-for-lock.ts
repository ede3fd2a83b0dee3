import { setTimeout as sleep } from 'node:timers/promises';

/** How long to wait for another process's lock, such as that of a command beside the gateway. */
export const LOCK_TIMEOUT_MS = 5000;
/** Most locks last as long as a commit: it tries again soon, then less often, as SQLite does. */
const PAUSES_MS = [1, 2, 5, 10, 20];
const LONGEST_PAUSE_MS = 50;

/**
 * Runs `attempt` again until it is not refused for another connection's lock, for
 * `LOCK_TIMEOUT_MS` at most; then it throws what `attempt` threw. For connections whose
 * `busy_timeout` is 0: SQLite's own wait would block the thread, and every request with it.
 */
export async function waitForLock(attempt: () => void): Promise<void> {
  const giveUpAtMs = performance.now() + LOCK_TIMEOUT_MS;
  for (let tries = 0; ; tries += 1) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error) || performance.now() >= giveUpAtMs) throw error;
    }
    await sleep(PAUSES_MS[tries] ?? LONGEST_PAUSE_MS);
  }
}

/** Another connection holds the lock, or restores the file after a crash. */
const isBusy = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY');
