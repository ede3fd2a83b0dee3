const lockName = 'taskgate:refresh';

/**
 * Runs `work`, whose answer sets or clears the refresh cookie, under a lock shared by all tabs of
 * this origin. Web Locks exist in secure contexts only. Over plain HTTP the work runs at once, and
 * the server's replay window covers overlapping tabs.
 */
export function withRefreshLock<T>(work: () => Promise<T>): Promise<T> {
  const locks: LockManager | undefined = navigator.locks;
  return locks === undefined ? work() : locks.request(lockName, work);
}
