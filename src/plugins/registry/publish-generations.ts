import type { Generation, LoadedPlugin, Pin } from '../types.ts';
import type { OwnershipIndex } from './build-index.ts';

export interface Generations {
  current(): Generation;
  pin(): Pin;
  /**
   * Makes `index` the current generation, atomically. Earlier ones live until their last pin ends.
   */
  publish(index: OwnershipIndex, at: number): Generation;
  /** The plugins of every generation that is current or pinned. */
  livingPlugins(): LoadedPlugin[];
}

type PinnedGeneration = { generation: Generation; pins: number };

/** `onRelease` is called when a generation that is no longer current loses its last pin. */
export function createGenerations(empty: OwnershipIndex, onRelease: () => void): Generations {
  const createGeneration = (number: number, index: OwnershipIndex, at: number): PinnedGeneration => ({
    generation: { number, publishedAt: at, plugins: index.plugins, ...index.lookups() },
    pins: 0,
  });
  let current = createGeneration(0, empty, 0);
  const living = new Set([current]);

  return {
    current: () => current.generation,
    pin() {
      const pinned = current;
      pinned.pins += 1;
      let released = false;
      return {
        generation: pinned.generation,
        release() {
          if (released) return;
          released = true;
          pinned.pins -= 1;
          if (pinned.pins === 0 && pinned !== current) {
            living.delete(pinned);
            onRelease();
          }
        },
      };
    },
    publish(index, at) {
      const previous = current;
      current = createGeneration(previous.generation.number + 1, index, at);
      living.add(current);
      if (previous.pins === 0) living.delete(previous);
      return current.generation;
    },
    livingPlugins: () => [...living].flatMap(({ generation }) => [...generation.plugins.values()]),
  };
}
