import type { Quote } from '../billing/index.ts';
import { type JsonObject, newTaskId, userOwner } from '../kernel/index.ts';
import { type Caller, describeUnserved, prepareSubmission, type Submission } from '../tasks/index.ts';
import { localCredential } from '../vendors/index.ts';
import { surfaceErrors } from './errors.ts';
import { jsonRequest, type RequestOptions } from './json-request.ts';
import type { SurfaceDeps } from './types.ts';

/** `request`: the body of `POST /v1/tasks/:pluginKey`; `model` replaces the one in it. */
export type RequestToQuote = {
  pluginKey: string;
  model: string;
  action: string;
  request: JsonObject;
  files?: RequestOptions['files'];
};

/**
 * Works out what a request would reserve. Runs the plugin's hooks as a submission does, but sends,
 * writes and charges nothing. Throws what the submission would be refused with.
 */
export async function quoteTask(
  deps: SurfaceDeps,
  {
    caller,
    requestId,
    pluginKey,
    model,
    action,
    request,
    files,
  }: RequestToQuote & { caller: Caller; requestId: string },
): Promise<Quote> {
  const pin = deps.pin();
  try {
    const plugin = pin.generation.plugins.get(pluginKey);
    if (!plugin)
      throw surfaceErrors.plugin_not_found({ message: `There is no task plugin with the key "${pluginKey}".` });
    const value = { ...request, model };
    return await quoteSubmission(deps, {
      surface: 'generic',
      caller,
      requestId,
      plugin,
      generation: pin.generation.number,
      request: await jsonRequest(`/v1/tasks/${pluginKey}`, value, { files }),
      intent: { model, action, requestBody: value },
    });
  } finally {
    pin.release();
  }
}

/** What a submission would reserve. @throws what it would be refused with */
export async function quoteSubmission(deps: SurfaceDeps, submission: Submission): Promise<Quote> {
  const { caller, plugin, intent } = submission;
  const { model } = intent;
  const { channelTypes } = plugin.manifest;
  const wanted = { pluginKey: plugin.key, channelTypes, model, group: caller.group, except: [] };
  const account = deps.vendors.channels.pick(wanted);
  if (!account) throw describeUnserved(deps.vendors, submission);
  const release = await deps.node.limiters.submissions.enter({ owner: userOwner(caller.user.id), queue: plugin.key });
  try {
    const publicTaskId = newTaskId(deps.clock.nowMs(), deps.node.random);
    const attempt = { account, publicTaskId, findCredential: localCredential };
    return (await prepareSubmission(deps, submission, attempt)).quote;
  } finally {
    release();
  }
}
