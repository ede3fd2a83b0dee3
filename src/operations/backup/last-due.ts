import { isoTime } from '../../kernel/index.ts';
import type { BackupRun } from '../../store/ports/index.ts';

/** A failed run of the schedule is tried again after this. */
export const RETRY_SECONDS = 3600;

const DAY_SECONDS = 86_400;

/** `id` names the run of that day; `at` is when it was due, in Unix seconds. */
export type DueBackup = { id: string; at: number };

/**
 * The latest moment at which a daily backup was due. Days are those of UTC: nodes in two time zones
 * share one day, and no day has an hour twice.
 */
export function lastDue(now: number, hour: number): DueBackup {
  const today = Math.floor(now / DAY_SECONDS) * DAY_SECONDS + hour * 3600;
  const at = today <= now ? today : today - DAY_SECONDS;
  return { id: nameRun(at), at };
}

/** The id of the run that follows. */
export const nameNextRun = ({ at }: DueBackup): string => nameRun(at + DAY_SECONDS);

const nameRun = (at: number): string => `daily ${isoTime(at * 1000).slice(0, 10)}`;

/**
 * Whether the backup that was due was made, or a later one: a clock that steps back repeats none.
 * One that is more than a day ahead of what was due was made under a wrong clock, and does not
 * count.
 */
export const isMade = (runs: readonly BackupRun[], { id, at }: DueBackup): boolean =>
  runs.some(
    (run) =>
      run.status === 'done' &&
      (run.id === id || (run.trigger === 'schedule' && run.startedAt >= at && run.startedAt < at + 2 * DAY_SECONDS)),
  );
