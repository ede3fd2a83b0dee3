/**
 * Claims due tasks, polls their vendors and writes the results. It also ends tasks that are older
 * than `limits.taskTimeoutMinutes`, after a last poll, and interrupted submissions.
 */
import { isUnreadableKey } from '../../channels/index.ts';
import { inStep, type Sentence, sentence, shareWait, sleepInStep, watchClock } from '../../kernel/index.ts';
import { isStoreUnavailable, type TaskRecord } from '../../store/ports/index.ts';
import { endInterrupted } from '../state/end-interrupted.ts';
import { finishTask, toLease } from '../state/finish-task.ts';
import { createTransitionWriter } from '../state/record-transition.ts';
import { traceEvent } from '../state/trace-event.ts';
import type { TaskDeps } from '../types.ts';
import { applyVerdict } from './apply-verdict.ts';
import { createChannelQueues, type PollGroup } from './channel-queues.ts';
import { longestPollDelayMs, shortestPollDelayMs } from './poll-schedule.ts';
import { pollVendor, pollVendorBatch } from './poll-vendor.ts';
import { createRepeatedAnswers } from './repeated-answers.ts';
import type { Claimed, Verdict } from './types.ts';

/** The part of a lease after which it is renewed: before its task is polled and during the poll. */
const RENEW_AFTER = 1 / 3;
/** Shortest interval of claims that find less than they could take. */
const TICK_MS = 100;
/** Longest interval of claims: another node's tasks may become due without our knowledge. */
const IDLE_TICK_MS = 1000;
/**
 * The longest pause of the only node of a database. Its own writes end the pause, but a command may
 * write beside it.
 */
const ONLY_NODE_TICK_MS = 15_000;
/**
 * Largest claim, whatever the configuration allows: more tasks would only wait under their leases.
 */
const MAX_CLAIM = 256;
const SWEEP_EVERY_MS = 30_000;
const SWEEP_BATCH = 100;
/**
 * The only node of a database ends what an earlier process has left when it starts. Later only a
 * submission whose lease it could not renew is interrupted.
 */
export const INTERRUPTED_EVERY_MS = { sqlite: 15_000, postgres: 5_000 };
/** How long a poll's write waits for others to join it. No client waits for it. */
const WRITE_WINDOW_MS = 25;
/** A shorter window where a task has ended: its slot may be waited for. */
const ENDING_WINDOW_MS = 10;
/**
 * Pauses between the attempts to write a vendor's answer while the database is unavailable, 14 s in
 * all. After that the task is polled again when its lease expires.
 */
const WRITE_PAUSES_MS = [500, 1000, 2500, 5000, 5000];

export type PollEngine = {
  /** Without `poll` it only ends and refunds interrupted submissions. */
  start(options: { poll: boolean }): void;
  /** Call after this process has written a task: it may be due before the pause ends. */
  taskWritten(): void;
  /** Ends a pause: a task has become due. */
  wake(): void;
  /** Stops claiming, waits up to `graceMs` for running polls, and releases all leases. */
  stop(graceMs: number): Promise<void>;
  stats(): { running: number; waiting: number; polls: number };
};

export function createPollEngine(deps: TaskDeps): PollEngine {
  const { store, clock, logger, limits } = deps;
  const claimBatch = Math.min(MAX_CLAIM, limits.claimLimit);
  const leaseForMs = limits.pollLeaseMs;
  const renewAfterMs = leaseForMs * RENEW_AFTER;
  // A task that is written during the pause is due later than the end of the pause.
  const shortestDelayMs = shortestPollDelayMs(limits.pollIntervalMs);
  const idleTickMs = Math.max(TICK_MS, Math.min(IDLE_TICK_MS, shortestDelayMs));
  const onlyNode = store.dialect === 'sqlite';
  /** A task grows old by the time that passes, not by a clock that is set. */
  const ages = watchClock(clock);
  /** Ends the pause of the only node. */
  let wakeUp = new AbortController();
  /** When that ends on its own; infinite while the loop looks for what is due. */
  let pausedUntilMs = 0;
  const underway = new Set<Claimed>();
  /** The rows of claimed tasks, which wait or are underway. */
  const held = new Set<number>();
  const stopping = new AbortController();
  const loops: Promise<void>[] = [];
  let wake = () => {};
  const write = createTransitionWriter(deps, () => clock.sleep(WRITE_WINDOW_MS, stopping.signal));
  /** Tasks that end within the window end in one transaction. */
  const gatherEndings = shareWait(() => clock.sleep(ENDING_WINDOW_MS, stopping.signal));
  const repeatedAnswers = createRepeatedAnswers();
  deps.telemetry.reportCacheSize?.('repeated_answers', repeatedAnswers.size);
  const queues = createChannelQueues({
    concurrency: limits.pollChannelConcurrency,
    pin: deps.pin,
    poll: pollGroup,
    onCapacity: () => wake(),
    stopping: stopping.signal,
  });

  function enqueue(tasks: readonly TaskRecord[], final: boolean): void {
    const claimedAtMs = clock.monotonicMs();
    for (const { id, taskId, platform, channelId, polls } of tasks) {
      held.add(id);
      const logFields = { task_id: taskId, plugin: platform, channel_id: channelId };
      traceEvent(logger, 'poll_claim', { ...logFields, poll: polls + 1, last: final });
    }
    queues.add(tasks.map((task) => ({ task, claimedAtMs, final })));
  }

  async function pollGroup(claimed: Parameters<PollGroup>[0]): Promise<void> {
    const { channelId } = claimed;
    try {
      const group = await failWithoutVendorId(await keepOwned(claimed.group));
      for (const entry of group) underway.add(entry);
      await tracePoll({ ...claimed, group });
    } catch (error) {
      logger.error({ err: error, channel_id: channelId }, 'poll failed unexpectedly; retrying when its lease expires');
    } finally {
      for (const entry of claimed.group) {
        underway.delete(entry);
        held.delete(entry.task.id);
      }
    }
  }

  function tracePoll(poll: Parameters<PollGroup>[0]): Promise<void> {
    const { tracer } = deps.telemetry;
    if (!tracer) return pollOwned(poll);
    const contexts = poll.group.map(({ task }) => task.execution.trace);
    const facts = {
      'taskgate.task_id': poll.group[0]?.task.taskId ?? '',
      'taskgate.channel_id': poll.channelId,
      'taskgate.tasks': poll.group.length,
    };
    return tracer.later({ name: 'poll', facts, contexts }, () => pollOwned(poll));
  }

  async function pollOwned({ pin, channelId, group, enter }: Parameters<PollGroup>[0]): Promise<void> {
    const [first] = group;
    // While answers cannot be stored no vendor is asked; the leases expire.
    if (!first || !deps.node.canStore()) return;
    const now = clock.nowMs();
    for (const { task } of group) deps.telemetry.onPoll(Math.max(0, now - task.nextPollAtMs));
    const account = await deps.vendors.channels.findBegun(first.task);
    if (!account) {
      for (const { task } of group) await endTask(task, sentence('tasks.channel_deleted'));
      return;
    }
    const plugin = await pin.generation.findPlugin(first.task);
    const onAnswer = () => enter('parsing');
    const postponeAll = (why: string): Verdict[] => group.map(() => ({ kind: 'postponed', why }));
    let verdicts: Verdict[];
    if (!plugin) verdicts = postponeAll('the plugin is not loaded');
    else {
      const tasks = group.map(({ task }) => task);
      try {
        verdicts =
          plugin.manifest.fetchMode === 'batch'
            ? await pollVendorBatch(deps, { plugin, account, tasks, onAnswer })
            : [await pollVendor(deps, { plugin, account, task: first.task, onAnswer, repeatedAnswers })];
      } catch (error) {
        // The start and the panel name such channels; a line for each poll would only fill the log.
        const isKnown = isUnreadableKey(error);
        logger[isKnown ? 'debug' : 'error'](
          { err: error, channel_id: channelId },
          'vendor could not be polled; retrying later',
        );
        verdicts = postponeAll('the gateway could not ask');
      }
    }
    enter('writing');
    if (plugin) for (const verdict of verdicts) deps.telemetry.outcomes.polled(plugin, verdict);
    const [verdict] = verdicts;
    if (verdict) deps.telemetry.tracer?.note({ 'taskgate.verdict': verdict.kind });
    await Promise.all(
      group.map((entry, index) =>
        record(entry, verdicts[index] ?? { kind: 'postponed', why: 'no answer' }).catch((error: unknown) =>
          logger.error({ err: error, task_id: entry.task.taskId }, 'poll result could not be stored'),
        ),
      ),
    );
    taskWritten();
  }

  /**
   * Repeating a write is safe after a lost commit acknowledgement: the lease's sequence number in
   * its condition decides whether it takes effect.
   */
  async function record({ task, final }: Claimed, verdict: Verdict): Promise<void> {
    for (const pauseMs of WRITE_PAUSES_MS) {
      try {
        if (verdict.kind === 'ended') await gatherEndings();
        return await applyVerdict(deps, { write, task, verdict, final });
      } catch (error) {
        if (!isStoreUnavailable(error) || stopping.signal.aborted) throw error;
        logger.warn({ err: error, task_id: task.taskId }, 'poll result could not be stored; retrying');
        await clock.sleep(pauseMs, stopping.signal);
      }
    }
    await applyVerdict(deps, { write, task, verdict, final });
  }

  /** Ends tasks without the vendor's id, which cannot be polled, and returns the others. */
  async function failWithoutVendorId(group: Claimed[]): Promise<Claimed[]> {
    const lacksVendorId = ({ task }: Claimed) => task.upstreamTaskId.trim() === '';
    for (const { task } of group.filter(lacksVendorId)) await endTask(task, sentence('tasks.vendor_id_unknown'));
    return group.filter((entry) => !lacksVendorId(entry));
  }

  /** Renews leases that are due for it, and drops claims whose lease expired in the queue. */
  async function keepOwned(group: Claimed[]): Promise<Claimed[]> {
    const now = clock.monotonicMs();
    const owned: Claimed[] = [];
    for (const entry of group) {
      if (now - entry.claimedAtMs < renewAfterMs || (await renew(entry))) owned.push(entry);
    }
    return owned;
  }

  async function renew(entry: Claimed): Promise<boolean> {
    const now = clock.monotonicMs();
    if (!(await store.tasks.renew(toLease(entry.task), leaseForMs))) return false;
    entry.claimedAtMs = now;
    return true;
  }

  /**
   * Renews the leases of running polls. Otherwise a slow vendor's answers would always come after
   * the lease, and the task would be polled again and again.
   */
  async function renewUnderway(): Promise<void> {
    const now = clock.monotonicMs();
    for (const entry of underway) if (now - entry.claimedAtMs >= renewAfterMs) await renew(entry);
  }

  /**
   * Ends a task with a refund. A failure of the store is logged and the task is retried later; it
   * does not stop others from ending.
   */
  async function endTask(task: TaskRecord, reason: Sentence): Promise<void> {
    try {
      await finishTask(deps, { task, ending: { status: 'FAILURE', reason, mayStillRun: true } });
    } catch (error) {
      logger.error({ err: error, task_id: task.taskId }, 'task could not be ended; retrying later');
    }
  }

  async function claimLoop(): Promise<void> {
    let claimed = 0;
    while (!stopping.signal.aborted) {
      // Created before the claim, so that a task that is written during the claim also ends the
      // pause after it.
      wakeUp = new AbortController();
      pausedUntilMs = Number.POSITIVE_INFINITY;
      try {
        const dueInMs = claimed > 0 ? 0 : ((await store.tasks.untilDue()) ?? Number.POSITIVE_INFINITY);
        claimed = 0;
        if (dueInMs <= 0 && deps.node.canStore()) claimed = await claim();
        if (claimed < claimBatch) await pause(dueInMs);
      } catch (error) {
        logger.error({ err: error }, 'due tasks could not be claimed; retrying');
        await clock.sleep(1000, stopping.signal);
      }
    }
  }

  async function claim(): Promise<number> {
    const tasks = await store.tasks.claimDue({
      owner: deps.node.id,
      limit: claimBatch,
      leaseForMs,
      exceptChannels: queues.full(),
      held: [...held],
    });
    enqueue(tasks, false);
    return tasks.length;
  }

  /** Waits until a task is due or the next tick, or until a full queue accepts tasks again. */
  async function pause(dueInMs: number): Promise<void> {
    const capacity = new Promise<void>((resolve) => {
      wake = resolve;
    });
    await Promise.race([onlyNode && dueInMs > idleTickMs ? pauseLong(dueInMs) : pauseShort(dueInMs), capacity]);
  }

  function pauseShort(dueInMs: number): Promise<void> {
    pausedUntilMs = 0;
    return sleepInStep(clock, Math.min(Math.max(dueInMs, TICK_MS), idleTickMs), stopping.signal);
  }

  function pauseLong(dueInMs: number): Promise<void> {
    const ms = Math.min(dueInMs, inStep(clock, ONLY_NODE_TICK_MS));
    pausedUntilMs = clock.monotonicMs() + ms;
    return clock.sleep(ms, wakeUp.signal);
  }

  function taskWritten(): void {
    if (pausedUntilMs > clock.monotonicMs() + shortestDelayMs) wakeUp.abort();
  }

  async function every(ms: number, what: string, work: () => Promise<void>): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await work();
      } catch (error) {
        logger.error({ err: error }, `${what} failed`);
      }
      await sleepInStep(clock, ms, stopping.signal);
    }
  }

  async function sweep(): Promise<void> {
    const pulledForward = await store.tasks.pullForwardDueTimes(longestPollDelayMs(limits.pollIntervalMs));
    if (pulledForward > 0) {
      logger.warn(
        { tasks: pulledForward },
        'tasks were due too far in the future, polling them now: clock set back or poll interval shortened',
      );
      wakeUp.abort();
    }
    if (limits.taskTimeoutMinutes <= 0) return;
    const timeoutMs = limits.taskTimeoutMinutes * 60_000;
    const ownMs = ages.timeAgo(timeoutMs);
    // A node whose clock is ahead of the database's ends nobody's task.
    const sharedMs = onlyNode ? ownMs : (await store.clock.nowMs()) - timeoutMs;
    const submittedBefore = Math.floor(Math.min(ownMs, sharedMs) / 1000);
    const claim = { owner: deps.node.id, limit: SWEEP_BATCH, leaseForMs, held: [...held] };
    enqueue(await store.tasks.claimOverdue({ ...claim, submittedBefore }), true);
  }

  return {
    start({ poll }) {
      const refund = () => endInterrupted(deps, leaseForMs);
      loops.push(every(INTERRUPTED_EVERY_MS[store.dialect], 'ending interrupted submissions', refund));
      if (!poll) return;
      loops.push(
        claimLoop(),
        every(renewAfterMs / 2, 'renewing claims', renewUnderway),
        every(SWEEP_EVERY_MS, 'the sweep of old tasks', sweep),
      );
    },
    taskWritten,
    wake() {
      wakeUp.abort();
      wake();
    },
    async stop(graceMs) {
      stopping.abort();
      wakeUp.abort();
      await Promise.all(loops);
      const deadline = clock.monotonicMs() + graceMs;
      while (queues.stats().running > 0 && clock.monotonicMs() < deadline) await clock.sleep(20);
      await store.tasks.releaseOwner(deps.node.id, { expireSubmits: false });
    },
    stats: () => queues.stats(),
  };
}
