import { describe, expect, test } from 'bun:test';
import { type PickRequest, pickAccount } from '../../src/channels/pick-account.ts';
import { systemRandom } from '../../src/kernel/index.ts';
import type { ChannelRecord } from '../../src/store/ports/index.ts';
import { toAccount } from '../support/accounts.ts';

const channel = (id: number, change: Partial<ChannelRecord> = {}): ChannelRecord => ({
  id,
  name: `c${id}`,
  type: 61,
  baseUrl: 'https://vendor.example',
  models: ['m'],
  groups: ['default'],
  priority: 0,
  weight: 1,
  modelMapping: {},
  taskPluginKey: 'demo',
  settings: {},
  status: 1,
  usedQuota: 0,
  createdAt: 0,
  updatedAt: 0,
  limits: null,
  pool: '',
  spill: true,
  proxySealed: null,
  headersSealed: null,
  bodyDefaults: null,
  ...change,
});
const request = { pluginKey: 'demo', channelTypes: [45], model: 'm', group: 'default', except: [] as number[] };
/** By credentials with their channels' ids. */
const pickChannel = (channels: ChannelRecord[], wanted: PickRequest) =>
  pickAccount(
    channels.map((one) => ({ channel: one, accounts: [toAccount(one)] })),
    [wanted],
    { random: systemRandom, now: 0 },
  )?.channel;
const share = (channels: ChannelRecord[], id: number, rounds = 2000) => {
  let hits = 0;
  for (let round = 0; round < rounds; round += 1) if (pickChannel(channels, request)?.id === id) hits += 1;
  return hits / rounds;
};

describe('picking a channel', () => {
  for (const [name, change] of [
    ['disabled', { status: 2 }],
    ['of another group', { groups: ['vip'] }],
    ['without the model', { models: ['other'] }],
    ['of another plugin', { taskPluginKey: 'other' }],
    ['of a type that the plugin does not declare', { type: 1, taskPluginKey: null }],
  ] as const) {
    test(`leaves out a channel ${name}`, () => {
      expect(pickChannel([channel(1, change as Partial<ChannelRecord>)], request)).toBeUndefined();
    });
  }

  test('takes a legacy type that the plugin declares', () => {
    expect(pickChannel([channel(1, { type: 45, taskPluginKey: null })], request)?.id).toBe(1);
  });

  test('the highest priority wins, whatever the weights', () => {
    expect(share([channel(1, { weight: 100 }), channel(2, { priority: 5 })], 2)).toBe(1);
  });

  test('the next priority serves once the first was tried', () => {
    const channels = [channel(1), channel(2, { priority: 5 })];
    expect(pickChannel(channels, { ...request, except: [2] })?.id).toBe(1);
    expect(pickChannel(channels, { ...request, except: [1, 2] })).toBeUndefined();
  });

  test('weights share in proportion', () => {
    const part = share([channel(1, { weight: 3 }), channel(2, { weight: 1 })], 1);
    expect(part).toBeGreaterThan(0.68);
    expect(part).toBeLessThan(0.82);
  });

  test('weight 0 serves only where all are 0', () => {
    expect(share([channel(1, { weight: 0 }), channel(2)], 1)).toBe(0);
    expect(share([channel(1, { weight: 0 }), channel(2, { weight: 0 })], 1)).toBeGreaterThan(0.4);
  });

  describe('of several credentials', () => {
    const NOW = 1000;
    const pick = (change: Partial<PickRequest>, credentials = [{ id: 11 }, { id: 12 }, { id: 13 }]) => {
      const [one, low] = [channel(1, { priority: 1 }), channel(2)];
      const accounts = credentials.map((credential) => toAccount(one, credential));
      const candidates = [
        { channel: one, accounts },
        { channel: low, accounts: [toAccount(low)] },
      ];
      return pickAccount(candidates, [{ ...request, ...change }], { random: systemRandom, now: NOW })?.credential.id;
    };

    test('the one that runs least serves', () => {
      const running = ({ credential }: { credential: { id: number } }) => (credential.id === 12 ? 3 : 4);
      expect(pick({ running })).toBe(12);
    });

    test('those without room and those that were tried are passed over, then a lower priority serves', () => {
      const hasFreeSlot = ({ credential }: { credential: { id: number } }) => credential.id !== 11;
      expect(pick({ hasFreeSlot, except: [12] })).toBe(13);
      expect(pick({ hasFreeSlot, except: [12, 13] })).toBe(2);
    });

    test('those that are disabled or at their end begin nothing', () => {
      const off = [
        { id: 11, status: 2 as const },
        { id: 12, expiresAt: NOW },
        { id: 13, expiresAt: NOW + 1 },
      ];
      expect(pick({}, off)).toBe(13);
    });

    test('what continues a task stays on its credential', () => {
      expect(pick({ only: { channelId: 1, credentialId: 12 } })).toBe(12);
      expect(pick({ only: { channelId: 1, credentialId: 12 }, except: [12] })).toBeUndefined();
    });
  });

  test('a channel that does not spill leaves lower priorities alone while it has no room', () => {
    const channels = [channel(1), channel(2, { priority: 5, spill: false })];
    const isFull = { hasFreeSlot: ({ channel: { id } }: { channel: { id: number } }) => id !== 2 };
    expect(pickChannel(channels, { ...request, ...isFull })).toBeUndefined();
    expect(pickChannel([channel(1), channel(2, { priority: 5 })], { ...request, ...isFull })?.id).toBe(1);
    const off = channel(2, { priority: 5, spill: false, status: 2 });
    expect(pickChannel([channel(1), off], request)?.id).toBe(1);
  });
});
