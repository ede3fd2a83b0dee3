import { expect, test } from 'bun:test';
import { addUser } from '../support/add-user.ts';
import { addKey, describeEachStore, newTask } from './each-store.ts';
import { runRaw } from './open-raw.ts';

type Row = { taskId: string; turn: number; priority?: number; node?: string; notBefore?: number; className?: string };

describeEachStore(
  'the list of what waits',
  (opened) => {
    async function addOwner() {
      const { store } = opened();
      const user = await addUser(store);
      const key = await addKey(store, user.id);
      const wait = async ({ turn, priority = 0, node = '', notBefore = 0, className = 'c' }: Omit<Row, 'taskId'>) => {
        const { taskId } = await store.tasks.insert(newTask({ userId: user.id, apiKeyId: key.id }));
        await runRaw(
          opened(),
          `insert into waiting (task_id, class, priority, turn, not_before, user_id, api_key_id, node, since, deadline, due_at, request)
          values ('${taskId}', '${className}', ${priority}, ${turn}, ${notBefore}, ${user.id}, ${key.id}, '${node}', 5500, 9900, 9900, '{"secret": 1}')`,
        );
        return taskId;
      };
      return { store, user, key, wait };
    }

    test('gives the order of a class over the files of all nodes: priority, turn, age', async () => {
      const { store, wait } = await addOwner();
      const late = await wait({ turn: 30 });
      const here = await wait({ turn: 10, node: 'node-a' });
      const urgent = await wait({ turn: 99, priority: 1, node: 'node-b' });
      const early = await wait({ turn: 20 });
      await wait({ turn: 1, notBefore: 60_000 });
      await wait({ turn: 1, className: 'other' });
      const order = async (limit: number) => (await store.queueView.next('c', limit)).map(({ taskId }) => taskId);
      expect(await order(10)).toEqual([urgent, here, early, late]);
      expect(await order(2)).toEqual([urgent, here]);

      expect(await store.queueView.moveToFront(late)).toBe(true);
      expect(await order(3)).toEqual([urgent, late, here]);
      expect(await store.queueView.moveToFront('task_none')).toBe(false);
    });

    test('lists the oldest first with their names and never with what they are sent from', async () => {
      const { store, user, key, wait } = await addOwner();
      const { user: other, wait: waitOther } = await addOwner();
      const first = await wait({ turn: 5, notBefore: 60_400 });
      const second = await waitOther({ turn: 1, className: 'd' });
      const list = (filter: { userId?: number; classes?: string[] }, page = 1) =>
        store.queueView.list(filter, { page, pageSize: 1 });
      expect(await list({})).toEqual({
        total: 2,
        hasMore: false,
        items: [
          {
            ...{ taskId: first, class: 'c', priority: 0, turn: 5, notBefore: 61, since: 5, deadline: 9, parked: '' },
            ...{ userId: user.id, username: user.username, apiKeyId: key.id, keyName: key.name, returns: 0 },
            ...{ action: 'text_to_video', isAttached: false },
            properties: { input: 'a cat', originModelName: 'demo-1', upstreamModelName: 'demo-1' },
          },
        ],
      });
      expect((await list({}, 2)).items).toMatchObject([{ taskId: second }]);
      expect(await list({ userId: other.id })).toMatchObject({ total: 1, items: [{ taskId: second }] });
      expect(await list({ classes: ['c'] })).toMatchObject({ total: 1, items: [{ taskId: first }] });
      expect((await list({ classes: [] })).total).toBe(0);
      expect(await store.queueView.find([first, 'task_none'])).toMatchObject([{ taskId: first, notBefore: 61 }]);
    });

    test('adds up what waits, what runs, and how long tasks of a model took', async () => {
      const { store, user, wait } = await addOwner();
      const total = (priority: number, waiting: number) =>
        runRaw(
          opened(),
          `insert into waiting_classes (class, priority, plugin, model, "group", waiting) values ('c', ${priority}, 'demo', 'm', 'g', ${waiting})`,
        );
      await total(0, 3);
      await total(1, 4);
      await total(2, 0);
      const found = { class: 'c', plugin: 'demo', model: 'm', group: 'g', channelId: 0, credentialId: 0, waiting: 7 };
      expect(await store.queueView.totals()).toEqual([found]);

      await store.tasks.insert(newTask({ userId: user.id, channelId: 8 }));
      const waiting = await wait({ turn: 1 });
      await runRaw(opened(), `update tasks set phase = 'waiting', channel_id = 0 where task_id = '${waiting}'`);
      await runRaw(opened(), `update tasks set upstream_model = 'up', slots = 3 where channel_id = 8`);
      expect(await store.queueView.running()).toEqual([{ channelId: 8, upstreamModel: 'up', slots: 3 }]);

      const used = (createdAt: number, seconds: number, kind = 'settle') =>
        runRaw(
          opened(),
          `insert into usage_logs (task_id, user_id, kind, quota, plugin_key, model, channel_id, created_at, seconds, detail)
          values ('t${createdAt}', ${user.id}, '${kind}', 0, 'demo', 'm', 8, ${createdAt}, ${seconds}, '{}')`,
        );
      await used(99, 1000);
      await used(100, 10);
      await used(101, 30);
      await used(102, 500, 'refund');
      await used(103, -1);
      const durations = (limit: number) => store.queueView.durations(100, limit);
      expect(await durations(10)).toEqual([{ plugin: 'demo', model: 'm', tasks: 2, meanSeconds: 20, p95Seconds: 30 }]);
      expect(await durations(1)).toEqual([{ plugin: 'demo', model: 'm', tasks: 1, meanSeconds: 30, p95Seconds: 30 }]);
    });
  },
  { fresh: 'test' },
);
