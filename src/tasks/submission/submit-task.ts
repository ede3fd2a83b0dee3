import { hasInputsToKeep, keepInputs, retryableRequest, type StoredInputs } from '../../files/index.ts';
import { AppError, newTaskId, quoted, type Sentence, sentence, toSentence, userOwner } from '../../kernel/index.ts';
import { chooseCallback } from '../../notifications/index.ts';
import type { ChannelRecord, Repositories, TaskRecord } from '../../store/ports/index.ts';
import { isRepeatable, vendorErrors } from '../../vendors/index.ts';
import { taskErrors } from '../errors.ts';
import { finishTask, toLease } from '../state/finish-task.ts';
import { toStoredFailure } from '../state/stored-failure.ts';
import { traceEvent } from '../state/trace-event.ts';
import type { Submission, TaskDeps, TaskMeter } from '../types.ts';
import { insertRecoveringCommit } from './insert-recovering-commit.ts';
import { type PreparedSubmission, prepareSubmission } from './prepare-submission.ts';
import { requestsRetention, shownInput } from './read-request.ts';
import { recordAccepted } from './record-accepted.ts';
import { SUBMIT_LEASE_MS } from './renew-lease.ts';
import { sendSubmission } from './send-submission.ts';
import { skipUnreadableChannel } from './skip-unreadable-channel.ts';
import { adviseOnFailure, type Doubt } from './submission-doubt.ts';
import { videoFields } from './video-fields.ts';

/** Channels that one submission may try. */
export const MAX_CHANNELS = 5;

/**
 * Decoded intent → channel → hooks and price → reservation and task in one transaction → the vendor
 * → its answer in one transaction. A crash in between leaves a NOT_START row. When its lease
 * expires, the task is ended and refunded, never sent again.
 */
export const submitTask = (deps: TaskDeps, submission: Submission): Promise<TaskRecord> =>
  traceSubmission(deps, submission, () => adviseOnFailure((doubt) => trySubmission(deps, submission, doubt)));

function traceSubmission<T>(
  { telemetry: { tracer } }: TaskDeps,
  { plugin, intent, surface }: Submission,
  run: () => Promise<T>,
) {
  if (!tracer) return run();
  const facts = {
    'taskgate.plugin': plugin.key,
    'taskgate.plugin_version': plugin.version,
    'taskgate.model': intent.model,
    'taskgate.surface': surface,
  };
  return tracer.submission(facts, run);
}

async function trySubmission(deps: TaskDeps, submission: Submission, doubt: Doubt): Promise<TaskRecord> {
  const { plugin, requestId } = submission;
  if (submission.surface.startsWith('proto_')) {
    traceEvent(deps.logger, 'protocol_pin', {
      request_id: requestId,
      protocol: submission.surface,
      plugin: plugin.key,
      version: plugin.version,
      generation: submission.generation,
      model: submission.intent.model,
    });
  }
  if (plugin.suspended()) {
    const message = sentence('tasks.plugin_suspended', { plugin: plugin.key });
    throw vendorErrors.plugin_unavailable({ message, retryAfterSeconds: 60 });
  }
  const callbackUrl = chooseCallback(deps.webhooks, {
    requested: submission.request.callbackUrl,
    key: submission.caller.key,
  });
  const keep = requestsRetention(submission);
  const taskId = newTaskId(deps.clock.nowMs(), deps.node.random);
  const tried: number[] = [];
  let task: TaskRecord | undefined;
  let lastError: AppError | undefined;
  /**
   * No vendor has a job and none refused the request itself: the same request may succeed later.
   */
  let retryable = true;
  let inputs: StoredInputs = { execution: {} };
  // Held before the row is there, and renewed until the submission ends: preparing the request for
  // another channel takes time too.
  const lease = deps.node.leases.hold(taskId, async (forMs) => !!task && deps.store.tasks.renew(toLease(task), forMs));
  try {
    while (tried.length < MAX_CHANNELS) {
      const channel = pick(deps, submission, tried);
      if (!channel) break;
      tried.push(channel.id);
      const logFields = { request_id: requestId, task_id: taskId, plugin: plugin.key, channel_id: channel.id };
      traceEvent(deps.logger, 'channel_choice', { ...logFields, attempt: tried.length });
      deps.telemetry.tracer?.note({
        'taskgate.task_id': taskId,
        'taskgate.channel_id': channel.id,
        'taskgate.attempts': tried.length,
      });
      let prepared: PreparedSubmission;
      const endPhase = timePhases(deps);
      const enter = () => deps.node.slots.enter({ owner: userOwner(submission.caller.user.id), queue: plugin.key });
      let release = await enter();
      endPhase('wait');
      try {
        prepared = await prepareSubmission(deps, submission, { channel, publicTaskId: taskId });
        endPhase('prepare');
        const storable = { body: submission.request.body, intent: submission.intent };
        // A request that builds on earlier tasks cannot be repeated.
        if (!task && !submission.originTasks && hasInputsToKeep(deps, storable)) {
          // To store files may take as long as the place of results does.
          release();
          inputs = await keepInputs(deps, {
            ...storable,
            requestId,
            userId: submission.caller.user.id,
            timeoutMs: deps.limits.submitTimeoutMs,
            quota: prepared.quote.quota,
          });
          release = await enter();
        }
        task = task
          ? await moveTask(deps, prepared, { task, attempt: tried.length })
          : await insertTask(deps, prepared, { taskId, callbackUrl, keep, inputs });
      } catch (error) {
        deps.telemetry.outcomes.submitted(plugin, error);
        const unreadable = skipUnreadableChannel(deps, channel, error);
        if (unreadable) {
          lastError ??= unreadable;
          continue;
        }
        if (task) {
          await failSubmission(deps, { task: await asStored(deps, task), error, releasesIdempotencyKey: retryable });
        }
        throw error;
      } finally {
        release();
      }
      endPhase('reserve');
      traceEvent(deps.logger, 'reservation', { ...logFields, quota: task.quota });
      const wasInDoubt = doubt.vendorMayHaveJob;
      doubt.vendorMayHaveJob = true;
      const attempt = await sendSubmission(deps, prepared);
      endPhase('send');
      deps.telemetry.outcomes.submitted(plugin, attempt.kind === 'accepted' ? undefined : attempt.error);
      // Needs no slot: until the vendor's id is stored, a crash loses a job that is already paid
      // for.
      if (attempt.kind === 'accepted') {
        const { result, isCut } = attempt;
        const recorded = await recordAccepted(deps, prepared, { task, result, isCut });
        endPhase('record');
        return recorded;
      }
      doubt.vendorMayHaveJob = wasInDoubt || attempt.outcome === 'in_doubt';
      lastError = attempt.error;
      retryable &&= isRepeatable(attempt.outcome);
      deps.logger.info(
        { request_id: requestId, task_id: taskId, channel_id: channel.id, reason: lastError.message },
        'vendor did not accept a submission',
      );
      if (!attempt.mayTryAnother) break;
    }
    const model = submission.intent.model.slice(0, 100);
    const message = sentence('tasks.channel_missing', { plugin: plugin.key, model });
    const error = lastError ?? taskErrors.no_available_channel({ message, param: 'model' });
    if (task) await failSubmission(deps, { task, error, releasesIdempotencyKey: retryable });
    throw error;
  } finally {
    lease.stop();
  }
}

/** The returned function ends the running phase, under its name, and begins the next. */
function timePhases({ clock, telemetry: { meter } }: TaskDeps): (phase: Parameters<TaskMeter['phase']>[0]) => void {
  let startedMs = clock.monotonicMs();
  return (phase) => {
    const now = clock.monotonicMs();
    meter?.phase(phase, now - startedMs);
    startedMs = now;
  };
}

const pick = (
  deps: TaskDeps,
  { plugin, intent, caller, originTasks }: Submission,
  except: number[],
): ChannelRecord | undefined =>
  deps.vendors.channels.pick({
    pluginKey: plugin.key,
    channelTypes: plugin.manifest.channelTypes,
    model: intent.model,
    group: caller.group,
    except,
    ...(originTasks ? { only: originTasks.channelId } : {}),
  });

type NewTask = {
  taskId: string;
  callbackUrl: string | null;
  keep: boolean | undefined;
  inputs: StoredInputs;
};

/** Writes the reservation, the task row and what is kept for it in one transaction. */
async function insertTask(
  deps: TaskDeps,
  submission: PreparedSubmission,
  { taskId, callbackUrl, keep, inputs }: NewTask,
): Promise<TaskRecord> {
  const { caller, plugin, idempotency } = submission;
  const { quota, snapshot } = submission.quote;
  const owner = {
    taskId,
    userId: caller.user.id,
    walletId: caller.walletId,
    apiKeyId: caller.key?.id ?? null,
  };
  const { request, intent, originTasks } = submission;
  const storedRequest = originTasks ? undefined : retryableRequest({ body: request.body, intent });
  const trace = deps.telemetry.tracer?.context();
  const insert = async (tx: Repositories): Promise<TaskRecord> => {
    const createdAt = deps.clock.unix();
    await deps.node.sources.keep(tx, plugin, createdAt);
    const inserted = tx.tasks.insert({
      ...owner,
      platform: plugin.key,
      group: caller.group,
      channelId: submission.channel.id,
      action: submission.action,
      quota,
      properties: {
        input: shownInput(submission),
        originModelName: submission.model,
        upstreamModelName: submission.upstreamModel,
        ...videoFields(submission),
        ...(keep === undefined ? {} : { keep }),
      },
      execution: {
        requestId: submission.requestId,
        pluginKey: plugin.key,
        pluginVersion: plugin.version,
        generation: submission.generation,
        surface: submission.surface,
        ...(trace === undefined ? {} : { trace }),
        ...(submission.background ? { background: true } : {}),
        ...(submission.repeats === undefined ? {} : { repeats: submission.repeats }),
        ...(storedRequest ? { request: storedRequest } : {}),
        ...inputs.execution,
        ...submission.shown?.execution,
      },
      billing: snapshot,
      callbackUrl,
      sourceHash: plugin.sourceHash,
      createdAt,
      leaseOwner: deps.node.id,
      leaseForMs: SUBMIT_LEASE_MS,
    });
    const event = { taskId, at: createdAt, kind: 'created' as const, status: 'NOT_START' as const, detail: `${quota}` };
    // Started together, so that they travel together.
    const [task] = await Promise.all([inserted, tx.tasks.addEvent(event)]);
    if (inputs.rows) await tx.results.keepInputs({ taskId, userId: owner.userId, keptAt: createdAt, ...inputs.rows });
    return task;
  };
  const task = await insertRecoveringCommit(deps, {
    id: taskId,
    insert: () =>
      deps.node.money.open({ payer: { ...owner, group: caller.group, quota, billing: snapshot }, idempotency, insert }),
    async find() {
      const task = await deps.store.tasks.byTaskId(taskId);
      return task?.status === 'NOT_START' ? task : undefined;
    },
  });
  deps.node.sources.kept(plugin, task.createdAt);
  return task;
}

/** Moves the task to another channel. The reservation is replaced, as the price may differ. */
async function moveTask(
  deps: TaskDeps,
  { channel, action, upstreamModel, quote }: PreparedSubmission,
  { task, attempt }: { task: TaskRecord; attempt: number },
): Promise<TaskRecord> {
  const { quota, snapshot } = quote;
  const properties = { ...task.properties, upstreamModelName: upstreamModel };
  const change = { channelId: channel.id, action, quota, properties, billing: snapshot };
  const held = await deps.store.transaction(async (tx) => {
    if (!(await tx.tasks.amend(toLease(task), change))) return false;
    // Preparing this channel's request took time, in which nothing renewed the lease.
    await tx.tasks.renew(toLease(task), SUBMIT_LEASE_MS);
    await deps.billing.replaceReservation(tx, { ...task, ...change }, { reserved: task.quota, attempt });
    return true;
  });
  if (!held) throw taskErrors.submission_interrupted({ shouldRetry: false });
  return { ...task, ...change };
}

/**
 * The task with the reservation that the store has: a move may have been committed although its
 * acknowledgement was lost.
 */
async function asStored(deps: TaskDeps, task: TaskRecord): Promise<TaskRecord> {
  const stored = await deps.store.tasks.byTaskId(task.taskId).catch(() => undefined);
  return stored ? { ...task, quota: stored.quota, billing: stored.billing } : task;
}

const describeError = (error: unknown): Sentence =>
  error instanceof AppError ? toSentence(error) : quoted(error instanceof Error ? error.message : 'unknown');

type FailedSubmission = { task: TaskRecord; error: unknown; releasesIdempotencyKey: boolean };

/**
 * Ends the task of a refused or failed submission with a refund. If the store fails too, the lease
 * expires and recovery ends the task.
 */
async function failSubmission(
  deps: TaskDeps,
  { task, error, releasesIdempotencyKey }: FailedSubmission,
): Promise<void> {
  try {
    const execution = { ...task.execution, failure: toStoredFailure(error) };
    const ending = { status: 'FAILURE' as const, reason: describeError(error), releasesIdempotencyKey };
    await finishTask(deps, { task, ending, change: { execution } });
  } catch (storeError) {
    deps.logger.error(
      { err: storeError, task_id: task.taskId },
      'failed submission could not be ended; recovery ends it when its lease expires',
    );
  }
}
