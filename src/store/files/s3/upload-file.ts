import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { err, escapeXml, ok, type Result, randomAlnum } from '../../../kernel/index.ts';
import type { StoredFile } from '../../ports/index.ts';
import { type Bucket, errorCode, findChildren, readList, readText, readXml, refusal } from './call-bucket.ts';
import type { BucketFault, BucketLocation } from './types.ts';

const MIB = 1024 * 1024;
/** Up to this size a file is one request, which a server stores whole or not at all. */
const PART_BYTES = 64 * MIB;
/** The most parts of an upload in S3. */
const MAX_PARTS = 10_000;
const READ_BYTES = 256 * 1024;
/** Giving up an upload may take this long, even when the process stops. */
const ABORT_MS = 10_000;

type Upload = {
  handle: FileHandle;
  file: StoredFile;
  /** The default is the file's digest. */
  key?: string;
  sse: BucketLocation['sse'];
  partBytes?: number;
};

/**
 * Stores a local file, which appears whole or not at all. Rejects when `signal` is
 * aborted.
 */
export async function uploadFile(
  bucket: Bucket,
  { handle, file, key = file.sha256, sse, partBytes = PART_BYTES }: Upload,
  signal: AbortSignal,
): Promise<Result<void, BucketFault>> {
  const headers = {
    'content-type': 'application/octet-stream',
    ...(sse === '' ? {} : { 'x-amz-server-side-encryption': sse }),
  };
  if (file.bytes > partBytes) {
    const isHuge = file.bytes > partBytes * MAX_PARTS;
    const size = isHuge ? Math.ceil(file.bytes / MAX_PARTS / MIB) * MIB : partBytes;
    return uploadParts(bucket, { handle, file, key, headers, size }, signal);
  }
  const body = { ...readSpan(handle, 0, file.bytes), sha256: file.sha256 };
  const stored = await bucket.call({ method: 'PUT', key, headers, body, signal });
  if (!stored.ok) return stored;
  stored.value.discard();
  return ok(undefined);
}

type Parts = { handle: FileHandle; file: StoredFile; key: string; headers: Record<string, string>; size: number };

async function uploadParts(bucket: Bucket, parts: Parts, signal: AbortSignal): Promise<Result<void, BucketFault>> {
  const { file, key, headers } = parts;
  const begun = await bucket.call({ method: 'POST', key, query: { uploads: '' }, headers, signal });
  if (!begun.ok) return begun;
  const text = await begun.value.text();
  const uploadId = text.ok ? readText(readXml(text.value), 'UploadId') : '';
  if (uploadId === '') return err(refusal(begun.value.status, 'NoUploadId'));
  let isStored = false;
  try {
    const sent = await sendParts(bucket, { ...parts, uploadId }, signal);
    if (!sent.ok) return sent;
    const done = await complete(bucket, { file, key, uploadId, etags: sent.value }, signal);
    isStored = done.ok;
    return done;
  } finally {
    if (!isStored) await abort(bucket, { key, uploadId });
  }
}

/** The entity tags of all parts, in order. */
async function sendParts(
  bucket: Bucket,
  { handle, file, key, size, uploadId }: Parts & { uploadId: string },
  signal: AbortSignal,
): Promise<Result<string[], BucketFault>> {
  const etags: string[] = [];
  for (let start = 0; start < file.bytes; start += size) {
    const span = readSpan(handle, start, Math.min(start + size, file.bytes));
    const hash = new Bun.CryptoHasher('sha256');
    for await (const chunk of span.stream()) hash.update(chunk);
    signal.throwIfAborted();
    const query = { partNumber: String(etags.length + 1), uploadId };
    const body = { ...span, sha256: hash.digest('hex') };
    const sent = await bucket.call({ method: 'PUT', key, query, body, signal });
    if (!sent.ok) return sent;
    etags.push(sent.value.headers.etag?.[0] ?? '');
    sent.value.discard();
  }
  return ok(etags);
}

/**
 * A server may answer with success and say in the body that it failed. And when an answer was lost,
 * the repeated request finds no such upload: then the object says whether it worked.
 */
async function complete(
  bucket: Bucket,
  { file, key, uploadId, etags }: { file: StoredFile; key: string; uploadId: string; etags: readonly string[] },
  signal: AbortSignal,
): Promise<Result<void, BucketFault>> {
  const parts = etags.map((etag, n) => `<Part><PartNumber>${n + 1}</PartNumber><ETag>${escapeXml(etag)}</ETag></Part>`);
  const body = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`;
  const request = { method: 'POST', key, query: { uploadId }, signal } as const;
  const answered = await bucket.call({ ...request, headers: { 'content-type': 'application/xml' }, body });
  let fault: BucketFault = refusal(200, 'IncompleteAnswer');
  if (answered.ok) {
    const text = await answered.value.text();
    const code = text.ok ? errorCode(readXml(text.value)) : '';
    if (code !== '') fault = refusal(500, code);
  } else {
    fault = answered.error;
  }
  const stored = await bucket.call({ method: 'HEAD', key, signal });
  if (!stored.ok) return err(answered.ok ? stored.error : fault);
  stored.value.discard();
  return Number(stored.value.headers['content-length']?.[0]) === file.bytes ? ok(undefined) : err(fault);
}

/** Releases the parts that were stored. What stays behind, the sweep finds. */
async function abort(bucket: Bucket, { key, uploadId }: { key: string; uploadId: string }): Promise<boolean> {
  const signal = AbortSignal.timeout(ABORT_MS);
  const aborted = await bucket
    .call({ method: 'DELETE', key, query: { uploadId }, attempts: 2, signal })
    .catch(() => undefined);
  if (aborted?.ok) aborted.value.discard();
  return aborted?.ok === true || (aborted?.ok === false && aborted.error.status === 404);
}

function readSpan(handle: FileHandle, start: number, end: number) {
  const stream = async function* (): AsyncGenerator<Uint8Array> {
    const buffer = Buffer.allocUnsafe(READ_BYTES);
    for (let at = start; at < end; ) {
      const { bytesRead } = await handle.read(buffer, 0, Math.min(READ_BYTES, end - at), at);
      if (bytesRead === 0) throw new Error('a file in the making became shorter');
      yield buffer.subarray(0, bytesRead);
      at += bytesRead;
    }
  };
  return { size: end - start, stream };
}

/** A file that exists while `work` runs. It loses its name at once, so a crash leaves nothing. */
export async function withSpoolFile<T>(folder: string, work: (handle: FileHandle) => Promise<T>): Promise<T> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, randomAlnum(24));
  const remove = () => rm(path, { force: true }).catch(() => undefined);
  const flags = constants.O_CREAT | constants.O_EXCL | constants.O_RDWR | constants.O_APPEND;
  const handle = await open(path, flags, 0o600);
  try {
    // Windows keeps an open file; there it goes after the work.
    await remove();
    return await work(handle);
  } finally {
    await handle.close();
    await remove();
  }
}

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
    for (const upload of findChildren(page, 'Upload')) {
      const key = readText(upload, 'Key').slice(bucket.keyPrefix.length);
      const isOld = Date.parse(readText(upload, 'Initiated')) / 1000 < before;
      if (!isOwn(key) || !isOld) continue;
      if (await abort(bucket, { key, uploadId: readText(upload, 'UploadId') })) aborted += 1;
    }
    const [keyMarker, uploadMarker] = ['NextKeyMarker', 'NextUploadIdMarker'].map((name) => readText(page, name));
    const isTruncated = readText(page, 'IsTruncated') === 'true';
    marker = isTruncated ? { 'key-marker': keyMarker ?? '', 'upload-id-marker': uploadMarker ?? '' } : {};
  } while (marker['key-marker']);
  return aborted;
}
