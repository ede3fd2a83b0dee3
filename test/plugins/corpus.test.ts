/**
 * A corpus of manifests and hook shapes: each feature that the published contract has gained is
 * taken as its document says, and what breaks its rules is refused by name.
 */
import { afterAll, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { lintPlugin } from '../../src/plugins/author/index.ts';
import { createCompiler } from '../../src/plugins/index.ts';
import { pluginSource, startSandbox } from './support.ts';

const sandbox = startSandbox();
const compiler = createCompiler(sandbox);
afterAll(() => sandbox.close());

const IMAGES = `export const protocols = { openai_image: {
  decodeRequest: (ctx) => ({ kind: 'submit', model: ctx.model }), render: () => ({ data: [] }) } };`;
const NATIVE = `export const native = { take: () => ({ kind: 'submit', model: 'acme-1' }), show: () => ({}) };`;
const EVENTS = 'export const parseSubmitEvent = () => ({ state: {}, done: true });';
const DELTAS = 'export const parseSubmitEventDelta = () => ({ changes: [], state: {}, done: true });';
const submit = { method: 'POST', path: '/acme/now', type: 'submit', decode: 'take', render: 'show' };
const query = { method: 'GET', path: '/acme/:task_id', type: 'query', render: 'show' };
const counts = (more: object) => ({ images: { type: 'number', unit: 'count', ...more } });
const profile = (more: object = {}) => ({ models: ['acme-1'], schema: {}, ...more });
const tokens = { spent: { type: 'number', unit: 'token' } };
const examples = [{ label: 'one', facts: { spent: 1 } }];
const everything = {
  upstreams: ['vendor', 'new_api'],
  requiredCapabilities: ['json-clone@1', 'json-order@1', 'duration-auto@1', 'submit-sse-delta@1'],
  submitResponseTypes: ['json', 'sse'],
  usageSchema: counts({ unitLabel: { en: 'image', zh: '张' } }),
  usageProfiles: [profile({ schema: tokens, examples })],
  routes: [{ ...submit, retainResult: false }, query],
  protocols: ['openai_image'],
};

type Row = [feature: string, meta: object, more: string, ...newer: string[]];

test.each<Row>([
  ['nothing new', {}, ''],
  ['upstreams', { upstreams: ['new_api'] }, '', '/upstreams'],
  ['a descriptive upstream', { upstreams: ['vendor'] }, '', '/upstreams'],
  ['a profile without facts', { usageProfiles: [profile()] }, '', '/usageProfiles'],
  ['a profile of tokens', { usageProfiles: [profile({ schema: tokens, examples })] }, '', '/usageProfiles'],
  ['a unit as text', { usageSchema: counts({ unitLabel: 'song' }) }, '', '/usageSchema/images/unitLabel'],
  ['images by the alias', { protocols: ['openai_image'] }, IMAGES, '/protocols/0'],
  ['images for one model', { protocols: [{ name: 'openai_image', models: ['acme-2'] }] }, IMAGES, '/protocols/0'],
  ['images by our name', { protocols: ['proto_image'] }, IMAGES.replace('openai_', 'proto_'), '/protocols/0'],
  ['a result that is not retained', { routes: [{ ...submit, retainResult: false }] }, NATIVE, '/routes/0/retainResult'],
  ['a result that is retained', { routes: [{ ...submit, retainResult: true }] }, NATIVE, '/routes/0/retainResult'],
  ['JSON alone', { submitResponseTypes: ['json'] }, '', '/submitResponseTypes'],
  ['a stream of events', { submitResponseTypes: ['json', 'sse'] }, EVENTS, '/submitResponseTypes'],
  [
    'a stream of changes',
    { submitResponseTypes: ['sse'], requiredCapabilities: ['submit-sse-delta@1'] },
    DELTAS,
    ...['/submitResponseTypes', '/requiredCapabilities'],
  ],
  ['capabilities', { requiredCapabilities: ['json-clone@1', 'json-order@1'] }, '', '/requiredCapabilities'],
  [
    'all of it',
    everything,
    IMAGES + NATIVE + DELTAS,
    ...['/usageProfiles', '/upstreams', '/submitResponseTypes', '/requiredCapabilities'],
    ...['/usageSchema/images/unitLabel', '/routes/0/retainResult', '/protocols/0'],
  ],
])('%s: taken here, and named for hosts of the first contract', async (_feature, meta, more, ...newer) => {
  const source = pluginSource(meta, more);
  expect((await lintPlugin(source, sandbox, { compiler })).faults).toEqual([]);
  const strict = await lintPlugin(source, sandbox, { compiler, strictV1: true });
  expect([strict.ok, strict.faults.map(({ path, rule }) => `${path} ${rule}`).sort()]).toEqual([
    newer.length === 0,
    newer.map((path) => `${path} strict_v1`).sort(),
  ]);
});

test.each<[fault: string, meta: object, more: string, expected: string]>([
  ['an upstream of another kind', { upstreams: ['proxy'] }, '', '/upstreams/0 upstreams.item.value'],
  ['an upstream twice', { upstreams: ['vendor', 'vendor'] }, '', '/upstreams/1 upstreams.unique'],
  [
    'a profile without models',
    { usageProfiles: [profile({ models: [] })] },
    '',
    '/usageProfiles/0/models usageProfile.models.count',
  ],
  ['a profile without schema', { usageProfiles: [{ models: ['acme-1'] }] }, '', '/usageProfiles/0/schema required'],
  [
    'a model in two profiles',
    { usageProfiles: [profile(), profile()] },
    '',
    '/usageProfiles/1/models/0 usageProfile.models.unique',
  ],
  [
    'tokens without examples',
    { usageProfiles: [profile({ schema: tokens })] },
    '',
    '/usageProfiles/0/examples required',
  ],
  [
    'a unit of seconds',
    { usageSchema: { s: { type: 'number', unit: 'second', unitLabel: 'x' } } },
    '',
    '/usageSchema/s/unitLabel',
  ],
  [
    'a unit without English',
    { usageSchema: counts({ unitLabel: { de: 'Bild' } }) },
    '',
    '/usageSchema/images/unitLabel text.en.required',
  ],
  [
    'images with modes',
    { protocols: [{ name: 'openai_image', supports: ['sync'] }] },
    IMAGES,
    '/protocols/0/supports unknown_property',
  ],
  [
    'images without render',
    { protocols: ['openai_image'] },
    IMAGES.replace('render', 'show'),
    'exports/protocols/openai_image/render',
  ],
  ['hooks of images without a claim', {}, IMAGES, 'exports/protocols/openai_image export.unused'],
  [
    'a query that retains',
    { routes: [{ ...query, retainResult: false }] },
    NATIVE,
    '/routes/0/retainResult route.retainResult.forbidden',
  ],
  [
    'retaining as text',
    { routes: [{ ...submit, retainResult: 'no' }] },
    NATIVE,
    '/routes/0/retainResult route.retainResult.type',
  ],
  ['a stream without its hook', { submitResponseTypes: ['sse'] }, '', 'exports/parseSubmitEvent export.required'],
  [
    'changes without their hook',
    { submitResponseTypes: ['sse'], requiredCapabilities: ['submit-sse-delta@1'] },
    EVENTS,
    'exports/parseSubmitEventDelta export.required',
  ],
  [
    'changes without a stream',
    { requiredCapabilities: ['submit-sse-delta@1'] },
    DELTAS,
    '/requiredCapabilities/0 requiredCapabilities.delta',
  ],
  ['no form of answers', { submitResponseTypes: [] }, '', '/submitResponseTypes submitResponseTypes.count'],
  [
    'another form of answers',
    { submitResponseTypes: ['xml'] },
    '',
    '/submitResponseTypes/0 submitResponseTypes.item.value',
  ],
  [
    'an unknown capability',
    { requiredCapabilities: ['telepathy@1'] },
    '',
    '/requiredCapabilities/0 requiredCapabilities.item.value',
  ],
  [
    'a later version of one',
    { requiredCapabilities: ['json-clone@2'] },
    '',
    '/requiredCapabilities/0 requiredCapabilities.item.value',
  ],
  [
    'a capability twice',
    { requiredCapabilities: ['json-clone@1', 'json-clone@1'] },
    '',
    '/requiredCapabilities/1 requiredCapabilities.unique',
  ],
  ['the type of gateways', { channelTypes: [60] }, '', '/channelTypes/0 channelTypes.item.forbidden'],
  ['the type of plugins', { channelTypes: [61] }, '', '/channelTypes/0 channelTypes.item.forbidden'],
  ['a field of a still later contract', { downstreams: [] }, '', '/downstreams unknown_property'],
])('%s is refused', async (_fault, meta, more, expected) => {
  const { ok, faults } = await lintPlugin(pluginSource(meta, more), sandbox, { compiler });
  expect([ok, faults.map(({ path, rule }) => `${path} ${rule}`)]).toEqual([
    false,
    expect.arrayContaining([expect.stringContaining(expected)]),
  ]);
});

/** What hosts of the first contract would refuse of the plugins that ship; of others nothing. */
const NEWER: Record<string, string[]> = {
  comfyui: ['/protocols/1'],
  doubao: ['/upstreams'],
  elevenlabs: ['/usageProfiles'],
  fal: ['/protocols/1'],
  flux: ['/protocols/0'],
  kling: ['/upstreams'],
  'qwen-image': ['/protocols/0', '/usageSchema/images/unitLabel', '/usageSchema/input_images/unitLabel'],
  replicate: ['/protocols/1'],
  seedream: ['/protocols/0', '/usageSchema/images/unitLabel'],
  sora: ['/upstreams'],
  sunoapi: ['/upstreams'],
};

test('of the factory plugins exactly the newer names are named for hosts of the first contract', async () => {
  const folder = join(import.meta.dir, '../../src/plugins/factory');
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.js'))) {
    const source = readFileSync(join(folder, file), 'utf8');
    const { faults } = await lintPlugin(source, sandbox, { compiler, strictV1: true });
    const key = file.replace('.js', '');
    const paths = faults.map(({ path, rule }) => (rule === 'strict_v1' ? path : `${path} ${rule}`)).sort();
    expect([key, paths]).toEqual([key, NEWER[key] ?? []]);
  }
});
