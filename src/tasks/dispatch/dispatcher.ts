/** Sends tasks that wait as soon as accounts have free slots for them. */
import { type Dispatch, heldSlots } from '../../channels/index.ts';
import { detachFromRequest, sentence } from '../../kernel/index.ts';
import {
  FILES_NODE,
  NODE_ALIVE_SECONDS,
  type Parking,
  RESTORED_NODE,
  type Repositories,
  type TakenWaiting,
  type WaitingCount,
} from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import { endWaiting } from '../state/finish-task.ts';
import { lockOwnerConcurrency, type OwnedHead } from '../state/owner-limits.ts';
import { SUBMIT_LEASE_MS } from '../submission/renew-lease.ts';
import type { TaskDeps } from '../types.ts';
import { chooseNextTasks, createTrialOrder, createUserShares, type Plan } from './choose-next-tasks.ts';
import { dispatchTask, putBackUnsent, type Sending } from './dispatch-task.ts';
import { fallBack } from './fall-back.ts';
import { createCallerSearch } from './find-caller.ts';
import { planTasks } from './plan-tasks.ts';
import { releaseParked } from './release-parked.ts';

/** How often to check what all live nodes know of. */
const NODES_EVERY_MS = 10_000;
/** While something waits, this sweep is the guarantee behind every notice. */
const SWEEP_MS = 1000;
/** While nothing waits here, another node on PostgreSQL may have put a task in a queue. */
const IDLE_MS = 5000;
/** Slots that become free within this time are filled together. */
const GATHER_MS = 20;
/** How often it looks for tasks whose users, keys or clients are gone. */
const LOST_EVERY_MS = 5000;
/** How often to search all waiting tasks for those written before a clock was set back. */
const ALL_EVERY_MS = 300_000;
/**
 * One transaction begins to send at most this many tasks. SQLite holds the thread until it ends, so
 * small transactions let reads run between them.
 */
const MAX_SENT = { sqlite: 32, postgres: 64 };
/** Tasks that are looked at together: those that may be a trial, and those whose wait is over. */
const MAX_BATCH = 64;
/** The shortest interval at which this node notifies others of new tasks. */
const TELL_EVERY_MS = 250;
/** If tasks wait, slots are free and nothing was sent for this long, something is wrong. */
export const STALLED_MS = 60_000;

export type Dispatcher = {
  start(): Promise<void>;
  stop(graceMs: number): Promise<void>;
  /** `stalledMs`: how long tasks have waited beside free slots. */
  stats(): { sending: number; stalledMs: number };
};

export function createDispatcher(deps: TaskDeps): Dispatcher {
  const { store, clock, logger, node } = deps;
  const { capacity } = node;
  const waitingCounts = node.waiting.counts;
  const onlyNode = store.dialect === 'sqlite';
  const mostSent = MAX_SENT[store.dialect];
  const stopping = new AbortController();
  const underway = new Set<Promise<void>>();
  const leaves: (() => void)[] = [];
  const shares = createUserShares();
  const trials = createTrialOrder();
  const skipped = new Map<string, number>();
  let woken = new AbortController();
  let loop = Promise.resolve();
  let nodesReadMs = Number.NEGATIVE_INFINITY;
  let lostReadMs = Number.NEGATIVE_INFINITY;
  let allReadMs = Number.NEGATIVE_INFINITY;
  let toldMs = Number.NEGATIVE_INFINITY;
  /** Whether tasks may wait; an earlier process may have left some. */
  let hasWaiting = true;
  /** Whether this node can read the files of requests that wait. */
  let hasFiles = false;
  let fillDueMs = Number.NEGATIVE_INFINITY;
  let sweepDueMs = Number.NEGATIVE_INFINITY;
  let fills = 0;
  /** When tasks began to wait although slots are free. */
  let stalledSinceMs: number | undefined;

  const isStopping = (): boolean => stopping.signal.aborted;
  const wake = (): void => woken.abort();
  const track = (work: Promise<void>): void => {
    underway.add(work);
    void work.finally(() => underway.delete(work));
  };

  /** Other nodes may have a slot for a task of this one. */
  async function notifyOthers(): Promise<void> {
    if (onlyNode) return;
    const now = clock.monotonicMs();
    if (now - toldMs < TELL_EVERY_MS) return;
    toldMs = now;
    await store
      .publish('waiting')
      .catch((error: unknown) => logger.warn({ err: error }, 'other nodes could not be notified of a waiting task'));
  }

  async function readNodes(): Promise<void> {
    if (onlyNode) return;
    const now = clock.monotonicMs();
    if (now - nodesReadMs < NODES_EVERY_MS) return;
    nodesReadMs = now;
    const alive = await store.nodes.alive(NODE_ALIVE_SECONDS);
    node.features.learnFrom(alive);
  }

  async function readFiles(): Promise<void> {
    hasFiles = (await deps.storage.files.findFault().catch(() => 'not readable')) === undefined;
  }

  /**
   * Takes tasks out of their queues and gives them slots, in one transaction. Those whose own limit
   * is reached leave their queues without one. `short`: classes of which fewer tasks may be sent
   * now than were planned, and how many wait without those that may not.
   */
  async function begin(
    plans: readonly Plan[],
  ): Promise<{ sendings: Sending[]; parked: number; short: Map<WaitingCount, number> }> {
    const begun = new Map<string, Dispatch>();
    let taken: Sending[] = [];
    let parks: Parking[] = [];
    let short = new Map<WaitingCount, number>();
    if (plans.length === 0) return { sendings: [], parked: 0, short };
    const endSlot = (dispatch: Dispatch): void => capacity.end(heldSlots(dispatch));
    try {
      const sendings = await store.transaction(async (tx) => {
        // The database may have undone an earlier run, whose slots others may have taken since.
        for (const dispatch of begun.values()) endSlot(dispatch);
        begun.clear();
        const asking = new Set(plans.filter(({ scope }) => capacity.needsLock(scope)));
        const found: Sending[] = [];
        const locked =
          asking.size > 0
            ? await capacity.lockSlots(
                tx,
                [...asking].map(({ scope }) => scope),
              )
            : undefined;
        const planByTask = new Map<string, Plan>();
        const read = await readHeads(tx, plans);
        const { queues } = read;
        short = read.short;
        const own = await lockOwnerConcurrency(tx, [...queues.values()].flat());
        parks = [];
        const { dequeuings, gathered } = await chooseNextTasks(
          { shares, plans },
          {
            most: mostSent,
            heads: (waitingClass) => queues.get(waitingClass) ?? [],
            async start(one, head) {
              const { taskId, userId, slots } = head;
              const start = { taskId, slots, userId };
              const { scope } = one;
              const lock = asking.has(one) ? locked : undefined;
              const isFree = lock ? lock.left(scope) > 0 : capacity.freeSlots(scope) > 0;
              if (!isFree) return 'full';
              const reached = own?.findReached(head, head.most) ?? '';
              if (reached) {
                parks.push({
                  taskId,
                  class: one.waitingClass.class,
                  priority: one.waitingClass.priority,
                  parked: reached,
                });
                return 'parked';
              }
              const lacking = lock ? lock.lacking(scope, slots) : capacity.lacking(scope, slots);
              if (lacking) return { gathers: lacking };
              const dispatch = lock ? await lock.take(scope, start) : capacity.begin(scope, start);
              if (!dispatch) return 'full';
              own?.add(head);
              begun.set(taskId, dispatch);
              planByTask.set(taskId, one);
              return 'begun';
            },
          },
        );
        waitingCounts.gather(gathered);
        for (const each of await tx.waiting.take(dequeuings, { owner: node.id, leaseForMs: SUBMIT_LEASE_MS })) {
          const [one, dispatch] = [planByTask.get(each.task.taskId), begun.get(each.task.taskId)];
          if (!one || !dispatch) continue;
          found.push({ ...each, account: one.account, scope: one.scope, dispatch });
        }
        taken = found;
        await tx.waiting.count(found as TakenWaiting[], { isSent: true, parks });
        return found;
      });
      const sent = new Set(sendings.map(({ task }) => task.taskId));
      for (const [taskId, dispatch] of begun) if (!sent.has(taskId)) endSlot(dispatch);
      return { sendings, parked: parks.length, short };
    } catch (error) {
      for (const dispatch of begun.values()) endSlot(dispatch);
      // The answer to its commit may be lost: then they have left their queues, and nobody sends
      // them.
      for (const each of taken) track(putBackUnsent(deps, each, { waitMs: 0, stopping: stopping.signal }));
      throw error;
    }
  }

  const readableNodes = (): string[] => (hasFiles ? ['', FILES_NODE] : ['']);

  /** The first tasks of the queues that are planned for, locked; `short` as for `begin`. */
  async function readHeads(tx: Repositories, plans: readonly Plan[]) {
    const queues = new Map<WaitingCount, OwnedHead[]>();
    const short = new Map<WaitingCount, number>();
    for (const [waitingClass, own] of Map.groupBy(plans, (one) => one.waitingClass)) {
      const { class: name, priority, group } = waitingClass;
      const isTrial = own.every(({ scope }) => capacity.wantsTrial(scope));
      const planned = own.reduce((sum, plan) => sum + plan.limit, 0);
      const limit = isTrial ? MAX_BATCH : planned;
      const found = await tx.waiting.heads({ class: name, priority, nodes: readableNodes(), limit });
      const ofGroup = deps.limits.waiting(group).maxRunning;
      const heads = found.map((head) => ({ ...head, group, most: { ...head.most, group: ofGroup } }));
      queues.set(waitingClass, isTrial ? trials.sort(heads) : heads);
      if (heads.length < planned) short.set(waitingClass, waitingClass.parked + heads.length);
    }
    return { queues, short };
  }

  /** Fills free slots, and returns how many tasks it has moved on. */
  async function fill(): Promise<number> {
    const classes = await store.waiting.classes();
    waitingCounts.replace(classes);
    hasWaiting = classes.length > 0;
    if (!hasWaiting || !node.canStore()) return 0;
    fills += 1;
    const released = await releaseParked(deps, classes);
    if (released > 0) return released;
    const findCaller = createCallerSearch(deps);
    const moved = await send(classes, { findCaller, stopping: stopping.signal });
    return moved + (await fallBack(deps, classes, { findCaller, nodes: readableNodes(), skipped }));
  }

  /** Sends what has free slots, and returns how many tasks left their queues. */
  async function send(classes: readonly WaitingCount[], options: Parameters<typeof dispatchTask>[2]): Promise<number> {
    let hasFreeSlots = false;
    for (let left = classes; ; ) {
      const plans = planTasks(deps, { classes: left, most: mostSent, turn: fills });
      hasFreeSlots ||= plans.length > 0;
      const { sendings, parked, short } = await begin(plans);
      for (const sending of sendings) {
        if (sending.dispatch.isTrial) trials.note(sending.task.taskId);
        track(detachFromRequest(() => dispatchTask(deps, sending, options)));
      }
      const moved = sendings.length + parked;
      if (moved > 0 || short.size === 0) {
        watchStall({ hasFreeSlots, sent: moved });
        return moved;
      }
      // Tasks that pause, or whose files this node cannot read, keep no slots from others.
      left = left.map((one) => ({ ...one, waiting: short.get(one) ?? one.waiting }));
    }
  }

  function watchStall({ hasFreeSlots, sent }: { hasFreeSlots: boolean; sent: number }): void {
    const now = clock.monotonicMs();
    if (!hasFreeSlots || sent > 0) stalledSinceMs = undefined;
    else if (stalledSinceMs === undefined) stalledSinceMs = now;
    else if (now - stalledSinceMs > STALLED_MS && (now - stalledSinceMs) % STALLED_MS < SWEEP_MS)
      logger.error(
        { seconds: Math.round((now - stalledSinceMs) / 1000) },
        'tasks are waiting although slots are free, and none is sent',
      );
  }

  /** Ends waits that are over, and releases tasks whose pause is over. */
  async function sweep(): Promise<void> {
    sweepDueMs = clock.monotonicMs() + SWEEP_MS;
    await store.waiting.wake();
    const looksAtAll = sweepDueMs - allReadMs >= ALL_EVERY_MS;
    const due = await store.waiting.age(MAX_BATCH, { looksAtAll });
    // More than one batch is searched at once.
    if (looksAtAll && due.length < MAX_BATCH) allReadMs = sweepDueMs;
    for (const { taskId, node, parked, sinceMs, deadlineMs } of due) {
      const minutes = Math.max(1, Math.round((deadlineMs - sinceMs) / 60_000));
      const error =
        node === RESTORED_NODE
          ? taskErrors.task_restored({ message: sentence('tasks.restored') })
          : parked !== ''
            ? taskErrors.concurrency_limit({ message: sentence('tasks.own_wait_over', { minutes }) })
            : taskErrors.wait_over({ message: sentence('tasks.wait_over', { minutes }) });
      await endOne(taskId, error);
    }
    const now = clock.monotonicMs();
    if (now - lostReadMs < LOST_EVERY_MS) return;
    lostReadMs = now;
    await readFiles();
    for (const { taskId, lost } of await store.waiting.findLost(MAX_BATCH))
      await endOne(
        taskId,
        lost === 'caller' ? taskErrors.caller_disabled() : taskErrors.origin_task_channel_disabled(),
      );
    const alive = onlyNode ? [node.id] : (await store.nodes.alive(NODE_ALIVE_SECONDS)).map(({ id }) => id);
    for (const taskId of await store.waiting.ofDeadNodes([...alive, node.id], MAX_BATCH))
      await endOne(taskId, taskErrors.client_left());
  }

  /** One that cannot be ended is tried again, and holds up neither the others nor what is sent. */
  async function endOne(taskId: string, error: ReturnType<typeof taskErrors.wait_over>): Promise<void> {
    try {
      const task = await store.tasks.byTaskId(taskId);
      if (task) await endWaiting(deps, task, { error });
    } catch (failure) {
      logger.error({ err: failure, task_id: taskId }, 'a waiting task could not be ended; retrying later');
    }
  }

  async function run(): Promise<void> {
    while (!isStopping()) {
      // Before the look, so that what changes during it ends the pause after it.
      woken = new AbortController();
      try {
        await readNodes();
        const gatherMs = fillDueMs - clock.monotonicMs();
        if (gatherMs > 0) await clock.sleep(gatherMs, stopping.signal);
        // One that began late is followed the sooner.
        fillDueMs = Math.max(fillDueMs, clock.monotonicMs() - GATHER_MS) + GATHER_MS;
        if (hasWaiting && clock.monotonicMs() >= sweepDueMs) await sweep();
        if ((await fill()) > 0) continue;
        await pause();
      } catch (error) {
        logger.error({ err: error }, 'waiting tasks could not be sent; retrying');
        await clock.sleep(SWEEP_MS, stopping.signal);
      }
    }
  }

  async function pause(): Promise<void> {
    const signal = AbortSignal.any([woken.signal, stopping.signal]);
    const jitter = node.random.below(SWEEP_MS / 4);
    if (hasWaiting) {
      const dueInMs = (await store.waiting.untilDue()) ?? SWEEP_MS;
      const ms = Math.max(10, Math.min(SWEEP_MS + jitter, dueInMs));
      // Not later than it was: where slots become free all the time, each pause would put it off.
      sweepDueMs = Math.min(sweepDueMs, clock.monotonicMs() + ms);
      await clock.sleep(ms, signal);
    }
    // The only node learns of each task that begins to wait.
    else if (onlyNode) await untilAborted(signal);
    else await clock.sleep(IDLE_MS + jitter, signal);
  }

  return {
    async start() {
      await Promise.all([readNodes(), readFiles()]);
      waitingCounts.onEntered(() => {
        hasWaiting = true;
        wake();
        void detachFromRequest(notifyOthers);
      });
      leaves.push(
        capacity.onSlotsFreed(() => {
          if (hasWaiting) wake();
        }),
        store.subscribe((topic) => {
          if (topic === 'waiting' || (topic === 'channels' && hasWaiting)) wake();
        }),
      );
      loop = detachFromRequest(run);
    },
    async stop(graceMs) {
      stopping.abort();
      for (const leave of leaves.splice(0)) leave();
      await loop;
      const grace = clock.sleep(graceMs);
      await Promise.race([Promise.allSettled([...underway]), grace]);
    },
    stats: () => ({
      sending: underway.size,
      stalledMs: stalledSinceMs === undefined ? 0 : clock.monotonicMs() - stalledSinceMs,
    }),
  };
}

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
