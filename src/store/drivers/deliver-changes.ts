import type { Logger } from '../../kernel/index.ts';
import type { ChangeTopic } from '../ports/index.ts';

/**
 * The change listeners of this process. If one throws, that is logged and the others are still
 * called.
 */
export function createChangeListeners(logger: Logger) {
  const listeners = new Set<(topic: ChangeTopic) => void>();
  return {
    deliver(topic: ChangeTopic): void {
      for (const listener of [...listeners]) {
        try {
          listener(topic);
        } catch (error) {
          logger.error({ err: error, topic }, 'a listener for changes threw');
        }
      }
    },
    subscribe(listener: (topic: ChangeTopic) => void): () => void {
      // Wrapped, so that the same function can be subscribed twice.
      const entry = (topic: ChangeTopic) => listener(topic);
      listeners.add(entry);
      return () => listeners.delete(entry);
    },
  };
}
