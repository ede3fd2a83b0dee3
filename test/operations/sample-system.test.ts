import { afterAll, beforeAll, expect, test } from 'bun:test';
import { systemClock } from '../../src/kernel/index.ts';
import { describeSystemHistory } from '../../src/operations/overview/describe-system.ts';
import { createSampler } from '../../src/operations/overview/sample-system.ts';
import { openTestStore } from '../auth/harness.ts';

let opened: Awaited<ReturnType<typeof openTestStore>>;
beforeAll(async () => {
  opened = await openTestStore('sqlite');
});
afterAll(() => opened.stop());

test('nodes write what they did; the first one writes what all share; the history has both without gaps', async () => {
  const { store } = opened;
  let now = 1_800_000_000;
  const clock = { ...systemClock, unix: () => now };
  const node = (nodeId: string, unfinished: number) => {
    const stats = { polls: 100, running: 0, waiting: 0 };
    const tasks = {
      stats: () => stats,
      queueDepth: () => Promise.resolve({ unfinished, due: 1, latestLatenessMs: -5 }),
    };
    return { stats, sample: createSampler({ store, clock, nodeId, tasks: tasks as never, takeMaxLag: () => 12.6 }) };
  };
  const [a, b] = [node('a', 3), node('b', 99)];
  a.stats.polls = 110;
  b.stats.polls = 105;
  // A timer that fires a second early or late writes the same sample.
  now += 299;
  await a.sample();
  now += 2;
  await b.sample();
  a.stats.polls = 111;
  now += 299;
  await a.sample();

  const { step_seconds, points, backups } = await describeSystemHistory({ store, clock }, 24);
  expect([step_seconds, points.length, backups]).toEqual([600, 144, []]);
  const [latest, before] = [points.at(-2), points.at(-3)];
  expect(latest).toEqual({
    ...{ at: 1_800_000_000, polls: 16, lag_ms: 13, unfinished: 3, due: 1, lateness_ms: 0 },
    database_bytes: expect.any(Number),
  });
  expect(before).toMatchObject({ polls: null, unfinished: null });
  const week = await describeSystemHistory({ store, clock }, 168);
  expect([week.step_seconds, week.points.length]).toEqual([3600, 168]);
});
