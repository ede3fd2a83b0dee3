import { QUICK_MS } from './estimate-calls.ts';
import type { Job, PoolState, Worker } from './types.ts';

/** Most messages in flight to one process; their estimates together must be quick. */
const MAX_IN_FLIGHT = 8;

/**
 * The process for a job: an idle one, or for a quick call one that runs the same plugin. A call
 * never waits behind another plugin's.
 */
export function chooseWorker(pool: PoolState, job: Job): Worker | undefined {
  const { workers, limits, estimates } = pool;
  const nowMs = pool.clock.monotonicMs();
  let calls = 0;
  let idle: Worker | undefined;
  let busy: Worker | undefined;
  for (const worker of workers) {
    if (worker.state !== 'ready') continue;
    if (worker.running.length === 0) {
      if (!idle || worker.knownSources.has(job.module.sourceHash)) idle = worker;
    } else if (worker.running[0]?.plugin === job.plugin) {
      calls += worker.running.length;
      if (takesMore(worker, nowMs)) busy = worker;
    }
  }
  if (calls >= limits.callsPerPlugin) return undefined;
  if (idle && canUseIdleWorker(pool, job)) return idle;
  // Pipelining only while no other plugin waits, and while another process is left for the next.
  return isOnlyPlugin(pool) && limits.processes > 1 && estimates.isQuick(job) ? busy : undefined;
}

/**
 * Whether any process can take a call at all. Checked first, because finding the next job looks at
 * every waiting owner.
 */
export function hasFreeSlot(pool: PoolState): boolean {
  const nowMs = pool.clock.monotonicMs();
  const onlyPlugin = isOnlyPlugin(pool);
  return [...pool.workers].some(
    (worker) => worker.state === 'ready' && (worker.running.length === 0 || (onlyPlugin && takesMore(worker, nowMs))),
  );
}

/**
 * A call that has begun cannot be preempted. So no plugin and no owner gets the last process,
 * except for a call that is not known to be slow, of a plugin or an owner that holds no process.
 */
export function canUseIdleWorker({ workers, limits, estimates }: PoolState, job: Job): boolean {
  const share = Math.max(1, limits.processes - 1);
  const byOwner = processesHeldBy(workers, job.owner);
  const byPlugin = [...workers].filter((worker) => worker.running[0]?.plugin === job.plugin).length;
  if (byPlugin < share && byOwner < share) return true;
  return (byOwner === 0 || byPlugin === 0) && !estimates.isSlow(job);
}

/** Processes that run calls of this owner. */
export const processesHeldBy = (workers: Iterable<Worker>, owner: string): number =>
  [...workers].filter((worker) => worker.running[0]?.owner === owner).length;

const isOnlyPlugin = ({ queue }: PoolState): boolean => queue.queueCount === 1;

function takesMore({ running, since }: Worker, nowMs: number): boolean {
  const expectedMs = running.reduce((sum, message) => sum + message.expectedMs, 0);
  return running.length < MAX_IN_FLIGHT && expectedMs < QUICK_MS && nowMs - since < QUICK_MS;
}
