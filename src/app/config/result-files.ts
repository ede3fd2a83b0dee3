import { join, resolve } from 'node:path';
import type { Clock, Logger } from '../../kernel/index.ts';
import { bucketUrl, createFolderFiles, createS3Files, type SendToBucket } from '../../store/index.ts';
import type { FileStore } from '../../store/ports/index.ts';
import { canonicalHost, createUpstream } from '../../upstream/index.ts';
import type { Config } from './config-variables.ts';

/** In the data directory. */
const RESULTS_FOLDER = 'results';
const SPOOL_FOLDER = 'results-upload';
const MIB = 1024 * 1024;

const CONNECT_MS = 10_000;
/** A server that joins many parts, or is busy, may think for a while. */
const ANSWER_MS = 60_000;

type Opened = { files: FileStore; close: () => Promise<void> };

/** The place of kept results. */
export function openResultFiles(config: Config, { clock, logger }: { clock: Clock; logger: Logger }): Opened {
  const { resultsPlace: place, artifactGlobalConcurrency } = config;
  const dataDir = resolve(config.dataDir);
  const minFreeBytes = config.resultsMinFreeMb * MIB;
  if (place.kind === 'folder') {
    const folder = place.path || join(dataDir, RESULTS_FOLDER);
    return { files: createFolderFiles({ folder, minFreeBytes }), close: async () => {} };
  }
  // Downloads by link, and as many again with API keys.
  const upstream = createUpstream({ allowPrivate: false, clock, logger, transfers: 2 * artifactGlobalConcurrency });
  const privateHosts = [canonicalHost(new URL(bucketUrl(place)))];
  const send: SendToBucket = (request) =>
    upstream.request({
      ...request,
      // The operator chose the address; no user can.
      privateHosts,
      maxRedirects: 0,
      connectTimeoutMs: CONNECT_MS,
      headersTimeoutMs: ANSWER_MS,
      idleTimeoutMs: ANSWER_MS,
    });
  const credentials = { accessKeyId: config.resultsS3KeyId, secretAccessKey: config.resultsS3Secret };
  const spoolFolder = join(dataDir, SPOOL_FOLDER);
  const files = createS3Files({ place, credentials, send, clock, spoolFolder, minFreeBytes });
  return { files, close: () => upstream.close() };
}
