/** The manifest of a backup: its parts, its id, and which backups a location has. */
import { isObject, isoTime, newUuid, OperatorError, parseJson, pluralize, randomAlnum } from '../../kernel/index.ts';
import { LATEST_MIGRATION } from '../../store/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { readBytes } from './streams.ts';
import type { BackupLocation, Manifest } from './types.ts';

const DAY_SECONDS = 86_400;

export const MANIFEST = 'manifest.json';
export const SECRETS_PART = 'secrets.age';
export const RESULTS_PART = 'results.txt';
/** In a backup. The data directory has a name of its own for them. */
export const RESULTS_FOLDER = 'results';
/** Files that an unfinished backup may have stored stay at least this long. */
export const UNFINISHED_SECONDS = 2 * DAY_SECONDS;
/** A manifest has some 1 KB. */
const MAX_BYTES = 64 * 1024;
const ID = /^\d{8}T\d{6}Z-[A-Za-z0-9]{6}$/;
const DIGEST = /^[0-9a-f]{64}$/;
/** A manifest may give its parts names like this. */
const PART = /^[a-z]{1,20}(?:\.[a-z]{1,10}){0,3}$/;

/** Ids sort as their times. */
export const newBackupId = (nowMs: number): string => `${isoTime(nowMs).replace(/[-:]|\.\d+/g, '')}-${randomAlnum(6)}`;

export const isBackupId = (text: string): boolean => ID.test(text);

/**
 * The manifest of a backup; undefined: it does not exist, or its making did not end.
 * @throws `OperatorError` when it cannot be understood
 */
async function readManifest({ objects }: BackupLocation, id: string): Promise<Manifest | undefined> {
  const stream = isBackupId(id) ? await objects.open(`${id}/${MANIFEST}`) : undefined;
  if (!stream) return undefined;
  const bytes = await readBytes(stream, MAX_BYTES);
  const value = bytes && parseJson(Buffer.from(bytes).toString('utf8'));
  if (isObject(value) && typeof value.format === 'number' && value.format > 1) throw newer(id, String(value.version));
  if (!isManifest(value) || value.id !== id) throw new OperatorError(`the manifest of the backup ${id} is damaged`);
  return value;
}

/** @throws `OperatorError` when a newer version has made the backup */
export function requireKnownLayout({ id, version, database }: Manifest): void {
  if (database.migration > LATEST_MIGRATION) throw newer(id, version);
}

const newer = (id: string, version: string) =>
  new OperatorError(
    `the backup ${id} was made by the newer version ${version.slice(0, 40)}: use that version of taskgate, or a later one`,
  );

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

const isPart = (value: unknown): value is Record<string, unknown> =>
  isObject(value) &&
  typeof value.file === 'string' &&
  PART.test(value.file) &&
  isCount(value.bytes) &&
  DIGEST.test(String(value.sha256));

function isManifest(value: unknown): value is Manifest {
  if (!isObject(value) || value.format !== 1 || !isCount(value.created_at)) return false;
  const { database, counts, secrets, results } = value;
  const texts = [value.id, value.trigger, value.version, value.installation];
  if (texts.some((text) => typeof text !== 'string' || text.length > 200)) return false;
  if (!isPart(database) || !isCount(database.migration)) return false;
  const { kind, unpacked } = database;
  if (kind === 'sqlite') {
    if (!isObject(unpacked) || !isCount(unpacked.bytes) || !DIGEST.test(String(unpacked.sha256))) return false;
  } else if (kind !== 'postgres') return false;
  if (!isObject(counts) || !/^-?\d{1,40}$/.test(String(counts.ledger_sum))) return false;
  if (![counts.users, counts.tasks, counts.ledger_entries].every(isCount)) return false;
  if (secrets !== null && !isPart(secrets)) return false;
  return isPart(results) && isCount(results.count) && isCount(results.total_bytes) && isCount(results.missing);
}

/** The backups of a location, the newest first. `unfinished`: ids without a manifest. */
export async function listBackups(location: BackupLocation): Promise<{
  backups: Manifest[];
  unfinished: string[];
  /** Ids whose manifest cannot be understood, with the reason. */
  unreadable: { id: string; reason: string }[];
}> {
  const { folders } = await location.objects.list('');
  const backups: Manifest[] = [];
  const unfinished: string[] = [];
  const unreadable: { id: string; reason: string }[] = [];
  for (const id of folders.filter(isBackupId).sort().reverse()) {
    try {
      const manifest = await readManifest(location, id);
      if (manifest) backups.push(manifest);
      else unfinished.push(id);
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      unreadable.push({ id, reason: error.message });
    }
  }
  return { backups, unfinished, unreadable };
}

type Wanted = {
  /** Undefined: the newest, of those that no wrong clock has dated ahead. */
  id: string | undefined;
  /** Unix seconds. */
  now: number;
};

/**
 * The backup with this id, or the newest one.
 * @throws `OperatorError` when there is none
 */
export async function findBackup(location: BackupLocation, { id, now }: Wanted): Promise<Manifest> {
  if (id === undefined) {
    const { backups } = await listBackups(location);
    const newest = backups.find((each) => isPast(each, now)) ?? backups[0];
    if (newest) return newest;
    throw new OperatorError(`there is no backup in ${location.name}`);
  }
  const manifest = await readManifest(location, id);
  if (manifest) return manifest;
  throw new OperatorError(`there is no backup ${id.slice(0, 40)} in ${location.name}, or it was not finished`);
}

/**
 * As `findBackup`, for a restore: where several gateways use the location, the newest backup may be
 * another gateway's.
 * @throws `OperatorError` where an id must say which gateway is meant
 */
export async function findBackupToRestore(location: BackupLocation, { id, now }: Wanted): Promise<Manifest> {
  if (id !== undefined) return findBackup(location, { id, now });
  const newest = new Map<string, Manifest>();
  for (const each of (await listBackups(location)).backups)
    if (isPast(each, now) && !newest.has(each.installation)) newest.set(each.installation, each);
  const [first, ...others] = newest.values();
  if (!first) return findBackup(location, { id, now });
  if (others.length === 0) return first;
  const ids = [first, ...others].map((each) => `${each.id} (${pluralize(each.counts.tasks, 'task')})`);
  throw new OperatorError(
    `${location.name} holds backups of ${newest.size} gateways: choose one with --id. The newest of each: ${ids.join(', ')}`,
  );
}

/** Clocks of nodes differ; one that is a day ahead is wrong. */
export const isPast = ({ created_at: at }: Pick<Manifest, 'created_at'>, now: number): boolean =>
  at <= now + DAY_SECONDS;

/** Stored as an option that the catalogue does not list. A restored database gets a new one. */
const KEY = 'installation.id';

/** The id of this installation, which all its nodes share; the first that asks gives it one. */
export async function findInstallation({ options }: Pick<Store, 'options'>): Promise<string> {
  const known = await options.get(KEY);
  if (known !== undefined) return known;
  await options.putIfAbsent(KEY, newUuid());
  return (await options.get(KEY)) ?? '';
}

/** A restored database is another installation than the one that the backup was made of. */
export const renewInstallation = ({ options }: Pick<Store, 'options'>): Promise<void> => options.put(KEY, newUuid());
