import { type ConcurrencySlot, createConcurrencyLimit } from '../../kernel/index.ts';
import { taskErrors } from '../errors.ts';

/**
 * Most observations at once: of this node, of one plugin's tasks, of one user, with one API key.
 */
export type ObservationLimits = { node: number; plugin: number; user: number; key: number };

export type Observer = { pluginKey: string; userId: number; keyId: number | null };

/**
 * Counts who waits for a response or follows one. An observation holds a place from before its
 * submission until its answer has ended.
 */
export type ObservationLimit = {
  /** Gives the place back when called, once. @throws tasks.rate_limit_exceeded naming the limit */
  enter(observer: Observer): () => void;
};

const RETRY_AFTER_SECONDS = 5;

export function createObservationLimit(limits: ObservationLimits): ObservationLimit {
  const places = createConcurrencyLimit<ConcurrencySlot & { whose: string }>();
  return {
    enter({ pluginKey, userId, keyId }) {
      const taken = places.take([
        { name: 'node', most: limits.node, whose: 'on this gateway' },
        { name: `plugin ${pluginKey}`, most: limits.plugin, whose: `of the plugin "${pluginKey}"` },
        { name: `user ${userId}`, most: limits.user, whose: 'of your account' },
        ...(keyId === null ? [] : [{ name: `key ${keyId}`, most: limits.key, whose: 'with this API key' }]),
      ]);
      if (!taken.full) return taken.leave;
      const { whose, most } = taken.full;
      throw taskErrors.rate_limit_exceeded({
        message: `Too many tasks ${whose} are waited for at once: at most ${most}. Try again when one has ended.`,
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    },
  };
}
