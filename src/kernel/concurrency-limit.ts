/** One slot of a named limit. `name` stands for those who share the limit, `max` is its size. */
export type ConcurrencySlot = { name: string; max: number };

/** Counts what runs at the same time on this node, by the name of each limit. */
export type ConcurrencyLimit<S extends ConcurrencySlot> = {
  /**
   * Takes all `slots` and returns `release`, which gives them back and may be called twice. When a
   * limit is reached, nothing is taken and `full` is the first slot that was not free.
   */
  acquire(slots: readonly S[]): { full: S } | { full?: undefined; release: () => void };
  /** Names that have at least one slot taken. */
  size(): number;
};

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

export function createConcurrencyLimit<S extends ConcurrencySlot = ConcurrencySlot>(): ConcurrencyLimit<S> {
  const counts = new Map<string, number>();
  const countOf = (name: string): number => counts.get(name) ?? 0;

  return {
    acquire(slots) {
      const full = slots.find(({ name, max }) => countOf(name) >= max);
      if (full) return { full };
      for (const { name } of slots) counts.set(name, countOf(name) + 1);
      let isReleased = false;
      const release = () => {
        if (isReleased) return;
        isReleased = true;
        for (const { name } of slots) {
          if (countOf(name) > 1) counts.set(name, countOf(name) - 1);
          else counts.delete(name);
        }
      };
      return { release };
    },
    size: () => counts.size,
  };
}
