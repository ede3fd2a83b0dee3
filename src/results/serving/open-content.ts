import { AppError, matchesEntityTag, toStream } from '../../kernel/index.ts';
import { type KeptResultRecord, type LinkedResult, PREVIEW_KIND, type TaskRecord } from '../../store/ports/index.ts';
import type { ContentRequest } from '../../vendors/index.ts';
import { previewedKey } from '../artifacts/artifact-keys.ts';
import { openArtifact } from '../artifacts/open-artifact.ts';
import { resultErrors } from '../errors.ts';
import type { ArtifactChoice, Content, ResultDeps } from '../types.ts';
import { mayUseRange, readRanges, sendParts } from './byte-ranges.ts';
import { isDisplayed, readMediaType, writeMediaType } from './media-types.ts';

/**
 * An artifact for a client: the copy that the gateway keeps, or else the vendor's. `result`: what
 * was read of it already.
 * @throws tasks.artifact_*
 */
export async function openContent(
  deps: ResultDeps,
  download: { task: TaskRecord; choice: ArtifactChoice; client: ContentRequest; result?: KeptResultRecord },
): Promise<Content> {
  if (download.task.status !== 'SUCCESS') throw resultErrors.artifact_not_ready();
  let away: AppError | undefined;
  const kept = await openKept(deps, download, (error) => {
    away = error;
  });
  if (kept) return kept;
  // A preview is the gateway's: no vendor has it.
  if (download.choice.variant === undefined && previewedKey(download.choice.key) !== undefined)
    throw away ?? resultErrors.artifact_not_found();
  return openArtifact(deps, download).catch((error: unknown) => {
    // The copy exists, and can be read again when its place is back.
    throw away ?? error;
  });
}

/** How long a link to the result storage works. */
const REDIRECT_SECONDS = 300;
/** Lists show the same previews again and again. A link always shows one image. */
const PREVIEW_MAX_AGE_SECONDS = 3600;

type Result = LinkedResult['result'];
type Kept = Result & { sha256: string };
type Download = {
  task: Pick<TaskRecord, 'taskId'>;
  choice: ArtifactChoice;
  client: ContentRequest;
  result?: Result;
};

/**
 * The kept copy of an artifact; undefined where there is none or its place is `onAway`, and the
 * vendor is asked.
 */
export async function openKept(
  deps: ResultDeps,
  { task, choice, client, result }: Download,
  onAway: (error: AppError) => void = () => {},
): Promise<Content | undefined> {
  const kept = result && isKept(result) ? result : await findKept(deps, task, choice);
  if (!kept) return undefined;
  const { files, settings } = deps.storage;
  const isPreview = kept.kind === PREVIEW_KIND;
  if (client.followsRedirect && settings().redirects && client.method === 'GET' && !isPreview) {
    const link = files.presign(kept.sha256, { seconds: REDIRECT_SECONDS, ...servedAs(kept.mimeType) });
    if (link !== undefined) return { status: 302, headers: { location: link }, body: null };
  }
  const logFields = { task_id: task.taskId, artifact: kept.artifactKey, sha256: kept.sha256 };
  let opened: Content | undefined;
  try {
    opened = await answer(deps, kept, client);
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'store.results_unavailable')) throw error;
    deps.logger.error({ ...logFields, err: error }, 'result storage is unavailable; asking the vendor instead');
    onAway(error);
    return undefined;
  }
  if (!opened) {
    deps.logger.error(logFields, 'the file of a kept result is missing; the vendor is asked instead');
  }
  return opened && isPreview ? { ...opened, maxAgeSeconds: PREVIEW_MAX_AGE_SECONDS } : opened;
}

/**
 * What the storage says of the bytes, without our other headers: only what a browser may display is
 * not a download, since the storage may be on an origin that matters.
 */
function servedAs(mimeType: string): { mimeType: string; disposition: string } {
  const type = readMediaType(mimeType);
  if (type && isDisplayed(type.essence)) return { mimeType: writeMediaType(type), disposition: 'inline' };
  return { mimeType: 'application/octet-stream', disposition: 'attachment' };
}

const isKept = (row: Result | undefined): row is Kept => row?.state === 'kept' && row.sha256 !== null;

async function findKept(
  { store }: Pick<ResultDeps, 'store'>,
  { taskId }: Pick<TaskRecord, 'taskId'>,
  { key, variant }: { key?: string; variant?: string },
): Promise<Kept | undefined> {
  if (variant === undefined) {
    const row = await store.results.find(taskId, key ?? '');
    return isKept(row) ? row : undefined;
  }
  const rows = await store.results.ofTasks([taskId]);
  const row = rows.find(
    ({ artifactKey, kind }) =>
      kind !== PREVIEW_KIND && (kind === variant || (variant !== 'video' && artifactKey === variant)),
  );
  return isKept(row) ? row : undefined;
}

/** Conditions and ranges of RFC 9110; the entity tag is the digest. */
async function answer(
  { storage: { files }, memory: { smallFiles } }: Pick<ResultDeps, 'storage' | 'memory'>,
  kept: Kept,
  client: ContentRequest,
): Promise<Content | undefined> {
  const { sha256, bytes, keptAt, mimeType } = kept;
  const etag = `"${sha256}"`;
  const headers: Record<string, string> = {
    'accept-ranges': 'bytes',
    etag,
    'last-modified': new Date(keptAt * 1000).toUTCString(),
    ...(mimeType === '' ? {} : { 'content-type': mimeType }),
  };
  if (wantsOtherVersion(client.headers, { etag, keptAt })) return { status: 412, headers, body: null };
  if (isUnchanged(client.headers, { etag, keptAt })) return { status: 304, headers, body: null };
  // Only GET has ranges (RFC 9110, 14.2).
  const mayBePart = client.method === 'GET' && mayUseRange(client.headers, { etag, keptAt });
  const spans = mayBePart ? readRanges(client.headers.range, bytes) : undefined;
  if (spans?.length === 0) {
    return { status: 416, headers: { ...headers, 'content-range': `bytes */${bytes}` }, body: null };
  }
  if (spans && spans.length > 1) {
    return sendParts(files, { kept, type: servedAs(mimeType).mimeType, spans, headers, client });
  }
  const [span] = spans ?? [];
  const { start, end } = span ?? { start: 0, end: bytes };
  headers['content-length'] = String(end - start);
  if (span) headers['content-range'] = `bytes ${start}-${end - 1}/${bytes}`;
  const status = span ? 206 : 200;
  if (client.method === 'HEAD')
    return (await files.size(sha256)) === undefined ? undefined : { status, headers, body: null };
  const small = await smallFiles.read(kept);
  if (small) return { status, headers, body: small.subarray(start, end) };
  const body = await files.open(sha256, span);
  return body && { status, headers, body: body instanceof ReadableStream ? toStream(body, client.onStreamEnd) : body };
}

/** Whether the client wants another version: If-Match compares strongly (RFC 9110, 13.1.1). */
function wantsOtherVersion(
  headers: Record<string, string>,
  { etag, keptAt }: { etag: string; keptAt: number },
): boolean {
  const tags = headers['if-match']?.split(',').map((tag) => tag.trim());
  if (tags !== undefined) return !tags.includes('*') && !tags.includes(etag);
  const since = Date.parse(headers['if-unmodified-since'] ?? '');
  return Number.isFinite(since) && keptAt * 1000 > since;
}

function isUnchanged(headers: Record<string, string>, { etag, keptAt }: { etag: string; keptAt: number }): boolean {
  const tags = headers['if-none-match'];
  if (tags !== undefined) return matchesEntityTag(tags, etag);
  const since = Date.parse(headers['if-modified-since'] ?? '');
  return Number.isFinite(since) && keptAt * 1000 <= since;
}
