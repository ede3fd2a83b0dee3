import { expect, test } from 'bun:test';
import { type Logger, silentLogger } from '../../src/kernel/index.ts';
import { compareClocks, createClockCheck } from '../../src/operations/watches/watch-clock.ts';
import { createMovableClock } from '../support/movable-clock.ts';

const HOUR = 3_600_000;

function openCheck(dialect: 'sqlite' | 'postgres') {
  const clock = createMovableClock();
  let databaseMs = 0;
  const store = {
    dialect,
    clock: {
      nowMs: async () => clock.nowMs() + databaseMs,
      latestWriteAt: async () => 0,
      moveDeadlines: async () => {},
    },
  };
  const lines: string[] = [];
  const note = (_fields: object, message: string) => void lines.push(message);
  const logger: Logger = { ...silentLogger, warn: note, info: note };
  const check = createClockCheck({ store, clock, logger });
  let runs = 0;
  const work = check.holdBack({
    run: async () => {
      runs += 1;
    },
  });
  return {
    clock,
    check,
    lines,
    setDatabase: (byMs: number) => {
      databaseMs = byMs;
    },
    async removes() {
      const before = runs;
      await work.run();
      return runs > before;
    },
  };
}

test('a clock that is set ahead by a year removes nothing for an hour, and is told once', async () => {
  const { clock, check, lines, removes } = openCheck('sqlite');
  expect(await removes()).toBe(true);
  clock.set(365 * 24 * HOUR);
  expect([await removes(), await removes()]).toEqual([false, false]);
  expect(check.faults()).toMatchObject([{ code: 'clock_stepped' }]);
  expect(lines).toHaveLength(1);
  // A small correction does not hide the large step before it.
  clock.set(6_000);
  expect(await removes()).toBe(false);
  clock.pass(HOUR);
  expect(await removes()).toBe(true);
  expect(check.faults()).toEqual([]);
});

test('how long the database takes to answer is not a difference of the clocks', async () => {
  const clock = createMovableClock();
  const nowMs = async () => {
    clock.pass(70_000);
    const readMs = clock.nowMs();
    clock.pass(70_000);
    return readMs;
  };
  const store = {
    dialect: 'postgres' as const,
    clock: { nowMs, latestWriteAt: async () => 0, moveDeadlines: async () => {} },
  };
  expect(Math.abs(await compareClocks({ store, clock }))).toBeLessThan(1000);
});

test('one that is set right within that hour has removed nothing, and one set back is shown for a day', async () => {
  const { clock, check, removes } = openCheck('sqlite');
  clock.set(365 * 24 * HOUR);
  expect(await removes()).toBe(false);
  clock.pass(60_000);
  clock.set(-365 * 24 * HOUR);
  expect(await removes()).toBe(true);
  const [fault] = check.faults();
  expect(fault).toMatchObject({ code: 'clock_stepped' });
  // A millisecond may pass between its readings of both clocks.
  expect(Math.round((fault?.byMs ?? 0) / 1000)).toBe((-365 * 24 * HOUR) / 1000);
  clock.pass(24 * HOUR);
  expect(check.faults()).toEqual([]);
});

test('a suspend of some minutes holds nothing back', async () => {
  const { clock, check, removes } = openCheck('sqlite');
  clock.set(31_000);
  expect(await removes()).toBe(true);
  expect(check.faults()).toEqual([]);
});

test("a node whose clock differs from the database's removes nothing, and says so once", async () => {
  const { check, lines, removes, setDatabase } = openCheck('postgres');
  expect(await removes()).toBe(true);
  for (const byMs of [-365 * 24 * HOUR, 8 * HOUR]) {
    setDatabase(byMs);
    expect([await removes(), await removes()]).toEqual([false, false]);
    expect(check.faults()).toMatchObject([{ code: 'clock_differs' }]);
  }
  setDatabase(-6000);
  // Sessions break long before it matters for what is old.
  expect([await removes(), check.faults()]).toEqual([true, [{ code: 'clock_differs', byMs: expect.any(Number) }]]);
  expect(Math.round(check.aheadMs() / 1000)).toBe(6);
  setDatabase(500);
  expect(await removes()).toBe(true);
  expect(check.faults()).toEqual([]);
  expect(lines).toHaveLength(2);
});
