import { AppError, holdSlotUntilSent } from '../../kernel/index.ts';
import { STATUS } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import type { TaskDeps } from '../types.ts';
import { type LinkTerms, verifyCapability } from './artifact-links.ts';
import { isLinkOver } from './issue-artifact-links.ts';
import type { LinkLimit } from './limit-links.ts';
import { type Content, type ContentRequest, openArtifact } from './open-artifact.ts';

/** An artifact and what its link says to be allowed to. */
export type ArtifactLink = {
  taskId: string;
  artifactKey: string;
  /** Every value of `access` in the link: exactly one is valid. */
  access: readonly string[];
  /** The client's address, as limits count it. */
  address: string;
};

const MAX_TASK_ID = 191;
const MAX_ARTIFACT_KEY = 128;

/**
 * Content for whoever has the link. The link is verified before anything is read. Any trouble after
 * that, with the task, its owner, its plugin or its vendor, is the same `tasks.artifact_not_found`:
 * a link tells strangers nothing but its own content. Throws `tasks.artifact_access_limited` as
 * well.
 */
export async function openLinkedArtifact(
  deps: TaskDeps,
  gate: LinkLimit,
  link: ArtifactLink,
  client: ContentRequest,
): Promise<Content> {
  const { taskId, artifactKey, address } = link;
  const terms = readTerms(deps.cryptoSecrets, link);
  if (!terms) {
    await gate.countInvalid(address);
    throw taskErrors.artifact_not_found();
  }
  const leave = gate.enter({ address, artifact: `${taskId}/${artifactKey}` });
  try {
    return await holdSlotUntilSent(leave, async (onStreamEnd) => {
      const task = await deps.store.tasks.byTaskId(taskId);
      const owner = task && (await deps.store.users.byId(task.userId));
      if (!task || owner?.status !== STATUS.enabled) throw taskErrors.artifact_not_found();
      if (owner.linkVersion !== terms.version || isLinkOver(deps, terms, task)) throw taskErrors.artifact_not_found();
      return openArtifact(deps, task, artifactKey, { ...client, onStreamEnd });
    });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    // What the client is not told the operator is.
    const told = { task_id: taskId, artifact: artifactKey, code: error.code, request_id: client.requestId };
    deps.logger.info(told, 'a download by link failed');
    throw taskErrors.artifact_not_found({ cause: error });
  }
}

function readTerms(secrets: readonly string[], { taskId, artifactKey, access }: ArtifactLink): LinkTerms | undefined {
  const [presented] = access;
  if (presented === undefined || access.length > 1) return undefined;
  if (taskId.length > MAX_TASK_ID || artifactKey.length > MAX_ARTIFACT_KEY) return undefined;
  return verifyCapability(secrets, { taskId, artifactKey }, presented);
}
