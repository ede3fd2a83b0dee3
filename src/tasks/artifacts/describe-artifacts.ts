import type { Artifact } from '../../plugins/index.ts';
import type { ResultRecord, ResultState, TaskRecord } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import type { TaskDeps } from '../types.ts';
import { issueArtifactLinks, readLinkLife } from './issue-artifact-links.ts';
import { listTaskArtifacts } from './read-artifacts.ts';

/** Whether the gateway keeps a result; nothing where it does not. */
type KeptState = {
  kept?: ResultState;
  /** Of a kept result: size, digest in hex, and until when it is kept (absent: for ever). */
  bytes?: number;
  sha256?: string;
  kept_until?: number;
  /** Why a result is not kept yet, or is lost. */
  kept_reason?: string;
};

export type ArtifactList = {
  task_id: string;
  artifacts: ({
    key: string;
    type: Artifact['type'];
    mimeType?: string;
    /** Needs no key. */
    content_url: string;
    /** Unix seconds after which the link no longer works. */
    expires_at?: number;
  } & KeptState)[];
  /**
   * Only if nothing is listed: the link to the result that the plugin gave an address of. It works
   * like a `content_url`.
   */
  legacy_content_url?: string;
  legacy_content_type?: Artifact['type'];
  legacy_content_expires_at?: number;
};

/**
 * Lists a task's artifacts. Their links work without an API key, until `expires_at` if present.
 * `expiresIn`: the seconds that a client asks for, as it sent them.
 * @throws tasks.artifact_*
 */
export async function describeArtifacts(
  deps: TaskDeps,
  task: TaskRecord,
  expiresIn?: string | null,
): Promise<ArtifactList> {
  const lifeSeconds = typeof expiresIn === 'string' ? readLinkLife(deps, expiresIn) : undefined;
  const results = task.status === 'SUCCESS' ? await deps.store.results.ofTasks([task.taskId]) : [];
  const { artifacts, legacy } = await listKeptOrListed(deps, task, results);
  if (artifacts.length === 0 && !legacy) return { task_id: task.taskId, artifacts: [] };
  const base = deps.publicAddress();
  if (!base) throw taskErrors.artifact_url_error();
  const linkTo = await issueArtifactLinks(deps, task, { base, lifeSeconds });
  if (legacy) {
    const { url, expiresAt } = linkTo(legacy.key);
    const expiry = expiresAt === 0 ? {} : { legacy_content_expires_at: expiresAt };
    return {
      task_id: task.taskId,
      artifacts: [],
      legacy_content_url: url,
      legacy_content_type: legacy.type,
      ...expiry,
    };
  }
  const isListed = !results.some(({ artifactKey }) => artifactKey === '');
  return {
    task_id: task.taskId,
    artifacts: artifacts.map(({ key, type, mimeType }) => {
      const { url, expiresAt } = linkTo(key);
      const kind = mimeType === undefined ? { type } : { type, mimeType };
      const result = results.find(({ artifactKey }) => artifactKey === (isListed ? key : ''));
      const kept = result ? describeKept(result) : {};
      return { key, ...kind, content_url: url, ...(expiresAt === 0 ? {} : { expires_at: expiresAt }), ...kept };
    }),
  };
}

/** What is kept of a task is listed even if its plugin is gone or fails. */
async function listKeptOrListed(
  deps: Pick<TaskDeps, 'pin' | 'outcomes'>,
  task: TaskRecord,
  results: readonly ResultRecord[],
): ReturnType<typeof listTaskArtifacts> {
  try {
    return await listTaskArtifacts(deps, task);
  } catch (error) {
    const kept = results
      .filter(({ state }) => state === 'kept')
      .map(({ artifactKey, kind }) => ({ key: artifactKey, type: kind as Artifact['type'] }));
    if (kept.length === 0) throw error;
    return { artifacts: kept, legacy: undefined };
  }
}

function describeKept({ state, sha256, bytes, keptUntil, reason }: ResultRecord): KeptState {
  const file = sha256 === null ? {} : { bytes, sha256, ...(keptUntil === 0 ? {} : { kept_until: keptUntil }) };
  return { kept: state, ...file, ...(reason === '' ? {} : { kept_reason: reason }) };
}
