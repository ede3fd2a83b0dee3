/** One slot of a limit. `name` stands for those who share the limit, `max` is its size. */
export type Slot = { name: string; max: number };

export interface Semaphore<S extends Slot = Slot> {
  /** Runs `work` once a slot is free, in the order of the calls; settles as `work` does. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Takes all of these named slots without waiting and returns `release`, which gives them back and
   * may be called twice. When a limit is reached, nothing is taken and `full` is the first slot
   * that was not free.
   */
  tryAcquire(slots: readonly S[]): { full: S } | { full?: undefined; release: () => void };
  /** Names that have at least one slot taken. */
  size(): number;
}

type SemaphoreOptions = {
  /** How many works run at once. Default: one, which makes it a mutex. */
  slots?: number;
  /** How many works may wait. Default: any number. */
  maxQueued?: number;
  /** Makes the error of a call that finds the queue full. Its work never starts. */
  onFull?: () => Error;
};

/** Limits what runs at the same time on this node. */
export function createSemaphore<S extends Slot = Slot>(options: SemaphoreOptions = {}): Semaphore<S> {
  const { slots: max = 1, maxQueued = Number.POSITIVE_INFINITY, onFull } = options;
  let running = 0;
  const queue: (() => void)[] = [];
  const taken = new Map<string, number>();
  const countTaken = (name: string): number => taken.get(name) ?? 0;

  return {
    async run(work) {
      if (running >= max && queue.length >= maxQueued) throw onFull?.() ?? new Error('the queue is full');
      // A finished work hands its slot to the next in the queue. `running` stays the same then, so
      // that no newer call takes the slot in between.
      if (running >= max) await new Promise<void>((resolve) => queue.push(resolve));
      else running += 1;
      try {
        return await work();
      } finally {
        const next = queue.shift();
        if (next) next();
        else running -= 1;
      }
    },
    tryAcquire(slots) {
      const full = slots.find(({ name, max }) => countTaken(name) >= max);
      if (full) return { full };
      for (const { name } of slots) taken.set(name, countTaken(name) + 1);
      let isReleased = false;
      const release = () => {
        if (isReleased) return;
        isReleased = true;
        for (const { name } of slots) {
          if (countTaken(name) > 1) taken.set(name, countTaken(name) - 1);
          else taken.delete(name);
        }
      };
      return { release };
    },
    size: () => taken.size,
  };
}

/**
 * Holds the slot until `open` settles or, where its body is a stream, until that stream ends: then
 * `open` must call its argument.
 */
export async function holdSlotUntilSent<T extends { body: unknown }>(
  release: () => void,
  open: (onStreamEnd: () => void) => Promise<T>,
): Promise<T> {
  let streams = false;
  try {
    const opened = await open(release);
    streams = opened.body instanceof ReadableStream;
    return opened;
  } finally {
    if (!streams) release();
  }
}
