/**
 * A plugin that was made for a newer contract: administrators are told so, and what is missing;
 * where it is stands in the faults, for its author.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { PluginFault, PluginService } from '../../src/plugins/index.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';
import {
  makeService,
  type OpenedStore,
  openTestStore,
  pluginSource,
  refusal,
  startSandbox,
  VIDEO_HOOKS,
} from './support.ts';

let sandbox: Sandbox;
let opened: OpenedStore;
let plugins: PluginService;

beforeAll(async () => {
  sandbox = startSandbox();
  opened = await openTestStore('sqlite');
  plugins = makeService(opened.store, sandbox);
  await plugins.start();
});
afterAll(async () => {
  await plugins?.stop();
  await opened?.close();
  await sandbox?.close();
});

const withVideo = (hook: string) => VIDEO_HOOKS.replace('render(ctx', `${hook}() {}, render(ctx`);
const video = { protocols: ['proto_video'] };

test.each<[name: string, source: string, needs: string, paths: string[]]>([
  [
    'a later API',
    pluginSource({ apiVersion: 2, tariffs: [], models: undefined }),
    'plugin API 2',
    ['/models', '/tariffs', '/apiVersion'],
  ],
  ['a field', pluginSource({ tariffs: ['vendor'] }), 'the manifest field tariffs', ['/tariffs']],
  [
    'a capability',
    pluginSource({ requiredCapabilities: ['json-clone@1', 'json-clone@2'] }),
    'the capability json-clone@2',
    ['/requiredCapabilities/1'],
  ],
  ['a protocol', pluginSource({ protocols: ['proto_audio'] }), 'the protocol proto_audio', ['/protocols/0']],
  [
    'hooks of a protocol',
    pluginSource({}, 'export const protocols = { proto_audio: {} };'),
    'the protocol proto_audio',
    ['exports/protocols/proto_audio'],
  ],
  [
    'a hook of a known protocol',
    pluginSource(video, withVideo('renderPreview')),
    'the hook renderPreview',
    ['exports/protocols/proto_video/renderPreview'],
  ],
  [
    'several',
    pluginSource({ ...video, tariffs: [] }, withVideo('renderPreview')),
    'the manifest field tariffs, the hook renderPreview',
    ['/tariffs', 'exports/protocols/proto_video/renderPreview'],
  ],
])('%s is named to administrators, and its place to authors', async (_name, source, needs, paths) => {
  const refused = await refusal(plugins.upload({ source }));
  expect([refused.code, refused.message]).toEqual([
    'plugins.invalid',
    `The plugin is made for a newer contract (needs ${needs}). Update the gateway, or ask for a version for this one.`,
  ]);
  const { errors } = refused.details as { errors: PluginFault[] };
  expect(errors.map(({ path }) => path).sort()).toEqual([...paths].sort());
});

test.each<[name: string, source: string]>([
  ['a fault beside an unknown name', pluginSource({ tariffs: [], version: 'x' })],
  ['an earlier API', pluginSource({ apiVersion: 0 })],
  ['an API in words', pluginSource({ apiVersion: '2' })],
  ['a name of an earlier contract', pluginSource({ channelType: 7 })],
  ['a protocol that is not claimed', pluginSource({}, VIDEO_HOOKS)],
  ['a hook that no mode uses', pluginSource(video, withVideo('renderFinal'))],
])('%s is simply a fault', async (_name, source) => {
  const refused = await refusal(plugins.upload({ source }));
  expect(refused.message).toStartWith('The plugin is not valid');
  expect(refused.details).not.toHaveProperty('needs');
});
