import { userOwner } from '../../kernel/index.ts';
import {
  type Artifact,
  type HookFailure,
  isHostFailure,
  type LoadedPlugin,
  listArtifacts,
} from '../../plugins/index.ts';
import type { TaskRecord } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import { hookCause, hookError } from '../submission/prepare-submission.ts';
import type { TaskDeps } from '../types.ts';
import { artifactContext } from '../vendor/build-contexts.ts';
import { issueArtifactLinks } from './issue-artifact-links.ts';
import { resultArtifact } from './result-artifact.ts';

/**
 * Reads a task's artifacts out of its stored answer. They are never stored: the plugin version that
 * began the task decides.
 */
export async function projectArtifacts(plugin: LoadedPlugin | undefined, task: TaskRecord): Promise<Artifact[]> {
  if (task.status !== 'SUCCESS') return [];
  if (!plugin) throw taskErrors.artifact_plugin_unavailable();
  if (!plugin.manifest.hasArtifacts) return [];
  const listed = await listArtifacts(plugin, artifactContext(task), { owner: userOwner(task.userId), reuse: true });
  if (listed.ok) return listed.value;
  throw artifactHookError(listed.error);
}

/**
 * A plugin's own error reaches the client. When its hook could not be called, that is not its
 * fault.
 */
export function artifactHookError(failure: HookFailure): Error {
  if (failure.kind === 'thrown' || failure.kind === 'owner_refused') return hookError(failure);
  const cause = hookCause(failure);
  return isHostFailure(failure)
    ? taskErrors.artifact_plugin_unavailable({ cause })
    : taskErrors.artifact_plugin_error({ cause });
}

export type ArtifactList = {
  task_id: string;
  artifacts: {
    key: string;
    type: Artifact['type'];
    mimeType?: string;
    /** Needs no key. */
    content_url: string;
    /** Unix seconds after which the link no longer works. */
    expires_at?: number;
  }[];
  /**
   * Only if nothing is listed: the link to the result that the plugin gave an address of. It works
   * like a `content_url`.
   */
  legacy_content_url?: string;
  legacy_content_type?: Artifact['type'];
  legacy_content_expires_at?: number;
};

/** Lists a task's artifacts. Their links work without an API key, until `expires_at` if present. */
export async function describeArtifacts(deps: TaskDeps, task: TaskRecord): Promise<ArtifactList> {
  const pin = deps.pin();
  try {
    const artifacts = await projectArtifacts(await pin.generation.pluginOf(task), task);
    const result = artifacts.length === 0 ? resultArtifact(task) : undefined;
    if (artifacts.length === 0 && !result) return { task_id: task.taskId, artifacts: [] };
    const base = deps.publicAddress();
    if (!base) throw taskErrors.artifact_url_error();
    const linkTo = await issueArtifactLinks(deps, task, base);
    if (result) {
      const { url, expiresAt } = linkTo(result.key);
      const legacy = { legacy_content_url: url, legacy_content_type: result.type };
      const expiry = expiresAt === 0 ? {} : { legacy_content_expires_at: expiresAt };
      return { task_id: task.taskId, artifacts: [], ...legacy, ...expiry };
    }
    return {
      task_id: task.taskId,
      artifacts: artifacts.map(({ key, type, mimeType }) => {
        const { url, expiresAt } = linkTo(key);
        const kind = mimeType === undefined ? { type } : { type, mimeType };
        return { key, ...kind, content_url: url, ...(expiresAt === 0 ? {} : { expires_at: expiresAt }) };
      }),
    };
  } finally {
    pin.release();
  }
}
