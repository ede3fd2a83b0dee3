import type { Logger } from '../../kernel/index.ts';
import type { ChangeTopic } from '../ports/index.ts';

/** The listeners of this process. A listener that throws is logged and harms no other. */
export function createChangeListeners(logger: Logger) {
  const listeners = new Set<(topic: ChangeTopic) => void>();
  return {
    deliver(topic: ChangeTopic): void {
      for (const listener of [...listeners]) {
        try {
          listener(topic);
        } catch (error) {
          logger.error({ err: error, topic }, 'a change listener failed');
        }
      }
    },
    subscribe(listener: (topic: ChangeTopic) => void): () => void {
      // Wrapped, so that the same function subscribed twice is two subscriptions.
      const entry = (topic: ChangeTopic) => listener(topic);
      listeners.add(entry);
      return () => listeners.delete(entry);
    },
  };
}
