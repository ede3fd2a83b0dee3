import { userOwner } from '../kernel/index.ts';
import { decodeProtocolRequest, type Generation, type ProtocolName } from '../plugins/index.ts';
import {
  type Caller,
  type ClientRequest,
  type ProtocolOwner,
  resolveOriginTasks,
  type Submission,
} from '../tasks/index.ts';
import { hookError, protocolContext } from '../vendors/index.ts';
import type { SurfaceDeps } from './types.ts';

type ProtocolCall = {
  caller: Caller;
  generation: Generation;
  owner: ProtocolOwner;
  request: ClientRequest;
  protocol: ProtocolName;
  operation: 'create' | 'generate' | 'edit';
  model: string;
  stream?: boolean;
};

type Decoded = Pick<Submission, 'surface' | 'plugin' | 'generation' | 'caller' | 'request' | 'intent' | 'originTasks'>;

/**
 * What the plugin that serves the model on a protocol makes of a request: the part of a submission
 * that it decides.
 * @throws what the plugin says against the request, tasks.origin_task_*
 */
export async function decodeForProtocol(
  deps: SurfaceDeps,
  { caller, generation, owner, request, protocol, ...call }: ProtocolCall,
): Promise<Decoded> {
  const { plugin } = owner;
  const ctx = protocolCallContext(owner, { request, protocol, ...call });
  const decoded = await decodeProtocolRequest(plugin, { protocol, ctx }, { owner: userOwner(caller.user.id) });
  if (!decoded.ok) throw hookError(decoded.error);
  const { action = '', requestBody, originTaskIds } = decoded.value;
  return {
    surface: protocol,
    plugin,
    generation: generation.number,
    caller,
    request,
    intent: { model: call.model, action, requestBody },
    originTasks: await resolveOriginTasks(deps, { caller, plugin, named: originTaskIds }),
  };
}

/** The context of a protocol's hooks for a request that an owner of its model serves. */
export const protocolCallContext = (
  { plugin, upstreamModel }: Pick<ProtocolOwner, 'plugin' | 'upstreamModel'>,
  { request, ...call }: Pick<ProtocolCall, 'request' | 'protocol' | 'operation' | 'model' | 'stream'>,
) =>
  protocolContext(request, {
    ...call,
    manifest: plugin.manifest,
    ...(upstreamModel === undefined ? {} : { upstreamModel }),
  });
