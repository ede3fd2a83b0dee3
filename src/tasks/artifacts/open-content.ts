import type { ResultRecord, TaskRecord } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import { previewedKey } from '../previews/preview-keys.ts';
import { openKept } from '../results/open-kept.ts';
import type { TaskDeps } from '../types.ts';
import { openArtifact } from './open-artifact.ts';
import type { ArtifactChoice, Content, ContentRequest } from './types.ts';

/**
 * An artifact for a client: the copy that the gateway keeps, or else the vendor's. `result`: what
 * was read of it already.
 * @throws tasks.artifact_*
 */
export async function openContent(
  deps: TaskDeps,
  download: { task: TaskRecord; choice: ArtifactChoice; client: ContentRequest; result?: ResultRecord },
): Promise<Content> {
  if (download.task.status !== 'SUCCESS') throw taskErrors.artifact_not_ready();
  const kept = await openKept(deps, download);
  if (kept) return kept;
  // A preview is the gateway's: no vendor has it.
  if (download.choice.variant === undefined && previewedKey(download.choice.key) !== undefined)
    throw taskErrors.artifact_not_found();
  return openArtifact(deps, download);
}
