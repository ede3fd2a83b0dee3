import type { WatchCache } from '../../kernel/index.ts';
import { createConcurrencyLimit } from '../../kernel/index.ts';
import type { Counters } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';

export type LinkLimits = {
  /** TASK_ARTIFACT_LINK_DAYS: how long a link lasts; 0: without end. */
  days: number;
  /** TASK_ARTIFACT_INVALID_RATE_LIMIT_PER_MINUTE: links that do not verify, per address. */
  invalidPerMinute: number;
  /**
   * TASK_ARTIFACT_*_CONCURRENCY: downloads at once of this node, of one address (with API keys: of
   * one user), of one artifact.
   */
  downloads: { node: number; address: number; artifact: number };
};

/**
 * Limits for those who come with a link and no key. `address` is the client's, as limits count it.
 */
export type LinkLimit = {
  /**
   * Counts a link that does not verify. @throws tasks.artifact_access_limited once there were too
   * many within a minute
   */
  countInvalid(address: string): Promise<void>;
  /**
   * Gives the place of a download back when called, once. @throws tasks.artifact_access_limited
   * where too many are under way
   */
  enter(download: { address: string; artifact: string }): () => void;
};

const INVALID_WINDOW_SECONDS = 60;
/** A download may take long, a player tries again soon. */
const BUSY_RETRY_SECONDS = 5;

export function createLinkLimit(
  { counters, watchCache }: { counters: Counters; watchCache?: WatchCache },
  limits: Omit<LinkLimits, 'days'>,
): LinkLimit {
  const places = createConcurrencyLimit();
  // At most two for each download that is under way.
  watchCache?.('downloads_by_link', places.size);
  return {
    async countInvalid(address) {
      const { count } = await counters.add(`artifact-link:${address}`, 1, INVALID_WINDOW_SECONDS);
      if (count <= limits.invalidPerMinute) return;
      // The whole window, whatever is left of it: what guesses is kept off, and learns nothing of
      // the clock.
      throw taskErrors.artifact_access_limited({ retryAfterSeconds: INVALID_WINDOW_SECONDS });
    },
    enter({ address, artifact }) {
      const taken = places.take([
        { name: 'node', most: limits.downloads.node },
        { name: `address ${address}`, most: limits.downloads.address },
        { name: `artifact ${artifact}`, most: limits.downloads.artifact },
      ]);
      if (!taken.full) return taken.leave;
      throw taskErrors.artifact_access_limited({ retryAfterSeconds: BUSY_RETRY_SECONDS });
    },
  };
}
