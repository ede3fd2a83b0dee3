import type { Pin } from '../../plugins/index.ts';
import type { TaskRecord } from '../../store/ports/index.ts';

/**
 * Claimed tasks that may wait for a slot of their channel, beyond which the channel is left out of
 * claims.
 */
const WAITING_PER_CHANNEL = 64;
/**
 * Groups of a channel whose answers are being written: no more is asked for while the database
 * cannot keep up.
 */
const WRITING_PER_CHANNEL = 128;
/** Tasks in one batch query. */
const BATCH_SIZE = 100;
/** Failed batches after which its tasks are asked in smaller groups. */
const SUSPECT_AFTER = 3;

/** `final`: the task is past its age limit. */
export type Claimed = { task: TaskRecord; claimedAtMs: number; final: boolean };

/**
 * What a group is at: its request is built and sent; the plugin reads the answer; what it says is
 * written.
 */
export type PollStage = 'asking' | 'reading' | 'writing';

/** `full`: left out of claims until half of what waits has been asked. */
type Lane = { waiting: Claimed[]; full: boolean } & Record<PollStage, number>;

export type ChannelQueues = {
  /** Takes claimed tasks, and starts as many requests as there are free slots. */
  add(claimed: readonly Claimed[]): void;
  /** Channels that take no more for now. */
  full(): number[];
  /**
   * Groups that were begun and have not ended, tasks that wait, and tasks that were begun since the
   * start.
   */
  stats(): { running: number; waiting: number; polls: number };
};

type PollLanesOptions = {
  /** Requests at once to one channel. */
  concurrency: number;
  pin: () => Pin;
  /** Asks for a group; says when it gets to the next stage. Never throws. */
  poll(pin: Pin, channelId: number, group: Claimed[], enter: (stage: PollStage) => void): Promise<void>;
  /** A full lane has room again. */
  onRoom(): void;
  stopping: AbortSignal;
};

/**
 * Each channel's tasks in a lane of their own, so that a slow vendor holds up nobody else. A slot
 * is held for a request alone: while the answer is read and written the vendor is asked for the
 * next.
 */
export function createChannelQueues({
  concurrency,
  pin: takePin,
  poll,
  onRoom,
  stopping,
}: PollLanesOptions): ChannelQueues {
  const lanes = new Map<number, Lane>();
  let polls = 0;
  let running = 0;

  const laneOf = (channelId: number): Lane => {
    let lane = lanes.get(channelId);
    if (!lane) {
      lane = { waiting: [], full: false, asking: 0, reading: 0, writing: 0 };
      lanes.set(channelId, lane);
    }
    return lane;
  };

  const hasRoom = ({ asking, reading, writing }: Lane): boolean =>
    asking < concurrency && reading < concurrency && writing < WRITING_PER_CHANNEL;

  function drain(channelId: number, lane: Lane): void {
    while (hasRoom(lane) && lane.waiting.length > 0 && !stopping.aborted) void run(channelId, lane);
    if (lane.full && lane.waiting.length < WAITING_PER_CHANNEL / 2) {
      lane.full = false;
      onRoom();
    }
  }

  async function run(channelId: number, lane: Lane): Promise<void> {
    const pin = takePin();
    const group = takeGroup(lane, pin);
    let stage: PollStage = 'asking';
    lane.asking += 1;
    running += 1;
    polls += group.length;
    const enter = (next: PollStage): void => {
      lane[stage] -= 1;
      lane[next] += 1;
      stage = next;
      drain(channelId, lane);
    };
    await poll(pin, channelId, group, enter);
    pin.release();
    lane[stage] -= 1;
    running -= 1;
    drain(channelId, lane);
    if (lane.waiting.length + lane.asking + lane.reading + lane.writing === 0) lanes.delete(channelId);
  }

  return {
    add(claimed) {
      const touched = new Set<number>();
      for (const entry of claimed) {
        const { channelId } = entry.task;
        laneOf(channelId).waiting.push(entry);
        touched.add(channelId);
      }
      for (const channelId of touched) {
        const lane = laneOf(channelId);
        drain(channelId, lane);
        lane.full = lane.waiting.length >= WAITING_PER_CHANNEL;
      }
    },
    full: () => [...lanes].filter(([, lane]) => lane.full).map(([id]) => id),
    stats: () => ({
      running,
      waiting: [...lanes.values()].reduce((sum, { waiting }) => sum + waiting.length, 0),
      polls,
    }),
  };
}

/** One task, or for batch plugins as many of the same plugin as fit into one request. */
function takeGroup(lane: Lane, pin: Pin): Claimed[] {
  const first = lane.waiting.shift() as Claimed;
  const platform = first.task.platform;
  if (pin.generation.plugins.get(platform)?.manifest.fetchMode !== 'batch') return [first];
  const isSuspect = ({ task }: Claimed) => task.pollFailures >= SUSPECT_AFTER;
  const alike = lane.waiting.filter(
    (entry) => entry.task.platform === platform && isSuspect(entry) === isSuspect(first),
  );
  // Smaller with every further failure, until the id that spoils its batch stands alone.
  const size = isSuspect(first)
    ? Math.min(BATCH_SIZE / 2 ** (first.task.pollFailures - SUSPECT_AFTER + 1), Math.ceil((alike.length + 1) / 2))
    : BATCH_SIZE;
  const group = [first, ...alike.slice(0, Math.max(Math.floor(size), 1) - 1)];
  const taken = new Set(group);
  lane.waiting = lane.waiting.filter((entry) => !taken.has(entry));
  return group;
}
