import { afterAll, afterEach, beforeEach, expect, test } from 'bun:test';
import type { PluginService } from '../../src/plugins/index.ts';
import { makeService, type OpenedStore, openTestStore, pluginSource, startSandbox } from './support.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

const KEY = 'key-name-0001|secret/0123456789';
let opened: OpenedStore;
let service: PluginService;

beforeEach(async () => {
  opened = await openTestStore('sqlite');
  service = makeService(opened.store, sandbox);
  await service.start();
});
afterEach(async () => {
  await service.stop();
  await opened.close();
});

async function places(query: string, apiKey = KEY): Promise<string[]> {
  const source = pluginSource({ version: '1.0.0' }).replace(
    "return { url: ctx.baseUrl + '/jobs/' + ctx.taskId };",
    `const [id, secret] = ctx.apiKey.split('|'); ${query}`,
  );
  await service.upload({ source });
  const ctx = { baseUrl: 'https://api.example.com', taskId: 't', apiKey, authHeader: apiKey };
  const plugin = service.current().plugins.get('acme');
  await plugin?.call('buildQueryRequest', [ctx], { owner: 'system', secrets: [apiKey] });
  const again = await plugin?.call('buildQueryRequest', [ctx], { owner: 'system', secrets: [apiKey], reuse: true });
  expect(again?.ok).toBe(true);
  const found = service.exposedCredentials();
  expect(JSON.stringify(found)).not.toContain('secret/');
  return found.flatMap(({ key, version, places: all }) =>
    all.map(({ place, hook, calls }) => `${key}@${version} ${place} ${hook} ${calls}`),
  );
}

test.each([
  ['the whole context as the body', "return { url: ctx.baseUrl, method: 'POST', body: ctx };", 'body'],
  ['a body that is text', 'return { url: ctx.baseUrl, body: JSON.stringify({ ctx }) };', 'body'],
  [
    'the second half of a key, encoded in the query',
    "return { url: ctx.baseUrl + '/?k=' + encodeURIComponent(secret) };",
    'query',
  ],
  ['the log', "console.log('asked with', ctx.apiKey); return { url: ctx.baseUrl };", 'log'],
])('a key in %s is counted', async (_what, query, place) => {
  expect(await places(query)).toEqual([`acme@1.0.0 ${place} buildQueryRequest 2`]);
});

test('headers, signatures and the name of a key are not counted, nor are trials', async () => {
  const query = `console.log('for', id);
    return { url: ctx.baseUrl + '/?id=' + id + '&sign=' + utils.hmacSHA256('x', secret), headers: { Authorization: 'Bearer ' + ctx.apiKey }, body: { id } };`;
  expect(await places(query)).toEqual([]);
  const ctx = { baseUrl: 'https://api.example.com', taskId: 't', apiKey: KEY };
  await service.dryRun('acme', { hook: 'buildSubmitRequest', args: [{ ...ctx, requestBody: { ctx } }] });
  expect(service.exposedCredentials()).toEqual([]);
});

test('a key in the request of a look-up is counted', async () => {
  const more = `export const listArtifacts = () => [];
export const buildContentRequest = (ctx) => ({ url: ctx.baseUrl });
export const resolveArtifact = (task, key, ctx) => ({ request: { url: ctx.baseUrl, body: { key: ctx.apiKey } } });`;
  await service.upload({ source: pluginSource({}, more) });
  const ctx = { baseUrl: 'https://api.example.com', upstreamTaskId: 't', apiKey: KEY };
  const plugin = service.current().plugins.get('acme');
  await plugin?.call('resolveArtifact', [{ taskId: 't' }, 'video', ctx], { owner: 'user:1', secrets: [KEY] });
  expect(service.exposedCredentials()[0]?.places).toEqual([{ place: 'body', hook: 'resolveArtifact', calls: 1 }]);
});

test('a key too short to be told from words is not searched for', async () => {
  expect(await places("return { url: ctx.baseUrl + '/?model=test-1', body: { test: 'test' } };", 'test')).toEqual([]);
});
