import type { Random } from '../../src/kernel/index.ts';

export type SeededRandom = Random & {
  /** In `[0, 1)`. */
  fraction(): number;
  chance(probability: number): boolean;
  /** An integer from `least` to `most`. */
  between(least: number, most: number): number;
  pick<T>(list: readonly [T, ...T[]]): T;
  /** Numbers of its own, so that one more draw here changes none there. */
  fork(): SeededRandom;
};

/** Mulberry32: the same numbers for the same seed on every machine. */
export function createRandom(seed: number): SeededRandom {
  let state = seed >>> 0;
  const fraction = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (most: number): number => Math.floor(fraction() * most);
  return {
    fraction,
    below,
    bytes: (length) => Uint8Array.from({ length }, () => below(256)),
    chance: (probability) => fraction() < probability,
    between: (least, most) => least + below(most - least + 1),
    pick: (list) => list[below(list.length)] ?? list[0],
    fork: () => createRandom(below(2 ** 32)),
  };
}
