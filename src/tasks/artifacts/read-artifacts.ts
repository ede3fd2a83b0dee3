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

/** @throws tasks.artifact_gone for a task whose vendor's answer is no longer kept */
export function requireAnswer({ status, properties }: TaskRecord): void {
  if (status === 'SUCCESS' && properties.expired)
    throw taskErrors.artifact_gone({ message: 'The result of this task is past its retention.' });
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

/** The same for a hook that may say that there is no such artifact. */
export const contentHookError = (failure: HookFailure): Error =>
  failure.kind === 'thrown' && failure.message.includes('artifact_not_found')
    ? taskErrors.artifact_not_found()
    : artifactHookError(failure);

/**
 * The artifacts of a task, as its plugin lists them; `legacy`: the result that it gave only an
 * address of, if it lists none.
 * @throws tasks.artifact_*
 */
export async function listTaskArtifacts(
  deps: Pick<TaskDeps, 'pin' | 'outcomes'>,
  task: TaskRecord,
): Promise<{ artifacts: Artifact[]; legacy: Artifact | undefined }> {
  requireAnswer(task);
  const pin = deps.pin();
  try {
    const plugin = await pin.generation.pluginOf(task);
    const artifacts = await projectArtifacts(plugin, task).catch((error: unknown) => {
      if (plugin) deps.outcomes.fetched(plugin, task, error);
      throw error;
    });
    return { artifacts, legacy: artifacts.length === 0 ? resultArtifact(task) : undefined };
  } finally {
    pin.release();
  }
}
