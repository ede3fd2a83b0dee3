import type { Generation, LoadedPlugin, Pin, TaskPlugins } from '../types.ts';
import type { OwnershipIndex } from './ownership-index.ts';

export interface Generations {
  current(): Generation;
  pin(): Pin;
  /**
   * Makes `index` the current generation, atomically. Earlier ones live until their last pin ends.
   */
  publish(index: OwnershipIndex, taskPlugins: TaskPlugins, at: number): Generation;
  /** The plugins of every generation that is current or pinned. */
  livingPlugins(): LoadedPlugin[];
}

type PinnedGeneration = { generation: Generation; pins: number };

/** `onRelease` is called when a generation that is no longer current loses its last pin. */
export function createGenerations(
  empty: { index: OwnershipIndex; taskPlugins: TaskPlugins },
  onRelease: () => void,
): Generations {
  type Contents = typeof empty & { number: number; at: number };
  const createGeneration = ({ number, at, index, taskPlugins }: Contents): PinnedGeneration => ({
    generation: { number, publishedAt: at, plugins: index.plugins, ...index.lookups(), ...taskPlugins },
    pins: 0,
  });
  let current = createGeneration({ number: 0, at: 0, ...empty });
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
    publish(index, taskPlugins, at) {
      const previous = current;
      current = createGeneration({ number: previous.generation.number + 1, at, index, taskPlugins });
      living.add(current);
      if (previous.pins === 0) living.delete(previous);
      return current.generation;
    },
    livingPlugins: () => [...living].flatMap(({ generation }) => [...generation.plugins.values()]),
  };
}
