import { type Clock, createFairQueue, type FairQueue, type Logger } from '../kernel/index.ts';
import { canUseIdleWorker, chooseWorker, hasFreeSlot, heldByOwner } from './choose-worker.ts';
import { createCallEstimates } from './estimate-calls.ts';
import { encodeFrame, type Frame, type Hello, type HookRequest, type Reply } from './frames.ts';
import type { Job, PoolFailure, Worker } from './pool-types.ts';
import { spawnChild } from './spawn-child.ts';
import type { SandboxLimits } from './types.ts';

/**
 * What a child's process needs beside the guest's memory (the runtime, the engine, copies of
 * arguments and results): at the most, and as each one's share of what all may hold together.
 * Together they may hold one guest at its limit.
 */
const CHILD_OVERHEAD_BYTES = 128 * 1024 * 1024;
const CHILD_SHARE_BYTES = 80 * 1024 * 1024;
/** How often busy children are looked at, in ms. */
const WATCH_MS = 25;
/** A call that waits this long for a process has one started, in ms. */
const GROW_AFTER_MS = 10;
/** A call that runs this long has a spare process started, in ms. */
const SLOW_MS = 50;
/** A process beyond the first ends after being idle this long, in ms. */
const IDLE_STOP_MS = 60_000;
/**
 * A child that does not come up within this many ms is started anew. It takes 0.2 s, and ten times
 * that on a machine with much else to do.
 */
const BOOT_TIMEOUT_MS = 30_000;
const MAX_RESTART_DELAY_MS = 2_000;
/** Milliseconds of calls that an owner may have in a row while others wait. */
const QUANTUM_MS = 5;
/**
 * Waiting calls of one hook that are sent with one message while they are quick, and the length of
 * their arguments together.
 */
const MAX_TOGETHER = 32;
const MAX_TOGETHER_LENGTH = 64 * 1024;
/** A call is sent again after its process died without our doing, once. */
const MAX_ATTEMPTS = 2;

export interface Pool {
  readonly queue: FairQueue<Job>;
  submit(job: Job): void;
  forget(sourceHash: string): void;
  ready(): Promise<void>;
  stats(): { processes: number; kills: number; residentBytes: number };
  /** Plugins and owners whose call times are known. */
  remembered(): number;
  close(): Promise<void>;
}

type PoolOptions = {
  limits: SandboxLimits;
  command: readonly string[];
  clock: Clock;
  logger: Logger;
  onKill(job: Job): void;
  /** Whether to send a job by itself, since its owner's calls have ended processes. */
  runsAlone(job: Job): boolean;
};

const isSamePath = (one: Job['request']['path'], other: Job['request']['path']): boolean =>
  one?.length === other?.length && (one?.every((name, index) => name === other?.[index]) ?? true);

/** The child processes: who runs what, for how long, and what happens when one is stopped. */
export function createPool({ limits, command, clock, logger, onKill, runsAlone }: PoolOptions): Pool {
  const workers = new Set<Worker>();
  const estimates = createCallEstimates();
  const queue = createFairQueue<Job>({
    quantum: QUANTUM_MS,
    costOf: estimates.expectedMs,
    hasShare: (owner) => heldByOwner(workers, owner) >= limits.processes / 2,
  });
  let waitingReady: (() => void)[] = [];
  let nextId = 1;
  let kills = 0;
  let failedBoots = 0;
  let closed = false;
  let watching: ReturnType<typeof setInterval> | undefined;
  let growing: ReturnType<typeof setTimeout> | undefined;
  let lastWatch = 0;

  function start(): void {
    const worker: Worker = {
      child: spawnChild({ command, onFrame: (frame) => receive(worker, frame), onExit: () => ended(worker) }),
      state: 'booting',
      running: [],
      known: new Set(),
      since: clock.monotonicMs(),
      killedFor: undefined,
    };
    workers.add(worker);
    watch();
  }

  function receive(worker: Worker, frame: Frame): void {
    if (worker.state === 'ending') return;
    let message: Hello | Reply;
    try {
      message = JSON.parse(frame.head) as Hello | Reply;
    } catch {
      kill(worker, { kind: 'killed', message: 'the process answered with garbage' });
      return;
    }
    worker.since = clock.monotonicMs();
    if ('ready' in message) {
      worker.state = 'ready';
      failedBoots = 0;
      for (const resolve of waitingReady) resolve();
      waitingReady = [];
    } else {
      const entry = worker.running[0];
      if (!entry || entry.id !== message.id) {
        kill(worker, { kind: 'killed', message: 'the process answered out of turn' });
        return;
      }
      worker.running.shift();
      finish(worker, entry.jobs, message, frame.body);
    }
    pump();
  }

  function finish(worker: Worker, jobs: Job[], reply: Reply, body: string): void {
    const [first] = jobs;
    if (reply.needsSource && first) worker.known.delete(first.module.sourceHash);
    const parts = reply.needsSource ? [] : (reply.each ?? [{ ...reply, length: body.length }]);
    for (const job of jobs.slice(parts.length).reverse()) putBack(job);
    const ms = (reply.ms ?? 0) / Math.max(1, parts.length);
    let at = 0;
    for (const [index, { length, ...part }] of parts.entries()) {
      const job = jobs[index];
      if (job) measure(job, ms);
      job?.onReply({ id: reply.id, ms, ...part }, body.slice(at, at + length));
      at += length;
    }
  }

  /** Of an inspection nothing is learnt about calls. */
  function measure(job: Job, ms: number): void {
    queue.charge(job.owner, ms - estimates.expectedMs(job));
    if (job.request.path !== undefined) estimates.record(job, ms);
  }

  function pump(): void {
    while (queue.size > 0 && hasFreeSlot(placing())) {
      const next = queue.take(findWorker);
      if (!next) break;
      send(next.place, next.job);
    }
    if (queue.size > 0 && !closed) growing ??= setTimeout(grow, GROW_AFTER_MS);
  }

  const placing = () => ({
    workers,
    limits,
    estimates,
    isOnlyPlugin: queue.lanes === 1,
    nowMs: clock.monotonicMs(),
  });

  const findWorker = (job: Job): Worker | undefined => chooseWorker(job, placing());

  /**
   * The waiting calls that may go with `job`: of the same hook and quick, as many as are short
   * together.
   */
  function takeAlike(job: Job): Job[] {
    const { lane, module, request } = job;
    const maySendWithOthers = (one: Job): boolean => !one.alone && estimates.isQuick(one) && !runsAlone(one);
    const taken: Job[] = [];
    if (!request.path || !maySendWithOthers(job)) return taken;
    let length = job.args.length;
    const accept = (next: Job): boolean =>
      length + next.args.length <= MAX_TOGETHER_LENGTH &&
      next.module.sourceHash === module.sourceHash &&
      isSamePath(next.request.path, request.path) &&
      next.request.maxResultBytes === request.maxResultBytes &&
      next.request.unixNow === request.unixNow &&
      maySendWithOthers(next);
    while (taken.length + 1 < MAX_TOGETHER) {
      const next = queue.takeFromLane(lane, accept);
      if (!next) break;
      length += next.args.length;
      taken.push(next);
    }
    return taken;
  }

  function send(worker: Worker, job: Job): void {
    const { sourceHash, source } = job.module;
    const jobs = [job, ...takeAlike(job)];
    const request: HookRequest = {
      ...job.request,
      id: nextId++,
      sourceHash,
      consoleBytes: limits.consoleBytes,
      memoryBytes: limits.memoryBytes,
      budgetMs: limits.callTimeoutMs,
      nowMs: clock.nowMs(),
    };
    if (jobs.length > 1) request.lengths = jobs.map(({ args }) => args.length);
    const withSource = !worker.known.has(sourceHash);
    if (withSource) request.sourceLength = source.length;
    worker.known.add(sourceHash);
    if (worker.running.length === 0) worker.since = clock.monotonicMs();
    const expectedMs = jobs.reduce((sum, one) => sum + estimates.expectedMs(one), 0);
    worker.running.push({ id: request.id, owner: job.owner, lane: job.lane, jobs, expectedMs });
    const args = jobs.length > 1 ? jobs.map((one) => one.args).join('') : job.args;
    worker.child.send(encodeFrame(JSON.stringify(request), withSource ? source + args : args));
    for (const { onStart } of jobs) onStart();
    watch();
  }

  function grow(): void {
    growing = undefined;
    if (closed || queue.size === 0) return;
    const now = clock.monotonicMs();
    const wantsOne = (job: Job) =>
      now - job.queuedAt >= GROW_AFTER_MS && canUseIdleWorker(job, { workers, limits, estimates });
    if (queue.heads().some(wantsOne)) startSpare();
    pump();
  }

  /** One more process, unless one is coming up already. */
  function startSpare(): void {
    const coming = [...workers].some((worker) => worker.state === 'booting');
    if (!coming && !closed && workers.size < limits.processes) start();
  }

  function watch(): void {
    if (watching || closed) return;
    lastWatch = clock.monotonicMs();
    watching = setInterval(look, WATCH_MS);
  }

  /** Holds the wall clock: ends what outlived its deadline or outgrew its memory. */
  function look(): void {
    const now = clock.monotonicMs();
    // After a stall of this process answers may lie unread: they come first.
    const stalled = now - lastWatch > 4 * WATCH_MS;
    lastWatch = now;
    if (stalled) return;
    let busy = false;
    let idle = false;
    let slow = false;
    for (const worker of workers) {
      const age = now - worker.since;
      if (worker.state === 'booting' && age > BOOT_TIMEOUT_MS) worker.child.kill();
      if (worker.state === 'ready' && worker.running.length > 0 && age > limits.callTimeoutMs + limits.killGraceMs) {
        kill(worker, { kind: 'killed', message: `did not stop at the limit of ${limits.callTimeoutMs} ms` });
      }
      const working = worker.state !== 'ready' || worker.running.length > 0;
      busy ||= working;
      idle ||= !working;
      slow ||= worker.running.length > 0 && age > SLOW_MS;
    }
    if (busy) weigh();
    // Who comes next shall not wait for a slow call to end, nor for a process to start.
    if (slow && !idle) startSpare();
    const spare = [...workers].find((worker) => worker.running.length === 0 && now - worker.since > IDLE_STOP_MS);
    if (spare?.state === 'ready' && workers.size > 1) {
      spare.state = 'ending';
      spare.child.release();
    }
    if (!busy && workers.size <= 1) {
      clearInterval(watching);
      watching = undefined;
    }
  }

  /** Ends the largest working process where it, or all together, hold too much. */
  function weigh(): void {
    const each = limits.memoryBytes + CHILD_OVERHEAD_BYTES;
    const all = limits.memoryBytes + limits.processes * CHILD_SHARE_BYTES;
    let total = 0;
    let largest: { worker: Worker; bytes: number } | undefined;
    for (const worker of workers) {
      const bytes = worker.child.residentBytes();
      total += bytes;
      if (worker.state === 'ready' && worker.running.length > 0 && bytes > (largest?.bytes ?? 0))
        largest = { worker, bytes };
    }
    if (!largest) return;
    const { worker, bytes } = largest;
    if (bytes > each)
      kill(worker, { kind: 'killed', message: `its process grew over the memory limit of ${each} bytes` });
    else if (total > all)
      kill(worker, { kind: 'killed', message: `the processes grew over their memory limit of ${all} bytes` });
  }

  function kill(worker: Worker, reason: PoolFailure): void {
    worker.state = 'ending';
    worker.killedFor = reason;
    kills++;
    worker.child.kill();
  }

  function ended(worker: Worker): void {
    workers.delete(worker);
    const [first, ...behind] = worker.running;
    for (const job of behind.flatMap(({ jobs }) => jobs).reverse()) requeue(job);
    if (first) endFirst(worker, first.jobs);
    if (closed) return;
    const bootFailed = worker.state === 'booting';
    if (bootFailed) failedBoots++;
    const delay = bootFailed ? Math.min(MAX_RESTART_DELAY_MS, 50 * 2 ** failedBoots) : 0;
    if (bootFailed) logger.error({ failed_boots: failedBoots, retry_ms: delay }, 'sandbox process did not start');
    if (workers.size === 0 && delay > 0) setTimeout(() => !closed && workers.size === 0 && start(), delay);
    else if (workers.size === 0 || worker.killedFor) startSpare();
    pump();
  }

  /** The call that ran when its process ended: its own fault, or once more elsewhere. */
  function endFirst({ killedFor, since }: Worker, jobs: Job[]): void {
    const [job] = jobs;
    if (!job || jobs.length > 1) {
      // Nobody knows which of them it was: nobody's kill, and each is made by itself.
      for (const one of jobs.reverse()) requeue(Object.assign(one, { alone: true }));
      if (job && killedFor) tellStopped(job, killedFor, jobs.length);
      return;
    }
    job.attempts++;
    if (!killedFor && job.attempts < MAX_ATTEMPTS) {
      requeue(job);
      return;
    }
    const failure: PoolFailure = killedFor ?? { kind: 'killed', message: `ended its process ${job.attempts} times` };
    measure(job, clock.monotonicMs() - since);
    tellStopped(job, failure, 1);
    onKill(job);
    job.onFailure(failure);
  }

  function tellStopped(job: Job, { message: reason }: PoolFailure, calls: number): void {
    const hook = job.request.path?.join('.');
    const { owner, lane: plugin, module } = job;
    logger.warn({ plugin, version: module.version, hook, owner, calls, reason }, 'sandbox process stopped');
  }

  function requeue(job: Job): void {
    job.queuedAt = clock.monotonicMs();
    if (closed) job.onFailure({ kind: 'closed', message: 'the gateway is stopping' });
    else putBack(job);
  }

  function putBack(job: Job): void {
    queue.pushFront(job);
    job.onWait();
  }

  start();
  return {
    queue,
    submit(job) {
      queue.push(job);
      pump();
    },
    forget(sourceHash) {
      for (const worker of workers) {
        if (worker.known.delete(sourceHash)) worker.child.send(encodeFrame(JSON.stringify({ forget: sourceHash }), ''));
      }
    },
    ready() {
      if ([...workers].some((worker) => worker.state === 'ready')) return Promise.resolve();
      return new Promise((resolve) => waitingReady.push(resolve));
    },
    stats: () => ({
      processes: workers.size,
      kills,
      residentBytes: [...workers].reduce((sum, worker) => sum + worker.child.residentBytes(), 0),
    }),
    remembered: estimates.size,
    async close() {
      closed = true;
      clearInterval(watching);
      clearTimeout(growing);
      for (const job of queue.drain()) requeue(job);
      const all = [...workers];
      for (const worker of all) {
        for (const job of worker.running.splice(0).flatMap(({ jobs }) => jobs)) requeue(job);
        worker.state = 'ending';
        worker.child.kill();
      }
      await Promise.all(all.map((worker) => worker.child.exited));
    },
  };
}
