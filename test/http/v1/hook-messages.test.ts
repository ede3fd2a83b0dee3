/** The message of a refusing hook, at every hook and on every API surface. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { pluginSource } from '../../plugins/support.ts';
import { type Administrator, ask, type Gateway, letNothingWait, setUp, startGateway } from '../../support/gateway.ts';

const VENDOR_KEY = 'vendor-key-0123456789';
const META = {
  key: 'walk',
  models: ['walk-1'],
  protocols: ['proto_video', { name: 'proto_responses', supports: ['sync', 'background'] }],
  routes: [
    { method: 'POST', path: '/walk/jobs', type: 'submit', decode: 'decode', render: 'show' },
    { method: 'GET', path: '/walk/jobs/:task_id', type: 'query', render: 'present' },
  ],
};
/**
 * In the request, `fail` names the hook that throws, `miss` the one that returns an invalid value.
 */
const HOOKS = `
const refuse = (hook, directive, key) => {
  if (directive && directive.fail === hook) throw new Error('No cats:\\n' + key + ' ' + 'x'.repeat(600));
};
const decode = (ctx) => {
  const directive = ctx.body.value;
  refuse('decode', directive, '');
  if (directive.miss === 'decode') return { kind: 'picture' };
  return { kind: 'submit', model: directive.model, requestBody: directive };
};
const render = (_ctx, task) => { refuse('render', task.data, ''); return {}; };
export const protocols = {
  proto_video: { decodeRequest: decode, render },
  proto_responses: { decodeRequest: decode, renderFinal: render },
};
export const native = {
  decode,
  show: (_ctx, task) => ({ id: task.task_id }),
  present: render,
  error: (_ctx, error) => ({ vendor: error }),
};
export function listArtifacts({ data }) {
  refuse('listArtifacts', data, '');
  return data.miss === 'listArtifacts' ? 'none' : [{ key: 'video', type: 'video' }];
}
export function buildContentRequest(ctx) {
  refuse('buildContentRequest', ctx.data, ctx.apiKey);
  return ctx.data.miss === 'buildContentRequest' ? {} : { url: ctx.baseUrl + '/file' };
}`;
const SOURCE = pluginSource(META, HOOKS)
  .replace(
    'return { url: ctx.baseUrl',
    "refuse('build', ctx.requestBody, ctx.apiKey); if (ctx.requestBody.miss === 'build') return {}; return { url: ctx.baseUrl",
  )
  .replace(
    'return { taskId: response.body.id };',
    `refuse('parse', response.body, ctx.apiKey);
     if (response.body.miss === 'parse') return { taskId: 'a', clientResponse: {} };
     return { taskId: response.body.id, taskData: response.body, immediate: { status: 'SUCCESS' } };`,
  );

/** The vendor answers 200 even to refusals: only the plugin can tell them apart. */
const vendor = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: async (request) => Response.json({ ...((await request.json()) as object), id: crypto.randomUUID() }),
});
let gateway: Gateway;
let admin: Administrator;
let url: string;
let key: string;

beforeAll(async () => {
  gateway = await startGateway();
  url = gateway.url;
  admin = await setUp(gateway);
  await letNothingWait(admin);
  await admin.call('POST', '/api/plugin/task', { source: SOURCE });
  await admin.createChannel(vendor.url.href, { models: ['walk-1'], task_plugin_key: 'walk', key: VENDOR_KEY });
  key = await admin.createKey();
});
afterAll(async () => {
  await gateway.stop();
  await vendor.stop(true);
});

type Surface = 'generic' | 'native' | 'video' | 'responses';
const SURFACES: Record<Surface, string> = {
  generic: '/v1/tasks/walk',
  native: '/walk/jobs',
  video: '/v1/videos',
  responses: '/v1/responses',
};
const send = (path: string, body?: object) =>
  ask(`${url}${path}`, { token: key, ...(body === undefined ? {} : { body }) });
const submit = (surface: Surface, directive: object) =>
  send(SURFACES[surface], { model: 'walk-1', ...(surface === 'responses' ? { background: true } : {}), ...directive });
const readTask = ({ body }: { body: Record<string, unknown> }) => String(body.id).replace('resp_', 'task_');

/** Where each API surface shows its failures. */
const findFault = (surface: Surface, body: Record<string, unknown>) =>
  (surface === 'native' ? body.vendor : body.error) as { code: string; message: string };
type Answer = Awaited<ReturnType<typeof send>>;

function expectRefusal(surface: Surface, { status, body }: Answer): void {
  const { message } = findFault(surface, body);
  expect(status).toBe(400);
  expect(message).toStartWith('No cats: ');
  expect([...message].length).toBeLessThanOrEqual(512);
  expect([...message].length).toBeGreaterThan(400);
  expect(message).not.toMatch(/\p{Cc}/u);
  expect(JSON.stringify(body)).not.toContain(VENDOR_KEY);
}

const surfaces = Object.keys(SURFACES) as Surface[];
const decoded = surfaces.filter((surface) => surface !== 'generic');
const submissions = [
  ...decoded.map((surface) => [surface, 'decode'] as const),
  ...surfaces.map((surface) => [surface, 'build'] as const),
  ...surfaces.map((surface) => [surface, 'parse'] as const),
];

describe('the message of a throwing hook reaches the client, truncated and cleaned', () => {
  test.each(submissions)('%s: %s', async (surface, fail) => {
    const answer = await submit(surface, { fail });
    expectRefusal(surface, answer);
    // The vendor may have accepted the job: only the plugin can rule that out.
    expect(answer.headers.get('x-should-retry')).toBe(fail === 'parse' ? 'false' : null);
  });

  test.each(surfaces)('%s: listArtifacts', async (surface) => {
    const id = readTask(await submit(surface, { fail: 'listArtifacts' }));
    expectRefusal('generic', await send(`/v1/tasks/${id}/artifacts`));
    expectRefusal('generic', await send(`/v1/tasks/${id}/artifacts/video/content`));
    if (surface === 'video') expectRefusal('video', await send(`/v1/videos/${id}/content`));
  });

  test.each(surfaces)('%s: buildContentRequest', async (surface) => {
    const id = readTask(await submit(surface, { fail: 'buildContentRequest' }));
    expectRefusal('generic', await send(`/v1/tasks/${id}/artifacts/video/content`));
    if (surface === 'video') expectRefusal('video', await send(`/v1/videos/${id}/content`));
    const { body } = await send(`/v1/tasks/${id}/artifacts`);
    const link = new URL((body.artifacts as { content_url: string }[])[0]?.content_url ?? '');
    const byLink = await ask(`${url}${link.pathname}${link.search}`, {});
    expect([byLink.status, findFault('generic', byLink.body).code]).toEqual([404, 'artifact_not_found']);
  });

  test('native: render', async () => {
    const id = readTask(await submit('native', { fail: 'render' }));
    expectRefusal('native', await send(`/walk/jobs/${id}`));
  });

  test('video and responses: render, where the gateway always has a default answer', async () => {
    const video = await submit('video', { fail: 'render' });
    const read = await send(`/v1/videos/${video.body.id}`);
    expect([read.status, read.body]).toMatchObject([200, { id: video.body.id, status: 'completed' }]);
    const response = await send(`/v1/responses/${(await submit('responses', { fail: 'render' })).body.id}`);
    const error = { code: 'server_error', message: 'The task could not be observed.' };
    expect([response.status, response.body]).toMatchObject([200, { status: 'failed', error }]);
  });
});

describe('a hook that breaks a rule: the client sees the rule, not the name of the hook', () => {
  const broken = (stage: string, surface: Surface): [status: number, message: string] => {
    if (stage === 'decode') return [400, 'plugin returned an invalid route result'];
    if (stage === 'build') return [400, 'url is required'];
    // From 500 on, details are not shown to the vendor's clients.
    return [502, surface === 'native' ? 'Task request failed' : 'clientResponse is not allowed'];
  };
  test.each(submissions)('%s: %s', async (surface, miss) => {
    const { status, body } = await submit(surface, { miss });
    expect([status, findFault(surface, body).message]).toEqual(broken(miss, surface));
  });

  test.each([
    ['listArtifacts', '/artifacts', [500, 'The plugin could not list the artifacts of this task.']],
    [
      'buildContentRequest',
      '/artifacts/video/content',
      [502, 'The artifact request was rejected by the rules of this gateway.'],
    ],
  ])('%s', async (miss, path, directive) => {
    const { status, body } = await send(`/v1/tasks/${readTask(await submit('generic', { miss }))}${path}`);
    expect([status, findFault('generic', body).message]).toEqual(directive as [number, string]);
  });
});
