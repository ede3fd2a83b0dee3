import { createFairQueue, type FairQueue, sentence } from '../../kernel/index.ts';
import { encodeFrame, type Frame, type Hello, type Reply } from '../frames.ts';
import type { SandboxStats } from '../types.ts';
import { canUseIdleWorker, processesHeldBy } from './choose-worker.ts';
import { enforceLimits } from './enforce-limits.ts';
import { createCallEstimates } from './estimate-calls.ts';
import { GROW_AFTER_MS, requeue, sendNewJob, sendWaitingJobs, settleEndedWorker, settleReply } from './send-jobs.ts';
import type { Job, PoolOptions, PoolState, Worker } from './types.ts';
import { killWorker, startSpareWorker, startWorker, stopChecks } from './worker-processes.ts';

/** Milliseconds of calls that an owner may have in a row while others wait. */
const QUANTUM_MS = 5;
const MAX_RESTART_DELAY_MS = 2_000;

export interface Pool {
  readonly queue: FairQueue<Job>;
  submit(job: Job): void;
  /** Forgets a module's source in every process. */
  forget(sourceHash: string): void;
  /** Resolves when a process is ready, or when none is needed until the next call. */
  ready(): Promise<void>;
  stats(): Pick<SandboxStats, 'processes' | 'kills' | 'residentBytes' | 'unfiltered'>;
  /** Pairs of plugin and owner whose call times are known. */
  estimateCount(): number;
  /** Fails every job, running or waiting, and resolves when all processes have ended. */
  close(): Promise<void>;
}

/**
 * The pool of child processes. A job waits in `queue` until a process has a slot for it, and is
 * settled by the answer or by the end of the process (`send-jobs.ts`). A timer holds the processes
 * to their limits from outside (`enforce-limits.ts`).
 */
export function createPool(options: PoolOptions): Pool {
  const workers = new Set<Worker>();
  const estimates = createCallEstimates();
  const pool: PoolState = {
    ...options,
    workers,
    estimates,
    queue: createFairQueue<Job>({
      quantum: QUANTUM_MS,
      estimateCost: estimates.expectedMs,
      chooseQueue: ({ plugin }) => plugin,
      holdsShare: (owner) => processesHeldBy(workers, owner) > 0,
    }),
    events: {
      onFrame: (worker, frame) => receiveFrame(pool, worker, frame),
      onExit: (worker) => handleExit(pool, worker),
      onCheckTimer: () => enforceLimits(pool),
      onGrowTimer: () => growPool(pool),
    },
    callers: [],
    readyWaiters: [],
    nextMessageId: 1,
    kills: 0,
    unfiltered: undefined,
    failedBoots: 0,
    closed: false,
    isResting: false,
    checkTimer: undefined,
    checkMs: 0,
    lastCheckAt: 0,
    sendsSoon: false,
    growTimer: undefined,
  };
  startWorker(pool);
  return {
    queue: pool.queue,
    submit(job) {
      if (pool.isResting) startSpareWorker(pool);
      sendNewJob(pool, job);
    },
    forget(sourceHash) {
      for (const worker of workers) {
        if (worker.knownSources.delete(sourceHash))
          worker.child.send(encodeFrame(JSON.stringify({ forget: sourceHash }), ''));
      }
    },
    ready() {
      if (pool.isResting || [...workers].some(({ state }) => state === 'ready')) return Promise.resolve();
      return new Promise((resolve) => pool.readyWaiters.push(resolve));
    },
    stats: () => ({
      processes: workers.size,
      kills: pool.kills,
      unfiltered: pool.unfiltered,
      residentBytes: [...workers].reduce((sum, worker) => sum + worker.child.residentBytes(), 0),
    }),
    estimateCount: estimates.size,
    close: () => closePool(pool),
  };
}

function receiveFrame(pool: PoolState, worker: Worker, frame: Frame): void {
  if (worker.state === 'ending') return;
  let received: Hello | Reply;
  try {
    received = JSON.parse(frame.head) as Hello | Reply;
  } catch {
    killWorker(pool, worker, { kind: 'killed', ...sentence('plugins.garbage') });
    return;
  }
  worker.since = pool.clock.monotonicMs();
  if ('ready' in received) {
    worker.state = 'ready';
    pool.failedBoots = 0;
    noteFilter(pool, received);
    for (const resolve of pool.readyWaiters) resolve();
    pool.readyWaiters = [];
  } else {
    const message = worker.running[0];
    if (!message || message.id !== received.id) {
      killWorker(pool, worker, { kind: 'killed', ...sentence('plugins.disorder') });
      return;
    }
    worker.running.shift();
    settleReply(pool, worker, { message, reply: received, body: frame.body });
  }
  sendWaitingJobs(pool);
}

/** Says once in the log that this system does not filter what an escape from a guest may do. */
function noteFilter(pool: PoolState, { unfiltered }: Hello): void {
  if (unfiltered !== undefined && pool.unfiltered === undefined)
    pool.logger.warn({ reason: unfiltered }, 'sandbox processes run without a filter of system calls');
  pool.unfiltered = unfiltered ?? null;
}

/** Settles the jobs of a process that has ended, and replaces it where need be. */
function handleExit(pool: PoolState, worker: Worker): void {
  const { workers, logger } = pool;
  workers.delete(worker);
  settleEndedWorker(pool, worker);
  if (pool.closed) return;
  const bootFailed = worker.state === 'booting';
  if (bootFailed) pool.failedBoots++;
  const delay = bootFailed ? Math.min(MAX_RESTART_DELAY_MS, 50 * 2 ** pool.failedBoots) : 0;
  if (bootFailed) logger.error({ failed_boots: pool.failedBoots, retry_ms: delay }, 'sandbox process did not start');
  if (workers.size === 0 && delay > 0) setTimeout(() => !pool.closed && workers.size === 0 && startWorker(pool), delay);
  else if (needsWorker(pool) || worker.killedFor) startSpareWorker(pool);
  sendWaitingJobs(pool);
}

const needsWorker = ({ workers, queue, isResting }: PoolState): boolean =>
  workers.size === 0 && (!isResting || queue.size > 0);

/** Starts one more process if a call that may use it has waited long enough. */
function growPool(pool: PoolState): void {
  const { queue } = pool;
  pool.growTimer = undefined;
  if (pool.closed || queue.size === 0) return;
  const now = pool.clock.monotonicMs();
  const wantsProcess = (job: Job) => now - job.queuedAt >= GROW_AFTER_MS && canUseIdleWorker(pool, job);
  if (queue.heads().some(wantsProcess)) startSpareWorker(pool);
  sendWaitingJobs(pool);
}

async function closePool(pool: PoolState): Promise<void> {
  pool.closed = true;
  stopChecks(pool);
  clearTimeout(pool.growTimer);
  for (const job of pool.queue.drain()) requeue(pool, job);
  const workers = [...pool.workers];
  for (const worker of workers) {
    for (const job of worker.running.splice(0).flatMap(({ jobs }) => jobs)) requeue(pool, job);
    worker.state = 'ending';
    worker.child.kill();
  }
  await Promise.all(workers.map((worker) => worker.child.exited));
}
