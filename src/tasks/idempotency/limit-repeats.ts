import { createConcurrencyLimit } from '../../kernel/index.ts';
import { taskErrors } from '../errors.ts';

/** Repeats that wait at once on this node; a client that knows what it does has one. */
const MOST = { node: 256, user: 32 };
const RETRY_AFTER_SECONDS = 5;

/** Counts the repeats of an Idempotency-Key that wait for their first request. */
export type RepeatLimit = {
  /**
   * Gives the place back when called, once. @throws tasks.idempotency_in_progress where too many
   * wait already
   */
  enter(userId: number): () => void;
};

export function createRepeatLimit(): RepeatLimit {
  const places = createConcurrencyLimit();
  return {
    enter(userId) {
      const taken = places.take([
        { name: 'node', most: MOST.node },
        { name: `user ${userId}`, most: MOST.user },
      ]);
      if (taken.full) throw stillInProgress();
      return taken.leave;
    },
  };
}

export const stillInProgress = () => taskErrors.idempotency_in_progress({ retryAfterSeconds: RETRY_AFTER_SECONDS });
