import type { Clock } from '../../src/kernel/index.ts';
import type { ProcessLife } from './process-life.ts';
import { EPOCH_MS, type World } from './world.ts';

/** A machine, whose clock outlives the processes on it. */
export type Machine = {
  readonly name: string;
  /** How far its wall clock is from the world's. */
  offsetMs: number;
  /** Suspended until then: no timer rings before, and its monotonic clock stands still. */
  suspendedUntilMs: number;
  /** How long it has been suspended in all. */
  suspendedMs: number;
};

export const createMachine = (name: string): Machine => ({
  name,
  offsetMs: 0,
  suspendedUntilMs: 0,
  suspendedMs: 0,
});

const wallMs = (world: World, machine: Machine): number => EPOCH_MS + world.nowMs() + machine.offsetMs;

export function suspend(world: World, machine: Machine, ms: number): void {
  machine.suspendedUntilMs = Math.max(machine.suspendedUntilMs, world.nowMs() + ms);
  machine.suspendedMs += ms;
  world.note(`${machine.name} is suspended for ${ms} ms`);
}

/** Runs `act` in `ms`, or once the machine wakes up, if the process still lives then. */
export function afterOn(
  { world, machine, life }: { world: World; machine: Machine; life: ProcessLife },
  ms: number,
  act: () => void,
): () => void {
  const ring = (): void => {
    if (!life.isAlive()) return;
    const leftMs = machine.suspendedUntilMs - world.nowMs();
    if (leftMs > 0) cancel = world.after(leftMs, ring);
    else act();
  };
  let cancel = world.after(ms, ring);
  return () => cancel();
}

/** The clock of one process. */
export function createProcessClock(place: { world: World; machine: Machine; life: ProcessLife }): Clock {
  const { world, machine } = place;
  const startedMs = world.nowMs() - machine.suspendedMs;
  return {
    nowMs: () => wallMs(world, machine),
    unix: () => Math.floor(wallMs(world, machine) / 1000),
    monotonicMs: () => 1000 + world.nowMs() - machine.suspendedMs - startedMs,
    sleep(ms, signal) {
      if (signal?.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const done = () => {
          cancel();
          signal?.removeEventListener('abort', done);
          resolve();
        };
        const cancel = afterOn(place, ms, done);
        signal?.addEventListener('abort', done, { once: true });
      });
    },
  };
}
