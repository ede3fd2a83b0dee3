import { afterAll, describe, expect, test } from 'bun:test';
import type { ContentContext, DriverContext, ProtocolContext, TaskQueryContext } from '../../contracts/v1.d.ts';
import { type Json, type Logger, silentLogger, systemClock } from '../../src/kernel/index.ts';
import {
  buildBatchQueryRequest,
  buildContentRequest,
  buildQueryRequest,
  buildSubmitRequest,
  callNativeError,
  callNativeRender,
  callVideoRender,
  checkRequestQuantities,
  checkRequestUrl,
  decodeNativeRequest,
  decodeProtocolRequest,
  extractUsage,
  extractUsageOnComplete,
  type HookFailure,
  isHostFailure,
  type LoadedPlugin,
  listArtifacts,
  parseBatchResult,
  parseSubmitResponse,
  parseTaskResult,
} from '../../src/plugins/index.ts';
import { loadPlugin } from '../../src/plugins/registry/load-plugin.ts';
import { createCompiler } from '../../src/plugins/worker/compile-plugin.ts';
import { pluginSource, startSandbox } from './support.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());
const compiler = createCompiler(sandbox);

async function load(source: string, logger: Logger = silentLogger): Promise<LoadedPlugin> {
  const compiled = await compiler.compile(source);
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.error));
  const deps = { sandbox, logger, clock: systemClock };
  return loadPlugin({ compiled: compiled.value, layer: 'database', narrowedModels: null, ...deps });
}

/**
 * Every hook returns what its context's `requestBody`, `data` or `body` asks for: one plugin serves
 * all cases.
 */
const echo = await load(
  `export const meta = ${JSON.stringify({
    apiVersion: 1,
    key: 'echo',
    name: 'Echo',
    version: '1.0.0',
    author: { name: 'A' },
    models: ['m1', 'm2'],
    fetchMode: 'batch',
    allowedHosts: ['cdn.example', 'alt.example:8443', '[2001:db8::1]'],
    protocols: ['openai_video'],
    routes: [
      {
        method: 'POST',
        path: '/echo/jobs',
        type: 'submit',
        decode: 'take',
        render: 'show',
        models: ['m1'],
        action: 'act',
      },
      { method: 'POST', path: '/echo/any', type: 'dynamic', decode: 'take', render: 'show' },
    ],
    usageSchema: {
      seconds: { type: 'number', unit: 'second' },
      size: { enum: ['s', 'l'] },
      tokens: { type: 'number', unit: 'token' },
      audio: { type: 'boolean' },
    },
    usageExamples: [{ label: 'x', facts: { seconds: 1, size: 's', tokens: 1, audio: true } }],
  })};
  export const buildSubmitRequest = (ctx) => { if (ctx.requestBody === 'throw') throw new Error('Bad key ' + ctx.apiKey + '\\n.'); return ctx.requestBody; };
  export const parseSubmitResponse = (ctx, response) => response.body;
  export const parseTaskResult = (ctx, body) => body;
  export const buildQueryRequest = (ctx) => ctx.data;
  export const buildBatchQueryRequest = (ctx, tasks) => ({ url: ctx.baseUrl + '/q', method: 'POST', body: tasks.map((t) => t.taskId) });
  export const parseBatchResult = (ctx, body) => body;
  export const extractUsage = (ctx) => ctx.usagePurpose === 'facts' ? ctx.requestBody : undefined;
  export const extractUsageOnComplete = (ctx, result, body) => body;
  export const listArtifacts = (task) => task.data;
  export const buildContentRequest = (ctx) => ctx.data;
  export const protocols = { openai_video: { decodeRequest: (ctx) => ctx.body.value, render: (ctx, task) => task.data } };
  export const native = { take: (ctx) => ctx.body.value, show: (ctx, task) => task, error: (ctx, error) => ({ vendor: error.code }) };
  `,
);

const driver = (requestBody: unknown, files: DriverContext['files'] = []): DriverContext => ({
  path: '/v1/tasks/echo',
  method: 'POST',
  params: {},
  query: {},
  body: { kind: 'none' },
  requestBody: requestBody as DriverContext['requestBody'],
  requestHeaders: {},
  files,
  action: '',
  publicTaskId: 'task_1',
  model: 'm1',
  upstreamModel: 'm1',
  baseUrl: 'https://api.example/base',
  apiKey: 'key-12345',
  authHeader: 'key-12345',
});
const polled = (data: unknown = null): TaskQueryContext => ({
  taskId: 'up_1',
  publicTaskId: 'task_1',
  action: '',
  model: 'm1',
  upstreamModel: 'm1',
  baseUrl: 'https://api.example',
  authHeader: 'key-12345',
  data: data as TaskQueryContext['data'],
  state: null,
});
const response = { status: 200, headers: {} };
const protocolContext = (value: unknown): ProtocolContext => ({
  path: '/v1/videos',
  method: 'POST',
  params: {},
  query: {},
  body: { kind: 'json', value: value as null },
  protocol: 'openai_video',
  operation: 'create',
  model: 'm1',
  stream: false,
});
const content = (data: unknown, method: 'GET' | 'HEAD' = 'GET'): ContentContext => ({
  taskId: 'task_1',
  status: 'SUCCESS',
  action: '',
  data: data as null,
  state: null,
  producerVersion: '1.0.0',
  upstreamTaskId: 'up_1',
  artifactKey: 'video',
  baseUrl: 'https://api.example',
  clientRequest: { method, headers: {} },
});

type Outcome<T> = { ok: true; value: T } | { ok: false; error: HookFailure };
const brief = <T>(outcome: Outcome<T>): unknown =>
  outcome.ok ? outcome.value : `${outcome.error.kind}: ${outcome.error.message}`;

const url = 'https://api.example/jobs';
const file = { ref: 'request_file:image', field: 'image', filename: 'a.png', mimeType: 'image/png', size: 3 };
const bad = (text: string): string => `invalid_result: ${text}`;

const descriptors: [name: string, descriptor: unknown, outcome: unknown][] = [
  [
    'a JSON body',
    { url, body: { a: 1 } },
    { url, method: 'POST', headers: {}, body: { kind: 'json', value: { a: 1 } } },
  ],
  [
    'a text body and a method',
    { url, method: ' put ', body: 'raw' },
    { url, method: 'PUT', headers: {}, body: { kind: 'text', text: 'raw' } },
  ],
  [
    'members that are left out as null or an empty text',
    { url, method: null, headers: null, body: 'raw', bodyType: '', responseType: null, action: '' },
    { url, method: 'POST', headers: {}, body: { kind: 'text', text: 'raw' } },
  ],
  ['no body', { url, method: 'GET', body: null }, { url, method: 'GET', headers: {}, body: { kind: 'none' } }],
  [
    'headers',
    { url, headers: { Authorization: 'Bearer x' } },
    { url, method: 'POST', headers: { Authorization: 'Bearer x' }, body: { kind: 'none' } },
  ],
  [
    'renames',
    { url, action: 'remix', model: 'm1', rewriteModel: 'up-1' },
    { url, method: 'POST', headers: {}, body: { kind: 'none' }, action: 'remix', model: 'm1', rewriteModel: 'up-1' },
  ],
  [
    'multipart parts',
    {
      url,
      bodyType: 'multipart',
      parts: [
        { name: 'n', value: 4 },
        { name: 't', value: 'x', fileRef: null },
        { name: 'e', value: '', fileRef: '' },
        { name: 'f', fileRef: file.ref, filename: 'b.png' },
      ],
    },
    {
      url,
      method: 'POST',
      headers: {},
      body: {
        kind: 'multipart',
        parts: [
          { name: 'n', value: '4' },
          { name: 't', value: 'x' },
          { name: 'e', value: '' },
          { name: 'f', fileRef: file.ref, filename: 'b.png' },
        ],
      },
    },
  ],
  [
    'a file placeholder',
    { url, body: { deep: [{ __fileRef: file.ref, encoding: 'dataUrl', maxBytes: 5 }] } },
    {
      url,
      method: 'POST',
      headers: {},
      body: { kind: 'json', value: { deep: [{ __fileRef: file.ref, encoding: 'dataUrl', maxBytes: 5 }] } },
    },
  ],
  [
    'a file placeholder with nulls',
    { url, body: { __fileRef: file.ref, encoding: 'base64', mimeType: null, maxBytes: null } },
    {
      url,
      method: 'POST',
      headers: {},
      body: { kind: 'json', value: { __fileRef: file.ref, encoding: 'base64', mimeType: null, maxBytes: null } },
    },
  ],
  ['nothing', undefined, bad('the plugin returned no request')],
  ['a list', [], bad('the plugin returned no request')],
  ['no url', { body: 1 }, bad('url is required')],
  ['an action with NUL', { url, action: 'a\0b' }, bad('action must not contain control characters')],
  ['a model with a line end', { url, rewriteModel: 'a\nb' }, bad('rewriteModel must not contain control characters')],
  ['a relative url', { url: '/jobs' }, bad('the request URL must be an absolute http or https URL')],
  ['an unknown method', { url, method: 'TRACE' }, bad('method must be one of GET, POST, PUT, PATCH, DELETE')],
  ['a host header', { url, headers: { Host: 'x' } }, bad('header "Host" is set only by the host')],
  ['header smuggling', { url, headers: { a: 'x\r\nb: y' } }, bad('header "a" has no valid value')],
  ['a bad header name', { url, headers: { 'a b': 'x' } }, bad('header name "a b" is not valid')],
  ['a header that is not text', { url, headers: { a: 1 } }, bad('header "a" must be a string')],
  [
    '65 headers',
    { url, headers: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`h${i}`, 'x'])) },
    bad('at most 64 headers are allowed'),
  ],
  ['an unknown bodyType', { url, bodyType: 'xml' }, bad('bodyType must be "json" or "multipart"')],
  ['multipart without parts', { url, bodyType: 'multipart' }, bad('a multipart request needs parts')],
  [
    'an unknown file part',
    { url, bodyType: 'multipart', parts: [{ name: 'f', fileRef: 'request_file:x' }] },
    bad('unknown file reference "request_file:x"'),
  ],
  [
    'a part without value',
    { url, bodyType: 'multipart', parts: [{ name: 'f' }] },
    bad('part "f" needs a value or a fileRef'),
  ],
  [
    'a placeholder of an unknown file',
    { url, body: { __fileRef: 'request_file:x', encoding: 'base64' } },
    bad('unknown file reference "request_file:x"'),
  ],
  [
    'a placeholder with more',
    { url, body: { __fileRef: file.ref, encoding: 'base64', x: 1 } },
    bad('invalid file placeholder: unknown property "x"'),
  ],
  [
    'a placeholder without encoding',
    { url, body: [{ __fileRef: file.ref }] },
    bad('invalid file placeholder: encoding must be "base64" or "dataUrl"'),
  ],
  [
    'a placeholder with no bytes',
    { url, body: { __fileRef: file.ref, encoding: 'base64', maxBytes: 0 } },
    bad('invalid file placeholder: maxBytes must be a whole number greater than 0'),
  ],
];

describe('buildSubmitRequest', () => {
  test.each(descriptors)('%s', async (_name, descriptor, outcome) => {
    const built = brief(await buildSubmitRequest(echo, driver(descriptor, [file]), { owner: 'user:1' }));
    expect(built).toEqual(typeof outcome === 'object' ? { isStream: false, ...outcome } : outcome);
  });

  test('on a protocol the model may be repeated but not replaced', async () => {
    const pinned = (model: string) =>
      buildSubmitRequest(echo, driver({ url, model }), { owner: 'user:1', pinnedModel: 'm1' });
    expect(await pinned('m1')).toMatchObject({ ok: true, value: { model: 'm1' } });
    expect(brief(await pinned('m2'))).toBe(bad('plugin submit model does not match the pinned endpoint model'));
  });

  test("a thrown message is the plugin's own, on one line and without the channel's key", async () => {
    const outcome = await buildSubmitRequest(echo, driver('throw'), { owner: 'user:1', secrets: ['key-12345'] });
    expect(brief(outcome)).toBe('thrown: Bad key [redacted] .');
    expect(outcome.ok ? false : isHostFailure(outcome.error)).toBe(false);
  });
});

/** `null`: allowed. */
const urls: [name: string, url: string, base: string, credentialless: boolean, error: string | null][] = [
  ['the base host', 'https://api.example/x?y=1', 'https://api.example', false, null],
  ['the base host with its default port', 'https://api.example:443/x', 'https://API.example', false, null],
  ['an allowed host', 'https://cdn.example/x', 'https://api.example', false, null],
  ['an allowed host and port', 'https://alt.example:8443/x', 'https://api.example', false, null],
  ['an allowed IPv6 host', 'https://[2001:DB8:0::1]/x', 'https://api.example', false, null],
  ['a local base host', 'http://127.0.0.1:4010/x', 'http://127.0.0.1:4010', false, null],
  ['another host without credential', 'https://other.example/x', 'https://api.example', true, null],
  [
    'SSRF: another host',
    'https://other.example/x',
    'https://api.example',
    false,
    'plugin request host "other.example" is not allowed',
  ],
  [
    'SSRF: a host that ends alike',
    'https://evil-api.example/x',
    'https://api.example',
    false,
    'plugin request host "evil-api.example" is not allowed',
  ],
  [
    'SSRF: the base host as user info',
    'https://api.example@evil.example/',
    'https://api.example',
    false,
    'the request URL must not contain credentials',
  ],
  [
    'SSRF: another port',
    'https://api.example:8443/x',
    'https://api.example',
    false,
    'plugin request host "api.example:8443" is not allowed',
  ],
  [
    'an allowed host on another port',
    'https://cdn.example:8443/',
    'https://api.example',
    false,
    'plugin request host "cdn.example:8443" is not allowed',
  ],
  [
    'an allowed port on the default',
    'https://alt.example/',
    'https://api.example',
    false,
    'plugin request host "alt.example" is not allowed',
  ],
  [
    'downgrade: http at an https channel',
    'http://api.example/x',
    'https://api.example',
    false,
    'plugin request host "api.example" is not allowed',
  ],
  [
    'downgrade: http to an allowed host',
    'http://cdn.example/x',
    'https://api.example',
    false,
    'plugin request host "cdn.example" is not allowed',
  ],
  ['a fragment', 'https://api.example/#x', 'https://api.example', false, 'the request URL must not have a fragment'],
  [
    'credentials without credential',
    'https://u:p@other.example/',
    'https://api.example',
    true,
    'the request URL must not contain credentials',
  ],
  [
    'surrounding space',
    ' https://api.example/',
    'https://api.example',
    false,
    'the request URL must be an absolute http or https URL',
  ],
  [
    'a line break',
    'https://api.example/\nx',
    'https://api.example',
    false,
    'the request URL must be an absolute http or https URL',
  ],
  [
    'a file',
    'file:///etc/passwd',
    'https://api.example',
    true,
    'the request URL must be an absolute http or https URL',
  ],
  [
    'a URL of 64 KiB',
    `https://api.example/${'x'.repeat(65_536)}`,
    'https://api.example',
    false,
    'the request URL is longer than 65536 characters',
  ],
  ['no base URL', 'https://api.example/', '', false, 'plugin request host "api.example" is not allowed'],
];

describe('request URLs', () => {
  test.each(urls)('%s', (_name, text, base, credentialless, error) => {
    const checked = checkRequestUrl(echo.manifest, { channelBaseUrl: base, url: text, credentialless });
    expect(checked.ok ? null : checked.error.message).toBe(error);
  });
});

describe('queries', () => {
  test('the query request is a GET to an allowed host', async () => {
    expect(await buildQueryRequest(echo, polled({ url: 'https://cdn.example/t' }), { owner: 'user:1' })).toEqual({
      ok: true,
      value: { url: 'https://cdn.example/t', method: 'GET', headers: {}, body: { kind: 'none' } },
    });
    expect(
      brief(await buildQueryRequest(echo, polled({ url: 'https://evil.example/t' }), { owner: 'user:1' })),
    ).toContain('is not allowed');
  });

  test('a batch query gets all tasks', async () => {
    const ctx = { baseUrl: 'https://api.example', authHeader: 'k', tasks: [polled(), { ...polled(), taskId: 'up_2' }] };
    expect(await buildBatchQueryRequest(echo, ctx, { owner: 'user:1' })).toMatchObject({
      value: { method: 'POST', body: { kind: 'json', value: ['up_1', 'up_2'] } },
    });
  });

  const results: [name: string, returned: unknown, parsed: unknown][] = [
    ['a bare status', { status: 'SUCCESS' }, { status: 'SUCCESS', reason: '', state: { kind: 'keep' } }],
    ['an unknown status', { status: 'DONE' }, { status: 'UNKNOWN', reason: '', state: { kind: 'keep' } }],
    ['no status', {}, { status: 'UNKNOWN', reason: '', state: { kind: 'keep' } }],
    [
      'a numeric progress',
      { status: 'QUEUED', progress: 41.9 },
      { status: 'QUEUED', reason: '', progress: '41%', state: { kind: 'keep' } },
    ],
    [
      'a progress text',
      { status: 'QUEUED', progress: '42%' },
      { status: 'QUEUED', reason: '', progress: '42%', state: { kind: 'keep' } },
    ],
    [
      'a progress text with all digits of a number',
      { status: 'QUEUED', progress: `${100 / 3}%` },
      { status: 'QUEUED', reason: '', progress: '33%', state: { kind: 'keep' } },
    ],
    [
      'a progress beyond 100',
      { status: 'QUEUED', progress: '142%' },
      { status: 'QUEUED', reason: '', state: { kind: 'keep' } },
    ],
    [
      'a state',
      { status: 'QUEUED', state: { a: 1 } },
      { status: 'QUEUED', reason: '', state: { kind: 'set', value: { a: 1 } } },
    ],
    [
      'a cleared state',
      { status: 'QUEUED', state: null },
      { status: 'QUEUED', reason: '', state: { kind: 'set', value: null } },
    ],
    [
      'a state above 1 MiB',
      { status: 'QUEUED', state: 'x'.repeat(1_048_575) },
      { status: 'QUEUED', reason: '', state: { kind: 'too_large', bytes: 1_048_577 } },
    ],
    [
      'a reason with the key',
      { status: 'FAILURE', reason: 'no key-12345\u0000', code: 7, url: 'https://x', totalTokens: -1 },
      { status: 'FAILURE', reason: 'no [redacted]', code: '7', url: 'https://x', state: { kind: 'keep' } },
    ],
    ['nothing', null, 'invalid_result: the plugin returned no task result'],
    ['a text', 'SUCCESS', 'invalid_result: the plugin returned no task result'],
  ];
  test.each(results)('parseTaskResult: %s', async (_name, returned, parsed) => {
    const outcome = await parseTaskResult(
      echo,
      { ctx: polled(), body: returned as null, response },
      {
        owner: 'user:1',
        secrets: ['key-12345'],
      },
    );
    expect(brief(outcome)).toEqual(parsed);
  });

  test('batch items come by id; those without an id or that are not objects are left out', async () => {
    const ctx = { baseUrl: 'https://api.example', authHeader: 'k', tasks: [] };
    const items: Json[] = [
      { taskId: 'a', status: 'SUCCESS', data: { x: 1 }, finishTime: 5.5 },
      { taskId: ' ' },
      null,
      'x',
      { taskId: 'b', status: 'ODD', reason: 'r' },
      { taskId: 4711, status: 'QUEUED' },
      { taskId: 2 ** 60, status: 'QUEUED' },
    ];
    const outcome = await parseBatchResult(echo, { ctx, body: items, response }, { owner: 'user:1' });
    if (!outcome.ok) throw new Error(outcome.error.message);
    expect([...outcome.value.keys()]).toEqual(['a', 'b', '4711']);
    expect(outcome.value.get('a')).toMatchObject({ status: 'SUCCESS', data: { x: 1 }, finishTime: 5 });
    expect(outcome.value.get('b')).toMatchObject({ status: 'UNKNOWN', reason: 'r' });
    expect(brief(await parseBatchResult(echo, { ctx, body: { items }, response }, { owner: 'user:1' }))).toBe(
      'invalid_result: the plugin returned no list of task results',
    );
  });
});

describe('parseSubmitResponse', () => {
  const answered = (body: unknown) =>
    parseSubmitResponse(
      echo,
      { ctx: driver(null), response: { statusCode: 200, headers: {}, body: body as null } },
      { owner: 'user:1' },
    );
  test('gives id, data, immediate result and state', async () => {
    expect(await answered({ taskId: 'up', taskData: [1], immediate: { status: 'SUCCESS' }, state: 1 })).toEqual({
      ok: true,
      value: {
        taskId: 'up',
        taskData: [1],
        immediate: { status: 'SUCCESS', reason: '', state: { kind: 'keep' } },
        state: { kind: 'set', value: 1 },
      },
    });
  });
  test.each([7, 0, Number.MAX_SAFE_INTEGER])('takes the number %d as its text', async (taskId) => {
    expect(await answered({ taskId })).toMatchObject({ ok: true, value: { taskId: String(taskId) } });
  });
  test.each([
    [{ taskId: 'up', clientResponse: {} }, 'clientResponse is not allowed'],
    [{ taskId: ' ' }, 'taskId must be a string that is not blank'],
    [{ taskId: 7.5 }, 'taskId must be a string that is not blank'],
    [{ taskId: 2 ** 60 }, 'taskId must be a string that is not blank'],
    [{ taskId: '..' }, 'taskId must not be "." or "..", which point to another path'],
    [{ taskId: 'job\u0000' }, 'taskId must not contain control characters'],
    [{ taskId: 'up', immediate: 'SUCCESS' }, 'immediate must be a task result'],
    [null, 'the plugin returned no submit result'],
  ])('refuses %j', async (body, message) => {
    expect(brief(await answered(body))).toBe(`invalid_result: ${message}`);
  });
});

describe('usage', () => {
  const facts: [returned: unknown, outcome: unknown][] = [
    [
      { seconds: 8, size: 's', audio: true, tokens: 1.5 },
      { seconds: 8, size: 's', audio: true, tokens: 1.5 },
    ],
    [{ tokens: 1e12 }, { tokens: 2_147_483_647 }],
    [{ width: 1280, note: 'x' }, { width: 1280 }],
    [null, null],
    [{ seconds: 3601 }, 'usage fact "seconds" must be at most 3600'],
    [{ seconds: '8' }, 'usage fact "seconds" must be a number'],
    [{ seconds: -1 }, 'usage fact "seconds" must be a finite number of at least 0'],
    [{ size: 'm' }, 'usage fact "size" must be one of "s", "l"'],
    [{ audio: 1 }, 'usage fact "audio" must be true or false'],
    [{ num_images: 129 }, 'usage fact "num_images" must be at most 128'],
    [{ pixels: 4000 }, 'usage fact "pixels" must be at most 3600'],
    ['8', 'usage must be an object or null'],
  ];
  test.each(facts)('extractUsage %j', async (returned, outcome) => {
    const expected = typeof outcome === 'string' ? `invalid_result: ${outcome}` : outcome;
    expect(brief(await extractUsage(echo, driver(returned), { owner: 'user:1' }))).toEqual(expected as object);
  });
  test('completion may count tokens, and a plugin without the hook reports nothing', async () => {
    const done = { status: 'SUCCESS' };
    expect(
      brief(
        await extractUsageOnComplete(
          echo,
          { ctx: polled(), result: done, body: { completionTokens: 90_000 } },
          { owner: 'user:1' },
        ),
      ),
    ).toEqual({
      completionTokens: 90_000,
    });
    const plain = await load(pluginSource());
    expect(
      brief(await extractUsageOnComplete(plain, { ctx: polled(), result: done, body: {} }, { owner: 'user:1' })),
    ).toBeNull();
  });
  test('unbilled quantity: a request cannot ask for more pieces or seconds than are priced', () => {
    const schema = echo.manifest.usageSchema;
    expect(checkRequestQuantities(schema, { n: 1, input: { seconds: '10', n_seed: 1e9 } })).toEqual({
      ok: true,
      value: null,
    });
    expect(checkRequestQuantities(schema, { input: [{ n: 1_000_000 }] })).toMatchObject({
      ok: false,
      error: { message: '"n" must be at most 128' },
    });
    expect(checkRequestQuantities(schema, { SECONDS: '99999' })).toMatchObject({
      ok: false,
      error: { message: '"SECONDS" must be at most 3600' },
    });
    expect(checkRequestQuantities(schema, { duration: -1 })).toEqual({ ok: true, value: null });
  });
});

describe('artifacts', () => {
  const artifact = { key: 'video', type: 'video' };
  const lists: [returned: unknown, error: string | null][] = [
    [[artifact, { key: 'a.b_c~d-1', type: 'file', mimeType: 'text/plain' }], null],
    [[], null],
    [{}, 'the plugin returned no list of artifacts'],
    [[artifact, artifact], 'artifact key "video" is used twice'],
    [[{ ...artifact, url: 'x' }], 'artifact has unknown field "url"'],
    [[{ ...artifact, key: '../x' }], 'artifact key "../x" is not valid'],
    [[{ ...artifact, key: 'k'.repeat(129) }], `artifact key "${'k'.repeat(129)}" is not valid`],
    [[{ ...artifact, type: 'text' }], 'artifact "video" must be a video, audio, image or file'],
    [[{ ...artifact, mimeType: 'a\r\nb' }], 'artifact "video" has no valid mimeType'],
    [Array.from({ length: 65 }, (_, i) => ({ key: `k${i}`, type: 'file' })), 'at most 64 artifacts are allowed'],
  ];
  test.each(lists)('listArtifacts %#', async (returned, error) => {
    const outcome = await listArtifacts(echo, content(returned), { owner: 'user:1' });
    expect(brief(outcome)).toEqual(error === null ? returned : `invalid_result: ${error}`);
  });

  test('an artifact whose mimeType is null has none', async () => {
    const outcome = await listArtifacts(echo, content([{ ...artifact, mimeType: null }]), { owner: 'user:1' });
    expect(brief(outcome)).toEqual([artifact]);
  });

  const requests: [name: string, returned: unknown, outcome: unknown][] = [
    [
      'the vendor with credential',
      { url, headers: { Authorization: 'x' } },
      { kind: 'http', url, method: 'GET', headers: { Authorization: 'x' }, credentialless: false },
    ],
    [
      'a CDN',
      { url: 'https://any.example/v.mp4', credentialless: true },
      { kind: 'http', url: 'https://any.example/v.mp4', method: 'GET', headers: {}, credentialless: true },
    ],
    [
      'a POST with body',
      { url, method: 'POST', body: { a: 1 } },
      { kind: 'http', url, method: 'POST', headers: {}, credentialless: false, body: '{"a":1}' },
    ],
    ['data', { url: 'data:image/png;base64,AAAA' }, { kind: 'data', mimeType: 'image/png', base64: 'AAAA' }],
    ['data without type', { url: 'data:;base64,AAAA' }, { kind: 'data', mimeType: 'video/mp4', base64: 'AAAA' }],
    ['data that is not base64', { url: 'data:text/plain,hello' }, 'a data URL must be base64'],
    [
      'another host with credential',
      { url: 'https://any.example/v.mp4' },
      'plugin request host "any.example" is not allowed',
    ],
    [
      'a CDN with headers',
      { url: 'https://any.example/', credentialless: true, headers: { a: 'b' } },
      'a credentialless request has no headers and no body',
    ],
    [
      'a CDN with a body',
      { url: 'https://any.example/', credentialless: true, body: 'x' },
      'a credentialless request has no headers and no body',
    ],
    [
      'a CDN by POST',
      { url: 'https://any.example/', credentialless: true, method: 'POST' },
      'method must be one of GET, HEAD',
    ],
    ['a DELETE', { url, method: 'DELETE' }, 'method must be one of GET, HEAD, POST'],
    ['a body above 1 MiB', { url, method: 'POST', body: 'x'.repeat(1_048_577) }, 'the body is larger than 1 MiB'],
    [
      'a file URL',
      { url: 'file:///etc/passwd', credentialless: true },
      'the request URL must be an absolute http or https URL',
    ],
  ];
  test.each(requests)('buildContentRequest: %s', async (_name, returned, outcome) => {
    const expected = typeof outcome === 'string' ? `invalid_result: ${outcome}` : outcome;
    expect(brief(await buildContentRequest(echo, content(returned), { owner: 'user:1' }))).toEqual(expected);
  });
});

describe('decoders and presenters', () => {
  const intent = { kind: 'submit', model: 'm1' };
  const decoded: [returned: unknown, outcome: unknown][] = [
    [intent, { kind: 'submit', model: 'm1' }],
    [
      { ...intent, action: ' remix ', requestBody: null, originTaskIds: [' t1 ', 7] },
      { kind: 'submit', model: 'm1', action: 'remix', requestBody: null, originTaskIds: [' t1 ', 7] },
    ],
    [{ ...intent, model: 'm2' }, 'the decoded model is not the requested one'],
    [{ ...intent, renderer: 'x' }, 'plugin returned an invalid route result'],
    [{ kind: 'query', taskIds: [] }, 'plugin returned an invalid route result'],
    [{ kind: 'submit' }, 'model must be a string that is not blank'],
    [{ ...intent, action: 1 }, 'action must be a string'],
    [{ ...intent, action: 'a\0' }, 'action must not contain control characters'],
    [null, 'plugin returned an invalid route result'],
  ];
  test.each(decoded)(
    'decodeProtocolRequest %#: hooks under the alias are found by the canonical name',
    async (returned, outcome) => {
      const expected = typeof outcome === 'string' ? `invalid_result: ${outcome}` : outcome;
      expect(
        brief(
          await decodeProtocolRequest(
            echo,
            { protocol: 'proto_video', ctx: protocolContext(returned) },
            { owner: 'user:1' },
          ),
        ),
      ).toEqual(expected as object);
    },
  );

  test('native routes: models, actions and queries', async () => {
    const [submit, dynamic] = echo.manifest.routes;
    if (!submit || !dynamic) throw new Error('routes are missing');
    const decode = async (route: typeof submit, value: unknown) =>
      brief(await decodeNativeRequest(echo, { route, ctx: protocolContext(value) }, { owner: 'user:1' }));
    expect(await decode(submit, intent)).toEqual({ kind: 'submit', model: 'm1', action: 'act' });
    expect(await decode(submit, { ...intent, action: 'own' })).toMatchObject({ action: 'own' });
    expect(await decode(submit, { ...intent, action: ' ' })).toMatchObject({ action: 'act' });
    expect(await decode(submit, { ...intent, renderer: null })).toContain('invalid route result');
    expect(await decode(dynamic, { ...intent, model: 'm2' })).toMatchObject({ model: 'm2' });
    expect(await decode(submit, { kind: 'query', taskIds: ['a'] })).toContain('invalid route result');
    expect(await decode(dynamic, { kind: 'query', taskIds: ['a', 'a'] })).toEqual({
      kind: 'query',
      taskIds: ['a', 'a'],
    });
    expect(await decode(dynamic, { kind: 'query', taskIds: [''] })).toContain('taskIds must be a list of task ids');
    expect(await decode(dynamic, { kind: 'query', taskIds: Array(101).fill('a') })).toContain('at most 100 tasks');
  });

  test('presenters get the task; a video must be an object; errors have their own shape', async () => {
    const view = {
      task_id: 't',
      platform: 'echo',
      status: 'SUCCESS' as const,
      progress: '100%',
      fail_reason: '',
      created_at: 1,
    };
    expect(
      brief(
        await callVideoRender(
          echo,
          { ctx: protocolContext(null), task: { ...view, data: { seconds: '8' } } },
          { owner: 'user:1' },
        ),
      ),
    ).toEqual({
      seconds: '8',
    });
    expect(
      brief(
        await callVideoRender(echo, { ctx: protocolContext(null), task: { ...view, data: [1] } }, { owner: 'user:1' }),
      ),
    ).toContain('the plugin rendered no object');
    const [route] = echo.manifest.routes;
    if (!route) throw new Error('routes are missing');
    expect(
      brief(await callNativeRender(echo, { route, ctx: protocolContext(null), task: [view] }, { owner: 'user:1' })),
    ).toEqual([view]);
    const error = { code: 'task_not_found', message: 'x', httpStatus: 404, retryable: false, requestId: 'r' };
    expect(brief(await callNativeError(echo, { ctx: protocolContext(null), error }, { owner: 'user:1' }))).toEqual({
      vendor: 'task_not_found',
    });
    expect(
      brief(
        await callNativeError(await load(pluginSource()), { ctx: protocolContext(null), error }, { owner: 'user:1' }),
      ),
    ).toBeUndefined();
  });
});

test('console lines go to the debug log, with the name of the plugin and without secrets', async () => {
  const lines: string[] = [];
  const logger: Logger = { ...silentLogger, debug: (_fields, message) => lines.push(message) };
  const talker = await load(
    pluginSource({ key: 'talker' }).replace('{ return { url', "{ console.log('using', ctx.apiKey); return { url"),
    logger,
  );
  await buildSubmitRequest(talker, driver(null), { owner: 'user:1', secrets: ['key-12345'] });
  expect(lines).toEqual(['[plugin:talker@1.0.0] using [redacted]']);
});

test('limits of a call: 16 MiB for hooks that carry bodies, 1 MiB for the others', async () => {
  const big = 'x'.repeat(2 * 1024 * 1024);
  expect(await echo.call('parseTaskResult', [null, big], { owner: 'user:1' })).toMatchObject({
    ok: false,
    error: { kind: 'too_large', hook: 'parseTaskResult' },
  });
  expect(await echo.call('parseTaskResult', [null, big], { owner: 'user:1', large: true })).toEqual({
    ok: true,
    value: big,
  });
});

test('a missing hook is known beforehand, and named in the failure', async () => {
  expect([
    echo.has('protocols.proto_video.render'),
    echo.has('native.show'),
    echo.has('extractUsageOnSubmit'),
    echo.has('native.toString'),
  ]).toEqual([true, true, false, false]);
  expect(await echo.call('native.gone', [], { owner: 'user:1' })).toMatchObject({
    ok: false,
    error: { kind: 'not_callable', hook: 'native.gone' },
  });
});
