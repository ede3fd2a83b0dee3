import { type AppError, newTaskId, userOwner } from '../../kernel/index.ts';
import type { ChannelRecord, TaskRecord } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import { finishTask, leaseOf } from '../state/finish-task.ts';
import { toStoredFailure } from '../state/stored-failure.ts';
import { traceEvent } from '../state/trace-event.ts';
import type { Submission, TaskDeps } from '../types.ts';
import { chooseCallback } from '../webhooks/choose-callback.ts';
import { insertRecoveringCommit } from './insert-recovering-commit.ts';
import { inputOf, type Prepared, prepareSubmission } from './prepare-submission.ts';
import { recordAccepted } from './record-accepted.ts';
import { renewLease, SUBMIT_LEASE_MS } from './renew-lease.ts';
import { retryableRequest } from './retryable-request.ts';
import { sendSubmission } from './send-submission.ts';
import { skipUnreadableChannel } from './skip-unreadable-channel.ts';

/** Channels that one submission may try. */
export const MAX_CHANNELS = 5;
/** How long an Idempotency-Key stands for what it opened. */
export const IDEMPOTENCY_SECONDS = 24 * 3600;

/**
 * Decoded intent → channel → hooks and price → reservation and task in one transaction → the vendor
 * → its answer in one transaction. A crash in between leaves a NOT_START row whose lease runs out;
 * it is then ended and refunded, never sent again.
 */
export async function submitTask(deps: TaskDeps, submission: Submission): Promise<TaskRecord> {
  const { plugin, requestId } = submission;
  if (submission.surface.startsWith('proto_')) {
    const { surface, generation, intent } = submission;
    const pinned = { protocol: surface, plugin: plugin.key, version: plugin.version, generation, model: intent.model };
    traceEvent(deps.logger, 'protocol_pin', requestId, pinned);
  }
  if (plugin.suspended()) {
    const message = `The plugin "${plugin.key}" had to be stopped too often and takes no new tasks for a few minutes.`;
    throw taskErrors.plugin_unavailable({ message, retryAfterSeconds: 60 });
  }
  const callbackUrl = chooseCallback(deps, submission);
  const taskId = newTaskId();
  const tried: number[] = [];
  let task: TaskRecord | undefined;
  let lastError: AppError | undefined;
  /**
   * No vendor has a job, and none has refused the request: a repeat may succeed where this one
   * fails.
   */
  let retryable = true;
  let lease: { stop(): void } | undefined;
  try {
    while (tried.length < MAX_CHANNELS) {
      const channel = pick(deps, submission, tried);
      if (!channel) break;
      tried.push(channel.id);
      const told = { task_id: taskId, plugin: plugin.key, channel_id: channel.id };
      traceEvent(deps.logger, 'channel_choice', requestId, { ...told, attempt: tried.length });
      let prepared: Prepared;
      const leave = await deps.submissions.enter({ owner: userOwner(submission.caller.user.id), queue: plugin.key });
      try {
        prepared = await prepareSubmission(deps, submission, channel, taskId);
        task = task
          ? await moveTask(deps, task, prepared, tried.length)
          : await openTask(deps, submission, prepared, taskId, callbackUrl);
      } catch (error) {
        const unreadable = skipUnreadableChannel(deps, channel, error);
        if (unreadable) {
          lastError ??= unreadable;
          continue;
        }
        if (task) await failSubmission(deps, await asStored(deps, task), error, retryable);
        throw error;
      } finally {
        leave();
      }
      traceEvent(deps.logger, 'reservation', requestId, { ...told, quota: task.quota });
      const held = leaseOf(task);
      // Until the submission ends: preparing the request for another channel takes its time too.
      lease ??= renewLease(deps, taskId, (forMs) => deps.store.tasks.renew(held, forMs));
      const outcome = await sendSubmission(deps, submission, prepared);
      // It waits for nobody's turn: until its id is stored, a crash loses a job that is paid for.
      if (outcome.kind === 'accepted') return await recordAccepted(deps, submission, prepared, task, outcome);
      lastError = outcome.error;
      retryable &&= outcome.retryable;
      deps.logger.info(
        { task_id: taskId, channel_id: channel.id, reason: lastError.message },
        'a submission was not accepted',
      );
      if (!outcome.mayTryAnother) break;
    }
    const error = lastError ?? taskErrors.no_available_channel({ param: 'model' });
    if (task) await failSubmission(deps, task, error, retryable);
    throw error;
  } finally {
    lease?.stop();
  }
}

const pick = (
  deps: TaskDeps,
  { plugin, intent, caller, originTasks }: Submission,
  except: number[],
): ChannelRecord | undefined =>
  deps.channels.pick({
    pluginKey: plugin.key,
    channelTypes: plugin.manifest.channelTypes,
    model: intent.model,
    group: caller.group,
    except,
    ...(originTasks ? { only: originTasks.channelId } : {}),
  });

/** Reservation and row, together or not at all. */
async function openTask(
  deps: TaskDeps,
  submission: Submission,
  prepared: Prepared,
  taskId: string,
  callbackUrl: string | null,
): Promise<TaskRecord> {
  const { caller, plugin, intent, idempotency } = submission;
  const { quota, snapshot } = prepared.quote;
  const owner = { taskId, userId: caller.user.id, apiKeyId: caller.key?.id ?? null };
  const kept = retryableRequest(submission);
  const open = () =>
    deps.store.transaction(async (tx) => {
      const createdAt = deps.clock.unix();
      const { userId } = owner;
      const expiresAt = createdAt + IDEMPOTENCY_SECONDS;
      if (idempotency && !(await tx.idempotency.take({ ...idempotency, userId, taskId, at: createdAt, expiresAt })))
        throw taskErrors.idempotency_in_progress({ retryAfterSeconds: 5 });
      const task = await tx.tasks.insert({
        ...owner,
        platform: plugin.key,
        group: caller.group,
        channelId: prepared.channel.id,
        action: prepared.action,
        quota,
        properties: {
          input: inputOf(intent.requestBody),
          originModelName: prepared.model,
          upstreamModelName: prepared.upstreamModel,
        },
        execution: {
          requestId: submission.requestId,
          pluginKey: plugin.key,
          pluginVersion: plugin.version,
          generation: submission.generation,
          surface: submission.surface,
          ...(submission.background ? { background: true } : {}),
          ...(kept ? { request: kept } : {}),
        },
        billing: snapshot,
        callbackUrl,
        createdAt,
        leaseOwner: deps.nodeId,
        leaseForMs: SUBMIT_LEASE_MS,
      });
      await tx.tasks.addEvent({ taskId, at: createdAt, kind: 'created', status: 'NOT_START', detail: `${quota}` });
      // Last: it locks the user's row, and every other submission of his waits for the end of this
      // transaction.
      await deps.billing.reserve(tx, { ...owner, quota }, 1);
      return task;
    });
  return insertRecoveringCommit(deps, taskId, open, async () => {
    const task = await deps.store.tasks.byTaskId(taskId);
    return task?.status === 'NOT_START' ? task : undefined;
  });
}

/** The same task on another channel: the reservation is swapped where the price differs. */
async function moveTask(deps: TaskDeps, task: TaskRecord, prepared: Prepared, attempt: number): Promise<TaskRecord> {
  const { quota, snapshot } = prepared.quote;
  const properties = { ...task.properties, upstreamModelName: prepared.upstreamModel };
  const change = { channelId: prepared.channel.id, action: prepared.action, quota, properties, billing: snapshot };
  const held = await deps.store.transaction(async (tx) => {
    if (!(await tx.tasks.amend(leaseOf(task), change))) return false;
    // Preparing this channel's request took its time, and nothing renewed the lease meanwhile.
    await tx.tasks.renew(leaseOf(task), SUBMIT_LEASE_MS);
    await deps.billing.replaceReservation(tx, { ...task, quota }, { reserved: task.quota, attempt });
    return true;
  });
  if (!held) throw taskErrors.submission_interrupted({ doNotRetry: true });
  return { ...task, ...change };
}

/**
 * The task with what is reserved for it now: a move whose commit was not answered may have
 * happened.
 */
async function asStored(deps: TaskDeps, task: TaskRecord): Promise<TaskRecord> {
  const stored = await deps.store.tasks.byTaskId(task.taskId).catch(() => undefined);
  return stored ? { ...task, quota: stored.quota, billing: stored.billing } : task;
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : 'unknown');

/**
 * A refused or failed submission ends the row with its refund; where the store fails too, the lease
 * runs out and recovery does it.
 */
async function failSubmission(
  deps: TaskDeps,
  task: TaskRecord,
  error: unknown,
  releasesIdempotencyKey: boolean,
): Promise<void> {
  try {
    const execution = { ...task.execution, failure: toStoredFailure(error) };
    await finishTask(
      deps,
      task,
      { status: 'FAILURE', reason: messageOf(error), releasesIdempotencyKey },
      { execution },
    );
  } catch (trouble) {
    deps.logger.error(
      { err: trouble, task_id: task.taskId },
      'a failed submission could not be ended yet; its lease will run out',
    );
  }
}
