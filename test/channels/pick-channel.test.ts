import { describe, expect, test } from 'bun:test';
import { pickChannel } from '../../src/channels/pick-channel.ts';
import { systemRandom } from '../../src/kernel/index.ts';
import type { ChannelRecord } from '../../src/store/ports/index.ts';

const channel = (id: number, change: Partial<ChannelRecord> = {}): ChannelRecord => ({
  id,
  name: `c${id}`,
  type: 61,
  keySealed: '',
  keyHint: '',
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
  proxySealed: null,
  headersSealed: null,
  bodyDefaults: null,
  ...change,
});
const request = { pluginKey: 'demo', channelTypes: [45], model: 'm', group: 'default', except: [] as number[] };
const share = (channels: ChannelRecord[], id: number, rounds = 2000) => {
  let hits = 0;
  for (let round = 0; round < rounds; round += 1)
    if (pickChannel(channels, [request], systemRandom)?.id === id) hits += 1;
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
      expect(pickChannel([channel(1, change as Partial<ChannelRecord>)], [request], systemRandom)).toBeUndefined();
    });
  }

  test('takes a legacy type that the plugin declares', () => {
    expect(pickChannel([channel(1, { type: 45, taskPluginKey: null })], [request], systemRandom)?.id).toBe(1);
  });

  test('the highest priority wins, whatever the weights', () => {
    expect(share([channel(1, { weight: 100 }), channel(2, { priority: 5 })], 2)).toBe(1);
  });

  test('the next priority serves once the first was tried', () => {
    const channels = [channel(1), channel(2, { priority: 5 })];
    expect(pickChannel(channels, [{ ...request, except: [2] }], systemRandom)?.id).toBe(1);
    expect(pickChannel(channels, [{ ...request, except: [1, 2] }], systemRandom)).toBeUndefined();
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
});
