import type { World } from './world.ts';

/** A promise of a process that has died: nothing after it ever runs. */
export const never = <T>(): Promise<T> => new Promise<T>(() => {});

/** One process of the gateway, from its start to its death. */
export type ProcessLife = {
  readonly name: string;
  isAlive(): boolean;
  /** From now on every call of this process hangs, and none of its timers rings. */
  die(why: string): void;
  /** Resolves when it has died. */
  readonly died: Promise<void>;
  /**
   * A point at which the process may die: before or after a call that leaves it. Resolves if it
   * lives on, and never if it does not.
   */
  pass(where: string): Promise<void>;
};

/** `diesAt`: draws whether the process dies at such a point. */
export function startLife(world: World, name: string, diesAt: (where: string) => boolean): ProcessLife {
  const { promise: died, resolve } = Promise.withResolvers<void>();
  let alive = true;
  const life: ProcessLife = {
    name,
    died,
    isAlive: () => alive,
    die(why) {
      if (!alive) return;
      alive = false;
      world.note(`${name} dies: ${why}`);
      resolve();
    },
    pass(where) {
      if (alive && diesAt(where)) life.die(where);
      return alive ? Promise.resolve() : never();
    },
  };
  return life;
}
