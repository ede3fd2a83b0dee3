import type { LoadedPlugin, PluginRequest } from '../../plugins/index.ts';
import type { ChannelRecord } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import type { TaskDeps } from '../types.ts';
import { buildUpstreamRequest } from '../vendor/build-upstream-request.ts';
import { readVendorAnswer, type VendorAnswer } from '../vendor/read-vendor-answer.ts';
import type { Credential } from '../vendor/resolve-credential.ts';
import { contentFailure, statusFailure } from './fetch-content.ts';

type Look = {
  plugin: LoadedPlugin;
  channel: ChannelRecord;
  credential: Credential;
  described: PluginRequest;
  signal?: AbortSignal;
};

/**
 * Asks the vendor where content is, under the rules of a poll's request: the channel's host or
 * `allowedHosts`, and an answer of bounded size.
 * @throws tasks.artifact_*
 */
export async function askVendor(
  deps: TaskDeps,
  { plugin, channel, credential, described, signal }: Look,
): Promise<VendorAnswer> {
  credential.addSecretsOf(described);
  const request = buildUpstreamRequest(plugin, { channel, described });
  if (!request.ok) throw taskErrors.artifact_request_rejected({ cause: request.error });
  const sent = await deps.upstream.request({ ...request.value, ...(signal ? { signal } : {}) });
  if (!sent.ok) throw contentFailure(sent.error);
  const { status } = sent.value;
  if (status === 401) credential.onUnauthorized();
  if (status < 200 || status >= 300) {
    sent.value.discard();
    throw statusFailure(deps, sent.value);
  }
  const read = await readVendorAnswer(sent.value, { tasks: 1 });
  if (!read.ok) throw taskErrors.artifact_upstream_error({ cause: read.error });
  return read.value;
}
