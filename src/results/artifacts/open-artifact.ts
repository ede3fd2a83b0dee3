import { userOwner } from '../../kernel/index.ts';
import {
  type Artifact,
  buildContentRequest,
  type ContentRequest as DescribedContent,
  type LoadedPlugin,
} from '../../plugins/index.ts';
import type { TaskRecord } from '../../store/ports/index.ts';
import { traceEvent } from '../../tasks/index.ts';
import {
  artifactContext,
  type ContentRequest,
  fetchContent,
  hookCause,
  pickHeaders,
  resolveCredential,
  type VendorContent,
  vendorErrors,
} from '../../vendors/index.ts';
import { resultErrors } from '../errors.ts';
import type { ArtifactChoice, ResultDeps } from '../types.ts';
import { resultArtifact } from './artifact-keys.ts';
import { describeResult } from './describe-result.ts';
import { openResolved } from './open-resolved.ts';
import type { ArtifactSource } from './read-artifacts.ts';
import { contentHookError, projectArtifacts, requireAnswer, requirePlugin } from './read-artifacts.ts';

/** Characters of a message that lists what there is. */
const MAX_LISTED = 300;

type Download = { task: TaskRecord; choice: ArtifactChoice; client: ContentRequest };

/**
 * Fetches one artifact from the vendor for a client.
 * @throws tasks.artifact_*
 */
export async function openArtifact(deps: ResultDeps, { task, choice, client }: Download): Promise<VendorContent> {
  if (task.status !== 'SUCCESS') throw resultErrors.artifact_not_ready();
  requireAnswer(task);
  const pin = deps.pin();
  try {
    const plugin = await requirePlugin(pin.generation, task);
    const content = await open(deps, plugin, { task, choice, client }).catch((error: unknown) => {
      deps.telemetry.outcomes.fetched(plugin, task, error);
      throw error;
    });
    deps.telemetry.outcomes.fetched(plugin, task);
    return content;
  } finally {
    pin.release();
  }
}

async function open(
  deps: ResultDeps,
  plugin: LoadedPlugin,
  { task, choice, client }: Download,
): Promise<VendorContent> {
  const listed = await projectArtifacts(plugin, task);
  const result = listed.length === 0 ? resultArtifact(task) : undefined;
  const artifact = chooseArtifact(result ? [result] : listed, choice);
  traceEvent(deps.logger, 'artifact_request', {
    request_id: client.requestId,
    task_id: task.taskId,
    plugin: plugin.key,
    artifact: artifact.key,
    method: client.method,
  });
  const channel = deps.vendors.channels.find(task.channelId) ?? (await deps.store.channels.byId(task.channelId));
  if (!channel) throw vendorErrors.artifact_gone({ message: 'The channel of this task was deleted.' });
  const credential = await resolveCredential(deps.vendors, plugin.manifest, channel);
  const source = { plugin, channel, credential, task, client };
  const { onUnauthorized } = credential;
  const send = (described: DescribedContent): Promise<VendorContent> =>
    fetchContent(deps.vendors, { plugin, channel, described, client, onUnauthorized });
  if (result) return send(await describeResult(deps, source));
  const chosen = { ...source, artifactKey: artifact.key };
  return (await openResolved(deps, chosen, send)) ?? (await send(await describeContent(chosen)));
}

/** @throws tasks.artifact_not_found, tasks.artifact_variant_unknown */
function chooseArtifact(artifacts: readonly Artifact[], choice: ArtifactChoice): Artifact {
  const { variant } = choice;
  const found = artifacts.find(({ key, type }) =>
    variant === undefined ? key === choice.key : type === variant || (variant !== 'video' && key === variant),
  );
  if (found) return found;
  if (variant === undefined || variant === 'video') throw resultErrors.artifact_not_found();
  const hasVideo = artifacts.some(({ type }) => type === 'video');
  const others = artifacts.filter(({ type }) => type !== 'video').map(({ key }) => key);
  const variants = [...(hasVideo ? ['video'] : []), ...others];
  throw resultErrors.artifact_variant_unknown({
    message: `This video has no such variant. It has: ${variants.join(', ').slice(0, MAX_LISTED) || 'none'}.`,
    param: 'variant',
  });
}

/** Asks the plugin where the artifact is. */
async function describeContent({
  plugin,
  channel,
  credential,
  task,
  artifactKey,
  client,
}: ArtifactSource): Promise<DescribedContent> {
  const context = {
    ...artifactContext(task),
    upstreamTaskId: task.upstreamTaskId,
    artifactKey,
    baseUrl: channel.baseUrl,
    clientRequest: { method: client.method, headers: pickHeaders(client.headers) },
    ...credential.context,
  };
  const built = await buildContentRequest(plugin, context, {
    owner: userOwner(task.userId),
    secrets: credential.secrets,
  });
  if (built.ok) return built.value;
  if (built.error.kind === 'invalid_result') {
    throw vendorErrors.artifact_request_rejected({ cause: hookCause(built.error) });
  }
  throw contentHookError(built.error);
}
