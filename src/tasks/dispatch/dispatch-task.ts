import { type Dispatch, heldSlots, type Scope, type VendorAccount } from '../../channels/index.ts';
import { fileErrors } from '../../files/index.ts';
import { AppError, sentence } from '../../kernel/index.ts';
import { FILES_NODE, isStoreUnavailable, type TakenWaiting } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import { toLease } from '../state/finish-task.ts';
import { attemptChannels, isOfGateway } from '../submission/attempt-channels.ts';
import { failSubmission } from '../submission/fail-submission.ts';
import { putBack } from '../submission/return-to-queue.ts';
import type { TaskDeps } from '../types.ts';
import { findFiles, restoreSubmission } from '../waiting/stored-request.ts';
import type { FindCaller } from './find-caller.ts';

/** How long a task waits whose plugin may not be called just now, or whose files cannot be read. */
const AWAY_MS = 10_000;
/** The pause after an attempt that could not reach the database. */
const STORE_AWAY_MS = 1000;

/** A task that left its queue, and the slot that it is sent with. */
export type Sending = TakenWaiting & { account: VendorAccount; scope: Scope; dispatch: Dispatch };

/**
 * Sends a task that has waited: as its client asked, by the version of the plugin that accepted it,
 * for a caller who may still do so. Never rejects: what fails ends the task. One that was provably
 * not sent because a store is unavailable goes back to its queue, until `stopping` at most.
 */
export async function dispatchTask(
  deps: TaskDeps,
  sending: Sending,
  { findCaller, stopping }: { findCaller: FindCaller; stopping: AbortSignal },
): Promise<void> {
  const { task, entry, account, scope, dispatch } = sending;
  const state = { vendorMayHaveJob: false };
  const { channel } = account;
  const logFields = { task_id: task.taskId, channel_id: channel.id, request_id: task.execution.requestId };
  const endSlot = () => deps.node.capacity.end(heldSlots(dispatch));
  const waitedMs = deps.clock.nowMs() - entry.sinceMs;
  const pin = deps.pin();
  let attemptEndsTask = false;
  try {
    const plugin = await pin.generation.findPlugin(task);
    if (!plugin || plugin.suspended()) {
      endSlot();
      await putBackUnsent(deps, sending, { waitMs: AWAY_MS, stopping });
      return;
    }
    const caller = await findCaller(task);
    const submission = await restoreSubmission(deps, { task, request: entry.request, plugin, caller });
    const files = await findFiles(deps, entry);
    if (files === 'unavailable') {
      endSlot();
      await putBackUnsent(deps, sending, { waitMs: AWAY_MS, stopping });
      return;
    }
    if (files === 'gone') throw fileErrors.inputs_gone();
    attemptEndsTask = true;
    const choice = { kind: 'begun' as const, account, decoded: submission, scope, dispatch };
    const run = { taskId: task.taskId, state, taken: { task, entry, choice, isTrial: dispatch.isTrial } };
    const sent = await attemptChannels(deps, submission, run);
    if (sent.phase === 'waiting') return;
    deps.telemetry.meter?.waited(channel.id, Math.max(0, waitedMs));
    // Its files are not needed any more; the hourly clean-up does it where a process dies here.
    if (entry.node === FILES_NODE) await deps.store.results.releaseHeld(task.taskId);
  } catch (error) {
    if (isOfGateway(error) && !state.vendorMayHaveJob) {
      deps.logger.warn(
        { ...logFields, err: error },
        'a task was not sent, for the database or the sandbox was unavailable; it waits again',
      );
      endSlot();
      await putBackUnsent(deps, sending, {
        waitMs: isStoreUnavailable(error) ? STORE_AWAY_MS : AWAY_MS,
        stopping,
      });
      return;
    }
    if (!(error instanceof AppError && error.isLogged))
      deps.logger.info({ ...logFields, err: error }, 'a task that had waited could not be submitted');
    if (attemptEndsTask) return;
    endSlot();
    await failSubmission(deps, { task, error });
  } finally {
    pin.release();
    // Clients on this node that watch it see the change at once.
    deps.node.watchers.changed(task);
  }
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5000;

/**
 * Puts a task back that left its queue and was provably not sent, as often as it takes: while the
 * database is unavailable nobody else can look at it either, and this node keeps its lease. Does
 * nothing if it has not left its queue. Never rejects.
 */
export async function putBackUnsent(
  deps: TaskDeps,
  { task, entry }: TakenWaiting,
  { waitMs, stopping }: { waitMs: number; stopping: AbortSignal },
): Promise<void> {
  const { store, clock, logger, node } = deps;
  const lease = node.leases.hold(task.taskId, (forMs) => store.tasks.renew(toLease(task), forMs));
  try {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      try {
        return await putBackOnce();
      } catch (error) {
        if (!isStoreUnavailable(error) || stopping.aborted) throw error;
        await clock.sleep(pauseMs, stopping);
      }
    }
  } catch (error) {
    logger.error({ err: error, task_id: task.taskId }, 'a task that was not sent could not be put back');
  } finally {
    lease.stop();
  }

  async function putBackOnce(): Promise<void> {
    // A move to another channel may have been committed although its answer was lost.
    const stored = await store.tasks.byTaskId(task.taskId);
    if (stored?.leaseOwner !== task.leaseOwner || stored.leaseSeq !== task.leaseSeq) return;
    if (await putBack(deps, { task: stored, taken: { task, entry }, waitMs, counts: false })) {
      node.waiting.counts.entered(entry.class);
    } else if (stored.cancelRequested) {
      const reason = sentence('tasks.cancelled');
      await failSubmission(deps, { task: stored, error: taskErrors.task_cancelled(), reason });
    }
  }
}
