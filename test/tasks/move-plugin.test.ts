/** A plugin under a new key takes the place of the one that ships, and gives it back. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { STATUS } from '../../src/store/ports/index.ts';
import { type OpenedStore, openTestStore, pluginSource, startSandbox } from '../plugins/support.ts';
import { addCaller, BALANCE, type Engine, jsonRequest, readBalance, startEngine } from './harness.ts';

const sandbox = startSandbox();
const meta = {
  ...{ models: ['m-1'], channelTypes: [250], protocols: ['proto_video'] },
  routes: [{ method: 'GET', path: '/shared/:task_id', type: 'query', render: 'show' }],
};
const source = (key: string, more: object = {}): string =>
  pluginSource(
    { key, ...meta, ...more },
    `export const protocols = { proto_video: {
       decodeRequest: ({ model, body }) => ({ kind: 'submit', model, requestBody: body.value }),
       render: () => ({}),
     } };
     export const native = { show: (ctx, task) => ({ by: '${key}', data: task.data }) };`,
  ).replace('return { taskId: response.body.id };', `return { taskId: response.body.id, taskData: { by: '${key}' } };`);

let opened: OpenedStore;
let engine: Engine;
const vendor = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: (request) =>
    Response.json(request.method === 'POST' ? { id: `job-${crypto.randomUUID()}` } : { status: 'SUCCESS' }),
});
beforeAll(async () => {
  opened = await openTestStore('sqlite');
  engine = await startEngine(opened.store, sandbox, {
    allowPrivate: true,
    factory: [source('old', { models: ['m-1', 'm-2'] })],
  });
  await engine.start();
});
afterAll(async () => {
  await engine.stop();
  await vendor.stop(true);
  await opened.close();
  await sandbox.close();
});

test('channels, prices, legacy types and tasks follow, and come back', async () => {
  const { plugins, store, billing } = engine;
  const baseUrl = vendor.url.origin;
  const bound = await engine.addChannel({ name: 'bound', baseUrl, models: ['m-1', 'm-2'], taskPluginKey: 'old' });
  const typed = await engine.addChannel({
    name: 'typed',
    baseUrl,
    models: ['m-1'],
    type: 250,
    taskPluginKey: undefined as never,
  });
  await billing.prices.save({ pluginKey: 'old', model: 'm-1', expression: '0.01' });
  await billing.prices.save({ pluginKey: 'old', model: 'm-2', expression: '0.02' });
  const caller = await addCaller(store);
  const submit = async () => {
    const request = { ...jsonRequest({ model: 'm-1', prompt: 'x' }), path: '/v1/videos' };
    return (await engine.surfaces.submitVideo(caller, 'r', request)).taskId;
  };
  const show = async (id: string) => {
    const path = engine.surfaces.openNativePath('GET', `/shared/${id}`);
    if (path?.kind !== 'route') throw new Error('no route');
    const request = { ...jsonRequest(null), params: path.params, body: { kind: 'none' } as const };
    const call = { caller, requestId: 'r', request, admit: async () => {} };
    return (await path.answer(call).finally(path.release)).body;
  };
  const before = await submit();
  await store.prices.put({ pluginKey: 'new', model: 'm-2', expression: '0.5', updatedAt: 1 });
  await plugins.upload({ source: source('new'), force: true });
  expect(plugins.runtimeStatus().pluginErrors.new?.message).toContain('old');

  const preview = await plugins.previewMove('old', 'new');
  expect(preview).toMatchObject({
    from: { key: 'old' },
    to: { key: 'new', version: '1.0.0' },
    channels: [
      { id: bound, lost: ['m-2'] },
      { id: typed, lost: [] },
    ],
    prices: [
      { model: 'm-1', kept: false },
      { model: 'm-2', kept: true },
    ],
    lostRoutes: [],
    conflict: null,
  });
  const stale = plugins.move({ from: 'old', to: 'new', digest: 'another' });
  expect(await stale.catch(({ code }) => code)).toBe('plugins.move_outdated');
  expect(plugins.current().plugins.has('new')).toBe(false);

  await plugins.move({ from: 'old', to: 'new', digest: preview.digest });
  expect([...plugins.current().plugins.keys()]).toEqual(['new']);
  expect((await store.channels.byId(bound))?.taskPluginKey).toBe('new');
  expect((await store.prices.all()).filter(({ pluginKey }) => ['old', 'new'].includes(pluginKey))).toMatchObject([
    { pluginKey: 'new', model: 'm-1', expression: '0.01' },
    { pluginKey: 'new', model: 'm-2', expression: '0.5' },
  ]);
  // The task is read by the version that began it, on the route of the one that has its place.
  expect(await show(before)).toMatchObject({ by: 'old' });
  const after = await submit();
  expect(await show(after)).toMatchObject({ by: 'new' });
  expect(BALANCE - (await readBalance(store, caller.user.id))).toBe(10_000);

  const back = await plugins.previewMove('new', 'old');
  await plugins.move({ from: 'new', to: 'old', digest: back.digest });
  expect([...plugins.current().plugins.keys()]).toEqual(['old']);
  const channels = await store.channels.all();
  expect(channels.map(({ status, taskPluginKey }) => [status, taskPluginKey])).toEqual([
    [STATUS.enabled, 'old'],
    [STATUS.enabled, null],
  ]);
  expect([await show(before), await show(after)]).toMatchObject([{ by: 'old' }, { by: 'new' }]);
  await submit();
  expect(BALANCE - (await readBalance(store, caller.user.id))).toBe(15_000);
});
