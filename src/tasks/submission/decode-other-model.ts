import { userOwner } from '../../kernel/index.ts';
import { decodeProtocolRequest, type Generation, readOriginTaskIds } from '../../plugins/index.ts';
import { protocolContext } from '../../vendors/index.ts';
import type { PluginOrder, Submission, TaskDeps } from '../types.ts';
import { nameOtherModel } from '../waiting/stored-request.ts';
import { findProtocolOwners } from './find-protocol-owner.ts';

type Other = { model: string; generation: Generation };

/** A submission as if its client had named another model, and what serves it. */
export type OtherSubmission = Submission & PluginOrder;

/**
 * What plugins make of a request when it names another model. A request whose body or answer is of
 * one plugin's own form stays with that plugin; a native route stays with its model.
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
