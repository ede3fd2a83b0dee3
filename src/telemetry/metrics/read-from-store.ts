/** How long a read for `/metrics` may take: Prometheus waits 10 s for an answer by default. */
const DEADLINE_MS = 2000;

/**
 * Reads figures of the database for `/metrics`. While the database is unavailable or does not
 * answer in time, gives what was read last: undefined before the first read.
 */
export function readFromStore<T>(
  read: () => Promise<T>,
  deadlineMs: number = DEADLINE_MS,
): () => Promise<T | undefined> {
  let latest: T | undefined;
  const refresh = withinDeadline(async () => {
    latest = await read();
  }, deadlineMs);
  return async () => {
    await refresh();
    return latest;
  };
}

/**
 * Whether `work` succeeds in time; the log and `/readyz` say why it does not. Those who ask while
 * it runs share it, so that calls to a database that hangs do not pile up.
 */
export function withinDeadline(work: () => Promise<unknown>, deadlineMs: number = DEADLINE_MS): () => Promise<boolean> {
  let running: Promise<boolean> | undefined;

  async function succeeds(): Promise<boolean> {
    try {
      await work();
      return true;
    } catch {
      return false;
    } finally {
      running = undefined;
    }
  }

  return async () => {
    running ??= succeeds();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), deadlineMs);
    });
    const ended = await Promise.race([running, late]);
    clearTimeout(timer);
    return ended;
  };
}
