import { type Channels, mapModel, serves } from '../../channels/index.ts';
import { userOwner } from '../../kernel/index.ts';
import {
  decodeProtocolRequest,
  findDriver,
  type Generation,
  type LoadedPlugin,
  type ProtocolClaim,
  type ProtocolName,
  readOriginTaskIds,
} from '../../plugins/index.ts';
import { protocolContext } from '../../vendors/index.ts';
import type { DecodedRequest, Submission, TaskDeps } from '../types.ts';
import { nameOtherModel } from '../waiting/stored-request.ts';

/** The plugin that serves a model on a protocol, with its claim. */
export type ProtocolOwner = {
  plugin: LoadedPlugin;
  claim: ProtocolClaim;
  /** The claimed model behind the client's name, when that name is a channel's alias. */
  upstreamModel?: string;
  /** A channel of the plugin serves the model to this group. Otherwise the relay may do so. */
  hasChannel: boolean;
};

type Wanted = { generation: Generation; protocol: ProtocolName; model: string; group: string };

/** Plugins that one request may be decoded by. */
const MAX_OWNERS = 4;

/**
 * Finds the plugins that serve `model` on a protocol to a group: those that claim it, if enabled
 * channels of the group list the model, in order of their keys; else the plugin of such a channel
 * that maps the name to a model that the plugin claims; else one that claims it, without a channel.
 * A channel's rest or capacity changes nothing, so that no request moves to another price.
 */
export function findProtocolOwners(
  { channels }: { channels: Pick<Channels, 'known'> },
  { generation, protocol, model, group }: Wanted,
): ProtocolOwner[] {
  const claimed = generation.protocolOwners(protocol, model);
  const withChannel = new Set<LoadedPlugin>();
  let alias: ProtocolOwner | undefined;
  for (const channel of channels.known()) {
    if (!channel.models.includes(model)) continue;
    const upstreamModel = mapModel(channel.modelMapping, model);
    const plugin = findDriver(generation, channel, upstreamModel);
    if (!plugin) continue;
    const { channelTypes, protocols } = plugin.manifest;
    if (!serves(channel, { pluginKey: plugin.key, channelTypes, model, group })) continue;
    if (claimed.some((owner) => owner.plugin === plugin)) {
      withChannel.add(plugin);
      continue;
    }
    const claim = protocols.find(({ name }) => name === protocol);
    if (claim?.models.includes(upstreamModel)) alias ??= { plugin, claim, upstreamModel, hasChannel: true };
  }
  const serving = claimed.filter(({ plugin }) => withChannel.has(plugin));
  if (serving.length > 0) return serving.slice(0, MAX_OWNERS).map((owner) => ({ ...owner, hasChannel: true }));
  if (alias) return [alias];
  return claimed.slice(0, 1).map((owner) => ({ ...owner, hasChannel: false }));
}

type Other = { model: string; generation: Generation };

/** A submission as if its client had named another model, and what serves it. */
export type OtherSubmission = Submission & DecodedRequest;

/**
 * Decodes a request again under the name of another model. A request whose body or answer has one
 * plugin's own form stays with that plugin; a native route stays with its model.
 */
export async function decodeOtherModel(
  deps: TaskDeps,
  submission: Submission,
  { model, generation }: Other,
): Promise<OtherSubmission[]> {
  const { surface, plugin, intent, caller } = submission;
  const request = { ...submission.request, body: nameOtherModel(submission.request.body, model) };
  const renamed = { ...submission, request, generation: generation.number };
  if (surface === 'native') return [];
  if (surface === 'generic') {
    const current = generation.plugins.get(plugin.key);
    const { requestBody } = nameOtherModel({ requestBody: intent.requestBody }, model);
    return current ? [{ ...renamed, plugin: current, intent: { model, action: intent.action, requestBody } }] : [];
  }
  const wanted = { generation, protocol: surface, model, group: caller.group };
  const owners = findProtocolOwners(deps.vendors, wanted).filter(
    (owner) => owner.hasChannel && (surface !== 'proto_responses' || owner.plugin.key === plugin.key),
  );
  const operation = surface !== 'proto_image' ? 'create' : request.path.endsWith('/edits') ? 'edit' : 'generate';
  const decoded = await Promise.all(
    owners.map(async (owner): Promise<OtherSubmission[]> => {
      const { upstreamModel } = owner;
      const ctx = protocolContext(request, {
        ...{ protocol: surface, operation, model, manifest: owner.plugin.manifest },
        ...(upstreamModel === undefined ? {} : { upstreamModel }),
      });
      const hook = { protocol: surface, ctx };
      const read = await decodeProtocolRequest(owner.plugin, hook, { owner: userOwner(caller.user.id) });
      if (!read.ok) return [];
      const { action = '', requestBody, originTaskIds: named } = read.value;
      // One that builds on earlier tasks is bound to their account.
      const origin = readOriginTaskIds(named);
      if (!origin.ok || origin.value.length > 0) return [];
      return [{ ...renamed, plugin: owner.plugin, intent: { model, action, requestBody } }];
    }),
  );
  return decoded.flat();
}
