import { expect, test } from 'bun:test';
import { createChannelWatch, type FailingChannel } from '../../src/app/operations/watch-channels.ts';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import { type ChannelRecord, STATUS } from '../../src/store/ports/index.ts';
import type { ChannelHealth } from '../../src/tasks/index.ts';

/** Nodes that share the notes. */
function openNodes(count: number) {
  const notes = new Map<string, string>();
  const mails: FailingChannel[] = [];
  const states = new Map<number, ChannelHealth>();
  let isOn = true;
  const channel = { id: 7, name: 'Kling', status: STATUS.enabled } as ChannelRecord;
  const options = {
    get: async (key: string) => notes.get(key),
    putIfAbsent: async (key: string, value: string) => !notes.has(key) && notes.set(key, value) === notes,
    replace: async (key: string, before: string, value: string) =>
      notes.get(key) === before && notes.set(key, value) === notes,
  };
  const open = () =>
    createChannelWatch({
      store: { options },
      clock: systemClock,
      logger: silentLogger,
      channels: { known: () => [channel] },
      health: async () => states,
      isOn: () => isOn,
      tell: async (failing) => void mails.push(failing),
    });
  const nodes = Array.from({ length: count }, open);
  return {
    mails,
    open,
    check: () => Promise.all(nodes.map((node) => node.check())),
    setOn: (on: boolean) => {
      isOn = on;
    },
    setState: (state: ChannelHealth['state'], failed = 9) =>
      states.set(7, { channelId: 7, state, failed, succeeded: 1 } as ChannelHealth),
  };
}

test('a failing channel is reported once, by one node, until it has recovered', async () => {
  const nodes = openNodes(3);
  nodes.setState('good', 0);
  await nodes.check();
  expect(nodes.mails).toEqual([]);
  nodes.setState('failing');
  await nodes.check();
  await nodes.check();
  expect(nodes.mails).toEqual([{ channel: 'Kling', failed: 9, ended: 10 }]);
  // Degraded is not recovered.
  nodes.setState('degraded');
  await nodes.check();
  nodes.setState('failing');
  await nodes.check();
  expect(nodes.mails).toHaveLength(1);
  nodes.setState('good');
  await nodes.check();
  nodes.setState('failing');
  await nodes.check();
  expect(nodes.mails).toHaveLength(2);
});

test('a restart does not report it again, and the setting switches it off', async () => {
  const nodes = openNodes(1);
  nodes.setOn(false);
  nodes.setState('failing');
  await nodes.check();
  expect(nodes.mails).toEqual([]);
  nodes.setOn(true);
  await nodes.check();
  await nodes.open().check();
  expect(nodes.mails).toHaveLength(1);
});

test('a mail that cannot be written costs no other channel its own', async () => {
  const mailed: string[] = [];
  const channels = [1, 2].map((id) => ({ id, name: `channel ${id}`, status: STATUS.enabled }) as ChannelRecord);
  const watch = createChannelWatch({
    store: { options: { get: async () => undefined, putIfAbsent: async () => true, replace: async () => true } },
    clock: systemClock,
    logger: silentLogger,
    channels: { known: () => channels },
    health: async () =>
      new Map(
        channels.map(({ id }) => [id, { channelId: id, state: 'failing', failed: 9, succeeded: 0 } as ChannelHealth]),
      ),
    isOn: () => true,
    tell: async ({ channel }) => {
      if (channel === 'channel 1') throw new Error('no mail server');
      mailed.push(channel);
    },
  });
  await watch.check();
  expect(mailed).toEqual(['channel 2']);
});
