import { type ConcurrencySlot, createConcurrencyLimit } from '../../kernel/index.ts';
import { taskErrors } from '../errors.ts';

/**
 * Most downloads and relayed streams with API keys at once: of this node, of one user. Downloads by
 * link have places of their own.
 */
type DownloadLimits = { node: number; user: number };

/**
 * Counts what passes from a vendor to a client with an API key, so that one user cannot take all
 * connections to a vendor.
 */
export type DownloadLimit = {
  /**
   * Gives the place back when called, once.
   * @throws tasks.artifact_access_limited for a download, tasks.rate_limit_exceeded for a stream,
   * naming the limit
   */
  enter(userId: number, what: 'download' | 'stream'): () => void;
};

const RETRY_AFTER_SECONDS = 5;

export function createDownloadLimit({ node, user }: DownloadLimits): DownloadLimit {
  const places = createConcurrencyLimit<ConcurrencySlot & { whose: string }>();
  return {
    enter(userId, what) {
      const taken = places.take([
        { name: 'node', most: node, whose: 'from this gateway' },
        { name: `user ${userId}`, most: user, whose: 'of your account' },
      ]);
      if (!taken.full) return taken.leave;
      const { whose, most } = taken.full;
      const message = `Too many downloads and streams ${whose} at once: at most ${most}. Try again when one has ended.`;
      const refuse = what === 'download' ? taskErrors.artifact_access_limited : taskErrors.rate_limit_exceeded;
      throw refuse({ message, retryAfterSeconds: RETRY_AFTER_SECONDS });
    },
  };
}
