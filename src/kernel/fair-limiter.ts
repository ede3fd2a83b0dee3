import type { Clock } from './clock.ts';
import { createFairQueue } from './fair-queue.ts';

/** Who asks for a slot, and in which of their queues they wait (see `FairQueue`). */
export type SlotRequest = { owner: string; queue: string };

/** A semaphore whose slots are shared fairly between owners; each work costs the same. */
export interface FairLimiter {
  /** Waits for a slot. Gives the function that frees it, which may be called more than once. */
  enter(request: SlotRequest): Promise<() => void>;
  stats(): { running: number; waiting: number };
}

/**
 * An owner who asked for a slot within this many ms is expected to ask again: the others take no
 * more than their share meanwhile.
 */
const EXPECTED_MS = 1_000;

type LimiterOptions = {
  slots: number;
  /** The slots that one owner may hold beside others. */
  share: number;
  holdMs: number;
  clock: Pick<Clock, 'monotonicMs'>;
};

/**
 * At most `slots` works at once. While other owners wait, or asked within the last second, no owner
 * gets more than `share` slots, because a work that has begun cannot be interrupted for them. A
 * lone owner gets all. A work that takes longer than `holdMs` goes on without its slot, so that
 * slow works do not keep others from beginning.
 */
export function createFairLimiter({ slots, share, holdMs, clock }: LimiterOptions): FairLimiter {
  type Waiting = SlotRequest & { start: () => void };
  const held = new Map<string, number>();
  let running = 0;
  const holdsShare = (owner: string): boolean => (held.get(owner) ?? 0) >= share;
  const waiting = createFairQueue<Waiting>({
    quantum: 1,
    costOf: () => 1,
    queueOf: ({ queue }) => queue,
    holdsShare,
  });

  function changeHeld(owner: string, by: number): void {
    running += by;
    const count = (held.get(owner) ?? 0) + by;
    if (count > 0) held.set(owner, count);
    else held.delete(owner);
  }

  /**
   * The owner who asked last, and the last different one before them. For every owner, one of the
   * two is somebody else.
   */
  let latest = { owner: '', at: Number.NEGATIVE_INFINITY };
  let previous = latest;

  function noteRequest(owner: string): void {
    if (owner !== latest.owner) previous = latest;
    latest = { owner, at: clock.monotonicMs() };
  }

  function mayStart({ owner }: Waiting): true | undefined {
    const { at } = latest.owner === owner ? previous : latest;
    const sharesWithOthers = clock.monotonicMs() - at < EXPECTED_MS;
    return sharesWithOthers && holdsShare(owner) ? undefined : true;
  }

  function startNext(): void {
    while (running < slots) {
      const next = waiting.take(mayStart);
      if (!next) return;
      changeHeld(next.job.owner, 1);
      next.job.start();
    }
  }

  function holdSlot(owner: string): () => void {
    let isHeld = true;
    const leave = (): void => {
      if (!isHeld) return;
      isHeld = false;
      clearTimeout(timer);
      changeHeld(owner, -1);
      startNext();
    };
    const timer = setTimeout(leave, holdMs);
    return leave;
  }

  return {
    enter: ({ owner, queue }) =>
      new Promise((resolve) => {
        noteRequest(owner);
        waiting.push({ owner, queue, start: () => resolve(holdSlot(owner)) });
        startNext();
      }),
    stats: () => ({ running, waiting: waiting.size }),
  };
}
