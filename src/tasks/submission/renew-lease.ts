import { type Clock, detachFromRequest, type Logger } from '../../kernel/index.ts';
import type { LeaseRenewal } from '../task-node.ts';

/** Lease of a submission, renewed while its process lives. */
export const SUBMIT_LEASE_MS = 30_000;
/**
 * Attempts to store what a vendor has done, a job or the bill of an answer; 22 s in all, most of
 * the lease, for a store in trouble to recover. What is not stored is lost money.
 */
export const STORE_ATTEMPTS = 10;
export const STORE_PAUSE_MS = 500;
const LOOK_EVERY_MS = 1_000;
/** Counted in time and not in looks, which come late where the process is busy. */
const RENEW_EVERY_MS = 10_000;

type Held = { taskId: string; renew: (leaseForMs: number) => Promise<boolean>; dueMs: number };

/**
 * One loop looks at the leases of all submissions, and runs only while there are any: nearly all
 * end long before their first renewal, and a timer for each costs more than the look.
 */
export function createLeaseRenewal({ clock, logger }: { clock: Clock; logger: Logger }): LeaseRenewal {
  const held = new Set<Held>();
  let isLooking = false;

  async function renewOne({ taskId, renew }: Held): Promise<void> {
    try {
      await renew(SUBMIT_LEASE_MS);
    } catch (error) {
      logger.warn({ err: error, task_id: taskId }, 'the lease of a submission could not be renewed');
    }
  }

  async function look(): Promise<void> {
    isLooking = true;
    while (held.size > 0) {
      await clock.sleep(LOOK_EVERY_MS);
      const now = clock.monotonicMs();
      for (const lease of held) {
        if (now < lease.dueMs) continue;
        lease.dueMs = now + RENEW_EVERY_MS;
        void renewOne(lease);
      }
    }
    isLooking = false;
  }

  return {
    held: () => [...held].map(({ taskId }) => taskId),
    hold(taskId, renew) {
      const lease: Held = { taskId, renew, dueMs: clock.monotonicMs() + RENEW_EVERY_MS };
      held.add(lease);
      if (!isLooking) void detachFromRequest(look);
      return {
        stop: () => {
          held.delete(lease);
        },
      };
    },
  };
}
