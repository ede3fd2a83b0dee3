import { fileBytes, hasInputsToKeep, keepInputs, type StoredInputs, toRetryRequest } from '../../files/index.ts';
import { AppError, newTaskId, sentence } from '../../kernel/index.ts';
import { chooseCallback } from '../../notifications/index.ts';
import type { Repositories, TaskRecord } from '../../store/ports/index.ts';
import { vendorErrors } from '../../vendors/index.ts';
import { taskErrors } from '../errors.ts';
import { isWaiting } from '../state/describe-task.ts';
import { hasRoom } from '../state/open-tasks.ts';
import { readConcurrencyLimits } from '../state/owner-limits.ts';
import { recordQueued } from '../state/record-transition.ts';
import { traceEvent } from '../state/trace-event.ts';
import type { Opening } from '../task-node.ts';
import type { DecodedRequest, Submission, TaskDeps } from '../types.ts';
import { storeRequest, type WaitingRequest } from '../waiting/stored-request.ts';
import { attemptChannels, endSlot, type LocalWork, type Opened } from './attempt-channels.ts';
import { awaitDispatch } from './await-dispatch.ts';
import { forbidUnsafeRetry, type SubmissionState } from './forbid-unsafe-retry.ts';
import { insertRecoveringCommit } from './insert-recovering-commit.ts';
import type { PreparedSubmission } from './prepare-submission.ts';
import { shownInput } from './read-request.ts';
import { SUBMIT_LEASE_MS } from './renew-lease.ts';
import { allowsFallback, mayStore, requestsRetention } from './request-options.ts';
import { describeEntry } from './return-to-queue.ts';
import { type Choice, mayWait, toFull, toWaitingClass } from './take-account.ts';
import { videoFields } from './video-fields.ts';

/**
 * Decoded intent → free account → hooks and price → reservation and task in one transaction → the
 * vendor → its answer in one transaction. A crash in between leaves a NOT_START row. When its lease
 * expires, the task is ended and refunded, never sent again. Where no account is free the task is
 * stored as waiting, and sent later (`dispatch/`).
 */
export const submitTask = (deps: TaskDeps, submission: Submission): Promise<TaskRecord> =>
  traceSubmission(deps, submission, () =>
    forbidUnsafeRetry(async (state) => {
      const task = await trySubmission(deps, submission, state);
      if (!isWaiting(task) || submission.attachedUntilMs === undefined) return task;
      submission.onWaiting?.();
      return awaitDispatch(deps, submission, task);
    }),
  );

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

async function trySubmission(deps: TaskDeps, submission: Submission, state: SubmissionState): Promise<TaskRecord> {
  const { requestId } = submission;
  const candidates: DecodedRequest[] = [submission, ...(submission.alternatives ?? [])];
  const [decoded, ...alternatives] = candidates.filter(({ plugin }) => !plugin.suspended());
  if (!decoded) {
    const message = sentence('tasks.plugin_suspended', { plugin: submission.plugin.key });
    throw vendorErrors.plugin_unavailable({ message, retryAfterSeconds: 60 });
  }
  const { plugin } = decoded;
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
  const callbackUrl = chooseCallback(deps.webhooks, {
    requested: submission.request.callbackUrl,
    key: submission.caller.key,
  });
  const keep = requestsRetention(submission);
  // Its content is checked before anything is stored.
  allowsFallback(submission);
  const taskId = newTaskId(deps.clock.nowMs(), deps.node.random);
  return attemptChannels(
    deps,
    { ...submission, ...decoded, alternatives },
    {
      taskId,
      state,
      async open(prepared, choice, local) {
        const inputs = await storeInputs(deps, prepared, local);
        return openTask(deps, prepared, { taskId, callbackUrl, keep, inputs, choice, local });
      },
    },
  );
}

/** Stores the files of a request that can be run again. */
async function storeInputs(deps: TaskDeps, prepared: PreparedSubmission, local: LocalWork): Promise<StoredInputs> {
  const storable = { body: prepared.request.body, intent: prepared.intent };
  // A request that builds on earlier tasks cannot be repeated.
  if (prepared.originTasks || !mayStore(prepared) || !hasInputsToKeep(deps, storable)) return { execution: {} };
  // Storing files may take as long as their storage does.
  return local.pause(() =>
    keepInputs(deps, {
      ...storable,
      requestId: prepared.requestId,
      userId: prepared.caller.user.id,
      timeoutMs: deps.limits.submitTimeoutMs,
      reservation: prepared.quote.quota,
    }),
  );
}

type Shown = NonNullable<Submission['shown']>['execution'];

/** The part of a response request that shows it while it runs, without the input to the model. */
function withoutInput(execution: Shown): Shown {
  if (!execution?.response) return execution;
  const { input: _, ...response } = execution.response;
  return { response };
}

type NewTask = {
  taskId: string;
  callbackUrl: string | null;
  keep: boolean | undefined;
  inputs: StoredInputs;
  choice: Choice;
  local: LocalWork;
};

/** Stores the task to be sent by the channel of the choice, or to wait. */
async function openTask(deps: TaskDeps, prepared: PreparedSubmission, task: NewTask): Promise<Opened> {
  const waits = mayWait(deps, prepared.caller.group);
  let { choice } = task;
  // It was chosen before it was known how many slots it takes.
  const isTooLarge = choice.kind === 'begun' && deps.node.capacity.lacking(choice.scope, prepared.slots, 1);
  if (choice.kind === 'begun' && isTooLarge && waits) {
    endSlot(deps, choice.dispatch);
    choice = toFull(choice);
  }
  if (choice.kind !== 'full') {
    try {
      return await insertTask(deps, prepared, { ...task, request: undefined });
    } catch (error) {
      if (!waits || !(error instanceof AppError) || !WAITS_THEN.has(error.code)) throw error;
    }
    // The own limit of its owner holds the task back, not the account.
    if (choice.kind === 'begun') endSlot(deps, choice.dispatch);
    choice = toFull(choice);
  }
  if (!waits) throw taskErrors.queue_full({ retryAfterSeconds: 5 });
  const request = await task.local.pause(() => storeUnlessRefused(deps, prepared));
  const opened = await insertTask(deps, prepared, { ...task, choice, request });
  deps.node.waiting.counts.entered(toWaitingClass(prepared).class, { isParked: opened.isParked === true });
  // Its notice is delivered without delay.
  deps.node.watchers.changed(opened.task);
  return opened;
}

/**
 * Stores what waits. Where the queue is full, or the payer has too little, files would stay for an
 * hour: they are not stored, and the insertion says why.
 */
async function storeUnlessRefused(deps: TaskDeps, prepared: PreparedSubmission): Promise<WaitingRequest> {
  const bytes = fileBytes(prepared.request.body);
  if (bytes === 0) return storeRequest(deps, prepared);
  const { id: userId } = prepared.caller.user;
  const { group } = prepared.caller;
  const entry = { userId, bytes, class: { group } };
  const { quota } = prepared.quote;
  const [owner, hasPlace] = await Promise.all([
    deps.store.users.byId(userId),
    hasRoom(deps.store, { entry, rules: deps.limits.waiting(group) }),
  ]);
  // What is free asks for no balance, and one below zero refuses nothing that is free.
  const canPay = quota === 0 || (owner !== undefined && owner.quota >= quota);
  if (hasPlace && canPay) return storeRequest(deps, prepared);
  return { request: {}, node: '', bytes, hold: async () => false };
}

const WAITS_THEN = new Set([taskErrors.queue_full().code, taskErrors.concurrency_limit().code]);

/** Writes the reservation, the task row and what is kept for it in one transaction. */
async function insertTask(
  deps: TaskDeps,
  submission: PreparedSubmission,
  { taskId, callbackUrl, keep, inputs, choice, request: waiting }: NewTask & { request: WaitingRequest | undefined },
): Promise<Opened> {
  const { caller, plugin, idempotency } = submission;
  const { quota, snapshot } = submission.quote;
  const owner = {
    taskId,
    userId: caller.user.id,
    walletId: caller.walletId,
    apiKeyId: caller.key?.id ?? null,
  };
  const { request, intent, originTasks } = submission;
  const stores = mayStore(submission);
  const storedRequest = originTasks || !stores ? undefined : toRetryRequest({ body: request.body, intent });
  const trace = deps.telemetry.tracer?.context();
  const insert: Opening<Opened>['insert'] = async (tx: Repositories, begun, isParked): Promise<Opened> => {
    const createdAt = deps.clock.unix();
    await deps.node.writes.sources.keep(tx, plugin, createdAt);
    const { rows } = inputs;
    // Another request may have filled the storage since, or their deletion has begun.
    const isKept = !rows || (await tx.results.keepFiles({ taskId, userId: owner.userId, keptAt: createdAt, ...rows }));
    const loss = rows?.quotaBytes === undefined ? 'unavailable' : 'quota';
    const inserted = tx.tasks.insert({
      ...owner,
      platform: plugin.key,
      group: caller.group,
      action: submission.action,
      quota,
      properties: {
        input: stores ? shownInput(submission) : '',
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
        ...(isKept ? inputs.execution : { inputsLost: loss }),
        ...(stores ? submission.shown?.execution : withoutInput(submission.shown?.execution)),
        ...(stores ? {} : { stored: false as const }),
      },
      billing: snapshot,
      callbackUrl,
      slots: submission.slots,
      sourceHash: plugin.sourceHash,
      createdAt,
      ...(waiting
        ? { channelId: 0, phase: 'waiting' as const, waitingSince: createdAt, leaseOwner: null, leaseForMs: 0 }
        : {
            channelId: choice.scope.channelId,
            credentialId: choice.scope.credentialId,
            upstreamModel: choice.scope.model,
            leaseOwner: deps.node.id,
            leaseForMs: SUBMIT_LEASE_MS,
          }),
      ...(begun ? { countsStart: true } : {}),
    });
    const event = { taskId, at: createdAt, kind: 'created' as const, status: 'NOT_START' as const, detail: `${quota}` };
    // Started together, so that they travel together.
    const [task] = await Promise.all([inserted, tx.tasks.addEvent(event)]);
    if (!stores) await tx.retention.addUnstored(taskId);
    if (waiting) {
      if (!(await waiting.hold(tx, task))) throw taskErrors.queue_full({ retryAfterSeconds: 5 });
      await recordQueued(deps, tx, task);
    }
    const resized = () => choice.kind === 'begun' && deps.node.capacity.resize(choice.dispatch, submission.slots);
    return { task, isParked, dispatch: begun ?? (resized() || undefined) };
  };
  const opened = await insertRecoveringCommit(deps, {
    id: taskId,
    insert: () =>
      deps.node.writes.money.open({
        payer: { ...owner, group: caller.group, quota, billing: snapshot },
        idempotency,
        most: readConcurrencyLimits(deps, caller),
        ...(choice.kind === 'asks' && !waiting
          ? { start: { scope: choice.scope, task: { ...choice.start, slots: submission.slots } } }
          : {}),
        ...(waiting
          ? {
              queue: {
                entry: describeEntry(deps, submission, { taskId, slots: submission.slots, stored: waiting }),
                rules: deps.limits.waiting(caller.group),
              },
            }
          : {}),
        insert,
      }),
    async find() {
      const task = await deps.store.tasks.byTaskId(taskId);
      if (task?.status !== 'NOT_START') return undefined;
      if (isWaiting(task)) return { task };
      const start = { taskId, slots: 1, userId: owner.userId };
      const dispatch = choice.kind === 'begun' ? choice.dispatch : deps.node.capacity.begin(choice.scope, start);
      return { task, dispatch };
    },
  });
  deps.node.writes.sources.committed(plugin, opened.task.createdAt);
  return opened;
}
