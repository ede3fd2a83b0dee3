import { encodeFrame, type HookRequest } from '../frames.ts';
import { chooseWorker, hasFreeSlot, noteCaller } from './choose-worker.ts';
import type { Job, PoolState, Worker } from './types.ts';
import { noteCall, startChecks } from './worker-processes.ts';

/** A call that waits this long for a process has one started, in ms. */
export const GROW_AFTER_MS = 10;
/**
 * Waiting calls of one hook are sent as a batch while they are quick: at most this many, with
 * arguments of at most this many bytes together.
 */
const MAX_BATCH = 16;
const MAX_BATCH_BYTES = 64 * 1024;

/**
 * Sends a new job: at once if none of its plugin is running, else with the others that come in this
 * turn of the event loop. Callers whose jobs were in one message get their results together and
 * make their next calls together: one by one, these would be messages of their own, which cost more
 * than a short call.
 */
export function sendNewJob(pool: PoolState, job: Job): void {
  noteCaller(pool, job.owner);
  pool.queue.push(job);
  for (const { running } of pool.workers) {
    if (running[0]?.plugin !== job.plugin) continue;
    sendSoon(pool);
    return;
  }
  sendWaitingJobs(pool);
}

function sendSoon(pool: PoolState): void {
  if (pool.sendsSoon) return;
  pool.sendsSoon = true;
  setImmediate(() => {
    pool.sendsSoon = false;
    sendWaitingJobs(pool);
  });
}

/** Sends waiting jobs for as long as a process has a free slot for one. */
export function sendWaitingJobs(pool: PoolState): void {
  const { queue } = pool;
  const findSlot = (job: Job): Worker | undefined => chooseWorker(pool, job);
  while (queue.size > 0 && hasFreeSlot(pool)) {
    const next = queue.take(findSlot);
    if (!next) break;
    sendJob(pool, next.slot, next.job);
  }
  if (queue.size > 0 && !pool.closed) pool.growTimer ??= setTimeout(pool.events.onGrowTimer, GROW_AFTER_MS);
}

/** Sends a job to a process, and with it the waiting jobs that may go in the same batch. */
function sendJob(pool: PoolState, worker: Worker, job: Job): void {
  const { limits, clock, estimates } = pool;
  const { sourceHash, source } = job.module;
  const jobs = [job, ...takeBatch(pool, job)];
  const request: HookRequest = {
    ...job.request,
    id: pool.nextMessageId++,
    sourceHash,
    consoleBytes: limits.consoleBytes,
    memoryBytes: limits.memoryBytes,
    budgetMs: limits.callTimeoutMs,
    nowMs: clock.nowMs(),
  };
  if (jobs.length > 1) request.lengths = jobs.map(({ argsBytes }) => argsBytes);
  const withSource = !worker.knownSources.has(sourceHash);
  if (withSource) request.sourceLength = Buffer.byteLength(source);
  worker.knownSources.add(sourceHash);
  if (worker.running.length === 0) worker.since = clock.monotonicMs();
  const expectedMs = jobs.reduce((sum, one) => sum + estimates.expectedMs(one), 0);
  noteCall(worker);
  worker.running.push({ id: request.id, owner: job.owner, plugin: job.plugin, jobs, expectedMs });
  const body = jobs.map(({ args }) => args);
  if (withSource) body.unshift(source);
  worker.child.send(encodeFrame(JSON.stringify(request), ...body));
  for (const { onStart } of jobs) onStart();
  startChecks(pool);
}

/**
 * Takes the waiting jobs that may share a message with `job`: quick calls of the same hook with the
 * same options.
 */
function takeBatch({ queue, estimates, runsAlone }: PoolState, job: Job): Job[] {
  const { plugin, module, request } = job;
  const maySendWithOthers = (one: Job): boolean => !one.alone && estimates.isQuick(one) && !runsAlone(one);
  const batch: Job[] = [];
  if (!request.path || !maySendWithOthers(job)) return batch;
  let bytes = job.argsBytes;
  const accepts = (next: Job): boolean =>
    bytes + next.argsBytes <= MAX_BATCH_BYTES &&
    next.module.sourceHash === module.sourceHash &&
    isSamePath(next.request.path, request.path) &&
    next.request.maxResultBytes === request.maxResultBytes &&
    next.request.unixNow === request.unixNow &&
    maySendWithOthers(next);
  while (batch.length + 1 < MAX_BATCH) {
    const next = queue.takeFromQueue(plugin, accepts);
    if (!next) break;
    bytes += next.argsBytes;
    batch.push(next);
  }
  return batch;
}

const isSamePath = (one: Job['request']['path'], other: Job['request']['path']): boolean =>
  one?.length === other?.length && (one?.every((name, index) => name === other?.[index]) ?? true);
