import { err, ok, type Result, type Sentence, toSentence } from '../../kernel/index.ts';
import { type CopiedFile, PREVIEW_KIND } from '../../store/ports/index.ts';
import { findOwnTask, taskErrors } from '../../tasks/index.ts';
import { previewKey } from '../artifacts/artifact-keys.ts';
import { listTaskArtifacts } from '../artifacts/read-artifacts.ts';
import { resultErrors } from '../errors.ts';
import type { ResultDeps } from '../types.ts';
import { readStillImage } from './images/read-still-image.ts';
import type { StillImage } from './images/still-image.ts';

/** `readerId`: whose browser made it; null for an administrator, who may see every task. */
export type OfferedPreview = { readerId: number | null; taskId: string; artifactKey: string; image: Uint8Array };

/**
 * Takes a preview of an artifact from the browser of a person who may see it: once, and only after
 * it was checked. It belongs to the task's owner.
 * @throws tasks.task_not_found, also for a task that the reader may not see, tasks.preview_*,
 *   tasks.artifact_*
 */
export async function acceptPreview(deps: ResultDeps, offered: OfferedPreview): Promise<void> {
  const { store, clock } = deps;
  const { readerId, taskId, artifactKey } = offered;
  const task = readerId === null ? await store.tasks.byTaskId(taskId) : await findOwnTask(deps, readerId, taskId);
  if (task?.hiddenAt !== 0) throw taskErrors.task_not_found();
  const { userId } = task;
  if (task.status !== 'SUCCESS') throw resultErrors.artifact_not_ready();
  const key = previewKey(artifactKey);
  if ((await store.results.find(taskId, key))?.state === 'kept') throw resultErrors.preview_exists();
  const image = readStillImage(offered.image);
  if (!image.ok) throw resultErrors.preview_invalid({ message: `The image ${image.error}.`, param: 'image' });
  const { artifacts, legacy } = await listTaskArtifacts(deps, task);
  const listed = [...artifacts, ...(legacy ? [legacy] : [])].find((artifact) => artifact.key === artifactKey);
  if (!listed || listed.type === 'file') throw resultErrors.artifact_not_found();
  const owner = await store.users.byId(userId);
  if (!owner) throw taskErrors.task_not_found();
  const { signal } = new AbortController();
  const stored = await storePreview(deps, { image: image.value, group: owner.group, signal });
  if (!stored.ok) throw resultErrors.preview_unavailable();
  const preview = { taskId, userId, artifactKey: key, kind: PREVIEW_KIND, createdAt: clock.unix() };
  const outcome = await store.previews.add(preview, stored.value);
  if (outcome === 'exists') throw resultErrors.preview_exists();
  if (outcome === 'no_task') throw taskErrors.task_not_found();
  if (outcome !== 'kept') throw resultErrors.preview_unavailable();
}

/** Why a preview was not stored. `place`: what the result storage refused, for administrators. */
export type PreviewFault = { kind: 'no_room' | 'unavailable'; place?: Sentence };

/** Whether one more preview of this size fits into what all of them may take. */
async function hasPreviewRoom({ store, storage }: Pick<ResultDeps, 'store' | 'storage'>): Promise<boolean> {
  const { previewBytes } = storage.settings();
  return previewBytes > 0 && (await store.previews.usage()).bytes < previewBytes;
}

/**
 * Writes a checked image to the result storage. Nothing needs it yet: hand what comes back
 * to the store.
 */
export async function storePreview(
  deps: Pick<ResultDeps, 'store' | 'clock' | 'storage'>,
  { image, group, signal }: { image: StillImage; group: string; signal: AbortSignal },
): Promise<Result<CopiedFile, PreviewFault>> {
  const { store, clock, storage } = deps;
  if (!(await hasPreviewRoom(deps))) return err({ kind: 'no_room' });
  const { daysFor, storageQuotaFor } = storage.settings();
  const { type: mimeType, width, height, bytes } = image;
  const source = (async function* () {
    yield bytes;
  })();
  const stored = await storage.files.put(source, { maxBytes: bytes.byteLength, signal });
  if (!stored.ok) return err({ kind: 'unavailable', place: toSentence(stored.error) });
  // A sweep may have deleted an equal file between the copy and this announcement.
  const { sha256 } = stored.value;
  const isThere = (await store.results.expectFile(stored.value)) && (await storage.files.size(sha256)) !== undefined;
  if (!isThere) return err({ kind: 'unavailable' });
  const days = daysFor(group);
  const keptAt = clock.unix();
  const keptUntil = days === 0 ? 0 : keptAt + days * 86_400;
  return ok({
    ...stored.value,
    mimeType,
    keptAt,
    keptUntil,
    size: { width, height },
    quotaBytes: storageQuotaFor(group),
  });
}
