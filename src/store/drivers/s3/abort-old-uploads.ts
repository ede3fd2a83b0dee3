import type { Bucket } from './call-bucket.ts';
import { readList } from './expect-answer.ts';
import { childrenOf, textOf } from './read-answer.ts';
import { abort } from './upload-file.ts';

type OldUploads = {
  /** Begun earlier, in Unix seconds. */
  before: number;
  /** Whether a key below the prefix is one of ours: a bucket may serve others too. */
  isOwn: (key: string) => boolean;
};

/** Aborts what killed processes left unfinished below the prefix. Returns how many uploads. */
export async function abortOldUploads(
  bucket: Bucket,
  { before, isOwn }: OldUploads,
  refuse: (reason: string) => Error,
): Promise<number> {
  let aborted = 0;
  let marker: Record<string, string> = {};
  do {
    const page = await readList(bucket, { uploads: '', prefix: bucket.keyPrefix, ...marker }, refuse);
    for (const upload of childrenOf(page, 'Upload')) {
      const key = textOf(upload, 'Key').slice(bucket.keyPrefix.length);
      const isOld = Date.parse(textOf(upload, 'Initiated')) / 1000 < before;
      if (!isOwn(key) || !isOld) continue;
      if (await abort(bucket, { key, uploadId: textOf(upload, 'UploadId') })) aborted += 1;
    }
    const [keyMarker, uploadMarker] = ['NextKeyMarker', 'NextUploadIdMarker'].map((name) => textOf(page, name));
    const isTruncated = textOf(page, 'IsTruncated') === 'true';
    marker = isTruncated ? { 'key-marker': keyMarker ?? '', 'upload-id-marker': uploadMarker ?? '' } : {};
  } while (marker['key-marker']);
  return aborted;
}
