import { createSemaphore, type Slot, sentence } from '../../kernel/index.ts';
import { vendorErrors } from '../errors.ts';
import type { DownloadLimit } from '../types.ts';

const RETRY_AFTER_SECONDS = 5;

/**
 * Limits concurrent downloads and relayed streams with API keys: of this node, and of one user.
 * Downloads by link have slots of their own (`sign-artifact-links.ts`).
 */
export function createDownloadLimit({ node, user }: { node: number; user: number }): DownloadLimit {
  const limit = createSemaphore<Slot & { scope: string }>();
  return {
    acquire(userId, what) {
      const slots = limit.tryAcquire([
        { name: 'node', max: node, scope: 'from this gateway' },
        { name: `user ${userId}`, max: user, scope: 'of your account' },
      ]);
      if (!slots.full) return slots.release;
      const { scope, max } = slots.full;
      const message = sentence('tasks.downloads', { scope, max });
      const refuse = what === 'download' ? vendorErrors.artifact_access_limited : vendorErrors.rate_limit_exceeded;
      throw refuse({ message, retryAfterSeconds: RETRY_AFTER_SECONDS });
    },
  };
}
