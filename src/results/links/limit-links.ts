import { createSemaphore, type WatchCache } from '../../kernel/index.ts';
import type { Counters } from '../../store/ports/index.ts';
import { vendorErrors } from '../../vendors/index.ts';
import type { LinkLimit, LinkLimits } from '../types.ts';

const INVALID_WINDOW_SECONDS = 60;
/** Downloads may take long, but players retry soon. */
const BUSY_RETRY_SECONDS = 5;

export function createLinkLimit(
  { counters, watchCache }: { counters: Counters; watchCache?: WatchCache },
  limits: Omit<LinkLimits, 'days'>,
): LinkLimit {
  const limit = createSemaphore();
  // At most two names for each running download.
  watchCache?.('downloads_by_link', limit.size);
  return {
    async countInvalid(address) {
      const { count } = await counters.add(`artifact-link:${address}`, 1, INVALID_WINDOW_SECONDS);
      if (count <= limits.invalidPerMinute) return;
      // Always the whole window, so that a client that guesses links learns nothing of the clock.
      throw vendorErrors.artifact_access_limited({ retryAfterSeconds: INVALID_WINDOW_SECONDS });
    },
    acquire({ address, artifact }) {
      const slots = limit.tryAcquire([
        { name: 'node', max: limits.downloads.node },
        { name: `address ${address}`, max: limits.downloads.address },
        { name: `artifact ${artifact}`, max: limits.downloads.artifact },
      ]);
      if (!slots.full) return slots.release;
      throw vendorErrors.artifact_access_limited({ retryAfterSeconds: BUSY_RETRY_SECONDS });
    },
  };
}
