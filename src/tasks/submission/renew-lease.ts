import type { Clock, Logger } from '../../kernel/index.ts';

/** Lease of a submission, renewed while its process lives. */
export const SUBMIT_LEASE_MS = 30_000;
const LOOK_EVERY_MS = 1_000;
/** A lease is renewed at every tenth look: three times before it expires. */
const LOOKS = 10;

export type LeaseRenewal = {
  /** Renews a submission's lease in the background until you call `stop`. */
  hold(taskId: string, renew: (leaseForMs: number) => Promise<boolean>): { stop(): void };
};

type Held = { taskId: string; renew: (leaseForMs: number) => Promise<boolean>; looks: number };

/**
 * One loop looks at the leases of all submissions, and runs only while there are any: nearly all
 * end long before their first renewal, and a timer for each costs more than the look.
 */
export function createLeaseRenewal({ clock, logger }: { clock: Clock; logger: Logger }): LeaseRenewal {
  const held = new Set<Held>();
  let isLooking = false;

  const renewOne = ({ taskId, renew }: Held): void =>
    void renew(SUBMIT_LEASE_MS).catch((error) =>
      logger.warn({ err: error, task_id: taskId }, 'submit lease could not be renewed'),
    );

  async function look(): Promise<void> {
    isLooking = true;
    while (held.size > 0) {
      await clock.sleep(LOOK_EVERY_MS);
      for (const lease of held) {
        lease.looks += 1;
        if (lease.looks % LOOKS === 0) renewOne(lease);
      }
    }
    isLooking = false;
  }

  return {
    hold(taskId, renew) {
      const lease: Held = { taskId, renew, looks: 0 };
      held.add(lease);
      if (!isLooking) void look();
      return {
        stop: () => {
          held.delete(lease);
        },
      };
    },
  };
}
