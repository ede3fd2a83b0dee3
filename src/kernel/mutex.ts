/** Runs `work` once all earlier works have settled, and gives its outcome. */
export type Mutex = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Runs asynchronous works of this process one at a time, in the order of the calls. A work that
 * rejects does not stop the next one.
 */
export function createMutex(): Mutex {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  };
}
