import { realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Clock, Logger } from '../../kernel/index.ts';
import {
  acceptBucket,
  acceptFolder,
  type BucketLocation,
  type BucketMarker,
  bucketUrl,
  createBucketMarker,
  createFolderFiles,
  createS3Files,
  guardBucket,
  guardFolder,
  type SendToBucket,
} from '../../store/index.ts';
import type { FileStore, Store } from '../../store/ports/index.ts';
import { canonicalHost, configuredNetwork, createUpstream, type NetworkConfig } from '../../upstream/index.ts';

/** In the data directory. */
export const RESULTS_FOLDER = 'results';
const SPOOL_FOLDER = 'results-upload';
const MIB = 1024 * 1024;

const CONNECT_MS = 10_000;
/** A server that joins many parts, or is busy, may think for a while. */
const ANSWER_MS = 60_000;

/** A folder, or a bucket. An empty path: in the data directory. */
export type StorageLocation = { kind: 'folder'; path: string } | ({ kind: 's3' } & BucketLocation);

/** The settings of kept results. */
export type ResultFilesConfig = NetworkConfig & {
  dataDir: string;
  resultsLocation: StorageLocation;
  resultsMinFreeMb: number;
  resultsS3KeyId: string;
  resultsS3Secret: string;
  artifactGlobalConcurrency: number;
};

type Opened = { files: FileStore; close: () => Promise<void> };
/** `marker`: of a bucket alone; a folder's is a file in it. */
type Unguarded = Opened & { marker?: BucketMarker };
type Deps = { clock: Clock; logger: Logger; store: Pick<Store, 'options' | 'results'> };

const toFolder = ({ dataDir }: Pick<ResultFilesConfig, 'dataDir'>, { path }: { path: string }): string =>
  path || join(resolve(dataDir), RESULTS_FOLDER);

/** Whether kept results are in this very folder, or under this prefix of this bucket. */
export function isResultPlace(config: ResultFilesConfig, place: StorageLocation): boolean {
  const { resultsLocation: own } = config;
  if (own.kind === 'folder') return place.kind === 'folder' && realPath(toFolder(config, own)) === realPath(place.path);
  if (place.kind === 'folder') return false;
  return place.bucket === own.bucket && place.prefix === own.prefix && place.endpoint === own.endpoint;
}

/** The path with its links resolved, where the folder exists. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}

/** The storage for kept results. */
export function openResultFiles(config: ResultFilesConfig, { clock, logger, store }: Deps): Opened {
  const { files, marker, close } = openUnguardedFiles(config, { clock, logger });
  const { resultsLocation: location } = config;
  if (marker) return { files: guardBucket(files, { marker, store, clock }), close };
  return {
    files: location.kind === 'folder' ? guardFolder(files, { folder: toFolder(config, location), store }) : files,
    close,
  };
}

/** Makes the storage the database's, whatever it contains, and counts the files that it lacks. */
export async function acceptResultFiles(
  config: ResultFilesConfig,
  { clock, logger, store }: Deps,
): Promise<{ name: string; missing: number }> {
  const { files, marker, close } = openUnguardedFiles(config, { clock, logger });
  const { resultsLocation: location } = config;
  try {
    if (location.kind === 'folder') {
      const folder = toFolder(config, location);
      return { name: folder, ...(await acceptFolder(files, { folder, store })) };
    }
    const name = `s3://${[location.bucket, location.prefix].filter((part) => part !== '').join('/')}`;
    return { name, ...(marker ? await acceptBucket(files, { marker, store }) : { missing: 0 }) };
  } finally {
    await close();
  }
}

/** Opens a storage that no database knows yet. */
export function openUnguardedFiles(
  config: ResultFilesConfig,
  { clock, logger }: Pick<Deps, 'clock' | 'logger'>,
): Unguarded {
  const { resultsLocation: location, artifactGlobalConcurrency } = config;
  const minFreeBytes = config.resultsMinFreeMb * MIB;
  if (location.kind === 'folder') {
    const files = createFolderFiles({ folder: toFolder(config, location), minFreeBytes });
    return { files, close: async () => {} };
  }
  // Downloads by link, and as many again with API keys.
  const transfers = 2 * artifactGlobalConcurrency;
  const { send, close } = openBucketSender(location, { config, clock, logger, transfers });
  const credentials = { accessKeyId: config.resultsS3KeyId, secretAccessKey: config.resultsS3Secret };
  const spoolFolder = join(resolve(config.dataDir), SPOOL_FOLDER);
  const access = { location, credentials, send, clock };
  const files = createS3Files({ ...access, spoolFolder, minFreeBytes });
  return { files, marker: createBucketMarker(access), close };
}

/** What sends requests to a bucket that the operator has chosen; no user can choose one. */
export function openBucketSender(
  location: BucketLocation,
  { config, clock, logger, transfers }: { config: NetworkConfig; clock: Clock; logger: Logger; transfers: number },
): { send: SendToBucket; close: () => Promise<void> } {
  const upstream = createUpstream({
    ...{ allowPrivate: false, clock, logger, transfers },
    network: configuredNetwork(config),
  });
  const privateHosts = [canonicalHost(new URL(bucketUrl(location)))];
  const send: SendToBucket = (request) =>
    upstream.request({
      ...request,
      privateHosts,
      isKnownHost: () => true,
      maxRedirects: 0,
      connectTimeoutMs: CONNECT_MS,
      headersTimeoutMs: ANSWER_MS,
      idleTimeoutMs: ANSWER_MS,
    });
  return { send, close: () => upstream.close() };
}
