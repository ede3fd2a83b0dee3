import { afterEach, describe, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, systemClock } from '../../src/kernel/index.ts';
import type { Sandbox, SandboxLimits } from '../../src/sandbox/index.ts';
import { testInFullRun } from '../support/full-run.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import {
  catchFailure,
  hook,
  listChildren,
  MEBIBYTE,
  mainProgram,
  plugin,
  readResult,
  startSandbox,
  until,
} from './start-sandbox.ts';

const open: Sandbox[] = [];
afterEach(async () => {
  for (const sandbox of open.splice(0)) await sandbox.close();
});
function start(limits: Partial<SandboxLimits> = {}, clock?: Clock, command?: string[]): Sandbox {
  const sandbox = startSandbox(limits, clock, command);
  open.push(sandbox);
  return sandbox;
}

const source = `
  export function id(x) { return x }
  export function busy(ms) { const end = Date.now() + ms; while (Date.now() < end); return ms }
  export function endless() { for (;;); }
  export function greedy() { const all = []; for (;;) all.push(new Uint8Array(1 << 20).fill(1)) }
  export function stuck() { return new Array(2 ** 32 - 1).includes(1) }
  export function stuckOn(bad, x) { return x === bad ? new Array(2 ** 32 - 1).includes(1) : x }`;
const one = plugin(source, 'one');
const two = plugin(source, 'two');

describe('slots', () => {
  testInFullRun('a slow plugin never takes the whole pool', async () => {
    const sandbox = start();
    // Both processes are up first: the time of booting does not matter here.
    for (let round = 0; round < 2 || sandbox.stats().processes < 2; round++)
      await Promise.all([one, two].map((module) => readResult(sandbox, module, hook('busy', [100]))));
    let ended = 0;
    const slow = Array.from({ length: 12 }, async () => {
      expect(await readResult(sandbox, one, hook('busy', [200]))).toBe(200);
      ended++;
    });
    await Bun.sleep(50);
    for (let i = 0; i < 5; i++) expect(await readResult(sandbox, two, hook('id', [i]))).toBe(i);
    // Twelve slow calls take 2.4 s one after another; the other plugin had a process of its own.
    expect(ended).toBeLessThan(12);
    await Promise.all(slow);
    expect(sandbox.stats().processes).toBe(2);
  });

  testInFullRun('a quick plugin that becomes slow delays no other plugin', async () => {
    const sandbox = start({ callTimeoutMs: 3_000 });
    for (let i = 0; i < 20; i++)
      await Promise.all([readResult(sandbox, one, hook('id', [i])), readResult(sandbox, two, hook('id', [i]))]);
    const mixed = Array.from({ length: 16 }, (_, i) => sandbox.call(one, hook('stuckOn', [3, i])));
    let isKilled = false;
    void mixed[3]?.then(() => (isKilled = true));
    await Bun.sleep(20);
    expect(await readResult(sandbox, two, hook('id', ['free']))).toBe('free');
    expect(isKilled).toBe(false);
    const outcomes = await Promise.all(mixed);
    for (const [i, outcome] of outcomes.entries()) {
      if (i === 3) expect(outcome).toMatchObject({ ok: false, error: { kind: 'killed' } });
      else expect(outcome).toMatchObject({ ok: true, value: { value: i } });
    }
  });

  test('with a single process calls of all plugins are served', async () => {
    const sandbox = start({ processes: 1 });
    const results = await Promise.all(
      Array.from({ length: 40 }, (_, i) => readResult(sandbox, i % 2 ? one : two, hook('id', [i]))),
    );
    expect(results).toEqual(Array.from({ length: 40 }, (_, i) => i));
    expect(sandbox.stats()).toMatchObject({ processes: 1, calls: 40, queued: 0 });
  });

  test('a call fails when its admission time has passed, and the error names it', async () => {
    const sandbox = start();
    const running = sandbox.call(one, hook('busy', [600]));
    const failure = await catchFailure(sandbox.call(one, hook('id', [1], { admissionTimeoutMs: 100 })));
    expect(failure).toMatchObject({ kind: 'overloaded', message: 'no slot was free within the limit of 100 ms' });
    expect((await running).ok).toBe(true);
    expect(await readResult(sandbox, one, hook('id', [2], { admissionTimeoutMs: 5_000 }))).toBe(2);
  });

  test('an aborted signal ends waiting, but not a running call', async () => {
    const sandbox = start();
    await sandbox.ready();
    const controller = new AbortController();
    const { signal } = controller;
    const running = sandbox.call(one, hook('busy', [300], { signal }));
    const waiting = sandbox.call(one, hook('id', [1], { signal }));
    await until(() => sandbox.stats().queued === 1);
    controller.abort();
    expect((await catchFailure(waiting)).kind).toBe('overloaded');
    expect((await running).ok).toBe(true);
    expect(sandbox.stats().queued).toBe(0);
  });

  testInFullRun('a deadline counts from admission, not from the time in the queue', async () => {
    const sandbox = start({ callTimeoutMs: 1_500 });
    const outcomes = await Promise.all(Array.from({ length: 9 }, () => sandbox.call(one, hook('busy', [200]))));
    expect(outcomes.map((outcome) => outcome.ok)).toEqual(Array.from({ length: 9 }, () => true));
  });
});

describe('processes that die', () => {
  const CALLERS = 16;

  testInFullRun('killing a process under load loses no call', async () => {
    const sandbox = start();
    await sandbox.ready();
    let stop = false;
    let served = 0;
    const killer = (async () => {
      for (let kills = 0; kills < 5; kills++) {
        // Until the calls of the killed process have been served: one that is killed twice is given
        // up, and rightly.
        const enough = served + 2 * CALLERS;
        while (served < enough) await Bun.sleep(1);
        const [pid] = listChildren(process.pid).reverse();
        if (pid) process.kill(pid, 'SIGKILL');
      }
      stop = true;
    })();
    await Promise.all(
      Array.from({ length: CALLERS }, async (_, caller) => {
        while (!stop) {
          expect(await readResult(sandbox, caller % 2 ? one : two, hook('id', [caller]))).toBe(caller);
          served++;
        }
      }),
    );
    await killer;
    expect(served).toBeGreaterThan(50);
  });

  testInFullRun('an idle process that dies is replaced', async () => {
    const sandbox = start();
    await sandbox.ready();
    const [pid = 0] = listChildren(process.pid);
    process.kill(pid, 'SIGKILL');
    await until(() => listChildren(process.pid).some((child) => child !== pid));
    await sandbox.ready();
    expect(await readResult(sandbox, one, hook('id', [1]))).toBe(1);
  });

  test('a call whose process dies twice is given up', async () => {
    const sandbox = start({ callTimeoutMs: 20_000 });
    await sandbox.ready();
    const outcome = sandbox.call(one, hook('stuck'));
    let over = false;
    void outcome.then(() => {
      over = true;
    });
    // Ever longer, since a process that is killed while it starts does not count.
    for (let pause = 200; !over; pause *= 1.5) {
      await Promise.race([outcome, Bun.sleep(pause)]);
      for (const pid of listChildren(process.pid)) process.kill(pid, 'SIGKILL');
    }
    expect(await catchFailure(outcome)).toMatchObject({ kind: 'killed', message: 'ended its process 2 times' });
    expect(await readResult(sandbox, one, hook('id', [1]))).toBe(1);
  });

  test('a command that is not a sandbox fails calls in time, and can be closed', async () => {
    const sandbox = start({}, systemClock, ['/bin/false']);
    expect((await catchFailure(sandbox.call(one, hook('id', [1], { admissionTimeoutMs: 300 })))).kind).toBe(
      'overloaded',
    );
  });
});

describe('suspension', () => {
  const strict = { killsToSuspend: 3, killWindowMs: 600_000, suspendMs: 300_000 };
  /** Memory stops a call at once, on a busy machine too, and counts like the deadline. */
  const killFor = async (sandbox: Sandbox, owner: string) =>
    expect((await catchFailure(sandbox.call(one, hook('greedy', [], { owner })))).kind).toBeOneOf(['memory', 'killed']);

  test('after kills only their user is refused; other users and polls go on', async () => {
    let shift = 0;
    const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + shift };
    const sandbox = start(strict, clock);
    for (let i = 0; i < 3; i++) await killFor(sandbox, 'user:1');
    const refused = await catchFailure(sandbox.call(one, hook('id', [1], { owner: 'user:1' })));
    expect(refused).toMatchObject({ kind: 'owner_refused', retryAfterMs: expect.any(Number) });
    expect(refused.message).toContain('3 times within 600000 ms');
    expect(sandbox.isSuspended('one')).toBe(false);
    for (const owner of ['user:2', 'system'])
      expect(await readResult(sandbox, one, hook('id', [1], { owner }))).toBe(1);
    expect(await readResult(sandbox, two, hook('id', [1], { owner: 'user:1' }))).toBe(1);
    // Calls of admitted work still run.
    expect(await readResult(sandbox, one, hook('id', [1], { owner: 'user:1', alreadyAdmitted: true }))).toBe(1);
    expect(sandbox.stats()).toMatchObject({ killCounts: [{ plugin: 'one', owner: 'user', kills: 3 }] });
    shift = 300_000;
    expect(await readResult(sandbox, one, hook('id', [1], { owner: 'user:1' }))).toBe(1);
  });

  testInFullRun('a call that its deadline or memory limit stops counts like one that is killed', async () => {
    const sandbox = start({ ...strict, callTimeoutMs: 1_500 });
    const kinds: string[] = [];
    for (const name of ['endless', 'greedy', 'stuck', 'id'])
      kinds.push((await catchFailure(sandbox.call(one, hook(name, [1], { owner: 'user:1' })))).kind);
    // On a busy machine the check from outside may be the first to see the memory.
    expect(kinds).toEqual(['timeout', expect.stringMatching(/memory|killed/), 'killed', 'owner_refused']);
    expect(sandbox.stats().kills).toBeGreaterThan(0);
    for (const owner of ['user:2', 'system'])
      expect(await readResult(sandbox, one, hook('id', [1], { owner }))).toBe(1);
    expect(sandbox.isSuspended('one')).toBe(false);
    // What a plugin throws, or returns beyond its limit, ends by itself.
    for (let i = 0; i < 4; i++) await sandbox.call(two, hook('id', ['x'.repeat(100)], { maxResultBytes: 10 }));
    expect(await readResult(sandbox, two, hook('id', [1]))).toBe(1);
  });

  test('kills of three users suspend a plugin for everybody, temporarily', async () => {
    let shift = 0;
    const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + shift };
    const sandbox = start(strict, clock);
    for (const owner of ['user:1', 'user:2', 'user:3']) {
      expect(sandbox.isSuspended('one')).toBe(false);
      await killFor(sandbox, owner);
    }
    expect(sandbox.stats()).toMatchObject({ suspended: ['one'] });
    expect((await catchFailure(sandbox.call(one, hook('id', [1], { owner: 'user:4' })))).kind).toBe('suspended');
    // Other plugins are not suspended, and a corrected version can be inspected.
    expect(await readResult(sandbox, two, hook('id', [1]))).toBe(1);
    expect((await sandbox.inspect(one, 'system')).ok).toBe(true);
    shift = 300_000;
    expect(sandbox.isSuspended('one')).toBe(false);
    expect(await readResult(sandbox, one, hook('id', [1]))).toBe(1);
    expect(sandbox.stats().suspended).toEqual([]);
  });

  testInFullRun('kills of polls alone suspend a plugin', async () => {
    const sandbox = start(strict);
    for (let i = 0; i < 3; i++) await killFor(sandbox, 'system');
    expect(sandbox.isSuspended('one')).toBe(true);
    expect(sandbox.stats().killCounts).toEqual([{ plugin: 'one', owner: 'system', kills: 3 }]);
  });

  test('a waiting call of a user who is refused is refused at once, unless it is of admitted work', async () => {
    const sandbox = start({ ...strict, processes: 1, killsToSuspend: 1 });
    await sandbox.ready();
    const killed = sandbox.call(one, hook('greedy'));
    const waiting = sandbox.call(one, hook('id', [1]));
    const admitted = sandbox.call(one, hook('id', [3], { alreadyAdmitted: true }));
    const other = sandbox.call(one, hook('id', [2], { owner: 'user:2' }));
    expect((await catchFailure(killed)).kind).toBeOneOf(['memory', 'killed']);
    expect((await catchFailure(waiting)).kind).toBe('owner_refused');
    expect(await admitted).toMatchObject({ ok: true, value: { value: 3 } });
    expect(await other).toMatchObject({ ok: true, value: { value: 2 } });
  });

  testInFullRun('kills outside the window are not counted together', async () => {
    let shift = 0;
    const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + shift };
    const sandbox = start({ killsToSuspend: 2, killWindowMs: 60_000 }, clock);
    for (let i = 0; i < 3; i++) {
      await killFor(sandbox, 'system');
      shift += 60_001;
    }
    expect(sandbox.isSuspended('one')).toBe(false);
  });

  test('killing an inspection suspends nothing', async () => {
    const sandbox = start({ callTimeoutMs: 100, killGraceMs: 50, killsToSuspend: 1 });
    const bad = plugin('const x = new Array(2 ** 32 - 1).includes(1)', 'one');
    expect((await catchFailure(sandbox.inspect(bad, 'system'))).kind).toBe('killed');
    expect(sandbox.isSuspended('one')).toBe(false);
  });
});

describe('idle processes', () => {
  test('the last ends after its idle time; the next calls wait for a new one', async () => {
    let shift = 0;
    const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + shift };
    const sandbox = start({ processes: 1, idleMs: 600_000 }, clock);
    expect(await readResult(sandbox, one, hook('id', [1]))).toBe(1);
    expect(listChildren(process.pid)).not.toEqual([]);
    shift += 600_001;
    await until(() => sandbox.stats().processes === 0);
    expect(listChildren(process.pid)).toEqual([]);
    // Nothing is wrong with a sandbox that has nothing to do, and asking does not start it.
    await sandbox.ready();
    expect(listChildren(process.pid)).toEqual([]);
    const calls = Array.from({ length: 8 }, (_, i) => readResult(sandbox, i % 2 ? one : two, hook('id', [i])));
    expect(await Promise.all(calls)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(sandbox.stats().kills).toBe(0);
    await until(() => listChildren(process.pid).length > 0);
  });

  testInFullRun('a process that is still asked does not end', async () => {
    let shift = 0;
    const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + shift };
    const sandbox = start({ processes: 1, idleMs: 600_000 }, clock);
    await sandbox.ready();
    const [pid] = listChildren(process.pid);
    for (let i = 0; i < 5; i++) {
      shift += 300_000;
      expect(await readResult(sandbox, one, hook('id', [i]))).toBe(i);
    }
    expect(listChildren(process.pid)).toEqual([pid as number]);
  });

  test('the first call waits while the first process boots', async () => {
    const folder = temporaryFolder();
    const flag = join(folder, 'go');
    const wait = `until [ -e '${flag}' ]; do sleep 0.01; done; exec "$@"`;
    const sandbox = start({ processes: 1 }, systemClock, ['/bin/sh', '-c', wait, 'sh', ...mainProgram]);
    let isReady = false;
    const ready = sandbox.ready().then(() => {
      isReady = true;
    });
    const call = readResult(sandbox, one, hook('id', ['first']));
    await until(() => listChildren(process.pid).length > 0);
    expect([isReady, sandbox.stats().queued]).toEqual([false, 1]);
    writeFileSync(flag, '');
    expect(await call).toBe('first');
    await ready;
    rmSync(folder, { recursive: true });
  });
});

describe('memory stays flat', () => {
  const count = 10_000;
  testInFullRun(`over ${count} calls`, async () => {
    const sandbox = start({ processes: 1 });
    const work = plugin(
      "export function work(x) { console.log('n'); return { x, sign: utils.hmacSHA256(x.text, 'k'), n: Math.random() } }",
    );
    const calls = async (total: number) => {
      let left = total;
      await Promise.all(
        Array.from({ length: 16 }, async () => {
          while (left-- > 0) await readResult(sandbox, work, hook('work', [{ text: 'x'.repeat(2_000) }]));
        }),
      );
    };
    await calls(3_000);
    const before = sandbox.stats().residentBytes;
    await calls(count);
    expect(sandbox.stats().residentBytes - before).toBeLessThan(24 * MEBIBYTE);
  });

  testInFullRun('with more plugins than a process keeps', async () => {
    const sandbox = start({ processes: 1 });
    const many = Array.from({ length: 50 }, (_, i) => plugin(`${source} // ${i}`, `plugin${i}`));
    for (const module of many) expect(await readResult(sandbox, module, hook('id', [1]))).toBe(1);
    const before = sandbox.stats().residentBytes;
    for (const module of many) expect(await readResult(sandbox, module, hook('id', [2]))).toBe(2);
    for (const module of many) sandbox.forget(module.sourceHash);
    for (const module of many) expect(await readResult(sandbox, module, hook('id', [3]))).toBe(3);
    expect(sandbox.stats().residentBytes - before).toBeLessThan(48 * MEBIBYTE);
  });
});

describe('fair shares', () => {
  /**
   * Until this many processes answer: as many calls of different plugins and users were under way
   * at one moment.
   */
  async function bringUp(sandbox: Sandbox, count: number): Promise<void> {
    const isOverlapping = (spans: number[][]) =>
      Math.max(...spans.map(([from = 0]) => from)) < Math.min(...spans.map(([, to = 0]) => to));
    const measured = plugin(
      'export function span(ms) { const a = Date.now(); while (Date.now() < a + ms); return [a, Date.now()] }',
    );
    for (;;) {
      const spans = await Promise.all(
        Array.from({ length: count }, (_, i) =>
          readResult(sandbox, { ...measured, key: `key${i}` }, hook('span', [40], { owner: `user:1${i}` })),
        ),
      );
      if (isOverlapping(spans as number[][])) return;
    }
  }

  test('an owner whose slow calls fill the pool holds at most half of it while another waits', async () => {
    const sandbox = start({ processes: 4 });
    await bringUp(sandbox, 4);
    const order: string[] = [];
    const call = async (owner: string) => {
      expect(await readResult(sandbox, one, hook('busy', [60], { owner }))).toBe(60);
      order.push(owner);
    };
    const greedy = Array.from({ length: 24 }, () => call('user:1'));
    await Promise.all(Array.from({ length: 6 }, () => call('user:2')));
    // Six calls of the other were made while greedy, who came first, made about as many and what
    // had begun before.
    expect(order.filter((owner) => owner === 'user:1').length).toBeLessThan(15);
    await Promise.all(greedy);
  });

  testInFullRun('endless calls of one user, to several plugins at once, delay no other user', async () => {
    const sandbox = start({ callTimeoutMs: 3_000, killsToSuspend: 3 });
    await bringUp(sandbox, 2);
    const keys = Array.from({ length: 5 }, (_, i) => plugin(source, `key${i}`));
    // The other user has just called, or the first two calls would be alone and may have both.
    await readResult(sandbox, one, hook('id', [0], { owner: 'user:2' }));
    const endless = keys.flatMap((module) =>
      Array.from({ length: 3 }, () => catchFailure(sandbox.call(module, hook('endless', [], { owner: 'user:1' })))),
    );
    let over = false;
    void Promise.all(endless).then(() => (over = true));
    let slowest = 0;
    for (let i = 0; i < 15; i++) {
      const began = performance.now();
      await readResult(sandbox, keys[i % 5] ?? one, hook('busy', [60], { owner: 'user:2' }));
      slowest = Math.max(slowest, performance.now() - began);
    }
    expect([over, slowest < 1_500]).toEqual([false, true]);
    await sandbox.close();
    await Promise.all(endless);
  });

  testInFullRun('slow calls of one user leave a process for quick calls of another to the same plugin', async () => {
    const sandbox = start();
    await bringUp(sandbox, 2);
    const slow = Array.from({ length: 4 }, () => readResult(sandbox, one, hook('busy', [800], { owner: 'user:1' })));
    let ended = 0;
    for (const call of slow) void call.then(() => (ended += 1));
    for (let i = 0; i < 5; i++) expect(await readResult(sandbox, one, hook('id', [i], { owner: 'user:2' }))).toBe(i);
    // In both processes, two of them would have ended before the first quick call.
    expect(ended).toBeLessThan(2);
    await Promise.all(slow);
  });
});

describe('close', () => {
  test('fails waiting and running calls, ends the processes, refuses new calls', async () => {
    const sandbox = start();
    await sandbox.ready();
    const running = sandbox.call(one, hook('stuck'));
    const waiting = sandbox.call(one, hook('id', [1]));
    const pids = listChildren(process.pid);
    await sandbox.close();
    for (const outcome of [running, waiting, sandbox.call(one, hook('id')), sandbox.inspect(one, 'system')]) {
      expect((await catchFailure(outcome)).kind).toBe('closed');
    }
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow();
  });
});
