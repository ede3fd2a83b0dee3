import { createSemaphore, type Semaphore } from '../../kernel/index.ts';
import { authErrors } from '../errors.ts';

/**
 * Longest queue for password hashing and guess checks. At about 100 passwords a second, callers
 * further back have given up before they are served.
 */
const MAX_QUEUED = 500;
const RETRY_AFTER_SECONDS = 5;

/** A semaphore that rejects with `auth.unavailable` when its queue is full. */
export const createBoundedSemaphore = (slots: number, maxQueued = MAX_QUEUED): Semaphore =>
  createSemaphore({
    slots,
    maxQueued,
    onFull: () => authErrors.unavailable({ retryAfterSeconds: RETRY_AFTER_SECONDS }),
  });
