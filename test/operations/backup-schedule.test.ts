import { describe, expect, test } from 'bun:test';
import { hasRun, latestDueBackup } from '../../src/operations/backup/due-backups.ts';
import { chooseKept } from '../../src/operations/backup/prune-backups.ts';
import type { Manifest } from '../../src/operations/backup/types.ts';
import type { BackupRun, BackupTrigger } from '../../src/store/ports/index.ts';

const DAY = 86_400;
/** 2026-03-01T03:00:00Z, a Sunday. */
const START = Date.UTC(2026, 2, 1, 3) / 1000;

const backup = (day: number, trigger: BackupTrigger = 'schedule') =>
  ({ id: `day ${day}`, created_at: START + day * DAY, trigger }) as Manifest;
const kept = (backups: Manifest[], keep: Parameters<typeof chooseKept>[1], today = 100) =>
  backups
    .filter(({ id }) => chooseKept(backups, keep, START + today * DAY).has(id))
    .map(({ id }) => Number(id.slice(4)));

describe('which backups stay', () => {
  const all = Array.from({ length: 100 }, (_, day) => backup(day));

  test('the newest of days, weeks and months', () => {
    expect(kept(all, { daily: 3, weekly: 0, monthly: 0 })).toEqual([97, 98, 99]);
    // Weeks begin on Monday: day 0 and every seventh after it are Sundays.
    expect(kept(all, { daily: 1, weekly: 3, monthly: 0 })).toEqual([91, 98, 99]);
    expect(kept(all, { daily: 1, weekly: 0, monthly: 3 })).toEqual([60, 91, 99]);
  });

  test('days without a backup do not count', () => {
    expect(kept([backup(0), backup(50), backup(99)], { daily: 2, weekly: 0, monthly: 0 })).toEqual([50, 99]);
  });

  test('those of a clock that was a year ahead stay, and take no place of a present backup', () => {
    const wrong = Array.from({ length: 10 }, (_, day) => backup(365 + day));
    const right = Array.from({ length: 10 }, (_, day) => backup(day));
    expect(kept([...wrong, ...right], { daily: 2, weekly: 0, monthly: 0 }, 9)).toEqual([
      ...wrong.map((_, day) => 365 + day),
      ...[8, 9],
    ]);
  });

  test('those made by hand, and always the newest', () => {
    expect(kept([backup(0, 'manual'), backup(1), backup(2), backup(3)], { daily: 1, weekly: 0, monthly: 0 })).toEqual([
      0, 3,
    ]);
    expect(kept([], { daily: 1, weekly: 1, monthly: 1 })).toEqual([]);
  });
});

test('a backup is due from its hour in UTC on, until the next day at that hour', () => {
  const at = (hour: number, minute: number) => Date.UTC(2026, 4, 10, hour, minute) / 1000;
  expect(latestDueBackup(at(3, 0), 3)).toEqual({ id: 'daily 2026-05-10', at: at(3, 0) });
  expect(latestDueBackup(at(23, 59), 3).id).toBe('daily 2026-05-10');
  expect(latestDueBackup(at(2, 59), 3)).toEqual({ id: 'daily 2026-05-09', at: at(3, 0) - DAY });
});

test.each(['Asia/Tokyo', 'America/Los_Angeles', 'Europe/Berlin'])('a node in %s has the day of all others', (zone) => {
  const own = process.env.TZ;
  process.env.TZ = zone;
  try {
    // The night in which Berlin has an hour twice.
    for (let hour = 0; hour < 48; hour += 1) {
      const now = Date.UTC(2026, 9, 24, hour) / 1000;
      const day = hour < 3 ? '23' : hour < 27 ? '24' : '25';
      expect(latestDueBackup(now, 3).id).toBe(`daily 2026-10-${day}`);
    }
  } finally {
    if (own === undefined) delete process.env.TZ;
    else process.env.TZ = own;
  }
});

test('a clock that steps back repeats no backup, and one that was far ahead suppresses none', () => {
  const run = (startedAt: number) => ({ id: 'x', trigger: 'schedule', status: 'done', startedAt }) as BackupRun;
  const due = latestDueBackup(START, 3);
  expect(hasRun([run(due.at - 1)], due)).toBe(false);
  expect(hasRun([run(due.at + DAY)], due)).toBe(true);
  expect(hasRun([run(due.at + 2 * DAY)], due)).toBe(false);
  expect(hasRun([{ ...run(due.at), trigger: 'manual' }], due)).toBe(false);
  expect(hasRun([{ ...run(due.at), status: 'failed' }], due)).toBe(false);
});
