import type { Quote } from '../billing/index.ts';
import { newTaskId, userOwner } from '../kernel/index.ts';
import { prepareSubmission, type Submission, taskErrors } from '../tasks/index.ts';
import { localCredential } from '../vendors/index.ts';
import type { SurfaceDeps } from './types.ts';

/** What a submission would reserve. @throws what it would be refused with */
export async function quoteSubmission(deps: SurfaceDeps, submission: Submission): Promise<Quote> {
  const { caller, plugin, intent } = submission;
  const { model } = intent;
  const { channelTypes } = plugin.manifest;
  const wanted = { pluginKey: plugin.key, channelTypes, model, group: caller.group, except: [] };
  const account = deps.vendors.channels.pick(wanted);
  if (!account) {
    const message = `No channel in your group serves the model "${model.slice(0, 100)}".`;
    throw taskErrors.model_not_found({ message, param: 'model' });
  }
  const release = await deps.node.slots.enter({ owner: userOwner(caller.user.id), queue: plugin.key });
  try {
    const publicTaskId = newTaskId(deps.clock.nowMs(), deps.node.random);
    const attempt = { account, publicTaskId, findCredential: localCredential };
    return (await prepareSubmission(deps, submission, attempt)).quote;
  } finally {
    release();
  }
}
