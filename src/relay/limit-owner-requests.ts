import type { Clock } from '../kernel/index.ts';

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

type Waiting = { limits: readonly OwnerLimit[]; start: () => void };

/**
 * Keeps relayed requests within the own limits of their key, user and group. The first waiting
 * request begins once it is within all of its limits; requests of other owners may pass it.
 */
export function createOwnerRequestLimits({ clock }: { clock: Pick<Clock, 'sleep'> }): OwnerRequestLimits {
  const held = new Map<string, number>();
  let waiting: Waiting[] = [];

  const hold = (limits: readonly OwnerLimit[], change: 1 | -1): void => {
    for (const { owner } of limits) {
      const count = (held.get(owner) ?? 0) + change;
      if (count > 0) held.set(owner, count);
      else held.delete(owner);
    }
  };
  const isWithinLimits = ({ limits }: Waiting): boolean =>
    limits.every(({ owner, most }) => (held.get(owner) ?? 0) < most());

  function startNext(): void {
    for (let next = waiting.find(isWithinLimits); next; next = waiting.find(isWithinLimits)) {
      const call = next;
      waiting = waiting.filter((other) => other !== call);
      hold(call.limits, 1);
      call.start();
    }
  }

  return {
    enter(limits, { waitMs, signal }) {
      const started = new AbortController();
      return new Promise((resolve) => {
        let isOpen = true;
        const leave = (): void => {
          if (isOpen) hold(limits, -1);
          isOpen = false;
          startNext();
        };
        const call: Waiting = {
          limits,
          start() {
            started.abort();
            resolve(leave);
          },
        };
        const giveUp = (): void => {
          if (!waiting.includes(call)) return;
          waiting = waiting.filter((other) => other !== call);
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
