import { describe, expect, test } from 'bun:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type {
  Artifact,
  ArtifactResolution,
  BatchItem,
  BatchQueryContext,
  ContentDescriptor,
  FilePlaceholder,
  FileReference,
  Meta,
  NativeError,
  PluginModule,
  QueryIntent,
  RenderEventsResult,
  RequestBody,
  ResponseInfo,
  SubmitDescriptor,
  SubmitError,
  SubmitIntent,
  SubmitResponse,
  SubmitResult,
  TaskQueryContext,
  TaskResult,
  TaskView,
} from '../../contracts/v1.d.ts';
import schema from '../../contracts/v1.schema.json';

const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, allErrors: true });
ajv.addVocabulary(['x-rule', 'x-reason', 'x-aspect', 'x-since']);
ajv.addSchema(schema);
const validates = (definition: string, value: unknown): boolean | Promise<unknown> =>
  ajv.validate(`${schema.$id}#/$defs/${definition}`, value);

test('the schema is valid JSON Schema 2020-12, strictly read', () => {
  expect(ajv.validateSchema(schema)).toBe(true);
  expect(() => ajv.getSchema(schema.$id)).not.toThrow();
  for (const definition of Object.keys(schema.$defs))
    expect(typeof ajv.getSchema(`${schema.$id}#/$defs/${definition}`)).toBe('function');
});

/**
 * Typed with the declaration file: a difference from the schema fails the type check or this table.
 */
const query: TaskQueryContext = {
  taskId: 'a',
  publicTaskId: 'b',
  action: '',
  model: 'm',
  upstreamModel: 'm',
  baseUrl: 'https://x.y',
  authHeader: 'k',
  data: null,
  state: null,
};
const file: FileReference = { ref: 'request_file:f', field: 'f', filename: 'a.png', mimeType: 'image/png', size: 1 };
const accepted: {
  LocalizedText: [Meta['description'], Meta['description']];
  SubmitIntent: SubmitIntent[];
  QueryIntent: QueryIntent[];
  RequestDescriptor: SubmitDescriptor[];
  ContentDescriptor: ContentDescriptor[];
  SubmitResult: SubmitResult[];
  TaskResult: TaskResult[];
  BatchItem: BatchItem[];
  TaskQueryContext: TaskQueryContext[];
  BatchQueryContext: BatchQueryContext[];
  ResponseInfo: ResponseInfo[];
  SubmitResponse: SubmitResponse[];
  SubmitError: SubmitError[];
  ArtifactResolution: ArtifactResolution[];
  Artifact: Artifact[];
  FilePlaceholder: FilePlaceholder[];
  FileReference: FileReference[];
  RequestBody: RequestBody[];
  TaskView: TaskView[];
  NativeError: NativeError[];
  RenderEventsResult: RenderEventsResult[];
} = {
  LocalizedText: ['x', { en: 'x', 'zh-CN': 'y' }],
  SubmitIntent: [
    { kind: 'submit', model: 'm' },
    { kind: 'submit', model: 'm', action: 'a', requestBody: [1], originTaskIds: ['t'] },
  ],
  QueryIntent: [{ kind: 'query', taskIds: [] }],
  RequestDescriptor: [
    { url: 'https://x.y' },
    {
      url: 'https://x.y',
      bodyType: 'multipart',
      parts: [
        { name: 'a', value: 1 },
        { name: 'b', fileRef: file.ref, filename: 'c' },
      ],
      action: 'a',
      rewriteModel: 'b',
    },
  ],
  ContentDescriptor: [
    { url: 'data:;base64,AA' },
    { url: 'https://x.y', method: 'HEAD', credentialless: true },
    { url: 'https://x.y', method: 'POST', headers: { a: 'b' }, body: {} },
    { url: 'https://x.y', redirectHosts: ['cdn.example.com', '*.example.net', '[::1]:8443'] },
  ],
  SubmitResult: [{ taskId: 'x' }, { taskId: 'x', taskData: null, immediate: { status: 'SUCCESS' }, state: null }],
  TaskResult: [
    { status: 'UNKNOWN' },
    {
      status: 'SUCCESS',
      progress: 50,
      reason: '',
      url: 'u',
      remoteUrl: 'r',
      completionTokens: 1,
      totalTokens: 2,
      taskId: 't',
      code: 0,
      state: {},
    },
  ],
  BatchItem: [{ taskId: 'a', status: 'QUEUED', data: {}, submitTime: 1 }],
  TaskQueryContext: [query, { ...query, apiKey: 'k', auth: { projectId: 'p' } }],
  BatchQueryContext: [{ baseUrl: 'https://x.y', authHeader: 'k', tasks: [query] }],
  ResponseInfo: [{ status: 200, headers: { a: 'b' } }],
  SubmitError: [
    { class: 'quota' },
    { kind: 'rate' },
    { class: 'busy', message: 'm', param: 'p', retryAfterSeconds: 1 },
  ],
  ArtifactResolution: [{ request: { url: 'https://x.y' } }, { url: 'https://x.y', expiresIn: 5 }],
  SubmitResponse: [{ statusCode: 201, headers: { a: ['b', 'c'] }, body: 'text' }],
  Artifact: [
    { key: 'a', type: 'video' },
    { key: 'A.b_c~d-e', type: 'file', mimeType: 'text/plain' },
  ],
  FilePlaceholder: [
    { __fileRef: file.ref, encoding: 'base64' },
    { __fileRef: file.ref, encoding: 'dataUrl', mimeType: 'a/b', maxBytes: 1 },
  ],
  FileReference: [file],
  RequestBody: [
    { kind: 'none' },
    { kind: 'json', value: null },
    { kind: 'form', fields: { a: ['b'] } },
    { kind: 'multipart', fields: {}, files: [file] },
  ],
  TaskView: [
    {
      task_id: 't',
      platform: 'p',
      status: 'SUCCESS',
      progress: '100%',
      fail_reason: '',
      created_at: 1,
      data: {},
      properties: {},
    },
  ],
  NativeError: [{ code: 'c', message: 'm', httpStatus: 400, retryable: false, requestId: 'r' }],
  RenderEventsResult: [
    {
      events: [
        { type: 'progress', progress: 5 },
        { type: 'output', data: 1 },
        { type: 'error', message: 'x' },
      ],
      done: true,
      state: null,
    },
  ],
};
const refused: [definition: string, value: unknown][] = [
  ['SubmitIntent', { kind: 'submit', model: ' ' }],
  ['SubmitIntent', { kind: 'submit', model: 'm', renderer: 'x' }],
  ['QueryIntent', { kind: 'query', taskIds: Array(101).fill('t') }],
  ['RequestDescriptor', { url: 'file:///x' }],
  ['RequestDescriptor', { url: 'https://x.y', bodyType: 'multipart' }],
  ['ContentDescriptor', { url: 'https://x.y', credentialless: true, headers: { a: 'b' } }],
  ['ContentDescriptor', { url: 'https://x.y', credentialless: true, method: 'POST' }],
  ['ContentDescriptor', { url: 'https://x.y', redirectHosts: ['https://a.b'] }],
  ['SubmitError', { class: 'other' }],
  ['SubmitError', { message: 'm' }],
  ['ArtifactResolution', {}],
  ['ArtifactResolution', { url: 'https://x.y', request: { url: 'https://x.y' } }],
  ['SubmitResult', { taskId: 'x', clientResponse: {} }],
  ['SubmitResult', { taskId: '' }],
  ['TaskResult', { status: 'DONE' }],
  ['BatchItem', { status: 'QUEUED' }],
  ['TaskQueryContext', { ...query, path: '/x' }],
  ['TaskQueryContext', { ...query, state: undefined }],
  ['Artifact', { key: 'a', type: 'video', url: 'x' }],
  ['Artifact', { key: '/a', type: 'video' }],
  ['FilePlaceholder', { __fileRef: 'f', encoding: 'base64' }],
  ['FilePlaceholder', { __fileRef: file.ref, encoding: 'hex' }],
  ['FilePlaceholder', { __fileRef: file.ref, encoding: 'base64', maxBytes: 0 }],
  ['RequestBody', { kind: 'none', value: 1 }],
  ['RenderEventsResult', { events: [], done: 1 }],
  ['RenderEventsResult', { events: [{ type: 'output' }], done: false }],
];

describe('definitions', () => {
  test.each(Object.entries(accepted))('%s accepts what the declaration file types', (definition, values) => {
    for (const value of values) expect([value, validates(definition, value)]).toEqual([value, true]);
  });
  test.each(refused)('%s refuses %j', (definition, value) => {
    expect(validates(definition, JSON.parse(JSON.stringify(value)))).toBe(false);
  });
});

test('a plugin module can be typed with the declaration file alone', () => {
  const module: PluginModule = {
    meta: {
      apiVersion: 1,
      key: 'k',
      name: 'K',
      version: '1.0.0',
      author: { name: 'A' },
      models: ['m'],
      fetchMode: 'per_task',
      protocols: ['proto_video'],
    },
    buildSubmitRequest: (ctx) => ({
      url: `${ctx.baseUrl}/jobs`,
      headers: { Authorization: `Bearer ${ctx.apiKey}` },
      body: ctx.requestBody,
    }),
    parseSubmitResponse: (_ctx, response) => ({ taskId: String(response.statusCode) }),
    parseTaskResult: () => ({ status: 'UNKNOWN' }),
    buildQueryRequest: (ctx) => ({ url: `${ctx.baseUrl}/jobs/${ctx.taskId}` }),
    protocols: {
      proto_video: {
        decodeRequest: (ctx) => ({ kind: 'submit', model: ctx.model }),
        render: (_ctx, task) => ({ id: task.task_id }),
      },
    },
  };
  expect(ajv.validate(schema.$id, module.meta)).toBe(true);
});
