import { type CallEstimates, QUICK_MS } from './estimate-calls.ts';
import type { Job, Worker } from './pool-types.ts';
import type { SandboxLimits } from './types.ts';

/** Messages sent ahead to a process at most, as long as they are quick together. */
const MAX_AHEAD = 8;

type Pool = {
  workers: Iterable<Worker>;
  limits: Pick<SandboxLimits, 'processes' | 'callsPerPlugin'>;
  estimates: CallEstimates;
  /** The plugin of the job is the only one that waits. */
  isOnlyPlugin: boolean;
  nowMs: number;
};

/**
 * The process for a job: an idle one, or for quick calls one that runs the same plugin; a call
 * never stands behind another plugin's.
 */
export function chooseWorker(job: Job, pool: Pool): Worker | undefined {
  const { workers, limits, estimates, isOnlyPlugin, nowMs } = pool;
  let calls = 0;
  let idle: Worker | undefined;
  let ahead: Worker | undefined;
  for (const worker of workers) {
    if (worker.state !== 'ready') continue;
    if (worker.running.length === 0) {
      if (!idle || worker.known.has(job.module.sourceHash)) idle = worker;
    } else if (worker.running[0]?.lane === job.lane) {
      calls += worker.running.length;
      if (takesMore(worker, nowMs)) ahead = worker;
    }
  }
  if (calls >= limits.callsPerPlugin) return undefined;
  if (idle && canUseIdleWorker(job, pool)) return idle;
  // Ahead only where nobody else waits, and where another process is left for who comes next.
  return isOnlyPlugin && limits.processes > 1 && estimates.isQuick(job) ? ahead : undefined;
}

/**
 * Whether any process may take a call at all: asked first, since looking for one costs a look at
 * every owner who waits.
 */
export const hasFreeSlot = ({
  workers,
  isOnlyPlugin,
  nowMs,
}: Pick<Pool, 'workers' | 'isOnlyPlugin' | 'nowMs'>): boolean =>
  [...workers].some(
    (worker) => worker.state === 'ready' && (worker.running.length === 0 || (isOnlyPlugin && takesMore(worker, nowMs))),
  );

/**
 * Calls that have begun cannot be put aside for others: so no plugin and no owner gets the last
 * process, but for a call that is not known to be slow, of a plugin or an owner that holds none.
 */
export function canUseIdleWorker(
  job: Job,
  { workers, limits, estimates }: Pick<Pool, 'workers' | 'limits' | 'estimates'>,
) {
  const share = Math.max(1, limits.processes - 1);
  const byOwner = heldByOwner(workers, job.owner);
  const byPlugin = [...workers].filter((worker) => worker.running[0]?.lane === job.lane).length;
  if (byPlugin < share && byOwner < share) return true;
  return (byOwner === 0 || byPlugin === 0) && !estimates.isSlow(job);
}

function takesMore({ running, since }: Worker, nowMs: number): boolean {
  const expectedMs = running.reduce((sum, message) => sum + message.expectedMs, 0);
  return running.length < MAX_AHEAD && expectedMs < QUICK_MS && nowMs - since < QUICK_MS;
}

/** Processes that run calls of this owner. */
export const heldByOwner = (workers: Iterable<Worker>, owner: string): number =>
  [...workers].filter((worker) => worker.running[0]?.owner === owner).length;
