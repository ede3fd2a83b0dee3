import { expect, test } from 'bun:test';
import { createFairLimiter, systemClock } from '../../src/kernel/index.ts';

/** A limiter under a clock that the test sets, and jobs that the test ends. */
function setUp(options: { slots: number; share: number; holdMs?: number }) {
  const clock = { now: 0, monotonicMs: () => clock.now, sleep: () => new Promise<void>(() => {}) };
  const limiter = createFairLimiter({ holdMs: 60_000, clock, ...options });
  const started: { owner: string; leave: () => void }[] = [];
  const settle = () => Bun.sleep(0);
  return {
    clock,
    limiter,
    settle,
    async enter(owner: string, count = 1) {
      for (let i = 0; i < count; i++)
        void limiter.enter({ owner, queue: 'plugin' }).then((leave) => started.push({ owner, leave }));
      await settle();
    },
    async end(owner: string) {
      const at = started.findIndex((each) => each.owner === owner);
      started.splice(at, 1)[0]?.leave();
      await settle();
    },
    running: (owner: string) => started.filter((each) => each.owner === owner).length,
  };
}

test('a lone owner gets all slots; once another owner asks, freed slots go to them down to its share', async () => {
  const { enter, end, running } = setUp({ slots: 4, share: 2 });
  await enter('greedy', 64);
  expect(running('greedy')).toBe(4);
  await enter('modest');
  expect(running('modest')).toBe(0);
  await end('greedy');
  expect([running('greedy'), running('modest')]).toEqual([3, 1]);
  for (let i = 0; i < 10; i++) await end('greedy');
  expect(running('greedy')).toBe(2);
  await end('modest');
  await enter('modest');
  // The other slots were kept for the owner who had just left, so they need not wait.
  expect([running('greedy'), running('modest')]).toEqual([2, 1]);
});

test('slots kept for an owner who does not return go to the others after a second', async () => {
  const { clock, enter, end, running } = setUp({ slots: 4, share: 2 });
  await enter('modest');
  await end('modest');
  await enter('greedy', 8);
  expect(running('greedy')).toBe(2);
  clock.now = 1_000;
  await end('greedy');
  expect(running('greedy')).toBe(4);
});

test('beside others nobody holds more than their share, however many slots there are', async () => {
  const { enter, running } = setUp({ slots: 6, share: 1 });
  for (const owner of ['a', 'b']) await enter(owner, 8);
  // The first had all slots before the second asked.
  expect([running('a'), running('b')]).toEqual([6, 0]);
  const fresh = setUp({ slots: 6, share: 1 });
  await fresh.enter('a');
  for (const owner of ['b', 'a', 'b', 'c']) await fresh.enter(owner, 8);
  expect(['a', 'b', 'c'].map(fresh.running)).toEqual([1, 1, 1]);
});

test('freeing a slot twice frees it once', async () => {
  const limiter = createFairLimiter({ slots: 1, share: 1, holdMs: 60_000, clock: systemClock });
  const leave = await limiter.enter({ owner: 'a', queue: 'x' });
  leave();
  const second = await limiter.enter({ owner: 'b', queue: 'x' });
  leave();
  expect(limiter.stats()).toEqual({ running: 1, waiting: 0 });
  second();
  expect(limiter.stats()).toEqual({ running: 0, waiting: 0 });
});

test('a job that outlives holdMs loses its slot', async () => {
  const limiter = createFairLimiter({ slots: 1, share: 1, holdMs: 20, clock: systemClock });
  await limiter.enter({ owner: 'slow', queue: 'x' });
  const leave = await limiter.enter({ owner: 'b', queue: 'x' });
  leave();
  expect(limiter.stats()).toEqual({ running: 0, waiting: 0 });
});
