/**
 * A vendor's ids reach it again as it gave them, whatever they look like, from every surface, and
 * no client sees one.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { pluginSource } from '../../plugins/support.ts';
import { ask, letNothingWait, setUp, signIn, startGateway } from '../../support/gateway.ts';
import { waitForEnd } from '../../support/main-job.ts';

/** As the vendor writes them in its JSON. */
const IDS = {
  'a number beyond 2^53': '7615917337495251231',
  'signs of Base64 and a stroke': '"a=b+c/d|e=="',
  'letters of other scripts': '"任务-é-🎬"',
  'the longest': JSON.stringify('x/'.repeat(1024)),
};
const textFor = (written: string) => (written.startsWith('"') ? (JSON.parse(written) as string) : written);

const HOOKS = `
const decode = ({ model, body }) => {
  const { previous_response_id: previous, origin, ...request } = body.value;
  const named = previous || origin;
  return { kind: 'submit', model: model || 'ids-1', requestBody: request, ...(named ? { originTaskIds: [named] } : {}) };
};
export const native = { decode, present: (ctx, task) => ({ task }) };
export const protocols = {
  proto_video: { decodeRequest: decode, render: (ctx, task) => ({ id: task.task_id, data: task.data }) },
  proto_responses: { decodeRequest: decode, renderFinal: (ctx, task) => ({ output: [{ type: 'x', data: task.data }] }) },
};
export const listArtifacts = () => [{ key: 'video', type: 'video' }];
export const buildContentRequest = (ctx) => ({
  url: ctx.baseUrl + '/files/' + encodeURIComponent(ctx.upstreamTaskId),
});
`;
const source = pluginSource(
  {
    ...{ key: 'ids', models: ['ids-1'] },
    protocols: ['proto_video', { name: 'proto_responses', supports: ['background'] }],
    routes: [
      { method: 'POST', path: '/ids/jobs', type: 'submit', decode: 'decode', render: 'present' },
      { method: 'GET', path: '/ids/jobs/:task_id', type: 'query', render: 'present' },
    ],
  },
  HOOKS,
)
  .replace('body: ctx.requestBody', 'body: { ...ctx.requestBody, origin: ctx.originTaskId || null }')
  .replace("'/jobs/' + ctx.taskId", "'/jobs/' + encodeURIComponent(ctx.taskId)")
  .replace('{ taskId: response.body.id }', '{ taskId: response.body.id, taskData: response.body }')
  .replace('return { status: body.status }', 'return { status: body.status, data: body }');

let url: string;
let key: string;
let stop: () => Promise<void>;
const sent: { id: string; origin: string | null }[] = [];
const asked: string[] = [];
beforeAll(async () => {
  const vendor = Bun.serve({
    ...{ port: 0, hostname: '127.0.0.1' },
    async fetch(request) {
      const [, place, id = ''] = new URL(request.url).pathname.split('/');
      const json = (text: string) => new Response(text, { headers: { 'content-type': 'application/json' } });
      if (place === 'files') return new Response(`film of ${decodeURIComponent(id)}`);
      if (request.method === 'POST') {
        const { written, origin } = (await request.json()) as { written: string; origin: string | null };
        sent.push({ id: textFor(written), origin });
        return json(`{"id":${written},"request_id":${written},"operation_id":${written}}`);
      }
      asked.push(decodeURIComponent(id));
      const written = Object.values(IDS).find((each) => textFor(each) === decodeURIComponent(id)) ?? 'null';
      return json(`{"status":"SUCCESS","id":${written},"task_id":${written},"request_id":${written}}`);
    },
  });
  const gateway = await startGateway({ env: { TASK_POLL_INTERVAL_SECONDS: '1', UPSTREAM_ALLOW_PRIVATE: 'true' } });
  stop = async () => {
    await gateway.stop();
    await vendor.stop(true);
  };
  url = gateway.url;
  const admin = await setUp(gateway);
  await letNothingWait(admin);
  await admin.call('POST', '/api/plugin/task', { source });
  await admin.createChannel(vendor.url.href.replace(/\/$/, ''), { models: ['ids-1'], task_plugin_key: 'ids' });
  key = await admin.createKey();
});
afterAll(() => stop?.());

const send = (path: string, body: object) => ask(`${url}${path}`, { token: key, body: { model: 'ids-1', ...body } });
const read = (path: string) => ask(`${url}${path}`, { token: key });

describe.each(Object.entries(IDS))('%s', (_name, written) => {
  const id = textFor(written);

  test('is polled and fetched, and no client sees it', async () => {
    const { body } = await send('/v1/videos', { written, prompt: 'x' });
    const task = String(body.id);
    expect((await waitForEnd(url, key, task)).status).toBe('SUCCESS');
    expect(asked).toContain(id);
    const film = await fetch(`${url}/v1/videos/${task}/content`, { headers: { authorization: `Bearer ${key}` } });
    expect(await film.text()).toBe(`film of ${id}`);
    const video = await read(`/v1/videos/${task}`);
    const { body: shown } = await read(`/ids/jobs/${task}`);
    for (const each of [video.body, shown]) expect(JSON.stringify(each)).not.toContain(JSON.stringify(id).slice(1, -1));
    const { data } = shown.task as { data: object };
    expect(data).toEqual({ status: 'SUCCESS', id: task, task_id: task, request_id: task });
  });

  test('is told to the vendor where a later task builds on it', async () => {
    const { body } = await send('/ids/jobs', { written });
    const { task_id: first } = body.task as { task_id: string };
    const origin = await send('/ids/jobs', { written: '"later"', origin: first });
    expect([origin.status, sent.at(-1)]).toEqual([200, { id: 'later', origin: id }]);

    const response = await send('/v1/responses', { written, input: 'x', background: true });
    expect(response.status).toBe(200);
    await waitForEnd(url, key, String(response.body.id).replace(/^resp_/, 'task_'));
    const next = await send('/v1/responses', {
      ...{ written: '"next"', input: 'x', background: true },
      previous_response_id: response.body.id,
    });
    expect([next.status, sent.at(-1)]).toEqual([200, { id: 'next', origin: id }]);
  });
});

/** Objects of relayed calls keep the vendor's ids, as clients know them. */
describe('relayed', () => {
  const longest = 'é/'.repeat(1024);
  const paths: string[] = [];
  const bodies: unknown[] = [];
  let vendor: ReturnType<typeof Bun.serve>;
  let other: string;
  beforeAll(async () => {
    vendor = Bun.serve({
      ...{ port: 0, hostname: '127.0.0.1' },
      async fetch(request) {
        const { pathname } = new URL(request.url);
        paths.push(`${request.method} ${pathname}`);
        if (request.method === 'POST') bodies.push(await request.json().catch(() => null));
        if (pathname.endsWith('/content')) return new Response('film', { headers: { 'content-type': 'video/mp4' } });
        if (pathname.endsWith('/input_items')) return Response.json({ object: 'list', data: [], has_more: false });
        const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
        const object = pathname.startsWith('/v1/videos') ? 'video' : 'response';
        if (request.method === 'DELETE')
          return Response.json({ id: longest, object: `${object}.deleted`, deleted: true });
        return Response.json({ id: longest, object, status: 'completed', model: 'm', output: [], usage });
      },
    });
    const admin = await signIn(url);
    for (const model of ['gpt-long', 'film-long'])
      await admin.call('PUT', '/api/price', { plugin_key: '*', model, expression: '0' });
    await admin.createChannel(vendor.url.origin, {
      ...{ type: 1, name: 'relay', models: ['gpt-long', 'film-long'], task_plugin_key: undefined },
    });
    await admin.createUser({ username: 'other' });
    other = await (await signIn(url, { username: 'other' })).createKey();
  });
  afterAll(() => vendor?.stop(true));

  test('an id of 2,048 characters is found on every path by its owner, and by nobody else', async () => {
    const encoded = encodeURIComponent(longest);
    const made = await send('/v1/responses', { model: 'gpt-long', input: 'x' });
    expect([made.status, made.body.id]).toEqual([200, longest]);
    const film = await send('/v1/videos', { model: 'film-long', prompt: 'x', seconds: '4' });
    expect([film.status, film.body.id]).toEqual([200, longest]);
    const calls: [method: string, path: string, body?: object][] = [
      ['GET', `/v1/responses/${encoded}`],
      ['GET', `/v1/responses/${encoded}/input_items`],
      ['POST', `/v1/responses/${encoded}/cancel`],
      ['GET', `/v1/videos/${encoded}`],
      ['GET', `/v1/videos/${encoded}/content`],
      ['POST', `/v1/videos/${encoded}/remix`, { model: 'film-long', prompt: 'y' }],
      ['DELETE', `/v1/videos/${encoded}`],
      ['DELETE', `/v1/responses/${encoded}`],
    ];
    paths.length = 0;
    for (const [method, path, body] of calls) {
      const refused = await ask(`${url}${path}`, { method, token: other, ...(body ? { body } : {}) });
      expect([path.slice(0, 14), refused.status]).toEqual([path.slice(0, 14), 404]);
    }
    expect(paths).toEqual([]);
    const next = await send('/v1/responses', { model: 'gpt-long', input: 'x', previous_response_id: longest });
    expect([next.status, bodies.at(-1)]).toEqual([200, expect.objectContaining({ previous_response_id: longest })]);
    paths.length = 0;
    for (const [method, path, body] of calls) {
      const answer = await ask(`${url}${path}`, { method, token: key, ...(body ? { body } : {}) });
      expect([method, path.replace(encoded, 'ID'), answer.status]).toEqual([method, path.replace(encoded, 'ID'), 200]);
    }
    expect(paths).toEqual(calls.map(([method, path]) => `${method} ${path}`));
  });
});
