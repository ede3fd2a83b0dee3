/**
 * Which plugin or relay serves a caller's model on each surface, and which models a key may name.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { ChannelInput } from '../../src/channels/index.ts';
import { AppError, type JsonObject } from '../../src/kernel/index.ts';
import { STATUS } from '../../src/store/ports/index.ts';
import type { Caller } from '../../src/tasks/index.ts';
import { demoSource, type OpenedStore, openTestStore, pluginSource, startSandbox } from '../plugins/support.ts';
import { type RelayVendor, startRelayVendor } from '../support/relay-vendor.ts';
import { addCaller, type Engine, jsonRequest, startEngine } from './harness.ts';

const sandbox = startSandbox();
const pixel = pluginSource(
  { key: 'pixel', name: 'Pixel', models: ['pixel-1'] },
  `export const listArtifacts = () => [{ key: 'a', type: 'image' }];
   export const buildContentRequest = (ctx) => ({ url: ctx.baseUrl + '/a' });`,
);
let opened: OpenedStore;
let engine: Engine;
let vendor: RelayVendor;
beforeAll(async () => {
  opened = await openTestStore('sqlite');
  vendor = await startRelayVendor('v', { docile: true });
  engine = await startEngine(opened.store, sandbox, { factory: [demoSource, pixel] });
  for (const model of ['demo-video', 'pixel-1', 'm-alias', 'both', 'relay-x']) {
    await engine.billing.prices.save({ pluginKey: '*', model, expression: '0' });
  }
});
afterAll(async () => {
  await engine.stop();
  await vendor.stop();
  await opened.close();
  await sandbox.close();
});

const VIP = ['vip'];
const demo = (fields: Partial<ChannelInput> = {}): Partial<ChannelInput> => ({ taskPluginKey: 'demo', ...fields });
const pixels = (fields: Partial<ChannelInput> = {}): Partial<ChannelInput> => ({
  ...{ taskPluginKey: 'pixel', models: ['pixel-1'] },
  ...fields,
});
const relays = (models: string[], fields: Partial<ChannelInput> = {}): Partial<ChannelInput> => ({
  ...{ type: 1, key: vendor.key, baseUrl: vendor.url, taskPluginKey: undefined as never, models },
  ...fields,
});

const SURFACES = ['video', 'response', 'image', 'chat'] as const;
type Surface = (typeof SURFACES)[number];

/** The plugin or relay that takes the request, or the error's code. */
async function served(caller: Caller, surface: Surface, model: string): Promise<string> {
  const { relay, surfaces } = engine;
  const body: JsonObject = surface === 'video' ? { model, prompt: 'a', seconds: 1 } : { model };
  const client = { ...jsonRequest(body), path: `/v1/${surface}s` };
  const relayed = async () => {
    const { status } = await relay.create(caller, { kind: surface, requestId: 'r', client, headers: {} });
    return status < 500 ? 'relay' : String(status);
  };
  try {
    if (surface === 'video') {
      if (relay.takes(caller, surface, model)) return await relayed();
      return (await surfaces.submitVideo(caller, 'r', client)).platform;
    }
    if (surface === 'response') {
      if (relay.takes(caller, surface, model)) return await relayed();
      await surfaces.createResponse(caller, 'r', jsonRequest({ model, input: 'a', background: true }));
      return 'demo';
    }
    if (surface === 'image' && surfaces.makesImages(caller, model, 'generate')) {
      const request = jsonRequest({ model, response_format: 'gif' });
      await surfaces
        .createImages(caller, { requestId: 'r', request, operation: 'generate', isAsync: false })
        .catch((error) => {
          // Refused before anything is submitted.
          if (error.code !== 'tasks.image_request_invalid') throw error;
        });
      return 'pixel';
    }
    relay.assertTakes(caller, surface, model);
    return await relayed();
  } catch (error) {
    if (error instanceof AppError) return error.code.replace('tasks.', '');
    throw error;
  }
}

const NONE = 'model_not_found';
const BUSY = 'no_available_channel';
type Row = {
  channels: () => Partial<ChannelInput>[];
  model: string;
  /** By surface: video, response, image, chat. */
  serves: readonly [string, string, string, string];
  group?: string;
};
const rows: Record<string, Row> = {
  'a fresh gateway with only a relay that lists a claimed model': {
    channels: () => [relays(['demo-video'])],
    model: 'demo-video',
    serves: ['relay', 'relay', 'relay', 'relay'],
  },
  'a plugin with a channel and a relay': {
    channels: () => [relays(['demo-video'], { priority: 9 }), demo()],
    model: 'demo-video',
    serves: ['demo', 'demo', 'relay', 'relay'],
  },
  'a plugin whose channel is of another group, and a relay': {
    channels: () => [demo({ groups: VIP }), relays(['demo-video'])],
    model: 'demo-video',
    serves: ['relay', 'relay', 'relay', 'relay'],
  },
  'the same for that group': {
    channels: () => [demo({ groups: VIP }), relays(['demo-video'])],
    model: 'demo-video',
    group: 'vip',
    serves: ['demo', 'demo', BUSY, BUSY],
  },
  'a plugin whose channel is disabled, and a relay': {
    channels: () => [demo({ status: STATUS.disabled }), relays(['demo-video'])],
    model: 'demo-video',
    serves: ['relay', 'relay', 'relay', 'relay'],
  },
  'a claim without any channel': {
    channels: () => [],
    model: 'demo-video',
    serves: [BUSY, BUSY, NONE, NONE],
  },
  'a claim whose relay is of another group': {
    channels: () => [relays(['demo-video'], { groups: VIP })],
    model: 'demo-video',
    serves: [BUSY, BUSY, BUSY, BUSY],
  },
  'a relay of another group': {
    channels: () => [relays(['relay-x'], { groups: VIP })],
    model: 'relay-x',
    serves: [BUSY, BUSY, BUSY, BUSY],
  },
  'an alias of another group beside a relay': {
    channels: () => [
      demo({ models: ['m-alias'], modelMapping: { 'm-alias': 'demo-video' }, groups: VIP }),
      relays(['m-alias']),
    ],
    model: 'm-alias',
    serves: ['relay', 'relay', 'relay', 'relay'],
  },
  'the same for that group, through the alias': {
    channels: () => [
      demo({ models: ['m-alias'], modelMapping: { 'm-alias': 'demo-video' }, groups: VIP }),
      relays(['m-alias']),
    ],
    model: 'm-alias',
    group: 'vip',
    serves: ['demo', 'demo', BUSY, BUSY],
  },
  'an image plugin of another group beside a relay': {
    channels: () => [pixels({ groups: VIP }), relays(['pixel-1'])],
    model: 'pixel-1',
    serves: ['relay', 'relay', 'relay', 'relay'],
  },
  'an image plugin with a channel': {
    channels: () => [relays(['pixel-1']), pixels()],
    model: 'pixel-1',
    serves: ['relay', 'relay', 'pixel', 'relay'],
  },
  'a name that nothing lists': { channels: () => [], model: 'both', serves: [NONE, NONE, NONE, NONE] },
};
for (const [name, { channels, model, serves, group = 'default' }] of Object.entries(rows)) {
  test(`${name}: the caller gets what a channel of theirs can do, and the list offers it`, async () => {
    const caller = { ...(await addCaller(opened.store)), group };
    const added: number[] = [];
    for (const fields of channels()) added.push(await engine.addChannel(fields));
    try {
      const outcomes = await Promise.all(SURFACES.map((surface) => served(caller, surface, model)));
      expect(outcomes).toEqual([...serves]);
      const isCallable = outcomes.some((outcome) => outcome !== NONE && outcome !== BUSY);
      expect(engine.surfaces.namedModels(caller).some(({ id }) => id === model)).toBe(isCallable);
    } finally {
      for (const id of added) await engine.channels.delete(id);
    }
  });
}

test('a refusal for lack of a channel says which plugin or relay lacks it', async () => {
  const caller = await addCaller(opened.store);
  const readMessage = (work: Promise<unknown>) =>
    work.then(
      () => '',
      (error: Error) => error.message,
    );
  const video = jsonRequest({ model: 'demo-video', prompt: 'a', seconds: 1 });
  expect(await readMessage(engine.surfaces.submitVideo(caller, 'r', video))).toContain('plugin "demo"');
  const id = await engine.addChannel(relays(['relay-x'], { groups: VIP }));
  const client = jsonRequest({ model: 'relay-x' });
  const relayed = engine.relay.create(caller, { kind: 'chat', requestId: 'r', client, headers: {} });
  expect(await readMessage(relayed)).toContain('relays the model "relay-x"');
  await engine.channels.delete(id);
});
