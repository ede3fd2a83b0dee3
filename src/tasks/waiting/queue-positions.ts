import { mapModel, serves } from '../../channels/index.ts';
import type {
  ChannelRecord,
  ListedWaiting,
  Page,
  Paged,
  TaskRecord,
  WaitingTask,
  WaitingTotal,
} from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import type { TaskNode } from '../task-node.ts';
import type { TaskDeps } from '../types.ts';
import { estimateStart } from './estimate-start.ts';
import { keepFresh } from './keep-fresh.ts';

/** A position up to this one is exact. */
const EXACT_POSITIONS = 1000;
const BEYOND_EXACT = 'over 1,000';

/** How long orders and counts of what waits are used again: many clients ask for many tasks. */
const FRESH_MS = 1000;

/** After how many milliseconds a client should ask again. */
const POLL_AFTER = { least: 1000, unknown: 5000, most: 30_000 } as const;

/** The position of a waiting task as clients see it. Times are Unix seconds. */
export type QueuePosition = {
  /** Among the tasks that wait for the same model; from 1. */
  position: number | typeof BEYOND_EXACT;
  waiting_since: number;
  /** A free slot at the vendor, or the end of another task of the same key, user or group. */
  waits_for: 'capacity' | 'own_limit';
  /** Null: too few tasks ended recently to tell, or the position is not exact. */
  estimated_start_at: number | null;
};

/** A class of what waits, the channels that may serve it, and the slots that they have in use. */
export type QueueClass = WaitingTotal & { channels: ChannelRecord[]; running: number };

export type QueueFilter = { userId?: number; model?: string };
/** `within`: undefined for a task whose class was emptied since. */
export type ListedWaitingTask = ListedWaiting & { queue: QueuePosition; within: QueueClass | undefined };

export type QueuePositions = {
  /** The positions of those tasks that wait, by their ids. */
  find(tasks: readonly Pick<TaskRecord, 'taskId' | 'status'>[]): Promise<ReadonlyMap<string, QueuePosition>>;
  /** The waiting tasks of one user, or of all, the oldest first. */
  list(filter: QueueFilter, page: Page): Promise<Paged<ListedWaitingTask>>;
  /** Puts a task before all others of its priority. @throws tasks.task_not_waiting */
  moveToFront(taskId: string): Promise<void>;
  /** The classes in which tasks wait. */
  classes(): Promise<QueueClass[]>;
  /** Milliseconds after which a client should look again: when its task is expected to start. */
  pollAfterMs(queue: QueuePosition): number;
};

type PositionsDeps = Pick<TaskDeps, 'store' | 'clock' | 'pin' | 'vendors'> & {
  node: { waiting: Pick<TaskNode['waiting'], 'durations'> };
};

/** Finds the positions of waiting tasks. All who ask at a time share one reading of the order. */
export function createQueuePositions({ store, clock, pin, vendors, node }: PositionsDeps): QueuePositions {
  const orders = keepFresh(clock, FRESH_MS, (name: string) => store.queueView.next(name, EXACT_POSITIONS));
  const classes = keepFresh(clock, FRESH_MS, readClasses);

  async function readClasses(): Promise<QueueClass[]> {
    const [found, running] = await Promise.all([store.queueView.totals(), store.queueView.running()]);
    const slots = new Map(running.map((row) => [`${row.channelId} ${row.upstreamModel}`, row.slots]));
    const { generation, release } = pin();
    try {
      return found.map((waitingClass) => {
        const { plugin: pluginKey, model, group, channelId } = waitingClass;
        const channelTypes = generation.plugins.get(pluginKey)?.manifest.channelTypes ?? [];
        const request = {
          pluginKey,
          channelTypes,
          model,
          group,
          ...(channelId > 0 && { only: { channelId, credentialId: null } }),
        };
        const channels = vendors.channels.known().filter((channel) => serves(channel, request));
        const inUse = channels.map(({ id, modelMapping }) => slots.get(`${id} ${mapModel(modelMapping, model)}`) ?? 0);
        return { ...waitingClass, channels, running: inUse.reduce((sum, count) => sum + count, 0) };
      });
    } finally {
      release();
    }
  }

  async function describe(rows: readonly WaitingTask[]): Promise<ReadonlyMap<string, QueuePosition>> {
    if (rows.length === 0) return new Map();
    const [known, durations] = await Promise.all([classes(''), node.waiting.durations.all()]);
    const byName = new Map(known.map((each) => [each.class, each]));
    const described = rows.map(async (row): Promise<[string, QueuePosition]> => {
      const before = (await orders(row.class)).filter((other) => isBefore(other, row)).length;
      const position = before >= EXACT_POSITIONS ? undefined : before + 1;
      const waiting = { task: row, position, queue: byName.get(row.class) };
      return [
        row.taskId,
        {
          position: position ?? BEYOND_EXACT,
          waiting_since: row.since,
          waits_for: row.parked ? 'own_limit' : 'capacity',
          estimated_start_at: estimateStart(waiting, durations, clock.unix()),
        },
      ];
    });
    return new Map(await Promise.all(described));
  }

  return {
    async find(tasks) {
      const ids = tasks.flatMap(({ taskId, status }) => (status === 'NOT_START' ? taskId : []));
      return describe(await store.queueView.find(ids));
    },
    async list({ userId, model }, page) {
      const known = await classes('');
      const chosen = model === undefined ? undefined : known.filter((each) => each.model === model);
      const found = await store.queueView.list(
        {
          ...(userId !== undefined && { userId }),
          ...(chosen && { classes: chosen.map((each) => each.class) }),
        },
        page,
      );
      const positions = await describe(found.items);
      const byName = new Map(known.map((each) => [each.class, each]));
      return {
        ...found,
        items: found.items.flatMap((task) => {
          const queue = positions.get(task.taskId);
          return queue ? { ...task, queue, within: byName.get(task.class) } : [];
        }),
      };
    },
    async moveToFront(taskId) {
      if (!(await store.queueView.moveToFront(taskId))) throw taskErrors.task_not_waiting();
    },
    classes: () => classes(''),
    pollAfterMs({ estimated_start_at: startAt }) {
      if (startAt === null) return POLL_AFTER.unknown;
      return Math.min(Math.max(startAt * 1000 - clock.nowMs(), POLL_AFTER.least), POLL_AFTER.most);
    },
  };
}

const isBefore = (one: Order, other: Order): boolean =>
  one.priority > other.priority ||
  (one.priority === other.priority &&
    (one.turn < other.turn || (one.turn === other.turn && one.taskId < other.taskId)));
type Order = Pick<WaitingTask, 'priority' | 'turn' | 'taskId'>;
