/** Runs `work` once a slot is free, in order of arrival; settles as `work` does. */
export type Semaphore = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * A semaphore with a bounded queue: at most `slots` pieces of work run at once and at most
 * `maxQueued` wait. Beyond that a call rejects at once with the error that `onFull` makes, and its
 * work never starts: a flood costs late callers an honest answer, and the process no memory.
 */
export function createSemaphore(options: { slots: number; maxQueued: number; onFull: () => Error }): Semaphore {
  const { slots, maxQueued, onFull } = options;
  let running = 0;
  const queue: (() => void)[] = [];
  return async (work) => {
    if (running >= slots && queue.length >= maxQueued) throw onFull();
    // A finished call hands its slot to the next in the queue. `running` stays the same then, so
    // that no newer call takes the slot in between.
    if (running >= slots) await new Promise<void>((resolve) => queue.push(resolve));
    else running += 1;
    try {
      return await work();
    } finally {
      const next = queue.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
