import { readdir, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { OperatorError, randomAlnum, sentence, toSentence } from '../../kernel/index.ts';
import { createFolderFiles, createFolderObjects, createS3Files, createS3Objects } from '../../store/index.ts';
import type { Store, StoredFile } from '../../store/ports/index.ts';
import { isResultPlace, openBucketSender, type StorageLocation } from '../storage/result-files.ts';
import { isBackupId, RESULTS_FOLDER } from './manifest.ts';
import type { BackupConfig, BackupDeps, BackupLocation } from './types.ts';

/** In the data directory: copies and uploads of a backup in the making. */
export const WORK_FOLDER = 'taskgate.backup';

/** The folder of a verification, where a killed one leaves a whole database. */
const VERIFYING = /^taskgate\.backup\.[A-Za-z0-9]{8}$/;
const STALE_SECONDS = 86_400;

export const newVerifyFolder = (dataDir: string): string => join(dataDir, `${WORK_FOLDER}.${randomAlnum(8)}`);

/** Removes what verifications have left that were killed more than a day ago. */
export async function removeStaleWork(dataDir: string, now: number): Promise<void> {
  const names = await readdir(dataDir).catch(() => []);
  for (const name of names.filter((each) => VERIFYING.test(each))) {
    const path = join(dataDir, name);
    const changedAt = (await stat(path)).mtimeMs / 1000;
    if (changedAt < now - STALE_SECONDS) await rm(path, { recursive: true, force: true });
  }
}

/** Opens a backup location. @throws `OperatorError` for a bucket without credentials */
export function openBackupLocation(
  { config, clock, logger }: Pick<BackupDeps, 'config' | 'clock' | 'logger'>,
  location: StorageLocation,
): BackupLocation {
  if (location.kind === 'folder') {
    const folder = resolve(location.path);
    return {
      name: folder,
      folder,
      objects: createFolderObjects(folder),
      results: createFolderFiles({ folder: join(folder, RESULTS_FOLDER), minFreeBytes: 0 }),
      close: async () => {},
    };
  }
  const credentials = { accessKeyId: config.backupS3KeyId, secretAccessKey: config.backupS3Secret };
  if (credentials.accessKeyId === '' || credentials.secretAccessKey === '') {
    throw new OperatorError(sentence('backup.no_s3_keys'));
  }
  const { send, close } = openBucketSender(location, { config, clock, logger, transfers: 4 });
  const options = {
    credentials,
    send,
    clock,
    spoolFolder: join(resolve(config.dataDir), WORK_FOLDER, 'upload'),
    minFreeBytes: 0,
  };
  const prefix = location.prefix === '' ? RESULTS_FOLDER : `${location.prefix}/${RESULTS_FOLDER}`;
  return {
    name: `s3://${location.bucket}${location.prefix === '' ? '' : `/${location.prefix}`}`,
    folder: undefined,
    objects: createS3Objects({ ...options, location, isOwn: (key) => isBackupId(key.split('/')[0] ?? '') }),
    results: createS3Files({ ...options, location: { ...location, prefix } }),
    close,
  };
}

/** Where BACKUP_TO leads, safe to show; null: it is not set. */
export function describeLocation({ backupTo: location }: Pick<BackupConfig, 'backupTo'>): string | null {
  if (location.kind === 'folder') return location.path || null;
  return `s3://${location.bucket}${location.prefix === '' ? '' : `/${location.prefix}`}`;
}

/** Runs that are looked through. A failed day has one row, so that is more than a year. */
const LOOKED_AT = 400;

/**
 * A folder whose disk is not mounted looks like a new one, and backups would go to the very disk
 * whose loss they are for. So a folder that has held a backup of this database must still hold one.
 * @throws `OperatorError` where it holds none
 */
export async function requireKnownFolder(
  { backups }: Pick<Store, 'backups'>,
  { folder, name, objects }: Pick<BackupLocation, 'folder' | 'name' | 'objects'>,
): Promise<void> {
  if (folder === undefined) return;
  const isKnown = (await backups.latest(LOOKED_AT)).some(({ status, place }) => status === 'done' && place === name);
  if (!isKnown) return;
  if ((await objects.list('')).folders.some(isBackupId)) return;
  throw new OperatorError(sentence('backup.not_mounted', { place: name }));
}

/**
 * Backups must not keep results in the very place where the gateway has its own: a lost result
 * would have no copy, and pruning the backups would delete results.
 * @throws `OperatorError` where they would
 */
export function requireSeparateResults(config: BackupConfig, to: StorageLocation): void {
  const there =
    to.kind === 'folder'
      ? { ...to, path: join(to.path, RESULTS_FOLDER) }
      : { ...to, prefix: to.prefix === '' ? RESULTS_FOLDER : `${to.prefix}/${RESULTS_FOLDER}` };
  if (!isResultPlace(config, there)) return;
  const place = there.kind === 'folder' ? there.path : `s3://${there.bucket}/${there.prefix}`;
  throw new OperatorError(sentence('backup.results_place', { place }));
}

/** Stores a file of a backup. @throws `OperatorError` when the location does not take it */
export async function putPart(
  { location, signal }: Pick<BackupDeps, 'location' | 'signal'>,
  key: string,
  source: AsyncIterable<Uint8Array>,
): Promise<StoredFile> {
  const put = await location.objects.put(key, source, { signal });
  if (put.ok) return put.value;
  throw new OperatorError(sentence('backup.write', { place: location.name, fault: toSentence(put.error) }));
}

/** A text as a source of bytes. */
export async function* toByteStream(content: string | Uint8Array): AsyncGenerator<Uint8Array> {
  yield typeof content === 'string' ? Buffer.from(content) : content;
}
