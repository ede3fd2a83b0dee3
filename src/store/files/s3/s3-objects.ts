import { err, quoted, sentence, toSentence } from '../../../kernel/index.ts';
import { storeErrors } from '../../drivers/errors.ts';
import type { ObjectStore } from '../../ports/index.ts';
import { toFileFault, writeHashed } from '../write-file.ts';
import { expectAnswer, findChildren, openBucket, readList, readText } from './call-bucket.ts';
import type { S3FilesOptions } from './s3-files.ts';
import { abortOldUploads, uploadFile, withSpoolFile } from './upload-file.ts';

const PAGE = 1000;

export type S3ObjectsOptions = S3FilesOptions & {
  /** Whether a key below the prefix belongs here; uploads of others are not aborted. */
  isOwn: (key: string) => boolean;
};

/**
 * Backups as named files in a bucket, `PREFIX/key`. All but `put` reject with
 * `store.backups_unavailable`.
 */
export function createS3Objects(options: S3ObjectsOptions): ObjectStore {
  const { location, spoolFolder, minFreeBytes, partBytes, isOwn } = options;
  const bucket = openBucket(options);

  return {
    async put(key, source, { signal }) {
      try {
        return await withSpoolFile(spoolFolder, async (handle) => {
          const limit = { maxBytes: Number.POSITIVE_INFINITY, signal, minFreeBytes, folder: spoolFolder };
          const written = await writeHashed(handle, source, limit);
          if (!written.ok) return written;
          const upload = { handle, file: written.value, key, sse: location.sse, ...(partBytes ? { partBytes } : {}) };
          const sent = await uploadFile(bucket, upload, signal);
          return sent.ok ? written : err({ kind: sent.error.kind, ...toSentence(sent.error) });
        });
      } catch (error) {
        const fault = toFileFault(error);
        if (fault) return err(fault);
        throw error;
      }
    },

    async open(key) {
      const found = await bucket.call({ method: 'GET', key });
      if (!found.ok && found.error.status === 404 && found.error.code !== 'NoSuchBucket') return undefined;
      return expectAnswer(found, unavailable).stream();
    },

    async list(folder) {
      const prefix = `${bucket.keyPrefix}${folder === '' ? '' : `${folder}/`}`;
      const files: string[] = [];
      const folders: string[] = [];
      let token = '';
      do {
        const query = {
          'list-type': '2',
          'encoding-type': 'url',
          'max-keys': String(PAGE),
          prefix,
          delimiter: '/',
          ...(token === '' ? {} : { 'continuation-token': token }),
        };
        const page = await readList(bucket, query, unavailable);
        const below = (key: string) => decodeURIComponent(key.replaceAll('+', ' ')).slice(prefix.length);
        for (const item of findChildren(page, 'Contents')) files.push(below(readText(item, 'Key')));
        for (const item of findChildren(page, 'CommonPrefixes'))
          folders.push(below(readText(item, 'Prefix')).replace(/\/$/, ''));
        token = readText(page, 'IsTruncated') === 'true' ? readText(page, 'NextContinuationToken') : '';
      } while (token !== '');
      return { files: files.filter((name) => name !== '').sort(), folders: folders.sort() };
    },

    async delete(key) {
      const deleted = await bucket.call({ method: 'DELETE', key });
      if (!deleted.ok && deleted.error.code === 'NoSuchKey') return;
      expectAnswer(deleted, undeletable).discard();
    },

    sweep: (before) => abortOldUploads(bucket, { before, isOwn }, unavailable),
  };
}

const unavailable = (reason: string): Error =>
  storeErrors.backups_unavailable({
    message: sentence('backup.unreadable_place', { fault: quoted(reason) }),
    cause: new Error(reason),
  });

const undeletable = (reason: string): Error =>
  storeErrors.backups_unavailable({
    message: sentence('backup.undeletable', { fault: quoted(reason) }),
    cause: new Error(reason),
  });
