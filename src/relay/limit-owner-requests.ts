import { type Clock, createSemaphore } from '../kernel/index.ts';

/** An own limit of open requests. `most`: this node's share of it, read at each start. */
type OwnerLimit = { owner: string; most: () => number };
/** Releases a slot. It may be called more than once. */
type Leave = () => void;

/** The open relayed requests of this node whose key, user or group has a limit. */
export type OwnerRequestLimits = {
  /** `undefined`: none ended within `waitMs`, or the client left. */
  enter(
    limits: readonly OwnerLimit[],
    wait: { waitMs: number; signal: AbortSignal | undefined },
  ): Promise<Leave | undefined>;
};

type Waiting = { limits: readonly OwnerLimit[]; start: (release: Leave) => void };

/**
 * Keeps relayed requests within the own limits of their key, user and group. The first waiting
 * request begins once it is within all of its limits; requests of other owners may pass it.
 */
export function createOwnerRequestLimits({ clock }: { clock: Pick<Clock, 'sleep'> }): OwnerRequestLimits {
  const open = createSemaphore();
  let waiting: Waiting[] = [];

  const stopWaiting = (call: Waiting): void => {
    waiting = waiting.filter((other) => other !== call);
  };

  function startNext(): void {
    for (const call of waiting) {
      const slots = open.tryAcquire(call.limits.map(({ owner, most }) => ({ name: owner, max: most() })));
      if (slots.full) continue;
      stopWaiting(call);
      call.start(slots.release);
    }
  }

  return {
    enter(limits, { waitMs, signal }) {
      const started = new AbortController();
      return new Promise((resolve) => {
        const call: Waiting = {
          limits,
          start(release) {
            started.abort();
            resolve(() => {
              release();
              startNext();
            });
          },
        };
        const giveUp = (): void => {
          if (!waiting.includes(call)) return;
          stopWaiting(call);
          resolve(undefined);
        };
        waiting.push(call);
        startNext();
        if (started.signal.aborted) return;
        if (waitMs <= 0) return giveUp();
        const ends = signal ? AbortSignal.any([started.signal, signal]) : started.signal;
        void clock.sleep(waitMs, ends).then(giveUp);
      });
    },
  };
}
