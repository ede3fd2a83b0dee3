import { AppError, type Sentence, sentence, toSentence, userOwner } from '../kernel/index.ts';
import { decodeProtocolRequest, type Generation, type ProtocolName } from '../plugins/index.ts';
import {
  type Caller,
  type ClientRequest,
  type DecodedRequest,
  type ProtocolOwner,
  resolveOriginTasks,
  type Submission,
} from '../tasks/index.ts';
import { hookError, protocolContext } from '../vendors/index.ts';
import type { SurfaceDeps } from './types.ts';

type ProtocolCall = {
  caller: Caller;
  generation: Generation;
  /** At least one. */
  owners: readonly ProtocolOwner[];
  request: ClientRequest;
  protocol: ProtocolName;
  operation: 'create' | 'generate' | 'edit';
  model: string;
  stream?: boolean;
  /** Checks a decoded request. @throws the error that refuses it */
  check?: (request: DecodedRequest) => void;
};

type Decoded = Pick<Submission, 'surface' | 'generation' | 'caller' | 'request' | 'alternatives'> & DecodedRequest;

/**
 * What the plugins that serve the model on a protocol make of a request: the part of a submission
 * that they decide. A plugin that refuses the request does not serve it; where all refuse, the
 * client reads why.
 * @throws what the plugins say against the request, tasks.origin_task_*
 */
export async function decodeForProtocol(
  deps: SurfaceDeps,
  { caller, generation, owners, ...call }: ProtocolCall,
): Promise<Decoded> {
  const { protocol, request, model, check } = call;
  const decode = async (owner: ProtocolOwner): Promise<DecodedRequest> => {
    const { plugin } = owner;
    const ctx = protocolCallContext(owner, call);
    const decoded = await decodeProtocolRequest(plugin, { protocol, ctx }, { owner: userOwner(caller.user.id) });
    if (!decoded.ok) throw hookError(decoded.error);
    const { action = '', requestBody, originTaskIds } = decoded.value;
    const originTasks = await resolveOriginTasks(deps, { caller, plugin, named: originTaskIds });
    const candidate = { plugin, intent: { model, action, requestBody }, originTasks };
    check?.(candidate);
    return candidate;
  };
  const results = await Promise.allSettled(owners.map(decode));
  const candidates = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  // A request that builds on tasks of one plugin means this plugin.
  const building = candidates.filter(({ originTasks }) => originTasks);
  const [first, ...alternatives] = building.length > 0 ? building : candidates;
  if (!first) throw joinRefusals(owners, results);
  return { surface: protocol, ...first, alternatives, generation: generation.number, caller, request };
}

/** One refusal as it is; several with the keys of the plugins, each message once. */
function joinRefusals(owners: readonly ProtocolOwner[], results: readonly PromiseSettledResult<unknown>[]): unknown {
  const refusals = results.flatMap((result, at) =>
    result.status === 'rejected' ? [{ key: owners[at]?.plugin.key ?? '', error: result.reason as unknown }] : [],
  );
  const [first] = refusals;
  const unexpected = refusals.find(({ error }) => !(error instanceof AppError) || error.kind !== 'invalid');
  if (unexpected || refusals.length < 2 || !(first?.error instanceof AppError)) return (unexpected ?? first)?.error;
  const byMessage = new Map<string, { keys: string[]; said: Sentence }>();
  for (const { key, error } of refusals) {
    const said = toSentence(error as AppError);
    const keys = [...(byMessage.get(said.message)?.keys ?? []), key];
    byMessage.set(said.message, { keys, said });
  }
  const { code, kind, param } = first.error;
  if (byMessage.size === 1) return first.error;
  const message = [...byMessage.values()]
    .map(({ keys, said }) => sentence('tasks.refused_by', { plugins: keys.join(', '), fault: said }))
    .reduce((one, other) => sentence('tasks.refused_both', { one, other }));
  return new AppError(code, kind, { message, ...(param === undefined ? {} : { param }) });
}

/** The context of a protocol's hooks for a request that an owner of its model serves. */
export const protocolCallContext = (
  { plugin, upstreamModel }: Pick<ProtocolOwner, 'plugin' | 'upstreamModel'>,
  {
    request,
    protocol,
    operation,
    model,
    stream,
  }: Pick<ProtocolCall, 'request' | 'protocol' | 'operation' | 'model' | 'stream'>,
) =>
  protocolContext(request, {
    ...{ protocol, operation, model },
    ...(stream === undefined ? {} : { stream }),
    manifest: plugin.manifest,
    ...(upstreamModel === undefined ? {} : { upstreamModel }),
  });
