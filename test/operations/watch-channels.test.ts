import { expect, test } from 'bun:test';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import type { GatewayNotice } from '../../src/operations/watches/queue-notices.ts';
import { createChannelWatch } from '../../src/operations/watches/watch-channels.ts';
import type { ChannelHealth } from '../../src/reports/read-channel-health.ts';
import { type ChannelRecord, type Repositories, STATUS } from '../../src/store/ports/index.ts';

/** Nodes that share the notes. */
function openNodes(count: number) {
  const notes = new Map<string, string>();
  const queued: GatewayNotice[] = [];
  const states = new Map<number, ChannelHealth>();
  let isOn = true;
  let hasReceiver = false;
  let known = true;
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
      channels: { known: () => (known ? [channel] : []) },
      health: async () => states,
      isMailed: () => isOn,
      notices: {
        hasReceiver: () => hasReceiver,
        write: (work) => work({ options } as unknown as Repositories, async (notice) => void queued.push(notice)),
      },
    });
  const nodes = Array.from({ length: count }, open);
  return {
    queued,
    mails: () => queued.flatMap(({ mail }) => mail ?? []),
    open,
    check: () => Promise.all(nodes.map((node) => node.check())),
    setOn: (on: boolean) => {
      isOn = on;
    },
    setReceiver: () => {
      hasReceiver = true;
    },
    deleteChannel: () => {
      known = false;
    },
    setState: (state: ChannelHealth['state'], failed = 9) =>
      states.set(7, { channelId: 7, state, failed, succeeded: 1 } as ChannelHealth),
  };
}

test('a failing channel is reported once, by one node, until it has recovered', async () => {
  const nodes = openNodes(3);
  nodes.setState('good', 0);
  await nodes.check();
  expect(nodes.mails()).toEqual([]);
  nodes.setState('failing');
  await nodes.check();
  await nodes.check();
  expect(nodes.mails()).toEqual([{ kind: 'channel_failing', channel: 'Kling', failed: 9, ended: 10 }]);
  // Degraded is not recovered.
  nodes.setState('degraded');
  await nodes.check();
  nodes.setState('failing');
  await nodes.check();
  expect(nodes.mails()).toHaveLength(1);
  nodes.setState('good');
  await nodes.check();
  nodes.setState('failing');
  await nodes.check();
  expect(nodes.mails()).toHaveLength(2);
});

test('a restart does not report it again, and the setting switches it off', async () => {
  const nodes = openNodes(1);
  nodes.setOn(false);
  nodes.setState('failing');
  await nodes.check();
  expect(nodes.mails()).toEqual([]);
  nodes.setOn(true);
  await nodes.check();
  await nodes.open().check();
  expect(nodes.mails()).toHaveLength(1);
});

test('a receiver hears once that a channel fails, and why it no longer does, without emails too', async () => {
  const nodes = openNodes(2);
  nodes.setOn(false);
  nodes.setReceiver();
  const heard = () => nodes.queued.map(({ event, data }) => [event, data.reason ?? data.failed]);
  for (const state of ['failing', 'good', 'failing', 'idle', 'failing'] as const) {
    nodes.setState(state);
    await nodes.check();
  }
  nodes.deleteChannel();
  await nodes.check();
  expect(heard()).toEqual([
    ['channel.failing', 9],
    ['channel.recovered', 'healthy'],
    ['channel.failing', 9],
    ['channel.recovered', 'idle'],
    ['channel.failing', 9],
    ['channel.recovered', 'deleted'],
  ]);
  expect(nodes.queued.every(({ subject }) => subject === 'channel:7')).toBe(true);
  expect(nodes.mails()).toEqual([]);
});
