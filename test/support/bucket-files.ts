import { join } from 'node:path';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import {
  type BucketLocation,
  type BucketMarker,
  createBucketMarker,
  createS3Files,
  type SendToBucket,
} from '../../src/store/index.ts';
import type { FileStore } from '../../src/store/ports/index.ts';
import { createUpstream } from '../../src/upstream/index.ts';
import { S3_KEYS } from './s3-server.ts';
import { temporaryFolder } from './temporary-folder.ts';

type Change = Partial<BucketLocation> & {
  secretAccessKey?: string;
  partBytes?: number;
  answerMs?: number;
  minFreeBytes?: number;
};

/** The files and the marker of the bucket `results` of a server on this machine. */
export function openBucketFiles(
  endpoint: string,
  { secretAccessKey = S3_KEYS.secretAccessKey, partBytes, answerMs = 5000, minFreeBytes = 0, ...location }: Change = {},
): { files: FileStore; marker: BucketMarker; spoolFolder: string; close(): Promise<void> } {
  const upstream = createUpstream({ allowPrivate: true, clock: systemClock, logger: silentLogger });
  const spoolFolder = join(temporaryFolder(), 'spool');
  const limits = { connectTimeoutMs: answerMs, headersTimeoutMs: answerMs, idleTimeoutMs: answerMs };
  const access = {
    location: {
      ...{ endpoint, bucket: 'results', prefix: 'kept/here', region: 'us-east-1', pathStyle: true, sse: '' },
      ...location,
    } satisfies BucketLocation,
    credentials: { ...S3_KEYS, secretAccessKey },
    send: (request: Parameters<SendToBucket>[0]) =>
      upstream.request({ ...request, ...limits, privateHosts: [], maxRedirects: 0 }),
    // Without the pauses between attempts.
    clock: { ...systemClock, sleep: async () => {} },
  };
  const files = createS3Files({
    ...access,
    spoolFolder,
    minFreeBytes,
    ...(partBytes === undefined ? {} : { partBytes }),
  });
  return { files, marker: createBucketMarker(access), spoolFolder, close: () => upstream.close() };
}
