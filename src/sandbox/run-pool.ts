import type { Clock, Logger } from '../kernel/index.ts';
import { encodeFrame, type Frame, type Hello, type HookRequest, type Reply } from './frames.ts';
import { type CallQueue, createCallQueue } from './queue-calls.ts';
import { type ChildProcess, spawnChild } from './spawn-child.ts';
import type { SandboxFailure, SandboxLimits, SandboxModule } from './types.ts';

/**
 * What a child's process needs beside the guest's memory (the runtime, the engine, copies of arguments and results): at the
 * most, and as each one's share of what all may hold together. Together they may hold one guest at its limit.
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
/** A child that does not come up within this many ms is started anew. It takes 0.2 s, and ten times that on a machine with much else to do. */
const BOOT_TIMEOUT_MS = 30_000;
const MAX_RESTART_DELAY_MS = 2_000;
/** Calls sent ahead to a process that runs the same plugin, while that plugin answers within `QUICK_MS`. */
const MAX_AHEAD = 8;
const QUICK_MS = 5;
/** Waiting calls of one hook that are sent with one message while their plugin answers within `QUICK_MS`, and the length of their arguments together. */
const MAX_TOGETHER = 32;
const MAX_TOGETHER_LENGTH = 64 * 1024;
/** A call is sent again after its process died without our doing, once. */
const MAX_ATTEMPTS = 2;

export type PoolFailure = Pick<SandboxFailure, 'kind' | 'message'>;
export type Job = {
  key: string;
  module: SandboxModule;
  /** Without `path`: an inspection. */
  request: Pick<HookRequest, 'path' | 'maxResultBytes' | 'unixNow'>;
  args: string;
  attempts: number;
  /** Of calls that were sent together one ended the process: each is sent by itself, to see which. */
  alone?: true;
  queuedAt: number;
  onStart(): void;
  /** It was sent, and waits again. */
  onWait(): void;
  onReply(reply: Reply, body: string): void;
  onFailure(failure: PoolFailure): void;
};

type Worker = {
  child: ChildProcess;
  state: 'booting' | 'ready' | 'ending';
  /** Sent and unanswered, in the order in which the child runs them; all of one plugin. */
  running: { id: number; key: string; jobs: Job[] }[];
  /** Modules whose source the child has. */
  known: Set<string>;
  /** When the first of `running` began, or the last one ended. */
  since: number;
  killedFor: PoolFailure | undefined;
};

export interface Pool {
  readonly queue: CallQueue<Job>;
  submit(job: Job): void;
  forget(sourceHash: string): void;
  ready(): Promise<void>;
  stats(): { processes: number; kills: number; residentBytes: number };
  close(): Promise<void>;
}

type PoolOptions = {
  limits: SandboxLimits;
  command: readonly string[];
  clock: Clock;
  logger: Logger;
  onKill(job: Job): void;
};

const isSamePath = (one: Job['request']['path'], other: Job['request']['path']): boolean =>
  one?.length === other?.length && (one?.every((name, index) => name === other?.[index]) ?? true);

/** The child processes: who runs what, for how long, and what happens when one is stopped. */
export function createPool({ limits, command, clock, logger, onKill }: PoolOptions): Pool {
  const queue = createCallQueue<Job>();
  const workers = new Set<Worker>();
  const quick = new Map<string, boolean>();
  /** One plugin may hold as many processes, so that one is left for the others. */
  const share = Math.max(1, limits.processes - 1);
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
    if (first?.request.path !== undefined && parts.length > 0)
      quick.set(first.key, (reply.ms ?? QUICK_MS) / parts.length < QUICK_MS);
    for (const job of jobs.slice(parts.length).reverse()) putBack(job);
    let at = 0;
    for (const [index, { length, ...part }] of parts.entries()) {
      jobs[index]?.onReply({ id: reply.id, ms: (reply.ms ?? 0) / parts.length, ...part }, body.slice(at, at + length));
      at += length;
    }
  }

  function pump(): void {
    for (let next = queue.take(findWorker); next; next = queue.take(findWorker)) send(next.place, next.job);
    if (queue.size > 0 && !closed) growing ??= setTimeout(grow, GROW_AFTER_MS);
  }

  /**
   * An idle process, or for a plugin that answers quickly a process which runs that same plugin: a call never stands behind
   * another plugin's.
   */
  function findWorker(job: Job): Worker | undefined {
    const now = clock.monotonicMs();
    let held = 0;
    let calls = 0;
    let idle: Worker | undefined;
    let ahead: Worker | undefined;
    for (const worker of workers) {
      if (worker.state !== 'ready') continue;
      const runs = worker.running[0]?.key;
      if (runs === undefined) {
        if (!idle || worker.known.has(job.module.sourceHash)) idle = worker;
      } else if (runs === job.key) {
        held++;
        calls += worker.running.length;
        if (worker.running.length < MAX_AHEAD && now - worker.since < QUICK_MS) ahead = worker;
      }
    }
    if (calls >= limits.callsPerPlugin) return undefined;
    if (idle && held < share) return idle;
    // Ahead only where nobody else waits, and where another process is left for who comes next.
    return queue.plugins === 1 && limits.processes > 1 && quick.get(job.key) ? ahead : undefined;
  }

  /** The waiting calls that may go with `job`: of the same hook, as many as are short together. */
  function takeAlike({ key, module, request, args, alone }: Job): Job[] {
    let count = 1;
    let length = args.length;
    if (alone || !request.path || !quick.get(key)) return [];
    return queue.takeWhile(key, (next) => {
      length += next.args.length;
      count++;
      return (
        count <= MAX_TOGETHER &&
        length <= MAX_TOGETHER_LENGTH &&
        !next.alone &&
        next.module.sourceHash === module.sourceHash &&
        isSamePath(next.request.path, request.path) &&
        next.request.maxResultBytes === request.maxResultBytes &&
        next.request.unixNow === request.unixNow
      );
    });
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
    worker.running.push({ id: request.id, key: job.key, jobs });
    const args = jobs.length > 1 ? jobs.map((one) => one.args).join('') : job.args;
    worker.child.send(encodeFrame(JSON.stringify(request), withSource ? source + args : args));
    for (const { onStart } of jobs) onStart();
    watch();
  }

  function grow(): void {
    growing = undefined;
    if (closed || queue.size === 0) return;
    const now = clock.monotonicMs();
    if (queue.heads().some((job) => now - job.queuedAt >= GROW_AFTER_MS && heldBy(job.key) < share)) startSpare();
    pump();
  }

  /** One more process, unless one is coming up already. */
  function startSpare(): void {
    const coming = [...workers].some((worker) => worker.state === 'booting');
    if (!coming && !closed && workers.size < limits.processes) start();
  }

  function heldBy(key: string): number {
    return [...workers].filter((worker) => worker.running[0]?.key === key).length;
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

  /** The call that ran when its process ended: its own fault, or once more elsewhere. Of several nobody knows which it was, but whose. */
  function endFirst({ killedFor }: Worker, jobs: Job[]): void {
    const [job] = jobs;
    if (!job || jobs.length > 1) {
      for (const one of jobs.reverse()) requeue(Object.assign(one, { alone: true }));
      // They wait again by now: of a plugin that is suspended for this none of them is made.
      if (job && killedFor) tellStopped(job, killedFor, jobs.length);
      return;
    }
    job.attempts++;
    if (!killedFor && job.attempts < MAX_ATTEMPTS) requeue(job);
    else {
      const failure: PoolFailure = killedFor ?? { kind: 'killed', message: `ended its process ${job.attempts} times` };
      tellStopped(job, failure, 1);
      job.onFailure(failure);
    }
  }

  function tellStopped(job: Job, { message: reason }: PoolFailure, calls: number): void {
    const hook = job.request.path?.join('.');
    logger.warn({ plugin: job.key, version: job.module.version, hook, calls, reason }, 'sandbox process stopped');
    onKill(job);
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
