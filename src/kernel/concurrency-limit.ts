/** A thing that only so many may do at once, by a name that stands for whoever shares the limit. */
export type ConcurrencySlot = { name: string; most: number };

/** Counts on this node who is at something at the same time. */
export type ConcurrencyLimit<P extends ConcurrencySlot> = {
  /**
   * Takes all of `places` and gives a function that gives them back, once; or names the first that
   * is full, and takes none.
   */
  take(places: readonly P[]): { full: P } | { full?: undefined; leave: () => void };
  size(): number;
};

/**
 * What `open` gives, while a place is held: until the body has ended where that is a stream, whose
 * end `open` must tell by its argument, else until it is there.
 */
export async function holdSlotUntilSent<T extends { body: unknown }>(
  leave: () => void,
  open: (onStreamEnd: () => void) => Promise<T>,
): Promise<T> {
  let streams = false;
  try {
    const opened = await open(leave);
    streams = opened.body instanceof ReadableStream;
    return opened;
  } finally {
    if (!streams) leave();
  }
}

export function createConcurrencyLimit<P extends ConcurrencySlot = ConcurrencySlot>(): ConcurrencyLimit<P> {
  const counts = new Map<string, number>();
  const countOf = (name: string): number => counts.get(name) ?? 0;

  return {
    take(places) {
      const full = places.find(({ name, most }) => countOf(name) >= most);
      if (full) return { full };
      for (const { name } of places) counts.set(name, countOf(name) + 1);
      let left = false;
      const leave = () => {
        if (left) return;
        left = true;
        for (const { name } of places) {
          if (countOf(name) > 1) counts.set(name, countOf(name) - 1);
          else counts.delete(name);
        }
      };
      return { leave };
    },
    size: () => counts.size,
  };
}
