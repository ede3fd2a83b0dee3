import type { Pin } from '../../plugins/index.ts';
import type { TaskChange, TaskRecord } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import { finishTask, leaseOf } from '../state/finish-task.ts';
import { toStoredFailure } from '../state/stored-failure.ts';
import { traceEvent } from '../state/trace-event.ts';
import type { TaskDeps } from '../types.ts';
import { longestPollDelayMs } from '../vendor/poll-schedule.ts';
import { applyVerdict } from './apply-verdict.ts';
import { createPollWriteBatcher, isStoreUnavailable } from './batch-poll-writes.ts';
import { type Claimed, createChannelQueues, type PollStage } from './channel-queues.ts';
import { pollVendor, pollVendorBatch, type Verdict } from './poll-vendor.ts';

/**
 * A claim is renewed when this part of it has passed, before its task is asked for and while that
 * takes.
 */
const RENEW_AFTER = 1 / 3;
/** Pause between two looks at the queue when nothing is due. */
const TICK_MS = 100;
/**
 * Tasks taken with one claim, whatever the configuration allows: more would only wait under their
 * leases.
 */
const MAX_CLAIM = 256;
const SWEEP_EVERY_MS = 30_000;
const SWEEP_BATCH = 100;
const INTERRUPTED_EVERY_MS = 5_000;
/**
 * What a vendor has answered is written again while the database is away, 14 s in all; then the
 * task is asked anew when its claim runs out.
 */
const WRITE_PAUSES_MS = [500, 1000, 2500, 5000, 5000];

export type PollEngine = {
  /** Without `poll` it only ends and refunds interrupted submissions. */
  start(options: { poll: boolean }): void;
  /** Stops claiming, waits for what is under way up to `graceMs`, and gives every claim back. */
  stop(graceMs: number): Promise<void>;
  stats(): { running: number; waiting: number; polls: number };
};

/** Claims what is due, has the vendors asked and writes what they say. */
export function createPollEngine(deps: TaskDeps): PollEngine {
  const { store, clock, logger, limits } = deps;
  const claimBatch = Math.min(MAX_CLAIM, limits.claimLimit);
  const leaseForMs = limits.pollLeaseMs;
  const renewAfterMs = leaseForMs * RENEW_AFTER;
  const underway = new Set<Claimed>();
  const stopping = new AbortController();
  const loops: Promise<void>[] = [];
  let wake = () => {};
  const write = createPollWriteBatcher(deps, stopping.signal);
  const lanes = createChannelQueues({
    concurrency: limits.pollChannelConcurrency,
    pin: deps.pin,
    poll: pollGroup,
    onRoom: () => wake(),
    stopping: stopping.signal,
  });

  function enqueue(tasks: readonly TaskRecord[], final: boolean): void {
    const claimedAtMs = clock.monotonicMs();
    for (const { taskId, platform, channelId, polls } of tasks) {
      const told = { task_id: taskId, plugin: platform, channel_id: channelId };
      traceEvent(logger, 'poll_claim', undefined, { ...told, poll: polls + 1, last: final });
    }
    lanes.add(tasks.map((task) => ({ task, claimedAtMs, final })));
  }

  async function pollGroup(
    pin: Pin,
    channelId: number,
    claimed: Claimed[],
    enter: (stage: PollStage) => void,
  ): Promise<void> {
    try {
      const group = await failWithoutVendorId(await keepOwned(claimed));
      for (const entry of group) underway.add(entry);
      await pollOwned(pin, channelId, group, enter);
    } catch (error) {
      logger.error({ err: error, channel_id: channelId }, 'a poll broke; its claim runs out and it is tried again');
    } finally {
      for (const entry of claimed) underway.delete(entry);
    }
  }

  async function pollOwned(
    pin: Pin,
    channelId: number,
    group: Claimed[],
    enter: (stage: PollStage) => void,
  ): Promise<void> {
    const [first] = group;
    // The claim runs out; until the answer could be stored nobody is asked.
    if (!first || !deps.canStore()) return;
    const now = clock.nowMs();
    for (const { task } of group) deps.onPoll(Math.max(0, now - task.nextPollAtMs));
    const channel = deps.channels.find(channelId) ?? (await store.channels.byId(channelId));
    if (!channel) {
      for (const { task } of group) await endTask(task, 'the channel was deleted');
      return;
    }
    const plugin = pin.generation.plugins.get(first.task.platform);
    const answered = () => enter('reading');
    const uncounted = (why: string): Verdict[] => group.map(() => ({ kind: 'uncounted', why }));
    let verdicts: Verdict[];
    if (!plugin) verdicts = uncounted('the plugin is not loaded');
    else {
      try {
        verdicts =
          plugin.manifest.fetchMode === 'batch'
            ? await pollVendorBatch(
                deps,
                plugin,
                channel,
                group.map(({ task }) => task),
                answered,
              )
            : [await pollVendor(deps, plugin, channel, first.task, answered)];
      } catch (error) {
        logger.error({ err: error, channel_id: channelId }, 'a vendor could not be asked');
        verdicts = uncounted('the gateway could not ask');
      }
    }
    enter('writing');
    await Promise.all(
      group.map((entry, index) =>
        record(entry, verdicts[index] ?? { kind: 'uncounted', why: 'no answer' }).catch((error: unknown) =>
          logger.error({ err: error, task_id: entry.task.taskId }, 'what a vendor answered could not be stored'),
        ),
      ),
    );
  }

  /**
   * The claim's number decides whether a write counts, so that one whose commit was not answered
   * may be made again.
   */
  async function record({ task, final }: Claimed, verdict: Verdict): Promise<void> {
    for (const pauseMs of WRITE_PAUSES_MS) {
      try {
        return await applyVerdict(deps, write, task, verdict, final);
      } catch (error) {
        if (!isStoreUnavailable(error) || stopping.signal.aborted) throw error;
        logger.warn({ err: error, task_id: task.taskId }, 'an answer of a vendor could not be stored; trying again');
        await clock.sleep(pauseMs, stopping.signal);
      }
    }
    await applyVerdict(deps, write, task, verdict, final);
  }

  /** Without the vendor's id there is nothing to ask for. */
  async function failWithoutVendorId(group: Claimed[]): Promise<Claimed[]> {
    const isNameless = ({ task }: Claimed) => task.upstreamTaskId.trim() === '';
    for (const { task } of group.filter(isNameless)) await endTask(task, "the vendor's id of the task is not known");
    return group.filter((entry) => !isNameless(entry));
  }

  /** Drops claims that ran out while they waited for a slot and renews those that are about to. */
  async function keepOwned(group: Claimed[]): Promise<Claimed[]> {
    const now = clock.monotonicMs();
    const kept: Claimed[] = [];
    for (const entry of group) {
      if (now - entry.claimedAtMs < renewAfterMs || (await renew(entry))) kept.push(entry);
    }
    return kept;
  }

  async function renew(entry: Claimed): Promise<boolean> {
    const now = clock.monotonicMs();
    if (!(await store.tasks.renew(leaseOf(entry.task), leaseForMs))) return false;
    entry.claimedAtMs = now;
    return true;
  }

  /**
   * A slow vendor's answer would come too late for a claim that ran out: the task would be asked
   * for again, and so for ever.
   */
  async function renewUnderway(): Promise<void> {
    const now = clock.monotonicMs();
    for (const entry of underway) if (now - entry.claimedAtMs >= renewAfterMs) await renew(entry);
  }

  /**
   * Ends a task with a refund. One that the store refuses to end is logged and tried again later;
   * it keeps no other from ending.
   */
  async function endTask(task: TaskRecord, reason: string, change: TaskChange = {}): Promise<boolean> {
    try {
      return await finishTask(deps, task, { status: 'FAILURE', reason }, change);
    } catch (error) {
      logger.error({ err: error, task_id: task.taskId }, 'a task could not be ended; it is tried again later');
      return false;
    }
  }

  async function claimLoop(): Promise<void> {
    while (!stopping.signal.aborted) {
      let claimed = 0;
      if (!deps.canStore()) {
        await pause();
        continue;
      }
      try {
        const tasks = await store.tasks.claimDue({
          owner: deps.nodeId,
          limit: claimBatch,
          leaseForMs,
          exceptChannels: lanes.full(),
        });
        claimed = tasks.length;
        enqueue(tasks, false);
      } catch (error) {
        logger.error({ err: error }, 'due tasks could not be claimed');
        await clock.sleep(1000, stopping.signal);
      }
      if (claimed < claimBatch) await pause();
    }
  }

  /** Until the next tick, or until a full lane has room again. */
  async function pause(): Promise<void> {
    const room = new Promise<void>((resolve) => {
      wake = resolve;
    });
    await Promise.race([clock.sleep(TICK_MS, stopping.signal), room]);
  }

  async function every(ms: number, what: string, work: () => Promise<void>): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await work();
      } catch (error) {
        logger.error({ err: error }, `${what} failed`);
      }
      await clock.sleep(ms, stopping.signal);
    }
  }

  async function endInterrupted(): Promise<void> {
    const tasks = await store.tasks.claimInterrupted({ owner: deps.nodeId, limit: SWEEP_BATCH, leaseForMs });
    for (const task of tasks) {
      const failure = toStoredFailure(taskErrors.submission_interrupted({ doNotRetry: true }));
      if (await endTask(task, 'submission interrupted', { execution: { ...task.execution, failure } })) {
        logger.warn(
          { task_id: task.taskId, channel_id: task.channelId, request_id: task.execution.requestId },
          'a submission was interrupted: it is refunded, but an upstream job may exist that nobody follows',
        );
      }
    }
  }

  async function sweep(): Promise<void> {
    const pulledForward = await store.tasks.pullForwardDueTimes(longestPollDelayMs(limits.pollIntervalMs));
    if (pulledForward > 0)
      logger.warn(
        { tasks: pulledForward },
        'tasks were due too far ahead and are asked for now: the clock was set back, or the interval shortened',
      );
    if (limits.taskTimeoutMinutes <= 0) return;
    const submittedBefore = clock.unix() - limits.taskTimeoutMinutes * 60;
    enqueue(
      await store.tasks.claimOverdue({ owner: deps.nodeId, limit: SWEEP_BATCH, leaseForMs, submittedBefore }),
      true,
    );
  }

  return {
    start({ poll }) {
      loops.push(every(INTERRUPTED_EVERY_MS, 'ending interrupted submissions', endInterrupted));
      if (!poll) return;
      loops.push(
        claimLoop(),
        every(renewAfterMs / 2, 'renewing claims', renewUnderway),
        every(SWEEP_EVERY_MS, 'the sweep of old tasks', sweep),
      );
    },
    async stop(graceMs) {
      stopping.abort();
      await Promise.all(loops);
      const deadline = clock.monotonicMs() + graceMs;
      while (lanes.stats().running > 0 && clock.monotonicMs() < deadline) await clock.sleep(20);
      await store.tasks.releaseOwner(deps.nodeId, { expireSubmits: false });
    },
    stats: () => lanes.stats(),
  };
}
