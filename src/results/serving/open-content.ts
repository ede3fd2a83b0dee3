import type { ResultRecord, TaskRecord } from '../../store/ports/index.ts';
import type { ContentRequest } from '../../vendors/index.ts';
import { openArtifact } from '../artifacts/open-artifact.ts';
import { previewedKey } from '../artifacts/preview-keys.ts';
import { resultErrors } from '../errors.ts';
import type { ArtifactChoice, Content, ResultDeps } from '../types.ts';
import { openKept } from './open-kept.ts';

/**
 * An artifact for a client: the copy that the gateway keeps, or else the vendor's. `result`: what
 * was read of it already.
 * @throws tasks.artifact_*
 */
export async function openContent(
  deps: ResultDeps,
  download: { task: TaskRecord; choice: ArtifactChoice; client: ContentRequest; result?: ResultRecord },
): Promise<Content> {
  if (download.task.status !== 'SUCCESS') throw resultErrors.artifact_not_ready();
  const kept = await openKept(deps, download);
  if (kept) return kept;
  // A preview is the gateway's: no vendor has it.
  if (download.choice.variant === undefined && previewedKey(download.choice.key) !== undefined)
    throw resultErrors.artifact_not_found();
  return openArtifact(deps, download);
}
