import type { Dispatch, Scope } from '../../channels/index.ts';
import type { ChannelRecord, TakenWaiting } from '../../store/ports/index.ts';
import { attemptChannels, failSubmission } from '../submission/attempt-channels.ts';
import type { TaskDeps } from '../types.ts';
import { restoreSubmission } from '../waiting/stored-request.ts';
import { findCaller } from './find-caller.ts';

/** How long a task waits whose plugin may not be called just now. */
const PLUGIN_AWAY_MS = 10_000;

/** A task that left its line, and the slot that it is sent with. */
export type Sending = TakenWaiting & { channel: ChannelRecord; scope: Scope; dispatch: Dispatch; isTrial: boolean };

/**
 * Sends a task that has waited: as its client asked, by the version of the plugin that accepted it,
 * for a caller who may still do so. Never rejects: what fails ends the task, or its lease runs out.
 */
export async function dispatchTask(deps: TaskDeps, sending: Sending): Promise<void> {
  const { task, place, channel, scope, dispatch, isTrial } = sending;
  const logFields = { task_id: task.taskId, channel_id: channel.id, request_id: task.execution.requestId };
  const endSlot = () => deps.node.capacity.end({ ...dispatch, channelId: scope.channelId, upstreamModel: scope.model });
  const waitedMs = deps.clock.nowMs() - place.sinceMs;
  const pin = deps.pin();
  let isEnded = false;
  try {
    const plugin = await pin.generation.findPlugin(task);
    if (!plugin || plugin.suspended()) {
      endSlot();
      await deps.store.waiting.putBack({ task, place }, { waitMs: PLUGIN_AWAY_MS, counts: false });
      deps.node.line.entered(place.class);
      return;
    }
    const caller = await findCaller(deps, task);
    const submission = await restoreSubmission(deps, { task, request: place.request, plugin, caller });
    isEnded = true;
    const choice = { kind: 'begun' as const, channel, scope, dispatch };
    const run = { taskId: task.taskId, doubt: { vendorMayHaveJob: false }, taken: { task, place, choice, isTrial } };
    const sent = await attemptChannels(deps, submission, run);
    if (sent.phase === 'waiting') return;
    deps.telemetry.meter?.waited(channel.id, Math.max(0, waitedMs));
    // Its files are not needed any more; the hourly clean-up does it where a process dies here.
    await deps.store.results.releaseHeld(task.taskId);
  } catch (error) {
    deps.logger.info({ ...logFields, err: error }, 'a task that had waited came to nothing');
    if (isEnded) return;
    endSlot();
    await failSubmission(deps, { task, error });
  } finally {
    pin.release();
    // Clients on this node that watch it see the change at once.
    deps.node.watchers.changed(task);
  }
}
