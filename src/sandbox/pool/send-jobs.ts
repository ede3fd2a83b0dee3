/** Sends calls to processes of the sandbox, and settles them by their replies or their ends. */

import { sentence } from '../../kernel/index.ts';
import { encodeFrame, type HookRequest, type Reply } from '../frames.ts';
import type { SandboxFailure } from '../types.ts';
import { chooseWorker, hasFreeSlot, noteCaller } from './choose-worker.ts';
import type { Job, Message, PoolFailure, PoolState, Worker } from './types.ts';
import { noteCall, startChecks } from './worker-processes.ts';

export const CLOSED: PoolFailure = { kind: 'closed', ...sentence('plugins.stopping') };

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
    // In a batch we do not know which job did it. No kill is counted, and each is sent alone.
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
  const failure: PoolFailure = killedFor ?? {
    kind: 'killed',
    ...sentence('plugins.ended_process', { times: job.attempts }),
  };
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
