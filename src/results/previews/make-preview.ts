import { AppError, err, quoted, type Result, type Sentence, sentence, toSentence } from '../../kernel/index.ts';
import type { Artifact } from '../../plugins/index.ts';
import { type CopiedFile, type KeptResultRecord, PREVIEW_KIND, type TaskRecord } from '../../store/ports/index.ts';
import { vendorErrors } from '../../vendors/index.ts';
import { previewedKey, previewKey } from '../artifacts/artifact-keys.ts';
import { openArtifact } from '../artifacts/open-artifact.ts';
import { listTaskArtifacts } from '../artifacts/read-artifacts.ts';
import type { Content, CopyFailure, ResultDeps } from '../types.ts';
import { storePreview } from './accept-preview.ts';
import { readStillImage } from './images/read-still-image.ts';
import { MAX_PREVIEW_BYTES, type StillImage } from './images/still-image.ts';

const RETRY_MS = 20_000;

/** Nobody is shown why there is no preview: the words are for those who look into the database. */
const never = (words: string): CopyFailure => ({ reason: quoted(words), inMs: null });
const later = (reason?: Sentence): CopyFailure => ({ ...(reason && { reason }), inMs: RETRY_MS });

/**
 * Makes the preview of one artifact: the vendor's own picture, or the image itself, where it is a
 * still within the limits. Rejects when the database fails or `signal` is aborted.
 */
export async function makePreview(
  deps: ResultDeps,
  result: KeptResultRecord,
  signal: AbortSignal,
): Promise<Result<CopiedFile, CopyFailure>> {
  const { store } = deps;
  const [task, owner] = await Promise.all([store.tasks.byTaskId(result.taskId), store.users.byId(result.userId)]);
  if (task?.hiddenAt !== 0 || !owner) return err(never('The task was deleted.'));
  try {
    const { artifacts, legacy } = await listTaskArtifacts(deps, task);
    const all = legacy ? [legacy] : artifacts;
    const artifact = all.find(({ key }) => key === previewedKey(result.artifactKey));
    if (!artifact) return err(never('There is no such artifact.'));
    const found = await findImage(deps, { task, artifact, all, signal });
    if (!found.ok) return err(never(found.error));
    const stored = await storePreview(deps, { image: found.value, group: owner.group, signal });
    if (stored.ok) return stored;
    const { kind, place } = stored.error;
    if (kind === 'no_room') return err(never('There is no room for previews.'));
    return err(place === undefined ? later() : { ...later(sentence('results.place_away')), storageError: place });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AppError && error.code.startsWith('tasks.')) return err(later(toSentence(error)));
    throw error;
  }
}

type Source = { task: TaskRecord; artifact: Artifact; all: readonly Artifact[]; signal: AbortSignal };

async function findImage(
  deps: ResultDeps,
  { task, artifact, all, signal }: Source,
): Promise<Result<StillImage, string>> {
  const picture = artifact.type === 'image' ? artifact : findPicture(all, artifact);
  // A sound's preview shows how it sounds; its cover has a preview of its own.
  if (!picture || artifact.type === 'audio') return err('It has no picture.');
  const bytes = await readSmall(deps, { task, key: picture.key, signal });
  const image = bytes ? readStillImage(bytes) : err('is too large');
  return image.ok ? image : err(`The picture ${image.error}.`);
}

type Chosen = { task: TaskRecord; key: string; signal: AbortSignal };

/** The kept copy of an artifact, or else the vendor's. @throws tasks.artifact_* */
async function openSource(deps: ResultDeps, { task, key, signal }: Chosen): Promise<ReadableStream<Uint8Array>> {
  const kept = await deps.store.results.find(task.taskId, key);
  const file = kept?.state === 'kept' && kept.sha256 !== null ? await deps.storage.files.open(kept.sha256) : undefined;
  if (file) return file instanceof ReadableStream ? file : file.stream();
  const client = { method: 'GET' as const, headers: {}, signal, requestId: 'SYSTEM' };
  const { status, body }: Content = await openArtifact(deps, { task, choice: { key }, client });
  if (status !== 200 || body === null) throw vendorErrors.artifact_upstream_error();
  return body instanceof ReadableStream ? body : (new Response(body as Uint8Array<ArrayBuffer>).body as ReadableStream);
}

/** The bytes of a file, unless it is larger than a preview may be. */
async function readSmall(deps: ResultDeps, chosen: Chosen): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of await openSource(deps, chosen)) {
    bytes += chunk.byteLength;
    if (bytes > MAX_PREVIEW_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const PICTURES = ['thumbnail', 'poster', 'cover', 'preview'];

/**
 * The vendor's own picture of a video or a sound: the image of the same task whose key is one of
 * these words with the same ending, as in `video-2` and `cover-2`.
 */
export function findPicture<T extends Pick<Artifact, 'key' | 'type'>>(
  artifacts: readonly T[],
  { key, type }: Pick<Artifact, 'key' | 'type'>,
): T | undefined {
  if (type !== 'video' && type !== 'audio') return undefined;
  const ending = key.replace(/^[A-Za-z]+/, '');
  const keys = PICTURES.map((word) => `${word}${ending}`);
  return artifacts.find((other) => other.type === 'image' && keys.includes(other.key));
}

/** How long the gateway tries; the browser that looks can make one at any time. */
const TRIES_MS = 10 * 60_000;

type Listed = Pick<Artifact, 'key' | 'type'>;

/** Whether there is a picture that may be the preview as it is. */
const hasPicture = (artifacts: readonly Listed[], artifact: Listed): boolean =>
  artifact.type === 'image' || (artifact.type === 'video' && findPicture(artifacts, artifact) !== undefined);

type WantDeps = Pick<ResultDeps, 'store' | 'clock' | 'logger' | 'storage' | 'node'>;

/**
 * Orders the previews of a task that somebody looks at for the first time. `known`: its results. A
 * failure only costs the previews, so it is logged and forgotten.
 */
export async function schedulePreviews(
  deps: WantDeps,
  { taskId, userId }: Pick<TaskRecord, 'taskId' | 'userId'>,
  { artifacts, known }: { artifacts: readonly Listed[]; known: readonly KeptResultRecord[] },
): Promise<void> {
  if (deps.storage.settings().previewBytes === 0 || !deps.node.canStore()) return;
  const wanted = artifacts
    .filter((artifact) => hasPicture(artifacts, artifact))
    .map(({ key }) => previewKey(key))
    .filter((key) => !known.some(({ artifactKey }) => artifactKey === key));
  if (wanted.length === 0) return;
  const createdAt = deps.clock.unix();
  const rows = wanted.map((artifactKey) => ({ taskId, userId, artifactKey, kind: PREVIEW_KIND, createdAt }));
  try {
    if (await deps.store.previews.schedule(rows, TRIES_MS)) deps.node.wakeResults();
  } catch (error) {
    deps.logger.warn({ err: error, task_id: taskId }, 'previews could not be scheduled');
  }
}
