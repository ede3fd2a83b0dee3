import { userOwner } from '../../kernel/index.ts';
import {
  type Artifact,
  type Generation,
  type HookFailure,
  isHostFailure,
  type LoadedPlugin,
  listArtifacts,
} from '../../plugins/index.ts';
import type { ChannelRecord, TaskRecord } from '../../store/ports/index.ts';
import type { ContentRequest, Credential } from '../../vendors/index.ts';
import { ASK_AGAIN_SECONDS, artifactContext, hookCause, hookError, vendorErrors } from '../../vendors/index.ts';
import { resultErrors } from '../errors.ts';
import type { ResultDeps } from '../types.ts';
import { resultArtifact } from './artifact-keys.ts';

/**
 * Reads a task's artifacts out of its stored answer. They are never stored: the plugin version that
 * began the task decides.
 */
export async function projectArtifacts(plugin: LoadedPlugin, task: TaskRecord): Promise<Artifact[]> {
  if (!plugin.manifest.hasArtifacts) return [];
  const listed = await listArtifacts(plugin, artifactContext(task), { owner: userOwner(task.userId), reuse: true });
  if (listed.ok) return listed.value;
  throw artifactHookError(listed.error);
}

/**
 * The version that reads a task's answer.
 * @throws tasks.artifact_plugin_unavailable while it is away, tasks.artifact_gone when it is gone
 */
export async function requirePlugin(generation: Generation, task: TaskRecord): Promise<LoadedPlugin> {
  const plugin = await generation.findPlugin(task);
  if (plugin) return plugin;
  if (generation.mayReturn(task))
    throw resultErrors.artifact_plugin_unavailable({ retryAfterSeconds: ASK_AGAIN_SECONDS });
  throw vendorErrors.artifact_gone({
    message: "The plugin of this task is gone, so the vendor's response can't be read.",
  });
}

/** @throws tasks.artifact_gone for a task whose vendor's answer is no longer kept */
export function requireAnswer({ status, properties }: TaskRecord): void {
  if (status === 'SUCCESS' && properties.expired)
    throw vendorErrors.artifact_gone({
      message: 'The result of this task has been deleted after its retention period.',
    });
}

/**
 * A plugin's own error reaches the client. When its hook could not be called, that is not its
 * fault.
 */
export function artifactHookError(failure: HookFailure): Error {
  if (failure.kind === 'thrown' || failure.kind === 'owner_refused') return hookError(failure);
  const cause = hookCause(failure);
  return isHostFailure(failure)
    ? resultErrors.artifact_plugin_unavailable({ cause, retryAfterSeconds: 5 })
    : resultErrors.artifact_plugin_error({ cause });
}

/** The error of a hook that may say that there is no such artifact. */
export const contentHookError = (failure: HookFailure): Error =>
  failure.kind === 'thrown' && failure.message.includes('artifact_not_found')
    ? resultErrors.artifact_not_found()
    : artifactHookError(failure);

/**
 * The artifacts of a task, as its plugin lists them; `legacy`: the result that it gave only an
 * address of, if it lists none.
 * @throws tasks.artifact_*
 */
export async function listTaskArtifacts(
  deps: Pick<ResultDeps, 'pin' | 'telemetry'>,
  task: TaskRecord,
): Promise<{ artifacts: Artifact[]; legacy: Artifact | undefined }> {
  requireAnswer(task);
  const pin = deps.pin();
  try {
    if (task.status !== 'SUCCESS') return { artifacts: [], legacy: undefined };
    const plugin = await requirePlugin(pin.generation, task);
    const artifacts = await projectArtifacts(plugin, task).catch((error: unknown) => {
      deps.telemetry.outcomes.fetched(plugin, task, error);
      throw error;
    });
    return { artifacts, legacy: artifacts.length === 0 ? resultArtifact(task) : undefined };
  } finally {
    pin.release();
  }
}

/** An artifact that a client downloads, and what leads to it. */
export type ArtifactSource = {
  plugin: LoadedPlugin;
  channel: ChannelRecord;
  credential: Credential;
  task: TaskRecord;
  artifactKey: string;
  client: ContentRequest;
};
