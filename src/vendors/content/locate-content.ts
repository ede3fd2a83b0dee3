import type { LoadedPlugin, PluginRequest } from '../../plugins/index.ts';
import type { ChannelRecord } from '../../store/ports/index.ts';
import { readVendorAnswer, type VendorAnswer } from '../answer/read-vendor-answer.ts';
import { vendorErrors } from '../errors.ts';
import { buildUpstreamRequest } from '../request/build-upstream-request.ts';
import type { Credential } from '../resolve-credential.ts';
import type { VendorDeps } from '../types.ts';
import { contentFailure, statusFailure } from './fetch-content.ts';

type ContentLookup = {
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
export async function locateContent(
  deps: VendorDeps,
  { plugin, channel, credential, described, signal }: ContentLookup,
): Promise<VendorAnswer> {
  credential.addSecretsFrom(described);
  const request = buildUpstreamRequest(plugin, { channel, described });
  if (!request.ok) throw vendorErrors.artifact_request_rejected({ cause: request.error });
  const sent = await deps.send(channel, { ...request.value, ...(signal ? { signal } : {}) });
  if (!sent.ok) throw contentFailure(sent.error);
  const { status } = sent.value;
  if (status === 401) credential.onUnauthorized();
  if (status < 200 || status >= 300) {
    sent.value.discard();
    throw statusFailure(deps, sent.value);
  }
  const read = await readVendorAnswer(sent.value, { tasks: 1 });
  if (!read.ok) throw vendorErrors.artifact_upstream_error({ cause: read.error });
  return read.value;
}
