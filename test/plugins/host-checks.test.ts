import { afterAll, describe, expect, test } from 'bun:test';
import { type Json, SYSTEM_OWNER } from '../../src/kernel/index.ts';
import { runFixture } from '../../src/plugins/author/index.ts';
import {
  buildContentRequest,
  buildQueryRequest,
  buildSubmitRequest,
  callVideoRender,
  decodeNativeRequest,
  decodeProtocolRequest,
  extractUsage,
  type LoadedPlugin,
  listArtifacts,
  parseBatchResult,
  parseSubmitResponse,
  parseTaskResult,
  renderEvents,
  renderFinal,
} from '../../src/plugins/index.ts';
import { createCompiler } from '../../src/plugins/worker/compile-plugin.ts';
import { makeService, openTestStore, refusal, startSandbox } from './support.ts';

const META = {
  apiVersion: 1,
  key: 'echo',
  name: 'Echo',
  version: '1.0.0',
  author: { name: 'A' },
  models: ['m1'],
  fetchMode: 'batch',
  allowedHosts: ['cdn.example'],
  protocols: ['proto_video', { name: 'proto_responses', supports: ['stream', 'sync'] }],
  routes: [{ method: 'POST', path: '/echo/jobs', type: 'submit', decode: 'take', render: 'show' }],
  usageSchema: { seconds: { type: 'number', unit: 'second' } },
};
/** Every hook returns what its context says. */
const SOURCE = `export const meta = ${JSON.stringify(META)};
const give = (ctx) => ctx.returns;
export const buildSubmitRequest = give, parseSubmitResponse = give, parseTaskResult = give, buildQueryRequest = give;
export const buildBatchQueryRequest = give, parseBatchResult = give, extractUsage = give, listArtifacts = give;
export const buildContentRequest = give, extractUsageOnSubmit = give, extractUsageOnComplete = give;
export const protocols = {
  proto_video: { decodeRequest: give, render: give },
  proto_responses: { decodeRequest: give, renderEvents: give, renderFinal: give },
};
export const native = { take: give, show: give };
export const helpers = { give };
`;

const sandbox = startSandbox();
const compiler = createCompiler(sandbox);
const opened = await openTestStore('sqlite');
const service = makeService(opened.store, sandbox);
await service.start();
await service.upload({ source: SOURCE });
const pin = service.pin();
const plugin = pin.generation.plugins.get('echo') as LoadedPlugin;
afterAll(async () => {
  pin.release();
  await service.stop();
  await opened.close();
  await sandbox.close();
});

type Context = { [name: string]: Json };
type Failed = { ok: boolean; error?: { message: string } };
const call = { owner: SYSTEM_OWNER };
/** The gateway's own call of each hook. */
const GATEWAY: Record<string, (ctx: never) => Promise<unknown>> = {
  buildSubmitRequest: (ctx: Context) =>
    buildSubmitRequest(plugin, { files: [], ...ctx } as never, { ...call, pinnedModel: String(ctx.model) }),
  parseSubmitResponse: (ctx) => parseSubmitResponse(plugin, { ctx, response: {} as never }, call),
  buildQueryRequest: (ctx) => buildQueryRequest(plugin, ctx, call),
  parseTaskResult: (ctx) => parseTaskResult(plugin, { ctx, body: null, response: {} as never }, call),
  parseBatchResult: (ctx) => parseBatchResult(plugin, { ctx, body: null, response: {} as never }, call),
  extractUsage: (ctx) => extractUsage(plugin, ctx, call),
  listArtifacts: (ctx) => listArtifacts(plugin, ctx, call),
  buildContentRequest: (ctx) => buildContentRequest(plugin, ctx, call),
  'protocols.proto_video.decodeRequest': (ctx) => decodeProtocolRequest(plugin, { protocol: 'proto_video', ctx }, call),
  'protocols.proto_video.render': (ctx) => callVideoRender(plugin, { ctx, task: {} as never }, call),
  'protocols.proto_responses.renderEvents': (ctx) =>
    renderEvents(plugin, { ctx, task: {} as never, previous: undefined }, call),
  'protocols.proto_responses.renderFinal': (ctx) => renderFinal(plugin, { ctx, task: {} as never }, call),
  'native.take': (ctx) => decodeNativeRequest(plugin, { route: plugin.manifest.routes[0] as never, ctx }, call),
};

const url = 'https://api.example/jobs';
const file = { ref: 'request_file:image', field: 'image', filename: 'a.png', mimeType: 'image/png', size: 30 };
const place = (more: object) => ({ url, body: { image: { __fileRef: file.ref, encoding: 'base64', ...more } } });
const clientRequest = { method: 'GET', headers: {} };

describe('dry runs and fixtures refuse what the gateway refuses, with the same message', () => {
  test.each<[name: string, hook: string, returns: unknown, ctx: object, words: string]>([
    ['another host', 'buildSubmitRequest', { url: 'https://evil.example/' }, {}, 'host "evil.example" is not allowed'],
    ['plain http', 'buildSubmitRequest', { url: 'http://api.example/' }, {}, 'host "api.example" is not allowed'],
    ['a header of the host', 'buildSubmitRequest', { url, headers: { Host: 'x' } }, {}, 'set only by the host'],
    ['a placeholder that is none', 'buildSubmitRequest', place({ encoding: 'hex' }), {}, 'invalid file placeholder'],
    ['an unknown file', 'buildSubmitRequest', place({}), { files: [] }, 'unknown file reference'],
    [
      'a file over its cap',
      'buildSubmitRequest',
      place({ maxBytes: 29 }),
      { files: [file] },
      'is larger than 29 bytes',
    ],
    ['a mapped model', 'buildSubmitRequest', { url, model: 'm1' }, { model: 'alias' }, 'the pinned endpoint model'],
    ['another host for a query', 'buildQueryRequest', { url: 'https://evil.example/' }, {}, 'is not allowed'],
    ['clientResponse', 'parseSubmitResponse', { taskId: 'a', clientResponse: {} }, {}, 'clientResponse is not allowed'],
    ['no id', 'parseSubmitResponse', { taskId: '' }, {}, 'taskId must be a string that is not blank'],
    ['no result', 'parseTaskResult', 'SUCCESS', {}, 'no task result'],
    ['no list', 'parseBatchResult', {}, {}, 'no list of task results'],
    ['too long a video', 'extractUsage', { seconds: 3601 }, {}, 'usage fact "seconds" must be at most 3600'],
    ['an artifact twice', 'listArtifacts', Array(2).fill({ key: 'a', type: 'file' }), {}, 'is used twice'],
    ['content elsewhere', 'buildContentRequest', { url: 'https://evil.example/' }, { clientRequest }, 'is not allowed'],
    [
      'a public address with a header',
      'buildContentRequest',
      { url: 'https://any.example/', credentialless: true, headers: { a: 'b' } },
      { clientRequest },
      'a credentialless request has no headers and no body',
    ],
    [
      'another model on a protocol',
      'protocols.proto_video.decodeRequest',
      { kind: 'submit', model: 'm2' },
      {},
      'the decoded model is not the requested one',
    ],
    ['a text as a video', 'protocols.proto_video.render', 'a video', {}, 'rendered no object'],
    [
      'events without an end',
      'protocols.proto_responses.renderEvents',
      { events: [] },
      {},
      'done must be true or false',
    ],
    ['an answer of texts', 'protocols.proto_responses.renderFinal', { output: ['a'] }, {}, 'output[0] must be'],
    ['a query on a submit route', 'native.take', { kind: 'query', taskIds: [] }, {}, 'an invalid route result'],
  ])('%s', async (_name, hook, returns, more, words) => {
    const ctx = { baseUrl: 'https://api.example', model: 'm1', ...more, returns } as Context;
    const refused = (await GATEWAY[hook]?.(ctx as never)) as Failed;
    const message = refused.error?.message ?? '';
    expect(refused.ok).toBe(false);
    expect(message).toContain(words);

    const [first = '', ...path] = hook.split('.');
    const dry = await refusal(service.dryRun('echo', { hook: first, path, args: [ctx] }));
    const reported = { code: dry.code, message: dry.message, kind: (dry.details as Context).kind };
    expect(reported).toEqual({ code: 'plugins.hook_failed', message, kind: 'invalid_result' });
    const report = await runFixture(sandbox, {
      compiler,
      source: SOURCE,
      fixture: { cases: [{ name: 'it', hook: first, path, args: [ctx] }] },
    });
    expect(report.cases).toEqual([{ name: 'it', ok: false, message }]);
  });

  test('the checks of a decoded submission apply to decoders', async () => {
    const intent = { kind: 'submit', model: 'm1' };
    const refusals: [hook: string, returns: Json, message: string][] = [
      ['native.take', { ...intent, model: 'm9' }, 'The plugin does not serve the model "m9".'],
      ['native.take', { ...intent, requestBody: { n: 129 } }, '"n" must be at most 128'],
      [
        'protocols.proto_video.decodeRequest',
        { ...intent, originTaskIds: [''] },
        'The earlier tasks to build on must be a list of at most 16 task ids, each of 1 to 128 characters.',
      ],
    ];
    for (const [hook, returns, message] of refusals) {
      const [first = '', ...path] = hook.split('.');
      const dry = refusal(service.dryRun('echo', { hook: first, path, args: [{ model: 'm1', returns }] }));
      expect((await dry).message).toBe(message);
    }
  });
});

test('results that the gateway accepts pass, and functions that are not hooks may return anything', async () => {
  const ctx = { baseUrl: 'https://api.example', model: 'm1' };
  const native = { path: '/echo/jobs', ...ctx };
  const cases = [
    { hook: 'buildSubmitRequest', args: [{ ...ctx, files: [file], returns: place({ maxBytes: 30 }) }] },
    { hook: 'buildSubmitRequest', args: [{ ...ctx, returns: place({}) }] },
    { hook: 'buildSubmitRequest', args: [{ ...ctx, returns: { url: 'https://cdn.example/x', model: 'm1' } }] },
    { hook: 'buildSubmitRequest', args: [{ ...native, returns: { url, model: 'other' } }] },
    { hook: 'buildContentRequest', args: [{ returns: { url: 'https://any.example/', credentialless: true } }] },
    { hook: 'native', member: 'show', args: [{ returns: null }] },
    { hook: 'helpers', member: 'give', args: [{ returns: { clientResponse: 1 } }] },
    // The refusal itself can be what a case expects.
    { hook: 'parseTaskResult', args: [{ returns: 1 }], expectedError: 'no task result' },
  ];
  const report = await runFixture(sandbox, { compiler, source: SOURCE, fixture: { cases } });
  expect(report.cases.filter(({ ok }) => !ok)).toEqual([]);
  expect(report.passed).toBe(cases.length);
});
