import { describe, expect, test } from 'bun:test';
import type { Clock } from '../../src/kernel/index.ts';
import type { RetentionStep } from '../../src/operations/retention/retention-steps.ts';
import { createRetention, isQuietHour } from '../../src/operations/retention/run-retention.ts';
import { recordingLogger } from '../http/kit-harness.ts';

const DAY = 86_400;
const at = (hour: number) => Date.UTC(2026, 5, 15, hour, 30) / 1000;

/** A gateway without work of its own; `rows` are left to remove, and a row takes `msPerRow`. */
function stage({ hour = 3, rows = 1000, msPerRow = 0.1, isBusy = false, lastRun = 0 } = {}) {
  let [nowMs, monotonicMs] = [at(hour) * 1000, 0];
  const pass = (ms: number) => {
    nowMs += ms;
    monotonicMs += ms;
  };
  const sleeps: number[] = [];
  const clock: Clock = {
    nowMs: () => nowMs,
    unix: () => Math.floor(nowMs / 1000),
    monotonicMs: () => monotonicMs,
    async sleep(ms) {
      sleeps.push(ms);
      pass(ms);
    },
  };
  const left = { rows, urgent: 10 };
  const limits: number[] = [];
  const step = (name: 'rows' | 'urgent'): RetentionStep => ({
    step: name,
    async run(limit) {
      limits.push(limit);
      const walked = Math.min(limit, left[name]);
      left[name] -= walked;
      pass(walked * msPerRow);
      return { walked, changed: walked };
    },
  });
  let progress = { position: 0, skipped: 0, at: lastRun };
  const { logger, lines } = recordingLogger();
  const retention = createRetention({
    store: {
      exclusively: (_name, work) => work(),
      retention: {
        progress: async () => progress,
        saveProgress: async (_name: string, next: typeof progress) => {
          progress = next;
        },
      } as never,
    },
    clock,
    logger,
    isBusy: () => isBusy,
    quietHours: () => ({ startHour: 2, hours: 4, zone: 'UTC' }),
    urgentSteps: async () => [step('urgent')],
    steps: async () => [step('rows')],
  });
  return { retention, left, limits, sleeps, lines, pass, lastRun: () => progress.at };
}

describe('the retention', () => {
  test('runs once a day at its quiet hours; what deleted accounts have left goes at any hour', async () => {
    const day = stage({ hour: 12 });
    await day.retention.run();
    expect(day.left).toEqual({ rows: 1000, urgent: 0 });
    day.pass(15 * 3600 * 1000);
    await day.retention.run();
    expect(day.left.rows).toBe(0);
    day.left.rows = 5;
    await day.retention.run();
    expect(day.left.rows).toBe(5);
    day.pass(DAY * 1000);
    await day.retention.run();
    expect(day.left.rows).toBe(0);
  });

  test('runs at any hour once it is two days late: a gateway may be off at night', async () => {
    const late = stage({ hour: 12, lastRun: at(12) - 3 * DAY });
    await late.retention.run();
    expect(late.left.rows).toBe(0);
  });

  test.each([
    [8 * 3600, 1000],
    [365 * DAY, 0],
  ])(
    'a clock that is set back repeats no run, and one that was a year ahead suppresses none: %d s',
    async (ahead, left) => {
      const back = stage({ hour: 3, lastRun: at(3) + ahead });
      await back.retention.run();
      expect(back.left.rows).toBe(left);
    },
  );

  test('stops when the quiet hours end, and is not done then', async () => {
    const slow = stage({ hour: 5, rows: 1_000_000, msPerRow: 10, lastRun: at(5) - DAY });
    await slow.retention.run();
    expect(slow.left.rows).toBeGreaterThan(0);
    expect(slow.lastRun()).toBe(at(5) - DAY);
  });

  test('takes small batches and long rests while requests arrive', async () => {
    const [idle, busy] = [stage({ rows: 20_000 }), stage({ rows: 20_000, isBusy: true })];
    for (const { retention } of [idle, busy]) await retention.run();
    expect(Math.max(...idle.limits)).toBe(200);
    expect(Math.max(...busy.limits)).toBeLessThan(200);
    expect(Math.min(...busy.sleeps)).toBeGreaterThanOrEqual(150);
  });

  test('a stop ends it after the batch, and a step that fails is tried in the next run', async () => {
    const stopped = stage({ lastRun: at(3) - DAY });
    const stopping = new AbortController();
    stopping.abort();
    await stopped.retention.run(stopping.signal);
    expect(stopped.left.rows).toBe(1000);
  });
});

test('quiet hours may pass midnight', () => {
  const hours = Array.from({ length: 24 }, (_, hour) => hour);
  const quiet = (startHour: number, length: number) =>
    hours.filter((hour) => isQuietHour(at(hour), { startHour, hours: length, zone: 'UTC' }));
  expect(quiet(22, 4)).toEqual([0, 1, 22, 23]);
  expect(quiet(5, 24)).toEqual(hours);
});

test('quiet hours are those of the time zone that is set, whatever that of the machine', () => {
  const quiet = (zone: string, hour: number) => isQuietHour(at(hour), { startHour: 2, hours: 4, zone });
  // 21:30 in UTC is 3:00 in Kolkata.
  expect([quiet('Asia/Kolkata', 21), quiet('Asia/Kolkata', 3), quiet('UTC', 21)]).toEqual([true, false, false]);
});
