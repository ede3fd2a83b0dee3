/**
 * Runs `work` while no other tab of this origin runs its own under the same name. Web Locks exist in secure contexts only:
 * over plain HTTP on a local network the work runs at once, and the server's replay window covers tabs that overlap.
 */
export function runExclusive<T>(name: string, work: () => Promise<T>): Promise<T> {
  const locks: LockManager | undefined = navigator.locks;
  return locks === undefined ? work() : locks.request(name, work);
}
