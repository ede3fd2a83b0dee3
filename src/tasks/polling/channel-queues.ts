/**
 * Gives each channel a queue of its own, so that a slow vendor delays no other. A slot is held for
 * the request only: while an answer is parsed and written, the next request is on its way.
 */
import type { Pin } from '../../plugins/index.ts';
import type { Claimed, PollStage } from './types.ts';

/** Claimed tasks that may wait in a channel's queue. A longer queue is left out of claims. */
const WAITING_PER_CHANNEL = 64;
/**
 * Groups of one channel whose verdicts may be in the writing stage at once. Above that, no vendor
 * is asked: the database cannot keep up.
 */
const WRITING_PER_CHANNEL = 128;
/**
 * The limit in tasks, where a group is a batch. Every claim has to pass over all tasks that are
 * claimed already.
 */
const WRITING_TASKS_PER_CHANNEL = 512;
/** Tasks in one batch query. */
const BATCH_SIZE = 100;
/** A batch's tasks are polled in smaller groups after this many failures. */
const SUSPECT_AFTER = 3;

/** `full`: left out of claims until half of the queue has been polled. */
type Queue = { waiting: Claimed[]; full: boolean; writingTasks: number } & Record<PollStage, number>;

export type ChannelQueues = {
  /** Enqueues claimed tasks, and starts as many requests as there are free slots. */
  add(claimed: readonly Claimed[]): void;
  /** Channels whose queue is full. */
  full(): number[];
  /** Groups being polled, tasks waiting, and tasks polled since the start. */
  stats(): { running: number; waiting: number; polls: number };
};

/** One group to poll. It never throws, and calls `enter` when it gets to the next stage. */
export type PollGroup = (poll: {
  pin: Pin;
  channelId: number;
  group: Claimed[];
  enter: (stage: PollStage) => void;
}) => Promise<void>;

type ChannelQueuesOptions = {
  /** Concurrent requests to one channel. */
  concurrency: number;
  pin: () => Pin;
  poll: PollGroup;
  /** Called when a full queue accepts tasks again. */
  onCapacity(): void;
  stopping: AbortSignal;
};

export function createChannelQueues({
  concurrency,
  pin: takePin,
  poll,
  onCapacity,
  stopping,
}: ChannelQueuesOptions): ChannelQueues {
  const queues = new Map<number, Queue>();
  let polls = 0;
  let running = 0;

  const openQueue = (channelId: number): Queue => {
    let queue = queues.get(channelId);
    if (!queue) {
      queue = { waiting: [], full: false, writingTasks: 0, requesting: 0, parsing: 0, writing: 0 };
      queues.set(channelId, queue);
    }
    return queue;
  };

  const hasCapacity = ({ requesting, parsing, writing, writingTasks }: Queue): boolean =>
    requesting < concurrency &&
    parsing < concurrency &&
    writing < WRITING_PER_CHANNEL &&
    writingTasks < WRITING_TASKS_PER_CHANNEL;

  function drain(channelId: number, queue: Queue): void {
    while (hasCapacity(queue) && queue.waiting.length > 0 && !stopping.aborted) void run(channelId, queue);
    if (queue.full && queue.waiting.length < WAITING_PER_CHANNEL / 2) {
      queue.full = false;
      onCapacity();
    }
  }

  async function run(channelId: number, queue: Queue): Promise<void> {
    const pin = takePin();
    const group = takeGroup(queue, pin);
    let stage = 'requesting' as PollStage;
    queue.requesting += 1;
    running += 1;
    polls += group.length;
    const enter = (next: PollStage): void => {
      queue[stage] -= 1;
      queue[next] += 1;
      stage = next;
      if (next === 'writing') queue.writingTasks += group.length;
      drain(channelId, queue);
    };
    await poll({ pin, channelId, group, enter });
    pin.release();
    queue[stage] -= 1;
    if (stage === 'writing') queue.writingTasks -= group.length;
    running -= 1;
    drain(channelId, queue);
    if (queue.waiting.length + queue.requesting + queue.parsing + queue.writing === 0) queues.delete(channelId);
  }

  return {
    add(claimed) {
      const touched = new Set<number>();
      for (const entry of claimed) {
        const { channelId } = entry.task;
        openQueue(channelId).waiting.push(entry);
        touched.add(channelId);
      }
      for (const channelId of touched) {
        const queue = openQueue(channelId);
        drain(channelId, queue);
        queue.full = queue.waiting.length >= WAITING_PER_CHANNEL;
      }
    },
    full: () => [...queues].filter(([, queue]) => queue.full).map(([id]) => id),
    stats: () => ({
      running,
      waiting: [...queues.values()].reduce((sum, { waiting }) => sum + waiting.length, 0),
      polls,
    }),
  };
}

/**
 * One task, or, for batch plugins, as many tasks of the same version and
 * credential as fit into one request. A
 * version that is not loaded yet gets one task, and is loaded by its poll.
 */
function takeGroup(queue: Queue, { generation }: Pin): Claimed[] {
  const first = queue.waiting.shift() as Claimed;
  const plugin = generation.findLoadedPlugin(first.task);
  if (plugin?.manifest.fetchMode !== 'batch') return [first];
  const isSuspect = ({ task }: Claimed) => task.pollFailures >= SUSPECT_AFTER;
  const alike = queue.waiting.filter(
    (entry) =>
      entry.task.credentialId === first.task.credentialId &&
      generation.findLoadedPlugin(entry.task) === plugin &&
      isSuspect(entry) === isSuspect(first),
  );
  // The group shrinks with every further failure, until the id that breaks its batch is alone.
  const size = isSuspect(first)
    ? Math.min(BATCH_SIZE / 2 ** (first.task.pollFailures - SUSPECT_AFTER + 1), Math.ceil((alike.length + 1) / 2))
    : BATCH_SIZE;
  const group = [first, ...alike.slice(0, Math.max(Math.floor(size), 1) - 1)];
  const taken = new Set(group);
  queue.waiting = queue.waiting.filter((entry) => !taken.has(entry));
  return group;
}
