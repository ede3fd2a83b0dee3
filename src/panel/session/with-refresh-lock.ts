const lockName = 'taskgate:refresh';

/**
 * Runs `work`, whose answer sets or clears the refresh cookie, while no other tab of this origin
 * runs its own. Web Locks exist in secure contexts only: over plain HTTP on a local network the
 * work runs at once, and the server's replay window covers tabs that overlap.
 */
export function withRefreshLock<T>(work: () => Promise<T>): Promise<T> {
  const locks: LockManager | undefined = navigator.locks;
  return locks === undefined ? work() : locks.request(lockName, work);
}
