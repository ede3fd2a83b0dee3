import { type Dispatch, heldSlots, isUnreadableKey } from '../../channels/index.ts';
import { AppError, type Sentence, sentence, userOwner } from '../../kernel/index.ts';
import { type ChannelRecord, hasEnded, isStoreUnavailable, type TaskRecord } from '../../store/ports/index.ts';
import { isRepeatable, localCredential, resolveCredential, wasNotCalled } from '../../vendors/index.ts';
import { taskErrors } from '../errors.ts';
import { isWaiting } from '../state/describe-task.ts';
import { toLease } from '../state/finish-task.ts';
import { traceEvent } from '../state/trace-event.ts';
import type { Submission, TaskDeps, TaskMeter } from '../types.ts';
import { type FailedAttempt, refuseWithoutToken } from './classify-refusal.ts';
import { describeUnserved } from './describe-unserved.ts';
import { failSubmission, readStoredReservation } from './fail-submission.ts';
import type { SubmissionState } from './forbid-unsafe-retry.ts';
import { moveTask } from './move-task.ts';
import {
  createRefusalLog,
  describeRefusal,
  isOfVendor,
  logUnprepared,
  nameAccount,
  notePassedOver,
  noteRefusal,
} from './note-attempts.ts';
import { type PreparedSubmission, prepareSubmission } from './prepare-submission.ts';
import { recordAccepted } from './record-accepted.ts';
import { returnToQueue, type TakenEntry } from './return-to-queue.ts';
import { sendSubmission } from './send-submission.ts';
import { type Choice, mayWait, takeAccount, toFull } from './take-account.ts';

/** Accounts that one submission may try. */
export const MAX_ATTEMPTS = 5;

/** Holds a slot of the node's local work. */
export type LocalWork = { pause<T>(work: () => Promise<T>): Promise<T> };

/** The stored task: without `dispatch` it waits, with `isParked` because of its own limit. */
export type Opened = { task: TaskRecord; dispatch?: Dispatch | undefined; isParked?: boolean };

/** One task on its way to a vendor. */
export type Run = {
  taskId: string;
  state: SubmissionState;
  /** Stores a new task, to be sent or to wait. */
  open?: (prepared: PreparedSubmission, choice: Choice, local: LocalWork) => Promise<Opened>;
  /** A task that has waited, its former entry in the queue, and the slot that it got. */
  taken?: TakenEntry & { choice: Choice & { kind: 'begun' } };
};

/**
 * Sends a task by one account after the other until a vendor accepts it, and returns it as it is
 * stored then, or as it waits. A task that is stored and failed is ended here.
 * @throws why it failed
 */
export async function attemptChannels(deps: TaskDeps, submitted: Submission, run: Run): Promise<TaskRecord> {
  const { requestId } = submitted;
  // Changes to that of the plugin whose channel is tried.
  let submission = submitted;
  const { taskId, state, taken } = run;
  const tried: number[] = [];
  /** A new task waits for this account if no other one can serve it. */
  let withoutToken: (Choice & { kind: 'full' }) | undefined;
  let task = taken?.task;
  let lastError: AppError | undefined;
  let lastAttempt: FailedAttempt | undefined;
  const refusals = createRefusalLog(deps.logger, 'vendor did not accept a submission');
  /** The channels that did not take the task, and why. */
  const passedOver: string[] = [];
  let isNoted = taken !== undefined;
  /**
   * No vendor has a job and none refused the request itself: the same request may succeed later.
   */
  let retryable = true;
  // Held before the row is there, and renewed until the submission ends: preparing the request for
  // another account takes time too.
  const lease = deps.node.leases.hold(taskId, async (forMs) => !!task && deps.store.tasks.renew(toLease(task), forMs));
  try {
    while (tried.length < MAX_ATTEMPTS) {
      const isFirst = tried.length === 0;
      const choice =
        (isFirst && taken?.choice) || takeAccount(deps, submitted, { taskId, tried, isNew: !task }) || withoutToken;
      if (!choice || (choice.kind === 'full' && task)) break;
      const { account } = choice;
      const { channel } = account;
      submission = { ...submitted, ...choice.decoded };
      const { plugin } = submission;
      tried.push(account.credential.id);
      const logFields = { request_id: requestId, task_id: taskId, plugin: plugin.key, channel_id: channel.id };
      traceEvent(deps.logger, 'channel_choice', { ...logFields, attempt: tried.length });
      deps.telemetry.tracer?.note({
        'taskgate.task_id': taskId,
        'taskgate.channel_id': channel.id,
        'taskgate.attempts': tried.length,
      });
      let prepared: PreparedSubmission;
      /** Why the account has no token. */
      let noToken: Sentence | undefined;
      let dispatch = choice.kind === 'begun' ? choice.dispatch : undefined;
      const endPhase = timePhases(deps);
      const enter = () =>
        deps.node.limiters.submissions.enter({ owner: userOwner(submission.caller.user.id), queue: plugin.key });
      let release = await enter();
      endPhase('wait');
      const local: LocalWork = {
        async pause(work) {
          release();
          const done = await work();
          release = await enter();
          return done;
        },
      };
      try {
        prepared = await prepareSubmission(deps, submission, {
          account,
          publicTaskId: taskId,
          accepted: taken?.task,
          // A task that waits is not sent now, so it needs no token.
          async findCredential(...asked: Parameters<typeof resolveCredential>) {
            if (choice.kind === 'full') return localCredential(...asked);
            const credential = await resolveCredential(...asked);
            noToken = credential.failure;
            return credential;
          },
        });
        endPhase('prepare');
        if (!task && run.open) {
          const opened = await run.open(prepared, choice, local);
          task = opened.task;
          dispatch = opened.dispatch;
          if (isWaiting(task)) return task;
        } else if (task) {
          const moved = await moveTask(deps, prepared, { task, choice, attempt: tried.length, taken });
          if (typeof moved === 'string') {
            endSlot(deps, dispatch);
            lastError ??=
              moved === 'price'
                ? taskErrors.queue_full({ message: sentence('tasks.too_dear') })
                : taskErrors.wait_over();
            passedOver.push(`${nameAccount(deps, account)} ${moved}`);
            continue;
          }
          task = moved.task;
          dispatch = moved.dispatch;
        }
      } catch (error) {
        endSlot(deps, dispatch);
        deps.telemetry.outcomes.submitted(plugin, error);
        const unreadable = skipUnreadableChannel(deps, channel, error);
        if (unreadable) {
          lastError ??= unreadable;
          passedOver.push(`${nameAccount(deps, account)} key`);
          continue;
        }
        if (noToken && error instanceof AppError && !wasNotCalled(error)) {
          const start = { taskId, slots: 1, userId: submission.caller.user.id };
          const asked =
            choice.kind === 'full' ? undefined : (dispatch ?? deps.node.capacity.begin(choice.scope, start));
          const refusal = refuseWithoutToken(noToken);
          if (asked) deps.node.capacity.refused(asked, refusal);
          lastError ??= error;
          lastAttempt = { kind: 'failed', error, mayTryAnother: true, outcome: 'turned_away', refusal };
          passedOver.push(`${nameAccount(deps, account)} token`);
          noteRefusal(deps, account, error);
          // A refused key is reported to the client of a new task, for which nothing is stored yet.
          const waits = !task && refusal.kind === 'vendor_busy' && mayWait(deps, submission.caller.group);
          if (waits) withoutToken = toFull(choice);
          continue;
        }
        // A task that waited and was not sent waits again, once the store or the plugin answers.
        if (taken && isOfGateway(error) && !state.vendorMayHaveJob) throw error;
        // A client's own fault, before anything is stored, is a line for debugging.
        if (task || isOfVendor(error)) logUnprepared(deps, error, { ...logFields, channel: channel.name });
        if (task) {
          await failSubmission(deps, {
            task: await readStoredReservation(deps, task),
            error,
            releasesIdempotencyKey: retryable,
          });
        }
        throw error;
      } finally {
        release();
      }
      if (!task || !dispatch) throw new Error('a submission has no task or no slot');
      endPhase('reserve');
      traceEvent(deps.logger, 'reservation', { ...logFields, quota: task.quota });
      const mightHaveJob = state.vendorMayHaveJob;
      state.vendorMayHaveJob = true;
      const attempt = await sendSubmission(deps, prepared);
      endPhase('send');
      deps.telemetry.outcomes.submitted(plugin, attempt.kind === 'accepted' ? undefined : attempt.error);
      // Needs no slot: until the vendor's id is stored, a crash loses a job that is already paid
      // for.
      if (attempt.kind === 'accepted') {
        deps.node.capacity.accepted(dispatch, { isDone: hasEnded(attempt.result.immediate ?? {}) });
        isNoted = true;
        const { result, isCut } = attempt;
        const recorded = await recordAccepted(deps, prepared, { task, result, isCut, isAnswered: !taken });
        endPhase('record');
        return recorded;
      }
      const refusal = deps.node.capacity.refused(dispatch, attempt.refusal);
      passedOver.push(`${nameAccount(deps, account)} ${refusal.kind}`);
      state.vendorMayHaveJob = mightHaveJob || attempt.outcome === 'in_doubt';
      lastError = attempt.error;
      lastAttempt = { ...attempt, refusal };
      retryable &&= isRepeatable(attempt.outcome);
      const { model } = submission.intent;
      refusals.note({ ...logFields, channel: channel.name, model, ...describeRefusal(attempt) });
      const isOfCredential = refusal.kind === 'credential' || refusal.kind === 'balance';
      if (isOfCredential) noteRefusal(deps, account, attempt.error);
      // A vendor that refuses the credential has no job, so another one may serve.
      if (!attempt.mayTryAnother && !(isOfCredential && attempt.outcome !== 'in_doubt')) break;
    }
    const error = lastError ?? describeUnserved(deps.vendors, submission);
    if (!task) throw error;
    const waiting = await endUnaccepted(deps, submission, { run, task, error, lastAttempt, retryable, refusals });
    isNoted = true;
    return waiting;
  } finally {
    lease.stop();
    refusals.write('info');
    if (task && passedOver.length > (isNoted ? 0 : 1)) await notePassedOver(deps, task, passedOver);
  }
}

type Unaccepted = {
  run: Run;
  task: TaskRecord;
  error: AppError;
  lastAttempt: FailedAttempt | undefined;
  /** Whether the same request may succeed later. */
  retryable: boolean;
  refusals: ReturnType<typeof createRefusalLog>;
};

/**
 * Puts a task that no account took back into the queue, or ends it.
 * @throws why it failed, if it does not wait again
 */
async function endUnaccepted(
  deps: TaskDeps,
  submission: Submission,
  { run: { state, taken }, task, error, lastAttempt, retryable, refusals }: Unaccepted,
): Promise<TaskRecord> {
  // Only what proves that no vendor has a job lets it wait again.
  if (!state.vendorMayHaveJob) {
    const returned = await returnToQueue(deps, submission, { task, taken, refusal: lastAttempt?.refusal });
    if (returned.kind === 'waits') return returned.task;
    if (returned.kind === 'cancelled') {
      const cancelled = taskErrors.task_cancelled();
      await failSubmission(deps, { task, error: cancelled, reason: sentence('tasks.cancelled') });
      throw cancelled;
    }
  }
  if (lastAttempt) {
    refusals.write(isOfVendor(error) ? 'warn' : 'info');
    error.isLogged = true;
  }
  const ends = { task, error, releasesIdempotencyKey: retryable && !taken };
  await failSubmission(deps, { ...ends, mayStillRun: state.vendorMayHaveJob });
  throw error;
}

/** The gateway could not do its own part, and may later. */
export const isOfGateway = (error: unknown): boolean => isStoreUnavailable(error) || wasNotCalled(error);

export const endSlot = (deps: TaskDeps, dispatch: Dispatch | undefined): void => {
  if (dispatch) deps.node.capacity.end(heldSlots(dispatch));
};

/** The returned function ends the running phase, under its name, and begins the next. */
function timePhases({ clock, telemetry: { meter } }: TaskDeps): (phase: Parameters<TaskMeter['phase']>[0]) => void {
  let startedMs = clock.monotonicMs();
  return (phase) => {
    const now = clock.monotonicMs();
    meter?.phase(phase, now - startedMs);
    startedMs = now;
  };
}

/**
 * A channel whose key no CRYPTO_SECRET can decrypt is skipped; another channel may serve. Returns
 * that error, to be thrown when no other channel is left; undefined for any other `error`.
 */
export function skipUnreadableChannel(
  { logger }: Pick<TaskDeps, 'logger'>,
  channel: ChannelRecord,
  error: unknown,
): AppError | undefined {
  if (!isUnreadableKey(error)) return undefined;
  logger.debug({ channel_id: channel.id }, 'channel skipped: no CRYPTO_SECRET decrypts its key; enter the key again');
  return error;
}
