import type { Artifact } from '../../plugins/index.ts';
import { PREVIEW_KIND, type ResultRecord, type TaskRecord } from '../../store/ports/index.ts';
import { previewKey } from '../artifacts/artifact-keys.ts';
import type { ResultDeps } from '../types.ts';

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

type WantDeps = Pick<ResultDeps, 'store' | 'clock' | 'logger' | 'kept' | 'node'>;

/**
 * Orders the previews of a task that somebody looks at for the first time. `known`: its results. A
 * failure only costs the previews, so it is logged and forgotten.
 */
export async function schedulePreviews(
  deps: WantDeps,
  { taskId, userId }: Pick<TaskRecord, 'taskId' | 'userId'>,
  { artifacts, known }: { artifacts: readonly Listed[]; known: readonly ResultRecord[] },
): Promise<void> {
  if (deps.kept.settings().previewBytes === 0 || !deps.node.canStore()) return;
  const wanted = artifacts
    .filter((artifact) => hasPicture(artifacts, artifact))
    .map(({ key }) => previewKey(key))
    .filter((key) => !known.some(({ artifactKey }) => artifactKey === key));
  if (wanted.length === 0) return;
  const createdAt = deps.clock.unix();
  const rows = wanted.map((artifactKey) => ({ taskId, userId, artifactKey, kind: PREVIEW_KIND, createdAt }));
  try {
    if (await deps.store.previews.want(rows, TRIES_MS)) deps.node.wakeResults();
  } catch (error) {
    deps.logger.warn({ err: error, task_id: taskId }, 'previews could not be scheduled');
  }
}
