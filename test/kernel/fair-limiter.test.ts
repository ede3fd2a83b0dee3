import { expect, test } from 'bun:test';
import { createFairLimiter, systemClock } from '../../src/kernel/index.ts';

/** A limiter under a clock that the test sets, and works that end when the test says so. */
function setUp(options: { slots: number; holdMs?: number }) {
  const clock = { now: 0, monotonicMs: () => clock.now };
  const limiter = createFairLimiter({ holdMs: 60_000, clock, ...options });
  const started: { owner: string; leave: () => void }[] = [];
  const settle = () => Bun.sleep(0);
  return {
    clock,
    limiter,
    settle,
    async enter(owner: string, count = 1) {
      for (let i = 0; i < count; i++)
        void limiter.enter({ owner, lane: 'plugin' }).then((leave) => started.push({ owner, leave }));
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

test('a lone owner gets all slots; from the moment another comes, half of what gets free', async () => {
  const { enter, end, running } = setUp({ slots: 4 });
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
  // Half was kept free for who had just been here: no wait.
  expect([running('greedy'), running('modest')]).toEqual([2, 1]);
});

test('what was kept for an owner who does not come again is given to the others', async () => {
  const { clock, enter, end, running } = setUp({ slots: 4 });
  await enter('modest');
  await end('modest');
  await enter('greedy', 8);
  expect(running('greedy')).toBe(2);
  clock.now = 1_000;
  await end('greedy');
  expect(running('greedy')).toBe(4);
});

test('a slot is freed once, however often it is said', async () => {
  const limiter = createFairLimiter({ slots: 1, holdMs: 60_000, clock: systemClock });
  const leave = await limiter.enter({ owner: 'a', lane: 'x' });
  leave();
  const second = await limiter.enter({ owner: 'b', lane: 'x' });
  leave();
  expect(limiter.stats()).toEqual({ running: 1, waiting: 0 });
  second();
  expect(limiter.stats()).toEqual({ running: 0, waiting: 0 });
});

test('a work that never ends does not keep its slot', async () => {
  const limiter = createFairLimiter({ slots: 1, holdMs: 20, clock: systemClock });
  await limiter.enter({ owner: 'slow', lane: 'x' });
  const leave = await limiter.enter({ owner: 'b', lane: 'x' });
  leave();
  expect(limiter.stats()).toEqual({ running: 0, waiting: 0 });
});
