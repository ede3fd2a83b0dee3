import type { Artifact } from '../../plugins/index.ts';
import { PREVIEW_KIND, type ResultRecord, type TaskRecord } from '../../store/ports/index.ts';
import type { TaskDeps } from '../types.ts';
import { findPicture } from './find-picture.ts';
import { previewKey } from './preview-keys.ts';

/** How long the gateway tries; the browser that looks can make one at any time. */
const TRIES_MS = 10 * 60_000;

type Listed = Pick<Artifact, 'key' | 'type'>;

/** Whether there is a picture that may be the preview as it is. */
const hasPicture = (artifacts: readonly Listed[], artifact: Listed): boolean =>
  artifact.type === 'image' || (artifact.type === 'video' && findPicture(artifacts, artifact) !== undefined);

type WantDeps = Pick<TaskDeps, 'store' | 'clock' | 'logger' | 'results' | 'wakeResults' | 'canStore'>;

/** Whether a still can be drawn of what is kept of this artifact. */
const canBeDrawn = ({ type }: Pick<Artifact, 'type'>, kept: ResultRecord | undefined): boolean =>
  (type === 'video' || type === 'audio') && kept?.state === 'kept';

/**
 * Orders the preview of a video or a sound that has just been kept, where one can be drawn. Nobody
 * has to look at it first.
 */
export async function wantDrawnPreview(deps: WantDeps, result: ResultRecord): Promise<void> {
  const { taskId, artifactKey: key, kind } = result;
  if ((kind !== 'video' && kind !== 'audio') || !(await deps.results.stills.isReady())) return;
  const known = (await deps.store.results.ofTasks([taskId])).filter(
    ({ artifactKey }) => artifactKey === previewKey(key),
  );
  await wantPreviews(deps, result, {
    artifacts: [{ key, type: kind }],
    known: [...known, { ...result, state: 'kept' }],
  });
}

/**
 * Orders the previews of a task that somebody looks at for the first time. `known`: its results. A
 * failure only costs the previews, so it is logged and forgotten.
 */
export async function wantPreviews(
  deps: WantDeps,
  { taskId, userId }: Pick<TaskRecord, 'taskId' | 'userId'>,
  { artifacts, known }: { artifacts: readonly Listed[]; known: readonly ResultRecord[] },
): Promise<void> {
  if (deps.results.settings().previewBytes === 0 || !deps.canStore()) return;
  const isReady = await deps.results.stills.isReady();
  const keptOf = (key: string) => known.find(({ artifactKey }) => artifactKey === key);
  const wanted = artifacts
    .filter((artifact) => hasPicture(artifacts, artifact) || (isReady && canBeDrawn(artifact, keptOf(artifact.key))))
    .map(({ key }) => previewKey(key))
    .filter((key) => !known.some(({ artifactKey }) => artifactKey === key));
  if (wanted.length === 0) return;
  const createdAt = deps.clock.unix();
  const rows = wanted.map((artifactKey) => ({ taskId, userId, artifactKey, kind: PREVIEW_KIND, createdAt }));
  try {
    if (await deps.store.previews.want(rows, TRIES_MS)) deps.wakeResults();
  } catch (error) {
    deps.logger.warn({ err: error, task_id: taskId }, 'previews could not be ordered');
  }
}
