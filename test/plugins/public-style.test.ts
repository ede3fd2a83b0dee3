/**
 * Plugins as published for new-api's contract load unchanged, and under the canonical names as
 * well.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import type { DriverContext, ProtocolContext, RouteContext, TaskQueryContext, TaskView } from '../../contracts/v1.d.ts';
import { type Json, silentLogger, systemClock } from '../../src/kernel/index.ts';
import {
  buildBatchQueryRequest,
  buildContentRequest,
  buildQueryRequest,
  buildSubmitRequest,
  callNativeError,
  callNativeRender,
  callVideoRender,
  decodeNativeRequest,
  decodeProtocolRequest,
  extractUsage,
  extractUsageOnComplete,
  type LoadedPlugin,
  listArtifacts,
  parseBatchResult,
  parseSubmitResponse,
  parseTaskResult,
} from '../../src/plugins/index.ts';
import { loadPlugin } from '../../src/plugins/registry/load-plugin.ts';
import { createRouteIndex } from '../../src/plugins/registry/ownership-index.ts';
import { createCompiler } from '../../src/plugins/worker/compile-plugin.ts';
import { startSandbox } from './support.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());
const compiler = createCompiler(sandbox);

const published = (name: string): string =>
  readFileSync(new URL(`../fixtures/public-style/${name}.js`, import.meta.url), 'utf8');
const VIDEO = published('signed-video');
const MUSIC = published('batch-music');

/**
 * The same plugin under the canonical names, with the modes that a bare name leaves to its hooks.
 */
const canonical = (source: string): string =>
  source
    .replace(
      "['openai_responses', 'openai_video']",
      "[{ name: 'proto_responses', supports: ['stream', 'sync', 'background'] }, 'proto_video']",
    )
    .replaceAll('openai_', 'proto_');

async function load(source: string): Promise<LoadedPlugin> {
  const compiled = await compiler.compile(source);
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.error));
  const deps = { sandbox, logger: silentLogger, clock: systemClock };
  return loadPlugin({ compiled: compiled.value, layer: 'database', narrowedModels: null, ...deps });
}

async function readOutcome<T>(
  outcome: Promise<{ ok: true; value: T } | { ok: false; error: { message: string } }>,
): Promise<T> {
  const result = await outcome;
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}

const driver = (change: Partial<DriverContext>): DriverContext => ({
  path: '/',
  method: 'POST',
  params: {},
  query: {},
  body: { kind: 'none' },
  requestBody: null,
  requestHeaders: {},
  files: [],
  action: '',
  publicTaskId: 'task_1',
  model: 'm',
  upstreamModel: 'm',
  baseUrl: 'https://vendor.example',
  apiKey: 'AK|SK',
  authHeader: 'AK|SK',
  ...change,
});
const polled = (taskId: string): TaskQueryContext => ({
  taskId,
  publicTaskId: `task_${taskId}`,
  action: '',
  model: 'm',
  upstreamModel: 'm',
  baseUrl: 'https://vendor.example',
  authHeader: 'AK|SK',
  apiKey: 'AK|SK',
  data: null,
  state: null,
});
const call = (value: Json, change: Partial<RouteContext> = {}): RouteContext => ({
  path: '/',
  method: 'POST',
  params: {},
  query: {},
  body: { kind: 'json', value },
  ...change,
});
const view = (change: Partial<TaskView> = {}): TaskView => ({
  task_id: 'task_1',
  platform: 'x',
  status: 'SUCCESS',
  progress: '100%',
  fail_reason: '',
  created_at: 1,
  ...change,
});
const response = { status: 200, headers: {} };
const finished = { code: 10000, data: { status: 'done', video_url: 'https://cdn.example/v.mp4', seconds: 5 } };

describe.each([
  ['as it is published', VIDEO, 'openai'],
  ['under the canonical names', canonical(VIDEO), 'proto'],
])('a signed video plugin %s', (_name, source, prefix) => {
  test('has the manifest that its bare protocol names mean', async () => {
    const { manifest } = await load(source);
    expect(manifest).toMatchObject({
      description: { en: 'Video from text and pictures', 'zh-Hans': '文生视频、图生视频' },
      channelTypes: [951],
      protocols: [
        { name: 'proto_responses', writtenAs: `${prefix}_responses`, supports: ['stream', 'sync', 'background'] },
        { name: 'proto_video', writtenAs: `${prefix}_video`, models: ['brush_t2v', 'brush_i2v'] },
      ],
    });
  });

  test('serves its one native endpoint, trailing slash and ?Action= as they are', async () => {
    const plugin = await load(source);
    const index = createRouteIndex();
    index.add(plugin);
    expect(index.match('POST', '/brushwork')).toMatchObject({ kind: 'not_found' });
    const match = index.match('POST', '/brushwork/');
    if (match?.kind !== 'route') throw new Error('the route is missing');
    const { route } = match;

    const asked = call({ req_key: 'brush_t2v', prompt: 'a cat' }, { query: { Action: ['Submit'] } });
    expect(await readOutcome(decodeNativeRequest(plugin, { route, ctx: asked }, { owner: 'user:1' }))).toMatchObject({
      kind: 'submit',
      model: 'brush_t2v',
      action: 'text_to_video',
      requestBody: { prompt: 'a cat', images: [] },
    });
    const query = call({ task_id: 'task_1' }, { query: { Action: ['GetResult'] } });
    expect(await readOutcome(decodeNativeRequest(plugin, { route, ctx: query }, { owner: 'user:1' }))).toEqual({
      kind: 'query',
      taskIds: ['task_1'],
    });
    const wrong = await decodeNativeRequest(
      plugin,
      { route, ctx: call({}, { query: { Action: ['Delete'] } }) },
      {
        owner: 'user:1',
      },
    );
    expect(wrong).toMatchObject({ ok: false, error: { kind: 'thrown', message: 'unsupported Action' } });

    const shown = await readOutcome(
      callNativeRender(plugin, { route, ctx: query, task: [view({ data: finished })] }, { owner: 'user:1' }),
    );
    expect(shown).toEqual({ ...finished, data: { ...finished.data, task_id: 'task_1' } });
    const failure = {
      code: 'task_not_found',
      message: 'Task not found',
      httpStatus: 404,
      retryable: false,
      requestId: 'r',
    };
    expect(await readOutcome(callNativeError(plugin, { ctx: query, error: failure }, { owner: 'user:1' }))).toEqual({
      code: 404,
      message: 'Task not found',
    });
  });

  test('signs the headers of the signature with capitalised names', async () => {
    const plugin = await load(source);
    const ctx = driver({ model: 'alias', upstreamModel: 'brush_t2v', requestBody: { prompt: 'a cat' } });
    const request = await readOutcome(buildSubmitRequest(plugin, ctx, { owner: 'user:1' }));
    expect(request).toMatchObject({
      url: 'https://vendor.example/?Action=Submit&Version=2022-08-31',
      method: 'POST',
      action: 'text_to_video',
    });
    expect(request.headers.Authorization).toMatch(
      /^HMAC-SHA256 Credential=AK\/\d{8}\/cn-north-1\/cv\/request, SignedHeaders=content-type;host;x-content-sha256;x-date, Signature=[0-9a-f]{64}$/,
    );
    expect(Object.keys(request.headers).sort()).toEqual([
      'Authorization',
      'Content-Type',
      'X-Content-Sha256',
      'X-Date',
    ]);
    const sent = { statusCode: 200, headers: {}, body: { code: 10000, data: { task_id: 'v1' } } };
    expect(await readOutcome(parseSubmitResponse(plugin, { ctx, response: sent }, { owner: 'user:1' }))).toMatchObject({
      taskId: 'v1',
      taskData: sent.body,
    });
    const refused = { ...sent, body: { code: 50400, message: 'no quota' } };
    expect(await parseSubmitResponse(plugin, { ctx, response: refused }, { owner: 'user:1' })).toMatchObject({
      ok: false,
      error: { message: 'no quota' },
    });
    expect(await readOutcome(buildQueryRequest(plugin, polled('v1'), { owner: 'user:1' }))).toMatchObject({
      method: 'POST',
    });
    expect(
      await readOutcome(parseTaskResult(plugin, { ctx: polled('v1'), body: finished, response }, { owner: 'user:1' })),
    ).toMatchObject({
      status: 'SUCCESS',
    });
  });

  test('reports usage, lists and finds its artifact', async () => {
    const plugin = await load(source);
    const ctx = driver({ requestBody: { prompt: 'x', duration: 10 } });
    expect(await readOutcome(extractUsage(plugin, ctx, { owner: 'user:1' }))).toEqual({ seconds: 10, quality: 'full' });
    expect(
      await readOutcome(
        extractUsageOnComplete(
          plugin,
          { ctx: polled('v1'), result: { status: 'SUCCESS' }, body: finished },
          { owner: 'user:1' },
        ),
      ),
    ).toEqual({
      seconds: 5,
    });
    const task = {
      taskId: 'task_1',
      status: 'SUCCESS' as const,
      action: '',
      data: finished,
      state: null,
      producerVersion: '1.0.0',
    };
    expect(await readOutcome(listArtifacts(plugin, task, { owner: 'user:1' }))).toEqual([
      { key: 'video', type: 'video' },
    ]);
    const content = {
      ...task,
      upstreamTaskId: 'v1',
      artifactKey: 'video',
      baseUrl: ctx.baseUrl,
      clientRequest: { method: 'GET' as const, headers: {} },
    };
    expect(await readOutcome(buildContentRequest(plugin, content, { owner: 'user:1' }))).toMatchObject({
      url: finished.data.video_url,
      credentialless: true,
    });
  });

  test('decodes and renders both protocols, and sees their names as it wrote them', async () => {
    const plugin = await load(source);
    const ctx = (protocol: string, value: Json, more: Partial<ProtocolContext> = {}): ProtocolContext => ({
      ...call(value),
      protocol,
      operation: 'create',
      model: 'brush_t2v',
      stream: false,
      ...more,
    });
    const video = ctx(`${prefix}_video`, { model: 'brush_t2v', prompt: 'a cat' });
    expect(
      await readOutcome(decodeProtocolRequest(plugin, { protocol: 'proto_video', ctx: video }, { owner: 'user:1' })),
    ).toMatchObject({
      model: 'brush_t2v',
    });
    expect(
      await readOutcome(
        callVideoRender(plugin, { ctx: { ...video, operation: 'retrieve' }, task: view() }, { owner: 'user:1' }),
      ),
    ).toMatchObject({
      status: 'completed',
    });
    const text = ctx(`${prefix}_responses`, { model: 'brush_t2v', input: 'a cat' });
    expect(
      await readOutcome(decodeProtocolRequest(plugin, { protocol: 'proto_responses', ctx: text }, { owner: 'user:1' })),
    ).toMatchObject({
      requestBody: { prompt: 'a cat' },
    });

    const artifacts = { video: { key: 'video', type: 'video' as const, url: 'https://gateway.example/v' } };
    const done = { ...text, operation: 'retrieve' as const, artifacts };
    const running = view({ status: 'IN_PROGRESS', progress: '50%' });
    expect(
      await readOutcome(plugin.call('protocols.proto_responses.renderEvents', [text, running], { owner: 'user:1' })),
    ).toMatchObject({
      events: [{ type: 'progress', progress: 50 }],
      done: false,
    });
    expect(
      await readOutcome(plugin.call('protocols.proto_responses.renderEvents', [done, view()], { owner: 'user:1' })),
    ).toMatchObject({
      events: [{ type: 'output', data: '<video controls src="https://gateway.example/v"></video>' }],
      done: true,
    });
    expect(
      await readOutcome(plugin.call('protocols.proto_responses.renderFinal', [done, view()], { owner: 'user:1' })),
    ).toMatchObject({
      metadata: { vendor: 'brushwork' },
    });
  });
});

describe.each([
  ['as it is published', MUSIC],
  ['under the canonical names', canonical(MUSIC)],
])('a batch music plugin %s', (_name, source) => {
  test("polls many tasks in one request and reads the answer by the vendor's ids", async () => {
    const plugin = await load(source);
    expect(plugin.manifest).toMatchObject({
      fetchMode: 'batch',
      protocols: [{ supports: ['stream'], models: ['chorus_music'] }],
    });
    const ctx = { baseUrl: 'https://vendor.example', authHeader: 'k', apiKey: 'k', tasks: [polled('a'), polled('b')] };
    const request = await readOutcome(buildBatchQueryRequest(plugin, ctx, { owner: 'user:1' }));
    expect(request).toMatchObject({
      url: 'https://vendor.example/fetch',
      method: 'POST',
      body: { kind: 'json', value: { ids: ['a', 'b'] } },
    });
    const body = {
      code: 'success',
      data: [
        { task_id: 'a', status: 'SUCCESS', fail_reason: 'partly', data: [{ id: 1 }] },
        { task_id: 'b', status: 'IN_PROGRESS' },
      ],
    };
    const items = await readOutcome(
      parseBatchResult(plugin, { ctx, body: body as Json, response }, { owner: 'user:1' }),
    );
    expect([...items].map(([id, { status }]) => `${id} ${status}`)).toEqual(['a SUCCESS', 'b IN_PROGRESS']);
    const sent = { statusCode: 200, headers: {}, body: { code: 'success', data: 'a' } };
    expect(
      await readOutcome(parseSubmitResponse(plugin, { ctx: driver({}), response: sent }, { owner: 'user:1' })),
    ).toMatchObject({
      taskId: 'a',
    });
  });

  test('takes the action from the path, and a list of ids by POST', async () => {
    const plugin = await load(source);
    const index = createRouteIndex();
    index.add(plugin);
    const routeFor = (method: string, path: string) => {
      const match = index.match(method, path);
      if (match?.kind !== 'route') throw new Error(`no route ${method} ${path}`);
      return match;
    };
    const { route, params } = routeFor('POST', '/chorus/submit/music');
    const decoded = await readOutcome(
      decodeNativeRequest(plugin, { route, ctx: call({ prompt: 'la' }, { params }) }, { owner: 'user:1' }),
    );
    expect(decoded).toMatchObject({
      kind: 'submit',
      model: 'chorus_music',
      action: 'MUSIC',
      requestBody: { prompt: 'la' },
    });
    const submitted = await readOutcome(
      buildSubmitRequest(plugin, driver({ params, requestBody: { prompt: 'la' } }), { owner: 'user:1' }),
    );
    expect(submitted).toMatchObject({ url: 'https://vendor.example/submit/music', action: 'music' });

    const fetched = routeFor('POST', '/chorus/fetch').route;
    const asked = call({ ids: ['task_1', 'task_2'] });
    expect(await readOutcome(decodeNativeRequest(plugin, { route: fetched, ctx: asked }, { owner: 'user:1' }))).toEqual(
      {
        kind: 'query',
        taskIds: ['task_1', 'task_2'],
      },
    );
    expect(
      await readOutcome(
        callNativeRender(
          plugin,
          { route: fetched, ctx: asked, task: [view(), view({ task_id: 'task_2' })] },
          { owner: 'user:1' },
        ),
      ),
    ).toMatchObject({
      data: [{ task_id: 'task_1' }, { task_id: 'task_2' }],
    });
    expect(
      await readOutcome(decodeNativeRequest(plugin, { route: fetched, ctx: call({}) }, { owner: 'user:1' })),
    ).toEqual({
      kind: 'query',
      taskIds: [],
    });
    const one = routeFor('GET', '/chorus/fetch/task_1');
    expect([one.route.type, one.params]).toEqual(['query', { task_id: 'task_1' }]);
  });

  test('lists artifacts with keys of its own', async () => {
    const plugin = await load(source);
    const task = {
      taskId: 'task_1',
      status: 'SUCCESS' as const,
      action: '',
      data: [{ id: 1, audio_url: 'https://cdn.example/1.mp3' }],
      state: null,
      producerVersion: '',
    };
    const [artifact] = await readOutcome(listArtifacts(plugin, task, { owner: 'user:1' }));
    expect(artifact?.key).toMatch(/^audio-[0-9a-f]{64}$/);
  });
});

test('auth as published plugins write it is accepted', async () => {
  const kinds = [
    '""',
    '"none"',
    '"vertex_oauth"',
    '"oauth2_jwt"',
    '{ type: "api_key" }',
    '{ type: "oauth2_jwt" }',
    'null',
    'undefined',
  ];
  for (const auth of kinds)
    expect((await load(VIDEO.replace("auth: 'api_key'", `auth: ${auth}`))).key).toBe('brushwork');
});

test('additions that are not carried out are refused by name', async () => {
  const later = await compiler.compile(
    VIDEO.replace(
      'fetchMode:',
      'upstreams: ["vendor"], usageProfiles: [], submitStreams: ["sse"], requiredCapabilities: ["json-order@2"], fetchMode:',
    ),
  );
  expect(later).toMatchObject({
    ok: false,
    error: {
      faults: [
        { path: '/submitStreams', needs: { code: 'field', name: 'submitStreams' } },
        { path: '/requiredCapabilities/0', needs: { code: 'capability', name: 'json-order@2' } },
      ],
    },
  });
});
