import { createSemaphore } from '../../kernel/index.ts';
import { taskErrors } from '../errors.ts';
import type { RepeatLimit } from '../task-node.ts';

/** Repeats that may wait at once on this node. A well-behaved client has one. */
const MAX_WAITING = { node: 256, user: 32 };
const RETRY_AFTER_SECONDS = 5;

export function createRepeatLimit(): RepeatLimit {
  const limit = createSemaphore();
  return {
    acquire(userId) {
      const slots = limit.tryAcquire([
        { name: 'node', max: MAX_WAITING.node },
        { name: `user ${userId}`, max: MAX_WAITING.user },
      ]);
      if (slots.full) throw stillInProgress();
      return slots.release;
    },
  };
}

export const stillInProgress = () => taskErrors.idempotency_in_progress({ retryAfterSeconds: RETRY_AFTER_SECONDS });
