import { afterAll, describe, expect, test } from 'bun:test';
import { createCompiler } from '../../src/plugins/worker/compile-plugin.ts';
import { pluginSource, startSandbox, VIDEO_HOOKS } from './support.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());
const compiler = createCompiler(sandbox);

async function findFaults(source: string): Promise<string[]> {
  const result = await compiler.compile(source);
  if (result.ok) return [];
  if (result.error.kind === 'unavailable') throw new Error(result.error.message);
  return result.error.faults.map(({ path, rule }) => `${path} ${rule}`);
}

const responses = (supports: string[]): object => ({ protocols: [{ name: 'proto_responses', supports }] });
const hooks = (protocol: string, ...names: string[]): string =>
  `export const protocols = { ${protocol}: { ${names.map((name) => `${name}() {}`).join(', ')} } };`;
const submitRoute = {
  routes: [{ method: 'POST', path: '/acme/jobs', type: 'submit', decode: 'take', render: 'show' }],
};
const without = (name: string): string => pluginSource().replace(`export function ${name}`, `function ${name}`);

const table: [name: string, source: string, ...faults: string[]][] = [
  ['a complete plugin', pluginSource()],
  ['no buildSubmitRequest', without('buildSubmitRequest'), 'exports/buildSubmitRequest export.required'],
  ['no parseSubmitResponse', without('parseSubmitResponse'), 'exports/parseSubmitResponse export.required'],
  ['no parseTaskResult', without('parseTaskResult'), 'exports/parseTaskResult export.required'],
  ['no buildQueryRequest in per_task', without('buildQueryRequest'), 'exports/buildQueryRequest export.required'],
  [
    'batch without its hooks',
    pluginSource({ fetchMode: 'batch' }),
    'exports/buildBatchQueryRequest export.required',
    'exports/parseBatchResult export.required',
  ],
  [
    'batch with its hooks',
    pluginSource(
      { fetchMode: 'batch' },
      'export const buildBatchQueryRequest = () => {}, parseBatchResult = () => {};',
    ),
  ],
  [
    'a hook that is an object',
    pluginSource({}, 'export const extractUsage = {};'),
    'exports/extractUsage export.function',
  ],
  [
    'a hook that is a generator',
    pluginSource({}, 'export function* extractUsage() {}'),
    'exports/extractUsage export.function',
  ],
  ['a hook that is a class', pluginSource({}, 'export class extractUsage {}'), 'exports/extractUsage export.function'],
  [
    'listArtifacts alone',
    pluginSource({}, 'export const listArtifacts = () => [];'),
    'exports/buildContentRequest export.required',
  ],
  [
    'buildContentRequest alone',
    pluginSource({}, 'export const buildContentRequest = () => {};'),
    'exports/listArtifacts export.required',
  ],
  ['both artifact hooks', pluginSource({}, 'export const listArtifacts = () => [], buildContentRequest = () => {};')],
  ['helpers beside the hooks', pluginSource({}, 'export const table = { a: 1 }; export const f = () => 1;')],
  [
    'the removed resolveRequest',
    pluginSource({}, 'export const resolveRequest = () => 1;'),
    'exports/resolveRequest removed_name',
  ],
  [
    'the removed renderError',
    pluginSource({}, 'export const renderError = () => 1;'),
    'exports/renderError removed_name',
  ],
  ['the removed renderers', pluginSource({}, 'export const renderers = {};'), 'exports/renderers removed_name'],
  ['proto_video', pluginSource({ protocols: ['proto_video'] }, VIDEO_HOOKS)],
  [
    'proto_video without hooks',
    pluginSource({ protocols: ['proto_video'] }),
    'exports/protocols/proto_video/decodeRequest export.required',
    'exports/protocols/proto_video/render export.required',
  ],
  [
    'proto_video without render',
    pluginSource({ protocols: ['proto_video'] }, hooks('proto_video', 'decodeRequest')),
    'exports/protocols/proto_video/render export.required',
  ],
  ['images', pluginSource({ protocols: ['openai_image'] }, hooks('openai_image', 'decodeRequest', 'render'))],
  [
    'proto_image without render',
    pluginSource({ protocols: ['proto_image'] }, hooks('proto_image', 'decodeRequest')),
    'exports/protocols/proto_image/render export.required',
  ],
  ['hooks without a claim', pluginSource({}, VIDEO_HOOKS), 'exports/protocols/proto_video export.unused'],
  [
    'hooks of an unknown protocol',
    pluginSource({}, hooks('proto_music', 'render')),
    'exports/protocols/proto_music export.unused',
  ],
  [
    'a foreign member',
    pluginSource({ protocols: ['proto_video'] }, hooks('proto_video', 'decodeRequest', 'render', 'renderFinal')),
    'exports/protocols/proto_video/renderFinal export.unused',
  ],
  ['stream', pluginSource(responses(['stream']), hooks('proto_responses', 'decodeRequest', 'renderEvents'))],
  [
    'stream without renderEvents',
    pluginSource(responses(['stream']), hooks('proto_responses', 'decodeRequest')),
    'exports/protocols/proto_responses/renderEvents export.required',
  ],
  [
    'background without renderFinal',
    pluginSource(responses(['background']), hooks('proto_responses', 'decodeRequest')),
    'exports/protocols/proto_responses/renderFinal export.required',
  ],
  [
    'renderFinal that no mode uses',
    pluginSource(responses(['stream']), hooks('proto_responses', 'decodeRequest', 'renderEvents', 'renderFinal')),
    'exports/protocols/proto_responses/renderFinal export.unused',
  ],
  [
    'renderEvents that no mode uses',
    pluginSource(responses(['sync']), hooks('proto_responses', 'decodeRequest', 'renderEvents', 'renderFinal')),
    'exports/protocols/proto_responses/renderEvents export.unused',
  ],
  [
    'protocols as a function',
    pluginSource({ protocols: ['proto_video'] }, 'export function protocols() {}'),
    'exports/protocols export.object',
  ],
  [
    'a claim and hooks under the alias',
    pluginSource({ protocols: ['openai_video'] }, hooks('openai_video', 'decodeRequest', 'render')),
  ],
  [
    'a claim under the alias, hooks under the canonical name',
    pluginSource({ protocols: ['openai_video'] }, VIDEO_HOOKS),
  ],
  [
    'hooks under both names',
    pluginSource(
      { protocols: ['proto_video'] },
      'const h = { decodeRequest() {}, render() {} }; export const protocols = { proto_video: h, openai_video: h };',
    ),
    'exports/protocols/proto_video export.ambiguous',
  ],
  [
    'a bare responses alias',
    pluginSource(
      { protocols: ['openai_responses'] },
      hooks('openai_responses', 'decodeRequest', 'renderEvents', 'renderFinal'),
    ),
  ],
  ['routes', pluginSource(submitRoute, 'export const native = { take() {}, show() {}, error() {} };')],
  [
    'routes without native',
    pluginSource(submitRoute),
    'exports/native/show export.required',
    'exports/native/take export.required',
  ],
  [
    'a presenter that is missing',
    pluginSource(submitRoute, 'export const native = { take() {} };'),
    'exports/native/show export.required',
  ],
  [
    'a presenter that is inherited',
    pluginSource(
      { routes: [{ ...submitRoute.routes[0], render: 'toString' }] },
      'export const native = { take() {} };',
    ),
    'exports/native/toString export.required',
  ],
  [
    'an error presenter that is not a function',
    pluginSource(submitRoute, 'export const native = { take() {}, show() {}, error: 1 };'),
    'exports/native/error export.function',
  ],
  ['native as a list', pluginSource(submitRoute, 'export const native = [];'), 'exports/native export.object'],
  [
    'a bad manifest and bad exports',
    `export const meta = {};\nexport const renderers = {};`.concat(
      '\n',
      'export const buildSubmitRequest = () => {}, parseSubmitResponse = () => {}, parseTaskResult = () => {};',
    ),
    '/apiVersion required',
    '/key required',
    '/name required',
    '/version required',
    '/author required',
    '/models required',
    '/fetchMode required',
    'exports/renderers removed_name',
  ],
  [
    'a bad website and no buildQueryRequest',
    without('buildQueryRequest').replace('"apiVersion"', '"website":"ftp://acme.example","apiVersion"'),
    '/website website.format',
    'exports/buildQueryRequest export.required',
  ],
  [
    'a bad route and no hooks of a claim',
    pluginSource({
      ...submitRoute,
      routes: [{ ...submitRoute.routes[0], path: '/api/x' }],
      protocols: ['openai_video'],
    }),
    '/routes/0/path route.reserved',
    'exports/protocols/proto_video/decodeRequest export.required',
    'exports/protocols/proto_video/render export.required',
  ],
  [
    'a bad claim, a route without its hook',
    pluginSource({ ...submitRoute, protocols: ['proto_music'] }, 'export const native = { take() {} };'),
    '/protocols/0 protocol.bare.value',
    'exports/native/show export.required',
  ],
  [
    'a bad key and claims without hooks',
    pluginSource({ key: 'É', ...responses(['stream']) }, hooks('proto_responses', 'decodeRequest')),
    '/key key.format',
    'exports/protocols/proto_responses/renderEvents export.required',
  ],
  ['a top level that throws', `${pluginSource()}\nthrow new Error('no');`, 'source.compile'],
  [
    'no meta',
    'export const buildSubmitRequest = () => {}, parseSubmitResponse = () => {}, parseTaskResult = () => {};',
    ' manifest.type',
  ],
];

describe('exports are checked in both directions', () => {
  test.each(table)('%s', async (_name, source, ...faults) => {
    const found = await findFaults(source);
    expect(found.map((fault) => fault.replace(/^source /, ''))).toEqual(faults);
  });
});

test('an endless top level is a fault that names the limit, and is not cached', async () => {
  const slow = startSandbox({ callTimeoutMs: 1_000 });
  try {
    const result = await createCompiler(slow).compile(`${pluginSource()}\nwhile (true) {}`);
    expect(result).toMatchObject({ ok: false, error: { kind: 'faults', faults: [{ path: 'source' }] } });
  } finally {
    await slow.close();
  }
});
