import type { TaskDeps } from '../types.ts';

/** Lease of a submission, renewed while its process lives. */
export const SUBMIT_LEASE_MS = 30_000;
const RENEW_EVERY_MS = 10_000;

/** Renews a submission's lease in the background until you call `stop`. */
export function renewLease(
  { clock, logger }: Pick<TaskDeps, 'clock' | 'logger'>,
  taskId: string,
  renew: (leaseForMs: number) => Promise<boolean>,
): { stop(): void } {
  const stopping = new AbortController();
  void (async () => {
    for (;;) {
      await clock.sleep(RENEW_EVERY_MS, stopping.signal);
      if (stopping.signal.aborted) return;
      await renew(SUBMIT_LEASE_MS).catch((error) =>
        logger.warn({ err: error, task_id: taskId }, 'submit lease could not be renewed'),
      );
    }
  })();
  return { stop: () => stopping.abort() };
}
