import { sentence } from '../../kernel/index.ts';
import type { PoolState, Worker } from './types.ts';
import { killWorker, restIdleWorker, slowChecks, startSpareWorker, stopChecks } from './worker-processes.ts';

/**
 * What a child's process needs beside the guest's memory (the runtime, the engine, copies of
 * arguments and results), in bytes: the limit of one process, and its share of the limit of all.
 * Together the processes may hold one guest at its memory limit. Pages of the program do not count.
 */
const CHILD_OVERHEAD_BYTES = 92 * 1024 * 1024;
const CHILD_SHARE_BYTES = 56 * 1024 * 1024;
/** A call that runs this long has a spare process started, in ms. */
const SLOW_MS = 50;
/** A process beyond the last ends after being idle this long, in ms. */
const IDLE_STOP_MS = 60_000;
/**
 * A child that is not ready within this many ms is killed and started again. Booting takes 0.2 s,
 * and ten times that on a busy machine.
 */
const BOOT_TIMEOUT_MS = 30_000;

/**
 * Runs often while a process is busy. Enforces the wall clock and the memory limit from outside,
 * since a guest can stop a child from enforcing its own; starts a spare process and ends an idle
 * one.
 */
export function enforceLimits(pool: PoolState): void {
  const { workers, limits } = pool;
  const now = pool.clock.monotonicMs();
  // After a stall of the gateway's process, answers may lie unread. They are read first.
  const stalled = now - pool.lastCheckAt > 4 * pool.checkMs;
  pool.lastCheckAt = now;
  if (stalled) return;
  let anyBusy = false;
  let anyIdle = false;
  let anySlow = false;
  for (const worker of workers) {
    const age = now - worker.since;
    if (worker.state === 'booting' && age > BOOT_TIMEOUT_MS) worker.child.kill();
    if (worker.state === 'ready' && worker.running.length > 0 && age > limits.callTimeoutMs + limits.killGraceMs) {
      killWorker(pool, worker, { kind: 'killed', ...sentence('plugins.stop_limit', { ms: limits.callTimeoutMs }) });
    }
    const busy = worker.state !== 'ready' || worker.running.length > 0;
    restIdleWorker(worker, age);
    anyBusy ||= busy;
    anyIdle ||= !busy;
    anySlow ||= worker.running.length > 0 && age > SLOW_MS;
  }
  if (anyBusy) checkMemory(pool);
  // So that the next call waits neither for a slow one to end nor for a process to boot.
  if (anySlow && !anyIdle) startSpareWorker(pool);
  releaseIdleWorker(pool, now);
  if (workers.size === 0) stopChecks(pool);
  else if (!anyBusy) slowChecks(pool);
}

/**
 * Kills the largest busy process if it holds too much memory, or if all processes together would
 * before the next check. Guests fill 100 MiB between two checks, so what each grew by since the
 * last one is added, up to the most that a guest at its limit takes: one guest may fill its memory
 * at any speed, two at once are stopped early.
 */
function checkMemory(pool: PoolState): void {
  const { workers, limits } = pool;
  const fullBytes = limits.memoryBytes + CHILD_SHARE_BYTES;
  const maxEach = limits.memoryBytes + CHILD_OVERHEAD_BYTES;
  const maxTotal = limits.memoryBytes + limits.processes * CHILD_SHARE_BYTES;
  let expected = 0;
  let largest: { worker: Worker; bytes: number } | undefined;
  for (const worker of workers) {
    const bytes = worker.child.ownBytes();
    const grownBytes = Math.max(0, bytes - (worker.lastBytes ?? bytes));
    worker.lastBytes = bytes;
    expected += Math.max(bytes, Math.min(bytes + grownBytes, fullBytes));
    if (worker.state === 'ready' && worker.running.length > 0 && bytes > (largest?.bytes ?? 0))
      largest = { worker, bytes };
  }
  if (!largest) return;
  const { worker, bytes } = largest;
  if (bytes > maxEach)
    killWorker(pool, worker, {
      kind: 'killed',
      ...sentence('plugins.memory', { max: maxEach }),
    });
  else if (expected > maxTotal)
    killWorker(pool, worker, {
      kind: 'killed',
      ...sentence('plugins.memory_all', { max: maxTotal }),
    });
}

/** Ends one process that was idle for long: the last one much later than the others. */
function releaseIdleWorker(pool: PoolState, now: number): void {
  const kept = [...pool.workers].filter(({ state }) => state !== 'ending');
  const isLast = kept.length === 1;
  const stopMs = isLast ? pool.limits.idleMs : IDLE_STOP_MS;
  const idle = kept.find(
    ({ state, running, since }) => state === 'ready' && running.length === 0 && now - since > stopMs,
  );
  if (!idle || (isLast && pool.queue.size > 0)) return;
  idle.state = 'ending';
  pool.isResting = isLast;
  idle.child.release();
}
