/** The position and the expected start of a waiting task: the arithmetic. */
import { expect, test } from 'bun:test';
import type { Store, WaitingOrder, WaitingTask } from '../../src/store/ports/index.ts';
import type { TaskDeps } from '../../src/tasks/types.ts';
import { createModelDurations } from '../../src/tasks/waiting/estimate-start.ts';
import { createQueuePositions } from '../../src/tasks/waiting/queue-positions.ts';
import { createMovableClock } from '../support/movable-clock.ts';

const id = (number: number): string => `task_${String(number).padStart(6, '0')}`;

/** A queue of `waiting` tasks of one model, served by two channels that run `slots` each. */
function open({ waiting = 5, slots = 2, durations = 5 }: { waiting?: number; slots?: number; durations?: number }) {
  const clock = createMovableClock();
  const reads = { next: 0, totals: 0 };
  const order: WaitingOrder[] = Array.from({ length: waiting }, (_, i) => ({
    taskId: id(i),
    priority: 0,
    turn: i + 1,
  }));
  const found = { class: 'c', plugin: 'demo', model: 'alias', group: 'default', channelId: 0, waiting };
  const store = {
    queueView: {
      find: async (ids: string[]) =>
        order
          .filter(({ taskId }) => ids.includes(taskId))
          .map((order): WaitingTask => ({ ...order, class: 'c', notBefore: 0, since: 50, deadline: 9000, parked: '' })),
      next: async (_: string, limit: number) => {
        reads.next += 1;
        return order.slice(0, limit);
      },
      totals: async () => {
        reads.totals += 1;
        return [found];
      },
      durations: async () => [{ plugin: 'demo', model: 'alias', tasks: durations, meanSeconds: 60, p95Seconds: 90 }],
      running: async () => [
        { channelId: 1, upstreamModel: 'real', slots },
        { channelId: 2, upstreamModel: 'alias', slots },
        { channelId: 3, upstreamModel: 'alias', slots: 90 },
      ],
    },
  };
  const channel = (channelId: number, groups: string[], modelMapping = {}) => ({
    ...{
      id: channelId,
      type: 61,
      taskPluginKey: 'demo',
      status: 1,
      models: ['alias'],
      groups,
      modelMapping,
      settings: {},
    },
  });
  const known = [channel(1, ['default'], { alias: 'real' }), channel(2, ['default']), channel(3, ['vip'])];
  const pin = () => ({
    generation: { plugins: new Map([['demo', { manifest: { channelTypes: [] } }]]) },
    release: () => {},
  });
  const modelDurations = createModelDurations({ store: store as unknown as Store, clock });
  const vendors = { channels: { known: () => known } };
  const deps = { store, clock, pin, vendors, node: { waiting: { durations: modelDurations } } } as unknown as TaskDeps;
  const positions = createQueuePositions(deps);
  const position = async (number: number) =>
    (await positions.find([{ taskId: id(number), status: 'NOT_START' }])).get(id(number));
  return { clock, positions, position, order, reads };
}

test('the n-th starts after n durations, divided by the slots of the channels that may serve it', async () => {
  const { clock, position, positions } = open({});
  const now = clock.unix();
  const third = await position(2);
  expect(third).toMatchObject({ position: 3, waiting_since: 50 });
  expect((third?.estimated_start_at ?? 0) - now).toBeWithin(45, 47);
  expect(third && positions.pollAfterMs(third)).toBe(30_000);
  const first = await position(0);
  expect(first && positions.pollAfterMs(first)).toBeWithin(13_000, 16_001);
});

test.each([
  ['fewer than five durations', { durations: 4 }],
  ['no slot in use', { slots: 0 }],
])('there is no estimate with %s', async (_, options) => {
  const { position, positions } = open(options);
  const found = await position(0);
  expect(found).toMatchObject({ position: 1, estimated_start_at: null });
  expect(found && positions.pollAfterMs(found)).toBe(5000);
});

test('a position is exact to 1,000, then "over 1,000" without an estimate', async () => {
  const { position } = open({ waiting: 1200 });
  expect(await position(999)).toMatchObject({ position: 1000, estimated_start_at: expect.any(Number) });
  expect(await position(1000)).toMatchObject({ position: 'over 1,000', estimated_start_at: null });
});

test('many looks within a second read the order once, and a later one sees what was sent', async () => {
  const { clock, position, order, reads } = open({});
  for (const number of [0, 1, 2, 3]) await position(number);
  expect(reads).toEqual({ next: 1, totals: 1 });
  order.shift();
  clock.pass(1001);
  expect(await position(4)).toMatchObject({ position: 4 });
});

test('a task that is being sent or has ended is not looked for', async () => {
  const { positions, reads } = open({});
  expect((await positions.find([{ taskId: id(0), status: 'IN_PROGRESS' }])).size).toBe(0);
  expect(reads.next).toBe(0);
});
