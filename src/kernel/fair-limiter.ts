import type { Clock } from './clock.ts';
import { createFairQueue, type Queued } from './fair-queue.ts';

/** Lets so many works begin at once, in turns by owner (see `FairQueue`); each counts the same. */
export interface FairLimiter {
  /** Waits for a slot; gives what frees it, which may be called more than once. */
  enter(who: Queued): Promise<() => void>;
  stats(): { running: number; waiting: number };
}

/**
 * An owner who came within this many ms is expected to come again: half of the slots are kept from
 * all others for them.
 */
const EXPECTED_MS = 1_000;

type LimiterOptions = { slots: number; holdMs: number; clock: Pick<Clock, 'monotonicMs'> };

/**
 * `slots` works at once. While others wait, or came within the last second, nobody gets more than
 * half of them: what has begun cannot be put aside for them. A lone owner gets all. A work that
 * takes longer than `holdMs` goes on without its slot, so that slow ones keep nobody else from
 * beginning.
 */
export function createFairLimiter({ slots, holdMs, clock }: LimiterOptions): FairLimiter {
  type Waiting = Queued & { start: () => void };
  const held = new Map<string, number>();
  let running = 0;
  const hasShare = (owner: string): boolean => (held.get(owner) ?? 0) >= slots / 2;
  const queue = createFairQueue<Waiting>({
    quantum: 1,
    costOf: () => 1,
    hasShare,
  });

  function change(owner: string, by: number): void {
    running += by;
    const count = (held.get(owner) ?? 0) + by;
    if (count > 0) held.set(owner, count);
    else held.delete(owner);
  }

  /**
   * The owner who came last, and the last one before who was another: whoever asks, one of the two
   * is not them.
   */
  let latest = { owner: '', at: Number.NEGATIVE_INFINITY };
  let other = latest;

  function note(owner: string): void {
    if (owner !== latest.owner) other = latest;
    latest = { owner, at: clock.monotonicMs() };
  }

  function mayStart({ owner }: Waiting): true | undefined {
    const { at } = latest.owner === owner ? other : latest;
    const sharesWithOthers = clock.monotonicMs() - at < EXPECTED_MS;
    return sharesWithOthers && hasShare(owner) ? undefined : true;
  }

  function startNext(): void {
    while (running < slots) {
      const next = queue.take(mayStart);
      if (!next) return;
      change(next.job.owner, 1);
      next.job.start();
    }
  }

  function hold(owner: string): () => void {
    let isHeld = true;
    const leave = (): void => {
      if (!isHeld) return;
      isHeld = false;
      clearTimeout(timer);
      change(owner, -1);
      startNext();
    };
    const timer = setTimeout(leave, holdMs);
    return leave;
  }

  return {
    enter: ({ owner, lane }) =>
      new Promise((resolve) => {
        note(owner);
        queue.push({ owner, lane, start: () => resolve(hold(owner)) });
        startNext();
      }),
    stats: () => ({ running, waiting: queue.size }),
  };
}
