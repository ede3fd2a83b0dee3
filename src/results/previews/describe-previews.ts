import type { KeptResultRecord, TaskRecord } from '../../store/ports/index.ts';
import { previewedKey } from '../artifacts/artifact-keys.ts';
import { createLinkIssuer } from '../links/issue-artifact-links.ts';
import type { ResultDeps } from '../types.ts';

/** A still image of at most 64 KB and 512 pixels a side. `url` needs no key. */
export type Preview = { url: string; width: number; height: number; type: string };

export const describePreview = (
  { artifactKey, width, height, mimeType }: Pick<KeptResultRecord, 'artifactKey' | 'width' | 'height' | 'mimeType'>,
  linkTo: (artifactKey: string) => { url: string },
): Preview => ({ url: linkTo(artifactKey).url, width, height, type: mimeType });

/** The vendor's picture shows more than what was drawn of a sound. */
const isPicture = ({ artifactKey }: KeptResultRecord): boolean =>
  !/^audio(?:[^a-z]|$)/i.test(previewedKey(artifactKey) ?? '');

/** One preview of each of these tasks that has any, by the task's id; for lists. */
export async function describePosters(
  deps: ResultDeps,
  tasks: readonly Pick<TaskRecord, 'taskId' | 'userId' | 'status' | 'linkVersions'>[],
): Promise<Map<string, Preview>> {
  const posters = new Map<string, Preview>();
  const base = deps.links.publicAddress();
  const ended = tasks.filter(({ status }) => status === 'SUCCESS');
  if (!base || ended.length === 0) return posters;
  const previews = await deps.store.previews.ofTasks(ended.map(({ taskId }) => taskId));
  const issuers = new Map<number, ReturnType<typeof createLinkIssuer>>();
  for (const task of ended) {
    const own = previews.filter(({ taskId }) => taskId === task.taskId);
    const chosen = own.find(isPicture) ?? own[0];
    if (!chosen) continue;
    const issuer = issuers.get(task.userId) ?? createLinkIssuer(deps, task.userId, { base });
    issuers.set(task.userId, issuer);
    posters.set(task.taskId, describePreview(chosen, (await issuer)(task)));
  }
  return posters;
}
