import { hasEnded, type TaskRecord } from '../../store/ports/index.ts';
import { taskErrors } from '../../tasks/index.ts';
import { previewedKey, VIDEO_LINK } from '../artifacts/artifact-keys.ts';
import { listTaskArtifacts } from '../artifacts/read-artifacts.ts';
import { resultErrors } from '../errors.ts';
import type { ResultDeps } from '../types.ts';

/** The key that stands for all artifacts of a task. */
const ALL = '';
/** Others may move the versions at the same time. */
const MAX_ATTEMPTS = 10;

type Versions = Record<string, number>;

const readVersions = (text: string): Versions => (text === '' ? {} : (JSON.parse(text) as Versions));
const versionUnder = (versions: Versions, key: string): number =>
  (Object.hasOwn(versions, key) ? versions[key] : 0) ?? 0;

/**
 * The version of an artifact's links, which are also those of its preview. It only rises: each
 * revocation adds one. The link of a task's video ends with the links of any of its artifacts.
 */
export function readLinkVersion({ linkVersions }: Pick<TaskRecord, 'linkVersions'>, artifactKey: string): number {
  if (linkVersions === '') return 0;
  const versions = readVersions(linkVersions);
  if (artifactKey === VIDEO_LINK) return Object.values(versions).reduce((sum, version) => sum + version, 0);
  const key = previewedKey(artifactKey) ?? artifactKey;
  return versionUnder(versions, ALL) + (key === ALL ? 0 : versionUnder(versions, key));
}

/**
 * Ends the links of an ended task made so far: of one artifact, or of all. New ones can be made.
 * @throws tasks.artifact_not_ready, tasks.artifact_not_found, tasks.task_not_found
 */
export async function revokeTaskLinks(deps: ResultDeps, task: TaskRecord, artifactKey?: string): Promise<void> {
  // A link exists once a task has ended. What is not among its artifacts is not stored.
  if (!hasEnded(task)) throw resultErrors.artifact_not_ready();
  if (artifactKey !== undefined && !(await hasArtifact(deps, task, artifactKey)))
    throw resultErrors.artifact_not_found();
  let known: string | undefined = task.linkVersions;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    if (known === undefined) throw taskErrors.task_not_found();
    const versions = readVersions(known);
    const key = artifactKey ?? ALL;
    const next = JSON.stringify({ ...versions, [key]: versionUnder(versions, key) + 1 });
    if (await deps.store.tasks.setLinkVersions(task.taskId, { known, next })) return;
    known = (await deps.store.tasks.byTaskId(task.taskId))?.linkVersions;
  }
  throw new Error('the versions of the links were moved again and again');
}

async function hasArtifact(deps: ResultDeps, task: TaskRecord, artifactKey: string): Promise<boolean> {
  if (artifactKey === ALL || previewedKey(artifactKey) !== undefined) return false;
  const results = await deps.store.results.ofTasks([task.taskId]);
  if (results.some((result) => result.artifactKey === artifactKey)) return true;
  const { artifacts, legacy } = await listTaskArtifacts(deps, task);
  return artifacts.some(({ key }) => key === artifactKey) || legacy?.key === artifactKey;
}
