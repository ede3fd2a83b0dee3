import { join, resolve } from 'node:path';
import type { Clock, Logger } from '../../kernel/index.ts';
import {
  type BucketPlace,
  bucketUrl,
  createFolderFiles,
  createS3Files,
  guardFolder,
  type SendToBucket,
} from '../../store/index.ts';
import type { FileStore, Store } from '../../store/ports/index.ts';
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
type Deps = { clock: Clock; logger: Logger; store: Pick<Store, 'options' | 'results'> };

/** The folder of kept results; undefined where they are in a bucket. */
export const resultsFolder = (config: Config): string | undefined =>
  config.resultsPlace.kind === 'folder' ? folderOf(config, config.resultsPlace) : undefined;

const folderOf = ({ dataDir }: Config, { path }: { path: string }): string =>
  path || join(resolve(dataDir), RESULTS_FOLDER);

/** The place of kept results. */
export function openResultFiles(config: Config, { clock, logger, store }: Deps): Opened {
  const { files, close } = openUnguardedFiles(config, { clock, logger });
  const folder = resultsFolder(config);
  return { files: folder === undefined ? files : guardFolder(files, { folder, store }), close };
}

/** The same for a folder that no database knows yet. */
export function openUnguardedFiles(config: Config, { clock, logger }: Pick<Deps, 'clock' | 'logger'>): Opened {
  const { resultsPlace: place, artifactGlobalConcurrency } = config;
  const minFreeBytes = config.resultsMinFreeMb * MIB;
  if (place.kind === 'folder') {
    const files = createFolderFiles({ folder: folderOf(config, place), minFreeBytes });
    return { files, close: async () => {} };
  }
  // Downloads by link, and as many again with API keys.
  const { send, close } = openBucketSender(place, { clock, logger, transfers: 2 * artifactGlobalConcurrency });
  const credentials = { accessKeyId: config.resultsS3KeyId, secretAccessKey: config.resultsS3Secret };
  const spoolFolder = join(resolve(config.dataDir), SPOOL_FOLDER);
  const files = createS3Files({ place, credentials, send, clock, spoolFolder, minFreeBytes });
  return { files, close };
}

/** What sends requests to a bucket that the operator has chosen; no user can choose one. */
export function openBucketSender(
  place: BucketPlace,
  { clock, logger, transfers }: { clock: Clock; logger: Logger; transfers: number },
): { send: SendToBucket; close: () => Promise<void> } {
  const upstream = createUpstream({ allowPrivate: false, clock, logger, transfers });
  const privateHosts = [canonicalHost(new URL(bucketUrl(place)))];
  const send: SendToBucket = (request) =>
    upstream.request({
      ...request,
      privateHosts,
      maxRedirects: 0,
      connectTimeoutMs: CONNECT_MS,
      headersTimeoutMs: ANSWER_MS,
      idleTimeoutMs: ANSWER_MS,
    });
  return { send, close: () => upstream.close() };
}
