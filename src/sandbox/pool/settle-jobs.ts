import type { Reply } from '../frames.ts';
import type { SandboxFailure } from '../types.ts';
import type { Job, Message, PoolFailure, PoolState, Worker } from './types.ts';

export const CLOSED: PoolFailure = { kind: 'closed', message: 'the gateway is stopping' };

/** A call is sent again once, after its process died without being killed by us. */
const MAX_ATTEMPTS = 2;

/** Failures of calls that the process could stop itself. They cost as much as a kill. */
const STOPPED: ReadonlySet<SandboxFailure['kind']> = new Set(['timeout', 'memory']);

/**
 * Gives the jobs of an answered message their results. Jobs that the child did not get to, or whose
 * source it did not have, go back to the front of the queue.
 */
export function settleReply(
  pool: PoolState,
  worker: Worker,
  { message: { jobs }, reply, body }: { message: Message; reply: Reply; body: Buffer },
): void {
  const [first] = jobs;
  if (reply.needsSource && first) worker.knownSources.delete(first.module.sourceHash);
  const parts = reply.needsSource ? [] : (reply.each ?? [{ ...reply, length: body.length }]);
  for (const job of jobs.slice(parts.length).reverse()) putBack(pool, job);
  const ms = (reply.ms ?? 0) / Math.max(1, parts.length);
  let at = 0;
  for (const [index, { length, console, failure, repeatable }] of parts.entries()) {
    const job = jobs[index];
    if (job) recordDuration(pool, job, ms);
    if (job && failure && STOPPED.has(failure.kind)) {
      logStopped(pool, job, { stopped: 'hook call stopped', reason: failure.message, calls: 1 });
      pool.onKill(job);
    }
    const outcome = { console, ...(failure && { failure }), ...(repeatable && { repeatable }), ms };
    job?.onReply({ ...outcome, body: body.toString('utf8', at, at + length) });
    at += length;
  }
}

/**
 * Settles the jobs of a process that has ended. Only its first message was running: the jobs behind
 * it go back to the queue unharmed.
 */
export function settleEndedWorker(pool: PoolState, worker: Worker): void {
  const [first, ...behind] = worker.running;
  for (const job of behind.flatMap(({ jobs }) => jobs).reverse()) requeue(pool, job);
  if (first) settleRunningJobs(pool, worker, first.jobs);
}

/** Puts a job back to the front of the queue, or fails it once the pool is closed. */
export function requeue(pool: PoolState, job: Job): void {
  job.queuedAt = pool.clock.monotonicMs();
  if (pool.closed) job.onFailure(CLOSED);
  else putBack(pool, job);
}

/** The jobs that ran when their process ended: they fail, or are sent once more. */
function settleRunningJobs(pool: PoolState, { killedFor, since }: Worker, jobs: Job[]): void {
  const [job] = jobs;
  if (!job || jobs.length > 1) {
    // In a batch we do not know which job did it. No kill is counted, and each is sent by itself.
    for (const one of jobs.reverse()) requeue(pool, Object.assign(one, { alone: true }));
    if (job && killedFor)
      logStopped(pool, job, { stopped: PROCESS_STOPPED, reason: killedFor.message, calls: jobs.length });
    return;
  }
  job.attempts++;
  if (!killedFor && job.attempts < MAX_ATTEMPTS) {
    requeue(pool, job);
    return;
  }
  const failure: PoolFailure = killedFor ?? { kind: 'killed', message: `ended its process ${job.attempts} times` };
  recordDuration(pool, job, pool.clock.monotonicMs() - since);
  logStopped(pool, job, { stopped: PROCESS_STOPPED, reason: failure.message, calls: 1 });
  pool.onKill(job);
  job.onFailure(failure);
}

const PROCESS_STOPPED = 'sandbox process stopped';

type Stop = { stopped: string; reason: string; calls: number };

function logStopped({ logger }: PoolState, job: Job, { stopped, reason, calls }: Stop): void {
  const hook = job.request.path?.join('.');
  const { owner, plugin, module } = job;
  logger.warn({ plugin, version: module.version, hook, owner, calls, reason }, stopped);
}

/** Charges the owner for the true duration. Inspections do not count in the estimates of calls. */
function recordDuration({ queue, estimates }: PoolState, job: Job, ms: number): void {
  queue.charge(job.owner, ms - estimates.expectedMs(job));
  if (job.request.path !== undefined) estimates.record(job, ms);
}

function putBack({ queue }: PoolState, job: Job): void {
  queue.pushFront(job);
  job.onWait();
}
