import {
  CLOCK_LEEWAY_SECONDS,
  isObject,
  isoTime,
  parseJson,
  quoted,
  type Sentence,
  sentence,
} from '../../kernel/index.ts';
import type { BackupRun, Store } from '../../store/ports/index.ts';

/** A failed run of the schedule is tried again after this. */
export const RETRY_SECONDS = 3600;

const DAY_SECONDS = 86_400;

/** `id` names the run of that day; `at` is when it was due, in Unix seconds. */
export type DueBackup = { id: string; at: number };

/**
 * The latest moment at which a daily backup was due. Days are those of UTC: nodes in two time zones
 * share one day, and no day has an hour twice. `prune-backups.ts` decides which stay,
 * `backup-schedule.ts` when one is overdue.
 */
export function latestDueBackup(now: number, hour: number): DueBackup {
  const today = Math.floor(now / DAY_SECONDS) * DAY_SECONDS + hour * 3600;
  const at = today <= now ? today : today - DAY_SECONDS;
  return { id: nameRun(at), at };
}

/** The id of the run that follows. */
const nameNextRun = ({ at }: DueBackup): string => nameRun(at + DAY_SECONDS);

const nameRun = (at: number): string => `daily ${isoTime(at * 1000).slice(0, 10)}`;

/**
 * Whether the backup that was due was made, or a later one: a clock that steps back repeats none.
 * One that is more than a day ahead of what was due was made under a wrong clock, and does not
 * count.
 */
export const hasRun = (runs: readonly BackupRun[], { id, at }: DueBackup): boolean =>
  runs.some(
    (run) =>
      run.status === 'done' &&
      (run.id === id || (run.trigger === 'schedule' && run.startedAt >= at && run.startedAt < at + 2 * DAY_SECONDS)),
  );

/** Stored as options that the catalogue does not list: all nodes share them. */
const SINCE = 'backup.daily_since';
const TOLD = { failed: 'backup.told_failed', overdue: 'backup.told_overdue' };

/** Why old backups could not be removed after the latest one; empty: they could. */
const NOT_PRUNED = 'backup.not_pruned';

type Options = Pick<Store['options'], 'get' | 'put' | 'putIfAbsent' | 'replace'>;

/** Notes when backups by schedule began, and forgets it once they are off. */
export async function noteSchedule(options: Options, isOn: boolean, now: number): Promise<void> {
  const noted = await options.get(SINCE);
  // A time from the future was noted before the clock was set back.
  const isKnown = noted !== undefined && noted !== '' && Number(noted) <= now + CLOCK_LEEWAY_SECONDS;
  if (isOn) await write(options, SINCE, isKnown ? noted : String(now));
  else if (noted) await options.put(SINCE, '');
}

/** When backups became daily, in Unix seconds; 0: they are not daily, or this is not known yet. */
export const scheduledSince = async (options: Pick<Options, 'get'>): Promise<number> =>
  Number((await options.get(SINCE)) ?? '');

/**
 * Whether nobody has been told of today's run yet; only one of several nodes that ask gets true. A
 * clock that is set back to the day before tells nobody again.
 */
export async function claimNotification(options: Options, what: keyof typeof TOLD, run: DueBackup): Promise<boolean> {
  if ((await options.get(TOLD[what])) === nameNextRun(run)) return false;
  return write(options, TOLD[what], run.id);
}

/** Returns whether this call has changed the value. */
async function write(options: Options, key: string, value: string): Promise<boolean> {
  const before = await options.get(key);
  if (before === value) return false;
  return before === undefined ? options.putIfAbsent(key, value) : options.replace(key, before, value);
}

/** `fault`: safe to show; undefined: old backups were removed. */
export async function notePruning(options: Options, fault: Sentence | undefined): Promise<void> {
  if (fault || (await options.get(NOT_PRUNED))) await write(options, NOT_PRUNED, fault ? JSON.stringify(fault) : '');
}

/** Why old backups stay; undefined: nothing is known of that. */
export async function pruningFault(options: Pick<Options, 'get'>): Promise<Sentence | undefined> {
  const noted = await options.get(NOT_PRUNED);
  if (!noted) return undefined;
  const fault = parseJson(noted);
  // An older version noted only the text.
  return isObject(fault) ? (fault as Sentence) : quoted(noted);
}

export const describeNotPruned = (fault: Sentence): Sentence => sentence('backup.latest_not_pruned', { fault });
