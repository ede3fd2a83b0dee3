/** Decisions of the pool about its processes, with a clock and processes made here. */
import { describe, expect, test } from 'bun:test';
import { createFairQueue, sentence, silentLogger, systemClock } from '../../src/kernel/index.ts';
import { chooseWorker, noteCaller } from '../../src/sandbox/pool/choose-worker.ts';
import { enforceLimits } from '../../src/sandbox/pool/enforce-limits.ts';
import { createCallEstimates, toCallKey } from '../../src/sandbox/pool/estimate-calls.ts';
import type { Job, PoolState, Worker } from '../../src/sandbox/pool/types.ts';
import { noteCall } from '../../src/sandbox/pool/worker-processes.ts';
import type { SandboxLimits } from '../../src/sandbox/types.ts';
import { defaultLimits, MEBIBYTE, plugin } from './start-sandbox.ts';

const jobFor = (owner: string, key = 'one'): Job => ({
  owner,
  plugin: key,
  callKey: toCallKey(key, owner),
  module: plugin('export function id(x) { return x }', key),
  request: { path: ['id'], maxResultBytes: 100 },
  args: '[]',
  argsBytes: 2,
  alreadyAdmitted: false,
  attempts: 0,
  queuedAt: 0,
  onStart: () => {},
  onWait: () => {},
  onReply: () => {},
  onFailure: () => {},
});

type Seen = { killed: boolean; released: boolean; sent: string[] };

type ProcessOptions = { jobs?: Job[]; mebibytes?: number; lastMebibytes?: number };

/**
 * A process that runs `jobs`, one message each, since 0 ms, with the memory that it holds and held
 * at the last check.
 */
function readProcess({ jobs = [], mebibytes = 100, lastMebibytes }: ProcessOptions = {}): Worker & { seen: Seen } {
  const seen: Seen = { killed: false, released: false, sent: [] };
  return {
    seen,
    child: {
      pid: 0,
      send: (frame) => void seen.sent.push(frame.toString('utf8', 8)),
      kill: () => {
        seen.killed = true;
      },
      release: () => {
        seen.released = true;
      },
      residentBytes: () => mebibytes * MEBIBYTE,
      ownBytes: () => mebibytes * MEBIBYTE,
      exited: Promise.resolve(),
    },
    state: 'ready',
    running: jobs.map((job, id) => ({ id, owner: job.owner, plugin: job.plugin, jobs: [job], expectedMs: 1 })),
    knownSources: new Set(),
    since: 0,
    lastBytes: lastMebibytes === undefined ? undefined : lastMebibytes * MEBIBYTE,
    killedFor: undefined,
    restAfterMs: 2000,
  };
}

/** A closed pool of these processes, which starts no other and no timer. */
function readPool(workers: Worker[], limits: Partial<SandboxLimits> = {}) {
  let nowMs = 0;
  const estimates = createCallEstimates();
  const pool: PoolState = {
    limits: { ...defaultLimits, processes: workers.length, ...limits },
    command: [],
    clock: { ...systemClock, monotonicMs: () => nowMs },
    logger: silentLogger,
    onKill: () => {},
    runsAlone: () => false,
    queue: createFairQueue<Job>({
      quantum: 5,
      estimateCost: estimates.expectedMs,
      chooseQueue: (job) => job.plugin,
      holdsShare: () => false,
    }),
    workers: new Set(workers),
    estimates,
    events: { onFrame: () => {}, onExit: () => {}, onCheckTimer: () => {}, onGrowTimer: () => {} },
    callers: [],
    readyWaiters: [],
    nextMessageId: 1,
    kills: 0,
    failedBoots: 0,
    unfiltered: undefined,
    closed: true,
    isResting: false,
    sendsSoon: false,
    checkTimer: undefined,
    checkMs: 25,
    lastCheckAt: 0,
    growTimer: undefined,
  };
  /** A check at this time, `sinceMs` after the one before. */
  const checkAt = (ms: number, sinceMs = 25): void => {
    nowMs = ms;
    pool.lastCheckAt = ms - sinceMs;
    enforceLimits(pool);
  };
  return { pool, estimates, checkAt };
}

const busyProcess = (mebibytes?: number) =>
  readProcess({ jobs: [jobFor('user:1')], ...(mebibytes === undefined ? {} : { mebibytes }) });

describe('a check', () => {
  test('kills a call after its limit and the grace, not before', () => {
    const busy = busyProcess();
    const { pool, checkAt } = readPool([busy], { callTimeoutMs: 1000, killGraceMs: 250 });
    checkAt(1250);
    expect([pool.kills, busy.seen.killed]).toEqual([0, false]);
    checkAt(1251);
    expect([pool.kills, busy.seen.killed]).toEqual([1, true]);
    expect(busy.killedFor).toEqual({ kind: 'killed', ...sentence('plugins.stop_limit', { ms: 1000 }) });
  });

  test('after a stall of the gateway kills nothing, since answers may lie unread', () => {
    const busy = busyProcess();
    const { checkAt } = readPool([busy], { callTimeoutMs: 1000, killGraceMs: 250 });
    checkAt(5000, 101);
    expect(busy.seen.killed).toBe(false);
    checkAt(5025);
    expect(busy.seen.killed).toBe(true);
  });

  test.each([
    // With 128 MiB a guest, one process may hold 220 MiB, and two together 240 MiB.
    ['one over its own limit', [257, 10], 'its process grew over the memory limit of 220 MB'],
    ['the larger of two over their limit', [130, 111], 'the processes grew over their memory limit of 240 MB'],
    ['none at its own limit', [220, 20], undefined],
  ] as const)('kills for memory %s', (_, [first, second], message) => {
    const [large, small] = [busyProcess(first), busyProcess(second)];
    readPool([small, large]).checkAt(10);
    expect([large.killedFor?.message, small.seen.killed]).toEqual([message, false]);
  });

  test.each([
    ['kills one of two that would be over their limit at the next check', [60, 110], [60, 109], true],
    ['lets one guest fill its memory at any speed', [60, 170], [55, 55], false],
    ['takes no process that shrank for one that grows', [150, 120], [150, 119], false],
  ] as const)('%s', (_, [lastOfOne, one], [lastOfOther, other], killed) => {
    const filling = (lastMebibytes: number, mebibytes: number) =>
      readProcess({ jobs: [jobFor('user:1')], lastMebibytes, mebibytes });
    const [large, small] = [filling(lastOfOne, one), filling(lastOfOther, other)];
    readPool([small, large]).checkAt(10);
    expect([large.seen.killed, small.seen.killed]).toEqual([killed, false]);
  });

  test('kills no idle process for its memory', () => {
    const [idle, busy] = [readProcess({ mebibytes: 200 }), busyProcess(90)];
    readPool([idle, busy]).checkAt(10);
    expect([idle.seen.killed, busy.seen.killed]).toEqual([false, true]);
  });

  test('has an idle process give memory back once: soon after its start, a minute after its last call', () => {
    const one = readProcess();
    const { checkAt } = readPool([one], { idleMs: 600_000 });
    const rests = (ms: number) => {
      checkAt(ms);
      return one.seen.sent.filter((head) => head === '{"rest":true}').length;
    };
    expect([rests(2000), rests(2001), rests(300_000)]).toEqual([0, 1, 1]);
    noteCall(one);
    one.since = 300_000;
    expect([rests(360_000), rests(360_001), rests(420_001)]).toEqual([1, 2, 2]);
  });

  test('has no busy process give memory back', () => {
    const busy = busyProcess();
    readPool([busy], { callTimeoutMs: 10_000 }).checkAt(3000);
    expect(busy.seen.sent).toEqual([]);
  });

  test('ends a process that was idle for more than a minute, and the last one after its own limit', () => {
    const [one, two] = [readProcess(), readProcess()];
    const { pool, checkAt } = readPool([one, two], { idleMs: 600_000 });
    const released = () => [one.seen.released, two.seen.released];
    checkAt(60_000);
    expect(released()).toEqual([false, false]);
    checkAt(60_001);
    expect(released()).toEqual([true, false]);
    pool.workers.delete(one);
    checkAt(600_000);
    expect([...released(), pool.isResting]).toEqual([true, false, false]);
    // A call that came in just now needs it.
    pool.queue.push(jobFor('user:1'));
    checkAt(600_001);
    expect(released()).toEqual([true, false]);
    pool.queue.drain();
    checkAt(600_001);
    expect([...released(), pool.isResting]).toEqual([true, true, true]);
  });
});

describe('the process for a call', () => {
  test('is none while its plugin has as many calls under way as it may', () => {
    const busy = readProcess({ jobs: [jobFor('user:1'), jobFor('user:2')] });
    const idle = readProcess();
    const workers = [busy, idle, readProcess({ jobs: [jobFor('user:1', 'two')] })];
    expect(chooseWorker(readPool(workers, { callsPerPlugin: 3 }).pool, jobFor('user:3'))).toBe(idle);
    const { pool } = readPool(workers, { callsPerPlugin: 2 });
    expect(chooseWorker(pool, jobFor('user:3'))).toBeUndefined();
    expect(chooseWorker(pool, jobFor('user:3', 'two'))).toBe(idle);
  });

  test('is not the last one for slow calls of one owner, of any plugin', () => {
    const idle = readProcess();
    const { pool, estimates } = readPool([readProcess({ jobs: [jobFor('user:1')] }), idle]);
    for (const owner of ['user:1', 'user:2']) estimates.record(jobFor(owner, 'two'), 100);
    expect(chooseWorker(pool, jobFor('user:1', 'two'))).toBeUndefined();
    expect(chooseWorker(pool, jobFor('user:2', 'two'))).toBe(idle);
    // Nothing is known of these calls, so they are not slow.
    expect(chooseWorker(pool, jobFor('user:1', 'three'))).toBe(idle);
  });

  test('is a second one for an owner, while others call too, only where their calls are quick', () => {
    const idle = readProcess();
    const workers = [readProcess({ jobs: [jobFor('user:1')] }), idle, readProcess(), readProcess()];
    const { pool, estimates, checkAt } = readPool(workers, { callTimeoutMs: 10_000 });
    const chosen = (key: string) => chooseWorker(pool, jobFor('user:1', key)) !== undefined;
    estimates.record(jobFor('user:1', 'quick'), 1);
    expect([chosen('two'), chosen('quick')]).toEqual([true, true]);
    pool.queue.push(jobFor('user:2', 'two'));
    expect([chosen('two'), chosen('quick')]).toEqual([false, true]);
    pool.queue.drain();
    expect(chosen('two')).toBe(true);
    const { running } = readProcess({ jobs: [jobFor('system', 'two')] });
    workers[2]?.running.push(...running);
    expect([chosen('two'), chosen('quick')]).toEqual([false, true]);
    workers[2]?.running.pop();
    // The next call of one who waits for each answer comes a moment later.
    for (const owner of ['user:1', 'user:2', 'user:1', 'user:1']) noteCaller(pool, owner);
    expect(chosen('two')).toBe(false);
    checkAt(4_999);
    expect(chosen('two')).toBe(false);
    checkAt(5_000);
    expect(chosen('two')).toBe(true);
  });

  test('is not the last one for long calls of one plugin, of any owner', () => {
    const idle = readProcess();
    const { pool, estimates } = readPool([readProcess({ jobs: [jobFor('user:1')] }), idle]);
    estimates.record(jobFor('user:2'), 500);
    expect(chooseWorker(pool, jobFor('user:2'))).toBeUndefined();
    expect(chooseWorker(pool, jobFor('user:3'))).toBe(idle);
    // Else calls of 0.1 s would wait for the end of an endless one.
    estimates.record(jobFor('user:4'), 499);
    expect(chooseWorker(pool, jobFor('user:4'))).toBe(idle);
  });
});
