import { spawnChild } from './spawn-child.ts';
import type { PoolFailure, PoolState, Worker } from './types.ts';

/** How often processes are checked while one is busy or idle beyond the first, in ms. */
export const CHECK_MS = 25;

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
    killedFor: undefined,
  };
  pool.workers.add(worker);
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

/** Makes sure that `events.onCheckTimer` is called every `CHECK_MS`. */
export function startChecks(pool: PoolState): void {
  if (pool.checkTimer || pool.closed) return;
  pool.lastCheckAt = pool.clock.monotonicMs();
  pool.checkTimer = setInterval(pool.events.onCheckTimer, CHECK_MS);
}

export function stopChecks(pool: PoolState): void {
  clearInterval(pool.checkTimer);
  pool.checkTimer = undefined;
}
