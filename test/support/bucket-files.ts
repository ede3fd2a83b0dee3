import { join } from 'node:path';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import { type BucketPlace, createS3Files } from '../../src/store/index.ts';
import type { FileStore } from '../../src/store/ports/index.ts';
import { createUpstream } from '../../src/upstream/index.ts';
import { S3_KEYS } from './s3-server.ts';
import { temporaryFolder } from './temporary-folder.ts';

type Change = Partial<BucketPlace> & {
  secretAccessKey?: string;
  partBytes?: number;
  answerMs?: number;
  minFreeBytes?: number;
};

/** The files of the bucket `results` of a server on this machine. */
export function openBucketFiles(
  endpoint: string,
  { secretAccessKey = S3_KEYS.secretAccessKey, partBytes, answerMs = 5000, minFreeBytes = 0, ...place }: Change = {},
): { files: FileStore; spoolFolder: string; close(): Promise<void> } {
  const upstream = createUpstream({ allowPrivate: true, clock: systemClock, logger: silentLogger });
  const spoolFolder = join(temporaryFolder(), 'spool');
  const limits = { connectTimeoutMs: answerMs, headersTimeoutMs: answerMs, idleTimeoutMs: answerMs };
  const files = createS3Files({
    place: {
      ...{ endpoint, bucket: 'results', prefix: 'kept/here', region: 'us-east-1', pathStyle: true, sse: '' },
      ...place,
    },
    credentials: { ...S3_KEYS, secretAccessKey },
    send: (request) => upstream.request({ ...request, ...limits, privateHosts: [], maxRedirects: 0 }),
    // Without the pauses between attempts.
    clock: { ...systemClock, sleep: async () => {} },
    spoolFolder,
    minFreeBytes,
    ...(partBytes === undefined ? {} : { partBytes }),
  });
  return { files, spoolFolder, close: () => upstream.close() };
}
