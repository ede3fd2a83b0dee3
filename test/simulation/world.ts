import { nextTurn } from '../../src/kernel/index.ts';
import { createRandom, type SeededRandom } from './random.ts';

/** When every history begins: 2026-01-01, in ms. */
export const EPOCH_MS = Date.UTC(2026, 0, 1);

export type World = {
  readonly random: SeededRandom;
  /** Simulated milliseconds since the history began. */
  nowMs(): number;
  /** Runs `act` in `ms`. Call the returned function to give it up. */
  after(ms: number, act: () => void): () => void;
  /**
   * Work of the real database: time stands still until it has settled. Rejects as `work` does.
   */
  real<T>(work: Promise<T>): Promise<T>;
  /** Runs what is due until `untilMs`, or until `isOver` says so after an event. */
  run(untilMs: number, isOver?: () => boolean): Promise<void>;
  /** What happened, line by line: the same for the same seed on SQLite. */
  note(line: string): void;
  readonly notes: readonly string[];
};

type Event = { atMs: number; order: number; act: (() => void) | undefined };

/**
 * Simulated time. An event runs only once everything that the one before has set going waits for
 * time or for another event: so one seed is one history, whatever the speed of the machine. Events
 * that are at most `togetherMs` apart run at once: the real database sees them in any order.
 */
export function createWorld(seed: number, { togetherMs = 0 } = {}): World {
  const random = createRandom(seed);
  const events: Event[] = [];
  const notes: string[] = [];
  let nowMs = 0;
  let added = 0;
  let pending = 0;
  let onSettled: (() => void) | undefined;

  const isBefore = (one: Event, other: Event): boolean =>
    one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);

  function push(event: Event): void {
    let at = events.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, events[parent] as Event)) break;
      events[at] = events[parent] as Event;
      at = parent;
    }
    events[at] = event;
  }

  function pop(): Event | undefined {
    const first = events[0];
    const last = events.pop();
    if (first === undefined || last === undefined || events.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= events.length) break;
      if (child + 1 < events.length && isBefore(events[child + 1] as Event, events[child] as Event)) child += 1;
      if (!isBefore(events[child] as Event, last)) break;
      events[at] = events[child] as Event;
      at = child;
    }
    events[at] = last;
    return first;
  }

  /** Until nothing runs any more: what is left waits for an event. */
  async function settle(): Promise<void> {
    do {
      if (pending > 0) {
        await new Promise<void>((resolve) => {
          onSettled = resolve;
        });
      }
      await nextTurn();
    } while (pending > 0);
  }

  return {
    random,
    notes,
    nowMs: () => nowMs,
    note: (line) => void notes.push(`${(nowMs / 1000).toFixed(3)} ${line}`),
    after(ms, act) {
      const event: Event = { atMs: nowMs + Math.max(0, ms), order: added, act };
      added += 1;
      // A sleep without end, such as "until something is due".
      if (event.atMs < Number.POSITIVE_INFINITY) push(event);
      return () => {
        event.act = undefined;
      };
    },
    async real(work) {
      pending += 1;
      try {
        return await work;
      } finally {
        pending -= 1;
        if (pending === 0) onSettled?.();
      }
    },
    async run(untilMs, isOver = () => false) {
      /** False: none is due by then. */
      function runNext(dueMs: number): boolean {
        for (;;) {
          const next = events[0];
          if (next === undefined || next.atMs > dueMs) return false;
          pop();
          if (next.act === undefined) continue;
          nowMs = next.atMs;
          next.act();
          return true;
        }
      }
      await settle();
      while (!isOver() && runNext(untilMs)) {
        const lastMs = Math.min(untilMs, nowMs + togetherMs);
        while (togetherMs > 0 && runNext(lastMs)) {}
        await settle();
      }
      if (!isOver()) nowMs = Math.max(nowMs, untilMs);
    },
  };
}
