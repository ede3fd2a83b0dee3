import { type Clock, err, toSentence } from '../../../kernel/index.ts';
import { resultsUnavailable } from '../../drivers/errors.ts';
import type { FileStore, StoredFile } from '../../ports/index.ts';
import { guardFileNames, isDigest } from '../guard-file-names.ts';
import { removeOldFiles, toFileFault, writeHashed } from '../write-file.ts';
import { expectAnswer, findChildren, openBucket, readList, readText } from './call-bucket.ts';
import type { BucketCredentials, BucketLocation, SendToBucket } from './types.ts';
import { abortOldUploads, uploadFile, withSpoolFile } from './upload-file.ts';

const PAGE = 1000;
/** Somebody waits for the answer. */
const READ_ATTEMPTS = 2;
/**
 * Up to this length bytes are read whole: the HTTP server sends streams chunked, without a length.
 */
const WHOLE_BYTES = 1024 * 1024;
/**
 * A file that is there is not sent again while it is younger than this. An older one may be about
 * to be deleted as a file without a result; sending it again makes it young.
 */
const FRESH_MS = 30 * 60_000;

export type S3FilesOptions = {
  location: BucketLocation;
  credentials: BucketCredentials;
  send: SendToBucket;
  clock: Clock;
  /** Files on their way into the bucket: a digest is known only at the end of its file. */
  spoolFolder: string;
  minFreeBytes: number;
  /** Larger files are sent in parts of this size. */
  partBytes?: number;
};

/** Files in a bucket, as `PREFIX/digest`. All but `put` reject with `store.results_unavailable`. */
export function createS3Files(options: S3FilesOptions): FileStore {
  const { location, clock, spoolFolder, minFreeBytes, partBytes } = options;
  const bucket = openBucket(options);

  /** Whether the file is there, and will be for a while. */
  async function isFresh({ sha256, bytes }: StoredFile, signal: AbortSignal): Promise<boolean> {
    const found = await bucket.call({ method: 'HEAD', key: sha256, attempts: 1, signal });
    // The upload that follows shows what is wrong.
    if (!found.ok) return false;
    found.value.discard();
    const { date, 'last-modified': changed, 'content-length': length } = found.value.headers;
    const now = Date.parse(date?.[0] ?? '') || clock.nowMs();
    return Number(length?.[0]) === bytes && now - Date.parse(changed?.[0] ?? '') < FRESH_MS;
  }

  return guardFileNames({
    kind: 's3',
    findFault: async () => undefined,

    async put(source, { maxBytes, signal }) {
      try {
        return await withSpoolFile(spoolFolder, async (handle) => {
          const written = await writeHashed(handle, source, { maxBytes, signal, minFreeBytes, folder: spoolFolder });
          if (!written.ok || (await isFresh(written.value, signal))) return written;
          const upload = { handle, file: written.value, sse: location.sse, ...(partBytes ? { partBytes } : {}) };
          const sent = await uploadFile(bucket, upload, signal);
          return sent.ok ? written : err({ kind: sent.error.kind, ...toSentence(sent.error) });
        });
      } catch (error) {
        const fault = toFileFault(error);
        if (fault) return err(fault);
        throw error;
      }
    },

    async open(sha256, span) {
      const headers: Record<string, string> = span ? { range: `bytes=${span.start}-${span.end - 1}` } : {};
      const found = await bucket.call({ method: 'GET', key: sha256, headers, attempts: READ_ATTEMPTS });
      if (!found.ok && found.error.code === 'NoSuchKey') return undefined;
      const answer = expectAnswer(found, resultsUnavailable);
      if (span && answer.status !== 206) {
        answer.discard();
        throw resultsUnavailable('the bucket ignores byte ranges');
      }
      const length = Number(answer.headers['content-length']?.[0] ?? Number.POSITIVE_INFINITY);
      if (length > WHOLE_BYTES) return answer.stream();
      const bytes = await answer.bytes();
      if (!bytes.ok) throw resultsUnavailable(`the bucket's response was cut off (${bytes.error.kind})`);
      return new Blob([Uint8Array.from(bytes.value)]);
    },

    async withDescriptor(sha256, { maxBytes, signal }, work) {
      const body = await this.open(sha256);
      if (!body) return undefined;
      const source = body instanceof ReadableStream ? body : body.stream();
      return withSpoolFile(spoolFolder, async (handle) => {
        const written = await writeHashed(handle, source, { maxBytes, signal, minFreeBytes, folder: spoolFolder });
        return written.ok ? work(handle.fd) : undefined;
      });
    },

    async size(sha256) {
      const found = await bucket.call({ method: 'HEAD', key: sha256, attempts: READ_ATTEMPTS });
      if (!found.ok && found.error.status === 404) return undefined;
      const answer = expectAnswer(found, resultsUnavailable);
      answer.discard();
      return Number(answer.headers['content-length']?.[0]);
    },

    async delete(sha256) {
      const deleted = await bucket.call({ method: 'DELETE', key: sha256 });
      if (!deleted.ok && deleted.error.code === 'NoSuchKey') return;
      expectAnswer(deleted, resultsUnavailable).discard();
    },

    async list(after, limit) {
      const files: Awaited<ReturnType<FileStore['list']>> = [];
      let token = '';
      do {
        const query = {
          'list-type': '2',
          'encoding-type': 'url',
          'max-keys': String(Math.min(PAGE, limit)),
          prefix: bucket.keyPrefix,
          // Folders of others below the same prefix are not gone through.
          delimiter: '/',
          ...(token === '' ? {} : { 'continuation-token': token }),
          ...(after === '' ? {} : { 'start-after': `${bucket.keyPrefix}${after}` }),
        };
        const page = await readList(bucket, query, resultsUnavailable);
        for (const item of findChildren(page, 'Contents')) {
          const sha256 = readText(item, 'Key').split('/').at(-1) ?? '';
          if (!isDigest(sha256) || sha256 <= after || files.length >= limit) continue;
          const changedAt = Math.floor(Date.parse(readText(item, 'LastModified')) / 1000);
          files.push({ sha256, changedAt, bytes: Number(readText(item, 'Size')) });
        }
        token = readText(page, 'IsTruncated') === 'true' ? readText(page, 'NextContinuationToken') : '';
      } while (token !== '' && files.length < limit);
      return files;
    },

    async sweep(before) {
      const removed = await removeOldFiles(spoolFolder, before);
      return removed + (await abortOldUploads(bucket, { before, isOwn: isDigest }, resultsUnavailable));
    },

    presign(sha256, { seconds, mimeType, disposition }) {
      const query = {
        'response-content-type': mimeType,
        'response-content-disposition': disposition,
        'response-cache-control': 'private, no-store',
      };
      return bucket.presign(sha256, { query, seconds });
    },
  });
}
