import { isoTime } from '../../kernel/index.ts';
import { isBackupId, isPast, listBackups, MANIFEST, UNFINISHED_SECONDS } from './manifest.ts';
import { listResults } from './read-parts.ts';
import type { BackupLocation, Manifest } from './types.ts';

export type Keep = { daily: number; weekly: number; monthly: number };
type Pruning = {
  keep: Keep;
  /** Only backups of this one go: others may use the same location. */
  installation: string;
  /** Unix seconds. */
  now: number;
};

const DAY_SECONDS = 86_400;
/** 1970-01-05 was a Monday. */
const FIRST_MONDAY = 4;
const PAGE = 1000;
/** Files that are deleted before the location is checked again. */
const AT_ONCE = 20;

/**
 * Which backups stay: all that were made by hand, and the newest scheduled one of each of the last
 * days, weeks and months that have one. `due-backups.ts` decides when one is made. `now`: Unix
 * seconds.
 */
export function chooseKept(backups: readonly Manifest[], { daily, weekly, monthly }: Keep, now: number): Set<string> {
  const newestFirst = [...backups].sort((a, b) => b.created_at - a.created_at || (a.id < b.id ? 1 : -1));
  // One from the future was made by a wrong clock: it stays, and takes no other's place.
  const isChosen = (backup: Manifest) => backup.trigger === 'schedule' && isPast(backup, now);
  const kept = new Set(newestFirst.filter((backup) => !isChosen(backup)).map(({ id }) => id));
  const scheduled = newestFirst.filter(isChosen);
  const periods: [number, (at: number) => string | number][] = [
    [daily, (at) => Math.floor(at / DAY_SECONDS)],
    [weekly, (at) => Math.floor((at / DAY_SECONDS - FIRST_MONDAY) / 7)],
    [monthly, (at) => isoTime(at * 1000).slice(0, 7)],
  ];
  for (const [count, toPeriod] of periods) {
    const seen = new Set<string | number>();
    for (const { id, created_at } of scheduled) {
      const period = toPeriod(created_at);
      if (seen.has(period)) continue;
      if (seen.size >= count) break;
      seen.add(period);
      kept.add(id);
    }
  }
  const newest = newestFirst.find((backup) => isPast(backup, now));
  if (newest) kept.add(newest.id);
  return kept;
}

/**
 * Removes the backups that need not stay, what interrupted ones left, and the files of kept results
 * that no backup lists any more. The manifest of a backup goes first: without it the backup no
 * longer exists. Another installation may begin a backup now, which counts on files that it finds:
 * files go only while no other backup has appeared, and a backup looks for its files once more
 * before it counts. Returns how many backups went.
 */
export async function pruneBackups(location: BackupLocation, { keep, installation, now }: Pruning): Promise<number> {
  const { backups, unfinished, unreadable } = await listBackups(location);
  const [own, foreign] = [true, false].map((isOwn) =>
    backups.filter((each) => (each.installation === installation) === isOwn),
  );
  const kept = chooseKept(own ?? [], keep, now);
  for (const { id } of foreign ?? []) kept.add(id);
  const removed = backups.filter(({ id }) => !kept.has(id)).map(({ id }) => id);
  const old = unfinished.filter((id) => readSeconds(id) < now - UNFINISHED_SECONDS);
  for (const id of [...removed, ...old]) await removeFiles(location, id);
  await location.results.sweep(now - UNFINISHED_SECONDS);
  // What cannot be read may list any file, and one in the making counts on what it has found.
  if (removed.length > 0 && unreadable.length === 0 && unfinished.length === old.length) {
    const staying = backups.filter(({ id }) => kept.has(id));
    await removeUnlisted(location, { staying, now, known: new Set(backups.map(({ id }) => id)) });
  }
  return removed.length;
}

async function removeFiles({ objects }: BackupLocation, id: string): Promise<void> {
  await objects.delete(`${id}/${MANIFEST}`);
  for (const file of (await objects.list(id)).files) await objects.delete(`${id}/${file}`);
}

type Unlisted = { staying: readonly Manifest[]; now: number; known: ReadonlySet<string> };

async function removeUnlisted(location: BackupLocation, { staying, now, known }: Unlisted): Promise<void> {
  const listed = new Set<string>();
  for (const manifest of staying) for await (const { sha256 } of listResults(location, manifest)) listed.add(sha256);
  for (let after = ''; ; ) {
    const page = await location.results.list(after, PAGE);
    const last = page.at(-1);
    if (!last) return;
    after = last.sha256;
    const unlisted = page.filter((file) => !listed.has(file.sha256) && file.changedAt < now - UNFINISHED_SECONDS);
    for (let at = 0; at < unlisted.length; at += AT_ONCE) {
      const { folders } = await location.objects.list('');
      if (folders.some((id) => isBackupId(id) && !known.has(id))) return;
      for (const { sha256 } of unlisted.slice(at, at + AT_ONCE)) await location.results.delete(sha256);
    }
  }
}

/** When a backup with this id was begun, in Unix seconds. */
function readSeconds(id: string): number {
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/.exec(id) ?? [];
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`) / 1000;
}
