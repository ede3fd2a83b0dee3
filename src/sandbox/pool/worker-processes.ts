import { encodeFrame, type RestRequest } from '../frames.ts';
import { spawnChild } from './spawn-child.ts';
import type { PoolFailure, PoolState, Worker } from './types.ts';

/** How often processes are checked while one is busy or booting, in ms. */
const BUSY_CHECK_MS = 25;
/** The interval while all are idle, which gives ten checks until the last process ends. */
const IDLE_CHECK_MS = { least: 1000, most: 10_000 };
const IDLE_CHECKS = 10;
/**
 * A process that is idle for this long gives memory back: what its start needed soon, what calls
 * needed later, so that some calls a minute do not pay for it each time.
 */
const REST_AFTER_MS = { start: 2000, call: 60_000 };

export function startWorker(pool: PoolState): void {
  const worker: Worker = {
    child: spawnChild({
      command: pool.command,
      onFrame: (frame) => pool.events.onFrame(worker, frame),
      onExit: () => pool.events.onExit(worker),
    }),
    state: 'booting',
    running: [],
    knownSources: new Set(),
    since: pool.clock.monotonicMs(),
    lastBytes: undefined,
    restAfterMs: REST_AFTER_MS.start,
    killedFor: undefined,
  };
  pool.workers.add(worker);
  pool.isResting = false;
  startChecks(pool);
}

/** Starts one more process, unless one is booting already or the pool is full. */
export function startSpareWorker(pool: PoolState): void {
  const isBooting = [...pool.workers].some((worker) => worker.state === 'booting');
  if (!isBooting && !pool.closed && pool.workers.size < pool.limits.processes) startWorker(pool);
}

export function killWorker(pool: PoolState, worker: Worker, reason: PoolFailure): void {
  worker.state = 'ending';
  worker.killedFor = reason;
  pool.kills++;
  worker.child.kill();
}

/** Checks the processes often, because one has something to do. */
export const startChecks = (pool: PoolState): void => checkEvery(pool, BUSY_CHECK_MS);

/** Checks idle processes now and then, so that they give memory back and eventually end. */
export const slowChecks = (pool: PoolState): void => {
  const { least, most } = IDLE_CHECK_MS;
  const hasStarted = [...pool.workers].some(({ restAfterMs }) => restAfterMs === REST_AFTER_MS.start);
  checkEvery(pool, hasStarted ? least : Math.min(Math.max(pool.limits.idleMs / IDLE_CHECKS, least), most));
};

/** Has a process that is idle give memory back, once between two calls. */
export function restIdleWorker(worker: Worker, idleForMs: number): void {
  if (worker.state !== 'ready' || worker.running.length > 0 || idleForMs <= worker.restAfterMs) return;
  worker.restAfterMs = Number.POSITIVE_INFINITY;
  const request: RestRequest = { rest: true };
  worker.child.send(encodeFrame(JSON.stringify(request)));
}

/** A call was sent: the process will have something to give back again. */
export const noteCall = (worker: Worker): void => {
  if (worker.restAfterMs === Number.POSITIVE_INFINITY) worker.restAfterMs = REST_AFTER_MS.call;
};

/** Makes sure that `events.onCheckTimer` is called every `ms`. */
function checkEvery(pool: PoolState, ms: number): void {
  if (pool.closed || (pool.checkTimer && pool.checkMs === ms)) return;
  clearInterval(pool.checkTimer);
  pool.checkMs = ms;
  pool.lastCheckAt = pool.clock.monotonicMs();
  pool.checkTimer = setInterval(pool.events.onCheckTimer, ms);
}

export function stopChecks(pool: PoolState): void {
  clearInterval(pool.checkTimer);
  pool.checkTimer = undefined;
}
