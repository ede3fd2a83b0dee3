import { QUICK_MS } from './estimate-calls.ts';
import type { Job, PoolState, Worker } from './types.ts';

/** Most messages in flight to one process; their estimates together must be quick. */
const MAX_IN_FLIGHT = 8;
/** An owner whose calls take this long on average, in ms, does not get the last process. */
const LONG_MS = 500;
/** How long an owner shares the processes with others after a call of theirs. */
const SHARED_MS = 5000;

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
 * A call that has begun cannot be preempted. So while others call too, an owner gets a second
 * process only for quick calls. No plugin and no owner gets the last process, except for a call
 * that is not known to be long, of an owner that holds no process, or for one that is not known to
 * be slow, of a plugin that holds none.
 */
export function canUseIdleWorker(pool: PoolState, job: Job): boolean {
  const { workers, limits, estimates } = pool;
  const { owner, plugin } = job;
  const share = Math.max(1, limits.processes - 1);
  const byOwner = processesHeldBy(workers, owner);
  const byPlugin = [...workers].filter((worker) => worker.running[0]?.plugin === plugin).length;
  if (byOwner > 0 && !estimates.isQuick(job) && isShared(pool, owner)) return false;
  if (byPlugin < share && byOwner < share) return true;
  if (byOwner === 0) return estimates.expectedMs(job) < LONG_MS;
  return byPlugin === 0 && !estimates.isSlow(job);
}

/** Whether anybody else has a call that waits or runs, or had one just now. */
function isShared({ workers, queue, callers, clock }: PoolState, owner: string): boolean {
  const other = callers.find((caller) => caller.owner !== owner);
  if (other && clock.monotonicMs() - other.at < SHARED_MS) return true;
  return (
    queue.hasOther(owner) || [...workers].some(({ running }) => running.some((message) => message.owner !== owner))
  );
}

/** Notes whose call came last, for `isShared`: the newest caller, then the newest other one. */
export function noteCaller(pool: PoolState, owner: string): void {
  const others = pool.callers.filter((caller) => caller.owner !== owner);
  pool.callers = [{ owner, at: pool.clock.monotonicMs() }, ...others.slice(0, 1)];
}

/** Processes that run calls of this owner. */
export const processesHeldBy = (workers: Iterable<Worker>, owner: string): number =>
  [...workers].filter((worker) => worker.running[0]?.owner === owner).length;

const isOnlyPlugin = ({ queue }: PoolState): boolean => queue.queueCount === 1;

function takesMore({ running, since }: Worker, nowMs: number): boolean {
  const expectedMs = running.reduce((sum, message) => sum + message.expectedMs, 0);
  return running.length < MAX_IN_FLIGHT && expectedMs < QUICK_MS && nowMs - since < QUICK_MS;
}
