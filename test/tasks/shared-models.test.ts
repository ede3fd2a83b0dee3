/** Several plugins that serve one model: who decodes, who is asked next, and at whose price. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { AppError } from '../../src/kernel/index.ts';
import { type OpenedStore, openTestStore, pluginSource, startSandbox } from '../plugins/support.ts';
import { addCaller, BALANCE, type Engine, jsonRequest, readBalance, startEngine } from './harness.ts';

const MODEL = 'pair-1';
const sandbox = startSandbox();
const source = (key: string): string =>
  pluginSource(
    {
      ...{ key, models: [MODEL], protocols: ['proto_video'] },
      usageSchema: { [`${key}_units`]: { type: 'number', unit: 'count' } },
    },
    `export const protocols = { proto_video: {
       decodeRequest({ model, body: { value } }) {
         if (value.refused && value.refused.includes('${key}')) throw new Error(value.words || 'not for ${key}');
         return { kind: 'submit', model, requestBody: { ...value, by: '${key}' } };
       },
       render: (ctx, task) => ({}),
     } };
     export const extractUsage = () => ({ ${key}_units: 2 });`,
  );

let opened: OpenedStore;
let engine: Engine;
/** What each vendor was sent, and with which status it answers. */
const vendors = { acme: { sent: [] as string[], status: 200 }, rival: { sent: [] as string[], status: 200 } };
const servers: { stop(now: boolean): Promise<void> }[] = [];

beforeAll(async () => {
  opened = await openTestStore('sqlite');
  engine = await startEngine(opened.store, sandbox, { allowPrivate: true, factory: [source('acme'), source('rival')] });
  expect(engine.plugins.runtimeStatus().pluginErrors.rival?.message).toContain('acme');
  await engine.plugins.activate('rival', 'factory', { shareModels: true });
  expect(engine.plugins.runtimeStatus().pluginErrors).toEqual({});
  for (const key of ['acme', 'rival'] as const) {
    const vendor = vendors[key];
    const server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      async fetch(request) {
        const { by } = (await request.json()) as { by: string };
        vendor.sent.push(by);
        return Response.json({ id: `job-${crypto.randomUUID()}` }, { status: vendor.status });
      },
    });
    servers.push(server);
    const priority = key === 'acme' ? 1 : 0;
    await engine.addChannel({ name: key, baseUrl: server.url.origin, models: [MODEL], taskPluginKey: key, priority });
  }
  await engine.billing.prices.save({ pluginKey: 'acme', model: MODEL, expression: '0.01 * u("acme_units")' });
  await engine.billing.prices.save({ pluginKey: 'rival', model: MODEL, expression: '0.02 * u("rival_units")' });
});
beforeEach(() => {
  for (const vendor of Object.values(vendors)) Object.assign(vendor, { sent: [], status: 200 });
});
afterAll(async () => {
  await engine.stop();
  await Promise.all(servers.map((server) => server.stop(true)));
  await opened.close();
  await sandbox.close();
});

const submit = async (body: object = {}) => {
  const caller = await addCaller(opened.store);
  const request = { ...jsonRequest({ model: MODEL, prompt: 'x', ...body }), path: '/v1/videos' };
  const task = await engine.surfaces.submitVideo(caller, 'r', request).catch((error: unknown) => {
    if (error instanceof AppError) return error;
    throw error;
  });
  return { task, cost: BALANCE - (await readBalance(opened.store, caller.user.id)) };
};
const made = async (body: object = {}) => {
  const { task, cost } = await submit(body);
  if (task instanceof AppError) throw task;
  const stored = await opened.store.tasks.byTaskId(task.taskId);
  return { by: stored?.platform, version: stored?.execution.pluginKey, cost };
};

test('the channel of the highest priority says which plugin serves, at that plugin’s price', async () => {
  expect(await made()).toEqual({ by: 'acme', version: 'acme', cost: 10_000 });
  expect([vendors.acme.sent, vendors.rival.sent]).toEqual([['acme'], []]);
});

test('a plugin that refuses the request does not serve it', async () => {
  expect(await made({ refused: ['acme'] })).toEqual({ by: 'rival', version: 'rival', cost: 20_000 });
});

test('where all refuse, the client reads why, and nothing is sent', async () => {
  const both = { refused: ['acme', 'rival'] };
  expect((await submit(both)).task).toMatchObject({
    code: 'tasks.plugin_request_invalid',
    message: 'acme: not for acme rival: not for rival',
  });
  expect((await submit({ ...both, words: 'too long.' })).task).toMatchObject({ message: 'too long.' });
  expect([vendors.acme.sent, vendors.rival.sent]).toEqual([[], []]);
});

test('a vendor that is full passes the task to the other plugin, in its words and at its price', async () => {
  vendors.acme.status = 429;
  const { by, version, cost } = await made();
  expect([by, version, cost]).toEqual(['rival', 'rival', 20_000]);
  expect([vendors.acme.sent, vendors.rival.sent]).toEqual([['acme'], ['rival']]);
});

test('a vendor that may have the job passes it to nobody', async () => {
  vendors.acme.status = 500;
  const { task, cost } = await submit();
  expect([task, cost]).toMatchObject([{ code: 'tasks.vendor_failed' }, 0]);
  expect(vendors.rival.sent).toEqual([]);
});

test('the choice stays until it is taken back, and then the second claim is a conflict again', async () => {
  const { conflict, sharing } = await engine.plugins.preview('rival', { version: 'factory', shareModels: false });
  expect(conflict).toMatchObject({ kind: 'protocol_model', with: 'acme' });
  expect(sharing).toEqual({
    shareModels: false,
    models: [{ protocol: 'proto_video', model: MODEL, with: ['acme'] }],
  });
  const refused = engine.plugins.activate('rival', 'factory', { shareModels: false });
  expect(await refused.catch(({ code }) => code)).toBe('plugins.conflict');
  expect((await engine.plugins.list()).map(({ key, shareModels }) => [key, shareModels])).toEqual([
    ['acme', false],
    ['rival', true],
  ]);
  const later = await startEngine(opened.store, sandbox, { factory: [source('acme'), source('rival')] });
  try {
    expect(later.plugins.runtimeStatus().pluginErrors).toEqual({});
    expect(
      later.plugins
        .current()
        .protocolOwners('proto_video', MODEL)
        .map(({ plugin }) => plugin.key),
    ).toEqual(['acme', 'rival']);
  } finally {
    await later.stop();
  }
});
