import { AppError, holdSlotUntilSent, RELAY_PREFIX } from '../../kernel/index.ts';
import { type LinkedResult, STATUS } from '../../store/ports/index.ts';
import type { ContentRequest } from '../../vendors/index.ts';
import { previewedKey, previewKey, VIDEO_LINK } from '../artifacts/artifact-keys.ts';
import { openArtifact } from '../artifacts/open-artifact.ts';
import { resultErrors } from '../errors.ts';
import { isLinkExpired } from '../links/issue-artifact-links.ts';
import { readLinkVersion } from '../links/link-versions.ts';
import type { Content, LinkTerms, ResultDeps, VerifiedLink, VerifiedLinks } from '../types.ts';
import { openContent, openKept } from './open-content.ts';

/** An artifact and the capability in its link. */
export type ArtifactLink = {
  taskId: string;
  /** `VIDEO_LINK` at the address of a task's video, which also links to the key "video" open. */
  artifactKey: string;
  /** All values of `access` in the link; a valid link has exactly one. */
  access: readonly string[];
  /** The client's address, as limits count it. */
  address: string;
};

const MAX_TASK_ID = 191;
/** An artifact's key, or that of its preview. */
const MAX_ARTIFACT_KEY = previewKey('').length + 128;

/**
 * Opens content for anyone who has the link. The link is verified before anything is read. After
 * that every failure, of the task, its owner, its plugin or its vendor, is the same
 * `tasks.artifact_not_found`: a link reveals nothing but its own content.
 * @throws tasks.artifact_not_found, tasks.artifact_access_limited
 */
export async function openLinkedArtifact(
  deps: ResultDeps,
  link: ArtifactLink,
  client: ContentRequest,
): Promise<Content> {
  const { taskId, address } = link;
  const found = verify(deps.links.verified, link);
  if (!found) {
    await deps.links.guard.countInvalid(address);
    throw resultErrors.artifact_not_found();
  }
  const { verified, artifactKey } = found;
  const choice = artifactKey === VIDEO_LINK ? { variant: 'video' } : { key: artifactKey };
  const release = deps.links.guard.acquire({ address, artifact: `${taskId}/${artifactKey}` });
  try {
    return await holdSlotUntilSent(release, async (onStreamEnd) => {
      const request = { ...client, onStreamEnd };
      if (taskId.startsWith(RELAY_PREFIX)) return await openRelayed(deps, { link, terms: verified.terms, request });
      if (verified.wasKept) {
        const kept = await deps.store.tasks.linkedResult(taskId, artifactKey);
        if (kept) {
          assertOpens(deps, kept, { artifactKey, terms: verified.terms });
          const content = await openKept(deps, { task: kept.task, choice, client: request, result: kept.result });
          if (content) return content;
        }
      }
      const { task, owner, result } = (await deps.store.tasks.linked(taskId, artifactKey)) ?? {};
      if (!task) throw resultErrors.artifact_not_found();
      assertOpens(deps, { task, owner }, { artifactKey, terms: verified.terms });
      verified.wasKept = result?.state === 'kept';
      const download = { task, choice, client: request };
      const mayBeKept = verified.wasKept || artifactKey === VIDEO_LINK || previewedKey(artifactKey) !== undefined;
      if (!mayBeKept) return openArtifact(deps, download);
      return openContent(deps, result ? { ...download, result } : download);
    });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    // Clients get no reason, so the log has it.
    const logFields = { task_id: taskId, artifact: artifactKey, code: error.code, request_id: client.requestId };
    deps.logger.info(logFields, 'download by link failed');
    throw resultErrors.artifact_not_found({ cause: error });
  }
}

type RelayedDownload = { link: ArtifactLink; terms: LinkTerms; request: ContentRequest };

/** A relayed video at its vendor. It has no links of its own that could be ended. */
async function openRelayed(deps: ResultDeps, { link, terms, request }: RelayedDownload): Promise<Content> {
  const video = link.artifactKey === VIDEO_LINK ? await deps.findRelayed(link.taskId) : undefined;
  if (!video) throw resultErrors.artifact_not_found();
  const owner = await deps.store.users.byId(video.userId);
  const own = { status: 'SUCCESS', hiddenAt: 0, finishTime: video.createdAt, linkVersions: '' } as const;
  assertOpens(deps, { task: { taskId: link.taskId, ...own }, owner }, { artifactKey: VIDEO_LINK, terms });
  const content = await video.open(request);
  if (content.status >= 400 && content.status !== 416) throw resultErrors.artifact_not_found();
  return content;
}

/** Read again for each download, so that an end counts at once: deletion, revocation, expiry. */
function assertOpens(
  deps: Pick<ResultDeps, 'clock' | 'links'>,
  { task, owner }: { task: LinkedResult['task']; owner: LinkedResult['owner'] | undefined },
  { artifactKey, terms }: { artifactKey: string; terms: LinkTerms },
): void {
  if (task.hiddenAt !== 0 || owner?.status !== STATUS.enabled) throw resultErrors.artifact_not_found();
  const isCurrent =
    owner.linkVersion === terms.version && readLinkVersion(task, artifactKey) === (terms.taskVersion ?? 0);
  if (!isCurrent || isLinkExpired(deps, terms, task)) throw resultErrors.artifact_not_found();
  if (task.status !== 'SUCCESS') throw resultErrors.artifact_not_ready();
}

type GenuineLink = { verified: VerifiedLink; artifactKey: string };

function verify(links: VerifiedLinks, { taskId, artifactKey, access }: ArtifactLink): GenuineLink | undefined {
  const [presented] = access;
  if (presented === undefined || access.length > 1) return undefined;
  if (taskId.length > MAX_TASK_ID || artifactKey.length > MAX_ARTIFACT_KEY) return undefined;
  for (const key of artifactKey === VIDEO_LINK ? [VIDEO_LINK, 'video'] : [artifactKey]) {
    const verified = links.verify({ taskId, artifactKey: key }, presented);
    if (verified) return { verified, artifactKey: key };
  }
  return undefined;
}
